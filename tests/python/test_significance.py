"""Tests level and power of the tests of means on samples of known distributions."""

import math
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from farlink.studies.significance import _counts, _draws, _pivots, above

pytestmark = pytest.mark.usefixtures("few_draws")

SAMPLES = 400
LEVEL = 0.025
MOST = 0.045  # LEVEL plus 2.5 standard errors of a share of this many samples

Values = NDArray[np.float64]
Law = Callable[[np.random.Generator, int], Values]

LAWS: dict[str, tuple[Law, float]] = {
    "normal": (lambda r, n: r.normal(10, 3, n), 10),
    "lognormal 0.3": (lambda r, n: r.lognormal(0, 0.3, n), np.exp(0.045)),
    "lognormal 1.5": (lambda r, n: r.lognormal(0, 1.5, n), np.exp(1.125)),
    "exponential": (lambda r, n: r.exponential(1, n), 1),
    "gamma 0.5": (lambda r, n: r.gamma(0.5, 1, n), 0.5),
    "poisson 0.3": (lambda r, n: r.poisson(0.3, n).astype(float), 0.3),
    "poisson 5": (lambda r, n: r.poisson(5, n).astype(float), 5),
}


@pytest.mark.parametrize("runs", [6, 20])
@pytest.mark.parametrize("name", LAWS)
def test_a_mean_against_its_own_value(name: str, runs: int) -> None:
    """A sample is called above or below its true mean in at most 2.5 % of cases."""
    law, mean = LAWS[name]
    random = np.random.default_rng(runs)
    p = np.array([above(law(random, runs), mean) for _ in range(SAMPLES)])
    assert np.all(np.mean(p < LEVEL, axis=0) <= MOST), np.mean(p < LEVEL, axis=0)


@pytest.mark.parametrize("runs", [6, 20])
@pytest.mark.parametrize("name", LAWS)
def test_two_means_that_are_equal(name: str, runs: int) -> None:
    """Two quantities of equal mean but different distributions are called different in <= 2.5 %."""
    law, mean = LAWS[name]
    random = np.random.default_rng(runs)
    other: Law = LAWS["poisson 0.3"][0] if "poisson" in name else LAWS["exponential"][0]
    scale = mean / LAWS["poisson 0.3" if "poisson" in name else "exponential"][1]
    if name == "poisson 5":
        other, scale = law, 1
    p = np.array([above(law(random, runs), other(random, runs) * scale) for _ in range(SAMPLES)])
    assert np.all(np.mean(p < LEVEL, axis=0) <= MOST), np.mean(p < LEVEL, axis=0)


def test_pairs_that_share_their_runs() -> None:
    """The level holds for pairs with a common part, and a small true difference is found."""
    random = np.random.default_rng(3)
    common = random.lognormal(0, 1, (SAMPLES, 10))
    a = common * random.lognormal(0, 0.1, (SAMPLES, 10))
    b = common * random.lognormal(0, 0.1, (SAMPLES, 10))
    p = np.array([above(x, y) for x, y in zip(a, b, strict=True)])
    assert np.all(np.mean(p < LEVEL, axis=0) <= MOST)
    values = np.array([above(1.5 * x, y)[0] for x, y in zip(a, b, strict=True)])
    assert np.mean(values < LEVEL) > 0.8


@pytest.mark.parametrize("name", ["normal", "lognormal 0.3", "poisson 5"])
def test_a_true_difference_is_found(name: str) -> None:
    """Ten runs show in 90 % of samples that a mean is twice its bound."""
    law, mean = LAWS[name]
    random = np.random.default_rng(1)
    p = np.array([above(law(random, 10), mean / 2)[0] for _ in range(300)])
    assert np.mean(p < LEVEL) > 0.9


def test_rare_counts_differ_significantly_from_none() -> None:
    """Twelve events in ten runs are significantly more than two; three are not."""
    many = np.array([2.0, 1, 1, 0, 2, 1, 1, 2, 1, 1])
    few = np.array([0.0, 0, 1, 0, 0, 0, 0, 1, 0, 0])
    assert above(many, few)[0] < LEVEL
    three = np.array([0.0, 1, 0, 0, 0, 1, 0, 0, 0, 1])
    assert above(three, few)[0] > LEVEL
    assert above(three, few)[1] > LEVEL


def test_unequal_spreads_do_not_turn_the_sign() -> None:
    """Of two lognormals the one with the higher mean is above, even if its median is lower."""
    random = np.random.default_rng(5)
    wide, narrow = random.lognormal(0, 1.5, 400), random.lognormal(0.5, 0.1, 400)
    assert above(wide, narrow)[0] < LEVEL


def test_a_few_low_values_are_no_tail_above() -> None:
    """A quantity that is very low in one of six runs is below one that is never low."""
    broken = np.array([1100.0, 1090, 1120, 6, 1080, 1110])
    steady = np.array([4900.0, 4890, 4910, 4880, 4920, 4900])
    assert above(steady, broken)[0] < 0.001


@pytest.mark.parametrize("total", [0, 1, 4, 9])
def test_totals_of_counts_are_compared_with_poissons_law(total: int) -> None:
    """P(N >= total) and P(N <= total) of the mean of all runs, by their sums."""
    runs, mean = 5, 0.8
    x = np.zeros(runs)
    x[0] = total
    law = [math.exp(-runs * mean) * (runs * mean) ** k / math.factorial(k) for k in range(40)]
    at_least, at_most = _counts(x, mean)
    assert at_least == pytest.approx(sum(law[total:]))
    assert at_most == pytest.approx(sum(law[: total + 1]))
    assert _counts(x, 0.0) == (0.0, 0.0)


@pytest.mark.parametrize(("item", "other"), [(0, 3), (1, 3), (6, 2), (5, 0)])
def test_totals_of_pairs_are_compared_with_a_fair_coin(item: int, other: int) -> None:
    """Given their sum n, P(Binomial(n, 1/2) >= total) and P(Binomial(n, 1/2) <= total)."""
    x, y = np.zeros(4), np.zeros(4)
    x[0], y[1] = item, other
    n = item + other
    law = [math.comb(n, k) / 2**n for k in range(n + 1)]
    at_least, at_most = _counts(x, y)
    assert at_least == pytest.approx(sum(law[item:]))
    assert at_most == pytest.approx(sum(law[: item + 1]))


def test_counts_decide_where_t_would_be_too_sure() -> None:
    """For counts the test of totals gives the largest p-values, which are returned."""
    x = np.array([0.0, 1, 1, 1, 1, 1, 1, 1])
    p_for, p_against = above(x, 0.5)
    assert (p_for, p_against) == pytest.approx((_counts(x, 0.5)[0], above(x, 0.5)[1]))
    assert p_for > LEVEL
    few = above(1 - x, 0.5)
    assert few[1] == pytest.approx(_counts(1 - x, 0.5)[1])


def test_students_t_has_one_degree_of_freedom_less_than_runs() -> None:
    """Three runs of mean 2 and deviation 1 are above 0 with t = 2 sqrt(3): p = 0.0371."""
    p_for, p_against = above(np.array([1.0, 2.0, 3.0]), -0.0)
    t = 2 * math.sqrt(3)
    assert p_for == pytest.approx(0.5 - t / (2 * math.sqrt(2 + t * t)))
    assert p_against == pytest.approx(1 - p_for)


def test_equal_runs_count_as_a_sign_test() -> None:
    same = np.full(5, 3.0)
    assert above(same, 2.0) == (0.5**5, 1.0)
    assert above(same, 3.0) == (1.0, 0.5**5)
    assert above(same, 3.0, or_equal=True) == (0.5**5, 1.0)
    # A smaller value is refuted for > and for >=.
    assert above(same, 4.0, or_equal=True) == (1.0, 0.5**5)
    assert above(same[:1], 2.0) == (1.0, 1.0)


@pytest.mark.parametrize("runs", [3, 6, 20])
def test_draws_are_bartletts_factors(runs: int) -> None:
    """Squares of the diagonal are chi-square with n - 1 and n - 2 degrees: mean k, variance 2 k."""
    a11, a21, a22, z1, z2 = _draws(runs)
    for drawn, degrees in ((a11, runs - 1), (a22, runs - 2)):
        assert abs(np.mean(drawn**2) - degrees) < 5 * math.sqrt(2 * degrees / len(drawn))
    for normal in (a21, z1, z2):
        assert abs(np.mean(normal)) < 5 / math.sqrt(len(normal))
        assert abs(np.mean(normal**2) - 1) < 5 * math.sqrt(2 / len(normal))


def test_pivots_of_pairs_keep_what_both_share() -> None:
    """Two series differ in pairs by a hundredth of either series, so their means do, too."""
    random = np.random.default_rng(1)
    common = random.normal(0, 1, 400)
    logs = np.column_stack([common, common + random.normal(0, 0.01, 400)])
    means, variances = _pivots(logs)
    assert np.std(means[0] - means[1]) == pytest.approx(0.01 / 20, rel=0.2)
    assert np.mean(variances, axis=1) == pytest.approx(np.var(logs, axis=0, ddof=1), rel=0.05)


def test_a_run_that_one_side_lacks_is_left_out() -> None:
    a, b = np.array([5.0, 5.1, 4.9, 9.0]), np.array([1.0, 1.1, 1.0, np.nan])
    assert above(a, b) == above(a[:3], b[:3])
    assert above(b, a) == above(b[:3], a[:3])
