"""Plot of a link's queue over time."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from matplotlib.figure import Figure

from farlink import units
from farlink.plot.data import envelope
from farlink.plot.sheet import styled
from farlink.plot.style import (
    LOSS,
    MUTED,
    PALETTE,
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

__all__ = ["draw_queue"]

_COLUMNS = 700

_LEAST = 4.0
"""Smallest top of the y axis (packets or bytes)."""


@styled
def draw_queue(view: View, tcp: Sequence[str], chosen: tuple[str | None, str | None]) -> Figure:
    """Draw a panel per TCP with range and mean of the queue, and dropped packets.

    The unit is packets, or bytes if the queue's limit is in bytes.
    """
    link, direction = view.direction_of(tcp[0], chosen)
    figure, axes = panels(len(tcp), 3.2 if len(tcp) == 1 else 0.9 + 1.25 * len(tcp))
    limits = view.limits(tcp)
    width = (limits[1] - limits[0]) / _COLUMNS
    unit, capacity = _limit(view, link, direction)
    highest: list[float] = []
    legend: dict[str, Artist] = {}
    for ax, name in zip(axes, tcp, strict=True):
        waiting = view.link_of(name, "queue", link, direction)
        end = min(limits[1], view.end(name))
        middle, low, mean, high = envelope(
            waiting["time"],
            waiting[unit],
            (limits[0], max(end, limits[0] + width)),
            max(1, round((end - limits[0]) / width)),
        )
        highest.append(max(_LEAST, float(high.max())))
        legend[f"range in {width:.2g} s"] = ax.fill_between(
            middle,
            low,
            high,
            color=PALETTE[5],
            alpha=0.55,
            lw=0,
            step="mid",
        )
        (legend["mean"],) = ax.plot(middle, mean, color=PALETTE[0], lw=0.9, drawstyle="steps-mid")
        drops = view.link_of(name, "drops", link, direction).between(limits)
        lost = drops.equal(cause="congestion")["time"]
        ending = view.ending(name, limits)
        caption = [f"{len(lost):,} drop{'' if len(lost) == 1 else 's'} by a full queue"]
        crowded = crowd(ax, lost, limits, 0.94, LOSS)
        if crowded is not None:
            legend["drops"] = crowded[0]
            caption[0] += f" ({crowded[1]})"
        elif len(lost):
            (legend["drop"],) = ax.plot(
                lost,
                [0.94] * len(lost),
                "|",
                color=LOSS,
                ms=5,
                mew=0.8,
                transform=ax.get_xaxis_transform(),
            )
        lead = f"{name}: " if len(tcp) > 1 else ""
        ax.set_title(lead + ", ".join([*caption, *filter(None, [ending])]))
    tops = own_scales(highest)
    for ax, top in zip(axes, tops, strict=True):
        shown = top
        if capacity is not None and capacity < 4 * top:
            legend["queue limit"] = ax.axhline(capacity, color=MUTED, ls=(0, (5, 3)), lw=0.9)
            shown = max(capacity, top)
        ax.set_ylim(0, 1.25 * shown)
        # Small panels have space only for the unit, and the title names the quantity.
        label = "queue" if len(axes) == 1 else ""
        scale_axis(ax, label, "B" if unit == "bytes" else unit, shown)
        time_axis(ax, limits)
        if ax is not axes[-1]:
            ax.set_xlabel("")
    scales = "; scales differ" if len(set(tops)) > 1 else ""
    title(figure, headline(view, f"Queue of {link}, {direction}", tcp) + scales)
    legend_above(axes[0], list(legend.values()), list(legend))
    return figure


def _limit(view: View, link: str, direction: str) -> tuple[str, float | None]:
    """Return the unit of the queue's limit ("packets" or "bytes"), and the limit."""
    queue = view.link(link, direction).get("queue")
    if not isinstance(queue, dict):
        return "packets", None
    if "packets" in queue:
        return "packets", float(queue["packets"])
    # Results of older versions may have a limit in bandwidth-delay products of a rate trace,
    # without its size in bytes.
    return "bytes", units.parse_size(queue["bytes"]) if "bytes" in queue else None
