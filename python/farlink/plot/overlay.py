"""Plot of a captured connection over simulations of its fitted path."""

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from farlink.captures.direction import Direction
from farlink.plot.curves import of_tcp
from farlink.plot.data import Array
from farlink.plot.sheet import sheet, styled
from farlink.plot.style import DATA, legend_above, remark, scale_axis, time_axis, title

if TYPE_CHECKING:
    from farlink.overlay import Overlay

__all__ = ["draw_overlay"]

_POINTS = 400


@styled
def draw_overlay(overlay: "Overlay") -> Figure:
    """Draw acknowledged data and round-trip times, from the first segment with data."""
    figure = sheet(6.0)
    upper, lower = figure.subplots(2, 1, sharex=True)
    handles, labels = [], []
    ends, tops, trips = [overlay.way.until - overlay.way.since], [1.0], [1e-6]
    for tcp, runs in overlay.simulated.items():
        shade = of_tcp(overlay.result, tcp).colour
        faint = max(0.15, min(0.6, 3 / len(runs)))
        for run in runs:
            time, acked = _acked(run)
            upper.plot(time, acked, color=shade, lw=0.8, alpha=faint)
            time, rtt = _trips(run)
            lower.plot(time, rtt, color=shade, lw=0.6, alpha=faint)
            trips.append(float(rtt.max(initial=0)))
            ends.append(float(run.until - run.since))
            tops.append(float(acked.max(initial=0)))
        handles.append(Line2D([], [], color=shade, lw=1.2))
        labels.append(f"{tcp}, {len(runs)} run{'s' if len(runs) > 1 else ''}")
    time, acked = _acked(overlay.way)
    (line,) = upper.plot(time, acked, color=DATA, lw=1.5)
    handles.insert(0, line)
    labels.insert(0, "captured")
    time, rtt = _trips(overlay.way)
    lower.plot(time, rtt, color=DATA, lw=1.0)
    tops.append(float(acked.max(initial=0)))
    trips.append(float(rtt.max(initial=0)))
    for axes, what, unit, top in (
        (upper, "acknowledged", "B", max(tops)),
        (lower, "round trip", "s", max(trips)),
    ):
        axes.set_ylim(0, 1.08 * top)
        scale_axis(axes, what, unit, top)
        # The limit is four times the median duration, so that a very long run does not squeeze the
        # others.
        time_axis(axes, (0, 1.03 * min(max(ends), 4 * float(np.median(ends)))))
    upper.set_xlabel("")
    title(
        figure,
        f"Captured and simulated: {overlay.result.name}, "
        f"{overlay.way.sender} to {overlay.way.receiver}",
    )
    remark(figure, "; ".join(f"{name} {value}" for name, value in overlay.path.rows[:4]))
    legend_above(upper, handles, labels)
    return figure


def _acked(way: Direction) -> tuple[Array, Array]:
    rows = way.acks
    if not len(rows["time"]):
        return np.zeros(1), np.zeros(1)
    time = rows["time"] - way.since
    return time[time >= 0], np.maximum.accumulate(rows["ack"])[time >= 0]


def _trips(way: Direction) -> tuple[Array, Array]:
    """Return the round-trip times; a large number is averaged in columns of time."""
    time, rtt = way.rtt["time"] - way.since, way.rtt["rtt"]
    if len(time) <= _POINTS:
        return time, rtt
    edges = np.linspace(time[0], time[-1], _POINTS + 1)
    place = np.clip(np.searchsorted(edges, time, side="right") - 1, 0, _POINTS - 1)
    count = np.bincount(place, minlength=_POINTS)
    total = np.bincount(place, weights=rtt, minlength=_POINTS)
    some = count > 0
    return ((edges[:-1] + edges[1:]) / 2)[some], total[some] / count[some]
