"""Traces of one run as tables: segments sent, acknowledged, lost and queued, over time."""

import math
from collections.abc import Mapping
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from farlink import columns, files, registry
from farlink.checks import text_of
from farlink.errors import ScenarioError
from farlink.measures import rows_of, values_of

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from farlink._farlink import TraceTables
    from farlink.columns import Texts

    _Array = np.ndarray[Any, np.dtype[Any]]

__all__ = ["FORMATS", "NAMES", "PACKETS", "Trace", "binned", "round_bin"]

FORMATS = ("parquet", "csv")
"""Formats in which tables can be written."""

_MOST_BINS = 1_000_000

NAMES = tuple(registry.traces())
"""Names of the traces; docs/results.md describes each."""

PACKETS = "packets"
"""Name of the trace that is collected only if asked for, because it is the largest."""


class Trace:
    """Run with its traces.

    `measures` and `outcome` have the run's numbers, and `pcaps` the captured packets by capture
    point (empty without captures). `secrets` has the lines of a key log file, with which Wireshark
    decrypts captured QUIC, and `qlogs` the texts of qlog files by name.
    """

    def __init__(self, raw: "TraceTables") -> None:
        self.measures = raw["measures"]
        self.pcaps = dict(raw["pcaps"])
        self.secrets = raw.get("secrets", "")
        self.qlogs = dict(raw.get("qlogs", {}))
        self._raw = raw
        self._tables: dict[str, pd.DataFrame] = {}
        self._arrays: dict[str, dict[str, _Array | Texts]] = {}

    @cached_property
    def outcome(self) -> dict[str, Any]:
        """Numbers of the run by flow and by direction of a link."""
        parts = {
            "flows": "results",
            "links": "links",
            "run": "fairness",
            "agents": "agents",
            "handoffs": "handoffs",
        }
        shown = {
            part: [
                {
                    **{key: row[key] for key in row if key not in ("tcp", "metrics")},
                    "metrics": {name: values_of(row, name)[0] for name in row["metrics"]},
                }
                for row in rows_of({"": self.measures}, rows)
            ]
            for part, rows in parts.items()
        }
        return {
            **{part: rows for part, rows in shown.items() if rows},
            "events": self.measures.events,
            "simulated_s": self.simulated_s,
        }

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the collected traces."""
        return tuple(name for name in NAMES if name != PACKETS or PACKETS in self._raw["tables"])

    @property
    def simulated_s(self) -> float:
        """Simulated time in seconds."""
        return self.measures.simulated_s

    def table(self, name: str, *, bin_s: float | None = None) -> "pd.DataFrame":
        """Return one trace; see `Result.trace`."""
        kind = self._kind(name, bin_s)
        if name == "throughput":
            table = columns.frame(columns.build(self._throughput(bin_s)))
            table.attrs["units"] = kind.units
            return table
        if name not in self._tables:
            self._tables[name] = columns.frame(self._raw["tables"][kind.table], list(kind.units))
            self._tables[name].attrs["units"] = kind.units
        return self._tables[name]

    def arrays(
        self, name: str, *, bin_s: float | None = None, where: Mapping[str, str] | None = None
    ) -> "dict[str, _Array]":
        """Return one trace as arrays, only rows that have the values in `where`.

        Names are text. Other columns are numbers, with NaN for missing values. Figures use arrays,
        because building a pandas table takes longer than drawing most figures.
        """
        kind = self._kind(name, bin_s)
        if name == "throughput":
            arrays = self._throughput(bin_s)
        else:
            if name not in self._arrays:
                self._arrays[name] = self._read(kind)
            arrays = self._arrays[name]
        chosen = None
        for column, value in (where or {}).items():
            values = arrays[column]
            same = values.equals(value) if isinstance(values, columns.Texts) else values == value
            chosen = same if chosen is None else chosen & same
        if chosen is None or chosen.all():
            chosen = slice(None)
        return {
            column: values[chosen].to_array()
            if isinstance(values, columns.Texts)
            else values[chosen]
            for column, values in arrays.items()
        }

    def _read(self, kind: registry.TraceKind) -> "dict[str, _Array | Texts]":
        """Return the columns of a trace as read-only arrays, which figures share."""
        table = self._raw["tables"][kind.table]
        arrays = {}
        for name in kind.units:
            values = columns.array(table, name)
            if not isinstance(values, columns.Texts):
                values = columns.numbers(table, name)
                values.setflags(write=False)
            arrays[name] = values
        return arrays

    def write(self, directory: Path, table_format: str, *, packets: bool = True) -> list[Path]:
        """Write every collected trace to `directory`, each file completely or not at all.

        Without `packets` the trace packets is left out.

        CSV puts the unit into the name of the column (`cwnd_B`, `time_s`).
        """
        if table_format not in FORMATS:
            known = " or ".join(FORMATS)
            raise ScenarioError(f"format {table_format!r} is not known; write {known}")
        written = []
        for name in (name for name in self.names if packets or name != PACKETS):
            path = directory / f"{name}.{table_format}"
            with files.replacing(path) as temporary:
                if table_format == "parquet":
                    temporary.write_bytes(self._parquet(name))
                else:
                    table = self.table(name)
                    units: dict[str, str] = table.attrs["units"]
                    header = {column: _with_unit(column, unit) for column, unit in units.items()}
                    table.rename(columns=header).to_csv(temporary, index=False)
            written.append(path)
        return written

    def _parquet(self, name: str) -> bytes:
        kind = registry.traces()[name]
        if name == "throughput":
            table = columns.build(self._throughput(None))
        else:
            table = self._raw["tables"][kind.table].select(list(kind.units))
        return columns.to_parquet(table, columns.pandas_metadata(columns.layout(table), kind.units))

    def _kind(self, name: str, bin_s: float | None) -> registry.TraceKind:
        kind = _kind(name, bin_s)
        if name not in self.names:
            raise ScenarioError(
                f"the trace {name!r} was not collected; write Result.trace({name!r}) or "
                f"Result.probe(..., {name}=True)"
            )
        return kind

    @property
    def story(self) -> "pd.DataFrame":
        """Sentences about the run: time (s), flow, side, text, packet.

        `packet` is the number in the trace packets, if the event has one.
        """
        import pandas as pd

        names = ["time", "flow", "side", "text", "packet"]
        table = pd.DataFrame(self._raw.get("story", []), columns=pd.Index(names))
        return table.astype({"time": "float64", "packet": "Int64"})

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

    def _throughput(self, bin_s: float | None) -> "dict[str, _Array | Texts]":
        """Return the rate of arrivals at the far end of each link in bit/s, for each bin.

        `time` is the middle of the bin. The last bin may extend beyond the end of the run, and its
        rate still refers to the full width.
        """
        width = self._width(bin_s)
        table = self._raw["tables"]["deliveries"]
        link, direction = (columns.array(table, name) for name in ("link", "direction"))
        assert isinstance(link, columns.Texts)
        assert isinstance(direction, columns.Texts)
        number = _bins_of(columns.numbers(table, "time"), width)
        size = columns.numbers(table, "bytes")
        return binned(link, direction, number, size, width, self.simulated_s)


def _bins_of(time: "_Array", width: float) -> "_Array":
    """Return the number of the bin of each time (s).

    Times are whole nanoseconds, so the division is exact if the width is one too.
    """
    import numpy as np

    width_ns = round(width * 1e9)
    if width_ns and math.isclose(width_ns, width * 1e9, rel_tol=1e-12):
        exact: _Array = np.rint(time * 1e9).astype(np.int64) // width_ns
        return exact
    return (time / width).astype(np.int64)


def binned(
    link: "Texts",
    direction: "Texts",
    number: "_Array",
    size: "_Array",
    width: float,
    simulated_s: float,
) -> "dict[str, _Array | Texts]":
    """Return the trace throughput for bytes that link directions delivered in bins.

    `number` is the bin of each item and `size` has its bytes.
    """
    import numpy as np

    bins = max(int(number.max(initial=-1)) + 1, math.ceil(simulated_s / width))
    links, directions = link.texts, direction.texts
    pairs = len(links) * len(directions)
    pair = link.codes * len(directions) + direction.codes
    bits = 8 * np.bincount(
        pair.astype(np.int64) * bins + number, weights=size, minlength=pairs * bins
    )
    used = np.flatnonzero(bits.reshape(pairs, bins).any(axis=1))
    which, way = np.divmod(np.repeat(used, bins), len(directions))
    middle = (np.arange(bins) + 0.5) * width
    return {
        "time": np.tile(middle, len(used)),
        "link": columns.Texts(which, links),
        "direction": columns.Texts(way, directions),
        "throughput": bits.reshape(pairs, bins)[used].ravel() / width,
    }


def _kind(name: str, bin_s: float | None) -> registry.TraceKind:
    if name not in NAMES:
        raise ScenarioError(f"trace {text_of(name)} is not known; there are {', '.join(NAMES)}")
    if bin_s is not None and name != "throughput":
        raise ScenarioError(f"bin_s is for the trace 'throughput'; {name!r} is not binned")
    return registry.traces()[name]


def round_bin(simulated_s: float) -> float:
    """Return the width of a bin: 1, 2 or 5 times a power of ten, near a hundredth of the time."""
    target = max(simulated_s, 1e-6) / 100
    power = 10.0 ** math.floor(math.log10(target))
    return min((step * power for step in (1, 2, 5, 10)), key=lambda width: abs(width - target))


def _with_unit(column: str, unit: str) -> str:
    if unit in ("", column):
        return column
    return f"{column}_{unit.replace('/', '_per_')}"
