"""Tests that records of studies are complete, and that a run gives a page and verdicts."""

import json
import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

import pandas as pd
import pytest
from matplotlib.figure import Figure

import farlink as fl
from farlink import cli, studies
from farlink.studies import index
from farlink.studies.archive import StudyResult
from farlink.studies.cache import Cell, SimulationCache
from farlink.studies.draw import draw, numbers
from farlink.studies.judge import Finding, Judgement, judge, level_of
from farlink.studies.model import Change, Model
from farlink.studies.outcome import count, headline, summary
from farlink.studies.page import document, render
from farlink.studies.quantity import LEVEL, Quantity, Verdict, fact
from farlink.studies.runner import Step, run_study
from farlink.studies.select import select
from farlink.studies.study import Claim, Curves, Drawing, Registry, Study, Table


def farlink(*arguments: str) -> int:
    with pytest.raises(SystemExit) as stopped:
        cli.main(list(arguments))
    assert isinstance(stopped.value.code, int)
    return stopped.value.code


# A study of two losses on a short link, with everything that a study can have.

RECORD: Mapping[str, Any] = {
    "study": {
        "id": "toy2020",
        "author": "A. B. Toy",
        "year": 2020,
        "title": "Two losses",
        "published": "Nowhere",
        "summary": "Which loss hurts?",
    },
    "model": {
        "links": [
            {
                "name": "link",
                "between": ["a", "b"],
                "down": {"rate": "1 Mbit/s", "delay": "20 ms"},
                "up": {"rate": "1 Mbit/s", "delay": "20 ms"},
            }
        ],
        "flows": [{"name": "file", "from": "a", "to": "b", "app": "file", "size": "200 kB"}],
    },
    "point": {"args": ["loss"]},
    "factors": {
        "loss": {"doc": "loss", "path": "links.link.down.channel.loss", "absent": 0.0},
        "delay": {"doc": "delay", "path": "links.link.down.delay", "write": "{:g} ms"},
        "side": {
            "doc": "who sends",
            "values": {"b": {"flows.file.from": "b", "flows.file.to": "a"}},
            "absent": "a",
        },
    },
    "measures": {
        "thr": {"doc": "goodput", "of": "file.goodput", "label": "goodput (kbit/s)", "scale": 1e-3},
        "share": {"doc": "again", "of": "file.segments_retransmitted / file.segments_sent"},
        "used": {"doc": "use", "of": "link.down.utilisation", "sets": {"delay": 40}},
    },
    "constants": {"LOSSES": [0.0, 0.02, 0.2]},
    "reading": [
        {"id": "40 ms", "doc": "Twice the delay.", "sets": {"links.link.down.delay": "40 ms"}}
    ],
    "mutant": [
        {
            "id": "no loss",
            "doc": "Nothing is lost.",
            "ignores": ["loss"],
            "turns": ["toy2020.fig1.1.loss_hurts", "toy2020.sec2.rate"],
        },
        {
            "id": "constants",
            "doc": "No TCP.",
            "constants": {"thr": 5e5, "share": 0.1},
            "silent": True,
        },
    ],
    "figure": [
        {
            "id": "fig1.1",
            "title": "Goodput <and loss>",
            "where": "Fig. 1.1, p. 3",
            "numbers": ["0 %: 8 Mbit/s"],
            "y": "thr",
            "x": "loss",
            "over": "LOSSES",
            "x_label": "loss (%)",
            "x_scale": 100,
            "y_range": [0, 1200],
            "series": {"TCP": {}},
        },
        {"id": "fig1.10", "title": "A trace", "where": "Fig. 1.10"},
        {"id": "fig1.2", "title": "Layers", "where": "Fig. 1.2", "content": "three boxes"},
    ],
    "table": [{"id": "table1.1", "title": "Rates", "where": "Table 1.1"}],
    "claim": [
        {
            "id": "toy2020.fig1.1.loss_hurts",
            "figure": "fig1.1",
            "says": "Loss hurts.",
            "where": "p. 3",
            "order": "thr(0.0) > thr(0.2)",
            "published": "8 and 4 Mbit/s",
        },
        {
            "id": "toy2020.fig1.1.loss_helps",
            "figure": "fig1.1",
            "says": "Loss helps.",
            "where": "p. 4",
            "order": "not thr(0.0) > thr(0.2)",
            "strength": "doubtful",
            "cause": "It was printed upside down.",
        },
        {
            "id": "toy2020.sec2.twice",
            "says": "8 Mbit/s without loss, more than with it.",
            "where": "s. 2",
            "order": "thr(0.0) > thr(0.2)",
            "number": "abs(thr(0.0) - 8e6) <= 1e5",
            "compare": [{"what": "goodput", "published": 8e6, "unit": "bit/s", "ours": "thr(0.0)"}],
        },
        {
            "id": "toy2020.sec2.rate",
            "says": "1 Mbit/s.",
            "where": "s. 2",
            "number": "rate() == 1",
            "calibration": True,
        },
        {"id": "toy2020.sec3.moon", "says": "And the Moon.", "where": "s. 3", "untested": "far"},
    ],
    "precision": [
        {
            "of": "goodput",
            "tolerance": "100 kbit/s",
            "why": "half of the last digit",
            "where": "p. 1",
        }
    ],
    "choice": [
        {
            "item": "delay",
            "says": "nothing",
            "ours": "20 ms",
            "why": "short",
            "calibration": True,
            "on": ["toy2020.sec2.rate"],
        }
    ],
}

REGISTRY = Registry()


@REGISTRY.figure("fig1.10")
def _trace(_: Model) -> Drawing:
    rows = {"time": [0.0, 20.0]}
    return Drawing(Figure(), {"times": pd.DataFrame(rows)})


@REGISTRY.table("table1.1")
def _rates(_: Model) -> Table:
    return Table(
        ["what", "published", "ours"], [["rate", "1", "1"], ["delay", "1", "2"]], [True, False]
    )


@REGISTRY.function("rate")
def _rate(_: Model) -> float:
    return 1.0


def toy(**changes: object) -> Study:
    # Choices name claims of the whole record.
    fewer: dict[str, object] = {"choice": []} if "claim" in changes else {}
    return Study.of({**RECORD, **fewer, **changes}, REGISTRY)


def claims(*names: str, **keys: Mapping[str, object]) -> list[dict[str, object]]:
    """Return claims of the record by the last part of their ids, with other keys."""
    rows = [row for row in RECORD["claim"] if row["id"].split(".")[-1] in names]
    return [{**row, **keys.get(row["id"].split(".")[-1], {})} for row in rows]


@pytest.fixture(scope="module")
def whole() -> StudyResult:
    return run_study(toy(), SimulationCache(runs=8), readings=True)


# Records.


@pytest.mark.parametrize("name", studies.NAMES)
def test_a_record_and_its_functions_are_whole(name: str) -> None:
    study = studies.find(name)
    assert study.id == name
    assert study.gaps == []
    for claim in study.claims.values():
        assert claim.id.startswith(f"{name}.")
        assert claim.figure or "fig" not in claim.id.split(".")[1]
    assert {"author", "year", "title", "published", "summary"} <= study.record["study"].keys()


@pytest.mark.parametrize("name", studies.NAMES)
def test_causes_name_readings_that_exist(name: str) -> None:
    """Every reading that a cause, a choice or a note names is in the record."""
    study = studies.find(name)
    record = study.record
    texts = [
        (str(row.get("id", row.get("item"))), str(row.get(key, "")))
        for row in [*record["claim"], *record.get("cause", []), *record.get("choice", [])]
        for key in ("cause", "says", "why", "note")
    ]
    named = [
        (place, reading)
        for place, text in texts
        for reading in re.findall(r"\b[Rr]eadings? `?([a-z0-9]+(?:-[A-Za-z0-9]+)+)", text)
    ]
    assert [pair for pair in named if pair[1] not in study.plan.interpretations] == []
    for claim in study.claims.values():
        assert set(claim.shown_by) <= study.plan.interpretations.keys(), claim.id


def test_gaps_lists_entries_without_code_and_code_without_entries() -> None:
    registry = Registry(functions=REGISTRY.functions)
    registry.figure("fig9")(_trace)
    rows = claims("loss_hurts", "moon", moon={"order": "1 < 2"})
    del rows[0]["order"]
    gaps = Study.of({**RECORD, "claim": rows, "choice": [], "mutant": []}, registry).gaps
    assert gaps == [
        "figure fig1.10: no function",
        "figure fig9: no entry",
        "table table1.1: no function",
        "claim toy2020.fig1.1.loss_hurts: neither order nor number",
        "claim toy2020.sec3.moon: untested, and an expression",
    ]
    assert toy().gaps == []


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"table": [{"id": "fig1.1", "title": "", "where": ""}]}, "fig1.1 twice"),
        (
            {"claim": [{"id": "c", "says": "", "where": "", "strength": "sure"}]},
            "c: strength 'sure'",
        ),
        ({"claim": [{"id": "c", "says": "", "where": "", "figure": "fig7"}]}, "no figure 'fig7'"),
        ({"claim": [{"id": "c", "where": ""}]}, "lacks 'says' of c"),
        ({"choice": [{"item": "x", "says": "", "ours": "", "wy": ""}]}, "choice x: wy is no key"),
        ({"choice": [{"item": "x", "says": ""}]}, "lacks 'ours' of choice x"),
        ({"claim": [{"id": "c", "says": "", "where": "", "oder": "1"}]}, "c: oder is no key"),
        ({"claim": [{"id": "c", "says": "", "where": "", "order": "th(0) > 1"}]}, "'th' in"),
        ({"claim": [{"id": "c", "says": "", "where": "", "order": "1 <"}]}, "is no expression"),
        (
            {"claim": [{"id": "c", "says": "", "where": "", "legibility": "so-so"}]},
            "c: legibility is none of text",
        ),
        (
            {"claim": [{"id": "c", "says": "", "where": "", "looks": [1, 4]}]},
            "c: looks are three numbers that grow, the first 1",
        ),
        ({"measures": {"m": {"doc": "", "of": "x", "args": ["w"]}}, "claim": []}, "no factor w"),
        ({"measures": {"m": {"of": "x"}}, "claim": []}, "measure m: it lacks 'doc'"),
        ({"factors": {"f": {"doc": "", "pth": "x"}}, "measures": {}}, "factor f: pth is no key"),
        ({"mutant": [{"id": "m", "doc": "", "hook": "h"}]}, "mutant m: the study has no hook 'h'"),
        ({"mutant": [{"id": "m", "doc": "", "turns": ["c"]}]}, "mutant m: no claim c"),
    ],
)
def test_a_wrong_record_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises((ValueError, fl.ScenarioError), match=message):
        Study.of({**RECORD, **changes}, REGISTRY)


def test_a_function_is_registered_once() -> None:
    registry = Registry()
    registry.function("c")(_rate)
    with pytest.raises(ValueError, match="c is registered twice"):
        registry.function("c")(_rate)


# The model.


def test_a_point_sets_what_its_factors_say() -> None:
    model = toy().model(SimulationCache(runs=2))
    cell = model.cell(0.1, delay=5, side="b")
    assert cell.label == "loss 0.1, delay 5, side b"
    assert cell.scenario["links"][0]["down"] == {
        "rate": "1 Mbit/s",
        "delay": "5 ms",
        "channel": {"loss": 0.1},
    }
    assert cell.scenario["flows"][0]["from"] == "b"
    assert "channel" not in model.cell(0.0).scenario["links"][0]["down"]
    assert RECORD["model"]["links"][0]["down"]["delay"] == "20 ms"


@pytest.mark.parametrize(
    ("args", "factors", "message"),
    [
        ((0.1, 2), {}, "2 values for the factors loss"),
        ((0.1,), {"los": 1}, "factor 'los' is not known; there are loss, delay, side"),
        ((0.1,), {"loss": 1}, "factor 'loss' is said twice"),
        ((0.1,), {"side": "c"}, "factor side: 'c' is none of b"),
    ],
)
def test_a_wrong_point_is_refused(
    args: tuple[float, ...], factors: dict[str, Any], message: str
) -> None:
    with pytest.raises(fl.ScenarioError, match=message):
        toy().model(SimulationCache(runs=2)).cell(*args, **factors)


def test_measures_are_of_flows_links_and_arithmetic() -> None:
    cache = SimulationCache(runs=2)
    model = toy().model(cache)
    cell = model.cell(0.2)
    again, sent = (cache.flow(cell, f"segments_{name}") for name in ("retransmitted", "sent"))
    assert list(model.share(0.2).values) == list((again / sent).values)
    assert list(model.used(0.0).values) == list(
        cache.link(model.cell(0.0, delay=40), "link", "down", "utilisation").values
    )
    with pytest.raises(AttributeError):
        _ = model.unknown


def test_changes_reach_every_point() -> None:
    study = toy()
    cache = SimulationCache(runs=2)
    slow = study.model(cache, study.plan.interpretations["40 ms"])
    assert slow.cell(0.0, delay=5).scenario["links"][0]["down"]["delay"] == "40 ms"
    clean = study.model(cache, study.plan.controls["no loss"])
    assert "channel" not in clean.cell(0.2).scenario["links"][0]["down"]
    none = study.model(cache, study.plan.controls["constants"])
    assert list(none.thr(0.2).values) == [5e5, 5e5]
    assert (none.names["rate"]() > 0).verdict is Verdict.NOT_REPRODUCED
    assert (none.names["rate"]() <= 0).verdict is Verdict.NOT_REPRODUCED
    swapped = Change("s", "", swaps={"down": "up"})
    assert swapped.swapped("up") == "down"
    assert swapped.swapped("down") == "up"
    assert swapped.swapped(3) == 3


# What is asked for.


@pytest.mark.parametrize(
    ("only", "ids"),
    [
        (["fig1.1"], ["fig1.1", "toy2020.fig1.1.loss_hurts", "toy2020.fig1.1.loss_helps"]),
        (["fig1.10"], ["fig1.10"]),
        (["table", "sec2.r"], ["table1.1", "toy2020.sec2.rate"]),
        (["fig1.1.loss_hurts"], ["toy2020.fig1.1.loss_hurts"]),
        (["toy2020.sec"], ["toy2020.sec2.twice", "toy2020.sec2.rate", "toy2020.sec3.moon"]),
    ],
)
def test_only_takes_ids_and_their_beginnings(only: list[str], ids: list[str]) -> None:
    assert [item.item.id for item in select(toy(), only)] == ids


def test_a_beginning_does_not_end_within_a_number() -> None:
    kinds = [item.kind for item in select(toy(), ["fig1"])]
    assert kinds == ["figure", "claim", "claim", "figure", "figure"]
    with pytest.raises(fl.ScenarioError, match=r"did you mean fig1\.10"):
        select(toy(), ["ffig1.10"])
    with pytest.raises(fl.ScenarioError, match="--only sec: "):
        select(studies_without_sections(), ["sec"])


def studies_without_sections() -> Study:
    return toy(claim=RECORD["claim"][:2], mutant=[])


def test_quick_leaves_out_entries_marked_full() -> None:
    table = {"id": "table1.1", "title": "Rates", "where": "Table 1.1", "full": True}
    study = toy(table=[table])
    assert "table1.1" in [item.item.id for item in select(study, None)]
    assert "table1.1" not in [item.item.id for item in select(study, None, quick=True)]
    assert [item.item.id for item in select(study, ["table1.1"], quick=True)] == ["table1.1"]


# Running.


def test_a_run_makes_everything(whole: StudyResult) -> None:
    assert whole.summary == (
        "1 order met, number missed; 1 order met, no number; 1 not met; 1 untested. "
        "Calibration checks apart: 1 fact"
    )
    assert whole.failures == []
    assert set(whole.made) == {"fig1.1", "fig1.10", "fig1.2", "table1.1"}
    assert whole.verdicts["verdict"].to_dict() == {
        "toy2020.fig1.1.loss_hurts": "reproduced",
        "toy2020.fig1.1.loss_helps": "not reproduced",
        "toy2020.sec2.twice": "order only",
        "toy2020.sec2.rate": "reproduced",
        "toy2020.sec3.moon": "untested",
    }
    assert whole.verdicts["p_for"].iloc[0] < 0.025
    hurts = whole.judgements[0]
    assert list(hurts.findings) == ["as chosen", "40 ms"]
    assert hurts.key.startswith("thr(loss 0) = ")
    twice = whole.judgements[2]
    assert re.search(r"goodput is 0\.1\d? times the published 8e\+06$", twice.key)
    # Three points under the first reading and two under the second, each once.
    assert whole.simulated_runs == 8 * (3 + 2)


def test_quick_has_fewer_points_and_one_setting() -> None:
    steps: list[Step] = []
    result = run_study(
        toy(), SimulationCache(runs=6, quick=True), only=["fig1.1"], watch=steps.append
    )
    curves = result.made["fig1.1"].content
    assert isinstance(curves, Curves)
    assert curves.x == [0.0, 20.0]
    assert list(result.judgements[0].findings) == ["as chosen"]
    assert result.simulated_runs == 12
    # The plan counts each point once, although several claims use it.
    assert [(step.cells, step.runs, step.done, step.total) for step in steps] == [(2, 12, 0, 12)]
    assert result.command == "farlink study toy2020 --only fig1.1 --quick --runs 6 --seed 1"


def test_cells_share_their_runs() -> None:
    cache = SimulationCache(runs=2)
    item, twice = Cell("x", _scenario()), Cell("x", _scenario(), runs=2)
    few = list(cache.flow(item, "goodput").values)
    many = list(cache.flow(twice, "goodput").values)
    assert cache.simulated_runs == 4
    assert len(many) == 4
    assert many[:2] == few
    assert list(cache.flow(item, "goodput").values) == few
    assert len(SimulationCache(runs=2, quick=True).flow(twice, "goodput").values) == 2


def test_numbers_of_links_and_traces() -> None:
    cache = SimulationCache(runs=2)
    cell = Cell("x", _scenario())
    assert cache.link(cell, "a-b", "down", "packets").mean > 30
    with pytest.raises(KeyError, match="x: a run has no link b-a down packets"):
        cache.link(cell, "b-a", "down", "packets")
    with pytest.raises(KeyError, match="x: a run has no flow 0 goodpud"):
        cache.flow(cell, "goodpud")
    events = cache.events
    assert cache.trace(cell, "cwnd", run=1)["cwnd"].max() > 0
    assert cache.events > events
    assert cache.events > 0


def _scenario() -> dict[str, Any]:
    link = {
        "between": ["a", "b"],
        "down": {"rate": "1 Mbit/s", "delay": "5 ms", "channel": {"loss": 0.01}},
        "up": {"rate": "1 Mbit/s", "delay": "5 ms"},
    }
    return {"links": [link], "flows": [{"from": "a", "to": "b", "app": "file", "size": "50 kB"}]}


def test_planned_cells_end_at_the_first_request_for_a_trace() -> None:
    cache = SimulationCache(runs=2)

    def needs_numbers(cache: SimulationCache) -> None:
        model = toy().model(cache)
        model.thr(0.0)
        cache.trace(Cell("x", _scenario()), "cwnd")
        model.thr(0.2)

    assert [cell.label for cell in cache.planned(needs_numbers)] == ["loss 0"]
    assert cache.simulated_runs == 0


def test_a_failing_claim_or_figure_is_reported_and_the_others_are_made() -> None:
    registry = Registry(
        figures={"fig1.10": _broken}, tables=REGISTRY.tables, functions={"rate": _broken}
    )
    study = Study.of(RECORD, registry)
    result = run_study(study, SimulationCache(runs=2), only=["fig1.10", "sec2.rate", "table"])
    assert result.failures == [
        "fig1.10: KeyError: 'no such thing'",
        "toy2020.sec2.rate: KeyError: 'no such thing'",
    ]
    assert result.verdicts["verdict"].tolist() == ["failed"]
    assert isinstance(result.made["table1.1"].content, Table)
    assert "<b>Failed:</b> fig1.10: KeyError" in render(result, {})


def test_a_wrong_scenario_is_a_failure_of_its_claim() -> None:
    rows = claims("loss_hurts", "loss_helps", loss_helps={"order": "thr(7.0) > 0"})
    result = run_study(toy(claim=rows, mutant=[]), SimulationCache(runs=6), only=["fig1.1"])
    assert result.verdicts["verdict"].tolist() == ["reproduced", "failed"]
    (line,) = result.failures
    assert line.startswith("toy2020.fig1.1.loss_helps: ScenarioError: ")
    assert isinstance(result.made["fig1.1"].content, Curves)


def test_an_undecided_claim_gets_more_runs() -> None:
    """Runs are doubled at most twice until the claim is decided; all analyses keep the level."""
    rows = claims("loss_hurts", loss_hurts={"order": "thr(0.02, side='b') > thr(0.02)"})
    result = run_study(
        toy(claim=rows, mutant=[], reading=[]), SimulationCache(runs=2), only=["fig1.1.loss_hurts"]
    )
    (values,) = result.judgements[0].findings.values()
    assert values.runs == 8
    rows[0]["looks"] = [1, 3, 9]
    longer = run_study(
        toy(claim=rows, mutant=[], reading=[]), SimulationCache(runs=2), only=["fig1.1.loss_hurts"]
    )
    assert longer.judgements[0].findings["as chosen"].runs == 18
    assert [level_of(3, k) for k in range(3)] == [LEVEL / 2, LEVEL / 4, LEVEL / 4]
    assert level_of(1, 0) == LEVEL


def test_a_chosen_reading_gives_the_verdicts() -> None:
    result = run_study(
        toy(), SimulationCache(runs=2), only=["sec2.twice"], reading="40 ms", readings=True
    )
    assert [reading.id for reading in result.readings] == ["40 ms", "as chosen"]
    assert "--reading '40 ms' --readings" in result.command
    with pytest.raises(fl.ScenarioError, match="no such reading; write 'as chosen', '40 ms'"):
        run_study(toy(), SimulationCache(runs=2), reading="4 ms")


def test_negative_controls_refute_claims_that_hold(tmp_path: Path) -> None:
    cache = SimulationCache(runs=6, quick=True)
    result = run_study(toy(), cache, only=["fig1.1", "sec2"], mutants=True)
    clean, none = result.mutations
    assert "toy2020.fig1.1.loss_hurts" in clean.turned(result.judgements)
    assert clean.unnoticed == ["toy2020.sec2.rate"]
    # Only claims that hold under the right model are judged under a wrong one; constants judge all.
    held = [j.claim.id for j in result.judgements if j.status == "reproduced"]
    assert [j.claim.id for j in clean.judgements] == held
    assert len(none.judgements) == len(result.judgements)
    # With constants no value exceeds another, so claims of no difference hold.
    assert none.green == ["toy2020.fig1.1.loss_helps"]
    page = render(result, {})
    assert "Nothing is lost." in page
    assert "toy2020.sec2.rate</td></tr>" in page
    result.save(tmp_path)
    saved = json.loads((tmp_path / "verdicts.json").read_text(encoding="utf-8"))
    assert saved["mutants"][0]["unnoticed"] == ["toy2020.sec2.rate"]


def _broken(_: object) -> NoReturn:
    raise KeyError("no such thing")


def test_calibration_is_counted_apart() -> None:
    holds = {"": Finding(fact(holds=True, detail=""), None)}
    claims = [Judgement(Claim("a", "", "", {}, calibration=True), holds)] * 2
    assert summary(claims) == "no claims. Calibration checks apart: 2 fact"
    assert judge(Claim("a", "", "", {}, untested="why"), {}, [2]).key == "why"


# Figures and pages.


def test_the_numbers_of_a_figure(whole: StudyResult) -> None:
    curves = whole.made["fig1.1"].content
    assert isinstance(curves, Curves)
    table = numbers(curves)
    assert table["loss (%)"].tolist() == [0.0, 2.0, 20.0]
    first = curves.series["TCP"][0]
    assert first is not None
    assert table["mean"][0] == first.mean
    assert table["n"].tolist() == [8, 8, 8]
    assert set(table["unit"]) == {"bit/s"}


def test_a_figure_has_marks_bars_and_the_published_range(whole: StudyResult) -> None:
    curves = whole.made["fig1.1"].content
    assert isinstance(curves, Curves)
    (axes,) = draw(curves, "heading", "fine print").axes
    marks = axes.containers[0][0]
    quantities = [tcp for tcp in curves.series["TCP"] if tcp is not None]
    assert marks.get_ydata().tolist() == [1e-3 * quantity.mean for quantity in quantities]
    assert axes.get_ylim()[1] >= 1200
    assert [text.get_text() for text in axes.texts] == ["published axis, 0 to 1200"]


def test_a_figure_ends_near_the_published_range() -> None:
    values = [Quantity([1.0, 2.0, 3.0], "x"), Quantity([1e4, 2e4, 3e4], "x")]
    (axes,) = draw(Curves([1, 2], "x", "y", {"a": values}, y_range=(0, 5)), "").axes
    assert axes.get_ylim() == (0, 10)
    (axes,) = draw(Curves([1, 2], "x", "y", {"a": values}), "").axes
    assert axes.get_ylim()[1] > 2e4


def test_points_without_a_value_are_left_out() -> None:
    values = [None, Quantity([math.nan] * 3, "x"), Quantity([1.0, 2.0, 3.0], "x")]
    curves = Curves([1, 2, 3], "x", "y", {"a": values, "b": values}, log_y=True)
    (axes,) = draw(curves, "").axes
    assert axes.containers[0][0].get_xdata().tolist() == [3]
    assert axes.get_yscale() == "log"
    assert numbers(curves)["n"].tolist() == [0, 3, 0, 3]


def test_the_page_is_whole_and_escaped(whole: StudyResult, tmp_path: Path) -> None:
    written = whole.save(tmp_path)
    names = {str(path.relative_to(tmp_path)) for path in written}
    assert names == {
        *(f"figures/{name}" for name in ("fig1.1.png", "fig1.1.svg", "fig1.1.csv")),
        *(f"figures/{name}" for name in ("fig1.10.png", "fig1.10.svg", "fig1.10.csv")),
        "tables/table1.1.csv",
        "verdicts.csv",
        "verdicts.json",
        "index.html",
    }
    page = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert page.count('src="data:image/svg+xml;base64,') == 2
    assert "http" not in page.replace("http://www.w3.org", "")
    assert "Goodput &lt;and loss&gt;" in page
    for text in (
        'alt="Fig. 1.1, p. 3: Goodput &lt;and loss&gt;"',
        "<h3>Fig. 1.10 of Toy 2020: A trace</h3>",
        "8 and 4 Mbit/s",
        "0 %: 8 Mbit/s",
        "It was printed upside down.",
        "Not made again: three boxes",
        "differs",
        "<th>as chosen</th><th>40 ms</th>",
        "<code>thr(0.0) &gt; thr(0.2)</code>",
        "published axis: 0 to 1200",
        "figures/fig1.1.csv",
        "it is a check and no evidence",
        "<dd>doubtful</dd>",
        "farlink study toy2020 --readings --runs 8 --seed 1",
        whole.summary,
    ):
        assert text in page, text
    assert "A quick look" not in page
    saved = json.loads((tmp_path / "verdicts.json").read_text(encoding="utf-8"))
    assert saved == json.loads(json.dumps(document(whole)))
    assert saved["verdicts"][0]["findings"]["40 ms"]["verdict"] == "reproduced"
    (row,) = saved["verdicts"][2]["findings"]["as chosen"]["compare"]
    assert row["published"] == 8e6
    assert 0 < row["ratio"] < 0.13
    rows = pd.read_csv(tmp_path / "tables" / "table1.1.csv")
    assert rows["agrees"].tolist() == [True, False]


# The command.


def test_the_index_has_the_outcomes_of_all_studies(whole: StudyResult, tmp_path: Path) -> None:
    page = index.write([whole], tmp_path).read_text(encoding="utf-8")
    assert headline(count(whole.judgements)) in page
    for text in (
        "<th>order met, number missed</th>",
        "<td>delay</td><td>20 ms</td><td>toy2020.sec2.rate</td>",
        "<td>goodput</td><td>100 kbit/s</td><td>half of the last digit (p. 1)</td>",
        "Of 0 claims with a printed number that runs measure, no choice of the model has used 0; ",
    ):
        assert text in page, text


def test_studies_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert farlink("study") == 0
    assert "wong1998" in capsys.readouterr().out
    assert farlink("study", "wong1998", "--list", "--only", "fig4.17") == 0
    out = capsys.readouterr().out
    assert "wong1998.fig4.17.rlp_best_high_per" in out
    assert "fig4.16" not in out


def test_the_command_ends_with_verdicts_and_a_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    options = ["--only", "fig4.17", "--quick", "--runs", "2", "--out", str(out)]
    assert farlink("study", "wong1998", *options) == 0
    shown, err = capsys.readouterr()
    # Only lines of progress, and no warning.
    assert all(line.startswith("farlink: fig") and " of " in line for line in err.splitlines())
    assert "fig4.17.rlp_best_high_per" in shown
    assert "claims: " in shown
    assert "wong1998, seed 1, 2 runs of a point, quick; " in shown
    assert (out / "index.html").is_file()
    table = pd.read_csv(out / "figures" / "fig4.17.csv")
    assert set(table["series"]) == {"LAPB", "CDPD MDLP", "RLP"}
    saved = json.loads((out / "verdicts.json").read_text(encoding="utf-8"))
    (best,) = (row for row in saved["verdicts"] if row["id"].endswith("rlp_best_high_per"))
    assert set(best["findings"]) == {"as chosen"}
    assert saved["failures"] == []


def test_a_failure_is_exit_code_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    study = studies.find("wong1998")
    claim = "wong1998.fig4.17.rlp_best_high_per"
    monkeypatch.setattr(study.claims[claim].order, "evidence", _broken)
    options = ["--only", claim, "--runs", "2", "--out", str(tmp_path), "--quiet"]
    assert farlink("study", "wong1998", *options) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err == f"farlink: failed: {claim}: KeyError: 'no such thing'\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["wong1989"], "study 'wong1989' is not known; did you mean wong1998?"),
        (
            ["wong1998", "--only", "fig4.71"],
            "has no such figure, table or claim; did you mean ",
        ),
        (["wong1998", "--only", "fig4.17,"], "a name is empty; write --only fig4.17,table3.6"),
        (["wong1998", "--runs", "1"], "runs is 1; write 2 to 1000000: one run decides nothing"),
        (["wong1998", "--jobs", "0"], "jobs is 0; write 1 to 1024"),
        (["wong1998", "--seed", "-1"], "seed is -1; write 0 to 18446744073709551615"),
        (["wong1998", "--seed", "x"], "Invalid value for '--seed'"),
        (["wong1998", "--out", "FILE"], "is not a directory"),
    ],
)
def test_errors_are_one_line(
    arguments: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "file"
    file.write_text("", encoding="utf-8")
    words = [str(file) if word == "FILE" else word for word in arguments]
    assert farlink("study", *words) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("farlink: ")
    assert err.count("\n") == 1
    assert message in err


def test_from_python() -> None:
    result = fl.study("wong1998", only="fig4.17.rlp_lower_low_per", quick=True, runs=2)
    assert repr(result).startswith("<farlink.StudyResult wong1998: ")
    assert result.verdicts["strength"].tolist() == ["strong"]
    assert result.figures == {}


def test_the_former_name_of_a_models_cache_warns() -> None:
    model = Model.__new__(Model)
    cache = model.cache = SimulationCache.__new__(SimulationCache)
    with pytest.warns(DeprecationWarning, match=r"model\.cache"):
        assert model.lab is cache
