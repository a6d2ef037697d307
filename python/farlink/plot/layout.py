"""Fast layout of figures whose panels are the cells of one grid.

Each decoration is measured once. matplotlib's constrained layout measures it twice and takes as
long as drawing.
"""

import string
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import TYPE_CHECKING, cast

import numpy as np
from matplotlib.axis import Axis
from matplotlib.gridspec import GridSpec
from matplotlib.layout_engine import ConstrainedLayoutEngine, LayoutEngine
from matplotlib.text import Text
from matplotlib.ticker import NullFormatter, NullLocator

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.backend_bases import RendererBase
    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike

    from farlink.plot.data import Array

__all__ = ["GridLayout", "fixed_ticks", "lay_out"]

_PAD = 0.06
"""Space around a panel with its decorations (inches)."""

_GUESS = (0.6, 0.15, 0.4, 0.25)
"""First estimate of the space for a panel's decorations (left, right, bottom, top; inches). With a
good estimate the panel has nearly its final size, and therefore its final ticks.
"""

_MOST_PASSES = 3
"""Largest number of measurements. More than one is needed if a panel's ticks change with its size.
"""


def lay_out(figure: "Figure") -> None:
    """Run the layout of a figure without drawing the figure.

    Minor ticks without labels are omitted. They need no space, but take half of the time.
    """
    engine = figure.get_layout_engine()
    if engine is not None:
        with _without_minor_ticks(figure):
            engine.execute(figure)


@contextmanager
def _without_minor_ticks(figure: "Figure") -> Iterator[None]:
    minor = [
        (axis, axis.get_minor_locator())
        for axes in figure.axes
        for axis in (axes.xaxis, axes.yaxis)
        if isinstance(axis.get_minor_formatter(), NullFormatter)
    ]
    for axis, _ in minor:
        axis.set_minor_locator(NullLocator())
    try:
        yield
    finally:
        for axis, locator in minor:
            axis.set_minor_locator(locator)


@contextmanager
def fixed_ticks(figure: "Figure") -> Iterator[None]:
    """Fix the ticks of all axes in the block, because drawing computes ticks at least six times."""
    with ExitStack() as stack:
        for axis in (axis for axes in figure.axes for axis in (axes.xaxis, axes.yaxis)):
            ticks = axis._update_ticks()  # type: ignore[union-attr]
            axis._update_ticks = partial(list, ticks)  # type: ignore[union-attr]
            stack.callback(vars(axis).pop, "_update_ticks")
        yield


class GridLayout(LayoutEngine):
    """Layout engine with the result of constrained layout for one grid, in half the time.

    Other figures (with nested grids, colour bars or a figure legend) use constrained layout.
    """

    _adjust_compatible = False
    _colorbar_gridspec = False

    def execute(self, fig: "Figure") -> None:
        """Place the panels, the title and the remark of a figure."""
        if getattr(fig, "tex", False):
            _replace_glyphs(fig)
        grid = _only_grid(fig)
        if grid is None:
            ConstrainedLayoutEngine(h_pad=_PAD, w_pad=_PAD).execute(fig)
            return
        renderer = cast("RendererBase", fig._get_renderer())  # type: ignore[attr-defined]
        width, height = fig.get_size_inches()
        pads = (_PAD / width, _PAD / height)
        above = _edge(fig._suptitle, 1 - pads[1], renderer, fig)  # type: ignore[attr-defined]
        below = _edge(fig._supxlabel, pads[1], renderer, fig)  # type: ignore[attr-defined]
        left, right, bottom, top = _GUESS
        guess = (left / width, right / width, bottom / height, top / height)
        panels = [axes for axes in fig.axes if axes.get_in_layout()]
        _place(panels, grid, [_cut(axes, grid, guess) for axes in panels], pads, (below, above))
        for _ in range(_MOST_PASSES):
            ticks = _ticks(panels)
            with fixed_ticks(fig):
                room = [_decorations(axes, renderer) for axes in panels]
            _place(panels, grid, room, pads, (below, above))
            fitted = [_fit(axes, renderer) for axes in panels]
            if _ticks(panels) == ticks and not any(fitted):
                break

    def width_of(self, fig: "Figure", axes: "Axes") -> float:
        """Estimate the width of a panel (pixels) from the labels of the y axes."""
        grid = _only_grid(fig)
        if grid is None or grid.ncols > 1:
            lay_out(fig)
            return float(axes.get_window_extent().width)
        renderer = cast("RendererBase", fig._get_renderer())  # type: ignore[attr-defined]
        left = right = 0.0
        with _without_minor_ticks(fig):
            for panel in fig.axes:
                box = panel.yaxis.get_tightbbox(renderer)
                if box is not None:
                    left = max(left, panel.bbox.x0 - box.x0)
                    right = max(right, box.x1 - panel.bbox.x1)
        # Half of the x axis's last label may extend beyond the panel.
        right = max(right, fig.dpi * _PAD)
        return float(fig.bbox.width - left - right - 2 * fig.dpi * _PAD)


def _replace_glyphs(figure: "Figure") -> None:
    """Change the font of texts with characters that Computer Modern lacks or replaces.

    The font has TeX's encoding, in which "<" is an inverted exclamation mark and "_" a dot.
    """
    for text in cast("list[Text]", figure.findobj(Text)):
        if not set(text.get_text()) <= _COMPUTER_MODERN:
            text.set_fontfamily("STIXGeneral")


_COMPUTER_MODERN = frozenset(string.printable) - set('"<>\\_{|}`')
"""Characters that Computer Modern has at their ASCII codes."""


def _fit(axes: "Axes", renderer: "RendererBase") -> bool:
    """Shorten titles and axis labels that exceed their panel. Return whether any text was changed.

    Texts are broken into lines. A y label is reduced to its unit in brackets.
    """
    figure = axes.get_figure(root=True)
    assert figure is not None
    edge = figure.bbox.width - figure.dpi * _PAD
    changed = False
    for text, room in (
        (axes.xaxis.label, axes.bbox.width + 2 * min(axes.bbox.x0, edge - axes.bbox.x1)),
        (axes._left_title, _end_of_title(axes, edge) - axes.bbox.x0),  # type: ignore[attr-defined]
    ):
        # Lines become shorter until the text fits or a line is a single word.
        whole = text.get_text()
        length = len(whole)
        while text.get_text() and text.get_window_extent(renderer).width > room and length > 8:
            length -= 4
            lines = textwrap.wrap(whole, length, break_long_words=False, break_on_hyphens=False)
            text.set_text("\n".join(lines))
        changed |= text.get_text() != whole
    label = axes.yaxis.label
    unit = label.get_text().rpartition("(")[2].rstrip(")")
    if unit != label.get_text():
        tall = label.get_window_extent(renderer).height
        if tall > _TALLEST * axes.bbox.height:
            label.set_text(unit)
            changed = True
    return changed


def _end_of_title(axes: "Axes", edge: float) -> float:
    """Return the x at which a title must end: the next panel in its row, or the edge."""
    figure = axes.get_figure(root=True)
    spec = axes.get_subplotspec()
    assert figure is not None
    assert spec is not None
    nexts = [
        panel.bbox.x0
        for panel in figure.axes
        if (other := panel.get_subplotspec()) is not None
        and other.rowspan.start == spec.rowspan.start
        and other.colspan.start >= spec.colspan.stop
    ]
    return float(min([edge, *(x - figure.dpi * _PAD for x in nexts)]))


_TALLEST = 1.25
"""Longest label of a y axis, as a share of the axis's length."""


def _only_grid(figure: "Figure") -> GridSpec | None:
    """Return the single grid that contains all panels, or None."""
    grids = {axes.get_gridspec() for axes in figure.axes}
    if len(grids) != 1 or figure.subfigs or figure.legends:
        return None
    (grid,) = grids
    plain = isinstance(grid, GridSpec) and all(axes.get_subplotspec() for axes in figure.axes)
    bars = any(getattr(axes, "_colorbars", None) for axes in figure.axes)
    fixed = any(axes.get_aspect() != "auto" for axes in figure.axes)
    return grid if plain and not bars and not fixed else None


def _edge(text: "Text | None", y: float, renderer: "RendererBase", figure: "Figure") -> float:
    """Place a title or remark at an edge of the figure; return its height with padding."""
    if text is None or not text.get_in_layout() or not text.get_text():
        return 0.0
    text.set_position((text.get_position()[0], y))
    pad = min(y, 1 - y)
    return float(text.get_window_extent(renderer).height / figure.bbox.height + 2 * pad)


_Sides = tuple[float, float, float, float]
"""Space at left, right, bottom and top of a panel, as shares of the figure."""


def _cut(axes: "Axes", grid: GridSpec, guess: _Sides) -> _Sides:
    """Return the estimated space of a panel, without labels where inner panels share an axis."""
    left, right, bottom, top = guess
    spec = axes.get_subplotspec()
    assert spec is not None
    shared = len(axes.get_shared_x_axes().get_siblings(axes)) > 1
    inner = shared and spec.rowspan.stop < grid.nrows
    return left, right, bottom / 6 if inner else bottom, top


def _decorations(axes: "Axes", renderer: "RendererBase") -> _Sides:
    """Measure the decorations outside a panel's axes."""
    figure = axes.get_figure(root=True)
    assert figure is not None
    inner = axes.get_position(original=True)
    outer = axes.get_tightbbox(renderer, for_layout_only=True)
    if outer is None:
        return 0.0, 0.0, 0.0, 0.0
    outer = outer.transformed(figure.transFigure.inverted())
    return (
        inner.x0 - outer.x0,
        outer.x1 - inner.x1,
        inner.y0 - outer.y0,
        outer.y1 - inner.y1,
    )


def _place(
    panels: "Sequence[Axes]",
    grid: GridSpec,
    room: Sequence[_Sides],
    pads: tuple[float, float],
    edges: tuple[float, float],
) -> None:
    """Place the panels so that cells of a column have equal widths, and of a row equal heights."""
    before = np.full(grid.ncols, pads[0]), np.full(grid.nrows, pads[1])
    after = np.full(grid.ncols, pads[0]), np.full(grid.nrows, pads[1])
    for axes, (left, right, bottom, top) in zip(panels, room, strict=True):
        spec = axes.get_subplotspec()
        assert spec is not None
        columns, rows = spec.colspan, spec.rowspan
        for sides, place, size in (
            (before[0], columns.start, left),
            (after[0], columns.stop - 1, right),
            (before[1], rows.start, top),
            (after[1], rows.stop - 1, bottom),
        ):
            pad = pads[0] if sides is before[0] or sides is after[0] else pads[1]
            sides[place] = max(sides[place], pad + size)
    x = _spans(before[0], after[0], grid.get_width_ratios(), 0.0, 1.0)
    y = _spans(before[1], after[1], grid.get_height_ratios(), edges[1], 1.0 - edges[0])
    for axes in panels:
        spec = axes.get_subplotspec()
        assert spec is not None
        x0, x1 = x[spec.colspan.start][0], x[spec.colspan.stop - 1][1]
        # Grids count rows from the top.
        y1, y0 = 1.0 - y[spec.rowspan.start][0], 1.0 - y[spec.rowspan.stop - 1][1]
        axes._set_position((x0, y0, x1 - x0, y1 - y0), which="original")  # type: ignore[attr-defined]


def _spans(
    before: "Array", after: "Array", ratios: "ArrayLike", start: float, stop: float
) -> list[tuple[float, float]]:
    """Return start and end of each column (or row), at least a hundredth of the figure each."""
    free = max(stop - start - float(before.sum() + after.sum()), 0.01 * len(before))
    shares = np.array(ratios, dtype=float)
    sizes = free * shares / shares.sum()
    spans, at = [], start
    for lead, size, tail in zip(before, sizes, after, strict=True):
        spans.append((at + float(lead), at + float(lead + size)))
        at += float(lead + size + tail)
    return spans


def _ticks(panels: "Sequence[Axes]") -> list[tuple[float, ...]]:
    axes: list[Axis] = [axis for panel in panels for axis in (panel.xaxis, panel.yaxis)]
    return [tuple(float(tick) for tick in axis.get_majorticklocs()) for axis in axes]
