"""Text, numbers and JSON of recorded files, with messages that name file and line."""

import gzip
import hashlib
import json
import math
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from farlink import files
from farlink.errors import ScenarioError

__all__ = ["Input", "fault", "lines", "load_json", "member", "number", "read", "whole"]

_MOST_BYTES = 2_000_000_000
"""Largest size of a file after decompression."""

_SHOWN = 60
"""Number of characters of a file that a message quotes."""


class Input:
    """File to import: its name, its text and a description for the document."""

    def __init__(self, path: Path, data: bytes) -> None:
        self.path = path
        self.data = data
        try:
            self.text = data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise fault(self, None, f"byte {error.start} is not UTF-8 text") from error

    @property
    def name(self) -> str:
        """Name of the file without its folder."""
        return self.path.name

    def description(self) -> dict[str, object]:
        """Return name, size and SHA-256 of the decompressed content."""
        return {
            "name": self.name,
            "bytes": len(self.data),
            "sha256": hashlib.sha256(self.data).hexdigest(),
        }


def read(path: Path) -> Input:
    """Read a file, decompressed if its name ends in .gz."""
    try:
        if path.suffix == ".gz":
            with gzip.open(path) as stream:
                data = stream.read(_MOST_BYTES + 1)
        else:
            with path.open("rb") as stream:
                data = stream.read(_MOST_BYTES + 1)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ScenarioError(f"{files.shown(path)}: not a whole gzip file: {error}") from error
    except (OSError, ValueError) as error:
        raise ScenarioError(f"{files.shown(path)}: {files.reason(error)}") from error
    if len(data) > _MOST_BYTES:
        raise ScenarioError(f"{files.shown(path)}: above {_MOST_BYTES:,} bytes; split the file")
    if not data.strip():
        raise ScenarioError(f"{files.shown(path)}: the file is empty")
    return Input(path, data)


def fault(source: Input, line: int | None, message: str) -> ScenarioError:
    """Return the error of a file, with the number of the line."""
    where = files.shown(source.path) + (f", line {line}" if line is not None else "")
    return ScenarioError(f"{where}: {message}")


def lines(source: Input) -> Iterator[tuple[int, str]]:
    """Iterate over lines with content, numbered from 1, without their ends."""
    for count, line in enumerate(source.text.splitlines(), 1):
        if line.strip():
            yield count, line.rstrip()


def quoted(text: object) -> str:
    """Quote the beginning of a value."""
    shown = text if isinstance(text, str) else json.dumps(text, default=str)
    return repr(shown if len(shown) <= _SHOWN else shown[:_SHOWN] + "...")


def number(
    source: Input,
    line: int | None,
    name: str,
    value: object,
    low: float = -math.inf,
    high: float = math.inf,
) -> float:
    """Return a finite number between two bounds, from a text or from JSON."""
    result = math.nan
    if isinstance(value, str | int | float) and not isinstance(value, bool):
        try:
            result = float(value)
        except (ValueError, OverflowError):
            result = math.nan
    if not math.isfinite(result):
        raise fault(source, line, f"{name} {quoted(value)} is not a number")
    if not low <= result <= high:
        raise fault(source, line, f"{name} {quoted(value)} is not between {low:g} and {high:g}")
    return result


def whole(source: Input, line: int | None, name: str, value: object, low: int, high: int) -> int:
    """Return a whole number between two bounds, from a text or from JSON."""
    result: int | None = None
    if isinstance(value, int) and not isinstance(value, bool):
        result = value
    elif isinstance(value, str) and value.isascii() and len(value) <= 20:
        digits = value.removeprefix("-")
        result = int(value) if digits.isdigit() else None
    elif isinstance(value, float) and value.is_integer():
        result = int(value)
    if result is None:
        raise fault(source, line, f"{name} {quoted(value)} is not a whole number")
    if not low <= result <= high:
        raise fault(source, line, f"{name} {quoted(value)} is not between {low} and {high}")
    return result


def load_json(source: Input, what: str, text: str | None = None, line: int | None = None) -> Any:  # noqa: ANN401 (whatever JSON has)
    """Parse a JSON object."""
    try:
        value = json.loads(source.text if text is None else text, parse_constant=_refuse)
    except json.JSONDecodeError as error:
        number_ = error.lineno if line is None else line
        raise fault(source, number_, f"not the JSON of {what}: {error.msg.lower()}") from error
    except (ValueError, RecursionError) as error:
        raise fault(source, line, f"not the JSON of {what}: {error}") from error
    if not isinstance(value, dict):
        raise fault(source, line, f"not the JSON of {what}: no object at the top")
    return value


def _refuse(name: str) -> float:
    raise ValueError(f"{name} is no number of JSON")


def member(source: Input, value: Any, path: str, kind: type | tuple[type, ...] = dict) -> Any:  # noqa: ANN401 (whatever JSON has)
    """Return a member of JSON objects by its dotted path, of a type."""
    at = value
    for name in path.split("."):
        if not isinstance(at, dict) or name not in at:
            raise fault(source, None, f"no {path!r} in it")
        at = at[name]
    if not isinstance(at, kind) or (isinstance(at, bool) and kind is not bool):
        raise fault(source, None, f"{path} = {quoted(at)} is of another type")
    return at
