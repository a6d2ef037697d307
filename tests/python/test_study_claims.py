"""Tests claims with given numbers, where a trial found claims fitted, too loose or too harsh.

Tests of numbers simulate nothing. The printed numbers must pass, and numbers that the text calls
wrong must fail.
"""

from collections.abc import Callable
from typing import Any

import pytest

from farlink import studies
from farlink.studies.cache import SimulationCache
from farlink.studies.judge import Finding
from farlink.studies.quantity import Quantity, Verdict
from farlink.studies.runner import StudyRunner

FITTED = [
    "west1997.x.burst_hurts_snoop_more_on_lan",
    "vatne2006.sec6.1.duration",
    "vatne2006.sec7.2.1.expected_loss",
    "vatne2006.graph8.total_is_half_of_day2",
    "leung1998.table4.1.delay",
    "leung1998.sec3.3.2.state",
]


def runs(mean: float, step: float = 1e-4) -> Quantity:
    """Return eight runs that differ by a ten-thousandth of their mean."""
    return Quantity([mean * (1 + step * (run - 3.5)) for run in range(8)], "given")


def reno_on_the_slow_link(share: float) -> dict[str, Callable[..., Quantity]]:
    """Give Reno 14.14 KB/s of the ideal, so 138.2 s."""

    def part(err: str) -> float:
        return 1.0 if err == "none" else share

    return {
        "thr": lambda _tcp, err, **_net: runs(14.14 * part(err)),
        "time": lambda _tcp, err, **_net: runs(138.2 / part(err)),
    }


def gains(*percent: float) -> dict[str, Callable[..., Quantity]]:
    """Give best-effort MDLP a gain over MDLP that is reset, for N2 = 3, 5 and 7."""
    factor = dict(zip((3, 5, 7), percent, strict=True))
    return {
        "given_up": lambda _per, n2: runs(1000 * (1 + factor[n2] / 100)),
        "reset": lambda _per, _n2: runs(1000, -1e-4),
    }


def fairness(adalr: float, newreno: float) -> dict[str, Callable[..., Quantity]]:
    """Give Jain's index to six connections of each TCP."""
    index = {"adalr": adalr, "newreno": newreno}
    return {"jain": lambda tcp: runs(index[tcp])}


def westwood(ahead: float) -> dict[str, Callable[..., Quantity]]:
    """Give the number of 27 conditions in which NewReno is ahead."""
    wins = {"newreno": ahead, "westwood": 27 - ahead}
    return {"wins": lambda tcp: runs(wins[tcp])}


@pytest.mark.parametrize("id", FITTED)
def test_fitted_claims_are_calibration_checks(id: str) -> None:  # noqa: A002
    assert studies.find(id.partition(".")[0]).claims[id].calibration


@pytest.mark.parametrize(
    ("id", "given", "verdict"),
    [
        ("west1997.t3.reno_half", reno_on_the_slow_link(0.532), Verdict.REPRODUCED),
        ("west1997.t3.reno_half", reno_on_the_slow_link(0.70), Verdict.ORDER_ONLY),
        ("west1997.t3.reno_half", reno_on_the_slow_link(0.91), Verdict.NOT_REPRODUCED),
        ("wong1998.fig5.2.gain_81_22_2_at_50pct", gains(81, 22, 2), Verdict.REPRODUCED),
        ("wong1998.fig5.2.gain_81_22_2_at_50pct", gains(49, 19, 5), Verdict.ORDER_ONLY),
        ("wong1998.fig5.2.gain_81_22_2_at_50pct", gains(33, 1, -18), Verdict.NOT_REPRODUCED),
        ("omueti2007.t8.fairness", fairness(0.951, 0.865), Verdict.REPRODUCED),
        ("omueti2007.t8.fairness", fairness(0.958, 0.859), Verdict.REPRODUCED),
        ("omueti2007.t8.fairness", fairness(0.93, 0.865), Verdict.ORDER_ONLY),
        ("omueti2007.t8.fairness", fairness(0.86, 0.865), Verdict.NOT_REPRODUCED),
        ("vatne2006.sec8.1.adhoc_newreno_considerably_better", westwood(21), Verdict.REPRODUCED),
        ("vatne2006.sec8.1.adhoc_newreno_considerably_better", westwood(24), Verdict.ORDER_ONLY),
        ("vatne2006.sec8.1.adhoc_newreno_considerably_better", westwood(9), Verdict.NOT_REPRODUCED),
    ],
)
def test_claims_state_the_printed_numbers(
    id: str,  # noqa: A002
    given: dict[str, Any],
    verdict: Verdict,
) -> None:
    study = studies.find(id.partition(".")[0])
    names = {**study.model(SimulationCache(runs=8)).names, **given}
    claim = study.claims[id]
    order, number = (
        None if statement is None else statement.evidence(names)
        for statement in (claim.order, claim.number)
    )
    assert Finding(order, number).verdict is verdict


@pytest.mark.parametrize("name", studies.NAMES)
def test_each_wrong_model_names_a_claim_that_notices_it(name: str) -> None:
    study = studies.find(name)
    assert study.plan.controls
    assert all(control.turns for control in study.plan.controls.values())


@pytest.mark.parametrize(
    ("model", "claim"),
    [("one speed", "sec3.2.1.fading"), ("held in handoffs", "sec5.5.8"), ("no fades", "sec5.4.1")],
)
def test_claims_of_leung1998_notice_wrong_models_of_the_mobile(model: str, claim: str) -> None:
    study = studies.find("leung1998")
    right = next(iter(study.plan.interpretations.values()))
    runner = StudyRunner(study, SimulationCache(runs=6, quick=True), [right])
    judged = runner.judge(study.claims[f"leung1998.{claim}"])
    assert judged.status == "reproduced"
    control = study.plan.controls[model]
    assert judged.claim.id in control.turns
    assert runner.judge_once(judged, control).status != "reproduced"
