"""Judging claims: which verdict counts, what is said beside it, and how they are summed up."""

import pytest

from farlink.studies.judge import FAILED, UNTESTED, Judgement, judge, summary
from farlink.studies.quantity import Evidence, Verdict, fact
from farlink.studies.study import Claim

YES, NO = fact(True, "it holds"), fact(False, "it does not")  # noqa: FBT003
OPEN = Evidence(0.5, 0.5, ("nothing is sure",))


def claim(name: str = "a", **keys: object) -> Claim:
    return Claim(name, "", "", {}, **keys)  # type: ignore[arg-type]


def fail() -> Evidence:
    raise KeyError("rtt")


def test_the_first_setting_counts_and_the_others_are_kept() -> None:
    one = judge(claim(), {"chosen": lambda: NO, "other": lambda: YES, "third": lambda: OPEN})
    assert one.status == Verdict.NOT_REPRODUCED.value
    assert one.first is NO
    assert list(one.evidence) == ["chosen", "other", "third"]


def test_the_key_is_what_the_verdict_hangs_on_and_not_the_first_line() -> None:
    evidence = Evidence(0.001, 0.9, ("first", "weakest"), key_for="weakest", key_against="first")
    assert judge(claim(), {"x": lambda: evidence}).key == "weakest"


def test_a_claim_that_is_not_to_be_judged_is_not_and_says_why() -> None:
    one = judge(claim(untested="no numbers"), {"x": fail})
    assert (one.status, one.key, one.evidence) == (UNTESTED, "no numbers", {})
    assert judge(claim(), {}).status == UNTESTED


@pytest.mark.parametrize("error", [KeyError("rtt"), ZeroDivisionError("x"), ValueError("y")])
def test_whatever_goes_wrong_is_a_failure_of_the_claim(error: Exception) -> None:
    def broken() -> Evidence:
        raise error

    one = judge(claim(), {"x": lambda: YES, "y": broken})
    assert one.status == FAILED
    assert one.key == one.failure == f"{type(error).__name__}: {error}"
    assert one.first is None


@pytest.mark.parametrize(("evidence", "told"), [(NO, "the cause"), (YES, ""), (OPEN, "")])
def test_a_cause_is_told_of_what_does_not_reproduce_alone(evidence: Evidence, told: str) -> None:
    assert judge(claim(cause="the cause"), {"x": lambda: evidence}).cause == told


def test_a_summary_has_every_verdict_and_checks_apart() -> None:
    told = [
        judge(claim("a"), {"x": lambda: YES}),
        judge(claim("b"), {"x": lambda: NO}),
        judge(claim("c"), {"x": lambda: NO}),
        judge(claim("d"), {"x": lambda: OPEN}),
    ]
    assert summary(told) == "1 reproduced, 2 not reproduced, 1 undecided"
    told.append(judge(claim("e", untested="why"), {}))
    assert summary(told).endswith("1 undecided, 1 untested")
    told.append(judge(claim("f"), {"x": fail}))
    assert summary(told).endswith("1 undecided, 1 untested, 1 failed")
    told.append(judge(claim("g", calibration=True), {"x": lambda: YES}))
    told.append(judge(claim("h", calibration=True), {"x": lambda: YES}))
    assert summary(told) == (
        "1 reproduced, 2 not reproduced, 1 undecided, 1 untested, 1 failed; "
        "calibration checks apart: 2 reproduced"
    )
    assert (
        summary([Judgement(claim())]) == "0 reproduced, 0 not reproduced, 0 undecided, 1 untested"
    )
