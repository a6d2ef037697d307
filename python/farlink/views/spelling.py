"""Letters that a terminal can show: no control characters, ASCII where that is all there is."""

import codecs
import io
import sys

__all__ = ["printable", "spell_all", "spelled"]


def printable(text: str) -> str:
    """Replace what would steer a terminal, and halves of characters, by their escapes.

    Names of files and keys may hold anything.
    """
    return "".join(
        item if item.isprintable() or item == "\n" else item.encode("unicode_escape").decode()
        for item in text
    )


def spelled(text: str, encoding: str) -> str:
    """Spell the characters that an encoding lacks in ASCII: +- for ±, u for µ, an escape else."""
    return text.encode(encoding, _SPELLED).decode(encoding)


def spell_all() -> None:
    """Let the standard streams spell what their encoding lacks: no output is a traceback."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=_SPELLED)


_SPELLED = "farlink-spelled"

_SPELLINGS = {
    "±": "+-",
    "µ": "u",
    "μ": "u",
    "\N{MULTIPLICATION SIGN}": "x",
    "…": "...",
    "\N{MINUS SIGN}": "-",
    "\N{EN DASH}": "-",
    "\N{EM DASH}": "-",
    "≤": "<=",
    "≥": ">=",
    "·": ".",
    "²": "^2",
    "→": "->",
    "°": " deg",
}


def _spell(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    part = error.object[error.start : error.end]
    spelling = [
        _SPELLINGS.get(letter) or letter.encode("ascii", "backslashreplace").decode()
        for letter in part
    ]
    return "".join(spelling), error.end


codecs.register_error(_SPELLED, _spell)
