"""Tests unknowns of studies, their effect on scenarios, and the command that infers them."""

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

import farlink as fl
from farlink import studies
from farlink.studies.cache import SimulationCache
from farlink.studies.inference import infer, recorded
from farlink.studies.inference.page import markdown
from farlink.studies.inference.targets import Target, keys, measure, split
from farlink.studies.inference.unknowns import change, unknowns
from farlink.studies.study import Study
from farlink.tuning.space import Level
from test_cli import farlink


def test_a_measurement_simulates_only_its_targets() -> None:
    study = studies.find("omueti2007")
    cache = SimulationCache(runs=1)
    tables = {name: item.data for name, item in study.tables.items()}
    wanted = [Target("table5", "TCP SACK", "without delayed ACK")]
    planned = cache.planned(lambda dry: measure(study.model(dry), tables, wanted))
    assert [cell.label for cell in planned] == ["sack, n"]


def _half(tree: dict[str, Any]) -> None:
    tree["tcp"]["mss"] = 512


def _count(tree: dict[str, Any], level: object) -> None:
    tree["tcp"]["initial_window"] = level


ROW = {"id": "u", "doc": "-", "where": "p. 1", "why": "open", "chosen": "a"}
HOOKS: Mapping[str, Callable[[dict[str, Any]], None]] = {"half": _half}
EDITORS = {"count": _count}


def test_levels_change_scenarios_by_key_settings_hook_or_editor() -> None:
    record = {
        "unknown": [
            {
                **ROW,
                "id": "w",
                "vary": "8 kB..32 kB",
                "path": "tcp.receive_window",
                "chosen": "9 kB",
            },
            {**ROW, "id": "h", "vary": ["a", "b"], "hooks": {"a": "", "b": "half"}},
            {
                **ROW,
                "id": "s",
                "vary": ["a", "b"],
                "settings": {"a": {}, "b": {"tcp.nagle": False}},
            },
            {**ROW, "id": "e", "vary": [1, 2], "hook": "count", "chosen": 1},
        ]
    }
    members = unknowns(record, HOOKS, EDITORS)
    levels: dict[str, Level] = {"w": "16 kB", "h": "b", "s": "b", "e": 2}
    changed = change(members, levels, HOOKS, EDITORS)
    assert changed.sets == {"tcp.receive_window": "16 kB"}
    tree: dict[str, Any] = {"tcp": {}}
    for edit in changed.edits:
        edit(tree)
    assert tree == {"tcp": {"mss": 512, "nagle": False, "initial_window": 2}}
    plain = change(members, {**levels, "h": "a", "s": "a"}, HOOKS, EDITORS)
    tree = {"tcp": {}}
    for edit in plain.edits:
        edit(tree)
    assert tree == {"tcp": {"initial_window": 2}}
    with pytest.raises(fl.ScenarioError, match="unknown e: no level is given"):
        change(members, {"w": "16 kB", "h": "a", "s": "a"}, HOOKS, EDITORS)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"vary": ["a", "b"]}, "unknown u: write one of path, settings, hooks, hook"),
        ({"vary": ["a", "b"], "path": "x", "hook": "count"}, "unknown u: write one of"),
        ({"vary": ["a", "b"], "hooks": {"a": ""}}, "unknown u: hooks need one entry for each"),
        ({"vary": ["a", "b"], "hooks": {"a": "", "b": "no"}}, "the study has no hook no"),
        ({"vary": ["a", "b"], "hook": "no"}, "unknown u: the study has no editor 'no'"),
        ({"vary": ["b", "c"], "path": "x"}, "unknown u: 'a' is no level of it"),
        ({"vary": ["a", "b"], "path": "x", "range": 1}, "unknown u: range is no key of it"),
    ],
)
def test_a_wrong_unknown_is_refused(row: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        unknowns({"unknown": [{**ROW, **row}]}, HOOKS, EDITORS)


def test_an_unknown_needs_its_reason() -> None:
    row = {key: value for key, value in ROW.items() if key != "why"}
    with pytest.raises(ValueError, match="unknown u: it lacks 'why'"):
        unknowns({"unknown": [{**row, "vary": ["a", "b"], "path": "x"}]}, HOOKS, EDITORS)


NAMES = ["leung1998", "omueti2007", "vatne2006", "west1997"]
"""Studies whose unknowns are tried here; wong1998 has tests of its own."""


def _tables(study: Study) -> dict[str, Mapping[str, Any]]:
    """Return the entries of the tables that an inference fits."""
    names = study.record.get("inference", {}).get("tables", list(study.tables))
    entries = {id_: study.tables[id_].data for id_ in names}
    return {id_: data for id_, data in entries.items() if "cells" in data}


@pytest.mark.parametrize("name", NAMES)
def test_unknowns_of_a_study_do_not_change_the_model_as_chosen(name: str) -> None:
    study = studies.find(name)
    registry = study.registry
    members = unknowns(study.record, registry.hooks, registry.editors)
    tables = _tables(study)
    wanted = keys(tables)
    levels: dict[str, Level] = {item.id: item.chosen for item in members}
    same = change(members, levels, registry.hooks, registry.editors)
    cache = SimulationCache(runs=2)

    def scenarios(**more: Any) -> list[Any]:  # noqa: ANN401
        planned = cache.planned(lambda dry: measure(study.model(dry, **more), tables, wanted))
        trees = [json.loads(cache.text(cell)) for cell in planned]
        # A value that is written out is that of the default.
        return [(tree["resolved_tcp"], tree["links"]) for tree in trees]

    assert scenarios(change=same) == scenarios()


@pytest.mark.parametrize("name", NAMES)
def test_each_level_of_an_unknown_changes_some_scenario(name: str) -> None:
    study = studies.find(name)
    registry = study.registry
    members = unknowns(study.record, registry.hooks, registry.editors)
    tables = _tables(study)
    wanted = keys(tables)
    chosen: dict[str, Level] = {item.id: item.chosen for item in members}
    cache = SimulationCache(runs=2)

    def scenarios(levels: Mapping[str, Any]) -> list[str]:
        changed = change(members, levels, registry.hooks, registry.editors)
        planned = cache.planned(lambda dry: measure(study.model(dry, changed), tables, wanted))
        return [cache.text(cell) for cell in planned]

    plain = scenarios(chosen)
    for item in members:
        ends = [item.knob.at(0.0), item.knob.at(1.0)] if item.knob.is_range else item.knob.levels
        for level in ends:
            # "0.0 ms" is "0 ms", and the end of a range may be the chosen value.
            if item.knob.number(level) != item.knob.number(item.chosen):
                assert scenarios({**chosen, item.id: level}) != plain, (item.id, level)


@pytest.mark.parametrize("name", studies.NAMES)
def test_records_belong_to_the_unknowns_of_today(name: str) -> None:
    read = recorded(name)
    if read is None:
        return
    study = studies.find(name)
    members = unknowns(study.record, study.registry.hooks, study.registry.editors)
    assert list(read.best) == [item.id for item in members]
    assert read.chosen == {item.id: item.chosen for item in members}
    used = [cell for choice in study.choices for cell in choice.cells]
    names = study.record.get("inference", {}).get("tables", list(study.tables))
    drawn = split(keys({id_: study.tables[id_].data for id_ in names}, used), read.seed)
    for half, members_of in (("fitted", drawn.fitted), ("held out", drawn.held_out)):
        assert [row.cell for row in read.cells if row.half == half] == [
            target.text for target in members_of
        ]
        agree = sum(row.inferred_agrees for row in read.cells if row.half == half)
        assert read.half(half, "inferred").agree == agree


@pytest.mark.parametrize("name", studies.NAMES)
def test_the_pages_are_made_from_the_records(name: str) -> None:
    read = recorded(name)
    if read is None:
        return
    study = studies.find(name)
    head = study.record["study"]
    members = unknowns(study.record, study.registry.hooks, study.registry.editors)
    wanted = markdown(read, members, f"{head['author']} {head['year']}")
    path = Path(__file__).parents[2] / "docs" / "studies" / f"{name}-inferred.md"
    if os.environ.get("UPDATE_DOCS"):
        path.write_text(wanted, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == wanted, "run UPDATE_DOCS=1 pytest of this file"


def test_inference_is_a_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("optuna")
    out = tmp_path / "out"
    options = ["--infer", "--trials", "4", "--runs", "1", "--confirm", "2", "--out", str(out)]
    assert farlink("study", "omueti2007", *options, "--quiet") == 0
    assert (out / "inferred.json").is_file()
    text = (out / "inferred.md").read_text(encoding="utf-8")
    assert text.startswith("# What the authors probably ran: M. Omueti and Lj. Trajkovic 2007")
    assert "| held out | inferred |" in text
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["omueti2007", "--trials", "5"], "--trials has no effect without --infer"),
        (["--all", "--infer"], "--infer is of one study; name it instead of --all"),
    ],
)
def test_wrong_options_are_refused(
    options: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert farlink("study", *options) == 2
    assert message in capsys.readouterr().err


def test_a_study_that_leaves_nothing_open_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("farlink.studies.inference.search.keys", lambda *_: [])
    with pytest.raises(fl.ScenarioError, match="vatne2006 has no unknowns with printed cells"):
        infer("vatne2006", trials=12)


def test_infer_checks_its_numbers() -> None:
    with pytest.raises(fl.ScenarioError, match="trials"):
        infer("omueti2007", trials=1)
