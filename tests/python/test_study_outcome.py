"""Tests outcomes of claims, their counts, and the record of results that choices used."""

from typing import Any

import pytest

from farlink import studies
from farlink.studies.account import AccountStatus
from farlink.studies.judge import Finding, Judgement
from farlink.studies.outcome import (
    Outcome,
    account_counts,
    account_table,
    count,
    headline,
    kind,
    outcome,
    summary,
)
from farlink.studies.quantity import Evidence, Verdict, fact
from farlink.studies.study import Claim, Registry, Study

YES, NO = fact(True, "it holds"), fact(False, "it does not")  # noqa: FBT003
HOLDS = Evidence(0.001, 0.9, ("above",))
REFUTED = Evidence(0.9, 0.001, ("below",))
OPEN = Evidence(0.5, 0.5, ("nothing is sure",))
EQUAL = Evidence(0.5, 0.5, ("equal",), p_tie=0.001)
FEW = Evidence(0.5, 0.5, ("two events",), few=True)


def claim(**fields: Any) -> Claim:  # noqa: ANN401 (fields of a claim)
    return Claim("toy.a", "", "", {}, **fields)


def judged(order: Evidence | None, number: Evidence | None, legibility: str = "text") -> Judgement:
    return Judgement(claim(legibility=legibility), {"": Finding(order, number)})


@pytest.mark.parametrize(
    ("order", "number", "legibility", "expected"),
    [
        (None, HOLDS, "table", Outcome.NUMBER),
        (HOLDS, HOLDS, "text", Outcome.NUMBER),
        (HOLDS, REFUTED, "table", Outcome.ORDER_ONLY),
        (HOLDS, None, "table", Outcome.ORDER),
        (YES, None, "text", Outcome.FACT),
        (YES, HOLDS, "text", Outcome.NUMBER),
        (HOLDS, HOLDS, "tick", Outcome.AXIS),
        (HOLDS, HOLDS, "none", Outcome.OURS),
        (EQUAL, HOLDS, "table", Outcome.TIE),
        (OPEN, HOLDS, "table", Outcome.UNDECIDED),
        (FEW, HOLDS, "table", Outcome.FEW_EVENTS),
        (REFUTED, HOLDS, "table", Outcome.NOT_MET),
        (None, REFUTED, "table", Outcome.NOT_MET),
        (NO, None, "text", Outcome.NOT_MET),
    ],
)
def test_an_outcome_names_the_evidence_of_a_verdict(
    order: Evidence | None, number: Evidence | None, legibility: str, expected: Outcome
) -> None:
    assert outcome(judged(order, number, legibility)) is expected


def test_a_claim_without_a_finding_is_untested_or_failed() -> None:
    assert outcome(Judgement(claim(untested="far"))) is Outcome.UNTESTED
    assert outcome(Judgement(claim(), failure="KeyError: 'a'")) is Outcome.FAILED


def test_each_verdict_has_an_outcome() -> None:
    evidence = {
        Verdict.REPRODUCED: (None, HOLDS),
        Verdict.ORDER_ONLY: (HOLDS, REFUTED),
        Verdict.TIE: (EQUAL, None),
        Verdict.NOT_REPRODUCED: (None, REFUTED),
        Verdict.FEW_EVENTS: (FEW, None),
        Verdict.UNDECIDED: (None, OPEN),
    }
    assert set(evidence) == set(Verdict)
    for verdict, (order, number) in evidence.items():
        item = judged(order, number)
        assert item.first is not None
        assert item.first.verdict is verdict
        assert outcome(item) not in (Outcome.UNTESTED, Outcome.FAILED)


def test_counts_are_by_strength_with_checks_apart() -> None:
    met, fitted = (
        judged(None, HOLDS),
        Judgement(claim(calibration=True), judged(None, YES).findings),
    )
    weak = Judgement(claim(strength="weak"), judged(HOLDS, REFUTED).findings)
    entries = [met, met, judged(HOLDS, REFUTED), weak, fitted, Judgement(claim(untested="far"))]
    counts = count(entries)
    assert counts == {
        "strong": {Outcome.NUMBER: 2, Outcome.ORDER_ONLY: 1, Outcome.UNTESTED: 1},
        "weak": {Outcome.ORDER_ONLY: 1},
        "calibration": {Outcome.FACT: 1},
    }
    assert headline(counts) == (
        "Of 4 strong claims: 2 number met; 1 order met, number missed; 1 untested."
    )
    assert headline({}) == "There are no strong claims."
    assert summary(entries) == (
        "2 number met; 2 order met, number missed; 1 untested. Calibration checks apart: 1 fact"
    )
    assert kind(fitted.claim) == "calibration"


def test_accounts_of_undecided_claims_have_rows_of_their_own() -> None:
    entries = [
        judged(None, HOLDS),
        judged(HOLDS, REFUTED),
        judged(EQUAL, HOLDS),
        judged(OPEN, HOLDS),
        judged(FEW, HOLDS),
        Judgement(claim(strength="weak"), judged(OPEN, None).findings),
        Judgement(claim(calibration=True), judged(OPEN, None).findings),
    ]
    row = {AccountStatus.NONE: 1}
    assert account_table(entries) == {
        Outcome.ORDER_ONLY: row,
        Outcome.TIE: row,
        Outcome.FEW_EVENTS: row,
        Outcome.UNDECIDED: row,
    }
    assert account_counts(entries) == {AccountStatus.NONE: 2}
    assert account_table(entries[:1]) == {}


def record(choice: dict[str, Any], *, calibration: bool) -> dict[str, Any]:
    text = {"id": "toy.a", "says": "Fast.", "where": "p. 1", "order": "1 < 2"}
    return {
        "study": {"id": "toy"},
        "claim": [{**text, "calibration": calibration}],
        "choice": [{"item": "delay", "says": "-", "ours": "-", **choice}],
    }


@pytest.mark.parametrize(
    ("choice", "calibration", "message"),
    [
        ({"calibration": True}, False, "choice delay: `on` or `cells` belong to a calibration"),
        ({"on": ["toy.a"]}, True, "choice delay: `on` or `cells` belong to a calibration"),
        ({"calibration": True, "on": ["toy.a"]}, False, "a choice uses toy.a: no calibration"),
        ({"calibration": True, "on": ["toy.b"]}, False, "a choice uses toy.b: no calibration"),
        (
            {"calibration": True, "cells": ["t: a"]},
            True,
            "no choice uses the calibration check toy",
        ),
    ],
)
def test_choices_and_calibration_checks_must_agree(
    choice: dict[str, Any],
    calibration: bool,  # noqa: FBT001 (a parameter of the test)
    message: str,
) -> None:
    with pytest.raises(ValueError, match=message):
        Study.of(record(choice, calibration=calibration), Registry())


def test_a_choice_may_use_cells_alone() -> None:
    study = Study.of(
        record({"calibration": True, "cells": ["t: a"]}, calibration=False), Registry()
    )
    assert study.choices[0].cells == ["t: a"]


@pytest.mark.parametrize("name", studies.NAMES)
def test_each_study_states_its_precision_and_what_choices_used(name: str) -> None:
    study = studies.find(name)
    assert study.precision
    used = {item for choice in study.choices for item in choice.on}
    assert used == {item.id for item in study.claims.values() if item.calibration}


def test_a_precision_needs_a_reason() -> None:
    row = {"of": "cell", "tolerance": "9 %", "where": "p. 1"}
    with pytest.raises(ValueError, match="the record lacks 'why' of precision cell"):
        Study.of({"study": {"id": "toy"}, "precision": [row]}, Registry())
    with pytest.raises(ValueError, match="precision cell: width is no key of it"):
        Study.of(
            {"study": {"id": "toy"}, "precision": [{**row, "why": "-", "width": 1}]}, Registry()
        )
