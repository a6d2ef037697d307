"""Tests the questions of `farlink.studies.today`: their scenarios, stacks and ratios."""

import math
from pathlib import Path

import numpy as np
import pytest

from farlink.studies import find, today
from farlink.studies.cache import SimulationCache
from farlink.studies.quantity import Quantity

QUESTIONS = today.questions()


def test_each_study_is_asked_and_each_scenario_resolves() -> None:
    studies = {id.partition("-")[0] for id in QUESTIONS}  # noqa: A001
    assert studies == {"west1997", "wong1998", "leung1998", "omueti2007", "vatne2006"}
    cache = SimulationCache(runs=2)
    for question in QUESTIONS.values():
        place, mechanism = next(iter(question.place)), next(iter(question.mechanism))
        for stack in question.stack:
            assert cache.text(question.cell(place, mechanism, stack))
        for item in question.place:
            assert cache.text(question.cell(item, mechanism, next(iter(question.stack))))


def test_the_stack_of_its_time_is_that_of_the_study() -> None:
    """The stack of the study's time equals the study's [tcp] in every key."""
    ours = QUESTIONS["omueti2007"].cell("BER 1e-6", "", "ADaLR of 2007")
    assert (
        ours.scenario
        == find("omueti2007").model(SimulationCache()).cell("adalr_sack", "d", 1e-6).scenario
    )
    day = QUESTIONS["vatne2006-satellite"].cell("as calibrated", "", "Vegas of 2006")
    theirs = find("vatne2006").model(SimulationCache()).cell("vegas", 0, 0, place="day1")
    assert day.scenario == theirs.scenario


def test_a_kernel_stack_replaces_all_tcp_keys_but_the_segment_size() -> None:
    tcp = QUESTIONS["west1997"].cell("no errors", "none", "Linux cubic").scenario["tcp"]
    assert tcp == {"mss": "1460 B", "profile": "linux", "variant": "cubic"}


def test_gains_are_geometric_means_of_runs_of_the_same_number() -> None:
    a, b = np.array([2.0, 8.0]), np.array([1.0, 1.0])
    quantities = [Quantity(item, "") for item in (a, b)]
    values = {("here", "", "fast"): quantities[0], ("here", "", "slow"): quantities[1]}
    (gain,) = today._gains(values, "fast", "slow")
    assert gain.where == ("here", "")
    assert gain.ratio.mean == pytest.approx(4.0)
    assert gain.ratio.low == pytest.approx(math.exp(math.log(4) - 12.706 * math.log(2)), rel=1e-3)


def test_the_command_writes_tables_and_a_figure_for_a_question(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--only", "omueti2007-pages", "--runs", "2", "--out", str(tmp_path)]
    assert today.main(words) == 0
    names = {path.name for path in tmp_path.iterdir()}
    assert {"today.md", "omueti2007-pages.csv", "omueti2007-pages.png"} <= names
    assert "| no errors | 5.03 | 4.52 |" in capsys.readouterr().out
    for wrong in (["--only", "nobody"], ["--runs", "1"]):
        assert today.main(wrong) == 2
        assert capsys.readouterr().err.startswith("farlink: ")


def test_a_failing_figure_is_reported_in_a_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(today, "answer", lambda *_: None)
    monkeypatch.setattr(today, "_markdown", lambda _: "page")
    monkeypatch.setattr(today, "_csv", lambda _: "a,b\n")
    assert today.main(["--only", "omueti2007-pages", "--out", str(tmp_path)]) == 3
    shown = capsys.readouterr()
    (line,) = shown.err.splitlines()
    assert line.startswith("farlink: figure omueti2007-pages is missing: AttributeError: ")
    assert (tmp_path / "today.md").read_text(encoding="utf-8") == "page"
