"""Console of the command line, which never truncates numbers and escapes control characters."""

from typing import IO, Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from farlink.views.spelling import printable, spelled
from farlink.views.widths import fit

__all__ = ["Screen"]


class Screen(Console):
    """Rich console that prints any text literally: markup is not interpreted."""

    def __init__(self, file: IO[str], **keywords: Any) -> None:  # noqa: ANN401 (as rich has it)
        super().__init__(file=file, highlight=False, markup=False, emoji=False, **keywords)

    def on_broken_pipe(self) -> None:
        """Raise the caught error again, because Rich would exit before other files are written."""
        raise  # the caller handles this exception

    def print(self, *objects: Any, **keywords: Any) -> None:  # noqa: ANN401 (as rich has it)
        """Print lines and tables; a table with wide numbers may be wider than the screen."""
        before = self._width
        shown = [self._safe(item) for item in objects]
        for item in shown:
            if isinstance(item, Table):
                self._width = max(fit(item, self), self.width)
        try:
            super().print(*shown, **keywords)
        finally:
            self._width = before

    def _safe(self, item: Any) -> Any:  # noqa: ANN401 (whatever is printed)
        """Escape control characters, and transliterate characters that the encoding lacks."""
        if isinstance(item, str):
            return spelled(printable(item), self.encoding)
        if isinstance(item, Text):
            item.plain = self._safe(item.plain)
        elif isinstance(item, Table):
            for column in item.columns:
                column.header = self._safe(column.header)
                column._cells = [self._safe(cell) for cell in column._cells]
        return item
