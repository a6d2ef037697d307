"""The study of 2007 on TCP-ADaLR: complete record, correct values without randomness."""

import pytest

from farlink.studies import find
from farlink.studies.cache import SimulationCache
from farlink.studies.model import Model
from farlink.studies.omueti2007 import pages
from farlink.studies.omueti2007.fairness import _six
from farlink.studies.omueti2007.pages import PRINTED, level
from farlink.studies.study import Table

STUDY = find("omueti2007")


@pytest.fixture(scope="module")
def model() -> Model:
    """Return the chosen model without randomness, where two runs equal ten."""
    return STUDY.model(SimulationCache(runs=2))


def test_record_and_code_fit() -> None:
    assert STUDY.gaps == []
    assert len(STUDY.claims) == 39
    assert len(STUDY.figures) == 19
    assert len(STUDY.tables) == 10
    assert len(STUDY.plan.controls) >= 10


def test_a_window_of_64_kb_bounds_the_download(model: Model) -> None:
    """The throughput is 44 segments per 0.528 s; a packet of 1507 bytes takes 6 ms."""
    expected = 50 * 2**20 * 8 / (44 * 1460 * 8 / 0.52755)
    assert model.time("sack", "n").mean == pytest.approx(expected, rel=0.01)


def test_the_gateway_bounds_it_under_congestion(model: Model) -> None:
    """A transfer of 50 MiB at 360 kbit/s with headers of 40 bytes takes longer with losses."""
    floor = 50 * 2**20 * (1500 / 1460) * 8 / 360e3
    for tcp in ("sack", "adalr_sack"):
        assert floor < model.time(tcp, "n", congested=True).mean < 1.03 * floor


def test_unit_facts_of_adalr(model: Model) -> None:
    functions = STUDY.registry.functions
    assert functions["at_once"](model, "adalr_newreno").mean == 3
    assert functions["later"](model, 3).mean == pytest.approx(0.4)
    assert functions["rho_is"](model, 0.5, 30).p_for == 0
    assert functions["rho_is"](model, 0.5, 29).p_for == 1


def test_errors_are_both_ways_but_under_a_reading(model: Model) -> None:
    def rates(model: Model) -> list[float]:
        links = model.cell("sack", "n", 1e-6).scenario["links"]
        satellite = next(link for link in links if link["name"] == "satellite")
        ways = (satellite["down"], satellite["up"])
        return [way.get("channel", {}).get("ber", 0.0) for way in ways]

    data_only = STUDY.model(SimulationCache(runs=2), STUDY.plan.interpretations["errors-in-data"])
    assert rates(model) == [1e-6, 1e-6]
    assert rates(data_only) == [1e-6, 0.0]


def test_mutants_change_what_they_name() -> None:
    base = STUDY.model(SimulationCache(runs=2))
    for control in STUDY.plan.controls.values():
        assert control.turns, control.id
        if control.constants:
            continue
        wrong = STUDY.model(SimulationCache(runs=2), control)
        table = {"app": "http", "congested": True}
        cells = [m.cell("adalr_sack", "d", 1e-6, **table).scenario for m in (base, wrong)]
        assert cells[0] != cells[1], control.id


def test_every_reading_and_wrong_model_fits_pages_and_the_six_connections() -> None:
    """Readings of the file's size leave pages unchanged, and all paths are valid keys."""
    for change in (*STUDY.plan.interpretations.values(), *STUDY.plan.controls.values()):
        model = STUDY.model(SimulationCache(runs=2), change)
        for cell in (
            model.cell("adalr_sack", "n", app="http", congested=True),
            _six(model, "adalr"),
        ):
            assert model.cache.text(cell)


def test_the_buffer_of_a_reading_is_that_of_the_congested_gateway_only() -> None:
    model = STUDY.model(SimulationCache(runs=2), STUDY.plan.interpretations["buffer-4-packets"])
    service = [
        model.cell("sack", "n", congested=item).scenario["links"][1]["down"]
        for item in (True, False)
    ]
    assert [item["queue"] for item in service] == [{"packets": 4}, "unlimited"]


def test_two_packets_of_pages_leave_files_and_free_gateways_alone() -> None:
    model = STUDY.model(SimulationCache(runs=2), STUDY.plan.interpretations["buffer-2-packets"])
    queues = [
        model.cell("sack", "n", **factors).scenario["links"][1]["down"]["queue"]
        for factors in (
            {"app": "http", "congested": True},
            {"app": "http"},
            {"congested": True},
        )
    ]
    assert queues == [{"packets": 2}, "unlimited", {"bytes": "37500 B"}]


# --- Pages under congestion


def test_the_level_of_pages_is_the_geometric_mean_of_ratios() -> None:
    cells = list(PRINTED)
    twice = {cell: (2 if place % 2 else 0.5) * PRINTED[cell] for place, cell in enumerate(cells)}
    assert level(PRINTED) == pytest.approx((1, 1))
    assert level(twice) == pytest.approx((1, 2))
    assert level({cell: 3 * time for cell, time in PRINTED.items()}) == pytest.approx((3, 3))


def test_printed_pages_are_those_of_table_6() -> None:
    cells = STUDY.tables["table6"].data["cells"]
    printed = {
        (line["value"], ack): value
        for line in cells["rows"].values()
        for ack, value in zip(cells["columns"].values(), line["printed"], strict=True)
    }
    assert printed == PRINTED


def test_with_two_packets_three_of_four_pairs_have_the_printed_order() -> None:
    reading = STUDY.plan.interpretations["buffer-2-packets"]
    model = STUDY.model(SimulationCache(runs=2), reading)
    cells = {cell: model.page(*cell, congested=True) for cell in PRINTED}
    ratio, factor = level({cell: time.mean for cell, time in cells.items()})
    assert 0.98 < ratio < 1.06
    assert factor < 1.13
    faster = [
        cells["adalr_" + base, ack].mean < cells[base, ack].mean
        for base in ("sack", "newreno")
        for ack in ("d", "n")
    ]
    assert faster == [True, True, True, False]


def test_a_buffer_of_four_packets_gives_the_printed_level_at_any_rate(
    model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages, "BUFFERS", (4, 8))
    monkeypatch.setattr(pages, "RATES", (360, 512))
    table = STUDY.registry.tables["pages"](model)
    assert isinstance(table, Table)
    assert table.columns == ["buffer", "360 kbit/s", "512 kbit/s"]
    four, eight = ([tuple(map(float, cell.split(", "))) for cell in row[1:]] for row in table.rows)
    assert all(0.9 < ratio < 1.0 and factor < 1.2 for ratio, factor in four)
    assert all(ratio < 0.75 and factor > 1.4 for ratio, factor in eight)
    assert four[0] != four[1]
