"""PDF of the page. Matplotlib lays out its blocks on A4 sheets."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_pdf import PdfPages
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties

from farlink import files
from farlink.advice.page import blocks
from farlink.pictures import optional
from farlink.plot.sheet import styled

if TYPE_CHECKING:
    from farlink.advice.answer import Advice

__all__ = ["write"]

_SHEET = (8.27, 11.69)
_MARGIN = 0.75
_TEXT_WIDTH = _SHEET[0] - 2 * _MARGIN
_SIZES = {
    "title": 15.0,
    "head": 11.5,
    "small": 9.5,
    "text": 9.0,
    "list": 9.0,
    "code": 7.5,
    "table": 8.0,
}
_LEADING = 1.4
_ABOVE = {"title": 0.0, "head": 0.16, "small": 0.1, "text": 0.06, "list": 0.04, "code": 0.06}
_GAP = 0.14
"""Gap between the columns of a table (inches)."""


@styled
def write(advice: "Advice", path: Path) -> None:
    """Write the page to a PDF file, atomically."""
    with files.replacing(path) as temporary:
        sheets = _Sheets(_pdf(str(temporary)))
        for block in blocks(advice):
            if block.kind == "figure":
                with optional("advice"):
                    sheets.picture(advice.plot())
            elif block.kind == "table":
                sheets.table(block.rows)
            else:
                sheets.lines(block.kind, block.lines)
        sheets.close()


def _pdf(path: str) -> PdfPages:
    return PdfPages(path, metadata={"CreationDate": None})


def _font(kind: str) -> FontProperties:
    bold = "bold" if kind in ("title", "head", "small") else "normal"
    family = "DejaVu Sans Mono" if kind == "code" else "DejaVu Sans"
    return FontProperties(family=family, size=_SIZES[kind], weight=bold)


class _Sheets:
    """Sheets that are filled from top to bottom."""

    def __init__(self, pages: PdfPages) -> None:
        self._pages: Any = pages
        canvas: Any = FigureCanvasAgg(Figure(figsize=_SHEET, dpi=72))
        self._measure = canvas.get_renderer()
        self._sheet = Figure(figsize=_SHEET, facecolor="white")
        self._y = _SHEET[1] - _MARGIN

    def lines(self, kind: str, lines: Sequence[str]) -> None:
        """Write a heading, paragraph, list or code block."""
        font = _font(kind)
        height = _SIZES[kind] * _LEADING / 72
        wide = 0.15 if kind in ("list", "code") else 0.0
        texts = [part for line in lines for part in self._wrapped(kind, line, _TEXT_WIDTH - wide)]
        # Keep a heading on the same sheet as the text below it.
        self._need(_ABOVE[kind] + height + (0.9 if kind in ("head", "small") else 0.3))
        self._y -= _ABOVE[kind]
        for text in texts:
            self._need(height)
            self._y -= height
            self._put(_MARGIN + wide, text, font)

    def table(self, rows: Sequence[Sequence[str]]) -> None:
        """Write a table; the cells of its first column are wrapped if the table is too wide."""
        font, bold = _font("table"), FontProperties(family="DejaVu Sans", size=8.0, weight="bold")
        height = _SIZES["table"] * _LEADING / 72
        columns = list(zip(*rows, strict=True))
        widths = [max(self._width(cell, bold) for cell in column) + _GAP for column in columns]
        # Shrink the widest column until the table fits.
        while sum(widths) > _TEXT_WIDTH:
            place = max(range(len(widths)), key=lambda i: widths[i])
            widths[place] = max(widths[place] - 0.1, 0.5)
        self._y -= 0.06
        for number, row in enumerate(rows):
            if number == 0 and not any(row):
                continue
            face = bold if number == 0 else font
            cells = [
                list(self._split(cell, face, width - _GAP)) or [""]
                for cell, width in zip(row, widths, strict=True)
            ]
            count = max(len(cell) for cell in cells)
            # Keep the header row on the same sheet as the rows below it.
            self._need((count + (3 if number == 0 else 0)) * height + 0.03)
            left, top = _MARGIN, self._y
            for cell, width in zip(cells, widths, strict=True):
                for line, text in enumerate(cell):
                    self._y = top - (line + 1) * height
                    self._put(left, text, face)
                left += width
            self._y = top - count * height - 0.03
            self._rule()

    def picture(self, figure: Figure) -> None:
        """Draw a figure at the width of the text."""
        width, tall = figure.get_size_inches()
        height = tall * _TEXT_WIDTH / width
        self._need(height + 0.1)
        self._y -= height + 0.1
        figure.set_dpi(200)
        canvas: Any = FigureCanvasAgg(figure)
        canvas.draw()
        axes = self._sheet.add_axes(
            (_MARGIN / _SHEET[0], self._y / _SHEET[1], _TEXT_WIDTH / _SHEET[0], height / _SHEET[1])
        )
        axes.imshow(canvas.buffer_rgba(), aspect="auto", interpolation="lanczos")
        axes.set_axis_off()

    def close(self) -> None:
        """Finish the last sheet and close the file."""
        self._pages.savefig(self._sheet)
        self._pages.close()

    def _open(self) -> None:
        self._sheet = Figure(figsize=_SHEET, facecolor="white")
        self._y = _SHEET[1] - _MARGIN

    def _need(self, height: float) -> None:
        if self._y - height < _MARGIN:
            self._pages.savefig(self._sheet)
            self._open()

    def _put(self, x: float, text: str, font: FontProperties) -> None:
        # Matplotlib would read an unescaped dollar sign as the start of a formula.
        self._sheet.text(
            x / _SHEET[0],
            self._y / _SHEET[1],
            text,
            fontproperties=font,
            va="bottom",
            parse_math=False,
        )

    def _rule(self) -> None:
        from matplotlib.lines import Line2D

        y = self._y / _SHEET[1]
        left, right = _MARGIN / _SHEET[0], 1 - _MARGIN / _SHEET[0]
        line = Line2D(
            [left, right], [y, y], lw=0.4, color="#CCCCCC", transform=self._sheet.transFigure
        )
        self._sheet.add_artist(line)

    def _width(self, text: str, font: FontProperties) -> float:
        if not text:
            return 0.0
        return float(self._measure.get_text_width_height_descent(text, font, ismath=False)[0]) / 72

    def _wrapped(self, kind: str, line: str, width: float) -> Iterator[str]:
        mark = "\u2022 " if kind == "list" else ""
        first = True
        for text in self._split(line, _font(kind), width - self._width(mark, _font(kind))):
            yield (mark if first else "   " if mark else "") + text
            first = False

    def _split(self, line: str, font: FontProperties, width: float) -> Iterator[str]:
        """Wrap a line between words to a width."""
        words = line.split(" ")
        text = words[0]
        for word in words[1:]:
            if self._width(f"{text} {word}", font) > width:
                yield text
                text = word
            else:
                text = f"{text} {word}"
        yield text
