"""Means and their confidence intervals over independent runs."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from farlink.probability import beta_quantile, binomial_cdf, student_quantile

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
    """Mean with its 95 % confidence interval.

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

    @property
    def has_spread(self) -> bool:
        """Whether the values differ."""
        return bool(self.half_width)


def mean_ci95(values: Sequence[float | None], probability: float = 0.975) -> Estimate:
    """Estimate the mean of independent, nearly normal values by Student's t.

    The interval is mean +- t(0.975, n - 1) s / sqrt(n) with the sample standard deviation s (n - 1
    in its denominator). None values (runs without the metric) are omitted and reduce n. A
    sequential test, which evaluates the runs several times, needs a higher `probability` to keep 95
    %. Sums are exact (`math.fsum`), so the order of the runs does not matter.
    """
    present = [float(value) for value in values if value is not None]
    n = len(present)
    if n == 0:
        return Estimate(None, None, None, 0)
    mean = math.fsum(present) / n
    if n == 1:
        return Estimate(mean, None, None, 1)
    if min(present) == max(present):
        # Rounding may change the mean of equal values, and the interval would then have a width.
        return Estimate(present[0], present[0], present[0], n)
    variance = math.fsum((value - mean) ** 2 for value in present) / (n - 1)
    half = t_quantile(probability, n - 1) * math.sqrt(variance / n)
    return Estimate(mean, mean - half, mean + half, n)


def median_ci95(values: Sequence[float | None]) -> Estimate:
    """Estimate the median of independent values of any distribution.

    The interval is from the k-th smallest to the k-th largest value, with the largest k for which
    P(Binomial(n, 1/2) < k) <= 2.5 % (Conover 1999, 3.2). None values are omitted. Below six values
    there is no such interval. The median is in `mean` of the estimate.
    """
    present = sorted(float(value) for value in values if value is not None)
    n = len(present)
    if n == 0:
        return Estimate(None, None, None, 0)
    middle = (present[(n - 1) // 2] + present[n // 2]) / 2
    k = _below_median(n)
    if k == 0:
        return Estimate(middle, None, None, n)
    return Estimate(middle, present[k - 1], present[n - k], n)


def _below_median(n: int) -> int:
    """Return the largest k with P(Binomial(n, 1/2) < k) <= 1/40."""
    k = 0
    if n > 1000:
        while binomial_cdf(k, n, 0.5) <= 0.025:
            k += 1
        return k
    ways, below = 1, 0
    while 40 * (below + ways) <= 1 << n:
        below += ways
        ways = ways * (n - k) // (k + 1)
        k += 1
    return k


def paired_difference(
    a: Sequence[float | None], b: Sequence[float | None], probability: float = 0.975
) -> Estimate:
    """Estimate the mean of a - b over runs that share their random numbers.

    Run k of every TCP has the same channel, so the difference within a run varies less than either
    value. Use this interval for the question "is a better than b?". Pairs with a None are omitted.
    """
    if len(a) != len(b):
        raise ValueError(f"a has {len(a)} runs and b has {len(b)}; pairs need the same runs")
    pairs = zip(a, b, strict=True)
    return mean_ci95([x - y for x, y in pairs if x is not None and y is not None], probability)


def clopper_pearson(successes: int, n: int) -> tuple[float, float]:
    """Return the 95 % interval of a probability from independent trials.

    Interval of Clopper and Pearson (1934), which is never too narrow, for any probability.
    """
    low = 0.0 if successes == 0 else beta_quantile(successes, n - successes + 1, 0.025)
    high = 1.0 if successes == n else beta_quantile(successes + 1, n - successes, 0.975)
    return low, high


def t_quantile(probability: float, degrees: float) -> float:
    """Return the quantile of Student's t with `degrees` degrees of freedom."""
    if probability == 0.975 and degrees in range(1, len(_T_975) + 1):
        return _T_975[int(degrees) - 1]
    return student_quantile(degrees, probability)


# Quantiles of 97.5 % by degrees of freedom from 1, because a figure needs thousands of intervals.
# fmt: off
_T_975 = (
    12.706204736174694, 4.302652729749462, 3.1824463052837078, 2.7764451051977934,
    2.5705818356363146, 2.4469118511449786, 2.364624251592784, 2.306004135204166,
    2.262157162798205, 2.228138851986274, 2.200985160091639, 2.1788128296672284,
    2.1603686564627913, 2.144786687917804, 2.131449545559776, 2.1199052992212546,
    2.1098155778333156, 2.1009220402410382, 2.0930240544083087, 2.085963447265864,
    2.0796138447276795, 2.0738730679040254, 2.0686576104190486, 2.0638985616280245,
    2.0595385527532972, 2.0555294386428735, 2.0518305164802846, 2.0484071417952454,
    2.045229642132703, 2.0422724563012378, 2.039513446396408, 2.0369333434601016,
    2.0345152974493383, 2.0322445093177186, 2.030107928250343, 2.0280940009804502,
    2.0261924630291093, 2.0243941639119694, 2.022690920036761, 2.021075390306273,
    2.019540970441376, 2.0180817028184443, 2.016692199227824, 2.0153675744437636,
    2.014103388880846, 2.012895598919429, 2.0117405137297655, 2.010634757624232,
    2.0095752371292392, 2.008559112100761, 2.007583770315836, 2.006646805061688,
    2.0057459953178687, 2.0048792881880564, 2.0040447832891455, 2.003240718847872,
    2.002465459291007, 2.0017174841452356, 2.000995378088267, 2.0002978220142604,
    1.999623584994939, 1.9989715170333788, 1.998340542520741, 1.997729654317693,
    1.9971379083920038, 1.9965644189523117, 1.996008354025296, 1.9954689314298435,
    1.9949454151072374, 1.994437111771186, 1.9939433678456255, 1.9934635666618719,
    1.992997125889855, 1.992543495180932, 1.9921021540022417, 1.9916726096446642,
    1.9912543953883846, 1.9908470688116906, 1.9904502102301285, 1.990063421254446,
    1.9896863234569029, 1.989318557136572, 1.9889597801751624, 1.9886096669757083,
    1.9882679074772216, 1.98793420623902, 1.9876082815890708, 1.9872898648311692,
    1.986978699506281, 1.9866745407037683, 1.9863771544186177, 1.98608631695113,
    1.9858018143458227, 1.985523441866604, 1.9852510035054978, 1.984984311522457,
    1.9847231860139845, 1.9844674545084815, 1.9842169515864174, 1.9839715185235518,
)
# fmt: on
