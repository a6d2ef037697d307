"""Box plot of a metric over all runs, with differences from the first TCP."""

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from farlink import registry, units
from farlink.errors import ScenarioError
from farlink.plot.curves import colour
from farlink.plot.sheet import sheet, styled
from farlink.plot.style import MUTED, Scaled, title
from farlink.stats import Estimate, median_ci95

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from farlink.plot.data import Array
    from farlink.result import Result

__all__ = ["draw_box"]

_SPREAD = 8.0
"""Ratio of largest to smallest median above which the axis is logarithmic."""


_MARGIN = 0.05
"""Margin at the right of the largest value, as a share of that value."""

_LEAST_GAP = 0.01
"""Smallest extent of the axis of differences to either side, as a share of the largest value."""


@styled
def draw_box(result: "Result", metric: str) -> Figure:
    """Draw boxes from quartile to quartile, whiskers to the extremes, and a dot per run.

    A thick bar at each box is the 95 % interval of the median. The right panel shows the difference
    of each TCP from the first TCP in each run. If the values differ by much, the axes are
    logarithmic and the right panel shows ratios.
    """
    what, runs = _values(result, metric)
    first = result.tcp[0]
    others = [tcp for tcp in result.tcp if tcp != first]
    height = 1.5 + 0.42 * len(result.tcp)
    figure = sheet(height)
    ratios = [1.25, 1.0] if others else [1.0]
    axes = figure.subplots(1, len(ratios), width_ratios=ratios, squeeze=False)[0]
    unit = registry.unit("flow", metric)
    largest = max(float(np.nanmax(np.abs(run), initial=0.0)) for run in runs.values())
    shades = [colour(result, tcp) for tcp in result.tcp]
    far = _far_apart(list(runs.values()))
    if far:
        axes[0].set_xscale("log")
    _boxes(axes[0], list(runs), list(runs.values()), shades)
    _label(axes[0], what, unit, largest, far=far)
    if unit == "bit/s" and not far and largest > 0:
        axes[0].set_xlim(0, (1 + _MARGIN) * largest)
    if others:
        if far:
            axes[1].set_xscale("log")
            gaps = [runs[tcp] / runs[first] for tcp in others]
        else:
            gaps = [runs[tcp] - runs[first] for tcp in others]
        _boxes(axes[1], others, gaps, shades[1:])
        axes[1].axvline(1 if far else 0, color=MUTED, lw=0.9, ls=(0, (5, 3)), zorder=1)
        if far:
            _label(axes[1], f"run by run, times that of {first}", "", 1.0, far=True)
        else:
            _label(axes[1], f"run by run, above {first}", unit, largest, far=False)
            low, high = axes[1].get_xlim()
            least = _LEAST_GAP * largest
            axes[1].set_xlim(min(low, -least), max(high, least))
    has_interval = any(median_ci95(run.tolist()).low is not None for run in runs.values())
    bar = "; bar: 95 % interval of the median" if has_interval else ""
    title(
        figure,
        f"{what[0].upper()}{what[1:]}: {result.name} (seed {result.seed}, {result.runs} runs{bar})",
    )
    return figure


def _far_apart(runs: "list[Array]") -> bool:
    """Return whether all values are > 0 and max(medians) / min(medians) > `_SPREAD`."""
    medians = [float(np.nanmedian(run)) for run in runs]
    least = min(float(np.nanmin(run)) for run in runs)
    return least > 0 and max(medians) > _SPREAD * min(medians)


def _values(result: "Result", metric: str) -> "tuple[str, dict[str, Array]]":
    """Return a description of the metric, and its values of each TCP.

    The values are those of TCP flows, or of datagram flows if the metric has no value for TCP
    flows. Goodputs of several flows are added as in the table on the terminal.
    """
    over_tcp = any(
        value is not None for tcp in result.tcp for value in result.per_run(metric, tcp, udp=False)
    )
    flows = result.tcp_flows() if over_tcp else result.udp_flows()
    name = result.goodput_to_add if metric == "goodput" and over_tcp else metric
    runs = {}
    for tcp in result.tcp:
        values = result.per_run(name, tcp, udp=not over_tcp)
        runs[tcp] = np.array([np.nan if item is None else item for item in values], np.float64)
        if np.isnan(runs[tcp]).all():
            raise ScenarioError(f"metric {metric!r} has no values under {tcp}")
    what = name.replace("goodput_over", "goodput over the").replace("_", " ")
    if len(flows) > 1:
        how = "together" if registry.is_summed(name) else "on average"
        what += f", {len(flows):,} flows {how}"
    return what, runs


def _boxes(axes: "Axes", names: list[str], values: "list[Array]", shades: list[str]) -> None:
    """Draw a horizontal box for each name, the first on top."""
    for place, (runs, shade) in enumerate(zip(values, shades, strict=True)):
        present = runs[~np.isnan(runs)]
        drawn = axes.boxplot(
            [present],
            positions=[place],
            orientation="horizontal",
            widths=0.46,
            whis=(0, 100),
            patch_artist=True,
            manage_ticks=False,
            boxprops={"facecolor": shade, "alpha": 0.25, "edgecolor": shade, "lw": 0.8},
            medianprops={"color": shade, "lw": 1.8},
            whiskerprops={"color": shade, "lw": 0.8},
            capprops={"color": shade, "lw": 0.8},
        )
        drawn["medians"][0].set_zorder(3)
        # Offsets are fixed and not random, so that the picture is reproducible.
        spread = ((np.arange(len(present)) * 0.618) % 1.0 - 0.5) * 0.34
        axes.plot(present, place + spread, ".", color=shade, ms=2.6, alpha=0.75, zorder=2)
        _interval(axes, median_ci95(present.tolist()), place + 0.36, shade)
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.45, -0.55)
    axes.grid(visible=False, axis="y")


def _interval(axes: "Axes", median: Estimate, height: float, shade: str) -> None:
    if median.low is not None and median.high is not None:
        axes.plot([median.low, median.high], [height, height], color=shade, lw=2.6)


def _label(axes: "Axes", label: str, unit: str, largest: float, *, far: bool) -> None:
    factor, shown = units.prefixed(largest, unit)
    if far:
        # Ticks at 1, 2 and 5 times powers of ten, or at powers of ten only.
        axes.xaxis.set_major_locator(LogLocator(subs=_steps(axes)))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x / factor:g}"))
        axes.xaxis.set_minor_formatter(NullFormatter())
    else:
        axes.xaxis.set_major_formatter(Scaled(factor))
    axes.set_xlabel(f"{label} ({shown})" if shown else label)


def _steps(axes: "Axes") -> tuple[float, ...]:
    low, high = axes.get_xlim()
    decades = np.log10(high / low)
    return (1.0, 2.0, 5.0) if decades < _FEW_DECADES else (1.0,)


_FEW_DECADES = 2.5
