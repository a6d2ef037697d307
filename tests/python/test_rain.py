"""Rain fades: correct calls of the ITU-R models, and refused input."""

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import cast

import numpy as np
import pandas as pd
import pytest
from scipy.stats import multivariate_normal, norm

import farlink as fl
import recorded_itur
from test_cli import farlink

STOCKHOLM = "59.33,18.07"


@pytest.fixture
def recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace itur by recorded values; only the last test of this file uses itur itself."""
    package = recorded_itur.module()
    for name, part in (
        ("itur", package),
        ("itur.models", package.models),
        ("itur.models.itu618", package.models.itu618),
        ("itur.models.itu1511", package.models.itu1511),
    ):
        monkeypatch.setitem(sys.modules, name, cast("ModuleType", part))


# Warnings of itur do not concern farlink.
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.mark.usefixtures("recorded")
def test_the_probability_is_the_inverse_of_the_attenuation() -> None:
    place = fl.rain(59.33, 18.07, "20 GHz", satellite=13)
    # On a spherical Earth the elevation of the satellite is 22.6 degrees.
    assert place.elevation == pytest.approx(22.6, abs=0.2)
    attenuation = place.table["attenuation"]
    assert attenuation.is_monotonic_increasing
    assert place.attenuation(0.01) == pytest.approx(12, abs=1.5)
    for percent in (2.0, 0.2, 0.02):
        margin = place.attenuation(percent)
        assert place.probability(margin) == pytest.approx(percent / 100, rel=1e-6)
        assert place.margin(1 - percent / 100) == pytest.approx(margin, rel=1e-6)
    assert place.probability(1000) == 1e-5
    assert place.probability(1e-3) == 0.05


@pytest.mark.usefixtures("recorded")
def test_more_rain_higher_frequency_and_lower_satellites_fade_more() -> None:
    def fade(latitude: float, longitude: float, frequency: str, elevation: float) -> float:
        place = fl.rain(latitude, longitude, frequency, elevation=elevation)
        return place.attenuation(0.1)

    base = fade(59.33, 18.07, "20 GHz", 25)
    assert fade(1.35, 103.8, "20 GHz", 25) > 3 * base  # Singapore
    assert fade(59.33, 18.07, "30 GHz", 25) > 1.5 * base
    assert fade(59.33, 18.07, "20 GHz", 50) < base


@pytest.mark.usefixtures("recorded")
def test_a_margin_and_a_duration_make_a_channel(capsys: pytest.CaptureFixture[str]) -> None:
    place = fl.rain(59.33, 18.07, "20 GHz", elevation=25)
    stages = place.channel(3, "60 s")
    sample = fl.channel(stages, packets=1000)
    assert sample.theory["loss"] == pytest.approx(place.probability(3))
    options = ["--at", STOCKHOLM, "--frequency", "20GHz", "--elevation", "25", "--margin", "3"]
    more = ["--duration", "60 s", "--availability", "99.9"]
    assert farlink("rain", *options, *more) == 0
    out = capsys.readouterr().out
    for word in ("exceeded in a year", "more than 3 dB", "a margin of", 'burst = "60 s"'):
        assert word in out
    assert farlink("rain", *options, "--json") == 0
    data = json.loads(capsys.readouterr().out)
    assert data["fade_probability"] == pytest.approx(place.probability(3))


@pytest.mark.usefixtures("recorded")
def test_attenuation_over_time_has_the_distribution_of_the_year() -> None:
    """Attenuation exceeds P.618's values in the right shares of time, correlated as in P.1853.

    Rows an hour apart have a correlation of exp(-0.72) = 0.49. The number of independent rows is
    therefore less by (1 + 0.49) / (1 - 0.49) = 2.9. Bounds are four standard errors.
    """
    place = fl.rain(59.33, 18.07, "20 GHz", elevation=25)
    rows = 400_000
    series = place.series(14, length=f"{rows} h", step="1 h", seed=3)
    assert np.allclose(series["esno"], 14 - series["attenuation"], atol=1e-12)
    for percent in (5.0, 1.0, 0.1):
        share = (series["attenuation"] > place.attenuation(percent)).mean()
        p = percent / 100
        assert share == pytest.approx(p, abs=4 * (2.9 * p * (1 - p) / rows) ** 0.5)
    # Two rows exceed the attenuation of 5 % as often as two correlated normal values do.
    wet = (series["attenuation"] > place.attenuation(5.0)).to_numpy()
    both = (wet[1:] & wet[:-1]).mean()
    correlation = np.exp(-3600 * 2e-4)
    expected = multivariate_normal([0, 0], [[1, correlation], [correlation, 1]]).cdf(
        [norm.ppf(0.05)] * 2
    )
    assert both == pytest.approx(expected, rel=0.05)


@pytest.mark.usefixtures("recorded")
def test_a_storm_reaches_its_attenuation_in_the_middle() -> None:
    place = fl.rain(59.33, 18.07, "20 GHz", elevation=25)
    series = place.series(14, storm=0.03, length="1 h", step="10 s")
    assert len(series) == 361
    assert series["esno"][180] == pytest.approx(14 - place.attenuation(0.03))
    assert series.equals(place.series(14, storm=0.03, length="1 h", step="10 s"))
    other = place.series(14, storm=0.03, length="1 h", step="10 s", seed=2)
    assert not series.equals(other)


# Threshold in dB and bits per symbol of EN 302 307-1, table 13, of the codes that are each the best
# somewhere.
_MODCODS = (
    (-2.35, 0.490243), (-1.24, 0.656448), (-0.30, 0.789412), (1.00, 0.988858), (2.23, 1.188304),
    (3.10, 1.322253), (4.03, 1.487473), (4.68, 1.587196), (5.18, 1.654663), (5.50, 1.779991),
    (6.42, 1.788612), (6.62, 1.980636), (7.91, 2.228124), (8.97, 2.637201), (10.21, 2.966728),
    (11.03, 3.165623), (11.61, 3.300184), (12.73, 3.703295), (13.64, 3.951571), (14.28, 4.119540),
    (15.69, 4.397854), (16.05, 4.453027),
)  # fmt: skip


@pytest.mark.usefixtures("recorded")
def test_adaptive_coding_under_rain_is_two_commands(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Attenuation to Es/N0 to rate: `rain --out`, then a scenario that names the file."""
    out = tmp_path / "storm.csv"
    options = ["--at", STOCKHOLM, "--frequency", "20GHz", "--elevation", "25"]
    series = ["--clear-sky", "13", "--storm", "0.03", "--length", "20 min", "--step", "5 s"]
    assert farlink("rain", *options, *series, "--out", str(out)) == 0
    printed = capsys.readouterr().out
    assert "241 rows" in printed
    assert 'symbol_rate = "30 MBd"' in printed
    table = pd.read_csv(out)
    assert list(table) == ["time (s)", "attenuation (dB)", "esno (dB)"]
    assert np.allclose(table["esno (dB)"], 13 - table["attenuation (dB)"], atol=1e-4)
    file = tmp_path / "storm.toml"
    file.write_text(
        """[[links]]
name = "satellite"
between = ["hub", "terminal"]
up = { rate = "1 Mbit/s", delay = "250 ms" }
[links.down]
delay = "250 ms"
queue = { bytes = "200 kB" }
rate_trace = { file = "storm.csv", symbol_rate = "1 MBd", margin = 1, repeat = true }
[[flows]]
from = "hub"
to = "terminal"
size = "2 MB"
"""
    )
    assert farlink("run", str(file), "--tcp", "linux-cubic", "--quiet") == 0
    assert farlink("channel", str(file), "--packets", "1000") == 0
    # The mean rate of the trace is that of all rows except the last, which ends the trace.
    bits = [
        max((b for at, b in _MODCODS if at + 1 <= row), default=0.0) for row in table["esno (dB)"]
    ]
    sample = fl.channel(file, packets=1)
    assert sample.rate[0] == pytest.approx(1e6 * np.mean(bits[:-1]), rel=1e-5)
    assert sample.rate[2] == pytest.approx(1e6 * max(bits[:-1]), rel=1e-5)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"--at": "here"}, "--at here: write latitude,longitude"),
        ({"--at": "95,0"}, "place 95, 0: write a latitude of -90 to 90"),
        ({"--frequency": "20"}, 'frequency \'20\': write "1 GHz" to "55 GHz"'),
        ({"--elevation": "2"}, "elevation 2 degrees: P.618 is for 5 to 90 degrees"),
        ({"--satellite": "13"}, "give either the elevation or the longitude of the satellite"),
        ({"--duration": "60s"}, "--duration has no effect without --margin"),
        ({"--storm": "0.1"}, "--storm has no effect without --clear-sky"),
        ({"--clear-sky": "12"}, "--clear-sky has no effect without --out"),
        ({"--clear-sky": "12", "--out": "x.txt"}, "--out x.txt: write a name that ends in .csv"),
        ({"--availability": "50"}, "--availability 50: write 95 to 99.999 percent"),
    ],
)
def test_bad_input_is_one_line(
    changed: dict[str, str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    options = {"--at": STOCKHOLM, "--frequency": "20 GHz", "--elevation": "25"} | changed
    assert farlink("rain", *(part for pair in options.items() for part in pair)) == 2
    err = capsys.readouterr().err
    assert message in err
    assert err.count("\n") == 1


def test_a_satellite_below_the_horizon_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--at", STOCKHOLM, "--frequency", "20 GHz", "--satellite", "-150"]
    assert farlink("rain", *options) == 2
    assert "below the horizon" in capsys.readouterr().err


def test_without_itur_it_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "itur", None)
    options = ["--at", STOCKHOLM, "--frequency", "20 GHz", "--elevation", "25"]
    assert farlink("rain", *options) == 2
    assert (
        "needs a package that is not installed: pip install 'itur>=0.4'" in capsys.readouterr().err
    )


@pytest.mark.skipif(
    importlib.util.find_spec("itur") is None,
    reason="itur is not installed (pip install itur); its recorded values are tested",
)
@pytest.mark.parametrize("key", recorded_itur.ATTENUATIONS)
def test_what_was_recorded_is_what_itur_says(key: tuple[float, float, float, float]) -> None:
    latitude, longitude, ghz, elevation = key
    place = fl.rain(latitude, longitude, f"{ghz} GHz", elevation=elevation)
    assert place.height_km == pytest.approx(recorded_itur.HEIGHTS[latitude, longitude])
    for percent, expected in zip(
        recorded_itur.PERCENT, recorded_itur.ATTENUATIONS[key], strict=True
    ):
        assert place.attenuation(percent) == pytest.approx(expected, abs=1e-5)
