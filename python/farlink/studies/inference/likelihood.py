"""Likelihood of printed numbers, which are intervals, given simulated means.

A printed number lies in its interval [low, high]. The simulated mean m has a standard error e, and
the model is wrong by a share d of the printed value v (its discrepancy). With s^2 = e^2 + (d v)^2
the probability of the interval is P = Phi((high - m) / s) - Phi((low - m) / s). With a small
probability the cell is an outlier, uniform over two orders of magnitude about the printed value.
The cost of a misprint is therefore bounded. The likelihood is a density: P divided by the width of
the interval.
"""

import math
import statistics
from collections.abc import Iterable, Sequence

from farlink.probability import normal_cdf
from farlink.studies.agreement import GridCell

__all__ = [
    "DISCREPANCIES",
    "OUTLIER",
    "log_likelihood",
    "log_mean_exp",
    "standard_error",
    "total",
]

OUTLIER = 0.02
"""Probability of an outlier."""

DISCREPANCIES = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.4)
"""Shares by which a model may be wrong; their likelihoods are averaged."""

_DECADES = 100.0
"""Range of an outlier, as the ratio of its ends."""

_THINNEST = 1e-6
"""Smallest width of an interval and of its error, as shares of the printed value."""


def log_likelihood(
    value: float, low: float, high: float, mean: float, error: float, share: float
) -> float:
    """Return the log density of a printed value with its interval, per relative unit.

    Parameters
    ----------
    value, low, high
        Printed number, and the ends of its interval.
    mean, error
        Simulated mean and its standard error. A NaN mean is always an outlier.
    share
        Discrepancy of the model, as a share of the printed value.
    """
    scale = abs(value) or max(abs(high - low), 1e-9)
    thin = _THINNEST * scale
    low, high = min(low, value - thin / 2), max(high, value + thin / 2)
    outlier = OUTLIER / math.log(_DECADES)
    if not math.isfinite(mean):
        return math.log(outlier)
    spread = math.hypot(error, share * scale, thin)
    inside = normal_cdf((high - mean) / spread) - normal_cdf((low - mean) / spread)
    density = inside * scale / (high - low)
    return math.log((1 - OUTLIER) * density + outlier)


def total(cells: Iterable[GridCell], shares: Sequence[float] = DISCREPANCIES) -> float:
    """Return the log likelihood of cells, averaged over the discrepancies of the model."""
    members = [cell for cell in cells if cell.value is not None]
    return log_mean_exp([math.fsum(_of(cell, share) for cell in members) for share in shares])


def _of(cell: GridCell, share: float) -> float:
    assert cell.value is not None
    mean = math.nan if cell.ours is None else cell.ours.mean
    error = standard_error(cell)
    return log_likelihood(cell.value, cell.low, cell.high, mean, error, share)


def standard_error(cell: GridCell) -> float:
    """Return the standard error of a cell's mean; 0 with a single run."""
    if cell.ours is None:
        return 0.0
    values = [value for value in cell.ours.values.tolist() if math.isfinite(value)]
    return statistics.stdev(values) / len(values) ** 0.5 if len(values) > 1 else 0.0


def log_mean_exp(logs: Sequence[float]) -> float:
    """Return the logarithm of the mean of exponentials, without overflow."""
    top = max(logs)
    if not math.isfinite(top):
        return top
    return top + math.log(math.fsum(math.exp(item - top) for item in logs) / len(logs))
