"""Tests the language of claims: its functions on known quantities, and its errors."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from farlink.errors import ScenarioError
from farlink.studies.expression import Expression
from farlink.studies.quantity import Evidence, Quantity, Verdict

RUNS = 12


def q(mean: float, spread: float = 0.01, seed: int = 1) -> Quantity:
    """Return a quantity with exactly this mean over its runs."""
    noise = np.random.default_rng(seed).standard_normal(RUNS)
    return Quantity(mean + spread * (noise - noise.mean()), f"q({mean:g})")


NAMES: Mapping[str, Any] = {
    "thr": lambda name, per=0.0: q(
        {"rlp": 10, "none": 12}[name] - {"rlp": 5, "none": 50}[name] * per
    ),
    "P": (0.0, 0.1, 0.2),
    "zero": Quantity([0.0] * RUNS, "zero"),
    "once": Quantity([0.0] * (RUNS - 1) + [1.0], "once"),
}


def verdict(text: str) -> Verdict:
    """Judge a statement over `NAMES`."""
    return Expression(text, "a claim").evidence(NAMES).verdict


@pytest.mark.parametrize(
    "text",
    [
        "thr('rlp') < thr('none')",
        "thr('rlp', per=p) > thr('none', per=p) for p in P if p > 0",
        "all(thr('rlp', per=p) > thr('none', per=p) for p in (0.1, 0.2))",
        "any(thr('rlp', per=p) > thr('none', per=p) for p in P)",
        "9 < thr('rlp') < thr('none') <= 12.1",
        "thr('rlp') > 9 and thr('none') > 11 and 1 + 1 == 2",
        "thr('rlp') > 11 or thr('none') > 11",
        "not thr('rlp') > 11",
        "abs(thr('rlp') - 10.05) <= 0.1",
        "abs(thr('rlp') - 9) > 0.5",
        "max(thr('rlp', per=p) for p in P) <= 10.1",
        "max(thr('rlp', per=p) for p in P) >= 9.9",
        "min(thr('none', per=p) for p in P) <= 2.1",
        "10.1 >= max(thr('rlp', per=p) for p in P)",
        "decreasing(thr('rlp', per=p) for p in P)",
        "increasing([thr('none', per=0.2), thr('rlp'), thr('none')])",
        "tie(thr('rlp'), thr('none') - 2, 0.02)",
        "argbest(lambda p: thr('rlp', per=p), P) in (0.0,)",
        "argbest({p: thr('none', per=p) for p in P}) == 0.0",
        # 12 - 50 p = 10 - 5 p at p = 2/45
        "0.044 < crossing(lambda p: thr('rlp', per=p) - thr('none', per=p), 0, P) < 0.045",
        "0.08 < crossing(lambda p: thr('none', per=p), thr('rlp') - 2.5, P) < 0.1",
        "-5.01 < slope(lambda p: thr('rlp', per=p), P) < -4.99",
        "r2lin(lambda p: thr('rlp', per=p), P) > 0.99",
        "mean(thr('rlp', per=p) for p in P) < 9.6",
        "zero == 0",
        "once != 0",
        "thr(*('rlp',)) / thr('none') < 0.84",
    ],
)
def test_true_statements_are_reproduced(text: str) -> None:
    """Each function of the language gives the expected verdict on a true statement."""
    assert verdict(text) is Verdict.REPRODUCED


@pytest.mark.parametrize(
    "text",
    [
        "thr('rlp') > thr('none')",
        "thr('rlp', per=p) > thr('none', per=p) for p in P",
        "12 < thr('rlp') < 13",
        "thr('rlp') > 9 and thr('none') > 13",
        "abs(thr('rlp') - 10.05) <= 0.02",
        "abs(thr('rlp') - 9) < 0.5",
        "max(thr('none', per=p) for p in P) <= 11",
        "min(thr('none', per=p) for p in P) >= 3",
        "increasing(thr('rlp', per=p) for p in P)",
        "tie(thr('rlp'), thr('none'), 0.02)",
        "argbest(lambda p: thr('rlp', per=p), P) not in (0.0,)",
        "argbest(lambda p: thr('rlp', per=p), P) == 0.2",
        "0.05 < crossing(lambda p: thr('rlp', per=p) - thr('none', per=p), 0, P)",
        "once == 0",
        "zero != 0",
        "2 + 2 == 5",
    ],
)
def test_false_statements_are_not_reproduced(text: str) -> None:
    """Each function of the language refutes a false statement."""
    assert verdict(text) is Verdict.NOT_REPRODUCED


def test_a_level_that_is_not_passed_decides_nothing() -> None:
    """Runs without a crossing are NaN, so a bound is neither shown nor refuted."""
    text = "crossing(lambda p: thr('rlp', per=p), 100, P) < 0.1"
    assert verdict(text) is Verdict.FEW_EVENTS


def test_loops_bind_several_names_and_filter() -> None:
    """Pairs, two loops and a condition are as in Python."""
    text = "[a * b for a, b in ((1, 2), (3, 4)) for c in (1, 1) if a < 3]"
    assert Expression(text, "x").value({}) == [2, 2]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("thr('rlp'", "is no expression"),
        ("__import__('os').system('x')", "calls what is no name"),
        ("thr.__class__", "has attribute"),
        ("[x := 3]", "has namedexpr"),
        ("f'{thr}'", "has joinedstr"),
        ("b'x'", "constant of a strange kind"),
        ("", "there is nothing"),
    ],
)
def test_expressions_outside_the_language_are_refused(text: str, message: str) -> None:
    """Other Python raises an error with the place and the text when the expression is parsed."""
    with pytest.raises(ScenarioError, match=message) as error:
        Expression(text, "claim c").check(NAMES)
    assert str(error.value).startswith("claim c: ")


def test_an_unknown_name_is_refused_before_any_run() -> None:
    """Names bound by loops and lambdas are allowed; all others must be known."""
    Expression("all(thr('rlp', per=p) > 0 for p in P)", "c").check(NAMES)
    Expression("crossing(lambda p: thr('rlp', per=p), 0, P) > 0", "c").check(NAMES)
    with pytest.raises(ScenarioError, match="'thrr'"):
        Expression("thrr('rlp') > 0", "c").check(NAMES)


def test_a_value_is_no_statement() -> None:
    """A claim that compares nothing cannot be judged."""
    with pytest.raises(TypeError, match="states nothing"):
        Expression("thr('rlp')", "c").evidence(NAMES)
    assert isinstance(Expression("thr('rlp') > 0", "c").evidence(NAMES), Evidence)


@pytest.mark.parametrize("text", ["ratio(a, b) > 1.9", "spread(a) > 5", "share(a, 0, 5) > 0.5"])
def test_derived_quantities_keep_the_cells_of_their_parts(text: str) -> None:
    """`open` of an undecided statistic has the cells of its parts, also of parts with few runs."""
    names: Mapping[str, Any] = {
        "a": Quantity([1.0, 9.0, 1.0, 9.0, 5.0], "a", cells=["a"]),
        "b": Quantity([2.0, 3.0, 2.0], "b", cells=["b"]),
    }
    evidence = Expression(text, "a claim").evidence(names)
    assert evidence.verdict in (Verdict.UNDECIDED, Verdict.FEW_EVENTS)
    assert evidence.open == ({"a", "b"} if "ratio" in text else {"a"})


def value(text: str, **names: object) -> Any:  # noqa: ANN401
    """Evaluate an expression over these names alone."""
    return Expression(text, "x").value(names)


def test_a_distance_has_two_sides() -> None:
    """A value far below a number is refuted as near, and confirmed as far."""
    assert verdict("abs(thr('rlp') - 20) <= 1") is Verdict.NOT_REPRODUCED
    assert verdict("abs(thr('rlp') - 20) > 1") is Verdict.REPRODUCED


def test_every_link_of_a_chain_counts() -> None:
    assert verdict("9 < thr('rlp') < 9.5") is Verdict.NOT_REPRODUCED
    assert verdict("9.5 > thr('rlp') > 9") is Verdict.NOT_REPRODUCED


def test_equal_steps_are_no_steps() -> None:
    same = "[thr('rlp'), thr('rlp')]"
    assert verdict(f"increasing({same})") is not Verdict.REPRODUCED
    assert verdict(f"decreasing({same})") is not Verdict.REPRODUCED


def test_a_loop_has_all_of_its_conditions() -> None:
    assert value("[x for x in (1, 2, 3, 4) if x > 1 if x < 4]") == [2, 3]


def test_a_crossing_is_the_first_and_lies_between_points() -> None:
    """The line 0, 4, -4 at x = 0, 1, 2 crosses the level 1 first at 0.25, and again at 1.375."""
    of = {0.0: 0.0, 1.0: 4.0, 2.0: -4.0}
    spec = value("crossing(f, 1, (0.0, 1.0, 2.0))", f=lambda x: Quantity([of[x]] * 3, "f"))
    assert spec.values == pytest.approx([0.25] * 3)


def test_statistics_of_quantities_have_their_textbook_values() -> None:
    a = Quantity([1.0, 2.0, 4.0, 5.0], "a")
    b = Quantity([2.0, 1.0, 3.0, 2.0], "b")
    n = 4
    parts = [
        n * 12 / 8 - (n - 1) * (12 - x) / (8 - y)
        for x, y in zip((1, 2, 4, 5), (2, 1, 3, 2), strict=True)
    ]
    assert value("ratio(a, b)", a=a, b=b).values == pytest.approx(parts)
    rest = [np.std(np.delete(a.values, k), ddof=1) for k in range(n)]
    deviation = np.std(a.values, ddof=1)
    expected = [n * deviation - (n - 1) * item for item in rest]
    assert value("spread(a)", a=a).values == pytest.approx(expected)
    line = value("slope(f, (1.0, 3.0))", f=lambda x: Quantity([5 + 2 * x] * 3, "f"))
    assert line.values == pytest.approx([2.0] * 3)


def test_a_share_counts_the_ends_and_leaves_out_what_has_no_value() -> None:
    q = Quantity([1.0, 2.0, 3.0, 4.0, np.nan], "q")
    spec = value("share(q, 2, 3)", q=q).values
    assert spec[:4] == pytest.approx([0, 1, 1, 0])
    assert np.isnan(spec[4])


def test_runs_that_are_all_the_same_are_as_sure_as_a_sign_test() -> None:
    evidence = Expression("zero == 0", "x").evidence(NAMES)
    assert (evidence.p_for, evidence.p_against) == (0.5**RUNS, 1.0)
    three = Expression("q == 0", "x").evidence({"q": Quantity([0.0] * 3, "q")})
    assert three.verdict is Verdict.UNDECIDED


def test_a_tie_is_as_wide_as_it_says() -> None:
    assert verdict("tie(thr('rlp'), 10.3, 0.02)") is Verdict.NOT_REPRODUCED
    assert verdict("tie(thr('rlp'), 10.3, 0.04)") is Verdict.REPRODUCED


@pytest.mark.parametrize(
    ("text", "mean"),
    [
        ("max(thr('rlp', per=p) for p in P)", 10.0),
        ("min(thr('rlp', per=p) for p in P)", 9.0),
        ("max(thr('rlp'), never)", 10.0),
        ("min(never, thr('rlp'))", 10.0),
        ("thr('none')", 12.0),
        ("max(1, 2.5)", 2.5),
    ],
)
def test_a_value_is_a_quantity(text: str, mean: float) -> None:
    never = Quantity([float("nan")] * RUNS, "never")
    value = Expression(text, "a cell").quantity({**NAMES, "never": never})
    assert value.mean == pytest.approx(mean)
