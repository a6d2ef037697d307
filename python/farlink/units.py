"""Units: readable prefixes for numbers, and the rates that scenarios write."""

import math
import re

__all__ = ["parse_rate", "parse_size", "parse_time", "prefixed", "rounded", "whole_size"]

_PREFIXES = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
_SIZES = {"B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
_TIMES = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0}
_FACTORS = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}


def prefixed(largest: float, unit: str) -> tuple[float, str]:
    """Return a divisor and a unit with which `largest` is easy to read.

    Prefixes are decimal (1 kB is 1000 B) and only for bit/s and B.

    >>> prefixed(1_048_000, "bit/s")
    (1000000.0, 'Mbit/s')
    """
    if unit in ("bit/s", "B"):
        for factor, prefix in _PREFIXES:
            if abs(largest) >= factor:
                return factor, prefix + unit
    return 1.0, unit


def rounded(value: float, half_width: float | None = None) -> str:
    """Return a number rounded to its significant digits.

    With the `half_width` of its interval, the number is rounded to the second significant digit of
    the half width. Otherwise it has four significant digits, and a whole number stays whole.
    """
    if half_width is not None and half_width > 0 and math.isfinite(half_width):
        decimals = max(0, 1 - math.floor(math.log10(half_width)))
        return f"{value:,.{min(decimals, 9)}f}"
    if value == int(value) and abs(value) < 1e15:
        return f"{int(value):,}"
    decimals = max(0, 3 - math.floor(math.log10(abs(value))))
    return f"{value:,.{min(decimals, 9)}f}"


def parse_size(text: object) -> float | None:
    """Parse a size as in scenarios ("64 KiB") to bytes; None if it is no size."""
    match = re.fullmatch(r"\s*([0-9.eE+_]+)\s*([kMGKi]*B)\s*", str(text))
    if match is None or match[2] not in _SIZES:
        return None
    return float(match[1]) * _SIZES[match[2]]


def whole_size(text: object) -> int | None:
    """Parse a size of at least one whole byte ("10 MB"); None if it is no size."""
    size = parse_size(text)
    return int(size) if size is not None and 1 <= size < math.inf and size == int(size) else None


def parse_rate(text: object) -> float | None:
    """Parse a rate as in scenarios ("2048 kbit/s") to bit/s; None if it is no rate."""
    if isinstance(text, int | float) and not isinstance(text, bool):
        return float(text)
    match = re.fullmatch(r"\s*([0-9.eE+_]+)\s*([kMGT]?)bit/s\s*", str(text))
    if match is None:
        return None
    return float(match[1]) * _FACTORS[match[2]]


def parse_time(text: object) -> float | None:
    """Parse a time as in scenarios ("250 ms") to seconds; None if it is no time."""
    match = re.fullmatch(r"\s*([0-9.]+(?:[eE][-+]?[0-9]+)?)\s*(ns|us|ms|s|min|h)\s*", str(text))
    if match is None or match[1].count(".") > 1:
        return None
    return float(match[1]) * _TIMES[match[2]]
