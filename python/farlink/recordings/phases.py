"""Boundaries of path phases in a series of delays.

A terminal of Starlink is assigned a path every 15 s, at 12, 27, 42 and 57 s past the minute
(Tanveer and others 2023; Mohan and others 2024). The search finds the offset of such a grid by
least squares, and reports it only if the delay jumps more at the grid than elsewhere.
"""

import math
from typing import TYPE_CHECKING

from farlink.probability import binomial_sf
from farlink.recordings.document import Phases

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from farlink.recordings.document import Floats, Whole

__all__ = ["of_paths", "periodic"]

PERIOD = 15.0
"""Time between two assignments of Starlink in seconds."""

_LEAST_BOUNDARIES = 4
_LEAST_ROWS = 5
"""Rows that a phase needs at least."""
_WINDOW = 4.0
"""Seconds before and after a boundary whose means are compared."""
_LEAST_Z = 5.0
_TAIL = 0.1
"""Share of the rows away from the grid with larger jumps, above which a boundary is no event."""
_CHANCE = 1e-4
"""Largest probability of so many events without phases."""


def periodic(
    delay: "Floats", step: float, start: float | None, period: float = PERIOD
) -> Phases | None:
    """Find boundaries at equal intervals.

    Parameters
    ----------
    delay
        Delay of each row in seconds.
    step
        Length of a row in seconds.
    start
        Seconds since 1970 of row 0; None without a clock.
    period
        Interval in seconds.

    Returns
    -------
    Phases or None
        None if the series is too short, or if the delay jumps as much elsewhere.
    """
    import numpy as np

    per = period / step
    if per < _LEAST_ROWS or len(delay) < (_LEAST_BOUNDARIES + 1) * per:
        return None
    low, high = np.quantile(delay, [0.01, 0.99])
    values = np.clip(delay, low, high)
    offset = _best_offset(values, per)
    window = max(1, round(min(_WINDOW, period / 3) / step))
    jumps = np.abs(_jumps(values, window))
    grid = _grid(offset, per, len(values))
    inside = grid[(grid >= window) & (grid <= len(values) - window)]
    if len(inside) < _LEAST_BOUNDARIES:
        return None
    at = jumps[inside - window]
    distance = _distance(np.arange(window, len(values) - window + 1), offset, per)
    away = jumps[distance >= window]
    if len(away) == 0:
        return None
    # Neighbouring windows overlap, so the deviation comes from all of them, not their count.
    z = (at.mean() - away.mean()) / max(away.std() / math.sqrt(len(at)), 1e-12)
    if at.mean() < 1e-9 or z < _LEAST_Z:
        return None
    # A few large jumps near the grid by chance give a large mean, but not many events.
    events = int((at > np.quantile(away, 1 - _TAIL)).sum())
    if binomial_sf(events - 1, len(at), _TAIL) > _CHANCE:
        return None
    noise = float(np.median(away)) * 1.4826
    first = ((start or 0.0) + offset * step) % period
    return Phases(
        starts=grid,
        origin="estimated",
        by=(
            f"least squares over all offsets of a grid of {period:g} s; the mean jump of the delay "
            f"at the grid is {1e3 * float(at.mean()):.2f} ms, elsewhere "
            f"{1e3 * float(away.mean()):.2f} ms"
        ),
        period=period,
        # The rows are no finer than a step.
        first=round(round(first / step) * step, 3) % period,
        changed=int((at > 3 * noise).sum()),
    )


def of_paths(names: "list[str]") -> Phases:
    """Return the phases of rows whose paths are known."""
    import numpy as np

    starts = [row for row in range(1, len(names)) if names[row] != names[row - 1]]
    return Phases(
        starts=np.array(starts, dtype=np.int64),
        origin="computed",
        by="the path of each row",
        changed=len(starts),
        paths=tuple(names[row] for row in [0, *starts]),
    )


def _grid(offset: int, per: float, rows: int) -> "Whole":
    """Return the rows at which the grid with this offset has a boundary."""
    import numpy as np

    count = math.ceil((rows - offset) / per) + 1
    grid = np.round(offset + per * np.arange(count)).astype(np.int64)
    return grid[(grid < rows) & (grid > 0)]


def _best_offset(values: "Floats", per: float) -> int:
    """Return the offset in rows with the least squared distance from the means of its phases."""
    import numpy as np

    sums = np.concatenate([[0.0], np.cumsum(values - values.mean())])
    best, offset = -math.inf, 0
    for row in range(math.ceil(per)):
        edges = np.concatenate([[0], _grid(row, per, len(values)), [len(values)]])
        edges = np.unique(edges)
        lengths = np.diff(edges)
        # The squares of the values are the same for every offset.
        explained = float((np.diff(sums[edges]) ** 2 / lengths).sum())
        # Each further phase explains as much as its mean does by chance.
        if explained > best + 1e-15:
            best, offset = explained, row
    return offset


def _jumps(values: "Floats", window: int) -> "Floats":
    """Return the mean after minus the mean before, for each row with whole windows."""
    import numpy as np

    sums = np.concatenate([[0.0], np.cumsum(values)])
    after = sums[2 * window :] - sums[window:-window]
    before = sums[window:-window] - sums[: -2 * window]
    return np.asarray((after - before) / window, dtype=np.float64)


def _distance(rows: "npt.NDArray[np.int64]", offset: int, per: float) -> "Floats":
    """Return the distance of rows from the grid, in rows."""
    import numpy as np

    place = np.mod(rows - offset, per)
    return np.asarray(np.minimum(place, per - place), dtype=np.float64)
