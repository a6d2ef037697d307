"""Factors that a sweep varies, and the levels of each."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from farlink import units
from farlink.experiment.points import Factor as Value
from farlink.experiment.reading import Reading

__all__ = ["Factor", "Level", "Range", "level_label", "read_factor", "settings"]

_FORMS = (
    'a list of levels for "tcp", "profile" or a path; or a table with path and values, with path, '
    "from and to, with tcp, with profile, or with bundles"
)
_KEYS = ("path", "values", "from", "to", "scale", "tcp", "profile", "bundles", "label")
_SCALES = ("linear", "log")
_NUMBER = re.compile(r"\s*([-+]?[0-9._]+(?:[eE][-+]?[0-9]+)?)\s*([A-Za-z/%]*)\s*")


@dataclass(frozen=True)
class Level:
    """Level of a factor: its label, and the values that it sets by path ("tcp" selects a TCP)."""

    label: str
    value: Value
    sets: Mapping[str, Any]


@dataclass(frozen=True)
class Range:
    """Interval from which a design draws levels."""

    low: float
    high: float
    unit: str
    log: bool
    whole: bool

    def at(self, share: float) -> int | float | str:
        """Return the level at fraction `share` of the range, as a scenario writes the value."""
        if self.whole:
            # Each whole number gets an interval of equal length.
            ends = (self.low, self.high + 1)
            return min(int(np.floor(self._between(share, *ends))), int(self.high))
        value = float(f"{self._between(share, self.low, self.high):.6g}")
        return f"{value:g} {self.unit}" if self.unit else value

    def _between(self, share: float, low: float, high: float) -> float:
        if self.log:
            return float(low * (high / low) ** share)
        return low + (high - low) * share


@dataclass(frozen=True)
class Factor:
    """Factor of a sweep, with its levels or the range from which levels are drawn."""

    name: str
    levels: tuple[Level, ...] = ()
    paths: tuple[str, ...] = ()
    range: Range | None = None
    label: str = field(default="")

    @cached_property
    def unit(self) -> str:
        """Common unit of all levels; empty if they are names or plain numbers."""
        table = {_measured(level.value)[1] for level in self.levels}
        return table.pop() if len(table) == 1 else ""

    @cached_property
    def is_number(self) -> bool:
        """Whether all levels are numbers, which have a position on an axis."""
        several = {_measured(level.value)[1] for level in self.levels}
        return len(several) == 1 and all(
            isinstance(self.shown(level), int | float) for level in self.levels
        )

    def shown(self, level: Level) -> Value:
        """Return the value of a level for tables; a number in `unit` if all levels are numbers."""
        number, unit = _measured(level.value)
        if number is None or unit != self.unit or isinstance(level.value, bool):
            return level.label
        if not unit and isinstance(level.value, str):
            return level.label
        return number

    def with_levels(self, shares: "np.typing.NDArray[np.float64]") -> "Factor":
        """Return the factor with one level per share of its range or list."""
        if self.range is not None:
            drawn = [self.range.at(float(share)) for share in shares]
            levels = tuple(_level(draw, self.paths) for draw in drawn)
        else:
            places = np.minimum((shares * len(self.levels)).astype(int), len(self.levels) - 1)
            levels = tuple(self.levels[int(place)] for place in places)
        return Factor(self.name, levels, self.paths, label=self.label)


def read_factor(name: str, value: object, reading: Reading) -> Factor:
    """Read a factor of a sweep file; see docs/sweeps.md.

    Raises
    ------
    ScenarioError
        If the value is not a valid factor.
    """
    at = reading.at("factors", name)
    if isinstance(value, list):
        kind = name if name in ("tcp", "profile") else "path"
        if kind == "path" and "." not in name:
            at.wrong(
                f'a list alone is for "tcp", "profile" or a path such as "links.0.down.delay"; '
                f'write {name} = {{ path = "...", values = [...] }}'
            )
        value = {kind: value} if kind != "path" else {"path": name, "values": value}
    if not isinstance(value, Mapping):
        at.wrong(f"{value!r} is no factor; write {_FORMS}")
    at.known(value, _KEYS)
    label = at.text(value, "label", default="")
    kinds = [item for item in ("values", "from", "tcp", "profile", "bundles") if item in value]
    if "to" in value and "from" not in value:
        at.wrong("to needs from; write both ends of the range")
    if len(kinds) != 1:
        at.wrong(f"write one of values, from and to, tcp, profile, bundles, not {_and(kinds)}")
    (kind,) = kinds
    needs_path = kind in ("values", "from")
    if needs_path and "path" not in value:
        at.wrong('path is missing; write what is varied, such as path = "links.0.down.delay"')
    if "path" in value and not needs_path:
        at.wrong(f"path has no effect beside {kind}; leave one of them out")
    if "scale" in value and kind != "from":
        at.wrong("scale has no effect without from and to; leave it out")
    if kind == "from":
        return Factor(name, (), _paths(value["path"], at), _range(value, at), label)
    levels = _levels(kind, value, at)
    labels = [level.label for level in levels]
    if twice := next((item for item in labels if labels.count(item) > 1), None):
        at.wrong(f"level {twice!r} is there twice; leave one out")
    return Factor(name, levels, label=label)


def _levels(kind: str, table: Mapping[str, Any], at: Reading) -> tuple[Level, ...]:
    if kind == "bundles":
        bundles = table["bundles"]
        if not isinstance(bundles, Mapping) or not bundles:
            at.wrong('bundles is no table of settings; write iw10 = { "tcp.initial_window" = 10 }')
        return tuple(
            Level(name, name, settings(sets, at.at("bundles", name)))
            for name, sets in bundles.items()
        )
    values = at.listed(table, kind)
    if kind == "values":
        paths = _paths(table["path"], at)
        return tuple(_level(value, paths) for value in values)
    path = "tcp" if kind == "tcp" else "tcp.profile"
    if bad := next((value for value in values if not isinstance(value, str)), None):
        at.wrong(f"{kind}: {bad!r} is no name; `farlink list tcp` lists them")
    return tuple(Level(value, value, {path: value}) for value in values)


def _level(value: Any, paths: tuple[str, ...]) -> Level:  # noqa: ANN401 (whatever TOML has)
    label = level_label(value)
    plain = value if isinstance(value, str | int | float | bool) else label
    return Level(label, plain, dict.fromkeys(paths, value))


def level_label(value: object) -> str:
    """Return the label of a level."""
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, Mapping):
        return ", ".join(f"{level_label(item)} {name}" for name, item in value.items())
    return value if isinstance(value, str) else str(value)


def settings(spec: object, at: Reading) -> dict[str, Any]:
    """Flatten a table to values by dotted path; nested tables are joined with dots."""
    if not isinstance(spec, Mapping):
        at.wrong(f'{spec!r} is no table of settings; write {{ "tcp.initial_window" = 10 }}')
    table: dict[str, Any] = {}
    for path, value in spec.items():
        if isinstance(value, Mapping) and "." not in path:
            table |= {f"{path}.{rest}": setting for rest, setting in settings(value, at).items()}
        else:
            table[path] = value
    return table


def _paths(value: object, at: Reading) -> tuple[str, ...]:
    paths = value if isinstance(value, list) else [value]
    if not paths or not all(isinstance(path, str) and path for path in paths):
        at.wrong(f'path {value!r} is none; write "links.0.down.delay", or a list of such')
    return tuple(paths)


def _range(table: Mapping[str, Any], at: Reading) -> Range:
    if "to" not in table:
        at.wrong("from needs to; write both ends of the range")
    (low, unit), (high, other) = (_split(table[end], end, at) for end in ("from", "to"))
    if unit != other:
        at.wrong(f"from is in {unit or 'no unit'} and to in {other or 'no unit'}; write one unit")
    scale = at.text(table, "scale", default="linear", of=_SCALES)
    if not low < high:
        at.wrong(f"from {table['from']!r} is not below to {table['to']!r}; exchange them")
    if scale == "log" and low <= 0:
        at.wrong(f"from {table['from']!r} has no logarithm; write one above 0")
    whole = not unit and all(isinstance(table[end], int) for end in ("from", "to"))
    return Range(low, high, unit, scale == "log", whole)


def _split(value: object, end: str, at: Reading) -> tuple[float, str]:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value), ""
    match = _NUMBER.fullmatch(value) if isinstance(value, str) else None
    try:
        return float(match[1]), match[2]  # type: ignore[index]
    except (TypeError, ValueError):
        at.wrong(f'{end} {value!r} is no number; write a number, or one with its unit ("10 ms")')


def _measured(value: Value) -> tuple[float | int | None, str]:
    """Return a value as a number in its base unit, and that unit."""
    if isinstance(value, bool):
        return None, ""
    if isinstance(value, int | float):
        return value, ""
    for parse, unit in ((units.parse_time, "s"), (units.parse_size, "B")):
        try:
            number = parse(value)
        except ValueError:  # The number has two decimal points.
            return None, ""
        if number is not None:
            return number, unit
    try:
        rate = units.parse_rate(value)
    except ValueError:
        return None, ""
    return (rate, "bit/s") if rate is not None else (None, "")


def _and(names: list[str]) -> str:
    return " and ".join(names) or "none of them"
