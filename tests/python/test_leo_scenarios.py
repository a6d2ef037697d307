"""Scenarios from published statistics have these statistics, and phases at the right seconds."""

import csv
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from farlink.recordings import phases

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import leo_scenarios as made  # noqa: E402


def trace(name: str, way: str, kind: str) -> "np.ndarray[Any, np.dtype[np.float64]]":
    """Return the rows of a trace, without the one that marks the end."""
    tree = tomllib.loads((ROOT / "scenarios" / f"{name}.toml").read_text("utf-8"))
    direction = tree["links"][0][way]
    table = direction["rate_trace"] if kind == "rate" else direction["channel"][f"{kind}_trace"]
    rows = list(csv.reader(table["data"].strip().splitlines()))[1:-1]
    return np.array([[float(cell) for cell in row] for row in rows])


def test_the_scenarios_are_those_of_the_tool() -> None:
    tool = ROOT / "tools" / "leo_scenarios.py"
    assert subprocess.run([sys.executable, tool, "--check"], check=False).returncode == 0


@pytest.mark.parametrize(
    ("name", "way", "published"),
    [
        ("starlink-laniewski2024", "down", made.HOME_DOWN),
        ("starlink-laniewski2024", "up", made.HOME_UP),
        ("car-starlink-hu2023", "down", made.CAR_DOWN),
        ("car-starlink-hu2023", "up", made.CAR_UP),
        ("car-5g-hu2023", "down", made.CELL_DOWN),
    ],
)
def test_a_trace_has_the_published_quantiles(
    name: str, way: str, published: tuple[float, ...]
) -> None:
    rates = trace(name, way, "rate")[:, 1]
    assert len(rates) == made.SECONDS
    for share, wanted in zip(made.SHARES[1:-1], published[1:-1], strict=True):
        low, high = (made.quantile(published, share + step) for step in (-0.01, 0.01))
        assert low - 0.1 <= np.quantile(rates, share) <= high + 0.1, (share, wanted)


@pytest.mark.parametrize("name", ["starlink-laniewski2024", "car-starlink-hu2023"])
def test_rates_and_delays_change_at_12_27_42_and_57(name: str) -> None:
    delay = trace(name, "down", "delay")[:, 1] + trace(name, "up", "delay")[:, 1]
    rates = trace(name, "down", "rate")[:, 1]
    for values, least in ((delay, 0.0), (rates, 0.6)):
        between = [share(values, offset) for offset in range(made.PERIOD)]
        if least:
            assert int(np.argmax(between)) == made.FIRST
            assert between[made.FIRST] > least
    ends = trace(name, "down", "loss")
    for time, loss in ends:
        if loss == 1:
            assert (time - made.FIRST) % made.PERIOD == 0
    assert ends[:, 1].max() == 1
    # An hour of such minutes has its phases found.
    grid = phases.periodic(np.tile(rates, 10) / 1e3, 1.0, 0.0)
    assert grid is not None
    assert grid.first == made.FIRST


def share(values: "np.ndarray[Any, np.dtype[np.float64]]", offset: int) -> float:
    """Return the share of the variance of the ranks between phases with an offset."""
    ranks = np.argsort(np.argsort(values)).astype(np.float64)
    phase = (np.arange(len(ranks)) - offset) // made.PERIOD % (len(ranks) // made.PERIOD)
    means = np.array([ranks[phase == number].mean() for number in range(phase.max() + 1)])
    return 1 - float(np.var(ranks - means[phase])) / float(np.var(ranks))
