"""Text that a terminal can display: without control characters, in its encoding."""

import codecs
import io
import sys

__all__ = ["printable", "spell_all", "spelled"]


def printable(text: str) -> str:
    """Replace control characters and lone surrogates (of file names, say) by escapes."""
    return "".join(
        item if item.isprintable() or item == "\n" else item.encode("unicode_escape").decode()
        for item in text
    )


def spelled(text: str, encoding: str) -> str:
    """Transliterate characters that an encoding lacks: +- for ±, u for µ, otherwise an escape."""
    return text.encode(encoding, _SPELLED).decode(encoding)


def spell_all() -> None:
    """Make the standard streams transliterate characters that their encoding lacks."""
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
