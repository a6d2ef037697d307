"""Significance of a difference between two means, for values of any shape.

Student's t test is right for nearly normal values. Delays at high loss are not normal, because a
few runs are very long. In a sample without a long run, t finds the mean too low too often: for a
lognormal with sigma 1.5 in 24 to 31 % of samples instead of 2.5 %. Rare counts are not normal
either. Up to three tests are therefore made, and the largest p-value is used:

- Student's t, always; - for positive values that are skewed, the generalised test of lognormal
means (Krishnamoorthy and Mathew 2003, J. Statist. Plann. Inference 115, 103-121; for pairs with
their joint distribution). It is exact for lognormal values, and conservative for exponential, gamma
and Weibull values; - for small counts, the exact test of Poisson totals (for pairs: the binomial
one, given their sum).

No test keeps its level for every distribution, because a rare large value may be missing in all
runs.
"""

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from farlink.probability import binomial_cdf, binomial_sf, poisson_cdf, poisson_sf, student_cdf

__all__ = ["above"]

Values = NDArray[np.float64]


def above(a: Values, b: Values | float, *, or_equal: bool = False) -> tuple[float, float]:
    """Return the one-sided p-values of "mean of a > mean of b" and of the opposite.

    Parameters
    ----------
    a, b
        Values of the runs; run k of both has the same channel. `b` may be a number. Runs with a NaN
        in either are left out.
    or_equal
        Whether the statement is >= instead of >. This matters only if a and b are equal in all
        runs.

    Returns
    -------
    tuple of float
        p-value of the null hypothesis that the statement is false, and p-value of the null
        hypothesis that it is true. Both are 1 with fewer than two runs.
    """
    pairs = isinstance(b, np.ndarray)
    other = np.broadcast_to(np.asarray(b, dtype=np.float64), a.shape)
    known = ~(np.isnan(a) | np.isnan(other))
    x, y = a[known], other[known]
    if len(x) < _FEWEST or not (np.all(np.isfinite(x)) and np.all(np.isfinite(y))):
        return 1.0, 1.0
    size = float(np.max(np.maximum(np.abs(x), np.abs(y))))
    tests = [_student(x - y, or_equal=or_equal, rounding=_ROUNDING * size)]
    bound = y if pairs else float(y[0])
    if np.all(x > 0) and np.all(y > 0) and _skewed(x, y if pairs else None):
        tests.append(_lognormal(x, bound))
    if _rare(x) or (pairs and _rare(y)):
        tests.append(_counts(x, bound))
    return max(test for test, _ in tests), max(test for _, test in tests)


_FEWEST = 2
"""Smallest number of runs for a test."""

_ROUNDING = 1e-12
"""Relative difference below which values count as equal, because of rounding."""

_SPREAD = 0.2
"""Standard deviation of the logarithms above which positive values count as skewed. At this value
Student's t wrongly says "below" in 4 % instead of 2.5 % of lognormal samples of six.
"""

_SPREAD_OF_PAIRS = 0.5
"""`_SPREAD` for pairs of similar spread, because their differences are less skewed."""

_DRAWS = 10_000
"""Number of draws of the generalised test; the standard error of a p-value of 0.025 is 0.0016."""

_OPEN = (0.0, 0.0)
"""p-values of a test that does not apply, so that the other tests decide."""


def _student(x: Values, *, or_equal: bool, rounding: float) -> tuple[float, float]:
    """Return the two p-values of Student's t test on differences.

    If all runs have one value, t is undefined, and counts can be equal by chance. In this case a
    sign test gives the p-value 2^-n, the probability of n equal runs if half of all runs differ.
    """
    n, mean, spread = len(x), float(np.mean(x)), float(np.std(x, ddof=1))
    if spread <= rounding:
        holds = mean > rounding or (or_equal and abs(mean) <= rounding)
        return (0.5**n, 1.0) if holds else (1.0, 0.5**n)
    t = mean / (spread / math.sqrt(n))
    return student_cdf(n - 1, -t), student_cdf(n - 1, t)


def _skewed(x: Values, y: Values | None) -> bool:
    """Return whether x or y is skewed upwards (by `_SPREAD` or `_SPREAD_OF_PAIRS`)."""
    item = _spread_above(x)
    if y is None:
        return item > _SPREAD
    other = _spread_above(y)
    return max(item, other) > _SPREAD_OF_PAIRS or abs(item - other) > _SPREAD


def _spread_above(x: Values) -> float:
    """Return the standard deviation of the logarithms, or 0 if the skewness is below -1.

    Lognormal values have a positive skewness, so the skewness of six values is rarely below -1.
    """
    away = x - x.mean()
    spread = float(np.sqrt(np.mean(away**2)))
    if float(np.mean(away**3)) < -(spread**3):
        return 0.0
    return float(np.std(np.log(x), ddof=1))


def _lognormal(x: Values, y: Values | float) -> tuple[float, float]:
    """Return the two p-values of the generalised test of lognormal means, with fixed draws."""
    if isinstance(y, float):
        mean, var = _pivots(np.log(x)[:, None])
        share = float(np.mean(mean[0] + var[0] / 2 <= math.log(y)))
        return share, 1 - share
    mean, var = _pivots(np.log(np.column_stack([x, y])))
    share = float(np.mean(mean[0] + var[0] / 2 <= mean[1] + var[1] / 2))
    return share, 1 - share


def _pivots(logs: Values) -> tuple[Values, Values]:
    """Draw generalised pivots of the means and variances of one or two normal columns.

    With the sample covariance S = V V' / (n - 1) and a standard Wishart matrix A A', the pivots are
    L = V A^-1 for the scale and (sample mean - L z / sqrt(n)) for the mean.
    """
    n, columns = logs.shape
    centred = logs - logs.mean(axis=0)
    v11 = math.sqrt(float(centred[:, 0] @ centred[:, 0]))
    a11, a21, a22, z1, z2 = _draws(n)
    l11 = v11 / a11
    means, variances = [logs[:, 0].mean() - l11 * z1 / math.sqrt(n)], [l11**2]
    if columns > 1:
        v21 = float(centred[:, 0] @ centred[:, 1]) / v11 if v11 > 0 else 0.0
        v22 = math.sqrt(max(float(centred[:, 1] @ centred[:, 1]) - v21**2, 0.0))
        l22 = v22 / a22
        l21 = (v21 - l22 * a21) / a11
        means.append(logs[:, 1].mean() - (l21 * z1 + l22 * z2) / math.sqrt(n))
        variances.append(l21**2 + l22**2)
    return np.array(means), np.array(variances)


@lru_cache(maxsize=64)
def _draws(n: int) -> tuple[Values, ...]:
    """Draw Bartlett's factors of 2 x 2 Wishart matrices (n - 1 degrees of freedom), and normals."""
    random = np.random.Generator(np.random.PCG64(n))
    a11 = np.sqrt(random.chisquare(n - 1, _DRAWS))
    a22 = np.sqrt(random.chisquare(max(n - 2, 1), _DRAWS))
    a21, z1, z2 = random.standard_normal((3, _DRAWS))
    return a11, a21, a22, z1, z2


def _rare(x: Values) -> bool:
    """Return whether the values are counts, with 0 in at least one run."""
    return bool(np.all(x >= 0) and np.all(x == np.floor(x)) and np.any(x == 0))


def _counts(x: Values, y: Values | float) -> tuple[float, float]:
    """Return the two p-values of the exact test of Poisson totals, binomial for pairs."""
    total = float(x.sum())
    if isinstance(y, float):
        if y <= 0:
            return _OPEN
        at_least = 1.0 if total == 0 else poisson_sf(total - 1, len(x) * y)
        return at_least, poisson_cdf(total, len(x) * y)
    both = total + float(y.sum())
    if both == 0 or np.any(y < 0) or np.any(x < 0) or both != math.floor(both):
        return _OPEN
    at_least = 1.0 if total == 0 else binomial_sf(total - 1, int(both), 0.5)
    return at_least, binomial_cdf(total, int(both), 0.5)
