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


def test_the_internet_loses_acks_in_a_reading_alone() -> None:
    """4.2: data packets and ACKs may be lost due to congestion."""
    expected = {
        "as chosen": (0.001, None),
        "acks-lost": (0.001, 0.001),
        "quiet-internet": (None, None),
    }
    for reading, losses in expected.items():
        changed = STUDY.model(SimulationCache(runs=2), STUDY.plan.interpretations[reading])
        links: Any = changed.cell("reno", **said(changed, "4.7", "reno", {})).scenario["links"]
        (internet,) = (link for link in links if link["name"] == "internet")
        assert tuple(internet[way]["channel"].get("loss") for way in ("down", "up")) == losses


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
    # Selective repeat (2.2.2) and Reno's system clock are readings; Vegas has a clock (2.2.3).
    assert tcp("vegas")["rto_exact_samples"]
    assert "rto_exact_samples" not in tcp("reno")
    for name in ("reno", "vegas"):
        assert "repeat_first" not in tcp(name)
        for reading, least in {
            "selective-repeat": "1 s",
            "selective-repeat-500-ms": "500 ms",
        }.items():
            changed = tcp(name, reading)
            assert changed["repeat_first"]
            assert changed["rto_exact_samples"]
            assert (changed["rto_tick"], changed["rto_min"]) == ("500 ms", least)
    assert not {"repeat_first", "rto_exact_samples"} & tcp("rfc", "selective-repeat").keys()
    assert "repeat_first" not in tcp("vegas", "vegas-no-backoff")
    assert tcp("vegas", "vegas-no-backoff")["rto_exact_samples"]
    # Readings with fitted timers keep the rules under which they were fitted.
    assert not {"repeat_all", "sampling"} & tcp("rfc", "rfc-go-back-n").keys()
    assert "ack_ends_backoff" not in tcp("vegas", "vegas-no-backoff")


_PATHS: list[tuple[str, str, str, dict[str, Any], str, Any]] = [
    # reading, section, TCP, factors, path of a value, value
    (
        "as chosen",
        "4.7",
        "vegas",
        {"plr": 0.02},
        "satellite.up.channel.satellite.loss_size",
        "1498 B",
    ),
    ("as chosen", "5.3", "vegas", {}, "radio.down.channel.mobile.fade_margin", 30),
    ("as chosen", "5.3", "vegas", {}, "radio.up.channel.mobile.carrier", "850 MHz"),
    ("by-packet", "4.7", "reno", {"plr": 0.02}, "satellite.down.channel.gilbert.h", 0.88),
    ("by-packet", "4.7", "reno", {"plr": 0.02}, "satellite.up.channel.gilbert.p", 0.01),
    ("merging", "4.7", "reno", {}, "tcp.ack_every", 1000),
    ("duplicates-at-once", "4.7", "vegas", {}, "tcp.dup_acks", "immediate"),
    ("duplicates-at-once", "4.7", "vegas", {}, "tcp.ack_gap_fill", None),
    ("no-eighth", "4.7", "reno", {}, "tcp.control.reno.mss_over_8", False),
    ("no-eighth", "4.7", "rfc", {}, "tcp.control.reno.mss_over_8", False),
    ("linear-vegas", "4.7", "vegas", {}, "tcp.control.vegas.increase", "segment"),
    ("published-vegas", "4.7", "vegas", {}, "tcp.control.vegas.loss_cut", "quarter"),
    ("published-vegas", "4.7", "vegas", {}, "tcp.control.vegas.increase", "segment"),
    ("rfc-drops", "4.7", "rfc", {}, "tcp.reassembly", False),
    ("as chosen", "4.7", "rfc", {}, "tcp.ack_every", 1000),
    ("as chosen", "4.7", "reno", {}, "tcp.ack_every", 2),
    ("as chosen", "4.7", "rfc", {}, "tcp.control.reno.mss_over_8", False),
    ("as chosen", "4.7", "reno", {}, "tcp.control.reno.mss_over_8", True),
    ("as chosen", "4.7", "reno", {}, "tcp.cwnd_limit", None),
    ("as chosen", "5.3", "vegas", {}, "tcp.control.vegas.timeout_window", 2),
    ("as chosen", "5.3", "vegas", {}, "tcp.initial_window", 2),
    ("as chosen", "5.3", "reno", {}, "tcp.initial_window", 1),
    ("rfc-eighth", "4.7", "rfc", {}, "tcp.ack_every", 2),
    ("rfc-eighth", "4.7", "rfc", {}, "tcp.control.reno.mss_over_8", True),
    ("rfc-eighth", "4.7", "rfc", {}, "tcp.repeat_all", True),
    ("rfc-equation-1", "4.7", "rfc", {}, "tcp.ack_every", 1000),
    ("rfc-equation-1", "4.7", "rfc", {}, "tcp.control.reno.mss_over_8", True),
    ("bounded-cwnd", "4.7", "reno", {}, "tcp.cwnd_limit", "receive-window"),
    ("vegas-as-reno", "4.7", "vegas", {}, "tcp.control.vegas.timeout_window", 1),
    ("vegas-as-reno", "4.7", "vegas", {}, "tcp.initial_window", 1),
    ("vegas-as-reno", "4.7", "vegas", {}, "tcp.rto_exact_samples", None),
    ("as-chosen-before", "4.7", "rfc", {}, "tcp.ack_every", 2),
    ("as-chosen-before", "4.7", "vegas", {}, "tcp.control.vegas.timeout_window", 1),
    ("as-chosen-before", "4.7", "reno", {}, "tcp.cwnd_limit", "receive-window"),
    ("rfc-karn", "4.7", "rfc", {}, "tcp.karn", True),
    ("rfc-go-back-n", "4.7", "rfc", {}, "tcp.cwnd_limit", "receive-window"),
    ("rfc-go-back-n", "4.7", "rfc", {}, "internet.down.channel.loss", 0.0018),
    ("rfc-go-back-n", "4.7", "rfc", {}, "internet.up.channel.internet_delay.keep_order", True),
    ("rfc-go-back-n", "4.7", "rfc", {}, "tcp.rto_min", "3 s"),
    ("rfc-go-back-n", "4.7", "rfc", {}, "tcp.rto_max", "4.5 s"),
    ("rfc-go-back-n", "4.7", "reno", {}, "internet.down.channel.loss", 0.001),
    ("rfc-go-back-n-4-percent", "4.7", "reno", {}, "internet.down.delay", "2.2 ms"),
    ("merging-but-vegas", "4.7", "reno", {}, "tcp.ack_every", 1000),
    ("merging-but-vegas", "4.7", "vegas", {}, "tcp.ack_every", 2),
    ("vegas-no-backoff", "4.7", "vegas", {}, "tcp.cwnd_limit", "receive-window"),
    ("vegas-no-backoff", "4.7", "vegas", {}, "tcp.backoff", "none"),
    ("vegas-no-backoff", "4.7", "vegas", {}, "tcp.rto_min", "500 ms"),
    ("vegas-no-backoff", "4.7", "vegas", {}, "tcp.dup_acks", "immediate"),
    ("vegas-no-backoff", "4.7", "vegas", {}, "tcp.control.vegas.timeout_window", 2),
    ("vegas-no-backoff", "4.7", "reno", {}, "tcp.backoff", None),
    ("vegas-128-kb", "4.4", "vegas", {}, "tcp.receive_window", "128 KiB"),
    ("vegas-128-kb", "4.4", "reno", {}, "tcp.receive_window", "64 KiB"),
    ("reno-short-rto", "4.7", "reno", {}, "tcp.cwnd_limit", "receive-window"),
    ("reno-short-rto", "4.7", "reno", {}, "tcp.rto_min", "2.5 s"),
    ("reno-short-rto", "4.7", "reno", {}, "tcp.rto_max", "5 s"),
    ("reno-short-rto", "4.7", "reno", {}, "tcp.ack_ends_backoff", None),
    ("reno-short-rto", "4.7", "reno", {}, "internet.down.channel.loss", 0.0003),
    ("inferred", "4.7", "vegas", {}, "tcp.backoff", "none"),
    ("inferred", "4.7", "rfc", {}, "internet.down.channel.loss", 0.0018),
    ("inferred", "4.7", "reno", {}, "internet.down.channel.loss", 0.0003),
    ("delay-280ms", "4.7", "reno", {}, "satellite.up.delay", "280 ms"),
    ("delay-280ms", "4.7", "reno", {"ete": 0.65}, "satellite.down.delay", "630 ms"),
    ("delay-both-ways", "4.7", "reno", {"ete": 0.65}, "satellite.up.delay", "620 ms"),
    ("delay-drawn", "4.7", "reno", {"ete": 0.65}, "satellite.down.channel.jitter.mean", "350 ms"),
    ("vegas-times-each", "5.3", "vegas", {"mss": 256}, "tcp.receive_window", "256 B"),
    ("vegas-times-each", "5.3", "vegas", {"mss": 384}, "tcp.receive_window", "8 KiB"),
    ("vegas-per-second", "4.7", "vegas", {}, "tcp.control.vegas.beta", 1.7201),
    ("vegas-per-second", "5.3", "vegas", {}, "tcp.control.vegas.alpha", 0.2741),
    ("vegas-unbound", "5.3", "vegas", {}, "tcp.control.vegas.beta", 3000),
    ("instant", "5.3", "vegas", {}, "radio.up.channel.mobile.fade_rule", "instant"),
    ("overlap", "5.3", "vegas", {}, "radio.down.channel.mobile.fade_rule", "overlap"),
]


@pytest.mark.parametrize(("reading", "scene", "tcp", "over", "path", "value"), _PATHS)
def test_a_reading_sets_the_value_of_its_sentence(
    reading: str, scene: str, tcp: str, over: dict[str, Any], path: str, value: object
) -> None:
    changed = STUDY.model(SimulationCache(runs=2), STUDY.plan.interpretations[reading])
    scenario: Any = changed.cell(tcp, **said(changed, scene, tcp, over)).scenario
    first, *rest = path.split(".")
    item = scenario.get(first) or next(x for x in scenario["links"] if x["name"] == first)
    for name in rest:
        item = item.get(name) if item else item
    assert item == value


@pytest.mark.parametrize("reading", ["raised-4-percent", "in-order-4-percent"])
def test_readings_of_the_internet_keep_its_18_ms(reading: str) -> None:
    """In order a packet also waits for those before it, which single segments do not show."""
    changed = STUDY.model(SimulationCache(runs=2), STUDY.plan.interpretations[reading])
    way = FUNCTIONS["M"](changed, "delay", "4.4", "reno", plr=0, inet=0, mtws=0.5).mean
    expected = {"raised-4-percent": 0.018, "in-order-4-percent": 0.0145}[reading]
    assert way - 0.2734 == pytest.approx(expected, abs=0.0007)


def test_the_table_of_parameters_names_what_differs(model: Model) -> None:
    """Table 4.1 has two values that the model lacks: 22 bytes of header, and 0.04 of congestion."""
    grid: Any = STUDY.registry.tables["table4.1"](model)
    different = {row for (row, _), cell in grid.cells.items() if cell.equal is False}
    assert different == {
        "header of TCP with the option for large windows",
        "congestion of the Internet",
    }
