"""Builds scenarios and measures from the TOML record of a study.

`[model]` is a scenario. Each `[factors.NAME]` is a parameter that varies, each `[measures.NAME]` is
a quantity of a run, and `[constants]` holds values for expressions. A `[[reading]]` (an
interpretation) or `[[mutant]]` (a negative control) changes all scenarios. docs/studies.md lists
the keys.
"""

import ast
import copy
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from farlink.errors import ScenarioError
from farlink.studies.cache import Cell, SimulationCache
from farlink.studies.quantity import Nothing, Quantity

__all__ = ["Change", "Factor", "Measure", "Model", "Plan", "put"]

Hook = Callable[[dict[str, Any]], None]
"""Function that edits a scenario tree where setting values by path is not enough."""


@dataclass(frozen=True)
class Factor:
    """Parameter of a scenario that varies between the points of a study.

    Attributes
    ----------
    path
        Dotted path of the scenario key that the factor sets, with links and flows by name.
    values
        Settings (path to value) for each value of the factor. If empty, the value itself is set at
        `path`.
    write
        Format of a number in the scenario: "{:g} s".
    absent
        Value of the factor that leaves the scenario unchanged.
    also
        Further settings (path to value) of every point that has the factor.
    label
        Format of a value in labels: "PER {:g}".
    """

    name: str
    doc: str
    path: str = ""
    values: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    write: str = ""
    absent: Any = None
    also: Mapping[str, Any] = field(default_factory=dict)
    label: str = ""

    def settings(self, value: Any) -> dict[str, Any]:  # noqa: ANN401 (any value of TOML)
        """Return the settings (path to value) of a value of the factor."""
        if value is None or value == self.absent:
            return {}
        if self.values:
            name = str(value).lower() if isinstance(value, bool) else str(value)
            if name not in self.values:
                known = ", ".join(self.values)
                raise ScenarioError(f"factor {self.name}: {value!r} is none of {known}")
            return {**self.also, **self.values[name]}
        written = self.write.format(value) if self.write else value
        return {**self.also, self.path: written}

    def text(self, value: Any) -> str:  # noqa: ANN401
        """Return the text of a value for labels, by `label` or else "NAME VALUE"."""
        if self.label:
            return self.label.format(value)
        return f"{self.name} {value:g}" if isinstance(value, float) else f"{self.name} {value}"


@dataclass(frozen=True)
class Measure:
    """Quantity that every run of a point gives.

    Attributes
    ----------
    of
        Metric of a flow ("bulk.goodput"), metric of one direction of a link
        ("radio.down.frames_sent"), or an arithmetic expression of metrics.
    args
        Names of the factors that a call may give as positional arguments.
    sets
        Values of factors that the measure fixes.
    label, scale
        Label of the measure on an axis, and factor by which its values are multiplied there (1e-3
        for kbit/s).
    """

    name: str
    doc: str
    of: str
    args: Sequence[str]
    unit: str = ""
    sets: Mapping[str, Any] = field(default_factory=dict)
    label: str = ""
    scale: float = 1.0


@dataclass(frozen=True)
class Change:
    """Interpretation of the publication or negative control, as a change of all scenarios.

    Attributes
    ----------
    sets
        Settings (path to value); missing paths are created.
    swaps
        Names that are exchanged in measures and factor values: {"rlp": "lapb"} simulates LAPB
        wherever RLP is requested, and RLP for LAPB.
    drops
        Paths that are deleted.
    ignores
        Names of factors that have no effect.
    constants
        Measures whose simulated value is replaced by a fixed one.
    silent
        Whether functions of the study return `Nothing`, because the model has no packets.
    hook
        Name of a function of the study that edits the scenario tree.
    plain
        Whether the hook of `[point]` is skipped.
    turns
        Claims that must not be reproduced under this negative control.
    edits
        Functions that edit the completed scenario tree. A record has no such key.
    """

    id: str
    doc: str
    sets: Mapping[str, Any] = field(default_factory=dict)
    swaps: Mapping[str, str] = field(default_factory=dict)
    drops: Sequence[str] = ()
    ignores: Sequence[str] = ()
    constants: Mapping[str, float] = field(default_factory=dict)
    silent: bool = False
    hook: str = ""
    plain: bool = False
    turns: Sequence[str] = ()
    edits: Sequence[Hook] = ()

    def swapped(self, value: Any) -> Any:  # noqa: ANN401
        """Return the value that `swaps` gives for a value, or else the value itself."""
        back = {new: old for old, new in self.swaps.items()}
        return self.swaps.get(value, back.get(value, value)) if isinstance(value, str) else value


AS_CHOSEN = Change("as chosen", "The model without changes.")


@dataclass(frozen=True)
class Plan:
    """Parsed record of a study: model, factors, measures, constants and changes."""

    tree: Mapping[str, Any]
    args: Sequence[str]
    hook: str
    runs: int
    factors: Mapping[str, Factor]
    measures: Mapping[str, Measure]
    constants: Mapping[str, Any]
    interpretations: Mapping[str, Change]
    controls: Mapping[str, Change]

    @classmethod
    def of(cls, record: Mapping[str, Any], hooks: Mapping[str, Hook]) -> "Plan":
        """Parse and check the record of a study.

        Raises
        ------
        ValueError
            If an entry has an unknown key or names an unknown factor or hook.
        """
        factors = {n: _entry(Factor, n, row) for n, row in record.get("factors", {}).items()}
        point = record.get("point", {})
        args, hook = tuple(point.get("args", ())), str(point.get("hook", ""))
        if hook and hook not in hooks:
            raise ValueError(f"point: the study has no hook {hook!r}")
        measures = {}
        for name, row in record.get("measures", {}).items():
            measures[name] = _entry(Measure, name, {"args": args, **row})
            names = {*measures[name].args, *measures[name].sets}
            if unknown := names - factors.keys():
                raise ValueError(f"measure {name}: no factor {', '.join(sorted(unknown))}")
        changes: dict[str, dict[str, Change]] = {"reading": {}, "mutant": {}}
        for kind, change in changes.items():
            for row in record.get(kind, []):
                item = _entry(Change, str(row.get("id", "")), row, named="id")
                if item.hook and item.hook not in hooks:
                    raise ValueError(f"{kind} {item.id}: the study has no hook {item.hook!r}")
                if item.id in change:
                    raise ValueError(f"the record has {kind} {item.id} twice")
                change[item.id] = item
        return cls(
            tree=record.get("model", {}),
            args=args,
            hook=hook,
            runs=_runs(point),
            factors=factors,
            measures=measures,
            constants=record.get("constants", {}),
            interpretations={AS_CHOSEN.id: AS_CHOSEN, **changes["reading"]},
            controls=changes["mutant"],
        )


def _runs(point: Mapping[str, Any]) -> int:
    """Return the factor by which a point multiplies the number of runs (key `runs`, default 1)."""
    runs = point.get("runs", 1)
    if not isinstance(runs, int) or runs < 1:
        raise ValueError(f"point: runs is {runs!r}, and must be a whole number from 1")
    return runs


def _entry(kind: type[Any], name: str, row: Mapping[str, Any], named: str = "name") -> Any:  # noqa: ANN401
    known = kind.__annotations__.keys() - {named, "edits"}
    if unknown := row.keys() - known - {named}:
        raise ValueError(f"{kind.__name__.lower()} {name}: {', '.join(sorted(unknown))} is no key")
    if "doc" not in row:
        raise ValueError(f"{kind.__name__.lower()} {name}: it lacks 'doc'")
    return kind(**{**row, named: name})


class Model:
    """Simulated model of a study under one interpretation.

    Each measure is a method that takes the factors of a point and returns a value for each run:
    `model.thr("rlp", 0.3, mrd=5)`. Cells and runs come from `cache`.
    """

    def __init__(
        self,
        cache: SimulationCache,
        plan: Plan,
        change: Change = AS_CHOSEN,
        hooks: Mapping[str, Hook] | None = None,
        functions: "Mapping[str, Callable[[Model], Any]] | None" = None,
    ) -> None:
        self.cache = cache
        self.plan = plan
        self.change = change
        names = ["" if change.plain else plan.hook, change.hook]
        self._hooks = [*((hooks or {})[name] for name in names if name), *change.edits]
        self._functions = functions or {}

    @property
    def lab(self) -> SimulationCache:
        """Former name of `cache`."""
        warnings.warn("model.lab is model.cache now", DeprecationWarning, stacklevel=2)
        return self.cache

    @property
    def names(self) -> Mapping[str, Any]:
        """Names that expressions may use: constants, measures, and functions of the study.

        Functions of the study take the model as their first argument, which expressions omit.
        """
        return {
            **{name: _frozen(value) for name, value in self.plan.constants.items()},
            **{name: partial(self.measure, name) for name in self.plan.measures},
            **{name: self._function(function) for name, function in self._functions.items()},
        }

    def _function(self, of: "Callable[..., Any]") -> Callable[..., Any]:
        if not self.change.silent:
            return partial(of, self)
        return lambda *_args, **_factors: Nothing()

    def __getattr__(self, name: str) -> Callable[..., Quantity]:
        if name.startswith("_") or name not in self.plan.measures:
            raise AttributeError(name)
        return partial(self.measure, name)

    def cell(self, *args: Any, **factors: Any) -> Cell:  # noqa: ANN401 (values of factors)
        """Return the cell (scenario and label) for the given values of factors."""
        return self._cell(self._arguments(self.plan.args, args, factors))

    def measure(self, name: str, *args: Any, **factors: Any) -> Quantity:  # noqa: ANN401
        """Return the values of a measure at a point, one for each run.

        Raises
        ------
        ScenarioError
            If a factor or its value is unknown.
        """
        measure = self.plan.measures[name]
        cell = self._cell({**measure.sets, **self._arguments(measure.args, args, factors)})
        if name in self.change.constants:
            value = Quantity([self.change.constants[name]] * self.cache.count(cell), name)
        else:
            value = _Expression(self.cache, cell, self.change).value(measure.of)
        return value.named(f"{name}({cell.label})", measure.unit or None)

    def of_cell(self, name: str, cell: Cell) -> Quantity:
        """Return the values of a measure for any scenario, one for each run."""
        measure = self.plan.measures[name]
        value = _Expression(self.cache, cell, self.change).value(measure.of)
        return value.named(f"{name}({cell.label})", measure.unit or None)

    def _arguments(
        self, places: Sequence[str], args: Sequence[Any], factors: Mapping[str, Any]
    ) -> dict[str, Any]:
        if len(args) > len(places):
            raise ScenarioError(f"{len(args)} values for the factors {', '.join(places)}")
        arguments = dict(zip(places, args, strict=False))
        for name, value in factors.items():
            if name not in self.plan.factors:
                known = ", ".join(self.plan.factors)
                raise ScenarioError(f"factor {name!r} is not known; there are {known}")
            if name in arguments:
                raise ScenarioError(f"factor {name!r} is said twice")
            arguments[name] = value
        return {name: self.change.swapped(value) for name, value in arguments.items()}

    def _cell(self, arguments: Mapping[str, Any]) -> Cell:
        tree = copy.deepcopy(dict(self.plan.tree))
        lines = []
        for name, value in arguments.items():
            factor = self.plan.factors[name]
            if name not in self.change.ignores:
                for path, setting in factor.settings(value).items():
                    put(tree, path, setting)
            if value is not None and (name in self.plan.args or value != factor.absent):
                lines.append(factor.text(value))
        for path, item in self.change.sets.items():
            put(tree, path, item)
        for path in self.change.drops:
            put(tree, path, None)
        for hook in self._hooks:
            hook(tree)
        return Cell(", ".join(part for part in lines if part), tree, self.plan.runs)


@dataclass(frozen=True)
class _Expression:
    """Evaluator of arithmetic expressions of the metrics of one cell."""

    cache: SimulationCache
    cell: Cell
    change: Change

    def value(self, text: str) -> Quantity:
        """Evaluate an expression such as "radio.down.frames_duplicate / radio.down.frames_sent"."""
        value: Quantity = self._value(ast.parse(text, mode="eval").body)
        return value

    def _value(self, node: ast.expr) -> Any:  # noqa: ANN401
        if isinstance(node, ast.BinOp):
            left, right = self._value(node.left), self._value(node.right)
            match node.op:
                case ast.Add():
                    return left + right
                case ast.Sub():
                    return left - right
                case ast.Mult():
                    return left * right
                case ast.Div():
                    return left / right
        if isinstance(node, ast.Constant):
            return node.value
        parts = [self.change.swapped(part) for part in _dotted(node)]
        match parts:
            case [flow, metric]:
                return self.cache.flow(self.cell, metric, flow=self._place(flow))
            case [link, direction, metric]:
                return self.cache.link(self.cell, link, direction, metric)
        raise ScenarioError(f"{ast.unparse(node)!r} is no measure of a flow or a link")

    def _place(self, name: str) -> int:
        flows = [flow.get("name") for flow in self.cell.scenario["flows"]]
        if name not in flows:
            raise ScenarioError(f"there is no flow {name!r}; write one of {flows}")
        return flows.index(name)


def _dotted(node: ast.expr) -> Iterator[str]:
    if isinstance(node, ast.Attribute):
        yield from _dotted(node.value)
        yield node.attr
    elif isinstance(node, ast.Name):
        yield node.id


def put(tree: dict[str, Any], path: str, value: Any) -> None:  # noqa: ANN401
    """Set the value at a dotted path of a tree; None deletes the entry."""
    *parents, last = path.split(".")
    place: Any = tree
    for part in parents:
        if isinstance(place, list):
            place = next((item for item in place if item.get("name") == part), None)
            if place is None:
                raise ScenarioError(f"path {path!r}: there is no {part!r}")
        else:
            place = place.setdefault(part, {})
    if value is None:
        place.pop(last, None)
    else:
        place[last] = copy.deepcopy(value)


def _frozen(value: Any) -> Any:  # noqa: ANN401
    return tuple(_frozen(item) for item in value) if isinstance(value, list) else value
