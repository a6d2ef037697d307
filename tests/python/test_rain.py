"""Rain fades: the ITU-R models asked the right way round, and what is refused."""

import importlib.util
import json
import sys
from types import ModuleType
from typing import cast

import pytest

import farlink as fl
import recorded_itur
from test_cli import farlink

STOCKHOLM = "59.33,18.07"


@pytest.fixture
def recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the tests run everywhere; the last of this file asks the package itself."""
    package = recorded_itur.module()
    for name, part in (
        ("itur", package),
        ("itur.models", package.models),
        ("itur.models.itu618", package.models.itu618),
        ("itur.models.itu1511", package.models.itu1511),
    ):
        monkeypatch.setitem(sys.modules, name, cast("ModuleType", part))


# What itur itself warns of is not ours.
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.mark.usefixtures("recorded")
def test_the_probability_is_the_inverse_of_the_attenuation() -> None:
    place = fl.rain(59.33, 18.07, "20 GHz", satellite=13)
    # Of a satellite above the horizon by 22.6 degrees, on a round earth.
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
    told = json.loads(capsys.readouterr().out)
    assert told["fade_probability"] == pytest.approx(place.probability(3))


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"--at": "here"}, "--at here: write latitude,longitude"),
        ({"--at": "95,0"}, "place 95, 0: write a latitude of -90 to 90"),
        ({"--frequency": "20"}, 'frequency \'20\': write "1 GHz" to "55 GHz"'),
        ({"--elevation": "2"}, "elevation 2 degrees: P.618 is for 5 to 90 degrees"),
        ({"--satellite": "13"}, "give either the elevation or the longitude of the satellite"),
        ({"--duration": "60s"}, "--duration has no effect without --margin"),
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
    assert "pip install 'farlink[rain]'" in capsys.readouterr().err


@pytest.mark.skipif(
    importlib.util.find_spec("itur") is None,
    reason="itur is not installed (pip install farlink[rain]); its recorded values are tested",
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
