import math

import numpy as np
import pytest
from scipy import stats as reference

from farlink import stats
from farlink.stats import mean_ci95, paired_difference, t_quantile


@pytest.mark.parametrize("degrees", [1, 2, 9, 29, 1000])
def test_quantiles_are_those_of_scipy_stats(degrees: int) -> None:
    assert t_quantile(0.975, degrees) == pytest.approx(reference.t.ppf(0.975, degrees), rel=1e-12)


def test_interval_of_a_known_sample() -> None:
    # s = 1, n = 3: t(0.975, 2) / sqrt(3) = 4.302653 / 1.732051.
    estimate = mean_ci95([1.0, 2.0, 3.0])
    assert estimate.mean == 2.0
    assert estimate.n == 3
    assert estimate.low == pytest.approx(2 - 2.484138, abs=1e-6)
    assert estimate.high == pytest.approx(2 + 2.484138, abs=1e-6)
    assert estimate.half_width == pytest.approx(2.484138, abs=1e-6)


def test_interval_agrees_with_scipy_stats() -> None:
    values = [0.31, 2.7, 1.9, 8.25, 4.4, 4.1]
    low, high = reference.t.interval(
        0.95, len(values) - 1, loc=sum(values) / len(values), scale=reference.sem(values)
    )
    estimate = mean_ci95(values)
    assert estimate.low == pytest.approx(low, rel=1e-12)
    assert estimate.high == pytest.approx(high, rel=1e-12)


def test_interval_needs_two_values() -> None:
    assert mean_ci95([5.0]) == mean_ci95([None, 5.0])
    assert mean_ci95([5.0]).mean == 5.0
    assert mean_ci95([5.0]).low is None
    assert mean_ci95([5.0]).half_width is None
    assert mean_ci95([]).mean is None
    assert mean_ci95([None]).n == 0


def test_equal_values_have_an_interval_of_no_width() -> None:
    estimate = mean_ci95([0.1] * 10)
    assert (estimate.low, estimate.mean, estimate.high) == (0.1, 0.1, 0.1)


def test_the_order_of_runs_does_not_matter() -> None:
    values = [1e16, 1.0, -1e16, 3.0, math.pi]
    assert mean_ci95(values) == mean_ci95(values[::-1])


def test_paired_difference_removes_what_the_runs_share() -> None:
    shared = [10.0, 200.0, 3000.0, 40.0]
    difference = paired_difference([x + 2 for x in shared], [x + 1 for x in shared])
    assert difference.mean == 1.0
    assert difference.half_width == 0.0
    assert (mean_ci95(shared).half_width or 0) > 1000


def test_a_pair_with_a_missing_value_is_left_out() -> None:
    difference = paired_difference([1.0, None, 5.0], [0.0, 7.0, 2.0])
    assert (difference.mean, difference.n) == (2.0, 2)


def test_pairs_need_the_same_runs() -> None:
    with pytest.raises(ValueError, match="a has 1 runs and b has 2"):
        paired_difference([1.0], [1.0, 2.0])


def test_coverage_is_95_percent() -> None:
    # 4000 samples of five normal values: binomial, standard deviation 0.34 %.
    rows = np.random.default_rng(1).normal(3.0, 2.0, size=(4000, 5))
    estimates = [mean_ci95(row.tolist()) for row in rows]
    covered = sum((e.low or 9) <= 3.0 <= (e.high or 0) for e in estimates) / len(estimates)
    assert covered == pytest.approx(0.95, abs=0.012)


def test_the_interval_of_a_median_is_from_the_order_of_the_values() -> None:
    # Of 30 values the 10th and the 21st (the tables of the binomial: 95.7 %).
    values = [float(value) for value in range(1, 31)]
    item = stats.median_ci95([*values[::-1], None])
    assert (item.mean, item.low, item.high, item.n) == (15.5, 10.0, 21.0, 30)
    # Six values are the fewest with an interval: it goes from the least to the greatest.
    six = stats.median_ci95([3.0, 1.0, 2.0, 6.0, 5.0, 4.0])
    assert (six.mean, six.low, six.high) == (3.5, 1.0, 6.0)
    five = stats.median_ci95([1.0, 2.0, 3.0, 4.0, 5.0])
    assert (five.mean, five.low) == (3.0, None)
    assert stats.median_ci95([]).mean is None


def test_the_interval_of_a_probability_is_that_of_the_tables() -> None:
    # Clopper and Pearson 1934: 10 of 100.
    assert stats.clopper_pearson(10, 100) == pytest.approx((0.04900, 0.17622), abs=1e-4)
    assert stats.clopper_pearson(0, 100) == pytest.approx((0.0, 0.03622), abs=1e-4)
    assert stats.clopper_pearson(100, 100) == pytest.approx((0.96378, 1.0), abs=1e-4)


def test_a_value_of_zero_is_a_value_and_a_missing_one_is_none() -> None:
    assert (mean_ci95([0.0, 2.0]).mean, mean_ci95([0.0, 2.0]).n) == (1.0, 2)
    assert (mean_ci95([1.0, None, 3.0]).mean, mean_ci95([1.0, None, 3.0]).n) == (2.0, 2)
    median = stats.median_ci95([0.0, 1.0, 2.0, None, 3.0, 4.0, 5.0])
    assert (median.mean, median.low, median.n) == (2.5, 0.0, 6)
    pairs = paired_difference([0.0, 3.0, 4.0], [1.0, 0.0, None])
    assert (pairs.mean, pairs.n) == (1.0, 2)


def test_an_interval_with_an_open_end_has_no_width() -> None:
    assert stats.Estimate(1.0, 0.5, None, 3).half_width is None
    assert stats.Estimate(1.0, None, 1.5, 3).half_width is None
    assert stats.Estimate(1.0, 0.5, 1.5, 3).half_width == 0.5


def test_the_order_of_runs_does_not_matter_to_the_interval() -> None:
    random = np.random.default_rng(4)
    values = random.lognormal(0.0, 3.0, 200)
    intervals = {mean_ci95(random.permutation(values).tolist()) for _ in range(20)}
    assert len(intervals) == 1


def test_what_is_kept_of_distributions_is_what_scipy_has() -> None:
    """The tables of Student's t and of order statistics equal SciPy's; short runs need no SciPy."""
    from scipy.special import bdtr, stdtrit

    for degrees in (1, 2, 29, 99, 100, 101):
        assert stats.t_quantile(0.975, degrees) == pytest.approx(stdtrit(degrees, 0.975), rel=1e-14)
    for n in (*range(6, 60), 999, 1000, 1001):
        median = stats.median_ci95([float(value) for value in range(n)])
        assert median.low is not None
        k = int(median.low) + 1
        assert bdtr(k - 1, n, 0.5) <= 0.025 < bdtr(k, n, 0.5)


def test_the_mean_of_equal_values_is_that_value() -> None:
    """A rounding error of sum divided by number would look like an interval."""
    for value in (0.1, 363_994.123_456_7, 1 / 3):
        estimate = mean_ci95([value] * 10)
        assert (estimate.mean, estimate.low, estimate.high, estimate.n) == (value, value, value, 10)
