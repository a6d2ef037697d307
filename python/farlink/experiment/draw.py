"""Figures of a sweep: a measure over a factor, with colours, panels and 95 % intervals."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from farlink import units
from farlink.experiment.factors import Factor, Level
from farlink.experiment.plan import Plot
from farlink.experiment.points import Point
from farlink.plot.sheet import points, sheet, styled
from farlink.plot.style import PALETTE, Scaled, remark, title

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from farlink.experiment.sweep import SweepResult

__all__ = ["draw"]

# Markers differ as well as colours, so that a series is recognised without colour.
_MARKS = ("o", "s", "^", "D", "v", "P", "X")
_STROKES = ("-", "--", "-.", ":")

_ACROSS = 3
"""Largest number of panels in a row."""

_HEIGHT = 2.5
"""Height of a row of panels (inches)."""


@styled
def draw(result: "SweepResult", plot: Plot) -> "Figure":
    """Draw a figure that a sweep file declares.

    A mark is the mean over the runs of all points that share the levels of x, colour and panel. The
    bar is the 95 % interval of that mean. All other factors are averaged over, run by run, and the
    figure names them.
    """
    factors = result.plan.factor
    x = factors[plot.x]
    colours = _levels(factors.get(plot.colour))
    panels = _levels(factors.get(plot.panels))
    across = 2 if len(panels) in (2, 4) else min(_ACROSS, len(panels))
    down = math.ceil(len(panels) / across)
    height = 3.6 if len(panels) == 1 else _HEIGHT * down + 0.9
    figure = sheet(height)
    grid = figure.subplots(down, across, sharex=True, sharey=True, squeeze=False)
    places = _places(x)
    highest = 0.0
    handles: dict[str, Any] = {}
    axes = list(grid.ravel())
    for panel, ax in zip(panels, axes, strict=False):
        for number, colour in enumerate(colours):
            chosen = {plot.panels: panel, plot.colour: colour}
            drawn, top = _series(result, plot, chosen, places, ax, number, len(colours))
            highest = max(highest, top)
            if colour is not None and drawn is not None:
                handles.setdefault(colour.label, drawn)
        if panel is not None:
            ax.set_title(f"{plot.panels}: {panel.label}")
    for ax in axes[len(panels) :]:
        ax.set_visible(False)
    _x_axis(axes[: len(panels)], x, plot, across)
    _y_axis(axes[: len(panels)], result, plot, highest, across)
    _legend(figure, handles, factors.get(plot.colour))
    title(figure, plot.title or _title(result, plot))
    remark(figure, _remark(result, plot))
    return figure


def _series(
    result: "SweepResult",
    plot: Plot,
    chosen: dict[str, Level | None],
    places: dict[str, float],
    axes: "Axes",
    number: int,
    count: int,
) -> tuple[Any, float]:
    at, means, below, above = [], [], [], []
    for label, place in places.items():
        points = _points(result, {**chosen, plot.x: label})
        estimate = _pooled(result, points, plot.y)
        if estimate is None:
            continue
        mean, half = estimate
        at.append(place)
        means.append(mean)
        below.append(min(half, 0.999 * mean) if plot.log_y and mean > 0 else half)
        above.append(half)
    if not at:
        return None, 0.0
    joined = result.plan.factor[plot.x].is_number
    if not joined and count > 1:
        # Marks of different colours overlap at a named level, so each colour is shifted sideways.
        at = [item + (number - (count - 1) / 2) * min(0.14, 0.6 / count) for item in at]
    colour = PALETTE[number % len(PALETTE)]
    drawn = axes.errorbar(
        at,
        means,
        yerr=[below, above],
        color=colour,
        marker=_MARKS[number % len(_MARKS)],
        ls=_STROKES[number // len(PALETTE) % len(_STROKES)] if joined else "none",
        ms=4,
        lw=1.1,
        capsize=2,
        elinewidth=0.8,
    )
    return drawn, max(item + half for item, half in zip(means, above, strict=True))


def _points(result: "SweepResult", wanted: dict[str, Level | str | None]) -> list[Point]:
    labels = {
        name: request.label if isinstance(request, Level) else request
        for name, request in wanted.items()
        if name and request is not None
    }
    return [
        point
        for combination, point in zip(result.plan.combinations, result.plan.points, strict=True)
        if all(combination[name].label == label for name, label in labels.items())
    ]


def _pooled(
    result: "SweepResult", points: Sequence[Point], measure: str
) -> tuple[float, float] | None:
    """Return the mean of a measure over points, and half the width of its 95 % interval.

    Several points are first averaged run by run. None if no run has the measure.
    """
    from farlink.stats import mean_ci95

    if not points:
        return None
    if len(points) == 1:
        estimate = result.estimate(points[0], measure)
    else:
        values = [result.values_of(point, measure) for point in points]
        runs = min(len(value) for value in values)
        mean = np.mean([value[:runs] for value in values], axis=0)
        estimate = mean_ci95([None if math.isnan(value) else value for value in mean.tolist()])
    if estimate.mean is None:
        return None
    return estimate.mean, estimate.half_width or 0.0


def _levels(factor: Factor | None) -> list[Level | None]:
    if factor is None:
        return [None]
    return list({level.label: level for level in factor.levels}.values())


def _places(x: Factor) -> dict[str, float]:
    """Return the x coordinate of each level: its number, or 0, 1, 2, ... for names."""
    levels = {level.label: level for level in x.levels}
    if x.is_number:
        table = {label: float(x.shown(level)) for label, level in levels.items()}
        return dict(sorted(table.items(), key=lambda pair: pair[1]))
    return {label: float(place) for place, label in enumerate(levels)}


def _x_axis(axes: Sequence["Axes"], x: Factor, plot: Plot, across: int) -> None:
    places = _places(x)
    name = x.label or x.name
    if not x.is_number:
        for ax in axes:
            ax.set_xticks(list(places.values()), list(places))
            ax.set_xlim(-0.5, len(places) - 0.5)
            if max(len(label) for label in places) * len(places) * across > 80:
                ax.tick_params(axis="x", rotation=30)
    largest = max(places.values(), key=abs, default=1.0)
    factor, unit = units.prefixed(largest, x.unit)
    if x.unit == "s" and 0 < largest < 1:
        factor, unit = 1e-3, "ms"
    for number, ax in enumerate(axes):
        if x.is_number:
            _scale(ax, plot, list(places.values()), factor, across)
        if number + across >= len(axes):
            ax.set_xlabel(f"{name} ({unit})" if unit and x.is_number else name)
            ax.tick_params(labelbottom=True)


def _scale(axes: "Axes", plot: Plot, values: Sequence[float], factor: float, across: int) -> None:
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    if not plot.log_x:
        axes.xaxis.set_major_formatter(Scaled(factor))
        return
    if min(values) > 0:
        axes.set_xscale("log")
    else:
        # A logarithmic axis has no zero: symlog draws 0 to the left of the smallest positive value.
        least = min((value for value in values if value > 0), default=1.0)
        axes.set_xscale("symlog", linthresh=least, linscale=0.5)
    if len(values) <= _TICKS:
        axes.xaxis.set_major_locator(FixedLocator(list(values)))
        axes.xaxis.set_minor_locator(NullLocator())
        shown = _apart(axes, values, across)
        axes.xaxis.set_major_formatter(
            FuncFormatter(lambda item, _: f"{item / factor:g}" if item in shown else "")
        )


def _apart(axes: "Axes", values: Sequence[float], across: int) -> set[float]:
    """Return the values whose tick labels do not overlap the previous label."""
    low, high = axes.get_xlim()
    place = axes.transScale.transform
    ends = (place((low, 1.0))[0], place((high, 1.0))[0])
    shown: set[float] = set()
    last = -1.0
    for value in sorted(values):
        at = (place((value, 1.0))[0] - ends[0]) / (ends[1] - ends[0])
        if at - last >= _LABEL * across:
            shown.add(value)
            last = at
    return shown


_LABEL = 0.08
"""Width of a tick label as a share of the figure's width."""


_TICKS = 7
"""Largest number of levels for which each level has its own tick."""


def _y_axis(
    axes: Sequence["Axes"], result: "SweepResult", plot: Plot, highest: float, across: int
) -> None:
    unit = result.unit(plot.y)
    factor, text = units.prefixed(highest, unit)
    name = plot.y.replace("_", " ")
    for number, ax in enumerate(axes):
        if plot.log_y:
            ax.set_yscale("log")
        else:
            ax.set_ylim(bottom=min(0.0, ax.get_ylim()[0]))
            ax.yaxis.set_major_formatter(Scaled(factor))
        if number % across == 0:
            shown = unit if plot.log_y else text
            ax.set_ylabel(f"{name} ({shown})" if shown else name)


def _legend(figure: "Figure", handles: dict[str, Any], colour: Factor | None) -> None:
    if len(handles) < 2 or colour is None:
        return
    figure.legend(
        list(handles.values()),
        list(handles),
        title=colour.label or colour.name,
        loc="outside right upper",
        alignment="left",
        title_fontsize=points(8),
    )


def _title(result: "SweepResult", plot: Plot) -> str:
    by = [item for item in (plot.colour, plot.panels) if item]
    more = f", by {' and '.join(by)}" if by else ""
    return f"{result.plan.name}: {plot.y.replace('_', ' ')} over {plot.x}{more}"


def _remark(result: "SweepResult", plot: Plot) -> str:
    runs = sorted({result.runs[0], *result.runs})
    count = f"{runs[0]:,}" if len(runs) == 1 else f"{runs[0]:,} to {runs[-1]:,}"
    shown = {plot.x, plot.colour, plot.panels}
    rest = [factor.name for factor in result.plan.factors if factor.name not in shown]
    over = f"; averaged over {' and '.join(rest)}" if rest else ""
    what = "no interval from one run" if runs == [1] else "95 % intervals"
    return f"Means of {count} run{'s' if runs != [1] else ''} a point, {what}{over}; " + (
        f"seed {result.plan.seed}, farlink {result.version}"
    )
