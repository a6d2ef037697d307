"""Plot of the one-way delay of datagrams over time."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from farlink.errors import ScenarioError
from farlink.plot.curves import look
from farlink.plot.data import scattered
from farlink.plot.sheet import raster, styled
from farlink.plot.style import (
    LOSS,
    RASTER_ABOVE,
    crowd,
    headline,
    legend_above,
    own_scales,
    panels,
    scale_axis,
    time_axis,
    title,
)
from farlink.plot.view import View

if TYPE_CHECKING:
    from matplotlib.artist import Artist

__all__ = ["draw_delay"]

_FEW_POINTS = 1500
"""Largest number of points at which each flow has its own marker."""

_MOST_NAMES = 15
"""Largest number of flows that the legend names."""


@styled
def draw_delay(view: View, tcp: Sequence[str]) -> Figure:
    """Draw a panel per TCP, with a point per arrived datagram and a tick per lost datagram."""
    flows = _flows(view)
    figure, axes = panels(len(tcp), 3.2 if len(tcp) == 1 else 0.9 + 1.25 * len(tcp))
    limits = view.limits(tcp)
    highest = []
    named: dict[str, Line2D] = {}
    legend: dict[str, Artist] = {}
    for ax, name in zip(axes, tcp, strict=True):
        count, lost, top = 0, [], 0.0
        points = {}
        for place, flow in enumerate(flows):
            arrived, dropped = (rows.between(limits) for rows in view.datagrams_of(name, flow))
            lost.append(dropped["time"])
            count += len(arrived)
            if len(arrived):
                points[flow] = look(place), arrived
                top = max(top, float(arrived["delay"].max()))
        # The flow with the most points is drawn first, so that it does not cover the others.
        for flow, (style, arrived) in sorted(points.items(), key=lambda of: -len(of[1][1])):
            few = len(flows) > 1 and len(arrived) * len(flows) < _FEW_POINTS
            seen = scattered(arrived["time"], [arrived["delay"]], limits, raster())
            ax.plot(
                arrived["time"][seen],
                arrived["delay"][seen],
                style.marker if few else ".",
                color=style.colour,
                ms=3 if few else 2,
                mew=0,
                rasterized=len(seen) > RASTER_ABOVE,
            )
            named[flow if len(flows) > 1 else "delay"] = Line2D(
                [], [], ls="", marker=style.marker if few else ".", color=style.colour, ms=6, mew=0
            )
        highest.append(top or 1.0)
        losses = np.sort(np.concatenate(lost))
        caption = f"{count:,} arrived, {len(losses):,} lost"
        crowded = crowd(ax, losses, limits, 0.94, LOSS)
        if crowded is not None:
            legend["loss"] = crowded[0]
            caption += f" ({crowded[1]})"
        elif len(losses):
            (legend["loss"],) = ax.plot(
                losses,
                [0.94] * len(losses),
                "|",
                color=LOSS,
                ms=5,
                mew=0.8,
                transform=ax.get_xaxis_transform(),
            )
        lead = f"{name}: " if len(tcp) > 1 else ""
        ending = view.ending(name, limits)
        ax.set_title(f"{lead}{caption}{f', {ending}' if ending else ''}")
        time_axis(ax, limits)
        if ax is not axes[-1]:
            ax.set_xlabel("")
    tops = own_scales(highest)
    for ax, top in zip(axes, tops, strict=True):
        ax.set_ylim(0, 1.25 * top)
        scale_axis(ax, "delay", "s", top)
    scales = "; scales differ" if len(set(tops)) > 1 else ""
    what = flows[0] if len(flows) == 1 else f"{len(flows):,} flows"
    title(figure, headline(view, f"One-way delay of {what}", tcp) + scales)
    names = [name for name in ("delay", *flows) if name in named]
    legend = {name: named[name] for name in names[:_MOST_NAMES]} | legend
    legend_above(axes[0], list(legend.values()), list(legend))
    return figure


def _flows(view: View) -> list[str]:
    """Return the selected flow, or all flows of datagrams."""
    datagrams = view.result.udp_flows()
    if not datagrams:
        raise ScenarioError("no flow of this result sends datagrams; write app = 'cbr' or 'onoff'")
    if view.flow is None:
        return datagrams
    if view.flow not in datagrams:
        known = ", ".join(datagrams)
        raise ScenarioError(f"flow {view.flow!r} does not send datagrams; these do: {known}")
    return [view.flow]
