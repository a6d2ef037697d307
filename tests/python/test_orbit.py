"""Delay traces from two-line elements, and links that follow these traces."""

import math
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

import farlink as fl
from farlink import orbit
from farlink.cli import main

OSLO = orbit.Place(59.91, 10.75)
MUNICH = orbit.Place(48.14, 11.58)


def test_the_example_is_what_walker_makes() -> None:
    made = orbit.walker(
        altitude=780,
        inclination=86.4,
        planes=6,
        per_plane=11,
        spread=189.6,
        phasing=3,
        name="WALKER",
    )
    lines = [line for line in orbit.example().splitlines() if not line.startswith("#")]
    assert "\n".join(lines) + "\n" == made
    assert len(orbit.read_tle(orbit.example())) == 66


def test_sidereal_time_is_that_of_the_almanac() -> None:
    # 280.46062 degrees at J2000.
    result = math.degrees(float(orbit.sidereal(np.array([0.0]))[0]))
    assert result == pytest.approx(280.46062, abs=1e-5)
    # The angle repeats after a sidereal day.
    again = math.degrees(float(orbit.sidereal(np.array([86164.0905 / 86400]))[0]))
    assert again == pytest.approx(280.46062, abs=1e-4)


def test_a_satellite_over_the_equator_stands_overhead() -> None:
    item = orbit.walker(altitude=780, inclination=0, planes=1, per_plane=1)
    angle = math.degrees(float(orbit.sidereal(np.array([9496.5]))[0]))  # 2026-01-01
    below = orbit.Place(0.0, -angle)
    table = orbit.delay_trace(item, below, duration=1, step=1)
    assert table["elevation (deg)"][0] == pytest.approx(90, abs=1)
    # The path goes 780 km up and down; SGP4's short-period terms change it by 10 km.
    assert table["delay (ms)"][0] == pytest.approx(2 * 780 / 299.792, abs=0.07)


def test_delays_are_those_of_the_range_at_each_elevation() -> None:
    table = orbit.delay_trace(orbit.example(), OSLO, duration=3600, step=5, min_elevation=8.2)
    seen = table[table["loss"] == 0]
    elevation = np.radians(seen["elevation (deg)"].to_numpy())
    radius = 6371.0
    whole = np.sqrt((radius + 780) ** 2 - (radius * np.cos(elevation)) ** 2)
    delay = 2 * (whole - radius * np.sin(elevation)) / 299.792
    # The Earth and the orbits are flattened by 0.3 %, which is 3 % of the height.
    assert seen["delay (ms)"].to_numpy() == pytest.approx(delay, rel=0.03)
    assert (seen["elevation (deg)"] > 6).all()
    assert table["satellite"].nunique() > 5


def test_the_satellite_changes_only_when_it_is_chosen_anew() -> None:
    constellation = orbit.walker(altitude=550, inclination=53, planes=72, per_plane=22, phasing=39)
    table = orbit.delay_trace(
        constellation,
        MUNICH,
        gateway=orbit.Place(50.11, 8.68),
        duration=300,
        step=0.5,
        handover_time=0.12,
    )
    times = table["time (s)"].to_numpy()
    changes = times[1:][table["satellite"].to_numpy()[1:] != table["satellite"].to_numpy()[:-1]]
    assert len(changes) > 3
    assert np.all(changes % 15 == 0)
    lost = table.loc[table["loss"] == 1, "time (s)"].to_numpy()
    # Packets are lost from a change until the row 0.12 s later.
    assert list(lost) == list(changes)
    assert {round(c + 0.12, 6) for c in changes} <= {round(t, 6) for t in times}
    # At 25 degrees of elevation and 550 km of height a satellite is at most 1123 km away.
    assert table["delay (ms)"].between(2 * 540 / 299.8, 2 * 1150 / 299.8).all()


def test_where_nothing_is_seen_everything_is_lost() -> None:
    item = orbit.walker(altitude=780, inclination=86.4, planes=1, per_plane=11)
    table = orbit.delay_trace(item, OSLO, duration=86400, step=30, interval=30, min_elevation=8.2)
    assert 0.2 < table["loss"].mean() < 0.99
    assert (table.loc[table["loss"] == 1, "satellite"] == "").all()
    with pytest.raises(fl.ScenarioError, match="no satellite is above 80 degrees"):
        orbit.delay_trace(item, OSLO, duration=1, step=1, min_elevation=80)


def test_a_link_follows_the_trace(tmp_path: Path) -> None:
    table = orbit.delay_trace(orbit.example(), OSLO, duration=120, step=1, min_elevation=8.2)
    table.to_csv(tmp_path / "leo.csv", index=False)
    (tmp_path / "leo.toml").write_text(
        """
        [[links]]
        between = ["gateway", "user"]
        [links.down]
        rate = "20 Mbit/s"
        delay = "0 s"
        [links.down.channel]
        delay_trace = { file = "leo.csv", interpolate = true }
        loss_trace = { file = "leo.csv" }
        [[flows]]
        from = "gateway"
        to = "user"
        size = "2 MB"
        """
    )
    result = fl.run(tmp_path / "leo.toml")
    shortest = result.values["rtt_min"].iloc[0]
    low = 2 * table["delay (ms)"].min() / 1000
    assert low < shortest < low + 0.01
    # The result contains the trace, so it can be run again without the file.
    result.to_json(tmp_path / "result.json")
    (tmp_path / "leo.csv").unlink()
    again = fl.run(tmp_path / "result.json")
    assert again.values.equals(result.values)
    with pytest.raises(fl.ScenarioError, match=r"leo\.csv\" cannot be read: no such file"):
        fl.run(tmp_path / "leo.toml")


def test_the_command_writes_a_trace(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "leo.csv"
    asked = ["orbit", "example", "--at", "59.91,10.75", "--min-elevation", "8.2", "--duration"]
    with pytest.raises(SystemExit) as stop:
        main([*asked, "60", "--out", str(out)])
    assert stop.value.code == 0
    assert out.read_text().startswith("time (s),delay (ms),loss,satellite,elevation (deg)\n0.0,")
    assert "121 rows" in capsys.readouterr().out
    with pytest.raises(SystemExit) as stop:
        main([*asked, "0", "--out", str(tmp_path / "none.csv")])
    assert stop.value.code == 2
    assert not (tmp_path / "none.csv").exists()


def test_trajectories_are_those_of_the_runs() -> None:
    scenario = {
        "links": [
            {
                "name": "air",
                "between": ["a", "b"],
                "down": {
                    "rate": "250 kbit/s",
                    "delay": "1 ms",
                    "channel": {
                        "radio": {
                            "band": "2400 MHz",
                            "mobility": {
                                "model": "random-trip",
                                "area": ["100 m", "60 m"],
                                "speed": ["1 m/s", "2 m/s"],
                            },
                        }
                    },
                },
            }
        ],
        "flows": [{"from": "a", "to": "b", "size": "1 kB"}],
    }
    walk = fl.trajectory(scenario, duration=60, step=0.5)
    assert list(walk.columns) == ["time", "x1", "y1", "x2", "y2", "distance"]
    assert len(walk) == 121
    assert walk["x1"].between(0, 100).all()
    assert walk["y2"].between(0, 60).all()
    steps = np.hypot(np.diff(walk["x1"]), np.diff(walk["y1"]))
    assert steps.max() <= 1.0 + 1e-9
    assert not fl.trajectory(scenario, run=1).equals(fl.trajectory(scenario))
    with pytest.raises(fl.ScenarioError, match=r'"sea" is not a link'):
        fl.trajectory(scenario, link="sea")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"step": 0.0}, "step 0.0"),
        ({"min_elevation": 90.0}, "min_elevation 90.0"),
        ({"handover_time": 15.0}, "handover_time 15.0"),
        ({"interval": 0.1}, "interval 0.1"),
        ({"start": datetime(2026, 1, 1)}, "no time zone"),
    ],
)
def test_what_cannot_be_is_refused(change: dict[str, float], message: str) -> None:
    with pytest.raises(fl.ScenarioError, match=message):
        orbit.delay_trace(orbit.example(), OSLO, **change)  # type: ignore[arg-type]


def test_bad_elements_are_refused_with_their_line() -> None:
    good = orbit.walker(altitude=780, inclination=0, planes=1, per_plane=1)
    lines = good.splitlines()
    for text, message in [
        ("", "no two-line elements"),
        (lines[1], "elements:1: a first line without the second"),
        (good.replace("780", "781") if "780" in good else good[:-2] + "9\n", "checksum"),
    ]:
        with pytest.raises(fl.ScenarioError, match=message):
            orbit.read_tle(text)
    with pytest.raises(fl.ScenarioError, match="latitude 91"):
        orbit.Place(91, 0)
    utc = datetime(2026, 1, 2, tzinfo=UTC)
    later = orbit.delay_trace(orbit.example(), OSLO, start=utc, duration=1, min_elevation=8.2)
    assert len(later) == 3
