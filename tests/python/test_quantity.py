"""Tests size and power of the evidence on samples of known distributions."""

import math

import numpy as np
import pytest
from scipy import stats as reference

from farlink.studies.quantity import (
    LEVEL,
    Evidence,
    Nothing,
    Quantity,
    Verdict,
    best,
    every,
    fact,
    some,
)


def q(*values: float, label: str = "a") -> Quantity:
    return Quantity(values, label, "bit/s")


def samples(mean: float, count: int, runs: int = 10, seed: int = 1) -> list[Quantity]:
    rows = np.random.default_rng(seed).normal(mean, 1.0, size=(count, runs))
    return [Quantity(row, "x") for row in rows]


def share(evidence: list[Evidence], verdict: Verdict) -> float:
    return sum(item.verdict is verdict for item in evidence) / len(evidence)


def test_p_values_are_those_of_students_t() -> None:
    a, b = [3.1, 2.7, 4.4, 3.9, 3.0], [2.0, 2.9, 3.1, 2.2, 2.8]
    result = q(*a) > q(*b, label="b")
    assert result.p_for == pytest.approx(reference.ttest_rel(a, b, alternative="greater").pvalue)
    assert result.p_against == pytest.approx(reference.ttest_rel(a, b, alternative="less").pvalue)
    near = [3.1, 2.9, 3.3, 3.2, 3.0]
    single = q(*near) <= 3.0
    assert single.p_for == pytest.approx(reference.ttest_1samp(near, 3, alternative="less").pvalue)


def test_a_false_claim_is_called_reproduced_one_time_in_forty() -> None:
    # At the border of the claim: 2000 binomial trials at 2.5 %, standard deviation 0.35 %.
    results = [sample > 0.0 for sample in samples(0.0, 2000)]
    assert share(results, Verdict.REPRODUCED) == pytest.approx(LEVEL, abs=0.012)
    assert share(results, Verdict.NOT_REPRODUCED) == pytest.approx(LEVEL, abs=0.012)


def test_a_clear_difference_is_seen() -> None:
    # Non-central t: mean 2 sigma, 10 runs.
    power = 1 - reference.nct.cdf(reference.t.ppf(1 - LEVEL, 9), 9, 2.0 * math.sqrt(10))
    results = [sample > 0.0 for sample in samples(2.0, 500)]
    assert share(results, Verdict.REPRODUCED) == pytest.approx(power, abs=0.01)


def test_every_is_no_easier_with_many_parts() -> None:
    # With one part at its border and all others true, `every` has the level of that part.
    edge, clear = samples(0.0, 1000), samples(3.0, 1000 * 5, seed=2)
    results = [
        every(edge[i] > 0.0, *(item > 0.0 for item in clear[5 * i : 5 * i + 5]))
        for i in range(1000)
    ]
    assert share(results, Verdict.REPRODUCED) == pytest.approx(LEVEL, abs=0.012)


def test_every_is_seldom_refuted_by_chance() -> None:
    # Twelve parts, all at their border: without Bonferroni one in four would be refuted.
    edge = samples(0.0, 12 * 600)
    results = [every(number > 0.0 for number in edge[i : i + 12]) for i in range(0, len(edge), 12)]
    expected = 1 - (1 - LEVEL / 12) ** 12
    assert share(results, Verdict.NOT_REPRODUCED) == pytest.approx(expected, abs=0.02)


def test_some_is_seldom_found_by_chance() -> None:
    edge = samples(0.0, 12 * 600)
    results = [some(number > 0.0 for number in edge[i : i + 12]) for i in range(0, len(edge), 12)]
    expected = 1 - (1 - LEVEL / 12) ** 12
    assert share(results, Verdict.REPRODUCED) == pytest.approx(expected, abs=0.02)


def test_close_to_is_two_one_sided_tests() -> None:
    # A mean on the border of the band is found inside in at most 2.5 % of samples.
    rows = np.random.default_rng(3).normal(110.0, 1.0, size=(2000, 10))
    results = [Quantity(row, "x").close_to(100.0, 0.10) for row in rows]
    assert share(results, Verdict.REPRODUCED) == pytest.approx(LEVEL, abs=0.012)
    assert q(100.0, 101.0, 99.0, 100.5).close_to(100.0, 0.10).verdict is Verdict.REPRODUCED
    assert q(120.0, 121.0, 119.0, 120.5).within(90, 110).verdict is Verdict.NOT_REPRODUCED


def test_pairs_remove_what_runs_share() -> None:
    shared = np.random.default_rng(4).normal(0.0, 100.0, 10)
    above = Quantity(shared + 1 + np.random.default_rng(5).normal(0, 0.1, 10), "above")
    assert (above > Quantity(shared, "below")).verdict is Verdict.REPRODUCED
    apart = Quantity(np.random.default_rng(6).permutation(shared), "apart")
    assert (above > apart).verdict is Verdict.UNDECIDED


@pytest.mark.parametrize(
    ("runs", "verdict"),
    [(1, Verdict.UNDECIDED), (5, Verdict.UNDECIDED), (6, Verdict.REPRODUCED)],
)
def test_runs_that_all_agree_count_as_a_sign_test(runs: int, verdict: Verdict) -> None:
    result = q(*[4.0] * runs) > 3.0
    assert result.verdict is verdict
    if runs > 1:
        assert result.p_for == 0.5**runs


def test_a_tie_is_not_above_and_not_below() -> None:
    tie = q(*[0.0] * 8), q(*[0.0] * 8, label="b")
    assert (tie[0] > tie[1]).verdict is Verdict.NOT_REPRODUCED
    assert (tie[0] >= tie[1]).verdict is Verdict.REPRODUCED
    assert (tie[0] <= tie[1]).verdict is Verdict.REPRODUCED


def test_one_of_several_is_a_tie_where_all_are() -> None:
    draw = np.random.default_rng(3).normal
    a, b, c = (Quantity(draw(100.0, 0.1, 20), name) for name in "abc")
    wide = Quantity(draw(100.0, 60.0, 20), "wide")
    assert some(a > b, b > c).verdict is Verdict.TIE
    assert some(a > b, wide > c).verdict is Verdict.UNDECIDED
    assert some(a > b, c > 90.0).verdict is Verdict.REPRODUCED
    assert some(a > b, b > 110.0).verdict is Verdict.TIE, "the other does not hold anyway"


def test_rounding_is_no_difference() -> None:
    values = np.random.default_rng(7).normal(1e4, 100.0, 10)
    a, b = Quantity(values * 0.3, "a"), Quantity(values * 0.1, "b") * 3
    assert not np.array_equal(a.values, b.values)
    assert (a > b).verdict is Verdict.NOT_REPRODUCED
    assert (a >= b).verdict is Verdict.REPRODUCED


def test_runs_without_a_value_are_left_out_and_counted_in_the_text() -> None:
    a = q(2.0, math.nan, 2.2, 2.1, 1.9)
    result = a > 1.0
    assert result.p_for == pytest.approx(
        reference.ttest_1samp([2.0, 2.2, 2.1, 1.9], 1, alternative="greater").pvalue
    )
    assert "(4 of 5 runs)" in result.details[0]
    assert (q(math.nan, math.nan) > 1.0).verdict is Verdict.FEW_EVENTS
    assert q(math.nan, math.nan).text == "no value"


def test_a_ratio_without_end_decides_nothing() -> None:
    ratio = q(1.0, 2.0, 3.0, 1.0) / q(0.0, 1.0, 1.0, 1.0, label="b")
    assert (ratio > 0.5).verdict is Verdict.UNDECIDED


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ([11726.4, 11736.4], "11730 ± 64 bit/s"),
        ([0.0, 0.0], "0 ± 0 bit/s"),
        ([2.5e-5, 2.5e-5], "2.5e-05 ± 0 bit/s"),
        ([4.0], "4 bit/s"),
        ([math.inf, 1.0], "inf ± nan bit/s"),
    ],
)
def test_short_formats_significant_digits_without_exponent(values: list[float], text: str) -> None:
    assert q(*values).text == text


def test_negation_exchanges_p_values_and_keys() -> None:
    result = ~(q(4.0, 4.1, 4.2, 3.9) > 3.0)
    assert result.verdict is Verdict.NOT_REPRODUCED
    assert result.details[0].startswith("not: a = 4.05")
    assert result.key == result.details[0]


def test_the_key_is_the_comparison_that_decides() -> None:
    clear, weak = q(9.0, 9.1, 9.2, 8.9), q(4.0, 4.9, 3.0, 4.4, label="weak")
    wrong = q(1.0, 1.1, 0.9, 1.0, label="wrong")
    assert "weak" in every(clear > 3.0, weak > 3.5, clear > 1.0).key
    assert "wrong" in every(clear > 3.0, wrong > 3.0, weak > 3.0).key
    assert some(weak > 3.5, clear > 3.0).key.startswith("a = 9.05")


def test_a_fact_needs_no_runs() -> None:
    assert fact(True, "5 fragments").verdict is Verdict.REPRODUCED  # noqa: FBT003
    assert every(fact(False, "6 fragments"), q(2.0, 2.1) > 1).verdict is Verdict.NOT_REPRODUCED  # noqa: FBT003


def test_best_is_the_top_or_as_good() -> None:
    noise = np.random.default_rng(8).normal(0.0, 0.1, size=(3, 20))
    high, middle, low = (
        Quantity(mean + row, f"{mean}") for mean, row in zip((100, 99.9, 90), noise, strict=True)
    )
    options = {1: high, 2: middle, 3: low}
    assert best(options, [1]).verdict is Verdict.REPRODUCED
    assert best(options, [2]).verdict is Verdict.REPRODUCED  # within 1 % of the top
    assert best(options, [2], margin=0.0).verdict is Verdict.NOT_REPRODUCED
    assert best(options, [3]).verdict is Verdict.NOT_REPRODUCED
    assert best(options, [1, 3]).key.startswith("largest at 1 (1: 99.99 ± 0.052, 2: ")


def test_a_flat_optimum_does_not_make_a_winner_of_chance() -> None:
    # Of four equal candidates, without a margin, an allowed one is largest in half of the samples.
    rows = np.random.default_rng(9).normal(100.0, 5.0, size=(200, 4, 10))
    results = [
        best({k: Quantity(row[k], str(k)) for k in range(4)}, [0, 1], margin=0.0) for row in rows
    ]
    assert share(results, Verdict.REPRODUCED) < LEVEL
    assert share(results, Verdict.NOT_REPRODUCED) < LEVEL


def test_of_equals_none_is_the_best() -> None:
    """A flat curve refutes the claim that a point of it is best."""
    flat = {x: Quantity([5 + 0.001 * k for k in range(20)], str(x)) for x in (1, 2, 3)}
    assert best(flat, (2,)).verdict is Verdict.NOT_REPRODUCED
    assert best({**flat, 3: flat[3] * 0.9}, (2,)).verdict is Verdict.REPRODUCED


def test_no_statement_about_nothing_holds() -> None:
    item = Quantity([1.0, 1.0], "one")
    for entry in (Nothing() > 1, item < Nothing(), Nothing() / 2 - item <= 3, Nothing()[2] >= item):
        assert isinstance(entry, Evidence)
        assert entry.verdict is Verdict.NOT_REPRODUCED


def test_combining_no_evidence_is_refused() -> None:
    with pytest.raises(ValueError, match="nothing to combine"):
        every()
    with pytest.raises(ValueError, match="one that is not"):
        best({1: q(1.0, 2.0)}, [1])
    with pytest.raises(TypeError, match="neither true nor false"):
        bool(q(1.0, 2.0) > 0.0)
