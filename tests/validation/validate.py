"""Makes the matrix from which the status words of the TCPs follow.

.venv/bin/python tests/validation/validate.py [--row NAME]... [--words]

runs every TCP, or the named ones, over the grid and the anchors. It records the results in
recorded/, and writes the words and tables into docs/ and crates/. With --words it runs nothing.
"""

import argparse
import sys
import time
from pathlib import Path

import anchors
import grid
import recorded
import words
from verdicts import Row

__all__ = ["current", "write"]


def between(page: str, name: str) -> tuple[str, str, str]:
    """Split a page at the marks of a block."""
    begin, end = f"<!-- begin: {name} -->\n", f"<!-- end: {name} -->"
    before, hit, rest = page.partition(begin)
    block, closed, after = rest.partition(end)
    if not hit or not closed:
        raise ValueError(f"no marks of {name!r}")
    return before + begin, block, end + after


def texts() -> dict[Path, str]:
    """Return the correct text of every file that shows the record."""
    files = {}
    for path, blocks in words.blocks().items():
        page = path.read_text(encoding="utf-8")
        for name, text in blocks.items():
            before, _, after = between(page, name)
            page = f"{before}\n{text}\n{after}"
        files[path] = page
    files[words.STATUS] = words.rust({name: Row.of(name).word for name in grid.rows()})
    return files


def current() -> list[Path]:
    """Return the files that do not agree with the record."""
    return [
        path
        for path, text in texts().items()
        if not path.exists() or path.read_text(encoding="utf-8") != text
    ]


def write() -> None:
    """Update the files that show the record."""
    for path, text in texts().items():
        path.write_text(text, encoding="utf-8")


def run(rows: list[str], jobs: int | None) -> None:
    """Run TCPs over the grid and the anchors, and record the results."""
    for row in rows:
        started = time.monotonic()
        recorded.write(row, grid.measure(row, grid.CELLS, jobs))
        anchors.write({**anchors.read(), **anchors.run(anchors.of(row), jobs)})
        anchors.read.cache_clear()
        sys.stderr.write(f"{row}: {time.monotonic() - started:.0f} s, {Row.of(row).word}\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--row", action="append", choices=grid.rows(), metavar="NAME")
    parser.add_argument("--jobs", type=int)
    parser.add_argument("--words", action="store_true")
    given = parser.parse_args()
    if not given.words:
        run(given.row or grid.rows(), given.jobs)
    write()


if __name__ == "__main__":
    main()
