"""Quantities with one value per run, and statistical evidence from comparing them.

Run k of every cell has the same channel, so arithmetic combines values of the same run, and a
comparison is a paired test (see `farlink.studies.significance`). A comparison gives `Evidence`: a
p-value for the statement and one against it. Evidence combines as in logic:

    every(a > b, c <= 0.35 * a)        all must hold
    some(a > b, c > d)                 one at least
    ~(a > b)

`every` holds if each part is significant at the level (intersection-union test), and is refuted if
one of n parts is refuted at the level / n (Bonferroni). `some` is the reverse. docs/studies.md
explains why.
"""

import enum
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar, Union

import numpy as np
from numpy.typing import NDArray

from farlink.stats import Estimate, mean_ci95
from farlink.studies.significance import above

__all__ = [
    "LEVEL",
    "NOTHING_HOLDS",
    "NO_CELL",
    "SETTLED",
    "TIE",
    "Evidence",
    "Nothing",
    "Quantity",
    "Verdict",
    "best",
    "every",
    "fact",
    "paired",
    "short",
    "some",
]

LEVEL = 0.025
"""One-sided significance level of a verdict, that of a 95 % confidence interval."""

SETTLED = LEVEL / 4
"""Level of the last interim analyses; a comparison with a p-value below it needs no more runs."""

NO_CELL = ""
"""Placeholder in `Quantity.cells` for values that come from no cell, such as traces."""

Number = Union["Quantity", float, int]
_Key = TypeVar("_Key")


class Verdict(enum.Enum):
    """Verdict of the runs on a claim."""

    REPRODUCED = "reproduced"
    ORDER_ONLY = "order only"
    TIE = "tie"
    NOT_REPRODUCED = "not reproduced"
    FEW_EVENTS = "too few events"
    UNDECIDED = "undecided"


@dataclass(frozen=True)
class Evidence:
    """p-values for and against a statement, computed from runs.

    Attributes
    ----------
    p_for
        One-sided p-value of the null hypothesis that the statement does not hold. If it is small,
        the statement holds.
    p_against
        One-sided p-value of the null hypothesis that the statement holds. If it is small, the
        statement does not hold.
    details
        Numbers of the comparisons, a line each.
    key_for, key_against
        Lines of `details` that determine `p_for` and `p_against`, by default the first.
    p_tie
        p-value of the null hypothesis that both sides differ by more than the share `TIE`. If it is
        small, the sides are considered equal.
    few
        Whether an undecided comparison has too few events.
    open
        Keys of the cells (`farlink.studies.cache.Cell`) of unsettled comparisons. More runs of
        these cells may decide.
    sampled
        Whether the evidence comes from runs; false for computed or scripted facts.
    """

    p_for: float
    p_against: float
    details: tuple[str, ...] = ()
    key_for: str = field(default="", compare=False)
    key_against: str = field(default="", compare=False)
    p_tie: float = field(default=1.0, compare=False)
    few: bool = field(default=False, compare=False)
    open: frozenset[str] = field(default=frozenset(), compare=False)
    sampled: bool = field(default=True, compare=False)

    def __post_init__(self) -> None:
        for name in ("key_for", "key_against"):
            if not getattr(self, name) and self.details:
                object.__setattr__(self, name, self.details[0])

    @property
    def verdict(self) -> Verdict:
        """Verdict at `LEVEL`."""
        return self.at(LEVEL)

    def at(self, level: float) -> Verdict:
        """Return the verdict at a one-sided significance level."""
        if self.p_for < level <= self.p_against:
            return Verdict.REPRODUCED
        if self.p_against < level <= self.p_for:
            return Verdict.NOT_REPRODUCED
        if self.p_tie < level:
            return Verdict.TIE
        return Verdict.FEW_EVENTS if self.few else Verdict.UNDECIDED

    @property
    def key(self) -> str:
        """Deciding comparison with its numbers."""
        return self.key_against if self.verdict is Verdict.NOT_REPRODUCED else self.key_for

    def __invert__(self) -> "Evidence":
        return Evidence(
            self.p_against,
            self.p_for,
            tuple(f"not: {detail}" for detail in self.details),
            f"not: {self.key_against}",
            f"not: {self.key_for}",
            self.p_tie,
            self.few,
            self.open,
            self.sampled,
        )

    def __and__(self, other: "Evidence") -> "Evidence":
        return every(self, other)

    def __or__(self, other: "Evidence") -> "Evidence":
        return some(self, other)

    def __bool__(self) -> bool:
        raise TypeError("evidence is neither true nor false; use every(), some() or .verdict")


class Quantity:
    """Quantity with one value per run, a label and a unit.

    Parameters
    ----------
    values
        Value of each run; NaN if undefined in a run.
    label
        Name in figures and messages, such as "throughput(rlp, PER 0.3)".
    unit
        Unit; empty for counts and shares.
    cells
        Keys of the cells whose runs gave the values; `NO_CELL` for none.
    """

    def __init__(
        self,
        values: Sequence[float] | NDArray[np.float64],
        label: str,
        unit: str = "",
        cells: Iterable[str] = (NO_CELL,),
    ) -> None:
        self.values: NDArray[np.float64] = np.asarray(values, dtype=np.float64)
        self.label = label
        self.unit = unit
        self.cells = frozenset(cells)

    def __repr__(self) -> str:
        return f"<{self.label}: {self.text}>"

    @property
    def estimate(self) -> Estimate:
        """Mean over the runs that have a value, with its 95 % interval."""
        return mean_ci95([None if math.isnan(value) else float(value) for value in self.values])

    @property
    def mean(self) -> float:
        """Mean over the runs with a value; NaN without any."""
        mean = self.estimate.mean
        return math.nan if mean is None else mean

    @property
    def text(self) -> str:
        """Mean, half width of the interval and unit."""
        estimate = self.estimate
        if estimate.mean is None:
            return "no value"
        unit = f" {self.unit}" if self.unit else ""
        half = estimate.half_width
        interval = "" if half is None else f" ± {short(half, 2)}"
        missing = len(self.values) - estimate.n
        runs = f" ({estimate.n} of {len(self.values)} runs)" if missing else ""
        return f"{short(estimate.mean, 4)}{interval}{unit}{runs}"

    def named(self, label: str, unit: str | None = None) -> "Quantity":
        """Return a copy with another label, and another unit if given."""
        return Quantity(self.values, label, self.unit if unit is None else unit, self.cells)

    def __add__(self, other: Number) -> "Quantity":
        a, b = paired(self, other)
        return self._with(other, a + b, "+")

    def __sub__(self, other: Number) -> "Quantity":
        a, b = paired(self, other)
        return self._with(other, a - b, "-")

    def __rsub__(self, other: float) -> "Quantity":
        label = f"({other:g} - {self.label})"
        return Quantity(other - self.values, label, self.unit, self.cells)

    def __mul__(self, other: Number) -> "Quantity":
        a, b = paired(self, other)
        unit = "" if isinstance(other, Quantity) else self.unit
        return Quantity(b * a, f"{_label(other)} {self.label}", unit, _cells(self, other))

    __rmul__ = __mul__

    def __truediv__(self, other: Number) -> "Quantity":
        a, b = paired(self, other)
        with np.errstate(divide="ignore", invalid="ignore"):
            values = a / b
        unit = "" if isinstance(other, Quantity) else self.unit
        return Quantity(values, f"{self.label} / {_label(other)}", unit, _cells(self, other))

    def __gt__(self, other: Number) -> Evidence:
        return _compare(self, other, ">")

    def __ge__(self, other: Number) -> Evidence:
        return _compare(self, other, ">=")

    def __lt__(self, other: Number) -> Evidence:
        return _compare(self, other, "<")

    def __le__(self, other: Number) -> Evidence:
        return _compare(self, other, "<=")

    def within(self, low: float, high: float) -> Evidence:
        """Return evidence that low <= mean <= high."""
        return every(self >= low, self <= high)

    def close_to(self, other: Number, share: float) -> Evidence:
        """Return evidence that the mean differs from `other` by at most `share` * `other`."""
        return every(self >= other * (1 - share), self <= other * (1 + share))

    def _with(self, other: Number, values: NDArray[np.float64], sign: str) -> "Quantity":
        label = f"({self.label} {sign} {_label(other)})"
        return Quantity(values, label, self.unit, _cells(self, other))


class Nothing(Quantity):
    """Placeholder for a quantity of a model without packets. Every statement about it fails."""

    def __init__(self) -> None:
        super().__init__([math.nan] * 2, "nothing")

    def __getitem__(self, _: object) -> "Nothing":
        return self

    def _nothing(self, _: object) -> "Nothing":
        return self

    def _holds_not(self, _: object) -> Evidence:
        return NOTHING_HOLDS

    __add__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = _nothing
    __gt__ = __ge__ = __lt__ = __le__ = _holds_not


def paired(*of: Number) -> "list[NDArray[np.float64]]":
    """Return arrays of the runs that all quantities have; numbers are repeated."""
    runs = min(len(item.values) for item in of if isinstance(item, Quantity))
    return [
        item.values[:runs] if isinstance(item, Quantity) else np.full(runs, float(item))
        for item in of
    ]


def every(*parts: Evidence | Iterable[Evidence]) -> Evidence:
    """Return evidence that all of `parts` hold; `ValueError` if `parts` is empty."""
    flat = _flat(parts)
    weakest, worst = (
        max(flat, key=lambda item: item.p_for),
        min(flat, key=lambda item: item.p_against),
    )
    return Evidence(
        weakest.p_for,
        min(1.0, len(flat) * worst.p_against),
        tuple(line for number in flat for line in number.details),
        weakest.key_for,
        worst.key_against,
        # The whole is a tie if each part either holds or is a tie.
        max(min(number.p_for, number.p_tie) for number in flat),
        any(number.few for number in flat),
        # More runs may decide each part that does not hold yet.
        frozenset().union(*(number.open for number in flat if number.p_for >= SETTLED)),
        any(number.sampled for number in flat),
    )


def some(*parts: Evidence | Iterable[Evidence]) -> Evidence:
    """Return evidence that at least one of `parts` holds; `ValueError` if `parts` is empty."""
    flat = _flat(parts)
    surest, mildest = (
        min(flat, key=lambda item: item.p_for),
        max(flat, key=lambda item: item.p_against),
    )
    return Evidence(
        min(1.0, len(flat) * surest.p_for),
        mildest.p_against,
        tuple(line for number in flat for line in number.details),
        surest.key_for,
        mildest.key_against,
        # A tie if each part is either refuted or a tie.
        max(min(number.p_against, number.p_tie) for number in flat),
        any(number.few for number in flat),
        open=frozenset().union(*(number.open for number in flat if number.p_against >= SETTLED)),
        sampled=any(number.sampled for number in flat),
    )


def fact(holds: bool, detail: str) -> Evidence:  # noqa: FBT001 (the fact itself)
    """Return evidence for a computed or scripted fact, without sampling."""
    p_for = 0.0 if holds else 1.0
    return Evidence(p_for, 1.0 - p_for, (detail,), sampled=False)


def best(
    candidates: Mapping[_Key, Quantity], allowed: Sequence[_Key], *, margin: float = 0.01
) -> Evidence:
    """Return evidence that an allowed candidate has the largest mean, within `margin` (a share).

    At a flat optimum the largest candidate is random. The claim therefore holds if an allowed
    candidate is significantly above `1 - margin` times every other candidate. The claim fails if `1
    - margin` times another candidate is significantly above every allowed one. It also fails if all
    candidates are equal within the margin.
    """
    inside = [q for key, q in candidates.items() if key in allowed]
    outside = [q for key, q in candidates.items() if key not in allowed]
    if not inside or not outside:
        raise ValueError("best() needs a candidate that is allowed, and one that is not")
    listing = ", ".join(f"{key}: {q.text}" for key, q in candidates.items())
    top = max(candidates, key=lambda key: candidates[key].mean)
    keep = 1 - margin
    evidence = some(
        every(*(i > o * keep for o in outside), some(i * keep > o for o in outside)) for i in inside
    )
    worse = some(every(o * keep > i for i in inside) for o in outside)
    flat = every(o > i * keep for o in outside for i in inside)
    against = some(worse, flat)
    return Evidence(
        evidence.p_for,
        against.p_for,
        (f"largest at {top} ({listing})",),
        open=evidence.open | against.open,
    )


NOTHING_HOLDS = fact(False, "the model has no packets")  # noqa: FBT003

TIE = 0.02
"""Relative difference up to which two values count as equal."""

_FEWEST_EVENTS = 10
"""Number of events, summed over the runs, below which undecided counts are "too few events"."""


def _compare(a: Quantity, b: Number, sign: str) -> Evidence:
    x, pair = paired(a, b)
    y = pair if isinstance(b, Quantity) else float(b)
    p_above, p_below = above(x, y, or_equal=(sign in (">=", "<")))
    p_for, p_against = (p_above, p_below) if sign in (">", ">=") else (p_below, p_above)
    line = f"{a.label} = {a.text} {sign} {_label(b)}"
    if isinstance(b, Quantity):
        line += f" = {b.text} (difference {(a - b).text})"
    open_ = min(p_for, p_against) >= LEVEL
    return Evidence(
        p_for,
        p_against,
        (line,),
        p_tie=_tie(x, y) if open_ else 1.0,
        few=open_ and (_few(a) or (isinstance(b, Quantity) and _few(b))),
        open=_cells(a, b),
    )


def _tie(a: NDArray[np.float64], b: NDArray[np.float64] | float) -> float:
    """Return the p-value of |a - b| > TIE |b|, by two one-sided tests (TOST)."""
    margin = TIE * np.abs(b)
    return max(above(a, b - margin)[0], above(a, b + margin)[1])


def _few(x: Quantity) -> bool:
    """Return whether under half of the runs have a value or events are too few."""
    known = x.values[~np.isnan(x.values)]
    if 2 * len(known) < len(x.values):
        return True
    counts = not x.unit and bool(np.all(known >= 0) and np.all(known == np.floor(known)))
    return counts and float(np.sum(known)) < _FEWEST_EVENTS


def short(x: float, digits: int) -> str:
    """Format a number with significant digits, without exponent from 1e-4 to 1e9."""
    if not 1e-4 <= abs(x) < 1e9:
        return f"{x:.{digits}g}"
    return np.format_float_positional(x, precision=digits, unique=False, fractional=False, trim="-")


def _cells(*of: Number) -> frozenset[str]:
    return frozenset().union(*(item.cells for item in of if isinstance(item, Quantity)))


def _label(x: Number) -> str:
    return x.label if isinstance(x, Quantity) else f"{x:g}"


def _flat(parts: Sequence[Evidence | Iterable[Evidence]]) -> list[Evidence]:
    flat: list[Evidence] = []
    for part in parts:
        flat.extend([part] if isinstance(part, Evidence) else part)
    if not flat:
        raise ValueError("nothing to combine")
    return flat
