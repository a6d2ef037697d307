"""A short lossy download, and one result of it for all tests that only read results."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

import farlink as fl
from farlink.studies import significance

SMALL = """
name = "small"
description = "300 kB over a short lossy link"
seed = 7

[tcp]
variant = "sack"
receive_window = "65535 B"

[[links]]
name = "satellite"
between = ["gateway", "client"]

[links.down]
rate = "1 Mbit/s"
delay = "50 ms"
queue = { packets = 20 }
channel = { loss = 0.02 }

[links.up]
rate = "1 Mbit/s"
delay = "50 ms"

[[flows]]
name = "download"
from = "gateway"
to = "client"
app = "file"
size = "300 kB"
"""

ENDLESS = {"flows.0.size": "1000000 GB", "max_duration": "87600 h"}
"""Changes that make the download run for longer than any test."""


@pytest.fixture
def small(tmp_path: Path) -> Path:
    path = tmp_path / "small.toml"
    path.write_text(SMALL, encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def result(tmp_path_factory: pytest.TempPathFactory) -> fl.Result:
    path = tmp_path_factory.mktemp("scenario") / "small.toml"
    path.write_text(SMALL, encoding="utf-8")
    return fl.run(path, tcp=["newreno", "sack"], runs=3)


def without_wall_time(document: Mapping[str, object]) -> dict[str, object]:
    assert isinstance(document["wall_s"], float)
    return {key: value for key, value in document.items() if key != "wall_s"}


@pytest.fixture
def few_draws(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Use a tenth of the random draws in tests of lognormal means, for tests of many samples.

    With so few draws a p-value of 0.025 is exact to 0.005.
    """
    monkeypatch.setattr(significance, "_DRAWS", significance._DRAWS // 10)
    significance._draws.cache_clear()
    yield
    significance._draws.cache_clear()
