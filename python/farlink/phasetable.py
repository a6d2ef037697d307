"""Statistics of flows by the phases of their path.

NumPy and pandas are imported inside the functions, so that commands without tables start faster.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from farlink import columns, files

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from farlink.trace import Trace

    Array = np.ndarray[Any, np.dtype[Any]]

__all__ = ["UNITS", "table", "write"]

UNITS = {
    "flow": "",
    "side": "",
    "phase": "",
    "start": "s",
    "end": "s",
    "goodput": "bit/s",
    "rtt_mean": "s",
    "sent": "segments",
    "lost": "segments",
    "retransmissions": "segments",
    "spurious": "segments",
    "reordered": "segments",
    "extent_max": "segments",
    "timeouts": "",
    "undone": "",
}
"""Unit of each column."""


def table(trace: "Trace", changes: Sequence[float], flows: Sequence[str]) -> "pd.DataFrame":
    """Return a row per flow, sending end and phase, for phases in which the flow was active.

    Parameters
    ----------
    trace
        Traces of a run.
    changes
        Times of changes of the path, in ascending order.
    flows
        Names of the flows over TCP or QUIC.

    Returns
    -------
    DataFrame
        docs/moving-paths.md describes each column; `attrs["units"]` has the units.
    """
    import numpy as np
    import pandas as pd

    edges = _Edges(np.array([0.0, *changes, trace.simulated_s]))
    rows: dict[str, list[Any]] = {name: [] for name in UNITS}
    tables = {name: _by_flow(trace, name) for name in _NAMES}
    for flow in flows:
        parts = {name: tables[name].get(flow) for name in _NAMES}
        senders = [side for side in _FAR if _sends(parts, side)]
        for side in senders:
            of_side = _of_side(parts, side, edges, alone=len(senders) == 1)
            of_side["flow"] = [flow] * len(of_side["side"])
            for name in UNITS:
                rows[name] += of_side[name]
    frame = pd.DataFrame(rows)
    frame = frame.astype(dict.fromkeys(_COUNTS, "Int64") | {"phase": "int64"})
    frame.attrs["units"] = dict(UNITS)
    return frame


def write(table: "pd.DataFrame", directory: Path, table_format: str) -> list[Path]:
    """Write a table of phases as phases.parquet or phases.csv, which has units in its header."""
    path = directory / f"phases.{table_format}"
    names = {name: f"{name}_{unit.replace('/', '_per_')}" for name, unit in UNITS.items() if unit}
    with files.replacing(path) as temporary:
        if table_format == "csv":
            table.rename(columns=names).to_csv(temporary, index=False)
        else:
            temporary.write_bytes(_parquet(table))
    return [path]


def _parquet(table: "pd.DataFrame") -> bytes:
    import numpy as np

    texts = ("tcp", "flow", "side")
    arrays: dict[str, Array | columns.Texts] = {}
    for name in table.columns:
        if name in texts:
            codes, known = table[name].factorize()
            arrays[name] = columns.Texts(codes.astype(np.int32), [str(text) for text in known])
        else:
            arrays[name] = table[name].astype("Float64").to_numpy(np.float64, na_value=np.nan)
    built = columns.build(arrays)
    named = {"tcp": "", **UNITS}
    return columns.to_parquet(built, columns.pandas_metadata(columns.layout(built), named))


_FAR = {"from": "to", "to": "from"}


def _sends(parts: "Mapping[str, pd.DataFrame | None]", side: str) -> bool:
    """Return whether an end sent data."""
    return any(
        _has_rows(_only(parts[name], end))
        for name, end in (("segments", side), ("delivered", _FAR[side]))
    )


def _has_rows(frame: "pd.DataFrame | None") -> bool:
    return frame is not None and len(frame) > 0


_NAMES = ("segments", "arrivals", "drops", "rtt", "delivered", "marks")

_COUNTS = (
    "sent", "lost", "retransmissions", "spurious", "reordered", "extent_max", "timeouts", "undone",
)  # fmt: skip


def _by_flow(trace: "Trace", name: str) -> "dict[str, pd.DataFrame]":
    frame = trace.table(name)
    return {str(flow): part for flow, part in frame.groupby("flow", observed=True, sort=False)}


class _Edges:
    """Phases of a run by their edges: begin, changes and end (s)."""

    def __init__(self, times: "Array") -> None:
        self.times = times
        self.count = len(times) - 1

    def place(self, times: "Array") -> "Array":
        """Return the phase of each time."""
        import numpy as np

        return np.clip(np.searchsorted(self.times, times, side="right") - 1, 0, self.count - 1)

    def sums(self, frame: "pd.DataFrame | None", weights: "Array | None" = None) -> "Array":
        """Return the number of rows of each phase, or the sum of `weights`."""
        import numpy as np

        if frame is None or not len(frame):
            return np.zeros(self.count, dtype=np.int64)
        place = self.place(frame["time"].to_numpy())
        return np.bincount(place, weights=weights, minlength=self.count)

    def counts(
        self, frame: "pd.DataFrame | None", column: str, value: str | None = None
    ) -> "Array":
        """Return the number of rows of each phase whose column has a value, or is true."""
        return self.sums(
            None if frame is None else frame[frame[column] == (True if value is None else value)]
        )


def _of_side(
    parts: "Mapping[str, pd.DataFrame | None]", side: str, edges: _Edges, *, alone: bool
) -> dict[str, list[Any]]:
    """Return the columns of the phases in which an end sent data, or its data arrived."""
    import numpy as np

    sent, rtt, marks = (_only(parts[name], side) for name in ("segments", "rtt", "marks"))
    arrived, delivered = (_only(parts[name], _FAR[side]) for name in ("arrivals", "delivered"))
    active = [part["time"] for part in (sent, arrived, delivered, rtt) if part is not None]
    begin = min(float(times.iloc[0]) for times in active if len(times))
    end = max(float(times.iloc[-1]) for times in active if len(times))
    starts, stops = np.maximum(edges.times[:-1], begin), np.minimum(edges.times[1:], end)
    used = np.flatnonzero(stops > starts)
    values: dict[str, Array] = {
        "phase": np.arange(edges.count),
        "start": starts,
        "end": stops,
        "goodput": _bits(delivered, edges) / np.maximum(stops - starts, 1e-9),
        "rtt_mean": _mean(rtt, edges),
    }
    if sent is not None and len(sent):
        values |= {
            "sent": edges.sums(sent),
            "retransmissions": edges.counts(sent, "retransmission"),
        }
        # Data of QUIC is delivered without a trace of its arrivals, and without marks.
        if not _has_rows(delivered) or _has_rows(arrived):
            values |= {
                "spurious": edges.counts(arrived, "duplicate"),
                "timeouts": edges.counts(marks, "kind", "timeout"),
                "undone": edges.counts(marks, "kind", "undo"),
            }
        lost = parts["drops"]
        # The trace drops has no end, so losses are those of the only sender of data.
        if alone:
            values["lost"] = edges.sums(None if lost is None else lost[lost["seq"].notna()])
        if arrived is not None and len(arrived):
            values |= _reordering(sent, arrived, edges)
    out: dict[str, list[Any]] = {name: [None] * len(used) for name in UNITS}
    out |= {name: column[used].tolist() for name, column in values.items()}
    return out | {"side": [side] * len(used)}


def _only(frame: "pd.DataFrame | None", side: str) -> "pd.DataFrame | None":
    return None if frame is None else frame[frame["side"] == side]


def _bits(delivered: "pd.DataFrame | None", edges: _Edges) -> "Array":
    """Return the bits delivered in order in each phase."""
    import numpy as np

    if delivered is None:
        return np.zeros(edges.count)
    total = delivered["bytes"].to_numpy().astype(np.float64)
    new = np.diff(total, prepend=0.0)
    # The count begins again with each connection of a flow.
    return 8 * edges.sums(delivered, np.where(new < 0, total, new))


def _mean(rtt: "pd.DataFrame | None", edges: _Edges) -> "Array":
    """Return the mean of the samples in each phase; NaN without a sample."""
    import numpy as np

    count = edges.sums(rtt)
    total = edges.sums(rtt, None if rtt is None else rtt["rtt"].to_numpy()).astype(np.float64)
    mean: Array = np.divide(total, count, out=np.full(edges.count, np.nan), where=count > 0)
    return mean


def _reordering(sent: "pd.DataFrame", arrived: "pd.DataFrame", edges: _Edges) -> dict[str, "Array"]:
    """Return the number of overtaken segments in each phase, and their greatest extent.

    An overtaken segment arrives after one sent later (RFC 4737, 3.3). Its extent is the number of
    arrivals since the first of these (RFC 4737, 4.2.1). Retransmissions do not count.
    """
    import numpy as np

    times, places = _first_copies(sent, arrived)
    highest = np.maximum.accumulate(places)
    late = np.flatnonzero(places < highest)
    extent = late - np.searchsorted(highest, places[late], side="right")
    place = edges.place(times[late])
    most = np.zeros(edges.count, dtype=np.int64)
    np.maximum.at(most, place, extent)
    return {"reordered": np.bincount(place, minlength=edges.count), "extent_max": most}


def _first_copies(sent: "pd.DataFrame", arrived: "pd.DataFrame") -> "tuple[Array, Array]":
    """Return time and sequence number of each arrival of a segment that was sent once until then.

    A segment that was retransmitted counts if it came earlier than its retransmission could have
    come, by the least delay of the flow.
    """
    import numpy as np

    seq, time = sent["seq"].to_numpy(), sent["time"].to_numpy()
    again = sent["retransmission"].to_numpy()
    repaired, first = np.unique(seq[again], return_index=True)
    since = time[again][first]
    new, place = np.unique(seq[~again], return_index=True)
    departure = time[~again][place]
    arrival, place = np.unique(arrived["seq"].to_numpy(), return_index=True)
    came = arrived["time"].to_numpy()[place]
    # Sequence numbers of arrivals that are the first bytes of a segment sent once.
    arrival, came = arrival[known := np.isin(arrival, new)], came[known]
    delay = came - departure[np.searchsorted(new, arrival)]
    earliest = np.full(len(arrival), np.inf)
    both = np.isin(arrival, repaired)
    earliest[both] = since[np.searchsorted(repaired, arrival[both])]
    once = ~both if (~both).any() else np.ones(len(arrival), dtype=bool)
    least = float(delay[once].min()) if len(delay) else 0.0
    original = came < earliest + least
    order = np.lexsort((arrival[original], came[original]))
    return came[original][order], arrival[original][order]
