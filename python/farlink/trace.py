"""Traces of one run as tables: what was sent, acknowledged, lost and queued, and when."""

import json
import math
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from farlink import files
from farlink.checks import text_of
from farlink.errors import ScenarioError

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from farlink._farlink import TraceTables

__all__ = ["FORMATS", "NAMES", "SIDES", "Trace", "round_bin"]

FORMATS = ("parquet", "csv")
"""What tables can be written as."""

SIDES = ("from", "to")
"""The two ends of a flow: data goes from -> to, and back with `reverse`."""

_DIRECTIONS = ("down", "up")
_NONE = 2**64 - 1
_MOST_BINS = 1_000_000


@dataclass(frozen=True)
class _Spec:
    """Which columns of which table of the engine a trace has, and their units."""

    table: str
    units: Mapping[str, str]


_AT_END = {"time": "s", "flow": "", "side": ""}
_AT_LINK = {"time": "s", "link": "", "direction": ""}

_SPECS = {
    "cwnd": _Spec("state", {**_AT_END, "cwnd": "B"}),
    "ssthresh": _Spec("state", {**_AT_END, "ssthresh": "B"}),
    "flight": _Spec("state", {**_AT_END, "flight": "B"}),
    "rtt": _Spec("rtt", {**_AT_END, "rtt": "s"}),
    "srtt": _Spec("state", {**_AT_END, "srtt": "s"}),
    "rto": _Spec("state", {**_AT_END, "rto": "s"}),
    "segments": _Spec("segments", {**_AT_END, "seq": "B", "len": "B", "retransmission": ""}),
    "acks": _Spec("acks", {**_AT_END, "ack": "B", "window": "B"}),
    "sacks": _Spec("sacks", {**_AT_END, "left": "B", "right": "B"}),
    "marks": _Spec("marks", {**_AT_END, "kind": ""}),
    "limits": _Spec("limits", {**_AT_END, "limit": ""}),
    "delivered": _Spec("delivered", {**_AT_END, "bytes": "B"}),
    "arrivals": _Spec(
        "arrivals", {**_AT_END, "seq": "B", "len": "B", "duplicate": "", "out_of_order": ""}
    ),
    "datagrams": _Spec(
        "datagrams", {"time": "s", "flow": "", "number": "", "bytes": "B", "delay": "s"}
    ),
    "queue": _Spec("queue", {**_AT_LINK, "packets": "packets", "bytes": "B"}),
    "throughput": _Spec("deliveries", {**_AT_LINK, "throughput": "bit/s"}),
    "drops": _Spec("drops", {**_AT_LINK, "flow": "", "bytes": "B", "seq": "B", "cause": ""}),
    "frames": _Spec(
        "frames",
        {
            **_AT_LINK,
            "frame": "",
            "ns": "",
            "nr": "",
            "poll": "",
            "bytes": "B",
            "retransmission": "",
            "lost": "",
        },
    ),
}

NAMES = tuple(_SPECS)
"""Names of the traces; docs/results.md says what each holds."""


class Trace:
    """One run with its probes on.

    `outcome` has the run's numbers, `pcaps` the captured packets by capture
    point (empty if none were asked for).
    """

    def __init__(self, raw: "TraceTables") -> None:
        self.outcome: dict[str, Any] = json.loads(raw["result"])
        self.pcaps = dict(raw["pcaps"])
        self._raw = raw
        self._tables: dict[str, pd.DataFrame] = {}

    @property
    def simulated_s(self) -> float:
        """Simulated time in seconds."""
        return float(self.outcome["simulated_s"])

    def table(self, name: str, *, bin_s: float | None = None) -> "pd.DataFrame":
        """Return one trace; see `Result.trace`."""
        import pandas as pd

        if name not in NAMES:
            raise ScenarioError(f"trace {text_of(name)} is not known; there are {', '.join(NAMES)}")
        spec = _SPECS[name]
        if name == "throughput":
            table = self._throughput(bin_s)
            table.attrs["units"] = dict(spec.units)
            return table
        if bin_s is not None:
            raise ScenarioError(f"bin_s is for the trace 'throughput'; {name!r} is not binned")
        if name not in self._tables:
            columns = {column: self._column(spec.table, column) for column in spec.units}
            self._tables[name] = pd.DataFrame(columns)
            self._tables[name].attrs["units"] = dict(spec.units)
        return self._tables[name]

    def write(self, directory: Path, table_format: str) -> list[Path]:
        """Write every trace to `directory`, each file whole or not at all.

        CSV puts the unit into the name of the column (`cwnd_B`, `time_s`).
        """
        if table_format not in FORMATS:
            known = " or ".join(FORMATS)
            raise ScenarioError(f"format {table_format!r} is not known; write {known}")
        written = []
        for name in NAMES:
            table = self.table(name)
            path = directory / f"{name}.{table_format}"
            with files.replacing(path) as temporary:
                if table_format == "parquet":
                    table.to_parquet(temporary, index=False)
                else:
                    units: dict[str, str] = table.attrs["units"]
                    header = {column: _with_unit(column, unit) for column, unit in units.items()}
                    table.rename(columns=header).to_csv(temporary, index=False)
            written.append(path)
        return written

    def _width(self, bin_s: float | None) -> float:
        if bin_s is None:
            return round_bin(self.simulated_s)
        least = self.simulated_s / _MOST_BINS
        with suppress(TypeError):
            if max(least, 0.0) < bin_s < math.inf:
                return float(bin_s)
        raise ScenarioError(
            f"bin_s is {text_of(bin_s)}; write seconds above {least:g}, which makes {_MOST_BINS} "
            "bins"
        )

    def _values(self, table: str, column: str) -> "np.ndarray[Any, Any]":
        import numpy as np

        dtype, data = self._raw["tables"][table][column]
        return np.frombuffer(data, dtype=np.dtype(dtype).newbyteorder("<"))

    def _column(self, table: str, column: str) -> "pd.Series[Any] | pd.Categorical[Any]":
        """Convert one column of the engine to what people read."""
        import numpy as np
        import pandas as pd

        values = self._values(table, column)
        categories = self._categories(column)
        if categories is not None:
            return pd.Categorical.from_codes(
                values.astype(np.int64), categories=pd.Index(categories)
            )
        if column in ("time", "rtt", "srtt", "rto", "delay"):
            seconds = values / 1e9
            if column == "srtt":
                seconds[values == 0] = math.nan
            return pd.Series(seconds)
        if column in ("cwnd", "ssthresh"):
            return pd.Series(np.where(values == _NONE, math.inf, values.astype(np.float64)))
        if column in ("retransmission", "poll", "lost", "duplicate", "out_of_order"):
            return pd.Series(values.astype(bool))
        if table == "drops" and column == "seq":
            absent = values == _NONE
            whole = np.where(absent, 0, values).astype(np.int64)
            return pd.Series(pd.arrays.IntegerArray(whole, absent))
        return pd.Series(values.astype(np.int64))

    def _categories(self, column: str) -> list[str] | None:
        return {
            "flow": self._raw["flows"],
            "side": list(SIDES),
            "link": self._raw["links"],
            "direction": list(_DIRECTIONS),
            "kind": self._raw["marks"],
            "limit": self._raw["limits"],
            "cause": self._raw["causes"],
            "frame": self._raw["frame_kinds"],
        }.get(column)

    def _throughput(self, bin_s: float | None) -> "pd.DataFrame":
        """Bits that arrived at the far end of each link per bin, over the bin's width.

        `time` is the middle of the bin. The last bin may stick out past the end
        of the run; its width counts in full.
        """
        import numpy as np
        import pandas as pd

        width = self._width(bin_s)
        time = self._values("deliveries", "time")
        link = self._values("deliveries", "link").astype(np.int64)
        direction = self._values("deliveries", "direction").astype(np.int64)
        size = self._values("deliveries", "bytes").astype(np.float64)
        number = (time / 1e9 / width).astype(np.int64)
        bins = max(int(number.max(initial=-1)) + 1, math.ceil(self.simulated_s / width))
        pairs = len(self._raw["links"]) * len(_DIRECTIONS)
        pair = link * len(_DIRECTIONS) + direction
        bits = 8 * np.bincount(pair * bins + number, weights=size, minlength=pairs * bins)
        used = np.flatnonzero(bits.reshape(pairs, bins).any(axis=1))
        links = np.repeat(used // len(_DIRECTIONS), bins)
        directions = np.repeat(used % len(_DIRECTIONS), bins)
        middle = (np.arange(bins) + 0.5) * width
        return pd.DataFrame(
            {
                "time": np.tile(middle, len(used)),
                "link": pd.Categorical.from_codes(links, categories=pd.Index(self._raw["links"])),
                "direction": pd.Categorical.from_codes(
                    directions, categories=pd.Index(_DIRECTIONS)
                ),
                "throughput": bits.reshape(pairs, bins)[used].ravel() / width,
            }
        )


def round_bin(simulated_s: float) -> float:
    """Return 1, 2 or 5 times a power of ten near a hundredth of the time."""
    target = max(simulated_s, 1e-6) / 100
    power = 10.0 ** math.floor(math.log10(target))
    return min((step * power for step in (1, 2, 5, 10)), key=lambda width: abs(width - target))


def _with_unit(column: str, unit: str) -> str:
    if unit in ("", column):
        return column
    return f"{column}_{unit.replace('/', '_per_')}"
