"""Probability functions against SciPy, and quantiles against their own distribution functions."""

import math

import pytest
from scipy import special, stats

from farlink import probability

LEVELS = (0.001, 0.025, 0.3, 0.5, 0.9, 0.975, 0.999)
SHAPES = (0.5, 1, 2.5, 30, 999, 40_000)


@pytest.mark.parametrize("degrees", [1, 2, 2.5, 30, 999, 40_000])
def test_student_is_that_of_scipy(degrees: float) -> None:
    for t in (-40.0, -2.0, -1e-3, 0.0, 0.5, 1.96, 12.0):
        wanted = stats.t.cdf(t, degrees)
        assert probability.student_cdf(degrees, t) == pytest.approx(wanted, rel=1e-9)
    for level in LEVELS:
        t = probability.student_quantile(degrees, level)
        assert stats.t.cdf(t, degrees) == pytest.approx(level, rel=1e-9)


@pytest.mark.parametrize("n", [1, 7, 1001, 100_000])
@pytest.mark.parametrize("p", [1e-6, 0.03, 0.5, 0.999])
def test_counts_are_those_of_scipy(n: int, p: float) -> None:
    for k in {-1, 0, 1, n // 3, n // 2, n - 1, n, n + 1}:
        pairs = (
            (probability.binomial_cdf(k, n, p), stats.binom.cdf(k, n, p)),
            (probability.binomial_sf(k, n, p), stats.binom.sf(k, n, p)),
            (probability.poisson_cdf(k, n * p), stats.poisson.cdf(k, n * p)),
            (probability.poisson_sf(k, n * p), stats.poisson.sf(k, n * p)),
        )
        for result, wanted in pairs:
            assert result == pytest.approx(wanted, rel=1e-8, abs=1e-250)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("a", SHAPES)
def test_quantiles_invert_the_functions_of_scipy(a: float, level: float) -> None:
    for b in SHAPES:
        x = probability.beta_quantile(a, b, level)
        low, high = (special.betainc(a, b, y) for y in (math.nextafter(x, 0), x))
        assert low * (1 - 1e-9) <= level <= high * (1 + 1e-9)
    x = probability.gamma_quantile(a, level)
    assert special.gammainc(a, x) == pytest.approx(level, rel=1e-9)
    x = probability.chi_square_quantile(a, level)
    assert stats.chi2.cdf(x, a) == pytest.approx(level, rel=1e-9)


def test_the_normal_distribution_is_that_of_scipy() -> None:
    for x in (-30.0, -1.96, 0.0, 0.1, 8.0):
        assert probability.normal_cdf(x) == pytest.approx(float(special.ndtr(x)), rel=1e-13)


def test_a_root_is_exact_to_the_last_bit() -> None:
    assert probability.root(lambda x: x * x - 2, 0.0, 2.0) ** 2 >= 2
    below = math.nextafter(probability.root(lambda x: x * x - 2, 0.0, 2.0), 0)
    assert below * below < 2
