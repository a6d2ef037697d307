"""Draws figures of curves: means over the runs with their 95 % intervals."""

import itertools
import math
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

from matplotlib.figure import Figure

from farlink.plot.sheet import points, sheet, styled
from farlink.plot.style import MUTED, PALETTE, title
from farlink.studies.quantity import Quantity
from farlink.studies.study import Curves

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

__all__ = ["draw", "numbers"]

# Marker, fill and line style distinguish the curves in black and white.
_MARKS = (
    ("o", "full", "-"),
    ("s", "none", "--"),
    ("^", "full", "-."),
    ("D", "none", ":"),
    ("v", "full", "-"),
    ("P", "none", "--"),
    ("X", "full", "-."),
)

_FARTHEST = 1.0
"""Largest extension of the y axis above the published axis, as a multiple of its length."""

_CUT = "Ours goes far beyond the published axis; what is above this figure is in its CSV."

_LINE = 118
"""Characters of a note that fit in the width of a figure."""


@styled
def draw(curves: Curves, heading: str, note: str = "") -> Figure:
    """Draw curves with a mark for each mean and a bar for its 95 % interval.

    Parameters
    ----------
    curves
        Curves; a bracket on the right marks the published range of the y axis.
    heading, note
        Lines of text above and below the figure.
    """
    figure = sheet(4.1)
    axes = figure.subplots()
    looks = zip(itertools.cycle(PALETTE), itertools.cycle(_MARKS), strict=False)
    for (name, values), (colour, (marker, filling, stroke)) in zip(
        curves.series.items(), looks, strict=False
    ):
        x, mean, below, above = _points(curves, values)
        axes.errorbar(
            x,
            mean,
            yerr=[below, above],
            label=name,
            color=colour,
            marker=marker,
            fillstyle="none" if filling == "none" else "full",
            ls=stroke,
            ms=4.5,
            lw=1.1,
            capsize=2,
            elinewidth=0.8,
        )
    _published(axes, curves)
    if curves.log_x:
        axes.set_xscale("log")
    if curves.log_y:
        axes.set_yscale("log")
    cut = _range(axes, curves)
    axes.set_xlabel(curves.x_label)
    axes.set_ylabel(curves.y_label)
    if len(curves.series) > 1 or curves.points:
        axes.legend(loc="best", frameon=True, framealpha=0.85, edgecolor="none")
    title(figure, heading)
    lines = [line for line in (curves.note, _CUT if cut else "", note) if line]
    if lines:
        text = "\n".join(part for line in lines for part in textwrap.wrap(line, _LINE))
        figure.supxlabel(text, x=0.012, ha="left", fontsize=points(7.5), color=MUTED)
    return figure


def numbers(curves: Curves) -> "pd.DataFrame":
    """Return a table with a row per point: mean, 95 % interval, number of runs, unit."""
    import pandas as pd

    rows = []
    for name, values in curves.series.items():
        for x, value in zip(curves.x, values, strict=True):
            if value is None:
                continue
            item = value.estimate
            rows.append((name, x, item.mean, item.low, item.high, item.n, value.unit))
    columns = ["series", curves.x_label, "mean", "ci95_low", "ci95_high", "n", "unit"]
    return pd.DataFrame(rows, columns=pd.Index(columns))


def _points(
    curves: Curves, values: Sequence[Quantity | None]
) -> tuple[list[float], list[float], list[float], list[float]]:
    """Return x values, means, and lengths of the bars below and above."""
    x, means, below, above = [], [], [], []
    for at, value in zip(curves.x, values, strict=True):
        estimate = None if value is None else value.estimate
        if estimate is None or estimate.mean is None or not math.isfinite(estimate.mean):
            continue
        half = curves.scale * (estimate.half_width or 0.0)
        mean = curves.scale * estimate.mean
        x.append(at)
        means.append(mean)
        # A logarithmic axis cannot show a bar that reaches zero.
        below.append(min(half, 0.999 * mean) if curves.log_y and mean > 0 else half)
        above.append(half)
    return x, means, below, above


def _published(axes: "Axes", curves: Curves) -> None:
    """Draw published points as stars, or as lines if only one coordinate is published."""
    for point in curves.points:
        label = f"published: {point.text}"
        if point.x is not None and point.y is not None:
            axes.plot(point.x, point.y, "*", ms=11, mfc="white", mec="black", label=label, zorder=5)
        elif point.x is not None:
            axes.axvline(point.x, color="black", lw=0.9, ls=(0, (1, 2)), label=label)
        elif point.y is not None:
            axes.axhline(point.y, color="black", lw=0.9, ls=(0, (1, 2)), label=label)


def _range(axes: "Axes", curves: Curves) -> bool:
    """Draw the published range of the y axis as a bracket on the right.

    Returns whether the y axis was cut because the simulated values exceed that range by far.
    """
    low, high = axes.get_ylim()
    if not curves.log_y and low < 0 <= min(_means(curves), default=0.0):
        low = 0.0
    cut = False
    if curves.y_range is not None:
        first, last = curves.y_range
        beyond = last + _FARTHEST * (last - first)
        cut = not curves.log_y and curves.scale * max(_means(curves), default=0.0) > beyond
        low, high = min(low, first), beyond if cut else max(high, last)
        across = axes.get_yaxis_transform()
        axes.plot(
            [1.012, 1.012],
            [first, last],
            transform=across,
            color=MUTED,
            lw=1.0,
            marker="_",
            ms=5,
            clip_on=False,
        )
        middle = math.sqrt(first * last) if curves.log_y else (first + last) / 2
        axes.text(
            1.02,
            middle,
            f"published axis, {first:g} to {last:g}",
            transform=across,
            rotation=90,
            va="center",
            fontsize=points(7),
            color=MUTED,
        )
    axes.set_ylim(low, high)
    return cut


def _means(curves: Curves) -> list[float]:
    means = [
        value.mean for values in curves.series.values() for value in values if value is not None
    ]
    return [mean for mean in means if math.isfinite(mean)]
