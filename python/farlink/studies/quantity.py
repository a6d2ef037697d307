"""Measured quantities, run by run, and what can be said of them with confidence.

A `Quantity` holds one value per run. Run k of every cell of a study meets the same
channel, so arithmetic is run by run, and a comparison is a paired test (Student's t
on the differences). A comparison gives `Evidence`: how strongly the runs speak for it
and how strongly against. Evidence combines as in logic:

    every(a > b, c <= 0.35 * a)        all must hold
    some(a > b, c > d)                 one at least
    ~(a > b)

`every` needs each part to be significant by itself to hold (an intersection-union test,
whose level is that of its parts), and refutes when one part is significantly wrong at the
level divided by the number of parts (Bonferroni); `some` the other way round.
docs/studies.md has the reasons.
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
"""One-sided level of a verdict: that of a 95 % confidence interval."""

SETTLED = LEVEL / 4
"""p-value below the level of every interim analysis: the comparison needs no more runs."""

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
    """Strength of the runs' evidence for a statement, and against it.

    Attributes
    ----------
    p_for
        Probability of runs that speak for the statement as strongly as these, or more, if
        it did not hold. Small: it holds.
    p_against
        Probability of runs that contradict the statement as strongly as these, or more, if it
        held. Small: it does not hold.
    details
        The numbers, a line per comparison.
    key_for, key_against
        Which of the lines `p_for` and `p_against` hang on; by default the first.
    p_tie
        Of what does not hold: the probability of values that are as near to each other as
        these, or nearer, if they were more than `TIE` apart. Small: they are equal.
    few
        Whether what is undecided rests on hardly any events.
    open
        Cells (keys of `farlink.studies.cache.Cell`) of the comparisons that are not settled:
        what more runs would help.
    sampled
        Whether it rests on runs; false for a fact, which is computed or scripted.
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
        """Return what follows at a one-sided level."""
        if self.p_for < level <= self.p_against:
            return Verdict.REPRODUCED
        if self.p_against < level <= self.p_for:
            return Verdict.NOT_REPRODUCED
        if self.p_tie < level:
            return Verdict.TIE
        return Verdict.FEW_EVENTS if self.few else Verdict.UNDECIDED

    @property
    def key(self) -> str:
        """The comparison that the verdict hangs on, with its numbers."""
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
    """Quantity measured once per run, with a name for the reader.

    Parameters
    ----------
    values
        A value per run; NaN where a run had none.
    label
        What it is, such as "throughput(rlp, PER 0.3)".
    unit
        Its unit, empty for counts and shares.
    cells
        Keys of the cells that the values are of; `NO_CELL` for what is of none.
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
        """Mean over the runs that have a value; NaN if none has."""
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
        """Return the same values under another name."""
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
        """Return whether the mean lies in an interval, ends included."""
        return every(self >= low, self <= high)

    def close_to(self, other: Number, share: float) -> Evidence:
        """Return whether the mean differs from that of another by at most this share of it."""
        return every(self >= other * (1 - share), self <= other * (1 + share))

    def _with(self, other: Number, values: NDArray[np.float64], sign: str) -> "Quantity":
        label = f"({self.label} {sign} {_label(other)})"
        return Quantity(values, label, self.unit, _cells(self, other))


class Nothing(Quantity):
    """Number that a model without packets cannot have: no statement about it holds."""

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
    """Return values run by run: of the runs that all of these have, numbers repeated."""
    runs = min(len(item.values) for item in of if isinstance(item, Quantity))
    return [
        item.values[:runs] if isinstance(item, Quantity) else np.full(runs, float(item))
        for item in of
    ]


def every(*parts: Evidence | Iterable[Evidence]) -> Evidence:
    """Evidence that all of these hold; `ValueError` without any."""
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
        # Equal as a whole: what does not hold is a tie.
        max(min(number.p_for, number.p_tie) for number in flat),
        any(number.few for number in flat),
        # A part that does not hold yet may hold, or refute the whole.
        frozenset().union(*(number.open for number in flat if number.p_for >= SETTLED)),
        any(number.sampled for number in flat),
    )


def some(*parts: Evidence | Iterable[Evidence]) -> Evidence:
    """Evidence that at least one of `parts` holds; `ValueError` if `parts` is empty."""
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
        # Equal, all of them, or worse: none holds.
        max(min(number.p_against, number.p_tie) for number in flat),
        any(number.few for number in flat),
        open=frozenset().union(*(number.open for number in flat if number.p_against >= SETTLED)),
        sampled=any(number.sampled for number in flat),
    )


def fact(holds: bool, detail: str) -> Evidence:  # noqa: FBT001 (the fact itself)
    """Evidence of something that is computed or scripted, not sampled."""
    p_for = 0.0 if holds else 1.0
    return Evidence(p_for, 1.0 - p_for, (detail,), sampled=False)


def best(
    candidates: Mapping[_Key, Quantity], allowed: Sequence[_Key], *, margin: float = 0.01
) -> Evidence:
    """Evidence that an allowed candidate has the largest mean, within `margin`.

    On a flat optimum chance decides which candidate is largest. So the claim holds if an allowed
    candidate is significantly above `1 - margin` times every other candidate. It fails if
    `1 - margin` times another candidate is significantly above every allowed one. If all
    candidates are equal none is best: an allowed candidate must also exceed another one by more
    than the margin.
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
"""Share of a value by which another may differ and still count as equal to it."""

_FEWEST_EVENTS = 10
"""Events in all runs together below which counts that decide nothing are called too few."""


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
    """Two one-sided tests: a is above the lower end of what counts as equal, below the upper."""
    margin = TIE * np.abs(b)
    return max(above(a, b - margin)[0], above(a, b + margin)[1])


def _few(x: Quantity) -> bool:
    """Return whether hardly any run has a value, or hardly any event was counted."""
    known = x.values[~np.isnan(x.values)]
    if 2 * len(known) < len(x.values):
        return True
    counts = not x.unit and bool(np.all(known >= 0) and np.all(known == np.floor(known)))
    return counts and float(np.sum(known)) < _FEWEST_EVENTS


def short(x: float, digits: int) -> str:
    """Round to some digits; without an exponent for what is read better so."""
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
