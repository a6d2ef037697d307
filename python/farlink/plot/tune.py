"""Plots of a search (`farlink tune`): the objective of all trials over each parameter."""

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

from farlink.plot.data import Array
from farlink.plot.sheet import sheet, styled
from farlink.plot.style import DATA, LOSS, MUTED, remark, scale_axis, title

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from farlink.tuning import Trial, Tuned
    from farlink.tuning.space import Knob

__all__ = ["draw_tuned"]

_COLUMNS = 2


@styled
def draw_tuned(tuned: "Tuned") -> Figure:
    """Draw the objective over each parameter, and as colour over the two most important parameters.

    Grey points are trials that were stopped early. The cross is the best trial.
    """
    pair = _pair(tuned)
    count = len(tuned.knobs) + (pair is not None)
    rows = -(-count // _COLUMNS)
    figure = sheet(0.6 + 2.4 * rows)
    axes = list(figure.subplots(rows, _COLUMNS, squeeze=False).ravel())
    values = np.array([trial.mean for trial in tuned.trials])
    usable = np.isfinite(values)
    largest = float(np.abs(values[usable]).max(initial=1e-12))
    for ax, knob in zip(axes, tuned.knobs, strict=False):
        for pruned, shade, size in ((True, "#B8B8B8", 9), (False, DATA, 13)):
            chosen = [
                (knob.number(t.levels[knob.path]), t.mean)
                for t in tuned.trials
                if t.pruned == pruned and np.isfinite(t.mean)
            ]
            if chosen:
                ax.scatter(*zip(*chosen, strict=True), s=size, color=shade, lw=0, alpha=0.8)
        at = knob.number(tuned.best.levels[knob.path])
        ax.plot([at], [tuned.best.mean], "x", color=LOSS, ms=8, mew=1.8, zorder=4)
        _axis(ax, knob, "x")
        scale_axis(ax, tuned.objective.name, tuned.objective.unit, largest)
    if pair is not None:
        _surface(figure, axes[len(tuned.knobs)], tuned, pair)
    for ax in axes[count:]:
        ax.set_visible(False)
    title(
        figure,
        f"Tuning of {tuned.scenario} for {tuned.objective.name} (seed {tuned.seed}): "
        f"{len(tuned.trials)} settings",
    )
    cut = sum(trial.pruned for trial in tuned.trials)
    remark(
        figure,
        f"means of {tuned.runs} runs with the same losses for all; the cross is the setting taken"
        + (f"; grey: {cut} settings that were cut short, over fewer runs" if cut else ""),
    )
    return figure


def _axis(axes: "Axes", knob: "Knob", which: str) -> None:
    label = f"{knob.path} ({knob.unit})" if knob.unit else knob.path
    getattr(axes, f"set_{which}label")(label)
    if knob.is_log:
        getattr(axes, f"set_{which}scale")("log")
        axis = getattr(axes, f"{which}axis")
        axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axis.set_major_formatter(StrMethodFormatter("{x:g}"))
        axis.set_minor_formatter(NullFormatter())
    if not knob.is_range:
        texts = [str(level) for level in knob.levels]
        getattr(axes, f"set_{which}ticks")(range(len(texts)), texts)
        getattr(axes, f"set_{which}lim")(-0.5, len(texts) - 0.5)


def _pair(tuned: "Tuned") -> "tuple[Knob, Knob] | None":
    """Return the two parameters that explain most of the variance of the objective's ranks."""
    if len(tuned.knobs) < 2:
        return None

    def ranks(values: Array) -> Array:
        return np.argsort(np.argsort(values)).astype(np.float64)

    done = [trial for trial in tuned.trials if np.isfinite(trial.mean)]
    worth = ranks(np.array([part.mean for part in done]))

    def explained(knob: "Knob") -> float:
        place = np.array([knob.number(part.levels[knob.path]) for part in done])
        if len(done) < 3 or not np.ptp(place):
            return 0.0
        # The regression has a linear and a quadratic term, because an optimum in the middle has no
        # slope.
        spread = ranks(place)
        bend = np.abs(spread - spread.mean())
        columns = np.stack([np.ones_like(spread), spread, bend], axis=1)
        fitted = columns @ np.linalg.lstsq(columns, worth, rcond=None)[0]
        return float(np.var(fitted))

    first, second = sorted(tuned.knobs, key=lambda item: -explained(item))[:2]
    return first, second


def _surface(figure: Figure, axes: "Axes", tuned: "Tuned", pair: "tuple[Knob, Knob]") -> None:
    done: list[Trial] = [trial for trial in tuned.trials if np.isfinite(trial.mean)]
    x, y = (np.array([k.number(t.levels[k.path]) for t in done]) for k in pair)
    value = np.array([part.mean for part in done])
    factor = _factor(value, tuned.objective.unit)
    for knob, which in zip(pair, "xy", strict=True):
        _axis(axes, knob, which)
    shared: dict[str, Any] = {"cmap": "viridis"}
    if all(member.is_range for member in pair) and len(set(zip(x, y, strict=True))) >= 8:
        grids = [(np.log(v) if k.is_log else v) for k, v in zip(pair, (x, y), strict=True)]
        if all(np.ptp(grid) > 0 for grid in grids):
            _shades(axes, pair, grids, value / factor[0], shared)
    drawn = axes.scatter(x, y, c=value / factor[0], s=14, ec="white", lw=0.4, zorder=3, **shared)
    best = [k.number(tuned.best.levels[k.path]) for k in pair]
    axes.plot([best[0]], [best[1]], "x", color=LOSS, ms=8, mew=1.8, zorder=4)
    axes.grid(visible=False)
    bar = figure.colorbar(drawn, ax=axes)
    bar.set_label(f"{tuned.objective.name} ({factor[1]})" if factor[1] else tuned.objective.name)
    bar.outline.set_edgecolor(MUTED)


def _factor(value: Array, unit: str) -> tuple[float, str]:
    from farlink import units

    return units.prefixed(float(np.abs(value).max()), unit) if unit else (1.0, "")


def _shades(
    axes: "Axes",
    pair: "tuple[Knob, Knob]",
    places: list[Array],
    value: Array,
    shared: dict[str, Any],
) -> None:
    """Colour the plane by interpolation between trials (inverse cube of the distance)."""
    grid, unit = [], []
    for knob, place in zip(pair, places, strict=True):
        ends = np.log([knob.low, knob.high]) if knob.is_log else np.array([knob.low, knob.high])
        line = np.linspace(float(ends[0]), float(ends[1]), 60)
        grid.append(np.exp(line) if knob.is_log else line)
        unit.append(((line - ends[0]) / np.ptp(ends), (place - ends[0]) / np.ptp(ends)))
    across = (unit[0][0][None, :, None] - unit[0][1]) ** 2
    up = (unit[1][0][:, None, None] - unit[1][1]) ** 2
    weight = 1.0 / (across + up + 1e-4) ** 1.5
    shade = (weight * value).sum(axis=2) / weight.sum(axis=2)
    axes.pcolormesh(
        grid[0], grid[1], shade, shading="gouraud", alpha=0.55, zorder=0,
        vmin=float(value.min()), vmax=float(value.max()), rasterized=True, **shared,
    )  # fmt: skip
