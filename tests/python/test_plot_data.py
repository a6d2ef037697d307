import numpy as np
import pytest

from farlink.plot.curves import Curve, look, together
from farlink.plot.data import Columns, envelope, scattered, step_at, thinned, total, within


def test_lines_get_one_point_beyond_each_side() -> None:
    time = np.array([0.0, 1.0, 2.0, 3.0, 4.0])
    assert time[within(time, (1.5, 2.5))].tolist() == [1.0, 2.0, 3.0]
    assert time[within(time, (-5.0, 9.0))].tolist() == time.tolist()
    assert time[within(time, (2.2, 2.3))].tolist() == [2.0, 3.0]
    nothing = np.array([])
    assert len(nothing[within(nothing, (0.0, 1.0))]) == 0


def test_envelope_of_a_known_step_function() -> None:
    # 0 until 0.5, then 4 until 1.0, then 1 until 1.75, then 3.
    time, value = np.array([0.5, 1.0, 1.75]), np.array([4.0, 1.0, 3.0])
    middle, low, mean, high = envelope(time, value, (0.0, 2.0), 2)
    assert middle.tolist() == [0.5, 1.5]
    assert low.tolist() == [0.0, 1.0]
    assert mean.tolist() == [2.0, 1.5]
    assert high.tolist() == [4.0, 3.0]


def test_envelope_carries_values_over_empty_columns() -> None:
    _, low, mean, high = envelope(np.array([0.0]), np.array([5.0]), (0.0, 10.0), 10)
    assert low.tolist() == mean.tolist() == high.tolist() == [5.0] * 10


def test_envelope_of_nothing_is_zero() -> None:
    _, low, mean, high = envelope(np.array([]), np.array([]), (0.0, 1.0), 3)
    assert low.tolist() == mean.tolist() == high.tolist() == [0.0] * 3


def test_envelope_keeps_the_area() -> None:
    random = np.random.default_rng(3)
    time = np.sort(random.uniform(0, 10, 500))
    value = random.integers(0, 30, 500).astype(float)
    area = float(np.sum(value * np.diff([*time, 10.0])))
    for columns in (1, 7, 700):
        _, low, mean, high = envelope(time, value, (0.0, 10.0), columns)
        assert mean.sum() * 10 / columns == pytest.approx(area)
        assert (low <= mean + 1e-9).all()
        assert (mean <= high + 1e-9).all()
        assert high.max() == 29.0


def test_columns_choose_rows() -> None:
    columns = Columns(
        {"time": np.array([1.0, 2.0, 3.0]), "kind": np.array(["a", "b", "a"], dtype=object)}
    )
    assert columns.equal(kind="a")["time"].tolist() == [1.0, 3.0]
    assert columns.equal(kind="a").between((2.0, 3.0))["time"].tolist() == [3.0]
    assert len(columns.around((1.4, 1.6))) == 2


def test_columns_split_by_value() -> None:
    columns = Columns(
        {"time": np.array([1.0, 2.0, 3.0]), "flow": np.array(["b", "a", "b"], dtype=object)}
    )
    parts = columns.split("flow")
    assert {name: part["time"].tolist() for name, part in parts.items()} == {
        "a": [2.0],
        "b": [1.0, 3.0],
    }
    assert columns.where(slice(0, 0)).split("flow") == {}


def test_sum_of_step_functions() -> None:
    item = (np.array([1.0, 3.0]), np.array([10.0, 30.0]))
    other = (np.array([2.0, 4.0]), np.array([5.0, 0.0]))
    time, value = total([item, other])
    assert time.tolist() == [1.0, 2.0, 3.0, 4.0]
    assert value.tolist() == [10.0, 15.0, 35.0, 30.0]
    at = np.linspace(0, 5, 11)
    assert np.array_equal(step_at(time, value, at), step_at(*item, at) + step_at(*other, at))


def test_overlapping_curves_are_grouped() -> None:
    """Curves that differ by 0.5 % of the height overlap; a curve of half the length does not."""
    time = np.linspace(0, 10, 50)

    def curve(name: str, value: np.ndarray, to: int = 50) -> Curve:
        return Curve(name, name, time[:to], value[:to], look(0))

    curves = [
        curve("a", time),
        curve("b", 2 * time),
        curve("c", time + 0.1),
        curve("d", time, to=25),
        curve("e", 2 * time),
    ]
    assert together(curves, (0.0, 10.0)) == [["a", "c"], ["b", "e"]]


def test_a_thinned_line_keeps_ends_extremes_and_gaps_of_each_column() -> None:
    rng = np.random.default_rng(3)
    time = np.sort(rng.uniform(0, 10, 50_000))
    value = rng.normal(size=50_000).cumsum()
    value[20_000:20_300] = np.nan
    seen = thinned(time, value, (0, 10), 100)
    assert len(seen) <= 4 * 101 + 4
    assert seen[0] == 0
    assert seen[-1] == len(time) - 1
    assert {19_999, 20_000, 20_299, 20_300} <= set(seen.tolist())
    column = np.minimum((time * 10).astype(int), 99)
    for number in range(100):
        whole, part = value[column == number], value[seen][column[seen] == number]
        assert np.nanmin(part) == np.nanmin(whole)
        assert np.nanmax(part) == np.nanmax(whole)


def test_a_short_line_keeps_all_points() -> None:
    time = np.arange(400.0)
    assert len(thinned(time, time, (0, 400), 100)) == 400
    assert len(thinned(time, time, (0, 400), 99)) < 400
    assert len(thinned(np.empty(0), np.empty(0), (0, 1), 100)) == 0


def test_a_line_before_and_beyond_the_limits_is_thinned_to_their_columns() -> None:
    time = np.arange(10_000.0)
    seen = thinned(time, np.sin(time), (4_000, 4_100), 10)
    assert {0, 9_999} <= set(seen.tolist())
    assert len(seen) <= 4 * 11


def test_scattered_points_keep_every_cell_and_each_extreme_of_a_column() -> None:
    random = np.random.default_rng(5)
    time = np.sort(random.uniform(0, 10, 1_000_000))
    value = random.exponential(1.0, len(time))
    value[[123_456, 777_777]] = 50.0, -3.0
    columns, rows = 600, 300
    kept = scattered(time, [value], (0.0, 10.0), (columns, rows))
    assert 4 * columns < len(kept) < columns * rows
    assert {123_456, 777_777} <= set(kept.tolist())
    column = np.floor(time / 10 * columns).astype(int)
    for extreme in (np.minimum, np.maximum):
        before = extreme.reduceat(value, np.searchsorted(column, np.arange(columns)))
        after = extreme.reduceat(value[kept], np.searchsorted(column[kept], np.arange(columns)))
        assert (before == after).all()
    row = np.floor((value + 3) / 53 * rows).astype(int)
    cells = column * (rows + 1) + row
    assert set(cells.tolist()) == set(cells[kept].tolist())


def test_scattered_bars_differ_if_either_end_does() -> None:
    time = np.linspace(0.0, 1.0, 10_000)
    low = np.zeros(10_000)
    high = np.where(np.arange(10_000) % 2 == 0, 1.0, 2.0)
    kept = scattered(time, [low, high], (0.0, 1.0), (100, 10))
    assert len(kept) < 600
    column = np.minimum((time[kept] * 100).astype(int), 99)
    for at in range(100):
        assert set(high[kept][column == at]) == {1.0, 2.0}


def test_few_points_and_points_without_height_are_kept() -> None:
    few = np.linspace(0.0, 1.0, 40)
    assert len(scattered(few, [few], (0.0, 1.0), (10, 10))) == 40
    time = np.linspace(0.0, 1.0, 1000)
    nothing = np.full(1000, np.nan)
    assert 10 <= len(scattered(time, [nothing], (0.0, 1.0), (10, 10))) < 40
    same = np.ones(1000)
    assert len(scattered(time, [same], (0.0, 1.0), (10, 10))) < 40
