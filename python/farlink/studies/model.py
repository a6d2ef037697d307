"""Scenarios and measures of a record, ready for evaluation.

`[model]` is a scenario, `[factors.NAME]` say what of it a point may change, `[measures.NAME]`
what is measured at a point, `[constants]` are lists and numbers that expressions use, and each
`[[reading]]` and `[[mutant]]` changes the scenario of every point. docs/studies.md has the keys.
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
"""Changes the tree of a scenario in a way that values by path cannot say."""


@dataclass(frozen=True)
class Factor:
    """Something that a point may say.

    Attributes
    ----------
    path
        What of the scenario it sets; links and flows are found by their names.
    values
        What a value stands for: values by path. Without, the value itself goes to `path`.
    write
        How a number is written: "{:g} s".
    absent
        The value at which nothing is set.
    also
        What else is set wherever the factor is said.
    label
        How a reader sees it: "PER {:g}".
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
        """Return what this value sets, by path."""
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

    def told(self, value: Any) -> str:  # noqa: ANN401
        """Return how a label says it; empty for what is not worth saying."""
        if self.label:
            return self.label.format(value)
        return f"{self.name} {value:g}" if isinstance(value, float) else f"{self.name} {value}"


@dataclass(frozen=True)
class Measure:
    """Something that is measured at a point.

    Attributes
    ----------
    of
        A measure of a flow ("bulk.goodput") or of a direction of a link
        ("radio.down.frames_sent"), or arithmetic of such.
    args
        Factors that may be given by their places.
    sets
        Factors that it sets for itself.
    label, scale
        How the axis of a figure names it, and what values are multiplied by for that
        (1e-3 for kbit/s).
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
    """A reading of the text, or a model that is wrong on purpose: changes of every scenario.

    Attributes
    ----------
    sets
        Values by path; a path that a scenario does not have yet is made.
    swaps
        Names of measured directions or values of factors that stand for each other:
        {"rlp": "lapb"} means that who asks for one gets the other.
    drops
        Paths that are taken away.
    ignores
        Factors that set nothing.
    constants
        Measures that have these values whatever is asked for.
    silent
        Whether functions of the study have nothing to look at, as in a model without packets.
    hook
        Name of a function of the study that changes the tree.
    plain
        Whether the hook of the model as chosen is left out.
    turns
        Of a wrong model: claims that must not be reproduced under it.
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

    def swapped(self, value: Any) -> Any:  # noqa: ANN401
        """Return what stands for a value."""
        back = {new: old for old, new in self.swaps.items()}
        return self.swaps.get(value, back.get(value, value)) if isinstance(value, str) else value


AS_CHOSEN = Change("as chosen", "The model as the record has it.")


@dataclass(frozen=True)
class Plan:
    """Model, factors, measures, constants and changes of a record."""

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
        """Read them from a record.

        Raises
        ------
        ValueError
            If an entry has a key that is not one, or names what is not there.
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
    known = kind.__annotations__.keys() - {named}
    if unknown := row.keys() - known - {named}:
        raise ValueError(f"{kind.__name__.lower()} {name}: {', '.join(sorted(unknown))} is no key")
    if "doc" not in row:
        raise ValueError(f"{kind.__name__.lower()} {name}: it lacks 'doc'")
    return kind(**{**row, named: name})


class Model:
    """A plan in a cache under one reading: cells and quantities by what a point says.

    Measures are attributes, and take the factors of a point: `model.thr("rlp", 0.3, mrd=5)`.
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
        self._hooks = [(hooks or {})[name] for name in names if name]
        self._functions = functions or {}

    @property
    def lab(self) -> SimulationCache:
        """Former name of `cache`."""
        warnings.warn("model.lab is model.cache now", DeprecationWarning, stacklevel=2)
        return self.cache

    @property
    def names(self) -> Mapping[str, Any]:
        """Names that expressions may use: constants, measures, and functions of the study.

        A function of the study takes the model; expressions call it without.
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
        """Return the scenario of a point."""
        return self._cell(self._said(self.plan.args, args, factors))

    def measure(self, name: str, *args: Any, **factors: Any) -> Quantity:  # noqa: ANN401
        """Return a measure of a point, run by run.

        Raises
        ------
        ScenarioError
            If a factor or value is not known.
        """
        measure = self.plan.measures[name]
        cell = self._cell({**measure.sets, **self._said(measure.args, args, factors)})
        if name in self.change.constants:
            value = Quantity([self.change.constants[name]] * self.cache.count(cell), name)
        else:
            value = _Of(self.cache, cell, self.change).value(measure.of)
        return value.named(f"{name}({cell.label})", measure.unit or None)

    def of_cell(self, name: str, cell: Cell) -> Quantity:
        """Return a measure of a scenario that is no point of the plan, run by run."""
        measure = self.plan.measures[name]
        value = _Of(self.cache, cell, self.change).value(measure.of)
        return value.named(f"{name}({cell.label})", measure.unit or None)

    def _said(
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
                lines.append(factor.told(value))
        for path, item in self.change.sets.items():
            put(tree, path, item)
        for path in self.change.drops:
            put(tree, path, None)
        for hook in self._hooks:
            hook(tree)
        return Cell(", ".join(part for part in lines if part), tree, self.plan.runs)


@dataclass(frozen=True)
class _Of:
    """Arithmetic of measures of a cell."""

    cache: SimulationCache
    cell: Cell
    change: Change

    def value(self, text: str) -> Quantity:
        """Evaluate "radio.down.frames_duplicate / radio.down.frames_sent"."""
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
    """Set a value by path; None takes it away."""
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
