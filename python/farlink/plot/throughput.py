"""The throughput of a link over time, one line per TCP."""

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from farlink import units
from farlink.plot.data import Columns
from farlink.plot.style import (
    MUTED,
    WIDTH,
    View,
    colour,
    headline,
    legend_above,
    scale_axis,
    styled,
    time_axis,
    title,
)
from farlink.trace import round_bin

__all__ = ["draw_throughput"]

_DASH = 5.0
"""Length of a dash, in widths of the line."""
_MOSTLY = 0.8
"""Lines that share more than this part of their points hide each other."""


@styled
def draw_throughput(
    view: View, tcp: Sequence[str], chosen: tuple[str | None, str | None], bin_s: float | None
) -> Figure:
    """Compare the TCPs in one panel, with the rate of the link as a dashed line."""
    result = view.result
    link, direction = view.direction_of(tcp[0], chosen)
    limits = view.limits(tcp)
    width = bin_s or round_bin(1.6 * (limits[1] - limits[0]))
    figure = Figure(figsize=(WIDTH, 3.5), layout="constrained")
    axes = figure.subplots()
    largest = 0.0
    drawn: list[Line2D] = []
    for name in tcp:
        binned = Columns.of(result.trace("throughput", name, view.run, bin_s=width))
        binned = binned.equal(link=link, direction=direction)
        # A last bin that the run did not fill would look like a collapse.
        full = binned.where(binned["time"] + width / 2 <= view.end(name)).around(limits)
        ending = view.ending(name, limits)
        label = f"{name} ({ending})" if ending else name
        drawn += axes.plot(
            full["time"], full["throughput"], color=colour(result, name), label=label
        )
        largest = max(largest, float(full["throughput"].max(initial=0)))
    _share_dashes(drawn, 0.01 * largest)
    rate = units.parse_rate(view.link(link, direction).get("rate"))
    if rate is not None:
        factor, unit = units.prefixed(rate, "bit/s")
        text = f"link rate {units.rounded(rate / factor)} {unit}"
        if largest > 0.4 * rate:
            largest = max(largest, rate)
            axes.axhline(rate, color=MUTED, ls=(0, (5, 3)), lw=0.9, zorder=1)
            height = rate / (1.12 * largest)
        else:
            height, text = 0.95, f"{text} (above)"
        axes.annotate(
            text,
            (1, height),
            (-2, 3),
            color=MUTED,
            ha="right",
            fontsize=7.5,
            xycoords="axes fraction",
            textcoords="offset points",
        )
    axes.set_ylim(0, 1.12 * largest)
    scale_axis(axes, "throughput", "bit/s", largest)
    time_axis(axes, limits)
    what = f"Throughput of {link}, {direction}, in bins of {width:g} s"
    title(figure, headline(view, what, tcp))
    if len(tcp) > 1:
        handles, labels = axes.get_legend_handles_labels()
        solid = [Line2D([], [], color=line.get_color()) for line in drawn]
        legend_above(axes, [*solid, *handles[len(drawn) :]], labels)
    return figure


def _share_dashes(lines: Sequence[Line2D], apart: float) -> None:
    """Give lines that lie mostly on each other dashes in turn: the last would hide the others."""
    groups: list[list[Line2D]] = []
    for line in lines:
        group = next((group for group in groups if _coincide(group[0], line, apart)), None)
        if group is None:
            groups.append([line])
        else:
            group.append(line)
    for group in groups:
        for k, line in enumerate(group if len(group) > 1 else []):
            line.set_linestyle((k * _DASH, (_DASH, (len(group) - 1) * _DASH)))


def _coincide(one: Line2D, other: Line2D, apart: float) -> bool:
    a, b = (np.asarray(line.get_ydata(), dtype=float) for line in (one, other))
    common = min(len(a), len(b))
    return common > 0 and float(np.mean(np.abs(a[:common] - b[:common]) <= apart)) > _MOSTLY
