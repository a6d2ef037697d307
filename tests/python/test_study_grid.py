"""Tests printed tables cell by cell, and the arithmetic of their agreement."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import farlink as fl
from farlink import studies
from farlink.probability import chi_square_quantile
from farlink.studies.agreement import GridCell, agreement
from farlink.studies.cache import SimulationCache
from farlink.studies.grid import Grid, amount, check, frame, grid, inputs, published
from farlink.studies.quantity import Quantity
from farlink.studies.study import Registry, Study
from test_cli import farlink

PRINTED = 35
"""Number of tables that the five studies print."""


def cell(value: float | None, ours: Quantity | None, half: float = 1.0, **keys: Any) -> GridCell:  # noqa: ANN401
    low, high = (math.nan, math.nan) if value is None else (value - half, value + half)
    return GridCell("row", "column", str(value), value, low, high, ours, **keys)


def exact(mean: float) -> Quantity:
    return Quantity([mean] * 4, "ours")


def spread(mean: float, half: float) -> Quantity:
    """Return ten runs whose mean has a 95 % interval of the given half width."""
    wide = Quantity([mean + (-1) ** run for run in range(10)], "ours").estimate.half_width
    assert wide is not None
    return Quantity([mean + (-1) ** run * half / wide for run in range(10)], "ours")


# The arithmetic of agreement.


@pytest.mark.parametrize(
    ("ours", "agrees"),
    [
        (exact(10.0), True),
        (exact(11.0), True),
        (exact(9.0), True),
        (exact(11.001), False),
        (exact(8.999), False),
        # The limits of both, 1 and 1, join to 1.414.
        (spread(11.41, 1.0), True),
        (spread(11.42, 1.0), False),
        (spread(8.59, 1.0), True),
        (spread(8.58, 1.0), False),
    ],
)
def test_a_cell_agrees_within_the_precision_of_both(ours: Quantity, agrees: bool) -> None:  # noqa: FBT001
    assert cell(10.0, ours).agrees is agrees


def test_the_limit_is_that_of_the_side_of_our_value() -> None:
    assert GridCell("r", "c", "10", 10.0, 9.9, 12.0, exact(11.9)).agrees
    assert not GridCell("r", "c", "10", 10.0, 9.9, 12.0, exact(9.8)).agrees


def test_rounding_of_decimals_is_no_difference() -> None:
    assert cell(4.3, exact(4.35), half=0.05).agrees


def test_cells_without_a_number_are_compared_as_texts_or_not_at_all() -> None:
    assert cell(None, None, equal=True, text="2").agrees is True
    assert cell(None, None, reason="no packet depends on it").agrees is None
    assert cell(None, None, reason="of the radio").shown == "no run: of the radio"
    assert cell(10.0, Quantity([math.nan] * 2, "ours")).agrees is None
    assert cell(10.0, Quantity([math.nan] * 2, "ours")).shown == "no value"


@pytest.mark.parametrize(
    ("mean", "shade"),
    [(101, 0), (109.9, 1), (91, 1), (90, 2), (124, 2), (149, 3), (199, 4), (201, 5), (0, 5)],
)
def test_colours_follow_the_factor(mean: float, shade: int) -> None:
    assert cell(100.0, exact(mean)).shade == shade


def test_the_agreement_of_a_table() -> None:
    cells = [
        cell(10.0, exact(20.0)),
        cell(10.0, exact(5.0)),
        cell(10.0, exact(10.0), used=True),
        cell(0.0, exact(0.5)),
        cell(10.0, None, reason="none"),
        cell(None, None, text="2", equal=True),
    ]
    numbers = agreement(cells)
    assert (numbers.printed, numbers.cells, numbers.agree, numbers.used) == (6, 4, 2, 1)
    assert numbers.share == 0.5
    # log 2 and log 1/2 cancel in the ratio, but not in the factor.
    assert numbers.ratio == pytest.approx(1.0)
    assert numbers.factor == pytest.approx(2 ** (2 / 3))
    assert numbers.text == (
        "2 of 4 measured cells within the precision (50%), ours / printed 1, typical factor 1.59; "
        "1 of the cells chose the model"
    )


def test_a_table_without_measured_cells() -> None:
    numbers = agreement([cell(None, None, reason="none")])
    assert numbers.text == "none of 1 cells is a measured number"
    assert math.isnan(numbers.share)
    assert math.isnan(numbers.ratio)


# Grids of a record.


TOY: dict[str, Any] = {
    "study": {"id": "toy"},
    "constants": {"NUMBERS": {"a": 1.0, "b": 4.0}},
    "table": [
        {
            "id": "t1",
            "title": "Numbers",
            "where": "Table 1",
            "cells": {
                "columns": {"once": 1, "twice": 2},
                "ours": "row * column",
                "half": 0.5,
                "unit": "s",
                "rows": {
                    "two": {"value": 2, "printed": [2.4, 5]},
                    "three": {"value": 3, "printed": ["", 6], "share": 0.1, "unit": "kB"},
                    "own": {"printed": [7, 8], "ours": ["7.2", "column + 7"], "half": [0.1, 2]},
                    "ends": {"printed": [10, 10], "ours": "9", "half": [[8, 11], [9.5, 11]]},
                    "none": {"printed": [1, "QPSK"], "none": "no packet depends on it"},
                },
            },
        }
    ],
}


def toy(**keys: Any) -> Study:  # noqa: ANN401
    table = TOY["table"][0]
    return Study.of({**TOY, "table": [{**table, "cells": {**table["cells"], **keys}}]}, Registry())


def made(used: tuple[str, ...] = ()) -> Grid:
    study = toy()
    return grid(study.model(SimulationCache(runs=2)), study.tables["t1"].data, used)


def test_a_grid_has_each_printed_cell() -> None:
    table = made(("t1: two, twice",))
    assert table.columns == ["once", "twice"]
    assert list(table.rows) == ["two", "three", "own", "ends", "none"]
    assert ("three", "once") not in table.cells
    agrees = {key: item.agrees for key, item in table.cells.items()}
    assert agrees == {
        ("two", "once"): True,
        ("two", "twice"): False,
        ("three", "twice"): True,
        ("own", "once"): False,
        ("own", "twice"): True,
        ("ends", "once"): True,
        ("ends", "twice"): False,
        ("none", "once"): None,
        ("none", "twice"): None,
    }
    assert [key for key, item in table.cells.items() if item.used] == [("two", "twice")]
    assert table.units == {"two": "s", "three": "kB", "own": "s", "ends": "s", "none": "s"}
    assert table.cells["three", "twice"].low == pytest.approx(5.4)
    assert table.agreement.printed == 9
    assert table.agreement.cells == 7


def test_a_grid_as_a_file() -> None:
    rows = frame(made())
    assert len(rows) == 9
    first = rows.iloc[0]
    assert (first["row"], first["column"], first["ours"], first["agrees"]) == (
        "two",
        "once",
        2,
        True,
    )
    assert rows.iloc[-1]["no_run"] == "no packet depends on it"


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"rows": {"a": {"printed": [1]}}}, "table t1, a: 2 columns are printed"),
        ({"rows": {"a": {"printed": [1, 2], "width": 1}}}, "table t1, a: width is no key of it"),
        ({"width": 1}, "table t1, cells: width is no key of it"),
        ({"ours": "no_such(row)"}, "table t1, two: 'no_such'"),
    ],
)
def test_incomplete_cells_are_refused(keys: dict[str, Any], message: str) -> None:
    with pytest.raises((ValueError, fl.ScenarioError), match=message):
        toy(**keys)


@pytest.mark.parametrize(
    ("drop", "message"), [("ours", "neither ours nor none"), ("half", "neither half nor share")]
)
def test_cells_need_a_value_and_a_precision(drop: str, message: str) -> None:
    entry = {"id": "t1", "cells": {k: v for k, v in TOY["table"][0]["cells"].items() if k != drop}}
    with pytest.raises(ValueError, match=message):
        check(entry, ["NUMBERS"])


@pytest.mark.parametrize(
    ("text", "value"),
    [("19.2 kbit/s", 19200), ("4096 B", 4096), ("0.3 s", 0.3), ("5 h", 18000), ("2", 2)],
)
def test_amounts(text: str, value: float) -> None:
    assert amount(text) == pytest.approx(value)


def test_an_amount_of_an_unknown_unit() -> None:
    with pytest.raises(ValueError, match="the unit of '3 furlongs'"):
        amount("3 furlongs")


def test_parameters_are_compared_as_texts() -> None:
    table = inputs([("window", "8 kB", "8000 B", True), ("rate", "1 Mbit/s", "2 Mbit/s", False)])
    assert [item.shade for item in table.cells.values()] == [0, 5]
    assert table.agreement.cells == 0
    assert table.kind == "inputs"


# The tables of the five studies.


def test_all_printed_tables_are_there() -> None:
    tables = {name: studies.find(name).printed_tables for name in studies.NAMES}
    assert sum(map(len, tables.values())) == PRINTED
    assert tables["omueti2007"] == [f"table{number}" for number in range(1, 10)]


@pytest.mark.parametrize("name", studies.NAMES)
def test_cells_that_choices_used_are_in_a_table(name: str) -> None:
    study = studies.find(name)
    cells = {
        f"{table}: {row}, {column}"
        for table, item in study.tables.items()
        if "cells" in item.data
        for row in item.data["cells"]["rows"]
        for column in item.data["cells"]["columns"]
    }
    used = {cell for choice in study.choices for cell in choice.cells}
    assert {cell for cell in used if cell.partition(":")[0] in study.tables} <= cells


def test_printed_parameters_are_read_from_the_record() -> None:
    assert published("farlink.studies.wong1998", "table3.6")[0][1] == "4096 B"


def _runs_of(mean: float, deviation: float) -> tuple[float, float]:
    half = 2.093 * deviation / 20**0.5
    return mean - half, mean + half


def _events(mean: float) -> tuple[float, float]:
    count = round(20 * mean)
    low = chi_square_quantile(2 * count, 0.025) / 2 if count else 0.0
    return low / 20, chi_square_quantile(2 * count + 2, 0.975) / 2 / 20


@pytest.mark.parametrize("id", ["t1", "t2", "t3", "t4"])
def test_precision_of_west1997_is_that_of_twenty_runs(id: str) -> None:  # noqa: A002
    rows = studies.find("west1997").tables[id].data["cells"]["rows"]
    for name in ("transfer time", "throughput"):
        deviations = rows[f"deviation of {name}"]["printed"]
        for mean, deviation, half in zip(
            rows[name]["printed"], deviations, rows[name]["half"], strict=True
        ):
            low, high = _runs_of(mean, deviation)
            assert high - low == pytest.approx(2 * half, rel=0.01, abs=0.002)
        ends = [(19 / chi_square_quantile(19, p)) ** 0.5 for p in (0.975, 0.025)]
        for share in rows[f"deviation of {name}"]["share"]:
            assert share == pytest.approx(ends, rel=1e-3)
    counts = rows["timer expirations"]
    for mean, ends in zip(counts["printed"], counts["half"], strict=True):
        # Reno's losses (mean above 50) come in groups: its intervals are from the deviation.
        if mean < 50:
            assert ends == pytest.approx(_events(mean), abs=1e-3)


def test_optimum_is_the_printed_value_if_the_peak_is_flat() -> None:
    study = studies.find("leung1998")
    optimum = study.registry.functions["optimum"]

    def of(thr: Callable[[float], float]) -> float:
        names = {"thr": thr}

        class Given:
            plan = study.plan

            def measure(self, _name: str, _tcp: str, mtws: float, **_over: float) -> Quantity:
                return Quantity(np.full(3, names["thr"](mtws)), "given")

        best: Quantity = optimum(Given(), "4.6.1", "reno", "mtws", 64, (32, 64, 128), 0.09, plr=0)
        return best.mean

    assert of(lambda window: {32: 50, 64: 92, 128: 100}[int(window)]) == 64
    assert of(lambda window: {32: 50, 64: 90, 128: 100}[int(window)]) == 128
    assert math.isnan(of(lambda _: math.nan))


def test_tables_are_a_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    options = ["--tables", "--runs", "2", "--out", str(out)]
    assert farlink("study", "wong1998", *options) == 0
    shown = capsys.readouterr().out
    assert "table3.6: parameters, no evidence" in shown
    assert "4096 B | 4 KiB" in shown
    page = (out / "index.html").read_text(encoding="utf-8")
    assert '<h2 id="tables">Printed tables, cell by cell</h2>' in page
    assert '<td class="d0"><b>4096 B</b> 4 KiB</td>' in page
    assert (out / "tables" / "table3.6.csv").is_file()


def test_tables_run_alone(capsys: pytest.CaptureFixture[str]) -> None:
    assert farlink("study", "wong1998", "--tables", "--mutants") == 2
    assert "--tables makes all printed tables alone" in capsys.readouterr().err
