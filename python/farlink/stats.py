"""Means and their confidence intervals over independent runs."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = [
    "Estimate",
    "clopper_pearson",
    "mean_ci95",
    "median_ci95",
    "paired_difference",
    "t_quantile",
]


@dataclass(frozen=True)
class Estimate:
    """A mean with its 95 % confidence interval.

    `mean` is None without any value, `low` and `high` with fewer than two.
    """

    mean: float | None
    low: float | None
    high: float | None
    n: int

    @property
    def half_width(self) -> float | None:
        """Half the width of the interval; None with fewer than two values."""
        if self.low is None or self.high is None:
            return None
        return (self.high - self.low) / 2


def mean_ci95(values: Sequence[float | None], probability: float = 0.975) -> Estimate:
    """Estimate the mean of independent, nearly normal values by Student's t.

    The interval is mean +- t(0.975, n - 1) s / sqrt(n) with the sample standard
    deviation s (n - 1 in its denominator). None values (a metric that a run did
    not have) are left out and lower n. Values that were looked at before all of them were
    there need a higher `probability` for 95 %. Sums are exact (`math.fsum`), so the
    order of the runs does not matter.
    """
    present = [float(value) for value in values if value is not None]
    n = len(present)
    if n == 0:
        return Estimate(None, None, None, 0)
    mean = math.fsum(present) / n
    if n == 1:
        return Estimate(mean, None, None, 1)
    variance = math.fsum((value - mean) ** 2 for value in present) / (n - 1)
    half = t_quantile(probability, n - 1) * math.sqrt(variance / n)
    return Estimate(mean, mean - half, mean + half, n)


def median_ci95(values: Sequence[float | None]) -> Estimate:
    """Estimate the median of independent values, whatever their distribution.

    The interval is from the k-th smallest to the k-th largest value, with the
    largest k for which fewer than k of n fair coins are heads at most 2.5 times
    of 100 (Conover 1999, 3.2). None values are left out. Below six values there
    is no such interval. The median is in `mean` of the estimate.
    """
    from scipy.special import bdtr

    present = sorted(float(value) for value in values if value is not None)
    n = len(present)
    if n == 0:
        return Estimate(None, None, None, 0)
    middle = (present[(n - 1) // 2] + present[n // 2]) / 2
    k = 0
    while bdtr(k, n, 0.5) <= 0.025:
        k += 1
    if k == 0:
        return Estimate(middle, None, None, n)
    return Estimate(middle, present[k - 1], present[n - k], n)


def paired_difference(
    a: Sequence[float | None], b: Sequence[float | None], probability: float = 0.975
) -> Estimate:
    """Estimate the mean of a - b over runs that share their random numbers.

    Run k of every TCP meets the same channel, so the difference within a run
    varies less than either value, and its interval is the right one for "is a
    better than b?". A pair with a None is left out.
    """
    if len(a) != len(b):
        raise ValueError(f"a has {len(a)} runs and b has {len(b)}; pairs need the same runs")
    pairs = zip(a, b, strict=True)
    return mean_ci95([x - y for x, y in pairs if x is not None and y is not None], probability)


def clopper_pearson(successes: int, n: int) -> tuple[float, float]:
    """Return the 95 % interval of a probability from independent trials.

    Clopper and Pearson (1934): never too narrow, whatever the probability.
    """
    from scipy.special import betaincinv

    low = 0.0 if successes == 0 else float(betaincinv(successes, n - successes + 1, 0.025))
    high = 1.0 if successes == n else float(betaincinv(successes + 1, n - successes, 0.975))
    return low, high


def t_quantile(probability: float, degrees: float) -> float:
    """Return the quantile of Student's t with so many degrees of freedom."""
    # scipy.stats takes a second to import; its special functions do not.
    from scipy.special import stdtrit

    return float(stdtrit(degrees, probability))
