"""Parts shared by all figures: colours, axes, legends, titles, and saving."""

import re
import textwrap
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import AutoLocator, Formatter

from farlink import files, units
from farlink.paper import check_picture
from farlink.plot.data import Array
from farlink.plot.layout import GridLayout, fixed_ticks, lay_out
from farlink.plot.png import write_png
from farlink.plot.sheet import DPI, SAVE, agg_canvas, characters, grow, points, share_of_page, sheet

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.legend import Legend

    from farlink.plot.view import View

__all__ = [
    "ACK",
    "DATA",
    "LOSS",
    "MUTED",
    "PALETTE",
    "RASTER_ABOVE",
    "SACK",
    "SECOND",
    "WINDOW",
    "AtLeastZero",
    "Scaled",
    "crowd",
    "headline",
    "legend_above",
    "own_scales",
    "panels",
    "remark",
    "save",
    "save_as",
    "scale_axis",
    "time_axis",
    "title",
]

# Colours of Okabe & Ito 2008, distinguishable with any colour vision, without yellow, which is too
# pale for lines.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
DATA = "#1A1A1A"
LOSS = "#C1272D"
ACK = "#009E73"
WINDOW = "#E69F00"
SACK = "#8E4FB0"
SECOND = "#E69F00"
MUTED = "#7A7A7A"

RASTER_ABOVE = 4000
"""Number of bars or ticks above which an SVG contains them as pixels, to stay small."""

_LANE_TICKS = 150
"""Number of ticks in the width of a figure above which counts in columns replace them."""

_LANE_COLUMNS = 140
"""Number of columns with counts in the width of a figure."""

_FLATTENED = 2.2
"""Ratio of largest to smallest panel maximum above which panels have their own y axes."""


def panels(count: int, height: float) -> "tuple[Figure, list[Axes]]":
    """Make a figure with a column of panels that share the x axis."""
    figure = sheet(height)
    axes = figure.subplots(count, 1, sharex=True, squeeze=False)
    return figure, list(axes[:, 0])


def own_scales(tops: Sequence[float]) -> list[float]:
    """Return the top of each panel's y axis; all are equal up to the ratio `_FLATTENED`."""
    highest = max(tops, default=1.0)
    lowest = min((top for top in tops if top > 0), default=highest)
    if highest > _FLATTENED * lowest:
        return [top if top > 0 else highest for top in tops]
    return [highest] * len(tops)


def crowd(
    axes: "Axes", times: Array, limits: tuple[float, float], height: float, shade: str
) -> "tuple[Artist, str] | None":
    """Draw counts of events in a lane; return None without drawing if ticks suffice.

    `height` is the top of the lane, as a share of the axes. Returns a handle for the legend and a
    text with the count of the tallest column.
    """
    share = share_of_page()
    if len(times) <= _LANE_TICKS * share:
        return None
    counts, edges = np.histogram(times, bins=round(_LANE_COLUMNS * share), range=limits)
    low, tall = height - _LANE_HEIGHT / 2, _LANE_HEIGHT
    drawn = axes.fill_between(
        np.repeat(edges, 2)[1:-1],
        low,
        low + tall * np.repeat(counts, 2) / counts.max(),
        color=shade,
        lw=0,
        transform=axes.get_xaxis_transform(),
        zorder=2,
    )
    return drawn, f"at most {counts.max():,} in {edges[1] - edges[0]:.2g} s"


_LANE_HEIGHT = 0.06
"""Height of a lane of counts, as a share of the axes."""


def headline(view: "View", what: str, tcp: Sequence[str], *, of_flow: bool = False) -> str:
    """Return a title with subject, scenario, TCP, seed and run.

    With `of_flow` the title also names the flow, if the run has several.
    """
    names = f", {tcp[0]}" if len(tcp) == 1 else ""
    count = len(view.flows(tcp[0]))
    if of_flow and count > 1:
        names += f", flow {view.flow_name(tcp[0])} of {count:,}"
    return f"{what}: {view.result.name}{names} (seed {view.result.seed}, run {view.run})"


class Scaled(Formatter):
    """Formatter of ticks divided by a factor, all with the same number of decimals."""

    def __init__(self, factor: float) -> None:
        self._factor = factor
        self._decimals = 0

    def __call__(self, x: float, pos: int | None = None) -> str:
        """Return the label of the tick at `x`."""
        return f"{x / self._factor:.{self._decimals}f}"

    def set_locs(self, locs: Any) -> None:  # noqa: ANN401 (as matplotlib has it)
        """Find the number of decimals that distinguishes all ticks."""
        values = [value / self._factor for value in locs]
        finest = min((b - a for a, b in pairwise(values)), default=1.0)
        self._decimals = next(
            (n for n in range(9) if all(abs(v - round(v, n)) < finest / 100 for v in values)), 9
        )


class AtLeastZero(AutoLocator):
    """Locator of matplotlib's default ticks without those below zero."""

    def tick_values(self, vmin: float, vmax: float) -> Any:  # noqa: ANN401 (as matplotlib has it)
        """Return the ticks of an axis from `vmin` to `vmax`."""
        return [
            tick_value
            for tick_value in super().tick_values(max(vmin, 0.0), vmax)
            if tick_value >= 0
        ]


def scale_axis(axes: "Axes", label: str, unit: str, largest: float) -> None:
    """Label the y axis with a unit prefix that suits `largest`; the data does not change."""
    factor, text = units.prefixed(largest, unit)
    axes.yaxis.set_major_formatter(Scaled(factor))
    axes.set_ylabel(f"{label} ({text})" if label else text)


def time_axis(axes: "Axes", limits: tuple[float, float]) -> None:
    """Label the x axis as time (s) and set its limits."""
    axes.set_xlim(*limits)
    axes.set_xlabel("time (s)")
    axes.ticklabel_format(axis="x", useOffset=False, style="plain")


def legend_above(axes: "Axes", handles: Sequence["Artist"], labels: Sequence[str]) -> None:
    """Put a legend above a panel and its caption, in rows that fit the panel's width.

    Call this function last, because labels of the axes determine the panel's width.
    """
    if not handles:
        return
    caption = axes.get_title(loc="left")
    figure = axes.get_figure(root=True)
    assert figure is not None

    def in_rows(rows: int) -> "Legend":
        return axes.legend(
            handles,
            labels,
            loc="lower left",
            bbox_to_anchor=(0, 1),
            ncols=-(-len(labels) // rows),
            borderpad=0.2,
            borderaxespad=1.7 if caption else 0.2,
        )

    # The width of a legend follows from its labels, without drawing the figure.
    legend = in_rows(1)
    if legend.get_window_extent().width <= _SURELY * figure.bbox.width:
        return
    # A wide legend would make the panel narrow, so the panel is measured without its legend.
    legend.remove()
    engine = figure.get_layout_engine()
    if isinstance(engine, GridLayout):
        room = 0.97 * engine.width_of(figure, axes)
    else:
        lay_out(figure)
        room = axes.get_window_extent().width
    for rows in range(1, len(labels) + 1):
        if in_rows(rows).get_window_extent().width <= room:
            break
    # The figure grows with each further row, so that the panels keep their height.
    grow(figure, points(_LEGEND_ROW) * (rows - 1))


_SURELY = 0.6
"""Smallest width of a panel, as a share of the figure's. Narrower legends need no layout to check.
"""

_LEGEND_ROW = 0.15
"""Height of a row of a legend (inches)."""


def remark(figure: Figure, text: str) -> None:
    """Put a line of grey text below a figure, unless the text is empty."""
    if text:
        lines = textwrap.wrap(text, characters(_REMARK_WIDTH))
        figure.supxlabel("\n".join(lines), x=0.012, ha="left", fontsize=points(7.5), color=MUTED)


_REMARK_WIDTH = 118
"""Number of characters of a remark in the width of a figure."""


def title(figure: Figure, text: str) -> None:
    """Put a title at the top left of a figure, above legends."""
    # Texts in brackets are not broken.
    whole = re.sub(r"\([^()]*\)", lambda part: part[0].replace(" ", _NO_BREAK), text)
    lines = textwrap.wrap(whole, characters(_TITLE_WIDTH), break_on_hyphens=False)
    figure.suptitle(
        "\n".join(lines).replace(_NO_BREAK, " "), x=0.012, ha="left", fontsize=points(9.5)
    )


_NO_BREAK = "\N{NO-BREAK SPACE}"

_TITLE_WIDTH = 88
"""Number of characters of a title in the width of a figure."""


def save(figure: Figure, stem: Path) -> list[Path]:
    """Write a figure as stem.png (200 dpi) and stem.svg, completely or not at all.

    The SVG reuses the layout of the PNG, because the layout takes as long as drawing.
    """
    written = []
    engine, dpi = figure.get_layout_engine(), figure.get_dpi()
    try:
        figure.set_dpi(DPI)
        lay_out(figure)
        with mpl.rc_context({"figure.autolayout": False, "figure.constrained_layout.use": False}):
            # With "none" matplotlib would draw the figure a second time.
            figure.set_layout_engine(None)
        with mpl.rc_context(SAVE), fixed_ticks(figure):
            png, svg = (stem.with_name(stem.name + suffix) for suffix in (".png", ".svg"))
            canvas = agg_canvas(figure)
            canvas.draw()  # type: ignore[no-untyped-call]
            with files.replacing(png) as temporary:
                pixels = np.asarray(canvas.buffer_rgba())  # type: ignore[no-untyped-call]
                write_png(temporary, pixels, DPI)
            written.append(png)
            with files.replacing(svg) as temporary:
                figure.savefig(temporary, metadata={"Date": None})
            written.append(svg)
    except BaseException:
        for path in written:  # Both files are written, or neither.
            path.unlink(missing_ok=True)
        raise
    finally:
        figure.set_dpi(dpi)
        figure.set_layout_engine(engine)
    return written


def save_as(figure: Figure, path: Path) -> None:
    """Write a figure without a layout engine as one PNG (200 dpi) or SVG, by the file's suffix.

    Raises
    ------
    ScenarioError
        If the file has another suffix.
    """
    check_picture(path)
    with mpl.rc_context(SAVE), files.replacing(path) as temporary:
        if path.suffix == ".svg":
            figure.savefig(temporary, format="svg", metadata={"Date": None})
            return
        dpi = figure.get_dpi()
        figure.set_dpi(DPI)
        try:
            canvas = agg_canvas(figure)
            canvas.draw()  # type: ignore[no-untyped-call]
            pixels = np.asarray(canvas.buffer_rgba())  # type: ignore[no-untyped-call]
            write_png(temporary, pixels, DPI)
        finally:
            figure.set_dpi(dpi)
