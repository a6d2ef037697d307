"""Tests the inference of what studies leave open: split, likelihood, posterior and record."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from farlink.probability import normal_cdf
from farlink.studies.agreement import GridCell
from farlink.studies.inference import posterior as posteriors
from farlink.studies.inference import recorded
from farlink.studies.inference.likelihood import (
    DISCREPANCIES,
    OUTLIER,
    log_likelihood,
    log_mean_exp,
    standard_error,
    total,
)
from farlink.studies.inference.page import markdown
from farlink.studies.inference.posterior import (
    CellValues,
    Interpolation,
    coordinates,
    excluded,
    posterior,
)
from farlink.studies.inference.record import Half, Inferred, JudgedCell, overfitted
from farlink.studies.inference.targets import Target, keys, split
from farlink.studies.inference.unknowns import Unknown
from farlink.studies.quantity import Quantity
from farlink.tuning.space import knob

Array = NDArray[np.float64]


def targets(**tables: int) -> list[Target]:
    return [Target(name, f"row {k}", "x") for name, count in tables.items() for k in range(count)]


# The split.


def test_each_table_is_split_into_halves_by_seed() -> None:
    members = targets(a=10, b=6, c=2)
    drawn = split(members, 1)
    assert sorted(t.text for t in [*drawn.fitted, *drawn.held_out]) == sorted(
        t.text for t in members
    )
    for name, half in (("a", 5), ("b", 3), ("c", 1)):
        assert sum(target.table == name for target in drawn.fitted) == half
        assert sum(target.table == name for target in drawn.held_out) == half
    assert split(members, 1) == drawn
    assert split(members, 2).fitted != drawn.fitted
    # The printed order stays.
    assert list(drawn.fitted) == [target for target in members if target in drawn.fitted]


def test_an_odd_cell_goes_to_either_half() -> None:
    sizes = {len(split(targets(a=5), seed).fitted) for seed in range(40)}
    assert sizes == {2, 3}


def test_each_cell_is_held_out_by_some_seed() -> None:
    members = targets(a=6)
    held = {target for seed in range(60) for target in split(members, seed).held_out}
    assert held == set(members)


def test_cells_that_chose_the_model_never_judge() -> None:
    members = [*targets(a=4), Target("a", "used", "x", used=True)]
    members += [Target("b", f"row {k}", "x", used=True) for k in range(3)]
    for seed in range(20):
        drawn = split(members, seed)
        assert not any(target.used for target in drawn.held_out)
        # A used cell takes the place of another one.
        assert sum(target.table == "a" for target in drawn.fitted) in (2, 3)


def test_targets_leave_out_what_says_nothing_new() -> None:
    rows = {
        "time": {"printed": [1, 2]},
        "same": {"printed": [1, 2]},
        "ratio": {"printed": [3, 4], "derived": True},
        "text": {"printed": ["a", "b"], "none": "no run"},
        "one": {"printed": ["", 5]},
    }
    tables = {"t": {"id": "t", "cells": {"columns": {"x": 1, "y": 2}, "rows": rows}}, "other": {}}
    members = keys(tables, ["t: one, y"])
    assert [(target.row, target.column) for target in members] == [
        ("time", "x"),
        ("time", "y"),
        ("one", "y"),
    ]
    assert [target.used for target in members] == [False, False, True]


# The likelihood.


def test_the_likelihood_of_an_interval_is_a_probability_over_its_width() -> None:
    spread = math.hypot(1.0, 0.05 * 100)
    inside = normal_cdf((109 - 103) / spread) - normal_cdf((91 - 103) / spread)
    expected = (1 - OUTLIER) * inside * 100 / 18 + OUTLIER / math.log(100)
    assert log_likelihood(100, 91, 109, 103, 1.0, 0.05) == pytest.approx(math.log(expected))


def test_the_likelihood_falls_with_the_distance_and_ends_at_an_outlier() -> None:
    logs = [log_likelihood(100, 99, 101, mean, 0.0, 0.02) for mean in (100, 102, 105, 110, 200)]
    assert logs == sorted(logs, reverse=True)
    assert logs[-1] == pytest.approx(math.log(OUTLIER / math.log(100)))
    assert log_likelihood(100, 99, 101, math.nan, 0.0, 0.02) == pytest.approx(logs[-1])
    # A misprint costs no more than that.
    assert log_likelihood(100, 99, 101, 1e9, 0.0, 0.02) == pytest.approx(logs[-1])


def test_a_narrow_interval_is_a_density() -> None:
    thin, wide = (
        log_likelihood(100, 100 - half, 100 + half, 101, 0.0, 0.05) for half in (1e-9, 0.5)
    )
    assert thin == pytest.approx(wide, abs=0.01)


def test_a_printed_zero_has_a_likelihood() -> None:
    near, far = (log_likelihood(0.0, 0.0, 0.184, mean, 0.0, 0.05) for mean in (0.1, 5.0))
    assert near > far


@pytest.mark.parametrize(("true", "best"), [(0.01, 0.01), (0.1, 0.1)])
def test_the_discrepancy_of_the_model_is_found(true: float, best: float) -> None:
    random = np.random.default_rng(3)
    means = 100 * (1 + true * random.standard_normal(200))
    logs = {
        share: sum(log_likelihood(100, 99.9, 100.1, float(mean), 0.0, share) for mean in means)
        for share in DISCREPANCIES
    }
    assert max(logs, key=lambda share: logs[share]) == best


def test_the_total_averages_over_discrepancies() -> None:
    cells = [GridCell("r", "c", "100", 100.0, 99.0, 101.0, Quantity([102.0] * 3, "q"))] * 2
    logs = [2 * log_likelihood(100, 99, 101, 102, 0.0, share) for share in DISCREPANCIES]
    assert total(cells) == pytest.approx(log_mean_exp(logs))
    assert total([GridCell("r", "c", "QPSK", None), *cells]) == pytest.approx(total(cells))


def test_means_of_exponentials_do_not_overflow() -> None:
    assert log_mean_exp([0.0, 0.0]) == pytest.approx(0.0)
    assert log_mean_exp([-1000.0, -1000.0 + math.log(3)]) == pytest.approx(-1000 + math.log(2))
    assert log_mean_exp([-math.inf, -math.inf]) == -math.inf


def test_the_error_of_a_mean_is_its_standard_error() -> None:
    values = [1.0, 2.0, 4.0, math.nan]
    cell = GridCell("r", "c", "1", 1.0, 0.9, 1.1, Quantity(values, "q"))
    assert standard_error(cell) == pytest.approx(np.std(values[:3], ddof=1) / 3**0.5)
    assert standard_error(GridCell("r", "c", "1", 1.0, 0.9, 1.1, Quantity([1.0], "q"))) == 0


# The posterior.


def _unknown(id: str, vary: object, chosen: Any) -> Unknown:  # noqa: A002, ANN401
    return Unknown(id, "-", "-", "-", knob(id, vary), chosen, path=id)


def test_coordinates_are_shares_of_ranges_and_one_hot_levels() -> None:
    members = [
        _unknown("x", "10..20", 10),
        _unknown("y", "1 kB..100 kB", "1 kB"),
        _unknown("z", ["a", "b", "c"], "a"),
    ]
    point = coordinates(members, {"x": 15, "y": "10 kB", "z": "b"})
    assert point == pytest.approx([0.5, 0.5, 0, 0.5**0.5, 0])
    other = coordinates(members, {"x": 15, "y": "10 kB", "z": "c"})
    assert np.linalg.norm(point - other) == pytest.approx(1.0)


def test_an_interpolation_reproduces_a_smooth_function() -> None:
    random = np.random.default_rng(1)
    points = random.random((60, 2))

    def smooth(at: Array) -> Array:
        values: Array = np.sin(2 * at[:, 0]) + at[:, 1] ** 2
        return values

    process = Interpolation(points, smooth(points))
    fresh = random.random((50, 2))
    assert np.abs(process.at(fresh) - smooth(fresh)).max() < 0.1
    assert process.error < 0.05


def test_the_posterior_has_the_true_level_and_its_importance() -> None:
    members = [
        _unknown("x", "0.0..10.0", 1.0),
        _unknown("z", ["a", "b"], "a"),
        _unknown("n", "0.0..1.0", 0.5),
    ]
    random = np.random.default_rng(2)
    levels: list[dict[str, Any]] = [
        {"x": float(10 * random.random()), "z": "ab"[k % 2], "n": float(random.random())}
        for k in range(80)
    ]
    points = np.array([coordinates(members, item) for item in levels])

    def made(factor: float) -> Array:
        values: Array = np.array(
            [
                factor * (1 + float(item["x"])) * (1.0 if item["z"] == "b" else 2.0)
                for item in levels
            ]
        )
        return values

    # The truth: x = 4 and z = "b".
    cells = [CellValues(5.0 * k, 4.95 * k, 5.05 * k, made(k), 0.0) for k in (1.0, 2.0, 3.0)]
    # A cell that z alone decides.
    by_z = np.array([10.0 if item["z"] == "b" else 13.0 for item in levels])
    cells += [CellValues(10.0, 9.9, 10.1, by_z, 0.0)] * 3
    result = posterior(members, points, cells, seed=1)
    low, middle, high = result.ranges["x"]
    assert low < 4.0 < high
    assert high - low < 3.0
    assert middle == pytest.approx(4.0, abs=0.5)
    assert result.shares["z"]["b"] > 0.9
    wide = result.ranges["n"]
    assert wide[2] - wide[0] > 0.6
    assert result.importance["x"][1] > 0.3
    assert result.importance["n"][1] < 0.05
    assert result.effective > 50


def test_the_effective_number_of_draws() -> None:
    random = np.random.default_rng(4)
    free = random.standard_normal((4, 2000))
    assert posteriors._effective(free) == pytest.approx(8000, rel=0.2)
    # Each value stands five times.
    assert posteriors._effective(np.repeat(free, 5, axis=1)) == pytest.approx(8000, rel=0.3)
    assert posteriors._effective(np.ones((2, 10))) == 1.0


def test_a_level_is_excluded_by_its_best_trial() -> None:
    members = [_unknown("z", ["a", "b", "c"], "a"), _unknown("x", "0.0..1.0", 0.5)]
    worths = {"a": (-10.0, -12.0, -11.0), "b": (-15.0, -15.0, -14.8), "c": (-90.0, -90.0)}
    trials: list[Any] = [
        ({"z": name, "x": 0.1}, worth) for name, row in worths.items() for worth in row
    ]
    # c has too few trials.
    assert excluded(members, trials) == {"z": ["b"]}
    assert pytest.approx(4.605, abs=1e-3) == posteriors.EXCLUDED


# The result.


def result(**fields: Any) -> Inferred:  # noqa: ANN401
    given = {
        "study": "omueti2007",
        "date": "2026-11-27",
        "version": "0",
        "seed": 1,
        "trials": 9,
        "pruned": 2,
        "runs": 1,
        "confirm": 2,
        "best": {"window": "60 kB"},
        "chosen": {"window": "64 kB"},
        "gain": 3.0,
        "halves": [
            Half("fitted", "chosen", 10, 2, 1.1, 1.2),
            Half("fitted", "inferred", 10, 8, 1.0, 1.1),
            Half("held out", "chosen", 10, 3, 1.1, 1.2),
            Half("held out", "inferred", 10, 2, 1.0, math.nan),
        ],
        "cells": [JudgedCell("t: a, b", "fitted", True, 5, 4, 6, 7, math.nan, False, False)],  # noqa: FBT003
        "ranges": {"window": (55, 60, 64)},
        "shares": {},
        "effective": 100.0,
        "importance": {"window": (0.1, 0.4)},
    }
    return Inferred(**{**given, **fields})


def test_overfitting_is_fishers_exact_test() -> None:
    # 3 of 4 and 1 of 4: P(at most one of four agreeing cells held out) = (1 + 16) / 70.
    assert overfitted(3, 4, 1, 4) == pytest.approx(17 / 70)
    assert overfitted(2, 4, 4, 4) == pytest.approx(1.0)
    assert overfitted(0, 4, 0, 4) == pytest.approx(1.0)
    assert overfitted(8, 10, 2, 10) == pytest.approx(0.0115, abs=1e-4)
    assert result().overfitting == pytest.approx(0.0115, abs=1e-4)


def test_a_record_is_read_as_it_was_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = result()
    made.save(tmp_path / "inferred.json")
    monkeypatch.setattr("farlink.studies.inference.record.resources.files", lambda _: tmp_path)
    read = recorded("omueti2007")
    assert read is not None
    assert read.text == made.text
    assert (
        read.command == "farlink study omueti2007 --infer --trials 9 --runs 1 --confirm 2 --seed 1"
    )
    (tmp_path / "inferred.json").write_text('{"format": "farlink-inferred/0"}')
    with pytest.raises(ValueError, match="is no farlink-inferred/1"):
        recorded("omueti2007")


def test_a_study_without_a_record_has_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("farlink.studies.inference.record.resources.files", lambda _: tmp_path)
    assert recorded("vatne2006") is None


@pytest.mark.parametrize(
    ("agree", "factor", "verdict"),
    [
        (3, 1.1, "an improvement"),
        (4, 1.1, "an improvement"),
        (2, 1.3, "no improvement"),
        (2, 1.1, "no clear improvement"),
        (4, 1.3, "no clear improvement"),
    ],
)
def test_the_held_out_half_decides_on_the_fit(agree: int, factor: float, verdict: str) -> None:
    held = [Half("held out", "chosen", 10, 3, 1.1, 1.2)]
    held.append(Half("held out", "inferred", 10, agree, 1.0, factor))
    halves = [Half("fitted", "inferred", 10, 8, 1.0, 1.1), *held]
    text = markdown(result(halves=halves), [_unknown("window", "50 kB..64 kB", "64 kB")], "A 2000")
    assert f"The inferred levels are {verdict}." in text


def test_the_document_has_each_parameter_with_its_reason() -> None:
    members = [_unknown("window", "50 kB..64 kB", "64 kB")]
    text = markdown(result(), members, "A 2000")
    assert "| window: - | - | - | 64 kB | 60 kB | 55 to 64 kB |  | 0.40 |" in text
    assert "| t: a, b (c) | fitted | 5 | 7 | - |" in text
