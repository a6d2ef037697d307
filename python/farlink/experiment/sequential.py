"""Number of runs for a precision, with the level of the interval kept.

Whoever looks after every run and stops when the interval is narrow enough stops too often when
it is narrow by chance: his 95 % interval misses more than 5 %. Here one looks at a few numbers of
runs that are fixed beforehand, and the interval of every look has the same higher level, so that
all of them together hold the mean with 95 %: the constant of Pocock (1977), with Student's
quantile at that level in place of the normal one (Jennison and Turnbull 2000, 4.4).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise

import numpy as np

from farlink.experiment.reading import Reading
from farlink.probability import normal_cdf, root
from farlink.stats import t_quantile

__all__ = ["Precision", "Rule", "read_precision"]

LEAST, MOST = 20, 1000
"""Runs of the first look and of the last one, unless said otherwise. With fewer than the first
Student's t is too far from skewed samples, and rare losses may not have come yet: so many equal
runs are taken for a point without chance."""

_STEP = math.sqrt(2)
"""Ratio of the runs of one look to those of the look before."""


@dataclass(frozen=True)
class Precision:
    """Limit of half the interval of a measure: a share of the mean, or in its unit."""

    measure: str
    share: float | None = None
    absolute: float | None = None

    def reached(self, mean: float, half_width: float) -> bool:
        """Return whether an interval is narrow enough."""
        wanted = self.absolute if self.share is None else self.share * abs(mean)
        assert wanted is not None
        return half_width <= wanted

    def __str__(self) -> str:
        if self.share is not None:
            return f"{self.measure} to {100 * self.share:g} %"
        return f"{self.measure} to ±{self.absolute:g}"


@dataclass(frozen=True)
class Rule:
    """Times of the looks, and the quantile of each.

    Parameters
    ----------
    least, most
        Runs of the first and the last look.
    """

    least: int = LEAST
    most: int = MOST

    @cached_property
    def looks(self) -> list[int]:
        """Numbers of runs of the looks."""
        entries = [self.least]
        while entries[-1] < self.most:
            entries.append(min(self.most, math.ceil(entries[-1] * _STEP)))
        return entries

    @cached_property
    def level(self) -> float:
        """Level of each interval, of which all together have 95 %."""
        return _level(tuple(self.looks))

    def next_look(self, runs: int) -> int | None:
        """Return the runs of the next look after `runs`; None after the last."""
        return next((look for look in self.looks if look > runs), None)

    def half_width(self, deviation: float, runs: int) -> float:
        """Return half the interval of a mean of so many runs with this standard deviation."""
        if runs < 2:
            return math.inf
        return t_quantile((1 + self.level) / 2, runs - 1) * deviation / math.sqrt(runs)


@lru_cache(maxsize=32)
def _level(looks: tuple[int, ...]) -> float:
    """Find the two-sided level of each look with which all together have 95 %."""
    if len(looks) == 1:
        return 0.95
    return 2 * normal_cdf(root(lambda c: _stays(looks, c) - 0.95, 1.9, 5.0)) - 1


_GRID = 401


def _stays(looks: Sequence[int], constant: float) -> float:
    """Return the probability that a standardised mean is within +-constant at every look.

    The sum of n normal values is a random walk; its density inside the bounds is carried from
    look to look (Armitage, McPherson and Rowe 1969), by Simpson's rule.
    """
    weights = np.ones(_GRID)
    weights[1:-1:2], weights[2:-1:2] = 4.0, 2.0
    weights *= 2.0 / (_GRID - 1) / 3.0
    unit = np.linspace(-1.0, 1.0, _GRID)

    def bell(
        x: "np.typing.NDArray[np.float64]", variance: float
    ) -> "np.typing.NDArray[np.float64]":
        return np.asarray(np.exp(-(x**2) / (2 * variance)) / math.sqrt(2 * math.pi * variance))

    bound = constant * math.sqrt(looks[0])
    place = unit * bound
    density = bell(place, looks[0])
    for before, now in pairwise(looks):
        wide = constant * math.sqrt(now)
        there = unit * wide
        step = bell(there[:, None] - place[None, :], now - before)
        density = step @ (density * weights * bound)
        place, bound = there, wide
    return float(np.sum(density * weights * bound))


def read_precision(spec: object, at: Reading) -> tuple[list[Precision], Rule]:
    """Read the table `precision`: measures with "2 %" or a number in their unit, least, most."""
    if not isinstance(spec, dict) or not spec:
        at.wrong(f'{spec!r} is no precision; write precision = {{ goodput = "2 %" }}')
    least = at.whole(spec, "least", 2, 1_000_000)
    most = at.whole(spec, "most", 2, 1_000_000)
    rule = Rule(least or min(LEAST, most or LEAST), most or max(MOST, least or 0))
    if rule.least > rule.most:
        at.wrong(f"least {rule.least} is above most {rule.most}; exchange them")
    wanted = [
        _precision(name, value, at) for name, value in spec.items() if name not in ("least", "most")
    ]
    if not wanted:
        at.wrong('no measure; write one with its precision, such as goodput = "2 %"')
    return wanted, rule


def _precision(name: str, value: object, at: Reading) -> Precision:
    if isinstance(value, int | float) and not isinstance(value, bool) and value > 0:
        return Precision(name, absolute=float(value))
    number, percent, rest = str(value).partition("%")
    try:
        share = float(number) / 100
    except ValueError:
        share = math.nan
    if not (isinstance(value, str) and percent and not rest.strip() and 0 < share < 1):
        at.at(name).wrong(
            f'{value!r} is no precision; write "2 %" of the mean, or a number in its unit'
        )
    return Precision(name, share=share)
