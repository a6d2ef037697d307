"""Tests accounts of missed numbers: experiments under readings, and arithmetic."""

import json
from pathlib import Path
from typing import Any

import pytest

from farlink import studies
from farlink.errors import ScenarioError
from farlink.studies.account import Account, Accounted, AccountStatus, status_of
from farlink.studies.cache import SimulationCache
from farlink.studies.expression import Expression
from farlink.studies.index import write
from farlink.studies.outcome import account_counts
from farlink.studies.page import render
from farlink.studies.quantity import Evidence
from farlink.studies.runner import run_study
from farlink.studies.study import Registry, Study
from farlink.views.study import account_lines
from test_study_causes import RECORD

FAR = {"claim": "toy2020.slow", "reading": "far", "says": "The link is longer."}
SUM = {"claim": "toy2020.slow", "arithmetic": "20 * 8 / 1000 < 1", "says": "20 kB take 0.2 s."}

HOLDS, FAILS = Evidence(0.001, 0.9, ("above",)), Evidence(0.9, 0.001, ("below",))
MET = Accounted(Account("a", "-", reading="far"), HOLDS)
MISSED = Accounted(Account("a", "-", reading="far"), FAILS)
OPEN = Accounted(Account("a", "-", reading="far"), Evidence(0.5, 0.5, ("open",)))
WAITS = Accounted(Account("a", "-", reading="far"))
EXCLUDED = Accounted(Account("a", "-", arithmetic=Expression("1 < 2", "a")))


def toy(*rows: dict[str, str]) -> Study:
    return Study.of({**RECORD, "account": list(rows)}, Registry())


def test_an_experiment_moves_the_model_onto_the_number(tmp_path: Path) -> None:
    result = run_study(toy(FAR), SimulationCache(runs=6), causes=True)
    slow, fast = result.judgements
    assert slow.status == "not reproduced"
    (row,) = slow.accounted
    assert (row.status, slow.account) == (AccountStatus.MET, AccountStatus.MET)
    assert row.key.startswith("time(loss 0) = ")
    assert (fast.accounted, fast.account) == ([], None)
    assert account_counts(result.judgements) == {AccountStatus.MET: 1}
    assert "met by an experiment" in render(result, {})
    result.save(tmp_path)
    saved = json.loads((tmp_path / "verdicts.json").read_text(encoding="utf-8"))
    assert saved["accounts"] == {"met by an experiment": 1}
    assert saved["verdicts"][0]["accounts"][0]["reading"] == "far"
    assert saved["verdicts"][1]["account"] is None
    page = write([result], tmp_path).read_text(encoding="utf-8")
    assert "<th>met by an experiment</th><th>claims</th>" in page
    assert "<tr><td>not met</td><td>1</td><td>1</td></tr>" in page
    assert 'href="toy2020/index.html#toy2020.slow"' in page
    assert "--causes" not in page
    assert saved["accounts_by_outcome"] == {"not met": {"met by an experiment": 1}}
    line = "Strong claims, not met: 1 met by an experiment"
    assert account_lines(result.judgements) == [line]


def test_an_experiment_on_a_part_judges_this_part_alone() -> None:
    row = {**FAR, "number": "time(0.0) >= 1000"}
    result = run_study(toy(row), SimulationCache(runs=2), causes=True)
    assert result.judgements[0].account is AccountStatus.NOT_MET
    assert ">= 1000" in result.judgements[0].accounted[0].key


def test_without_causes_experiments_are_not_run_and_arithmetic_holds() -> None:
    result = run_study(toy(FAR), SimulationCache(runs=2))
    assert result.judgements[0].account is AccountStatus.NOT_RUN
    assert "Experiments run with <code>--causes</code>" in render(result, {})
    result = run_study(toy(SUM), SimulationCache(runs=2))
    assert result.judgements[0].account is AccountStatus.EXCLUDED
    assert "20 * 8 / 1000 &lt; 1" in render(result, {})
    result = run_study(toy(), SimulationCache(runs=2))
    assert account_counts(result.judgements) == {AccountStatus.NONE: 1}


@pytest.mark.parametrize(
    ("rows", "status"),
    [
        ([], AccountStatus.NONE),
        ([MET, MET], AccountStatus.MET),
        ([MET, MISSED], AccountStatus.PARTLY),
        ([MET, WAITS], AccountStatus.PARTLY),
        ([MISSED, EXCLUDED], AccountStatus.EXCLUDED),
        ([WAITS], AccountStatus.NOT_RUN),
        ([OPEN], AccountStatus.UNDECIDED),
        ([MISSED], AccountStatus.NOT_MET),
    ],
)
def test_status_of_several_accounts(rows: list[Accounted], status: AccountStatus) -> None:
    assert status_of(rows) is status


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({**FAR, "claim": "toy2020.no"}, "the record has no claim 'toy2020.no'"),
        ({**FAR, "reading": "near"}, "account of toy2020.slow: no reading 'near'"),
        ({**FAR, "arithmetic": "1 < 2"}, "write either a reading or arithmetic"),
        ({"claim": "toy2020.slow", "says": "-"}, "write either a reading or arithmetic"),
        ({**SUM, "number": "1 < 2"}, "number belongs to a reading"),
        ({**SUM, "arithmetic": "2 < 1"}, "`2 < 1` does not hold"),
        ({**FAR, "why": "-"}, "account of toy2020.slow: why is no key of it"),
        ({"claim": "toy2020.slow", "reading": "far"}, "the record lacks 'says'"),
    ],
)
def test_wrong_accounts_are_refused(row: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        toy(row)


def test_arithmetic_has_no_measures() -> None:
    with pytest.raises(ScenarioError, match=r"'time' in `time\(0.0\) < 1` is not known"):
        toy({**SUM, "arithmetic": "time(0.0) < 1"})


@pytest.mark.parametrize("name", studies.NAMES)
def test_accounts_are_of_strong_claims_that_are_no_calibration(name: str) -> None:
    for claim in studies.find(name).claims.values():
        if claim.accounts:
            assert claim.strength == "strong"
            assert not claim.calibration
            assert all(account.needs for account in claim.accounts)
