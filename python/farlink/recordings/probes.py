"""Probes of a path (irtt, ping, LENS) as rows of delay and loss."""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from farlink.errors import ScenarioError
from farlink.recordings.document import MOST, MOST_ROWS, Column, rounded

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from farlink.recordings.document import Floats

__all__ = ["DOWN", "LOST", "NOT_LOST", "UP", "Probes", "one_way"]

NOT_LOST, LOST, UP, DOWN = 0, 1, 2, 3
"""Fate of a probe; `LOST` if the direction of the loss is unknown."""

_WINDOW = 10
"""Number of probes over which a loss probability is computed at least."""

_LEAST_STEP = 0.1
"""Smallest length of a row without `--step`, in seconds."""

_MINUTE_NS = 60_000_000_000
_GAP = 10
"""Number of probe intervals without a probe that count as a gap."""


@dataclass
class Probes:
    """Probes in the order of their sending times."""

    sent: "npt.NDArray[np.int64]"
    """Nanoseconds since 1970, or since an arbitrary instant without a clock."""
    up: "Floats"
    """Delay from client to server in seconds; NaN for a lost probe."""
    down: "Floats"
    fate: "npt.NDArray[np.int64]"
    losses: bool = True
    """False if the file has replies only."""

    def __post_init__(self) -> None:
        import numpy as np

        if len(self.sent) == 0:
            raise ScenarioError("the recording has no probe")
        order = np.argsort(self.sent, kind="stable")
        self.sent, self.fate = self.sent[order], self.fate[order]
        self.up, self.down = self.up[order], self.down[order]
        if bool((self.fate != NOT_LOST).all()):
            raise ScenarioError("every probe of the recording is lost; there is no delay in it")

    @property
    def interval(self) -> float:
        """Median time between probes in seconds; 1 s for a single probe."""
        import numpy as np

        gaps = np.diff(self.sent)
        gaps = gaps[gaps > 0]
        return float(np.median(gaps)) / 1e9 if len(gaps) else 1.0

    @property
    def start(self) -> int:
        """Time of row 0 (ns): half an interval early, so that no late probe leaves its row."""
        return int(self.sent[0]) - round(self.interval * 5e8)

    def step(self, asked: float | None) -> float:
        """Return the length of a row: one probe at least, and whole milliseconds."""
        return asked if asked is not None else max(_LEAST_STEP, round(self.interval, 3))

    def rows(self, step: float) -> int:
        """Return the number of rows."""
        rows = (int(self.sent[-1]) - self.start) // round(step * 1e9) + 1
        if rows > MOST_ROWS:
            raise ScenarioError(
                f"the probes last {rows * step:.0f} s, which are {rows:,} rows; a recording has "
                f"1 to {MOST_ROWS:,} rows, so use another --step"
            )
        return rows

    def bins(self, step: float) -> "npt.NDArray[np.int64]":
        """Return the row of each probe."""
        import numpy as np

        return np.asarray((self.sent - self.start) // round(step * 1e9), dtype=np.int64)

    def overtakes(self) -> int:
        """Return the number of probes that overtook earlier ones, in either direction."""
        import numpy as np

        count = 0
        # Sending times at the server follow from the delays, so the clock's offset cancels.
        for arrival in (self.sent / 1e9 + self.up, self.sent / 1e9 + self.up + self.down):
            seen = arrival[~np.isnan(arrival)]
            count = max(count, int((seen < np.maximum.accumulate(seen)).sum()))
        return count

    def delay_column(self, direction: str, step: float, origin: str, by: str) -> Column:
        """Return the median delay of each row; rows without a reply keep the value before."""
        import numpy as np
        import pandas as pd

        values = self.up if direction == "up" else self.down
        medians = pd.Series(values).groupby(self.bins(step)).median()
        whole = medians.reindex(np.arange(self.rows(step))).ffill().bfill().to_numpy(np.float64)
        delays = rounded("delay", np.clip(whole, 0.0, MOST["delay"]))
        return Column(origin, by, values=delays)

    def unanswered(self, step: float) -> int:
        """Return the number of rows without a reply."""
        import numpy as np

        answered = np.unique(self.bins(step)[self.fate == NOT_LOST])
        return self.rows(step) - len(answered)

    def gaps(self) -> float:
        """Return the seconds in gaps without a probe."""
        import numpy as np

        pauses = np.diff(self.sent) / 1e9
        return float(pauses[pauses > _GAP * self.interval].sum())

    def loss_column(self, direction: str, step: float) -> Column:
        """Return the share of lost probes in windows of at least ten probes.

        A shorter window would turn one lost probe into an outage.
        """
        import numpy as np

        # A clock that is slow by some percent must not add a row to each window.
        per = max(1, math.ceil(_WINDOW * self.interval / step - 0.2))
        rows = self.rows(step)
        windows = -(-rows // per)
        place = self.bins(step) // per
        known = UP if direction == "up" else DOWN
        sent = np.bincount(place, minlength=windows).astype(np.float64)
        counts = {
            fate: np.bincount(place[self.fate == fate], minlength=windows)
            for fate in (LOST, UP, DOWN)
        }
        offered = sent - counts[UP] if direction == "down" else sent
        with np.errstate(invalid="ignore", divide="ignore"):
            share = np.where(offered > 0, counts[known] / offered, 0.0)
            unknown = np.where(sent > 0, counts[LOST] / sent, 0.0)
        # A loss of unknown direction is as likely in each: 1 - (1 - p)^2 is their share.
        loss = np.clip(1 - (1 - share) * np.sqrt(1 - unknown), 0.0, 1.0)
        by = f"share of lost probes in windows of {per * step:g} s"
        split = int((self.fate == LOST).sum())
        if split:
            by += f"; the direction of {split} of them is unknown and was taken as even"
        values = rounded("loss", np.repeat(loss, per)[:rows])
        return Column("estimated" if split else "measured", by, values=values)


def one_way(
    sent: "npt.NDArray[np.int64]", up: "Floats", down: "Floats"
) -> "tuple[Floats, Floats, float]":
    """Remove the offset of two clocks from one-way delays.

    The offset is a line through one probe a minute, that of the smallest round trip. At these
    probes both delays are taken as equal.

    Returns
    -------
    tuple
        Delays up and down in seconds, and the offset at the first probe.
    """
    import numpy as np

    seen = np.flatnonzero(~np.isnan(up + down))
    minute = (sent[seen] - sent[seen][0]) // _MINUTE_NS
    order = np.lexsort(((up + down)[seen], minute))
    best = seen[order[np.unique(minute[order], return_index=True)[1]]]
    offset = (up[best] - down[best]) / 2
    since = (sent - sent[best[0]]) / 1e9
    if len(best) >= 2:
        slope, level = np.polyfit(since[best], offset, 1)
    else:
        slope, level = 0.0, float(offset[0])
    line = level + slope * since
    trip = up + down
    ours = np.clip(up - line, 0.0, None)
    ours = np.minimum(ours, trip)
    return ours, trip - ours, float(line[0])
