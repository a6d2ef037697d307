"""The command `farlink docs`: shows documentation pages and searches them."""

import pydoc
import re
import sys
import textwrap
from typing import Annotated

import typer

from farlink import documentation
from farlink.cli import text
from farlink.cli.options import declare
from farlink.errors import ScenarioError

__all__ = ["docs"]

_MATCHES = 6
"""Largest number of sections that a search prints."""
_LINES = 3
"""Largest number of lines that a search prints of each section."""

_ADDRESS = "https://github.com/farlink/farlink/tree/main/docs"
"""Address of the documentation, equal to that in pyproject.toml."""


def docs(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            help="Name of a page, or words to search for; without them, a list.",
            metavar="[WORDS]...",
        ),
    ] = None,
    open_browser: Annotated[bool, declare("--open", "Open the site in a browser instead.")] = False,
) -> None:
    """Print a page of the documentation, or the sections that contain all words."""
    words = " ".join(words or []).split()
    if open_browser:
        _open(words)
    elif not words:
        _print_shelves()
    elif len(words) == 1 and (result := documentation.page(words[0])):
        _print_page(result[1])
    else:
        _print_matches(words, documentation.search(words))


def _print_shelves() -> None:
    from rich.table import Table

    console = text.console(sys.stdout)
    for shelf, rows in documentation.shelves().items():
        console.print(shelf, style="bold")
        table = Table.grid(padding=(0, 2, 0, 0))
        table.add_column(no_wrap=True)
        table.add_column(overflow="fold")
        for name, _title, contents in rows:
            table.add_row(f"  {name.removesuffix('/README')}", contents)
        console.print(table)
    text.line("A page: farlink docs NAME. A search: farlink docs WORDS.")


def _print_page(page: str) -> None:
    if sys.stdout.isatty():
        pydoc.pager(text.printable(page))
    else:
        sys.stdout.write(text.printable(page))


def _print_matches(words: list[str], sections: list[documentation.Section]) -> None:
    console = text.console(sys.stdout)
    for section in sections[:_MATCHES]:
        under = "" if section.heading == section.title else f": {section.heading}"
        name = section.page.removesuffix("/README")
        console.print(
            f"{name}, line {section.line}: {section.title}{under}", style="bold", soft_wrap=True
        )
        for line in _excerpt(section.text, words, console.width - 2):
            console.print(f"  {line}", soft_wrap=True)
    more = len(sections) - _MATCHES
    if more > 0:
        text.line(f"{more} more sections have that in them; another word narrows the search.")
    text.line(f"The whole page: farlink docs {sections[0].page.removesuffix('/README')}")


def _excerpt(section: str, words: list[str], width: int) -> list[str]:
    """Return the first lines of the paragraph that contains the most search words."""
    plain = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", re.sub(r"<!--.*?-->", "", section))
    blocks = [block for block in re.split(r"\n\s*\n|\n(?=- )", plain) if block.strip()]
    blocks = [block for block in blocks if not block.startswith(("`" * 3, "#"))]
    if not blocks:
        return []
    best = max(blocks, key=lambda block: sum(word.lower() in block.lower() for word in words))
    if best.startswith("|"):
        rows = [row for row in best.splitlines() if not set(row) <= set("|-: ")]
        rows.sort(key=lambda row: -sum(word.lower() in row.lower() for word in words))
        best = rows[0].strip("| ").replace(" | ", ": ")
    return textwrap.wrap(" ".join(best.split()), width, max_lines=_LINES, placeholder=" …")


def _open(words: list[str]) -> None:
    """Open a page of the site built by `make docs`, or else at the project's address."""
    import webbrowser

    name = ""
    if words:
        result = documentation.page(" ".join(words))
        name = result[0] if result else documentation.search(words)[0].page
    built = documentation.FOLDER.resolve().parent / "build" / "site"
    if (built / "index.html").exists():
        address = (built / (f"docs/{name}.html" if name else "index.html")).as_uri()
    else:
        address = _ADDRESS + (f"/{name}.md" if name else "")
    if not webbrowser.open(address):
        raise ScenarioError(f"docs --open: no browser can be started here; the page is {address}")
    text.line(address)
