"""The study of 2006 on sensor radio and satellite: complete record, correct closed forms."""

import math

import pytest

from farlink.studies import find
from farlink.studies.cache import SimulationCache
from farlink.studies.model import Model

STUDY = find("vatne2006")
FUNCTIONS = STUDY.registry.functions


@pytest.fixture(scope="module")
def model() -> Model:
    """Return the chosen model."""
    return STUDY.model(SimulationCache(runs=3))


def test_record_and_code_fit() -> None:
    assert STUDY.gaps == []
    assert len(STUDY.claims) == 42
    assert len([name for name in STUDY.figures if name.startswith("graph")]) == 29
    assert len(STUDY.figures) - 29 == 13
    assert len(STUDY.tables) == 7  # six, and the numbers of the text
    assert len(STUDY.plan.controls) >= 10


def test_table_5_follows_but_for_its_misprints(model: Model) -> None:
    assert FUNCTIONS["misprints"](model) == 8
    assert FUNCTIONS["cells_agree"](model).p_for == 0


def test_losses_are_those_of_the_chain(model: Model) -> None:
    """Each of 26,215 segments is lost with 1 % at each attempt, so 264.8 are retransmitted."""
    expected = 26215 * 0.01 / 0.99
    resent = model.resent("newreno", 2, 0.03)
    deviation = math.sqrt(expected * (2 * 4.07 - 1))  # bursts of 4.07
    assert abs(resent.mean - expected) < 4 * deviation / math.sqrt(3)
    assert model.unique("newreno", 2, 0.03).mean == 26215


def test_reno_halves_cwnd_after_duplicates_and_restarts_with_one_segment(
    model: Model,
) -> None:
    assert FUNCTIONS["after_duplicates"](model) == 0.5
    assert FUNCTIONS["after_timeout"](model) == 1
    tahoe = STUDY.model(SimulationCache(runs=2), STUDY.plan.controls["Tahoe for Reno"])
    assert math.isnan(FUNCTIONS["after_duplicates"](tahoe)) or (
        FUNCTIONS["after_duplicates"](tahoe) != 0.5
    )


def test_turning_angles_are_wrapped_normal(model: Model) -> None:
    assert FUNCTIONS["sharp"](model, 0).mean == pytest.approx(0.204, abs=0.012)
    assert FUNCTIONS["sharp"](model, 1.5).mean == pytest.approx(0.084, abs=0.01)
    variance = STUDY.model(
        SimulationCache(runs=3), STUDY.plan.interpretations["turning-as-variance"]
    )
    assert FUNCTIONS["behind"](variance, 0.5).mean == pytest.approx(0.0263, abs=0.005)


def test_readings_of_the_channel_change_it(model: Model) -> None:
    def fading(id: str) -> dict[str, object]:  # noqa: A002
        changed = STUDY.model(SimulationCache(runs=2), STUDY.plan.interpretations[id])
        scenario = changed.cell("newreno", 8, 0.05).scenario
        return dict(scenario["links"][0]["down"]["channel"]["rayleigh"])

    assert fading("row-8-printed")["alpha"] == 0.059646
    assert fading("interval")["exposure"] == "0.05 s"
    assert "shared" not in fading("data-only")


def test_readings_of_westwood_name_kernels() -> None:
    def control(id: str) -> object:  # noqa: A002
        changed = STUDY.model(SimulationCache(runs=2), STUDY.plan.interpretations[id])
        assert "control" not in changed.cell("newreno", 2, 0.03).scenario["tcp"]
        return changed.cell("westwood", 2, 0.03).scenario["tcp"].get("control")

    def kernel(hz: int) -> dict[str, object]:
        return {"westwood_plus": {"arithmetic": "linux-2.4", "hz": hz}}

    assert control("as chosen") == kernel(100)
    assert control("westwood-hz-250") == kernel(250)
    assert control("westwood-hz-512") == kernel(512)
    assert control("westwood-hz-1000") == kernel(1000)
    assert control("westwood-exact") is None


def test_whole_numbers_of_a_kernel_decide_who_is_ahead() -> None:
    """Bytes per jiffy are rounded down, so Westwood's estimate falls as HZ rises (row 2, 30 ms)."""
    cache = SimulationCache(runs=2)

    def ratio(id: str) -> float:  # noqa: A002
        model = STUDY.model(cache, STUDY.plan.interpretations[id])
        return model.thr("newreno", 2, 0.03).mean / model.thr("westwood", 2, 0.03).mean

    ids = ["westwood-exact", "as chosen", "westwood-hz-250", "westwood-hz-512", "westwood-hz-1000"]
    ratios = [ratio(id) for id in ids]  # noqa: A001
    assert ratios == sorted(ratios)
    assert ratios[0] < 0.6 < ratios[1] < 0.7 < ratios[2] < 0.85 < ratios[3] < 1.1 < 1.3 < ratios[4]


def test_a_queue_of_20_packets_is_excluded_by_the_segments_out_of_order() -> None:
    reading = STUDY.plan.interpretations["queue-20-packets"]
    model = STUDY.model(SimulationCache(runs=2), reading)
    chosen = STUDY.model(SimulationCache(runs=2), STUDY.plan.interpretations["as chosen"])
    place = {"place": "day1"}
    assert model.thr("hybla", 0, 0, **place).mean < 0.7 * chosen.thr("hybla", 0, 0, **place).mean
    lost = model.resent("hybla", 0, 0, **place) - model.nrtx("hybla", 0, 0, **place)
    assert lost.mean > 30 * 3.6
    radio = [item.cell("newreno", 1, 0.03).scenario for item in (model, chosen)]
    assert radio[0] == radio[1]
