"""Plot of a link's throughput over time, with a line per TCP."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from farlink import units
from farlink.plot.curves import Curve, draw_curves, of_tcp
from farlink.plot.data import Columns
from farlink.plot.sheet import points, sheet, styled
from farlink.plot.style import (
    MUTED,
    headline,
    legend_above,
    panels,
    remark,
    scale_axis,
    time_axis,
    title,
)
from farlink.plot.view import View
from farlink.trace import round_bin

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw_throughput"]

_MOST_LINES = 6
"""Largest number of TCPs in one panel. More TCPs have a panel each."""

_MOST_BINS = 400
"""Largest number of bins in the width of a figure."""


@styled
def draw_throughput(
    view: View, tcp: Sequence[str], chosen: tuple[str | None, str | None], bin_s: float | None
) -> Figure:
    """Draw the throughput of the TCPs in one panel, with the link's rate as a dashed line.

    More than six TCPs have a panel each, with all other curves in grey.
    """
    link, direction = view.direction_of(tcp[0], chosen)
    limits = view.limits(tcp)
    width = bin_s or _bin(view, tcp, limits)
    curves = [_curve(view, name, (link, direction), width, limits) for name in tcp]
    largest = max(float(curve.value.max(initial=0)) for curve in curves)
    handles: list[Line2D] = []
    labels: list[str] = []
    rate = units.parse_rate(view.link(link, direction).get("rate"))
    if len(tcp) > _MOST_LINES:
        figure, axes = panels(len(tcp), 0.9 + 0.85 * len(tcp))
        for ax, curve in zip(axes, curves, strict=True):
            for other in curves:
                ax.plot(other.time, other.value, color="#D8D8D8", lw=0.6, zorder=1)
            ax.plot(curve.time, curve.value, color=curve.look.colour, label=curve.label)
            ax.set_title(curve.label)
        note = ""
    else:
        figure = sheet(3.5)
        axes = [figure.subplots()]
        handles, labels, note = draw_curves(axes[0], curves, limits)
    top = _rate_line(axes, rate, largest)
    for ax in axes:
        ax.set_ylim(0, 1.12 * top)
        scale_axis(ax, "throughput" if len(axes) == 1 else "", "bit/s", top)
        time_axis(ax, limits)
        if ax is not axes[-1]:
            ax.set_xlabel("")
    what = f"Throughput of {link}, {direction}, in bins of {width:g} s"
    title(figure, headline(view, what, tcp))
    remark(figure, note)
    if len(tcp) > 1:
        legend_above(axes[0], handles, labels)
    return figure


def _bin(view: View, tcp: Sequence[str], limits: tuple[float, float]) -> float:
    """Return the width of a bin (s), from the duration of the fastest TCP."""
    shown = limits[1] - limits[0]
    fastest = min(max(view.end(name) - limits[0], 0.0) for name in tcp)
    return round_bin(1.6 * max(min(fastest, shown), 100 * shown / _MOST_BINS / 1.6))


def _curve(
    view: View, name: str, where: tuple[str, str], width: float, limits: tuple[float, float]
) -> Curve:
    link, direction = where
    binned = Columns(
        view.result.arrays(
            "throughput", name, view.run, bin_s=width, where={"link": link, "direction": direction}
        )
    )
    # An incomplete last bin is left out, because it would look like a drop of throughput.
    full = binned.where(binned["time"] + width / 2 <= view.end(name)).around(limits)
    ending = view.ending(name, limits)
    label = f"{name} ({ending})" if ending else name
    return Curve(name, label, full["time"], full["throughput"], of_tcp(view.result, name))


def _rate_line(axes: "Sequence[Axes]", rate: float | None, largest: float) -> float:
    """Draw the link's rate near the curves, else write it as text. Return the y axis's top."""
    if rate is None:
        return largest or 1.0
    factor, unit = units.prefixed(rate, "bit/s")
    text = f"link rate {units.rounded(rate / factor)} {unit}"
    near = largest > (0.4 if len(axes) == 1 else 0.7) * rate
    top = max(largest, rate) if near else largest or 1.0
    for ax in axes if near else []:
        ax.axhline(rate, color=MUTED, ls=(0, (5, 3)), lw=0.9, zorder=1)
    axes[0].annotate(
        text if near else f"{text} (above)",
        (1, rate / (1.12 * top) if near else 0.95),
        (-2, 3),
        color=MUTED,
        ha="right",
        fontsize=points(7.5),
        xycoords="axes fraction",
        textcoords="offset points",
    )
    return top
