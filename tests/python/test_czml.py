"""CZML of constellations: the documented format, and the same positions and paths read again."""

import json
import math
import random
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from farlink import constellation, orbit
from farlink.constellation.ephemeris import Track, interpolated, turned
from farlink.errors import ScenarioError
from test_cli import farlink

CITIES = {orbit.Place(40.7, -74): "new-york", orbit.Place(51.5, -0.1): "london"}
ENDS = tuple(CITIES)
LENGTH = 300.0

STAMP = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z"


@pytest.fixture(scope="module")
def shell() -> constellation.Shell:
    return constellation.walker(altitude=550, inclination=53, planes=24, per_plane=22, phasing=1)


@pytest.fixture(scope="module")
def paths(shell: constellation.Shell) -> list[constellation.Path]:
    return constellation.paths(shell, [(ENDS[0], ENDS[1])], duration=LENGTH, step=5)


@pytest.fixture(scope="module")
def written(shell: constellation.Shell, paths: list[constellation.Path]) -> str:
    return constellation.czml(shell, paths, CITIES, duration=LENGTH, name="net")


def _instants(interval: str) -> tuple[datetime, datetime]:
    assert re.fullmatch(f"{STAMP}/{STAMP}", interval)
    first, last = (datetime.fromisoformat(end) for end in interval.split("/"))
    assert first < last
    return first, last


def _check_samples(position: dict[str, Any], whole: tuple[datetime, datetime]) -> None:
    assert position["referenceFrame"] in ("FIXED", "INERTIAL")
    assert position["interpolationAlgorithm"] in ("LINEAR", "LAGRANGE", "HERMITE")
    rows = position["cartesian"]
    assert len(rows) % 4 == 0
    assert all(isinstance(value, int | float) and math.isfinite(value) for value in rows)
    times = rows[::4]
    assert times == sorted(set(times))
    assert len(times) > position["interpolationDegree"]
    assert re.fullmatch(STAMP, position["epoch"])
    epoch = datetime.fromisoformat(position["epoch"])
    assert epoch + timedelta(seconds=times[0]) <= whole[0]
    assert epoch + timedelta(seconds=times[-1]) >= whole[1]
    # Metres from the centre of the Earth.
    for at in range(0, len(rows), 4):
        assert 6.9e6 < math.hypot(*rows[at + 1 : at + 4]) < 6.96e6


def test_document_has_the_documented_packets(written: str) -> None:
    packets = json.loads(written)
    document, *others = packets
    assert document["id"] == "document"
    assert document["version"] == "1.0"
    whole = _instants(document["clock"]["interval"])
    assert whole[1] - whole[0] == timedelta(seconds=LENGTH)
    assert document["clock"]["range"] in ("UNBOUNDED", "CLAMPED", "LOOP_STOP")
    assert document["clock"]["step"] in (
        "TICK_DEPENDENT",
        "SYSTEM_CLOCK_MULTIPLIER",
        "SYSTEM_CLOCK",
    )
    ids = [packet["id"] for packet in packets]
    assert len(ids) == len(set(ids))
    samples = [packet for packet in others if "cartesian" in packet.get("position", {})]
    assert len(samples) == 24 * 22
    for packet in samples:
        assert _instants(packet["availability"]) == whole
        _check_samples(packet["position"], whole)
    for place, name in CITIES.items():
        (packet,) = (packet for packet in others if packet["id"] == name)
        assert packet["position"]["cartographicDegrees"] == [place.longitude, place.latitude, 0.0]


def test_lines_follow_the_path_and_refer_to_packets(
    written: str, paths: list[constellation.Path]
) -> None:
    packets = json.loads(written)
    begin = datetime.fromisoformat(packets[0]["clock"]["interval"].split("/")[0])
    ids = {packet["id"] for packet in packets}
    shown: dict[float, list[str]] = {}
    for packet in packets:
        if "polyline" not in packet:
            continue
        references = packet["polyline"]["positions"]["references"]
        assert all(name.endswith("#position") for name in references)
        nodes = [name.removesuffix("#position") for name in references]
        assert set(nodes) <= ids
        for interval in packet["availability"]:
            first, last = ((end - begin).total_seconds() for end in _instants(interval))
            for time in np.arange(first, last, 5.0):
                assert time not in shown
                shown[float(time)] = nodes
    for row, hops in enumerate(paths[0].satellites):
        wanted = ["new-york", *(f"sat{node}" for node in hops), "london"] if hops else None
        assert shown.get(5.0 * row) == wanted
    assert len({tuple(nodes) for nodes in shown.values()}) > 1


def test_a_document_read_again_has_the_same_positions_and_paths(
    shell: constellation.Shell, paths: list[constellation.Path], written: str
) -> None:
    again = constellation.read_czml(written, 24, shift=shell.shift)
    times = np.arange(0.0, LENGTH, 7.0)
    ours, theirs = (item.satellites(None).positions(None, times) for item in (shell, again))
    assert np.abs(ours - theirs).max() < 0.001
    (read,) = constellation.paths(again, [(ENDS[0], ENDS[1])], duration=LENGTH, step=5)
    assert read.satellites == paths[0].satellites
    assert np.allclose(read.delay, paths[0].delay, atol=1e-8, equal_nan=True)
    # Another time 0 moves the positions along their samples.
    later = again.satellites(None).begin + timedelta(seconds=70)
    moved = again.satellites(later).positions([3], np.array([0.0, 7.0]))
    assert np.abs(moved - theirs[[3], 10:12]).max() < 1e-6
    assert np.isnan(again.satellites(None).positions([0], np.array([-1.0, LENGTH + 1]))).all()


def test_command_writes_and_reads_czml(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ("--from", "40.7,-74", "--to", "51.5,-0.1", "--duration", "60", "--interval", "15")
    first, second = tmp_path / "first", tmp_path / "second"
    shell = "walker:550,53,24x22"
    assert farlink("channels", "paths", shell, *options, "--czml", "--out", str(first)) == 0
    file = first / "constellation.czml"
    assert str(file) in capsys.readouterr().out
    again = ("--planes", "24", "--out", str(second))
    assert farlink("channels", "paths", str(file), *options, *again) == 0
    assert (first / "down.csv").read_text() == (second / "down.csv").read_text()


def test_samples_may_have_times_as_text_and_lines_between_them() -> None:
    rows = ["2026-01-01T00:00:00Z", 7e6, 0, 0, "2026-01-01T00:00:10Z", 0, 7e6, 0]
    packets = [
        {"id": "document", "version": "1.0"},
        {"id": "a", "position": {"cartesian": rows}},
        {"id": "city", "position": {"cartesian": [6.4e6, 0, 0]}},
        {"id": "other"},
    ]
    shell = constellation.read_czml(json.dumps(packets), 1)
    (places,) = shell.satellites(None).positions(None, np.array([0.0, 5.0, 10.0]))
    assert places.tolist() == [[7000.0, 0.0, 0.0], [3500.0, 3500.0, 0.0], [0.0, 7000.0, 0.0]]


def test_polynomials_of_their_degree_are_met_exactly() -> None:
    times = np.array([0.0, 1.0, 3.0, 4.0, 7.0, 9.0, 10.0])
    for degree in (1, 2, 3, 5):
        track = Track("x", datetime(2026, 1, 1, tzinfo=UTC), times,
                      np.stack([times**degree] * 3, axis=1), degree, inertial=False)  # fmt: skip
        when = np.linspace(0.0, 10.0, 41)
        assert np.allclose(interpolated(track, when)[:, 0], when**degree, rtol=1e-9, atol=1e-9)


def test_frame_of_the_stars_turns_by_sidereal_time_and_precession() -> None:
    # At the epoch J2000.0 the sidereal time is 280.46062 degrees, and there is no precession.
    angle = math.radians(280.46062)
    (place,) = turned(np.array([[1.0, 0.0, 0.0]]), np.array([0.0]))
    assert place == pytest.approx([math.cos(angle), -math.sin(angle), 0.0], abs=1e-6)
    # After 26 years the pole of J2000.0 is 26 x 20.043 arc seconds from that of date.
    (pole,) = turned(np.array([[0.0, 0.0, 1.0]]), np.array([26 * 365.25]))
    assert math.hypot(pole[0], pole[1]) == pytest.approx(math.radians(26 * 20.043 / 3600), rel=1e-4)


SAMPLE = [0, 7e6, 0, 0, 60, 0, 7e6, 0]


@pytest.mark.parametrize(
    ("packets", "message"),
    [
        ({"id": "document"}, "no list of packets"),
        ([{"id": "x"}], "the first packet"),
        ([{"id": "document"}], "no packet has a position"),
        ([{"id": "document"}, {"id": "a", "position": [{}]}], "in intervals"),
        ([{"id": "document"}, {"id": "a", "position": {"cartesian": SAMPLE}}], "no epoch"),
        (
            [{"id": "document"}, {"id": "a", "position": {"cartesian": SAMPLE[:-1]}}],
            "7 numbers; write time, x, y and z",
        ),
        (
            [
                {"id": "document"},
                {
                    "id": "a",
                    "position": {"epoch": "2026-01-01T00:00Z", "cartesian": SAMPLE[:4] * 2},
                },
            ],
            "do not increase",
        ),
        (
            [
                {"id": "document"},
                {
                    "id": "a",
                    "position": {
                        "epoch": "2026-01-01T00:00Z",
                        "referenceFrame": "MOON",
                        "cartesian": SAMPLE,
                    },
                },
            ],
            "referenceFrame MOON",
        ),
    ],
)
def test_other_documents_are_refused_in_a_line(packets: object, message: str) -> None:
    with pytest.raises(ScenarioError, match=message) as refused:
        constellation.read_czml(json.dumps(packets), 1)
    assert "\n" not in str(refused.value)


def test_damaged_documents_are_read_or_refused(shell: constellation.Shell) -> None:
    small = constellation.walker(altitude=550, inclination=53, planes=2, per_plane=1)
    text = constellation.czml(small, duration=60.0)
    chance = random.Random(7)  # noqa: S311 (places of damage)
    for _ in range(500):
        at = chance.randrange(len(text))
        damaged = text[:at] + chance.choice('0,"{}[]x-') + text[at + chance.randrange(3) :]
        message = ""
        try:
            read = constellation.read_czml(damaged, 1)
            assert read.satellites(None).positions(None, np.zeros(1)).shape[1:] == (1, 3)
        except ScenarioError as error:
            message = str(error)
        assert "\n" not in message


def test_durations_without_end_are_refused(shell: constellation.Shell) -> None:
    for duration in (0.0, -1.0, math.inf, math.nan, 1e9):
        with pytest.raises(ScenarioError, match="duration"):
            constellation.czml(shell, duration=duration)
