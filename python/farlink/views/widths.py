"""Column widths of a table; numbers are never truncated, even in a narrow terminal."""

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Column, Table

__all__ = ["fit"]

_WIDEST = 10_000
"""Width (characters) at which no table is truncated."""

_LONGEST_WORD = 20
"""Length from which a word that is not a number may be folded, such as a path."""

_NUMBER = re.compile(r"[-+±]?[\d,.:]*\d[\d,.:]*(e[-+]?\d+)?%?")


def fit(table: "Table", console: "Console") -> int:
    """Set the width of each column; return the table's, which may exceed the console's.

    Text columns are narrowed down to their longest word. Other columns keep the width of their
    widest cell, because Rich would cut the text.
    """
    room = console.options.update(max_width=_WIDEST)
    padding = [table._get_padding_width(number) for number in range(len(table.columns))]
    widths = [table._measure_column(console, room, column).maximum for column in table.columns]
    least = [
        width if column.no_wrap else min(width, _longest_word(column) + pad)
        for column, width, pad in zip(table.columns, widths, padding, strict=True)
    ]
    free = console.width - table._extra_width
    while sum(widths) > free:
        place = max(range(len(widths)), key=lambda n: (widths[n] > least[n], widths[n]))
        if widths[place] <= least[place]:
            break
        widths[place] -= 1
    for column, width, pad in zip(table.columns, widths, padding, strict=True):
        column.width = width - pad
        if not column.no_wrap:
            column.overflow = "fold"
    return sum(widths) + table._extra_width


def _longest_word(column: "Column") -> int:
    words = " ".join(str(cell) for cell in [column.header, *column.cells]).split()
    lengths = [
        len(word) if _NUMBER.fullmatch(word.strip("()")) else min(len(word), _LONGEST_WORD)
        for word in words
    ]
    return max(lengths, default=1)
