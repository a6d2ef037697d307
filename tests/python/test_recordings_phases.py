"""Boundaries of path phases in synthetic recordings."""

import numpy as np
import pytest

from farlink.recordings import phases

NOON = 1_707_264_000.0  # 2024-02-07 00:00:00 UTC


def series(
    seed: int,
    *,
    step: float = 0.1,
    seconds: float = 300,
    start: float = NOON,
    spread: float = 10e-3,
    noise: float = 2e-3,
    boundary: float = 12.0,
    period: float = 15.0,
) -> "np.ndarray[tuple[int], np.dtype[np.float64]]":
    """Return delays: a level for each phase, a random walk, and exponential jitter."""
    draw = np.random.default_rng(seed)
    times = start + step * np.arange(round(seconds / step))
    phase = np.floor((times - boundary) / period).astype(int)
    levels = draw.uniform(0, spread, phase.max() - phase.min() + 2)
    walk = np.cumsum(draw.normal(0, 2e-5, len(times)))
    return np.asarray(
        0.03 + levels[phase - phase.min()] + walk + draw.exponential(noise, len(times))
    )


@pytest.mark.parametrize("step", [0.01, 0.1, 0.25, 1.0])
@pytest.mark.parametrize("start", [NOON, NOON + 3, NOON + 20.0])
def test_the_seconds_of_starlink_are_found(step: float, start: float) -> None:
    grid = phases.periodic(series(1, step=step, start=start), step, start)
    assert grid is not None
    assert grid.first == pytest.approx(12, abs=step + 1e-9)
    past = (start + step * grid.starts) % 60
    for second in past:
        distances = [abs(second - known) for known in (12, 27, 42, 57)]
        assert min(distances) <= step + 1e-6
    assert len(grid.starts) in (19, 20)


def test_other_offsets_and_periods_are_found_too() -> None:
    grid = phases.periodic(series(2, boundary=4.4), 0.1, NOON)
    assert grid is not None
    assert grid.first == pytest.approx(4.4, abs=0.1)
    every = series(3, boundary=5.0, period=20.0, seconds=400)
    grid = phases.periodic(every, 0.1, NOON, 20.0)
    assert grid is not None
    assert grid.period == 20.0
    assert grid.first == pytest.approx(5, abs=0.1)


def test_without_a_clock_the_first_boundary_is_from_the_start() -> None:
    grid = phases.periodic(series(4, start=NOON + 5), 0.1, None)
    assert grid is not None
    assert grid.first == pytest.approx(7, abs=0.1)
    assert grid.starts[0] == 70


@pytest.mark.parametrize("kind", ["noise", "walk", "sine", "constant", "steps"])
def test_nothing_is_found_where_nothing_is(kind: str) -> None:
    count = 0
    for seed in range(60):
        draw = np.random.default_rng([seed, 9])
        rows = 3000
        times = 0.1 * np.arange(rows)
        values = {
            "noise": 0.03 + draw.exponential(2e-3, rows),
            "walk": 0.05 + np.cumsum(draw.normal(0, 1e-4, rows)),
            "sine": 0.03 + 5e-3 * np.sin(times / draw.uniform(3, 60)) + draw.normal(0, 5e-4, rows),
            "constant": np.full(rows, 0.03),
            # Changes of level at random times.
            "steps": 0.03
            + draw.uniform(0, 1e-2, 40)[np.searchsorted(np.sort(draw.uniform(0, 300, 20)), times)]
            + draw.exponential(1e-3, rows),
        }[kind]
        count += phases.periodic(values, 0.1, NOON) is not None
    # The threshold is that of five standard errors; a walk is no independent noise.
    assert count <= 1, count


def test_jitter_alone_has_no_phases() -> None:
    for seed in range(100):
        draw = np.random.default_rng([seed, 17])
        values = 0.03 + draw.exponential(2e-3, 3000)
        assert phases.periodic(values, 0.1, NOON) is None, seed


def test_spikes_do_not_hide_the_phases() -> None:
    values = series(8, spread=6e-3)
    draw = np.random.default_rng(8)
    values[draw.random(len(values)) < 0.008] += 5.0
    grid = phases.periodic(values, 0.1, NOON)
    assert grid is not None
    assert grid.first == pytest.approx(12, abs=0.1)


def test_small_changes_are_found_in_most_recordings() -> None:
    grids = [phases.periodic(series(seed, spread=4e-3), 0.1, NOON) for seed in range(40)]
    seen = [item for item in grids if item is not None]
    assert len(seen) >= 38
    assert all(abs((item.first or 0) - 12) <= 0.2 for item in seen)


def test_a_phase_without_a_change_counts_as_a_boundary() -> None:
    draw = np.random.default_rng(6)
    phase = np.floor((0.1 * np.arange(3000) - 12) / 15).astype(int)
    level = np.where(phase == 7, phase - 1, phase) % 2  # No change between phases 6 and 7.
    values = 0.03 + 5e-3 * np.where(phase > 7, 1 - level, level)
    values = values + draw.exponential(5e-4, 3000)
    grid = phases.periodic(values, 0.1, NOON)
    assert grid is not None
    assert grid.changed is not None
    # Of the boundaries with whole windows around them, the one without a change does not count.
    inside = [row for row in grid.starts if 40 <= row <= len(values) - 40]
    assert grid.changed == len(inside) - 1


def test_a_short_series_has_no_phases() -> None:
    assert phases.periodic(series(7, seconds=60), 0.1, NOON) is None
    assert phases.periodic(series(7, step=5.0), 5.0, NOON) is None


def test_paths_make_phases() -> None:
    grid = phases.of_paths(["a", "a", "b", "b", "a"])
    assert grid.starts.tolist() == [2, 4]
    assert grid.paths == ("a", "b", "a")
    assert grid.changed == 2
