"""Fit of delays: a constant minimum, and a distribution of the excess over it."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from farlink.probability import beta_quantile, chi_square_quantile, normal_cdf
from farlink.stats import Estimate, t_quantile

__all__ = ["DelayFit", "fit_delay"]

Array = np.ndarray[Any, np.dtype[Any]]

_NO_JITTER_S = 1e-6
"""Delays that differ by less than this (s) count as equal."""


@dataclass(frozen=True)
class DelayFit:
    """Minimum delay (s), and the best-fitting distribution of the excess over it.

    `distribution` is None (constant), "exponential", "normal" or "uniform". `distance` is the
    Kolmogorov-Smirnov distance between that distribution and the sample.
    """

    base_s: float
    distribution: str | None
    parameters: dict[str, Estimate]
    distance: float
    keeps_order: bool
    others: dict[str, float]

    @property
    def stage(self) -> dict[str, Any] | None:
        """Channel stage `jitter` of the distribution; None for a constant delay."""
        if self.distribution is None:
            return None
        stage: dict[str, Any] = {
            "distribution": self.distribution,
            "mean": _ms(self.parameters["mean"]),
        }
        if "spread" in self.parameters:
            stage["spread"] = _ms(self.parameters["spread"])
        if not self.keeps_order:
            stage["keep_order"] = False
        return stage


def fit_delay(sent: Array, received: Array) -> DelayFit:
    """Fit the delays of the packets that arrived.

    The base is the minimum delay. An exponential, a normal and a uniform distribution are fitted to
    the excess by maximum likelihood, and the distribution with the largest likelihood is chosen.
    The intervals assume independent delays. They use chi-square for the mean of an exponential with
    unknown base and for the deviation of a normal, and Student's t for the mean of a normal.
    """
    delays = received - sent
    base, n = float(delays.min()), len(delays)
    # Arrivals that swap by less than a clock tick do not count as reordering.
    order = bool((np.diff(received) > -_NO_JITTER_S).all())
    above = delays - base
    if n < 3 or float(above.max()) < _NO_JITTER_S:
        return DelayFit(base, None, {}, 0.0, order, {})
    mean, deviation = float(above.mean()), float(above.std(ddof=1))
    wide = float(above.max())
    likelihoods = {
        "exponential": -n * (math.log(mean) + 1),
        "normal": -n * (math.log(deviation) + 0.5 * math.log(2 * math.pi) + 0.5),
        "uniform": -n * math.log(wide),
    }
    distribution = max(likelihoods, key=lambda name: likelihoods[name])
    parameters = _parameters(distribution, mean, deviation, wide, n)
    return DelayFit(
        base,
        distribution,
        parameters,
        _distance(distribution, above, parameters),
        order,
        likelihoods,
    )


def _parameters(
    distribution: str, mean: float, deviation: float, wide: float, n: int
) -> dict[str, Estimate]:
    if distribution == "exponential":
        # 2 n mean / theta is chi-square with 2 n - 2 degrees of freedom if the base is the minimum.
        theta = mean * n / (n - 1)
        ends = [2 * n * mean / chi_square_quantile(2 * n - 2, level) for level in (0.975, 0.025)]
        return {"mean": Estimate(theta, ends[0], ends[1], n)}
    if distribution == "normal":
        half = t_quantile(0.975, n - 1) * deviation / math.sqrt(n)
        square = (n - 1) * deviation**2
        ends = [math.sqrt(square / chi_square_quantile(n - 1, level)) for level in (0.975, 0.025)]
        return {
            "mean": Estimate(mean, mean - half, mean + half, n),
            "spread": Estimate(deviation, ends[0], ends[1], n),
        }
    # The range of n uniform values, as a share of the width, has a Beta(n - 1, 2) distribution.
    ends = [wide / beta_quantile(n - 1, 2, level) / 2 for level in (0.975, 0.025)]
    half_width = Estimate(wide * (n + 1) / (n - 1) / 2, ends[0], ends[1], n)
    return {"mean": half_width, "spread": half_width}


def _distance(distribution: str, above: Array, parameters: dict[str, Estimate]) -> float:
    ordered = np.sort(above)
    mean = parameters["mean"].mean or 1.0
    spread = parameters["spread"].mean or 1.0 if "spread" in parameters else mean
    if distribution == "exponential":
        expected = -np.expm1(-ordered / mean)
    elif distribution == "normal":
        expected = np.array([normal_cdf(x) for x in ((ordered - mean) / spread).tolist()])
    else:
        expected = np.clip(ordered / (2 * spread), 0, 1)
    steps = np.arange(len(ordered) + 1) / len(ordered)
    return float(max(np.abs(expected - steps[1:]).max(), np.abs(expected - steps[:-1]).max()))


def _ms(estimate: Estimate) -> str:
    """Format a time in ms with the resolution of a nanosecond."""
    return f"{round(1e3 * (estimate.mean or 0.0), 6):.10g} ms"
