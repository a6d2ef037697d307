"""Figures 9, 10, 12 and 13: sequence numbers of the run closest to the published one."""

from collections.abc import Callable
from typing import Any

import numpy as np

from farlink.plot.sheet import sheet, styled
from farlink.plot.style import DATA, LOSS
from farlink.plot.style import title as heading
from farlink.studies.cache import Cell
from farlink.studies.model import Model
from farlink.studies.study import Drawing
from farlink.studies.west1997.registry import REGISTRY
from farlink.studies.west1997.traces import sender

__all__: list[str] = []


def _nearest(model: Model, cell: Cell, seconds: float) -> int:
    """Return the run whose transfer time is closest to `seconds`."""
    times = model.cache.flow(cell, "duration").values
    return int(np.argmin(np.abs(times - seconds)))


@styled
def _draw(model: Model, cell: Cell, title: str, seconds: float, note: str) -> Drawing:
    run = _nearest(model, cell, seconds)
    trace = model.cache.probe(cell, run)
    sent, drops = sender(trace, "segments"), trace.table("drops").dropna(subset=["seq"])
    drops = drops[drops["time"] > 0]
    marks = sender(trace, "marks")
    stalls = marks[marks["kind"] == "timeout"]
    figure = sheet(3.6)
    axes = figure.subplots()
    axes.plot(sent["time"], sent["seq"] / 1e6, ".", ms=2, color=DATA, label="segments sent")
    axes.plot(drops["time"], drops["seq"] / 1e6, "x", ms=5, color=LOSS, label="lost")
    for place, time in enumerate(stalls["time"]):
        axes.axvline(time, color=LOSS, lw=0.6, ls=":", label="" if place else "time-out")
    axes.set_xlabel("time (s)")
    axes.set_ylabel("sequence number (MB)")
    axes.legend(loc="lower right", frameon=False)
    heading(figure, title)
    took = float(model.cache.flow(cell, "duration").values[run])
    text = (
        f"Seed {model.cache.seed}, run {run}: {took:.2f} s, {len(drops)} losses, "
        f"{len(stalls)} time-outs. {note}"
    )
    return Drawing(figure, {"segments": sent, "drops": drops}, text)


_RUNS: tuple[tuple[str, str, str, dict[str, Any], float, str], ...] = (
    ("fig9", "Fig. 9: an ideal transfer", "none", {}, 9.77, "Published: a straight line."),
    (
        "fig10",
        "Fig. 10: Reno on the LAN, errors once in 64 KB",
        "bit64k",
        {},
        12.71,
        "Published: 12.71 s, 30 losses repaired without a stall.",
    ),
    (
        "fig12",
        "Fig. 12: Reno over the WAN, no errors",
        "none",
        {"net": "wan", "drops": 0.00435},
        63.0,
        "Published: almost 63 s, 17 drops.",
    ),
    (
        "fig13",
        "Fig. 13: Reno over the WAN, errors once in 64 KB",
        "bit64k",
        {"net": "wan", "drops": 0.00435},
        137.0,
        "Published: almost 137 s, 54 losses.",
    ),
)


def _figure(
    title: str, err: str, factors: dict[str, Any], seconds: float, note: str
) -> Callable[[Model], Drawing]:
    return lambda model: _draw(model, model.cell("reno", err, **factors), title, seconds, note)


for _id, _title, _err, _factors, _seconds, _note in _RUNS:
    REGISTRY.figure(_id)(_figure(_title, _err, _factors, _seconds, _note))
