"""Language of the claims in a record: Python expressions over quantities.

    thr("rlp", per=p) > thr("none", per=p) for p in (0.01, 0.02, 0.05)
    0.075 <= crossing(lambda p: e2e("none", per=p), 5, (0.05, 0.1, 0.15)) <= 0.125
    increasing(rto("rlp", per=p) for p in PER) and rto("rlp", per=0.6) <= 14

An expression is parsed and checked before any run. Its names are measures and functions of the
study, which return quantities (one value per run), and the functions in the table. A comparison
gives evidence (see `farlink.studies.quantity`). `and`, `or`, `not` and chains such as `a < b <= c`
combine evidence. Comparisons of plain numbers give facts. If a whole expression is `... for x in
...`, its statement must hold for each x.

| function | meaning |
|---|---|
| `all(...)`, `any(...)` | all parts hold; at least one part holds |
| `abs(q)` | distance of the mean from 0: `abs(q - 97.4) <= 0.24` is a test of equality (TOST) |
| `max(...)`, `min(...)` | largest, smallest quantity: `max(...) <= 14` holds if all are <= 14 |
| `increasing(...)`, `decreasing(...)` | each value is significantly above (below) the one before |
| `tie(a, b, share)` | a differs from b by at most `share` of b (TOST) |
| `argbest({x: q})`, `argbest(f, xs)` | the x with the largest mean: `argbest(...) in (...)` |
| `crossing(f, level, xs)` | x at which f crosses a level, interpolated linearly, for each run |
| `slope(f, xs)`, `r2lin(f, xs)` | slope, or R^2, of the least-squares line, for each run |
| `mean(...)` | mean of several quantities, for each run |
| `spread(q)` | standard deviation over the runs (jackknife) |
| `ratio(a, b)` | (mean of a) / (mean of b), which is not the mean of a / b (jackknife) |
| `share(q, low, high)` | share of the runs in which low <= q <= high |

The rest of Python is not allowed, such as assignments, imports and attributes.
"""

import ast
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from farlink.errors import ScenarioError
from farlink.studies.quantity import (
    NOTHING_HOLDS,
    Evidence,
    Nothing,
    Quantity,
    best,
    every,
    fact,
    paired,
    some,
)

__all__ = ["FUNCTIONS", "Expression"]


class Expression:
    """Parsed expression of a record.

    Parameters
    ----------
    text
        The expression.
    where
        Place in the record, for error messages.

    Raises
    ------
    ScenarioError
        If the text is not an expression of this language.
    """

    def __init__(self, text: str, where: str) -> None:
        self.text = text
        self.where = where
        self._tree = _parse(text, where)

    def __repr__(self) -> str:
        return f"<Expression {self.text!r}>"

    @property
    def names(self) -> set[str]:
        """Free names of the expression."""
        nodes = list(ast.walk(self._tree))
        bound = {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        bound |= {n.arg for n in nodes if isinstance(n, ast.arg)}
        return {n.id for n in nodes if isinstance(n, ast.Name)} - bound

    def check(self, known: Iterable[str]) -> None:
        """Raise `ScenarioError` if a name is neither in `known` nor a function of the language."""
        for name in sorted(self.names - set(known) - FUNCTIONS.keys()):
            raise ScenarioError(f"{self.where}: {name!r} in `{self.text}` is not known")

    def value(self, names: Mapping[str, Any]) -> Any:  # noqa: ANN401 (whatever the expression is)
        """Evaluate the expression with `names` and the functions of the language."""
        return _evaluate(self._tree, {**FUNCTIONS, **names})

    def quantity(self, names: Mapping[str, Any]) -> Quantity:
        """Return the value as a quantity; `max` and `min` stand for the extreme of the means."""
        value = self.value(names)
        if isinstance(value, _Extreme):
            return value.quantity()
        return value if isinstance(value, Quantity) else Quantity([float(value)] * 2, "computed")

    def evidence(self, names: Mapping[str, Any]) -> Evidence:
        """Evaluate the expression as a statement.

        If the expression gives a value instead of evidence.
        """
        return _stated(self.value(names), self.text)


def _parse(text: str, where: str) -> ast.expr:
    source = text.strip()
    if not source:
        raise ScenarioError(f"{where}: there is nothing in the expression")
    try:
        tree = ast.parse(f"({source})", mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        reason = getattr(error, "msg", None) or str(error)
        raise ScenarioError(f"{where}: `{source}` is no expression: {reason}") from None
    for node in ast.walk(tree):
        if not isinstance(node, _ALLOWED):
            word = type(node).__name__.lower()
            raise ScenarioError(
                f"{where}: `{source}` has {word}, which this language does not have"
            )
        if isinstance(node, ast.Call) and not isinstance(node.func, ast.Name):
            raise ScenarioError(f"{where}: `{source}` calls what is no name")
        if isinstance(node, ast.Constant) and type(node.value) not in _CONSTANTS:
            raise ScenarioError(f"{where}: `{source}` has a constant of a strange kind")
        if isinstance(node, ast.comprehension) and node.is_async:
            raise ScenarioError(f"{where}: `{source}` waits, which this language does not have")
    return tree


_CONSTANTS = (int, float, str, bool, type(None))

_ALLOWED = (
    *(ast.BoolOp, ast.And, ast.Or, ast.UnaryOp, ast.Not, ast.USub, ast.UAdd),
    *(ast.BinOp, ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow),
    *(ast.Compare, ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.In, ast.NotIn),
    *(ast.Call, ast.keyword, ast.Name, ast.Load, ast.Store, ast.Constant),
    *(ast.Tuple, ast.List, ast.Dict, ast.Starred),
    *(ast.GeneratorExp, ast.ListComp, ast.DictComp, ast.comprehension),
    *(ast.Lambda, ast.arguments, ast.arg, ast.Subscript, ast.Slice),
)


@dataclass(frozen=True)
class _Distance:
    """Distance of a quantity's mean from 0, compared by two one-sided tests."""

    of: Quantity

    def compare(self, sign: str, bound: float) -> Evidence:
        if sign in ("<", "<="):
            return every(self.of >= -bound, self.of <= bound)
        return some(self.of > bound, self.of < -bound)


@dataclass(frozen=True)
class _Extreme:
    """Largest or smallest of several quantities. Comparisons test all of them."""

    of: Sequence[Quantity]
    largest: bool

    def compare(self, sign: str, bound: "float | Quantity") -> Evidence:
        parts = [_stated(_order(item, sign, bound), "a part") for item in self.of]
        return every(parts) if (sign in ("<", "<=")) == self.largest else some(parts)

    def quantity(self) -> Quantity:
        """Return the quantity with the largest, or smallest, mean."""
        sign = 1 if self.largest else -1
        return max(self.of, key=lambda q: -math.inf if math.isnan(q.mean) else sign * q.mean)


@dataclass(frozen=True)
class _Best:
    """The candidate with the largest mean."""

    candidates: Mapping[Any, Quantity]

    def among(self, allowed: Sequence[Any]) -> Evidence:
        return best(self.candidates, allowed)


def _evaluate(node: ast.expr, names: Mapping[str, Any]) -> Any:  # noqa: ANN401
    match node:
        case ast.Constant(value):
            return value
        case ast.Name(name):
            if name not in names:
                raise NameError(f"{name!r} is not known")
            return names[name]
        case ast.Tuple(parts) | ast.List(parts):
            return tuple(_spread(parts, names))
        case ast.Dict(keys, values):
            pairs = zip(keys, values, strict=True)
            return {_evaluate(k, names): _evaluate(v, names) for k, v in pairs if k is not None}
        case ast.UnaryOp(op, operand):
            return _unary(op, _evaluate(operand, names))
        case ast.BinOp(left, op, right):
            return _ARITHMETIC[type(op)](_evaluate(left, names), _evaluate(right, names))
        case ast.BoolOp(op, parts):
            return _combine(isinstance(op, ast.And), parts, names)
        case ast.Compare(left, ops, rights):
            return _chain([left, *rights], ops, names)
        case ast.GeneratorExp(element, generators) | ast.ListComp(element, generators):
            return [_evaluate(element, bound) for bound in _bindings(generators, names)]
        case ast.DictComp(key, value, generators):
            bindings = _bindings(generators, names)
            return {_evaluate(key, bound): _evaluate(value, bound) for bound in bindings}
        case ast.Lambda(arguments, body):
            parameters = [arg.arg for arg in arguments.args]
            return lambda *given: _evaluate(
                body, {**names, **dict(zip(parameters, given, strict=True))}
            )
        case ast.Subscript(value, ast.Slice(lower, upper)):
            ends = [None if item is None else _evaluate(item, names) for item in (lower, upper)]
            return _evaluate(value, names)[ends[0] : ends[1]]
        case ast.Subscript(value, index):
            return _evaluate(value, names)[_evaluate(index, names)]
        case ast.Call(function, arguments, keywords):
            given = {k.arg: _evaluate(k.value, names) for k in keywords if k.arg is not None}
            return _evaluate(function, names)(*_spread(arguments, names), **given)
    raise TypeError(f"{type(node).__name__} cannot be evaluated")


def _spread(parts: Sequence[ast.expr], names: Mapping[str, Any]) -> list[Any]:
    values: list[Any] = []
    for part in parts:
        if isinstance(part, ast.Starred):
            values += _evaluate(part.value, names)
        else:
            values.append(_evaluate(part, names))
    return values


def _unary(op: ast.unaryop, value: Any) -> Any:  # noqa: ANN401
    if isinstance(op, ast.Not):
        return ~value if isinstance(value, Evidence) else not value
    return value if isinstance(op, ast.UAdd) else -1 * value


_ARITHMETIC: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.Div: lambda a, b: a / b,
    ast.Pow: lambda a, b: a**b,
}


def _combine(conjunction: bool, parts: Sequence[ast.expr], names: Mapping[str, Any]) -> Any:  # noqa: ANN401, FBT001
    values = [_evaluate(part, names) for part in parts]
    if not any(isinstance(value, (Evidence, list)) for value in values):
        return all(values) if conjunction else any(values)
    evidence = [_stated(value, "a part") for value in values]
    return every(evidence) if conjunction else some(evidence)


def _chain(nodes: Sequence[ast.expr], ops: Sequence[ast.cmpop], names: Mapping[str, Any]) -> Any:  # noqa: ANN401
    values = [_evaluate(node, names) for node in nodes]
    parts = [_compare(a, op, b) for (a, b), op in zip(pairwise(values), ops, strict=True)]
    if all(isinstance(part, bool) for part in parts):
        return all(parts)
    return every(_stated(part, "a part") for part in parts)


_SIGNS: Mapping[type[ast.cmpop], str] = {
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
}
_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


def _compare(a: Any, op: ast.cmpop, b: Any) -> "Evidence | bool":  # noqa: ANN401
    if isinstance(op, (ast.In, ast.NotIn)):
        if isinstance(a, _Best):
            evidence = a.among(tuple(b))
            return evidence if isinstance(op, ast.In) else ~evidence
        return (a in b) is isinstance(op, ast.In)
    if isinstance(op, (ast.Eq, ast.NotEq)):
        equal = _equal(a, b)
        if isinstance(op, ast.Eq):
            return equal
        return ~equal if isinstance(equal, Evidence) else not equal
    return _order(a, _SIGNS[type(op)], b)


def _order(a: Any, sign: str, b: Any) -> "Evidence | bool":  # noqa: ANN401
    if isinstance(b, (_Distance, _Extreme)) or (
        isinstance(b, Quantity) and not isinstance(a, (Quantity, _Distance, _Extreme))
    ):
        a, sign, b = b, _TURNED[sign], a
    if isinstance(a, (_Distance, _Extreme)):
        return a.compare(sign, b)
    compared: Evidence | bool = {
        "<": lambda: a < b,
        "<=": lambda: a <= b,
        ">": lambda: a > b,
        ">=": lambda: a >= b,
    }[sign]()
    return compared if isinstance(compared, Evidence) else bool(compared)


def _equal(a: Any, b: Any) -> "Evidence | bool":  # noqa: ANN401
    """Return evidence that a and b are equal in every run; one unequal run refutes it."""
    if isinstance(a, Nothing) or isinstance(b, Nothing):
        return NOTHING_HOLDS
    if isinstance(b, (Quantity, _Best)):
        a, b = b, a
    if isinstance(a, _Best):
        return a.among((b,))
    if not isinstance(a, Quantity):
        return bool(a == b)
    item, other = paired(a, b)
    difference = np.abs(item - other)
    known = difference[~np.isnan(difference)]
    label = b.label if isinstance(b, Quantity) else f"{b:g}"
    line = f"{a.label} = {a.text} == {label} in {int(np.sum(known == 0))} of {len(known)} runs"
    open_ = a.cells | (b.cells if isinstance(b, Quantity) else frozenset())
    if len(known) == 0:
        return Evidence(1.0, 1.0, (line,), open=open_)
    same = bool(np.all(known == 0))
    p_for, p_against = (0.5 ** len(known), 1.0) if same else (1.0, 0.0)
    return Evidence(p_for, p_against, (line,), open=open_)


def _bindings(
    generators: Sequence[ast.comprehension], names: Mapping[str, Any]
) -> Iterator[Mapping[str, Any]]:
    if not generators:
        yield names
        return
    first, *rest = generators
    for value in _evaluate(first.iter, names):
        bound = {**names, **_bind(first.target, value)}
        if all(_evaluate(condition, bound) for condition in first.ifs):
            yield from _bindings(rest, bound)


def _bind(target: ast.expr, value: Any) -> dict[str, Any]:  # noqa: ANN401
    if isinstance(target, ast.Name):
        return {target.id: value}
    if not isinstance(target, ast.Tuple):
        raise TypeError("a loop of this language binds names")
    bound: dict[str, Any] = {}
    for part, item in zip(target.elts, value, strict=True):
        bound |= _bind(part, item)
    return bound


def _stated(value: Any, text: str) -> Evidence:  # noqa: ANN401
    if isinstance(value, Evidence):
        return value
    if isinstance(value, Nothing):
        return NOTHING_HOLDS
    if isinstance(value, bool):
        return fact(value, f"{text}: {'yes' if value else 'no'}")
    if isinstance(value, (list, tuple)):
        return every(_stated(item, text) for item in value)
    raise TypeError(f"`{text}` is a value and states nothing")


# --- The functions


def _all(parts: Iterable[Any]) -> Any:  # noqa: ANN401
    values = list(parts)
    return all(values) if _plain(values) else every(_stated(value, "a part") for value in values)


def _any(parts: Iterable[Any]) -> Any:  # noqa: ANN401
    values = list(parts)
    return any(values) if _plain(values) else some(_stated(value, "a part") for value in values)


def _plain(values: Iterable[Any]) -> bool:
    return all(isinstance(value, (bool, int, float)) for value in values)


def _abs(value: Any) -> Any:  # noqa: ANN401
    return _Distance(value) if isinstance(value, Quantity) else abs(value)


def _extreme(*given: Any, largest: bool) -> Any:  # noqa: ANN401
    values = list(given[0]) if len(given) == 1 else list(given)
    if _plain(values):
        return max(values) if largest else min(values)
    return _Extreme(values, largest)


def _steps(given: Sequence[Any], *, up: bool) -> Evidence:
    pairs = [(a, b) if up else (b, a) for a, b in pairwise(given)]
    return every(_stated(_order(a, "<", b), "a step") for a, b in pairs)


def _argbest(of: Any, xs: Iterable[Any] | None = None) -> _Best:  # noqa: ANN401
    return _Best(of if xs is None else {x: of(x) for x in xs})


def _crossing(f: Callable[[float], Quantity], level: Any, xs: Iterable[float]) -> Quantity:  # noqa: ANN401
    """Return the first x at which f crosses the level; NaN in runs without a crossing."""
    points = list(xs)
    quantities = [f(x) for x in points]
    *values, bound = paired(*quantities, level)
    rows = np.array([value - bound for value in values])
    crossing = np.full(rows.shape[1], np.nan)
    for run, row in enumerate(rows.T):
        for (x0, y0), (x1, y1) in pairwise(zip(points, row, strict=True)):
            if y0 != y1 and min(y0, y1) <= 0 <= max(y0, y1):
                crossing[run] = x0 + (x1 - x0) * y0 / (y0 - y1)
                break
    label = level.label if isinstance(level, Quantity) else f"{level:g}"
    of = [*quantities, level]
    return _made(crossing, f"crossing({quantities[0].label} ..., {label})", of)


def _made(values: Any, label: str, of: Sequence[Any], unit: str = "") -> Quantity:  # noqa: ANN401
    """Return a quantity from values, with the cells of other quantities."""
    cells = frozenset().union(*(item.cells for item in of if isinstance(item, Quantity)))
    return Quantity(values, label, unit, cells)


def _line(f: Any, xs: Iterable[float]) -> tuple[Any, Any, list[Quantity]]:  # noqa: ANN401
    points = np.array(list(xs), dtype=np.float64)
    quantities = [f(float(x)) for x in points] if callable(f) else list(f)
    return points, np.array(paired(*quantities)), quantities


def _slope(f: Any, xs: Iterable[float]) -> Quantity:  # noqa: ANN401
    points, rows, of = _line(f, xs)
    away = points - points.mean()
    return _made(away @ rows / (away @ away), f"slope({of[0].label} ...)", of)


def _r2lin(f: Any, xs: Iterable[float]) -> Quantity:  # noqa: ANN401
    points, rows, of = _line(f, xs)
    away, spread = points - points.mean(), rows - rows.mean(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = (away @ spread) ** 2 / ((away @ away) * np.sum(spread**2, axis=0))
    return _made(share, f"R^2({of[0].label} ...)", of)


def _mean(given: Iterable[Quantity]) -> Quantity:
    values = list(given)
    mean = np.mean(paired(*values), axis=0)
    return _made(mean, f"mean({values[0].label} ...)", values, values[0].unit)


def _deviation(q: Quantity) -> Quantity:
    """Return the standard deviation over the runs, in a form that is compared like a mean."""
    total, squares, n = np.sum(q.values), np.sum(q.values**2), len(q.values)

    def of(x: Any, xx: Any, runs: int) -> Any:  # noqa: ANN401 (numbers, or an array of them)
        return np.sqrt(np.maximum(xx - x * x / runs, 0.0) / max(runs - 1, 1))

    without = of(total - q.values, squares - q.values**2, n - 1)
    return _jackknife(of(total, squares, n), without, f"spread({q.label})", [q], q.unit)


def _ratio(a: Quantity, b: Quantity) -> Quantity:
    """Return the mean of a over the mean of b; NaN if b is 0 in all runs."""
    ours, theirs = paired(a, b)
    over, under = np.sum(ours), np.sum(theirs)
    with np.errstate(divide="ignore", invalid="ignore"):
        without = (over - ours) / (under - theirs)
        return _jackknife(over / under, without, f"{a.label} / {b.label}", [a, b])


def _jackknife(
    whole: Any,  # noqa: ANN401
    without: NDArray[np.float64],
    label: str,
    of: Sequence[Quantity],
    unit: str = "",
) -> Quantity:
    """Return the jackknife pseudo-values of a statistic T of quantities.

    The pseudo-value of run i is n T - (n - 1) T(without run i) (Quenouille 1956; Tukey 1958). At
    least three runs are needed.
    """
    n = len(without)
    parts = n * whole - (n - 1) * without if n > 2 else np.full(n, np.nan)
    return _made(np.where(np.isfinite(parts), parts, np.nan), label, of, unit)


def _share(q: Quantity, low: float, high: float) -> Quantity:
    inside = np.where(np.isnan(q.values), np.nan, (q.values >= low) & (q.values <= high))
    return _made(inside, f"share of runs({low:g} <= {q.label} <= {high:g})", [q])


def _tie(a: Quantity, b: Any, share: float) -> Evidence:  # noqa: ANN401
    return a.close_to(b, share)


FUNCTIONS: Mapping[str, Any] = {
    "all": _all,
    "any": _any,
    "abs": _abs,
    "max": lambda *given: _extreme(*given, largest=True),
    "min": lambda *given: _extreme(*given, largest=False),
    "increasing": lambda given: _steps(list(given), up=True),
    "decreasing": lambda given: _steps(list(given), up=False),
    "tie": _tie,
    "argbest": _argbest,
    "crossing": _crossing,
    "slope": _slope,
    "r2lin": _r2lin,
    "mean": _mean,
    "spread": _deviation,
    "ratio": _ratio,
    "share": _share,
    "range": range,
    "len": len,
    "sum": sum,
}
"""Functions of the language by name."""
