"""The congestion window over time, with the slow-start threshold and loss events."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure

from farlink import units
from farlink.plot.data import Columns
from farlink.plot.style import (
    DATA,
    LOSS,
    MUTED,
    PALETTE,
    SECOND,
    View,
    headline,
    legend_above,
    panels,
    scale_axis,
    styled,
    time_axis,
    title,
)

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

__all__ = ["draw_cwnd"]

_CROWDED = 150
"""With more loss events than this in a panel, lines are thinner."""

_LANES = (
    ("timeout", "time-out", DATA, 0.955),
    ("fast_retransmit", "fast retransmit", LOSS, 0.885),
)

_LEGEND = ("cwnd", "ssthresh", "offered window", "time-out", "fast retransmit")
"""Order of the legend, whichever panel an entry comes from."""


@styled
def draw_cwnd(view: View, tcp: Sequence[str]) -> Figure:
    """Draw a panel per TCP; loss events are ticks in two lanes above the curves.

    A cwnd that grows far beyond the offered window has no effect there, so the
    figure stops at twice that window and says how far cwnd goes.
    """
    figure, axes = panels(len(tcp), 3.6 if len(tcp) == 1 else 0.9 + 1.35 * len(tcp))
    limits = view.limits(tcp)
    greatest = {name: _greatest(view.end_of(name, "cwnd").around(limits), "cwnd") for name in tcp}
    offered = max(_greatest(view.end_of(name, "acks"), "window") for name in tcp)
    largest = max(greatest.values())
    top = 2 * offered if largest > 4 * offered > 0 else max(largest, 1.0)
    legend: dict[str, Artist] = {}
    for one, name in zip(axes, tcp, strict=True):
        caption = _draw_panel(one, view, name, limits, legend)
        if greatest[name] > top:
            factor, unit = units.prefixed(greatest[name], "B")
            caption.append(f"cwnd grows to {greatest[name] / factor:.1f} {unit}")
        if ending := view.ending(name, limits):
            caption.append(ending)
        lead = f"{name}: " if len(tcp) > 1 else ""
        one.set_title(lead + ", ".join(caption))
        if 0 < offered <= top:
            legend["offered window"] = one.axhline(
                offered, color=MUTED, ls=(0, (5, 3)), lw=0.9, zorder=1
            )
    axes[0].set_ylim(0, 1.25 * top)
    for one in axes:
        scale_axis(one, "cwnd", "B", top)
        time_axis(one, limits)
        if one is not axes[-1]:
            one.set_xlabel("")
    title(figure, headline(view, "Congestion window", tcp, of_flow=True))
    shown = [name for name in _LEGEND if name in legend]
    legend_above(axes[0], [legend[name] for name in shown], shown)
    return figure


def _draw_panel(
    axes: "Axes",
    view: View,
    name: str,
    limits: tuple[float, float],
    legend: "dict[str, Artist]",
) -> list[str]:
    """Draw the curves and lanes of one TCP; return the counts for its caption."""
    cwnd = view.end_of(name, "cwnd").around(limits)
    threshold = view.end_of(name, "ssthresh").around(limits)
    finite, known = np.isfinite(threshold["ssthresh"]), np.isfinite(cwnd["cwnd"])
    marks = view.end_of(name, "marks").between(limits)
    thin = 1.1 if len(marks) < _CROWDED else 0.6
    for any_value, time, value, shade, text in (
        (known.any(), cwnd["time"], cwnd["cwnd"], PALETTE[0], "cwnd"),
        (
            finite.any(),
            threshold["time"],
            np.where(finite, threshold["ssthresh"], np.nan),
            SECOND,
            "ssthresh",
        ),
    ):
        if any_value:
            (line,) = axes.plot(time, value, color=shade, drawstyle="steps-post", lw=thin)
            legend.setdefault(text, line)
    counts = [] if known.any() else ["no congestion window"]
    for kind, text, shade, height in _LANES:
        times = marks.equal(kind=kind)["time"]
        counts.append(f"{len(times):,} {text}{'' if len(times) == 1 else 's'}")
        if len(times):
            (line,) = axes.plot(
                times,
                np.full(len(times), height),
                "|",
                color=shade,
                ms=4.5,
                mew=thin,
                transform=axes.get_xaxis_transform(),
            )
            legend.setdefault(text, line)
    return counts


def _greatest(columns: Columns, name: str) -> float:
    values = columns[name]
    return float(values[np.isfinite(values)].max(initial=0))
