"""The queue of a link over time."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from matplotlib.figure import Figure

from farlink import units
from farlink.plot.data import envelope
from farlink.plot.style import (
    LOSS,
    MUTED,
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

__all__ = ["draw_queue"]

_COLUMNS = 700


@styled
def draw_queue(view: View, tcp: Sequence[str], chosen: tuple[str | None, str | None]) -> Figure:
    """Draw a panel per TCP: range and mean of what waits, and what did not fit.

    In packets, or in bytes where the limit of the queue is in bytes.
    """
    link, direction = view.direction_of(tcp[0], chosen)
    figure, axes = panels(len(tcp), 3.2 if len(tcp) == 1 else 0.9 + 1.25 * len(tcp))
    limits = view.limits(tcp)
    width = (limits[1] - limits[0]) / _COLUMNS
    unit, capacity = _limit(view, link, direction)
    highest = 1.0
    legend: dict[str, Artist] = {}
    for one, name in zip(axes, tcp, strict=True):
        waiting = view.link_of(name, "queue", link, direction)
        end = min(limits[1], view.end(name))
        middle, low, mean, high = envelope(
            waiting["time"],
            waiting[unit],
            (limits[0], max(end, limits[0] + width)),
            max(1, round((end - limits[0]) / width)),
        )
        highest = max(highest, float(high.max()))
        legend[f"range in {width:.2g} s"] = one.fill_between(
            middle,
            low,
            high,
            color=PALETTE[5],
            alpha=0.55,
            lw=0,
            step="mid",
        )
        (legend["mean"],) = one.plot(middle, mean, color=PALETTE[0], lw=0.9, drawstyle="steps-mid")
        drops = view.link_of(name, "drops", link, direction).between(limits)
        lost = drops.equal(cause="congestion")["time"]
        if len(lost):
            (legend["drop"],) = one.plot(
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
        plural = "" if len(lost) == 1 else "s"
        one.set_title(f"{lead}{len(lost):,} drop{plural} by a full queue" + ending)
    for one in axes:
        if capacity is not None and capacity < 4 * highest:
            legend["queue limit"] = one.axhline(capacity, color=MUTED, ls=(0, (5, 3)), lw=0.9)
        time_axis(one, limits)
        if one is not axes[-1]:
            one.set_xlabel("")
    shown = capacity if capacity is not None and capacity < 4 * highest else highest
    axes[0].set_ylim(0, 1.25 * shown)
    for one in axes:
        scale_axis(one, "queue", "B" if unit == "bytes" else unit, shown)
    what = f"Queue of {link}, {direction}"
    title(figure, headline(view, what, tcp))
    legend_above(axes[0], list(legend.values()), list(legend))
    return figure


def _limit(view: View, link: str, direction: str) -> tuple[str, float | None]:
    """Return what the queue counts, and the most of it that it holds."""
    queue = view.link(link, direction).get("queue")
    if not isinstance(queue, dict):
        return "packets", None
    if "bytes" in queue:
        return "bytes", units.parse_size(queue["bytes"])
    return "packets", float(queue["packets"])
