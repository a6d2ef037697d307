"""Size, fonts and style of the sheet (page, column, slide) for which figures are drawn."""

import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import matplotlib as mpl
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patheffects import AbstractPathEffect, withStroke

from farlink.paper import PAGE, SIZES, Fonts, Paper, Size, read_fonts, read_size
from farlink.plot.layout import GridLayout

__all__ = [
    "DPI",
    "SAVE",
    "Picture",
    "agg_canvas",
    "blank",
    "bold",
    "characters",
    "grow",
    "halo",
    "points",
    "raster",
    "share_of_page",
    "sheet",
    "sheet_of",
    "strokes",
    "styled",
    "width",
]

_STYLE: Any = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "mathtext.fontset": "dejavusans",
    "axes.titlelocation": "left",
    "axes.titlepad": 3,
    "axes.titley": 1.0,  # Otherwise matplotlib looks for ticks at the top, which takes time.
    "axes.linewidth": 0.7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#E4E4E4",
    "grid.linewidth": 0.6,
    "xtick.major.width": 0.7,
    "ytick.major.width": 0.7,
    "lines.linewidth": 1.1,
    "lines.solid_capstyle": "butt",
    "legend.frameon": False,
    "legend.handlelength": 1.5,
    "legend.columnspacing": 1.4,
    "legend.borderaxespad": 0.2,
    "figure.constrained_layout.h_pad": 0.06,
    "figure.constrained_layout.w_pad": 0.06,
    "figure.facecolor": "white",
}

_POINTS: Any = {
    "font.size": 8.5,
    "axes.titlesize": 8,
    "axes.labelsize": 8.5,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "legend.fontsize": 8,
}
"""Font sizes on a page (points)."""

_TEX: Any = {
    "font.family": ["cmr10", "STIXGeneral", "DejaVu Sans"],
    "mathtext.fontset": "cm",
    "axes.unicode_minus": False,
    "axes.formatter.use_mathtext": True,
}
"""Computer Modern of matplotlib. The next fonts in the list provide its missing characters."""

# Without a date and with a fixed salt for ids, a figure always gives the same file.
SAVE: Any = {"svg.hashsalt": "farlink", "savefig.facecolor": "white"}

DPI = 200
"""Pixels per inch in a PNG."""

_SHEET: ContextVar[Paper] = ContextVar("sheet", default=SIZES["page"])

_Arguments = ParamSpec("_Arguments")
_Returned = TypeVar("_Returned")


@contextmanager
def sheet_of(
    size: Size | None = None, fonts: Fonts | None = None, dpi: float | None = None
) -> Iterator[None]:
    """Set the sheet's size and fonts for all figures of the block.

    Omitted values are those of the current sheet, which starts as a page in sans serif. If `dpi`
    (pixels per inch) is that of the file, texts are measured only once.
    """
    chosen = _SHEET.get() if size is None else read_size(size)
    tex = _SHEET.get().tex if fonts is None else read_fonts(fonts) == "tex"
    before = _SHEET.set(replace(chosen, tex=tex, dpi=dpi or _SHEET.get().dpi))
    try:
        yield
    finally:
        _SHEET.reset(before)


class Picture(Figure):
    """Figure that notebooks show without `%matplotlib inline`."""

    tex = False
    """Whether the font is Computer Modern."""

    def _repr_png_(self) -> bytes:
        file = io.BytesIO()
        with mpl.rc_context(SAVE):
            self.savefig(file, format="png", dpi=110)
        return file.getvalue()


def styled(draw: Callable[_Arguments, _Returned]) -> Callable[_Arguments, _Returned]:
    """Apply farlink's style in a drawing function, without a change of the caller's style."""

    @wraps(draw)
    def with_style(*args: _Arguments.args, **kwargs: _Arguments.kwargs) -> _Returned:
        with mpl.rc_context():
            mpl.rcdefaults()
            mpl.rcParams.update(_STYLE)
            mpl.rcParams.update({name: points(size) for name, size in _POINTS.items()})
            if _SHEET.get().tex:
                mpl.rcParams.update(_TEX)
            return draw(*args, **kwargs)

    return with_style


def sheet(height: float) -> Picture:
    """Create an empty figure as wide as the sheet; `height` (inches) refers to a page."""
    now = _SHEET.get()
    tall = height if now.height is None else now.height
    figure = Picture(figsize=(now.width, tall), dpi=now.dpi, layout=GridLayout())
    figure.tex = now.tex
    agg_canvas(figure)
    return figure


def blank(wide: float, tall: float) -> Picture:
    """Create an empty figure of a size in inches, whose parts have fixed places."""
    figure = Picture(figsize=(wide, tall), dpi=_SHEET.get().dpi)
    figure.tex = _SHEET.get().tex
    agg_canvas(figure)
    return figure


def agg_canvas(figure: Figure) -> FigureCanvasAgg:
    """Return the figure's Agg canvas, or add one.

    The canvas keeps its renderer, which caches the sizes of texts.
    """
    canvas = figure.canvas
    return canvas if isinstance(canvas, FigureCanvasAgg) else FigureCanvasAgg(figure)


def bold() -> str:
    """Return the weight of bold text; "normal" for Computer Modern, which has no bold here."""
    return "normal" if _SHEET.get().tex else "bold"


def halo() -> list[AbstractPathEffect]:
    """Return a white outline for texts that lines may cross."""
    return [withStroke(linewidth=2, foreground="white")]


def width() -> float:
    """Return the width of the sheet (inches)."""
    return _SHEET.get().width


def strokes() -> int:
    """Return the width of the sheet in thinnest lines (two pixels of a PNG each)."""
    return round(_SHEET.get().width * DPI / 2)


def raster() -> tuple[int, int]:
    """Return the columns and rows of a grid with the pixels of a PNG of the sheet as columns."""
    return 2 * strokes(), strokes()


def share_of_page() -> float:
    """Return the sheet's width divided by a page's width, each in units of its own font size."""
    now = _SHEET.get()
    return now.width / PAGE / now.scale


def points(size: float) -> float:
    """Convert a font size on a page to that on the sheet (points)."""
    return round(size * _SHEET.get().scale, 2)


def characters(on_page: int) -> int:
    """Convert the number of characters in a line of a page to that of the sheet."""
    now = _SHEET.get()
    # Computer Modern is narrower than sans serif.
    return int(on_page * share_of_page() * (1.1 if now.tex else 1.0))


def grow(figure: Figure, inches: float) -> None:
    """Increase the height of a figure, unless the sheet has a given height."""
    if _SHEET.get().height is None:
        figure.set_size_inches(
            figure.get_figwidth(), figure.get_figheight() + inches, forward=False
        )
