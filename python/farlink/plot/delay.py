"""The one-way delay of datagrams over time."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from matplotlib.figure import Figure

from farlink.errors import ScenarioError
from farlink.plot.style import (
    LOSS,
    PALETTE,
    RASTER_ABOVE,
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

__all__ = ["draw_delay"]


@styled
def draw_delay(view: View, tcp: Sequence[str]) -> Figure:
    """Draw a panel per TCP: a point per datagram that arrived, a tick per one lost."""
    flow = _flow(view)
    figure, axes = panels(len(tcp), 3.2 if len(tcp) == 1 else 0.9 + 1.25 * len(tcp))
    limits = view.limits(tcp)
    highest = 0.0
    legend: dict[str, Artist] = {}
    for one, name in zip(axes, tcp, strict=True):
        arrived, dropped = (rows.between(limits) for rows in view.datagrams_of(name, flow))
        if len(arrived):
            highest = max(highest, float(arrived["delay"].max()))
            (legend["delay"],) = one.plot(
                arrived["time"],
                arrived["delay"],
                ".",
                color=PALETTE[0],
                ms=2,
                mew=0,
                rasterized=len(arrived) > RASTER_ABOVE,
            )
        lost = dropped["time"]
        if len(lost):
            (legend["loss"],) = one.plot(
                lost,
                [0.94] * len(lost),
                "|",
                color=LOSS,
                ms=5,
                mew=0.8,
                rasterized=len(lost) > RASTER_ABOVE,
                transform=one.get_xaxis_transform(),
            )
        lead = f"{name}: " if len(tcp) > 1 else ""
        ending = view.ending(name, limits)
        ending = f", {ending}" if ending else ""
        one.set_title(f"{lead}{len(arrived):,} arrived, {len(lost):,} lost{ending}")
        time_axis(one, limits)
        if one is not axes[-1]:
            one.set_xlabel("")
    axes[0].set_ylim(0, 1.25 * (highest or 1.0))
    for one in axes:
        scale_axis(one, "delay", "s", highest or 1.0)
    title(figure, headline(view, f"One-way delay of {flow}", tcp))
    legend_above(axes[0], list(legend.values()), list(legend))
    return figure


def _flow(view: View) -> str:
    """Return the flow shown: the one asked for, or the first of datagrams."""
    datagrams = view.result.udp_flows()
    if not datagrams:
        raise ScenarioError("no flow of this result sends datagrams; write app = 'cbr' or 'onoff'")
    if view.flow is None:
        return datagrams[0]
    if view.flow not in datagrams:
        known = ", ".join(datagrams)
        raise ScenarioError(f"flow {view.flow!r} does not send datagrams; these do: {known}")
    return view.flow
