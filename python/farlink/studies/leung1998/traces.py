"""Measures from traces: cuts of cwnd, delays of retransmissions, variation of rates."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from farlink.studies.cache import Cell
from farlink.studies.leung1998.registry import REGISTRY
from farlink.studies.leung1998.words import said
from farlink.studies.model import Model
from farlink.studies.quantity import Quantity
from farlink.trace import Trace

__all__: list[str] = []

_SIZE = {"earth": "3 MB", "mobile": "1 MB"}
_MOST_RUNS = 40
_BIN_S = {"earth": 5.0, "mobile": 30.0}


def traced_cell(model: Model, scene: str, tcp: str, over: dict[str, Any]) -> Cell:
    """Return the cell of a section's setting, with its transfer cut to `_SIZE`."""
    cell = model.cell(tcp, **said(model, scene, tcp, over))
    tree: dict[str, Any] = dict(cell.scenario)
    (flow,) = tree["flows"]
    return Cell(cell.label, {**tree, "flows": [{**flow, "size": _SIZE[flow["to"]]}]})


def sent(trace: Trace, name: str) -> pd.DataFrame:
    """Return the rows of a trace for the sending end."""
    table = trace.table(name)
    return table[table["side"] == "from"]


def _data(cell: Cell) -> int:
    return int(str(cell.scenario["tcp"]["mss"]).split()[0])


def _retx_latency(cell: Cell, trace: Trace) -> float:
    """Return the median time (s) from a segment's first transmission to its retransmission."""
    table = sent(trace, "segments")
    first = table.drop_duplicates("seq").set_index("seq")["time"]
    again = table[table["retransmission"]].drop_duplicates("seq")
    waits = again["time"].to_numpy() - first.reindex(again["seq"]).to_numpy()
    waits = waits[waits > 0]
    return float(np.median(waits)) if len(waits) else float("nan")


def _windows(trace: Trace) -> tuple[Any, Any]:
    table = sent(trace, "cwnd")
    return table["time"].to_numpy(), table["cwnd"].to_numpy()


def _cwnd_cv(_: Cell, trace: Trace) -> float:
    """Return the coefficient of variation of cwnd over time."""
    time, window = _windows(trace)
    weight = np.diff(time)
    mean = np.average(window[:-1], weights=weight)
    return float(np.sqrt(np.average((window[:-1] - mean) ** 2, weights=weight)) / mean)


def _marks(trace: Trace, kind: str) -> Any:  # noqa: ANN401
    table = sent(trace, "marks")
    return table[table["kind"] == kind]["time"].to_numpy()


def _cuts(trace: Trace) -> list[tuple[float, float]]:
    """Return cwnd (bytes) before the start and after the end of each fast recovery."""
    time, window = _windows(trace)
    entries = []
    over = _marks(trace, "recovery_exit")
    for at in _marks(trace, "fast_retransmit"):
        end = over[over > at]
        if len(end):
            before = window[np.searchsorted(time, at, "left") - 1]
            after = window[np.searchsorted(time, end[0], "right") - 1]
            entries.append((float(before), float(after)))
    return entries


def _median_loss_cut(cell: Cell, trace: Trace) -> float:
    """Return the median reduction of cwnd by a fast recovery (segments)."""
    cuts = [before - after for before, after in _cuts(trace)]
    return float(np.median(cuts)) / _data(cell) if cuts else float("nan")


def _median_loss_cut_fraction(_: Cell, trace: Trace) -> float:
    """Return the median reduction of cwnd by a fast recovery, as a share of cwnd."""
    cuts = [1 - after / before for before, after in _cuts(trace)]
    return float(np.median(cuts)) if cuts else float("nan")


def _cwnd_after_timeout(cell: Cell, trace: Trace) -> float:
    """Return the median cwnd after a time-out (segments)."""
    time, window = _windows(trace)
    at = [np.searchsorted(time, mark, "left") for mark in _marks(trace, "timeout")]
    return float(np.median([window[i] for i in at])) / _data(cell) if at else float("nan")


def _drops(cell: Cell, trace: Trace) -> float:
    """Return the number of falls of cwnd to one segment per 100 s.

    A second consecutive time-out is not counted, because cwnd is already one segment.
    """
    time, window = _windows(trace)
    at = [np.searchsorted(time, mark, "left") - 1 for mark in _marks(trace, "timeout")]
    falls = sum(window[max(i, 0)] > _data(cell) for i in at)
    return float(100 * falls / time[-1])


def _seq_rate_cv(cell: Cell, trace: Trace) -> float:
    """Return the coefficient of variation of the bytes received per bin of time."""
    table = trace.table("delivered")
    table = table[table["side"] == "to"]
    width = _BIN_S[cell.scenario["flows"][0]["to"]]
    grid = np.arange(0, float(table["time"].iloc[-1]), width)
    at = np.searchsorted(table["time"].to_numpy(), grid, "right") - 1
    so_far = np.where(at >= 0, table["bytes"].to_numpy()[np.maximum(at, 0)], 0)
    rates = np.diff(so_far)
    return float(np.std(rates) / np.mean(rates)) if len(rates) > 1 else float("nan")


def _longest_pause(_: Cell, trace: Trace) -> float:
    """Return the longest time (s) without a transmission of new data."""
    table = sent(trace, "segments")
    new = table[~table["retransmission"]]["time"].to_numpy()
    return float(np.max(np.diff(new)))


_OF: dict[str, Callable[[Cell, Trace], float]] = {
    "retx_latency": _retx_latency,
    "cwnd_cv": _cwnd_cv,
    "median_loss_cut": _median_loss_cut,
    "median_loss_cut_fraction": _median_loss_cut_fraction,
    "cwnd_after_timeout": _cwnd_after_timeout,
    "drops": _drops,
    "seq_rate_cv": _seq_rate_cv,
    "longest_pause": _longest_pause,
}


@REGISTRY.function("traced")
def _traced(model: Model, what: str, scene: str, tcp: str, **over: Any) -> Quantity:  # noqa: ANN401
    """Return a measure from traces of at most 40 runs, one value for each run."""
    cell = traced_cell(model, scene, tcp, over)
    runs = min(model.cache.runs, _MOST_RUNS)
    values = [_OF[what](cell, model.cache.probe(cell, run)) for run in range(runs)]
    return Quantity(values, f"{what}({cell.label})")
