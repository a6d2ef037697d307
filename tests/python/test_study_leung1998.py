"""The study of 1998 on satellite and mobile links: complete record, correct paths."""

from typing import Any

import pytest

from farlink.studies import find
from farlink.studies.cache import SimulationCache
from farlink.studies.leung1998.words import said
from farlink.studies.model import Change, Model

STUDY = find("leung1998")
FUNCTIONS = STUDY.registry.functions


@pytest.fixture(scope="module")
def model() -> Model:
    """Return the chosen model."""
    return STUDY.model(SimulationCache(runs=2))


def test_record_and_code_fit() -> None:
    assert STUDY.gaps == []
    assert len(STUDY.claims) == 187
    assert len(STUDY.figures) == 60
    assert len([name for name in STUDY.tables if name.startswith("table")]) == 10
    assert len(STUDY.plan.controls) >= 10


def test_a_window_over_the_satellite_is_a_round_trip(model: Model) -> None:
    """Without losses a window of 16,384 bytes takes 0.583 s and the Internet's variable delay."""
    rate = FUNCTIONS["T"](model, "4.7", "rfc", plr=0.0, inet=0).mean
    assert 26.0 < rate < 16.384 / 0.583


def test_satellite_and_acks_lose_by_equations_1_and_2(model: Model) -> None:
    lost = FUNCTIONS["M"](model, "sat_loss", "4.4", "reno", rain="short")
    assert lost.mean == pytest.approx(0.00365, rel=0.5)
    forward, back, both = FUNCTIONS["sat_loss"](model, 0.01, 0.05, 0.0, 5e-6, 4432, 336)
    assert (forward, back) == (
        pytest.approx(0.0036527, rel=1e-3),
        pytest.approx(2.798e-4, rel=1e-3),
    )
    assert both == pytest.approx(0.0039315, rel=1e-3)


def test_segments_of_1460_bytes_go_as_two_packets(model: Model) -> None:
    assert FUNCTIONS["fragments"](model, 1458, 22) == 1
    assert FUNCTIONS["fragments"](model, 1459, 22) == 2
    item, two = (
        FUNCTIONS["M"](model, "packets", "4.6.3", "rfc", plr=0.01, mss=mss).mean
        for mss in (1458, 1460)
    )
    assert two == pytest.approx(2 * item, rel=0.1)


def test_sizes_of_cells_and_times_exclude_each_other(model: Model) -> None:
    assert {"a", "b"}.isdisjoint(said(model, "5.5", "reno", {"cell": 500, "region": 50}))
    assert {"cell", "region"}.isdisjoint(said(model, "5.6.1", "reno", {"a": 70}))
    assert FUNCTIONS["derived"](
        model, "mean_time_between_handoffs", "5.5", "reno", cell=2000, region=100
    ) == pytest.approx(138.5, abs=0.1)


def test_the_mobile_link_carries_its_rate_less_headers(model: Model) -> None:
    """Without loss the throughput is 512/552 of 2400 bytes/s."""
    plan = STUDY.plan.controls
    clean = STUDY.model(SimulationCache(runs=2), plan["no fades"])
    rate = FUNCTIONS["T"](clean, "5.4", "reno", speed=75, plr_bad=0.05, mtws=4)
    assert rate.mean == pytest.approx(2226.1, rel=0.01)


@pytest.mark.parametrize(
    "change", [*STUDY.plan.interpretations.values(), *STUDY.plan.controls.values()]
)
def test_readings_and_wrong_models_change_something(model: Model, change: Change) -> None:
    if change.id == "as chosen" or change.constants:
        return
    changed = STUDY.model(SimulationCache(runs=2), change)
    points: list[tuple[str, str, dict[str, Any]]] = [
        ("4.7", "reno", {"plr": 0.02, "ete": 0.5}),
        ("4.6.1", "vegas", {"plr": 0.01, "mtws": 88}),
        ("4.7", "rfc", {"plr": 0.02}),
        ("5.6.1", "reno", {"speed": 45, "mtws": 16}),
        ("5.3", "vegas", {"mss": 256}),
    ]
    cells = [
        (
            changed.cell(tcp, **said(changed, scene, tcp, over)),
            model.cell(tcp, **said(model, scene, tcp, over)),
        )
        for scene, tcp, over in points
    ]
    for cell, _ in cells:
        changed.cache.text(cell)
    assert any(a.key != b.key for a, b in cells)


def test_the_internet_takes_18_ms_on_average(model: Model) -> None:
    """The mean is that of Table 4.1's distribution plus 7 ms, as single segments do not queue."""
    way = FUNCTIONS["M"](model, "delay", "4.4", "reno", plr=0, inet=0, mtws=0.5).mean
    assert way - 0.2734 == pytest.approx(0.018, abs=0.0005)


def test_a_handoff_stops_data_and_acks_together(model: Model) -> None:
    apart = STUDY.model(SimulationCache(runs=2), STUDY.plan.interpretations["separate-handoffs"])
    for item, shared in ((model, True), (apart, None)):
        cell = item.cell("reno", **said(item, "5.6.1 a", "reno", {"a": 140}))
        links: Any = cell.scenario["links"]
        (radio,) = (link for link in links if link["name"] == "radio")
        for way in ("down", "up"):
            assert radio[way]["channel"]["mobile"].get("shared") is shared


def test_the_table_of_parameters_has_the_rates_of_the_model(model: Model) -> None:
    grid: Any = STUDY.registry.tables["table4.1"](model)
    cells = {row: cell for (row, _), cell in grid.cells.items()}
    assert cells["rate of the satellite"].equal
    assert cells["data of a run"].equal


def test_rfc_repeats_what_is_outstanding_and_the_backoff_ends_at_an_ack(model: Model) -> None:
    """2.2.1 repeats all outstanding segments, 1.1 doubles with each consecutive time-out."""

    def tcp(name: str, reading: str = "as chosen") -> Any:  # noqa: ANN401
        changed = STUDY.model(SimulationCache(runs=2), STUDY.plan.interpretations[reading])
        return changed.cell(name, **said(changed, "4.7", name, {"plr": 0.06})).scenario["tcp"]

    rfc = tcp("rfc")
    assert rfc["repeat_all"]
    assert rfc["dup_acks_halve"]
    assert (rfc["sampling"], rfc["karn"], rfc["reassembly"]) == ("every-segment", False, True)
    for name in ("reno", "vegas"):
        assert tcp(name)["ack_ends_backoff"]
        assert "ack_ends_backoff" not in tcp(name, "karn-backoff")
    assert "ack_ends_backoff" not in tcp("reno", "reno-karn-backoff")
    assert tcp("vegas", "reno-karn-backoff")["ack_ends_backoff"]
    assert not {"repeat_all", "dup_acks_halve"} & tcp("rfc", "rfc-repeats-missing").keys()
    # Readings with fitted timers keep the rules under which they were fitted.
    assert not {"repeat_all", "sampling"} & tcp("rfc", "rfc-go-back-n").keys()
    assert "ack_ends_backoff" not in tcp("vegas", "vegas-no-backoff")
