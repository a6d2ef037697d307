"""Fast parser of the usual options of `farlink run`, without typer.

Loading typer takes longer than a short run. Arguments that this parser does not accept, such as
mistakes, are left to typer, which prints the error messages.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

__all__ = ["options_of_run"]

_MANY = {"--tcp": "tcp", "--set": "changes"}
"""Options that may be given several times."""

_ONCE: dict[str, tuple[str, Callable[[str], Any]]] = {
    "--seed": ("seed", int),
    "--runs": ("runs", int),
    "--jobs": ("jobs", int),
    "--threads": ("threads", int),
    "--json": ("json_file", Path),
    "--out": ("out", Path),
    "--snaplen": ("snaplen", int),
    "--format": ("table_format", str),
    "--figure": ("figure", str),
    "--story": ("story", int),
    "--phases": ("phases", str),
    "--figure-size": ("figure_size", str),
    "--fonts": ("fonts", str),
}

_SWITCHES = {
    "--packets": "packets",
    "--pcap": "pcap",
    "--plot": "plot",
    "--quiet": "quiet",
}


def options_of_run(arguments: list[str]) -> dict[str, Any] | None:
    """Parse the arguments of `farlink run`; None if typer must parse them."""
    if arguments[:1] != ["run"] or "_FARLINK_COMPLETE" in os.environ:
        return None
    table: dict[str, Any] = {}
    rest = iter(arguments[1:])
    for argument in rest:
        if not argument.startswith("-"):
            if "scenario" in table:
                return None
            table["scenario"] = argument
        elif argument in _SWITCHES:
            table[_SWITCHES[argument]] = True
        else:
            name, equals, value = argument.partition("=")
            if not equals:
                value = next(rest, "")
            if not _take(table, name, value):
                return None
    return table if "scenario" in table else None


def _take(table: dict[str, Any], name: str, value: str) -> bool:
    """Store the value of an option in `table`; return False if typer must parse the arguments."""
    if not value or value.startswith("-"):
        return False
    if name in _MANY:
        table.setdefault(_MANY[name], []).append(value)
        return True
    if name not in _ONCE:
        return False
    key, read = _ONCE[name]
    if read is int and not (value.isascii() and value.isdecimal() and len(value) < 19):
        return False
    table[key] = read(value)
    return True
