"""Parsers of option values, and output of lines."""

import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from farlink import files
from farlink.errors import ScenarioError
from farlink.views.spelling import printable, spell_all, spelled

if TYPE_CHECKING:
    from rich.console import Console

__all__ = [
    "Stopped",
    "assignments",
    "columns",
    "console",
    "deferring_errors",
    "is_standard_output",
    "line",
    "names",
    "one_name",
    "printable",
    "progress_line",
    "spell_all",
    "spelled",
    "write_json",
]


_COMMA = re.compile(r",(?![^()]*\))")
"""Comma outside of the arguments of a congestion control in Python."""


class Stopped(Exception):  # noqa: N818 (Ctrl-C is no error)
    """Raised after Ctrl-C with a message that names the saved runs; the exit code is 130."""


def names(options: Sequence[str]) -> list[str] | None:
    """Split each "a,b,c" of --tcp into names; None if the option was not given."""
    if not options:
        return None
    entries = []
    for option in options:
        parts = [part.strip() for part in _COMMA.split(option)]
        if not all(parts):
            raise ScenarioError(f"--tcp {option}: a name is empty; write --tcp reno,sack")
        entries += parts
    return entries


def one_name(options: Sequence[str]) -> str | None:
    """Return the only name of --tcp; None if the option was not given."""
    words = names(options)
    if words is not None and len(words) > 1:
        raise ScenarioError(f"--tcp {', '.join(words)}: write one TCP; it is for one at a time")
    return words[0] if words else None


def assignments(options: Sequence[str]) -> list[tuple[str, str]]:
    """Split each PATH=VALUE."""
    pairs = []
    for option in options:
        path, equals, value = option.partition("=")
        if equals and path.strip() and not value.strip():
            raise ScenarioError(
                f"--set {option}: the value is missing; write {path.strip()}=default to take away "
                "what the scenario says"
            )
        if not equals or not path.strip():
            raise ScenarioError(
                f"--set {option}: not PATH=VALUE; write for example --set links.0.down.delay=300ms"
            )
        pairs.append((path.strip(), value.strip()))
    return pairs


def console(stream: TextIO, plain_width: int = 120) -> "Console":
    """Return a console as wide as the terminal, or one for plain text.

    Plain text has the width in the variable COLUMNS, otherwise `plain_width`. A table whose numbers
    do not fit is made wider, so that the terminal wraps its lines and no number is cut.
    """
    from farlink.views.screen import Screen

    if stream.isatty():
        return Screen(stream)
    width = columns() or plain_width
    return Screen(stream, color_system=None, width=width)


def columns() -> int | None:
    """Return the width in the variable COLUMNS (characters), at least 40; None if not set."""
    asked = os.environ.get("COLUMNS", "")
    return max(int(asked), _NARROWEST) if asked.isascii() and asked.isdigit() else None


_NARROWEST = 40
"""Smallest width of tables (characters)."""


def line(text: str) -> None:
    """Write a line to standard output."""
    sys.stdout.write(printable(text) + "\n")


def progress_line(text: str) -> None:
    """Write a line to standard error and flush it."""
    sys.stderr.write(printable(text) + "\n")
    sys.stderr.flush()


def is_standard_output(path: Path | None) -> bool:
    """Return whether a path is standard output: "-" or a name of the same file.

    Examples are /dev/stdout, and the file to which the shell redirected standard output.
    """
    if path is None or str(path) == "-":
        return path is not None
    try:
        return os.path.samestat(path.stat(), os.fstat(1))
    except (OSError, ValueError):
        return False


def write_json(path: Path, pieces: "Iterable[str]") -> None:
    """Write to a file, or to standard output if the path is "-"."""
    if is_standard_output(path):
        sys.stdout.writelines(pieces)
    else:
        files.write_pieces(path, pieces)


@contextmanager
def deferring_errors(quiet: bool) -> "Iterator[Callable[[Callable[[], None]], None]]":
    """Yield a function that calls a printer unless `quiet`; raise its first error at the end."""
    failures: list[OSError] = []

    def tell(prints: Callable[[], None]) -> None:
        if quiet or failures:
            return
        try:
            prints()
            sys.stdout.flush()
        except OSError as error:
            failures.append(error)

    yield tell
    if failures:
        raise failures[0]


def example(command: str) -> str:
    """Return the last lines of a command's help, with an example that is not wrapped."""
    return f"Example:\n\n\b\n  {command}"
