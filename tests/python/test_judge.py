"""Judging claims: which verdict counts, what is said beside it, and how they are summed up."""

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from farlink.studies.judge import (
    FAILED,
    UNTESTED,
    Compared,
    Finding,
    Judgement,
    judge,
    summary,
)
from farlink.studies.quantity import LEVEL, Evidence, Quantity, Verdict, fact
from farlink.studies.study import Claim

Values = NDArray[np.float64]

YES, NO = fact(True, "it holds"), fact(False, "it does not")  # noqa: FBT003
OPEN = Evidence(0.5, 0.5, ("nothing is sure",))
TIE = Evidence(0.5, 0.5, ("equal",), p_tie=0.001)
FEW = Evidence(0.5, 0.5, ("two events",), few=True)


def claim(name: str = "a", **keys: object) -> Claim:
    return Claim(name, "", "", {}, **keys)  # type: ignore[arg-type]


def told(order: Evidence | None, number: Evidence | None = None) -> Callable[[int], Finding]:
    return lambda runs: Finding(order, number, runs=runs)


def fail(_: int) -> Finding:
    raise KeyError("rtt")


@pytest.mark.parametrize(
    ("order", "number", "verdict"),
    [
        (YES, None, "reproduced"),
        (None, YES, "reproduced"),
        (YES, YES, "reproduced"),
        (YES, NO, "order only"),
        (YES, OPEN, "undecided"),
        (YES, FEW, "too few events"),
        (None, NO, "not reproduced"),
        (NO, YES, "not reproduced"),
        (NO, NO, "not reproduced"),
        (TIE, YES, "tie"),
        (FEW, NO, "too few events"),
        (OPEN, NO, "undecided"),
        (None, None, "undecided"),
    ],
)
def test_order_and_number_make_a_verdict(
    order: Evidence | None, number: Evidence | None, verdict: str
) -> None:
    assert Finding(order, number).verdict.value == verdict


def test_a_number_that_is_off_says_by_how_much() -> None:
    rows = [
        Compared("rate", 8.0, "bit/s", Quantity([4.0, 4.0], "x")),
        Compared("delay", 1.0, "s", Quantity([1.1, 1.1], "y")),
        Compared("nothing", 0.0, "", Quantity([1.0, 1.0], "z")),
    ]
    one = Judgement(claim(), {"": Finding(YES, NO, rows)})
    assert one.key == "it does not; rate is 0.5 times the published 8"
    assert Finding(YES, NO).off is None


def test_looks_are_taken_until_it_is_decided() -> None:
    """Evidence that is enough for one look at the whole level is not for the first of three."""
    seen: list[int] = []

    def make(p_for: float) -> Callable[[int], Finding]:
        def look(runs: int) -> Finding:
            seen.append(runs)
            return Finding(YES if runs == 40 else Evidence(p_for, 0.9, ("x",)), None)

        return look

    found = judge(claim(), {"x": make(LEVEL / 3)}, [10, 20, 40]).findings["x"]
    assert seen == [10]
    assert found.level == LEVEL / 2
    found = judge(claim(), {"x": make(0.6 * LEVEL)}, [10, 20, 40]).findings["x"]
    assert seen == [10, 10, 20, 40]
    assert (found.runs, found.level) == (40, LEVEL / 4)
    assert found.verdict is Verdict.REPRODUCED


def test_looks_keep_the_level() -> None:
    """Of samples without a difference at most one in forty is called one, over all looks."""
    random = np.random.default_rng(2)
    wrong = 0
    for _ in range(400):
        a, b = random.normal(1, 1, (2, 40))

        def make(runs: int, a: Values = a, b: Values = b) -> Finding:
            return Finding(Quantity(a[:runs], "a") > Quantity(b[:runs], "b"), None, runs=runs)

        wrong += judge(claim(), {"x": make}, [10, 20, 40]).status == "reproduced"
    assert wrong / 400 < 0.05


def test_the_first_reading_counts_and_the_others_are_kept() -> None:
    one = judge(claim(), {"chosen": told(NO), "other": told(YES), "third": told(OPEN)}, [2])
    assert one.status == Verdict.NOT_REPRODUCED.value
    assert one.first is not None
    assert one.first.order is NO
    assert list(one.findings) == ["chosen", "other", "third"]


def test_the_key_is_what_the_verdict_hangs_on_and_not_the_first_line() -> None:
    evidence = Evidence(0.001, 0.9, ("first", "weakest"), key_for="weakest", key_against="first")
    assert judge(claim(), {"x": told(evidence)}, [2]).key == "weakest"


def test_a_claim_that_is_not_to_be_judged_is_not_and_says_why() -> None:
    one = judge(claim(untested="no numbers"), {"x": fail}, [2])
    assert (one.status, one.key, one.findings) == (UNTESTED, "no numbers", {})
    assert judge(claim(), {}, [2]).status == UNTESTED


@pytest.mark.parametrize("error", [KeyError("rtt"), ZeroDivisionError("x"), ValueError("y")])
def test_whatever_goes_wrong_is_a_failure_of_the_claim(error: Exception) -> None:
    def broken(_: int) -> Finding:
        raise error

    one = judge(claim(), {"x": told(YES), "y": broken}, [2])
    assert one.status == FAILED
    assert one.key == one.failure == f"{type(error).__name__}: {error}"
    assert one.first is None


@pytest.mark.parametrize(("evidence", "cause"), [(NO, "the cause"), (YES, ""), (OPEN, "")])
def test_a_cause_is_told_of_what_does_not_reproduce_alone(evidence: Evidence, cause: str) -> None:
    assert judge(claim(cause="the cause"), {"x": told(evidence)}, [2]).cause == cause


def test_a_summary_has_every_verdict_and_checks_apart() -> None:
    found = [
        judge(claim("a"), {"x": told(YES)}, [2]),
        judge(claim("b"), {"x": told(NO)}, [2]),
        judge(claim("c"), {"x": told(NO)}, [2]),
        judge(claim("d"), {"x": told(OPEN)}, [2]),
    ]
    assert summary(found) == "1 reproduced, 2 not reproduced, 1 undecided"
    found.append(judge(claim("e", untested="why"), {}, [2]))
    assert summary(found).endswith("1 undecided, 1 untested")
    found.append(judge(claim("f"), {"x": fail}, [2]))
    assert summary(found).endswith("1 undecided, 1 untested, 1 failed")
    found.append(judge(claim("g", calibration=True), {"x": told(YES)}, [2]))
    found.append(judge(claim("h", calibration=True), {"x": told(YES)}, [2]))
    assert summary(found) == (
        "1 reproduced, 2 not reproduced, 1 undecided, 1 untested, 1 failed; "
        "calibration checks apart: 2 reproduced"
    )
    assert (
        summary([Judgement(claim())]) == "0 reproduced, 0 not reproduced, 0 undecided, 1 untested"
    )
