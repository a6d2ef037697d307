"""Reading options and writing lines."""

import sys
from typing import TYPE_CHECKING, TextIO

from farlink.errors import ScenarioError

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["assignments", "console", "line", "names"]


def names(option: str) -> list[str] | None:
    """Split "a,b,c"; an option that was not given is None."""
    if not option:
        return None
    parts = [part.strip() for part in option.split(",")]
    if not all(parts):
        raise ScenarioError(f"--tcp {option}: a name is empty; write --tcp reno,sack")
    return parts


def assignments(options: list[str]) -> list[tuple[str, str]]:
    """Split each PATH=VALUE."""
    pairs = []
    for option in options:
        path, equals, value = option.partition("=")
        if not equals or not path.strip() or not value.strip():
            raise ScenarioError(
                f"--set {option}: not PATH=VALUE; write for example --set links.0.down.delay=300ms"
            )
        pairs.append((path.strip(), value.strip()))
    return pairs


def console(stream: TextIO, plain_width: int = 120) -> "Console":
    """Return a console: as wide as the terminal, or plain text of a fixed width."""
    from rich.console import Console

    if stream.isatty():
        return Console(file=stream, highlight=False)
    return Console(file=stream, highlight=False, color_system=None, width=plain_width)


def line(text: str) -> None:
    """Write a line to standard output."""
    sys.stdout.write(text + "\n")
