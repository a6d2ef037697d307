"""Keys that a search varies, and their ranges."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from farlink import units
from farlink.errors import ScenarioError

__all__ = ["TCP", "Knob", "Level", "knob", "knobs"]

Level = str | int | float | bool
"""Value of a key, as scenarios write it."""

TCP = "tcp"
"""Name of the parameter that selects one of several TCPs."""

_NUMBER = re.compile(r"\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*(.*?)\s*")

_WHOLE = ("B", "packets")
"""Units whose values are whole numbers."""

_DECADES = 8
"""Ratio of a range's ends from which the search is uniform in the logarithm."""


@dataclass(frozen=True)
class Knob:
    """Varied key: the path for `--set`, and a list of levels or a range with a unit."""

    path: str
    levels: tuple[Level, ...] = ()
    low: float = 0.0
    high: float = 0.0
    unit: str = ""
    whole: bool = False

    @property
    def is_range(self) -> bool:
        """Whether the knob has a range instead of a list of levels."""
        return not self.levels

    @property
    def is_log(self) -> bool:
        """Whether the search is uniform in the logarithm of the range."""
        return self.is_range and self.low > 0 and self.high >= _DECADES * self.low

    def write(self, number: float) -> Level:
        """Format a number of the range as a scenario writes it."""
        value: int | float = round(number) if self.whole else float(f"{number:.4g}")
        item = units.parse_size(f"1 {self.unit}") if self.unit else None
        if item is not None and not float(value * item).is_integer():
            return f"{round(value * item)} B"  # Sizes are whole bytes.
        return f"{value} {self.unit}" if self.unit else value

    def at(self, share: float) -> Level:
        """Return the level at fraction `share` (0 to 1) of the range or list."""
        if not self.is_range:
            return self.levels[min(int(share * len(self.levels)), len(self.levels) - 1)]
        if self.is_log:
            return self.write(self.low * (self.high / self.low) ** share)
        return self.write(self.low + share * (self.high - self.low))

    def number(self, level: Level) -> float:
        """Return a level as a number: in the unit of the range, or its index in the list."""
        if not self.is_range:
            return float(self.levels.index(level))
        match = _NUMBER.fullmatch(str(level))
        assert match is not None
        if match[2] == self.unit:
            return float(match[1])
        return float(match[1]) / (units.parse_size(f"1 {self.unit}") or 1.0)


def knob(path: str, value: object) -> Knob:
    """Parse "16 kB..128 kB", "512 B|1460 B", or a list of levels.

    Raises
    ------
    ScenarioError
        If the value is neither a range nor at least two levels.
    """
    if isinstance(value, Sequence) and not isinstance(value, str):
        return _of_levels(path, list(value))
    text = str(value)
    if ".." not in text:
        return _of_levels(path, [_level(word) for word in text.split("|")])
    low, _, high = text.partition("..")
    ends = [_NUMBER.fullmatch(item) for item in (low, high)]
    if ends[0] is None or ends[1] is None:
        raise ScenarioError(f"{path} = {text!r}: not a range; write for example 16kB..128kB")
    unit = ends[1][2]
    first, last = float(ends[0][1]), float(ends[1][1])
    if ends[0][2] not in ("", unit):
        first = _in_unit_of(path, text, low, high) * last
    if not first < last:
        raise ScenarioError(f"{path} = {text!r}: the first end must be below the second")
    whole = unit in _WHOLE or (not unit and "." not in ends[0][1] + ends[1][1])
    return Knob(path, (), first, last, unit, whole)


def _in_unit_of(path: str, text: str, low: str, high: str) -> float:
    """Return the quotient of the range's lower and upper end, whose units must be of one kind."""
    for parse in (units.parse_size, units.parse_rate, units.parse_time):
        first, last = parse(low.strip()), parse(high.strip())
        if first is not None and last:
            return first / last
    raise ScenarioError(f"{path} = {text!r}: write both ends with units of the same kind")


def _of_levels(path: str, levels: Sequence[Any]) -> Knob:
    if len(levels) < 2 or len(set(map(str, levels))) < len(levels):
        raise ScenarioError(
            f"{path} = {'|'.join(map(str, levels))}: write a range (16kB..128kB) or two levels and "
            "more, each once (512B|1460B)"
        )
    return Knob(path, tuple(levels))


def _level(text: str) -> Level:
    text = text.strip()
    if text in ("true", "false"):
        return text == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def knobs(vary: Mapping[str, object], tcp: Sequence[str] | None) -> list[Knob]:
    """Return the knobs of a search; several TCPs are one additional knob.

    Raises
    ------
    ScenarioError
        If there is no knob, or a range is wrong.
    """
    results = [knob(path, limits) for path, limits in vary.items()]
    if tcp is not None and len(tcp) > 1:
        results.insert(0, _of_levels(TCP, list(tcp)))
    if not results:
        raise ScenarioError(
            "nothing to vary: write for example --vary tcp.receive_window=64kB..4MB, or several "
            "TCPs with --tcp"
        )
    return results


def shown(level: Level) -> str:
    """Format a level for tables."""
    size = units.parse_size(level) if isinstance(level, str) else None
    if size is not None and size >= 1:
        factor, unit = units.prefixed(size, "B")
        return f"{units.rounded(size / factor)} {unit}"
    return str(level)
