"""Sequential choice of the number of runs, with the confidence level kept at 95 %.

A rule that tests after every run, and stops at the first narrow interval, often stops at an
interval that is narrow by chance. Its nominal 95 % interval then covers the mean in fewer than 95 %
of cases. This module tests only at a few numbers of runs that are fixed in advance (interim
analyses). All analyses use one higher confidence level, chosen so that all intervals together cover
the mean with probability 95 % (constant of Pocock 1977). Student's quantile at that level replaces
the normal one (Jennison and Turnbull 2000, 4.4).
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
"""Default numbers of runs at the first and the last interim analysis.

With fewer than 20 runs, Student's t fits skewed samples badly. Rare losses may also be absent from
so few runs, so that a point with random losses would look deterministic.
"""

_STEP = math.sqrt(2)
"""Ratio of the numbers of runs of two consecutive interim analyses."""


@dataclass(frozen=True)
class Precision:
    """Limit for half the width of a measure's interval: relative to the mean, or absolute."""

    measure: str
    share: float | None = None
    absolute: float | None = None

    def reached(self, mean: float, half_width: float) -> bool:
        """Return whether half an interval's width is within the limit."""
        wanted = self.absolute if self.share is None else self.share * abs(mean)
        assert wanted is not None
        return half_width <= wanted

    def __str__(self) -> str:
        if self.share is not None:
            return f"{self.measure} to {100 * self.share:g} %"
        return f"{self.measure} to ±{self.absolute:g}"


@dataclass(frozen=True)
class Rule:
    """Schedule of interim analyses, and the confidence level of their intervals.

    Parameters
    ----------
    least, most
        Numbers of runs at the first and the last interim analysis.
    """

    least: int = LEAST
    most: int = MOST

    @cached_property
    def analyses(self) -> list[int]:
        """Numbers of runs at which the interval is tested."""
        entries = [self.least]
        while entries[-1] < self.most:
            entries.append(min(self.most, math.ceil(entries[-1] * _STEP)))
        return entries

    @cached_property
    def level(self) -> float:
        """Confidence level of each interval, such that all together cover the mean with 95 %."""
        return _level(tuple(self.analyses))

    def next_analysis(self, runs: int) -> int | None:
        """Return the number of runs at the next interim analysis; None after the last."""
        return next((count for count in self.analyses if count > runs), None)

    def half_width(self, deviation: float, runs: int) -> float:
        """Return half the interval's width, t * deviation / sqrt(runs); infinite below two runs."""
        if runs < 2:
            return math.inf
        return t_quantile((1 + self.level) / 2, runs - 1) * deviation / math.sqrt(runs)


@lru_cache(maxsize=32)
def _level(analyses: tuple[int, ...]) -> float:
    """Solve for the two-sided level per interim analysis that gives 95 % over all analyses."""
    if len(analyses) == 1:
        return 0.95
    return 2 * normal_cdf(root(lambda c: _stays(analyses, c) - 0.95, 1.9, 5.0)) - 1


_GRID = 401


def _stays(analyses: Sequence[int], constant: float) -> float:
    """Return P(|standardised mean| <= constant at every interim analysis).

    The sum of n normal values is a random walk. Its density inside the bounds is propagated from
    one analysis to the next by Simpson's rule (Armitage, McPherson and Rowe 1969).
    """
    weights = np.ones(_GRID)
    weights[1:-1:2], weights[2:-1:2] = 4.0, 2.0
    weights *= 2.0 / (_GRID - 1) / 3.0
    unit = np.linspace(-1.0, 1.0, _GRID)

    def bell(
        x: "np.typing.NDArray[np.float64]", variance: float
    ) -> "np.typing.NDArray[np.float64]":
        return np.asarray(np.exp(-(x**2) / (2 * variance)) / math.sqrt(2 * math.pi * variance))

    bound = constant * math.sqrt(analyses[0])
    place = unit * bound
    density = bell(place, analyses[0])
    for before, now in pairwise(analyses):
        wide = constant * math.sqrt(now)
        there = unit * wide
        step = bell(there[:, None] - place[None, :], now - before)
        density = step @ (density * weights * bound)
        place, bound = there, wide
    return float(np.sum(density * weights * bound))


def read_precision(spec: object, at: Reading) -> tuple[list[Precision], Rule]:
    """Read the table `precision`: measures with "2 %" or an absolute limit, `least` and `most`."""
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
