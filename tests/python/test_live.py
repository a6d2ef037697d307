"""Tests of live points that need no real packets: records and judging."""

import copy
import os
from collections.abc import Mapping
from typing import Any

import pytest

from farlink import cli, studies
from farlink.comparison import _tree
from farlink.errors import ScenarioError
from farlink.studies.cache import SimulationCache
from farlink.studies.live import LiveCache, LiveRow, NotLiveError, Plan, Point, _Request, judged
from farlink.studies.live_run import Run
from farlink.studies.model import Model
from farlink.studies.quantity import Quantity
from farlink.studies.study import Registry, Study

RECORD: dict[str, Any] = {
    "study": {"id": "toy2020"},
    "model": {
        "links": [{"name": "link", "between": ["a", "b"], "down": {"rate": "1 Mbit/s"}}],
        "flows": [{"name": "file", "from": "a", "to": "b", "app": "file", "size": "40 kB"}],
    },
    "point": {"args": ["rate"]},
    "factors": {"rate": {"doc": "", "path": "links.link.down.rate", "write": "{:g} Mbit/s"}},
    "measures": {
        "thr": {"doc": "", "of": "file.goodput"},
        "timeouts": {"doc": "", "of": "file.timeouts"},
        "lost": {"doc": "", "of": "link.down.drops"},
        "packets": {"doc": "", "of": "link.down.packets"},
    },
    "live": {
        "doc": "",
        "measures": ["thr"],
        "points": [{"says": {"rate": [1, 2]}, "published": {"thr": [10, 20]}}],
    },
    "claim": [
        {"id": "order", "where": "", "says": "", "order": "thr(2) > thr(1)"},
        {"id": "number", "where": "", "says": "", "order": "thr(2) > 0", "number": "thr(2) < 15"},
        {"id": "wrong", "where": "", "says": "", "order": "timeouts(1) > 2"},
        {"id": "packets", "where": "", "says": "", "order": "packets(1) > 20"},
        {"id": "drops", "where": "", "says": "", "order": "lost(1) == 0"},
        {"id": "fast", "where": "", "says": "", "order": "thr(2) > thr(3)"},
        {"id": "fact", "where": "", "says": "", "order": "even(2)"},
        {"id": "traced", "where": "", "says": "", "order": "longest(2) > 1"},
        {"id": "broken", "where": "", "says": "", "order": "thr(2) > broken()"},
    ],
}


def study(**live: Any) -> Study:  # noqa: ANN401 (any value of TOML)
    registry = Registry()
    registry.function("even")(lambda _model, x: x % 2 == 0)

    @registry.function("longest")
    def longest(model: Model, rate: float) -> float:
        return float(model.cache.trace(model.cell(rate), "cwnd")["cwnd"].max())

    @registry.function("broken")
    def broken(_model: Model) -> float:
        raise ZeroDivisionError("nothing")

    record = copy.deepcopy(RECORD)
    record["live"] |= live
    return Study.of(record, registry)


def run(goodput: float, timeouts: float = 0, packets: float = 30) -> Run:
    links: Mapping[str, Mapping[str, float | None]]
    links = {"link.down": {"drops": 0.0, "packets": packets}}
    return Run({"goodput": goodput, "timeouts": timeouts}, links, 1e-4)


def cache(of: Study, **runs: list[Run]) -> LiveCache:
    model = of.model(SimulationCache(runs=2))
    measured = {model.cell(int(name[1:])).key: got for name, got in runs.items()}
    return LiveCache(6, 1, measured)


def test_claims_are_judged_on_live_numbers_and_on_nothing_else() -> None:
    """Only claims about live numbers are judged on live numbers.

    Not judged are claims that need another point, a trace or a measure that the emulator counts
    differently, and claims without a measurement.
    """
    of = study()
    live = cache(
        of,
        r1=[run(10 + k / 10) for k in range(6)],
        r2=[run(20 + k / 10) for k in range(6)],
    )
    table = {item.claim.id: item.status for item in judged(of, list(of.claims.values()), live)}
    assert table == {
        "order": "reproduced",
        "number": "order only",
        "wrong": "not reproduced",
        "packets": "reproduced",
        "broken": "failed",
    }


def test_live_runs_that_scatter_decide_nothing() -> None:
    of = study()
    live = cache(of, r1=[run(x) for x in (10, 30, 20)], r2=[run(x) for x in (20, 10, 35)])
    (item,) = judged(of, [of.claims["order"]], live)
    assert item.status == "undecided"


def test_a_live_cache_simulates_nothing() -> None:
    of = study()
    with pytest.raises(NotLiveError):
        of.model(cache(of)).measure("thr", 1)


def test_lists_of_a_point_are_all_combinations() -> None:
    first, second = Plan.of(study()).points
    assert (first.settings, first.published) == ({"rate": 1}, {"thr": 10})
    assert (second.settings, second.published) == ({"rate": 2}, {"thr": 20})


@pytest.mark.parametrize(
    ("live", "message"),
    [
        ({"seconds": 1}, "live: seconds is no key"),
        ({"measures": ["speed"]}, "no measure 'speed'"),
        ({"points": [{"says": {"size": 1}}]}, "no factor size"),
        ({"points": [{"sender": "reno"}]}, "sender is no key"),
        ({"points": [{"says": {"rate": [1, 2]}, "published": {"thr": [1]}}]}, "1 published values"),
        ({"points": [{"says": {"rate": 1}, "published": {"timeouts": [1]}}]}, "none of the meas"),
        ({"points": []}, "no points"),
    ],
)
def test_a_wrong_live_table_is_refused(live: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Plan.of(study(**live))


def test_the_matched_simulation_has_the_settings_of_the_live_sender() -> None:
    """A kernel is simulated by the profile `linux`, and a missing one by the study's own TCP."""
    of = studies.find("west1997")
    model = of.model(SimulationCache(runs=2))
    table = {"scheme": "snoop", "err": "bit64k"}
    kernel = _Request(Point(table, "reno"), model, 7)
    assert kernel.scenario["tcp"] == {"profile": "linux", "variant": "reno"}
    assert kernel.scenario["seed"] == 7
    assert [agent["kind"] for agent in kernel.scenario["agents"]] == ["snoop"]
    assert kernel.scenario["flows"][0]["opens"] == "receiver"
    assert not kernel.note
    lacking = _Request(Point(table, "nosuchtcp"), model, 7)
    assert "no nosuchtcp" in lacking.note
    assert lacking.sender == "farlink"
    assert lacking.scenario["tcp"] == model.cell(**table).scenario["tcp"]


@pytest.mark.parametrize(
    ("simulated", "live", "message"),
    [
        ([10, 10, 10, 50], [10, 10, 10], "1 ± 0, within 5 %"),
        ([10, 11], [20, 22, 21], "2 ± 0, differs"),
        ([0, 0, 4], [0, 1], ""),
    ],
)
def test_live_and_simulated_are_compared_over_the_runs_that_both_have(
    simulated: list[float], live: list[float], message: str
) -> None:
    """More runs are simulated than emulated, and counts may be 0 in all runs of both."""
    matched, real = Quantity(simulated, "simulated"), Quantity(live, "live")
    row = LiveRow("", "", "", None, None, matched, real, 0.0)
    assert row.verdict == message


def test_a_comparison_keeps_agents() -> None:
    """Without its agents a scenario would compare snoop's path with a path without snoop."""
    agents = [{"at": "r", "wireless": "air", "kind": "snoop"}]
    lan = {"between": ["a", "r"], "down": {"rate": "10 Mbit/s", "delay": "1 ms"}}
    air = {"name": "air", "between": ["r", "b"], "down": {"rate": "1 Mbit/s", "delay": "1 ms"}}
    flows = [{"from": "a", "to": "b", "app": "file", "size": "40 kB"}]
    tree, amount = _tree({"links": [lan, air], "flows": flows, "agents": agents}, None, None, None)
    assert amount == 40_000
    assert [agent["kind"] for agent in tree["agents"]] == ["snoop"]


@pytest.mark.parametrize("name", ["west1997", "vatne2006"])
def test_live_points_of_studies_are_scenarios(name: str) -> None:
    of = studies.find(name)
    model = of.model(SimulationCache(runs=2))
    for point in Plan.of(of).points:
        assert model.cache.text(model.cell(**point.settings))


def test_a_study_without_live_points_says_so() -> None:
    with pytest.raises(ScenarioError, match="wong1998 has no points"):
        Plan.of(studies.find("wong1998"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["wong1998", "--live"], "has no points with real packets"),
        (["--all", "--live"], "--live is of one study"),
        (["west1997", "--live-runs", "3"], "--live-runs has no effect without --live"),
        (["west1997", "--live", "--live-runs", "1"], "--live-runs is 1; write 2 to 1000"),
    ],
)
def test_wrong_options_are_a_line(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stopped:
        cli.main(["study", *arguments])
    assert stopped.value.code == 2
    assert message in capsys.readouterr().err


@pytest.mark.skipif(os.geteuid() == 0, reason="root may emulate")
def test_without_root_it_is_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        cli.main(["study", "west1997", "--live", "--quiet"])
    assert stopped.value.code == 2
    assert len(capsys.readouterr().err.splitlines()) == 1
