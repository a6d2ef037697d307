"""Measures of a single packet or connection, and over all 27 conditions."""

import math
from typing import Any

import numpy as np

from farlink.studies.cache import Cell
from farlink.studies.model import Model
from farlink.studies.quantity import Evidence, Quantity, fact
from farlink.studies.study import Curves
from farlink.studies.vatne2006.registry import REGISTRY

__all__: list[str] = []

_DATA = 40


@REGISTRY.function("on_link")
def _on_link(model: Model) -> float:
    """Return the transmission time (s) of a full packet on the simulated link."""
    cell = model.cell("newreno", 0, 0.03)
    rate = float(str(cell.scenario["links"][0]["down"]["rate"]).split()[0])
    data = float(str(cell.scenario["tcp"]["mss"]).split()[0])
    return (data + 40) * 8 / rate


@REGISTRY.function("count_of")
def _count_of(model: Model, payload: int) -> float:
    """Return the number of segments of a 1 MB transfer on a path without loss."""
    tree: dict[str, Any] = dict(model.cell("newreno", 0, 0.03).scenario)
    flows = [{**tree["flows"][0], "size": "1 MB"}]
    tcp = {**tree["tcp"], "mss": f"{payload} B", "receive_window": "64 KiB"}
    cell = Cell(f"payload {payload}", {**tree, "flows": flows, "tcp": tcp})
    return model.cache.flow(cell, "segments_sent").mean


def _reno(model: Model, fate: dict[str, Any]) -> Cell:
    """Return the cell of a Reno transfer with the loss channel `fate`."""
    tree: dict[str, Any] = dict(model.cell("newreno", 0, 0.05).scenario)
    (link,) = tree["links"]
    link = {**link, "down": {**link["down"], "channel": fate}}
    variant = "tahoe" if model.change.hook == "tahoe" else "reno"
    tcp = {"variant": variant, "mss": "40 B", "receive_window": "8000 B", "limited_transmit": False}
    flows = [{**tree["flows"][0], "size": "40 kB"}]
    return Cell(
        f"{variant}, {', '.join(fate)}", {**tree, "links": [link], "flows": flows, "tcp": tcp}
    )


def _values(model: Model, cell: Cell, name: str) -> tuple[Any, Any]:
    table = model.cache.trace(cell, name)
    table = table[table["side"] == "from"]
    return table["time"].to_numpy(), table[name].to_numpy()


def _mark(model: Model, cell: Cell, kind: str) -> float:
    marks = model.cache.trace(cell, "marks")
    at = marks[(marks["side"] == "from") & (marks["kind"] == kind)]["time"]
    return float(at.iloc[0]) if len(at) else math.nan


@REGISTRY.function("after_duplicates")
def _after_duplicates(model: Model) -> float:
    """Return cwnd after fast recovery / data in flight before it; 0.5 within a segment."""
    cell = _reno(model, {"scripted_loss": {"packets": [100]}})
    began, over = (_mark(model, cell, kind) for kind in ("fast_retransmit", "recovery_exit"))
    if math.isnan(over):
        return math.nan
    (t, flight), (u, cwnd) = (_values(model, cell, name) for name in ("flight", "cwnd"))
    before = float(flight[t < began][-1]) // _DATA * _DATA
    after = float(cwnd[u <= over][-1])
    return 0.5 if abs(after - before / 2) <= _DATA else after / before


@REGISTRY.function("after_timeout")
def _after_timeout(model: Model) -> float:
    """Return cwnd (segments) after a time-out."""
    cell = _reno(model, {"outage": {"start": "1 s", "duration": "1 s"}})
    at = _mark(model, cell, "timeout")
    u, cwnd = _values(model, cell, "cwnd")
    return float(cwnd[u >= at][0]) / _DATA


@REGISTRY.function("wins")
def _wins(model: Model, tcp: str) -> Quantity:
    """Count, for each run, the conditions of 27 in which `tcp` beats the other TCP."""
    other = {"newreno": "westwood", "westwood": "newreno"}[tcp]
    total = None
    for row in model.plan.constants["ROWS"]:
        for delay in model.plan.constants["DELAYS"]:
            ours, theirs = (model.thr(item, row, delay) for item in (tcp, other))
            n = min(len(ours.values), len(theirs.values))
            ahead = (ours.values[:n] > theirs.values[:n]).astype(float)
            total = ahead if total is None else total[: len(ahead)] + ahead[: len(total)]
    return Quantity(np.asarray(total), f"conditions in which {tcp} is ahead", "conditions")


@REGISTRY.function("first_as_rest")
def _first_as_rest(model: Model) -> Evidence:
    """Return the fact whether the mean of the first four transfers is within 3 standard errors."""
    values = model.thr("westwood", 2, 0.03).values
    first, rest = values[:4], values[4:]
    if len(rest) < 2:
        return fact(holds=False, detail="too few transfers")
    error = np.std(values, ddof=1) * math.sqrt(1 / 4 + 1 / len(rest))
    if not error > 0:
        return fact(holds=False, detail="no two transfers differ")
    z = (np.mean(first) - np.mean(rest)) / error
    return fact(bool(abs(z) < 3), f"the first four are {z:.1f} standard errors from the rest")


@REGISTRY.figure("graph1")
def _graph1(model: Model) -> Curves:
    cell = _reno(
        model,
        {"scripted_loss": {"packets": [100]}, "outage": {"start": "3 s", "duration": "300 ms"}},
    )
    (t, cwnd), (_, threshold) = (_values(model, cell, name) for name in ("cwnd", "ssthresh"))
    runs = model.cache.runs
    series = {
        name: [Quantity([float(v)] * runs, name) if math.isfinite(v) else None for v in values]
        for name, values in {"cwnd": cwnd / _DATA, "ssthresh": threshold / _DATA}.items()
    }
    return Curves([float(item) for item in t], "time (s)", "segments", series)


@REGISTRY.hook("tahoe")
def _tahoe(_: dict[str, Any]) -> None:
    """Leave the scenario unchanged; `_reno` replaces Reno by Tahoe."""


@REGISTRY.hook("without_sack")
def _without_sack(tree: dict[str, Any]) -> None:
    tcp = tree["tcp"]
    if tcp["mss"] != "40 B":
        return
    tcp.pop("dsack", None)
    if tcp["variant"] == "sack":
        tcp["variant"] = "newreno"
    else:
        tcp.update(sack=False, recovery="newreno")


@REGISTRY.hook("kernels")
def _kernels(tree: dict[str, Any]) -> None:
    if tree["tcp"]["variant"] == "westwood+" and tree["tcp"]["mss"] == "40 B":
        tree["tcp"].update(receive_window="4000 B", receive_window_max="8000 B")


@REGISTRY.hook("payload_60")
def _payload_60(tree: dict[str, Any]) -> None:
    if tree["tcp"]["mss"] == "40 B":
        tree["tcp"]["mss"] = "60 B"


@REGISTRY.hook("packets_80")
def _packets_80(tree: dict[str, Any]) -> None:
    down = tree["links"][0]["down"]
    if down["rate"] == "333333 bit/s":
        down["rate"] = "250000 bit/s"
