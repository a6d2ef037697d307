"""Output of commands as HTML, for notebooks."""

from collections.abc import Callable
from html import escape
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from rich.table import Table

__all__ = ["Sink", "as_html"]

_WIDE = 200
"""Width of the page (characters); wide, because browsers wrap text themselves."""

_SPACE = "padding:.15em .8em .15em 0;vertical-align:top;"


class Sink(Protocol):
    """Destination of tables and lines: a Rich console, or an HTML page."""

    @property
    def width(self) -> int:
        """Width of a line (characters)."""

    def print(
        self, *objects: object, soft_wrap: bool | None = None, markup: bool | None = None
    ) -> None:
        """Output tables or lines."""


def as_html(show: Callable[[Sink], None]) -> str:
    """Return the tables and lines that `show` prints as HTML."""
    page = _Page()
    show(page)
    # A table wider than the notebook scrolls.
    return f'<div style="overflow-x:auto">{"".join(page.parts)}</div>'


class _Page:
    width = _WIDE

    def __init__(self) -> None:
        self.parts: list[str] = []

    def print(
        self, *objects: object, soft_wrap: bool | None = None, markup: bool | None = None
    ) -> None:
        from rich.table import Table

        for item in objects:
            if isinstance(item, Table):
                self.parts.append(_table(item))
            else:
                self.parts.append(f'<p style="margin:.3em 0">{escape(str(item))}</p>')


def _table(table: "Table") -> str:
    def row(cells: list[object], tag: str) -> str:
        shown = [
            f'<{tag} style="{_SPACE}text-align:{column.justify}">{_lines(cell)}</{tag}>'
            for column, cell in zip(table.columns, cells, strict=True)
        ]
        return f"<tr>{''.join(shown)}</tr>"

    body = zip(*(column.cells for column in table.columns), strict=True)
    rows = "".join(row(list(cells), "td") for cells in body)
    head = row([column.header for column in table.columns], "th") if table.show_header else ""
    return f"<table><thead>{head}</thead><tbody>{rows}</tbody></table>"


def _lines(cell: object) -> str:
    text = escape(str(cell))
    # Join words that were hyphenated for a narrow column of the terminal.
    return text.replace("-\n", "").replace("\n", "<br>")
