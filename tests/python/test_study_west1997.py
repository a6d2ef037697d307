"""West and Vaidya 1997: the model against closed forms, scripted losses, and wrong models."""

import copy
import math

import numpy as np
import pytest

from farlink.studies.cache import SimulationCache
from farlink.studies.expression import Expression
from farlink.studies.grid import grid
from farlink.studies.model import Model
from farlink.studies.quantity import Quantity
from farlink.studies.west1997 import STUDY
from farlink.studies.west1997.hooks import OTHER_BITS_PER_S
from farlink.studies.west1997.registry import REGISTRY


@pytest.fixture(scope="module")
def west() -> Model:
    return STUDY.model(SimulationCache(runs=2, jobs=1, quick=True))


def value(model: Model, text: str) -> Quantity:
    """Evaluate an expression of the record."""
    result: Quantity = Expression(text, "a test").value(model.names)
    return result


def test_the_testbeds_without_errors_are_those_of_the_report(west: Model) -> None:
    # Tables 1 and 3, and section 5.1: what the links were fitted to.
    assert west.time("reno", "none").mean == pytest.approx(9.770, abs=0.016)
    assert west.time("reno", "none", net="low").mean == pytest.approx(138.1, abs=0.43)
    assert west.thr("reno", "none", net="wan").mean == pytest.approx(60.75, abs=0.25)


def test_errors_come_as_often_as_the_bytes_of_packets_say(west: Model) -> None:
    # 1402 packets of 1500 bytes, one error in 64 KiB: 32.1.
    cache = SimulationCache(runs=40, jobs=1, quick=True)
    losses = STUDY.model(cache).losses("snoop", "bit64k").mean
    assert losses == pytest.approx(1402 * 1500 / 65536, abs=3 * math.sqrt(32 / 40))


def test_every_scheme_runs_to_the_end_over_both_links(west: Model) -> None:
    for scheme in STUDY.plan.factors["scheme"].values:
        for net in ("lan", "low"):
            cell = west.cell(scheme, "bit64k", net=net, size="100 kB")
            assert west.cache.flow(cell, "completed").mean == 1, scheme


@pytest.mark.parametrize(
    "claim",
    [
        *("s33.scenario1", "s33.scenario2", "s33.scenario3", "s34.ackp_side_effect_free"),
        *("s2.duplicate_acks", "s2.tahoe", "s2.sack_example", "s2.sack_multi_per_rtt"),
        *("s2.newreno_equals_reno_single_loss", "s2.newreno_one_reduction", "s32.negotiation"),
    ],
)
def test_definitions_hold_exactly(west: Model, claim: str) -> None:
    order = STUDY.claims[f"west1997.{claim}"].order
    assert order is not None
    result = order.evidence(west.names)
    assert (result.p_for, result.p_against) == (0.0, 1.0)


@pytest.mark.parametrize(
    ("control", "claim"),
    [
        ("NewReno for Reno", "s2.newreno_one_reduction"),
        ("NewReno leaves with what is in flight", "s2.newreno_equals_reno_single_loss"),
        ("fast retransmit off", "s2.newreno_one_reduction"),
    ],
)
def test_a_wrong_model_of_recovery_is_noticed(control: str, claim: str) -> None:
    model = STUDY.model(SimulationCache(runs=2, quick=True), STUDY.plan.controls[control])
    order = STUDY.claims[f"west1997.{claim}"].order
    assert order is not None
    assert order.evidence(model.names).p_against == 0.0


def test_the_local_timer_starts_at_the_cache_of_the_lan(west: Model) -> None:
    def starts(change: str, net: str, scheme: str) -> list[object]:
        model = STUDY.model(west.cache, STUDY.plan.interpretations[change])
        scenario = dict(model.cell(scheme, "bit64k", net=net).scenario)
        distances = {
            link[way]["channel"]["byte_errors"]["distance"]
            for link in scenario["links"]
            if link["name"] == "wavelan"
            for way in ("down", "up")
        }
        timers = [agent.get("timer_from", "departure") for agent in scenario.get("agents", [])]
        return [*timers, *distances]

    for scheme in ("snoop", "ackp"):
        assert starts("as chosen", "lan", scheme) == ["arrival", "64 KiB"]
        assert starts("as chosen", "low", scheme) == ["departure", "64 KiB"]
        assert starts("timer-from-caching", "low", scheme) == ["arrival", "64 KiB"]
        assert starts("timer-from-departure", "lan", scheme) == ["departure", "64 KiB"]
        assert starts("errors-of-table-1", "lan", scheme) == ["arrival", "52736 B"]
    assert starts("errors-of-table-1", "lan", "reno") == ["64 KiB"]


def test_acks_pass_during_the_delay_on_the_slow_link_alone(west: Model) -> None:
    model = STUDY.model(west.cache, STUDY.plan.interpretations["slow-timer-free"])
    slow = model.cell("snoop", "burst6", net="low").scenario
    assert "half_duplex" not in slow["links"][1]
    assert [agent["tick"] for agent in slow["agents"]] == ["380 ms"]
    lan = model.cell("snoop", "burst6").scenario
    assert lan == west.cell("snoop", "burst6").scenario
    # Both readings of the delay give the printed time without errors.
    assert model.time("reno", "none", net="low").mean == pytest.approx(138.1, abs=0.43)


def test_other_packets_go_to_the_mobile_host_alone(west: Model) -> None:
    def other(level: str, **factors: object) -> list[object]:
        tree = copy.deepcopy(dict(west.cell("reno", "none", **factors).scenario))
        REGISTRY.editors["other_every"](tree, level)
        return [flow.get("rate") for flow in tree["flows"]]

    for level, bits_per_s in OTHER_BITS_PER_S.items():
        rate = [f"{bits_per_s} bit/s"] if bits_per_s else []
        assert other(level) == [None, *rate]
        assert other(level, net="wan") == [None]
        # Packets have 100 bytes, and levels have two digits.
        seconds = float(level.removesuffix(" s")) if bits_per_s else 0.0
        assert bits_per_s * seconds == (800 if bits_per_s else 0)


def test_hooks_of_readings_and_mutants_change_their_keys(west: Model) -> None:
    def cell(change: str, *args: str, **factors: object) -> dict[str, object]:
        known = {**STUDY.plan.interpretations, **STUDY.plan.controls}
        return dict(STUDY.model(west.cache, known[change]).cell(*args, **factors).scenario)

    plain = dict(west.cell("ackp", "burst6", net="low").scenario)
    assert plain["tcp"]["ackp_timer"] == "6 s"
    for change in [*STUDY.plan.interpretations, *STUDY.plan.controls]:
        cells = [
            (cell(change, scheme, err, **more), dict(west.cell(scheme, err, **more).scenario))
            for scheme in ("reno", "snoop", "ackp")
            for err, more in (
                ("burst6", {"net": "low"}),
                ("bit64k", {}),
                ("none", {"net": "wan", "drops": 0.00435}),
            )
        ]
        unseen = ("as chosen", "constants", "NewReno leaves with what is in flight")
        silent = change in unseen
        assert all(item == other for item, other in cells) == silent, change
        for item, _ in cells:
            west.cache.text(STUDY.model(west.cache).cell("reno", "none").__class__(change, item))


def test_tables_compare_each_printed_cell(west: Model) -> None:
    table = grid(west, STUDY.tables["t2"].data)
    assert len(table.cells) == 8 * 3
    assert table.cells["transfer time", "Reno"].printed == "300.455"
    assert table.cells["transfer time", "Reno"].low == pytest.approx(258.1, abs=0.1)


def test_spread_and_ratio_are_the_statistics_with_their_uncertainty() -> None:
    random = np.random.default_rng(1)
    x, y = random.normal(10, 3, 400), random.normal(5, 1, 400)
    names = {"x": Quantity(x, "x"), "y": Quantity(y, "y")}
    spread = Expression("spread(x)", "s").value(names)
    assert spread.mean == pytest.approx(np.std(x, ddof=1), rel=1e-3)
    # The deviation of a normal sample of 400 has a standard error of 1 / sqrt(2 n) = 3.5 %.
    half = spread.estimate.half_width
    assert half is not None
    assert half == pytest.approx(1.96 * 3 / math.sqrt(800), rel=0.15)
    ratio = Expression("ratio(x, y)", "r").value(names)
    assert ratio.mean == pytest.approx(x.mean() / y.mean(), rel=1e-3)
    share = Expression("share(x, 7, 13)", "p").value(names)
    assert share.mean == pytest.approx(np.mean((x >= 7) & (x <= 13)))
    few = Expression("spread(x)", "s").value({"x": Quantity([1.0, 2.0], "x")})
    assert math.isnan(few.mean)


def test_the_spread_of_a_sample_covers_its_law() -> None:
    # The jackknife's 95 % interval covers the deviation of a normal law in about 95 % of cases.
    random, hits = np.random.default_rng(2), 0
    for _ in range(400):
        result = Expression("spread(x)", "s").value({"x": Quantity(random.normal(0, 2, 40), "x")})
        low, high = result.estimate.low, result.estimate.high
        assert low is not None
        assert high is not None
        hits += low <= 2 <= high
    assert 0.90 <= hits / 400 <= 0.98


def test_the_window_of_32_kib_comes_with_the_errors_of_table_1(west: Model) -> None:
    name = "errors-of-table-1-window-32k"
    model = STUDY.model(west.cache, STUDY.plan.interpretations[name])
    tree = model.cell("ackp", "bit64k").scenario
    assert tree["tcp"]["receive_window"] == "32 KiB"
    for direction in ("down", "up"):
        errors = tree["links"][1][direction]["channel"]["byte_errors"]
        assert errors == {"distance": "52736 B"}
    assert model.thr("ackp", "bit64k").mean < west.thr("ackp", "bit64k").mean
