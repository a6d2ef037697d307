"""Paths over constellations: published pairs, an independent computation, and scenarios."""

import heapq
import math
from pathlib import Path

import numpy as np
import pytest

import farlink as fl
from farlink import constellation, orbit, recordings
from farlink.cli.paths import _shell as shell_of
from farlink.constellation import Shell
from farlink.errors import ScenarioError
from farlink.orbit import Place
from test_cli import farlink

MANILA, DALIAN = Place(14.6042, 120.9822), Place(38.913811, 121.602322)
PETERSBURG = Place(59.929858, 30.326228)

#: Kuiper's shell as Hypatia makes it: 34 planes of 34, each second one half a place ahead.
KUIPER_KM, KUIPER_RANGE = 630.0, 630 / math.sin(math.radians(30))

#: Paths and round trips (ms) at their first instant (s), from satgenpy/tests/data_to_match of
#: Hypatia (Kassing and others, IMC 2020).
PUBLISHED = {
    (MANILA, DALIAN): [
        (0.0, "184-183-217", 29.4231),
        (18.0, "218-217", 25.3465),
        (27.6, "648-649-650-616", 41.1425),
        (74.3, "218-217-216-250", None),
        (125.9, "647-648-649-650-616", None),
        (128.7, "647-648-649-615", None),
    ],
    (MANILA, PETERSBURG): [
        (0.0, "184-183-182-181-180-179-178-144", 76.8460),
        (3.3, "184-183-182-181-180-179-178-177", 75.9793),
        (139.5, "184-183-182-181-180-179-178-144", None),
        (150.1, "183-182-181-180-179-178-144", None),
        (155.4, "none", None),
        (165.2, "183-182-181-180-179-178-177-143", None),
        (178.8, "183-182-181-180-179-178-177-176", None),
    ],
}


def kuiper() -> Shell:
    lines = []
    for plane in range(34):
        for place in range(34):
            number = plane * 34 + place + 1
            angle = (180 / 34 if plane % 2 else 0) + place * 360 / 34
            lines.append(
                orbit._summed(
                    f"1 {number:05d}U 00000ABC 00001.00000000  .00000000  00000-0  00000+0 0    0"
                )
            )
            lines.append(
                orbit._summed(
                    f"2 {number:05d}  51.9000 {plane * 360 / 34:8.4f} 0000001   0.0000 "
                    f"{angle:8.4f} 14.80000000    0"
                )
            )
    return Shell("\n".join(lines) + "\n", 34)


def test_the_published_paths_of_hypatia_are_found() -> None:
    rows = constellation.paths(
        kuiper(), list(PUBLISHED), duration=200, step=0.1, min_elevation=0, max_range=KUIPER_RANGE
    )
    for path, published in zip(rows, PUBLISHED.values(), strict=True):
        frame = path.frame()
        changes = frame[frame["path"] != frame["path"].shift()]
        assert changes["path"].tolist() == [name for _, name, _ in published]
        times = [time for time, _, _ in published]
        assert changes["time (s)"].tolist() == pytest.approx(times, abs=0.1 + 1e-9)
        for time, _, trip in published:
            if trip is not None:
                at = round(time * 10)
                assert 2 * frame["delay (ms)"][at] == pytest.approx(trip, rel=2e-4)


def slowly(
    positions: "np.ndarray[tuple[int, int], np.dtype[np.float64]]",
    shell: tuple[int, int, int],
    ends: tuple[Place, Place],
    elevation: float,
) -> float:
    """Return the least delay in seconds by Dijkstra's rule on a sphere."""
    planes, per_plane, shift = shell
    grounds = []
    for end in ends:
        north, east = math.radians(end.latitude), math.radians(end.longitude)
        up = np.array(
            [math.cos(north) * math.cos(east), math.cos(north) * math.sin(east), math.sin(north)]
        )
        way = positions - 6371.0 * up
        length = np.sqrt((way**2).sum(axis=1))
        grounds.append(
            np.where(way @ up >= math.sin(math.radians(elevation)) * length, length, np.inf)
        )
    queue = [(float(length), node) for node, length in enumerate(grounds[0])]
    heapq.heapify(queue)
    done: set[int] = set()
    best = math.inf
    while queue:
        length, node = heapq.heappop(queue)
        if node in done or length == math.inf:
            continue
        done.add(node)
        best = min(best, length + float(grounds[1][node]))
        plane, place = divmod(node, per_plane)
        near = [
            plane * per_plane + (place + 1) % per_plane,
            plane * per_plane + (place - 1) % per_plane,
            (plane + 1) * per_plane + place if plane + 1 < planes else (place + shift) % per_plane,
            (plane - 1) * per_plane + place
            if plane
            else (planes - 1) * per_plane + (place - shift) % per_plane,
        ]
        for other in near:
            link = float(np.sqrt(((positions[node] - positions[other]) ** 2).sum()))
            heapq.heappush(queue, (length + link, other))
    return best / 299_792.458


def test_delays_are_those_of_an_independent_computation() -> None:
    """Circular orbits on a sphere, turned by the sidereal angle; least delays by Dijkstra."""
    planes, per_plane, phasing = 20, 18, 7
    shell = constellation.walker(
        altitude=1200, inclination=60, planes=planes, per_plane=per_plane, phasing=phasing
    )
    draw = np.random.default_rng(3)
    pairs = [
        (
            Place(float(draw.uniform(-55, 55)), float(draw.uniform(-180, 180))),
            Place(float(draw.uniform(-55, 55)), float(draw.uniform(-180, 180))),
        )
        for _ in range(8)
    ]
    rows = constellation.paths(shell, pairs, duration=900, step=300, min_elevation=20)
    radius = 6378.135 + 1200
    motion = math.sqrt(398_600.8 / radius**3)
    tilt = math.radians(60)
    for number, time in enumerate((0.0, 300.0, 600.0)):
        days = 9496.5 + time / 86400  # 2026-01-01 after J2000
        turned = math.radians(280.46062 + 360.98564737 * days)
        positions = np.empty((planes * per_plane, 3))
        for node in range(planes * per_plane):
            plane, place = divmod(node, per_plane)
            angle = math.tau * (place / per_plane + phasing * plane / (planes * per_plane))
            angle += motion * time
            ascending = math.tau * plane / planes - turned
            x, y = math.cos(angle), math.sin(angle)
            positions[node] = radius * np.array(
                [
                    x * math.cos(ascending) - y * math.cos(tilt) * math.sin(ascending),
                    x * math.sin(ascending) + y * math.cos(tilt) * math.cos(ascending),
                    y * math.sin(tilt),
                ]
            )
        for pair, path in zip(pairs, rows, strict=True):
            wanted = slowly(positions, (planes, per_plane, phasing), pair, 20)
            assert path.delay[number] == pytest.approx(wanted, rel=0.01)


def test_a_path_stays_for_an_interval_while_its_delay_changes() -> None:
    shell = constellation.walker(altitude=550, inclination=53, planes=72, per_plane=22, phasing=39)
    pair = (Place(40.7, -74.0), Place(51.5, -0.1))
    (held,) = constellation.paths(shell, [pair], duration=120, step=1, interval=15)
    (free,) = constellation.paths(shell, [pair], duration=120, step=1)
    for begin in range(0, 120, 15):
        assert len(set(held.satellites[begin : begin + 15])) == 1
        assert held.satellites[begin] == free.satellites[begin]
        assert held.delay[begin] == pytest.approx(free.delay[begin], rel=1e-9)
    assert len(np.unique(held.delay)) == 120
    same = [a == b for a, b in zip(held.satellites, free.satellites, strict=True)]
    assert 60 < sum(same) < 120
    assert held.delay[same] == pytest.approx(free.delay[same], rel=1e-9)
    # Light along the ground needs 18.6 ms for these 5,570 km.
    assert 0.0186 < free.delay.min() < 0.03


def test_without_links_a_path_has_one_satellite_or_none() -> None:
    shell = constellation.walker(altitude=550, inclination=53, planes=72, per_plane=22, phasing=39)
    near, far = (Place(48.1, 11.6), Place(50.1, 8.7)), (Place(48.1, 11.6), Place(40.7, -74.0))
    rows = constellation.paths(shell, [near, far], duration=10, step=1, links=False)
    assert {len(item) for item in rows[0].satellites} == {1}
    assert rows[0].delay.max() < 0.01
    assert np.isnan(rows[1].delay).all()
    with pytest.raises(ScenarioError, match="no path at any time"):
        rows[1].recording(recordings.Settings(name="x"))


def test_a_path_is_a_recording_that_runs(tmp_path: Path) -> None:
    (path,) = constellation.paths(
        kuiper(), [(MANILA, PETERSBURG)], duration=200, step=0.1, min_elevation=0,
        max_range=KUIPER_RANGE,
    )  # fmt: skip
    recording = path.recording(recordings.Settings(name="manila"))
    assert recording.phases is not None
    assert len(recording.phases.starts) == 6
    assert recording.down.loss.mean == pytest.approx(9.7 / 200, abs=0.002)
    recordings.save(recording, tmp_path / "out")
    assert recordings.load(tmp_path / "out").phases is not None
    result = fl.run(tmp_path / "out" / "scenario.toml", overrides={"duration": "5 s"})
    assert result.rows("results")[0]["metrics"]["rtt_min"]["mean"] > 0.0759


def test_a_star_has_no_links_over_its_seam() -> None:
    shell = constellation.walker(
        altitude=780, inclination=86.4, planes=6, per_plane=11, phasing=3, spread=189.6
    )
    assert (shell.seam, shell.shift) == (False, 0)
    assert constellation.walker(
        altitude=550, inclination=53, planes=72, per_plane=22, phasing=39
    ).shift == 17  # fmt: skip


BAD = [
    ({"step": 0}, "step 0 and duration 10"),
    ({"interval": 1.5}, "interval 1.5; write a multiple of the step"),
    ({"min_elevation": 90}, "min_elevation 90; write 0 to below 90"),
    ({"clearance": -1}, "clearance -1; write 0 or more"),
    ({"clearance": 900}, "clearance 900 km is above the orbits"),
]


@pytest.mark.parametrize(("change", "message"), BAD)
def test_a_wrong_argument_is_named(change: dict[str, float], message: str) -> None:
    shell = constellation.walker(altitude=780, inclination=80, planes=4, per_plane=5)
    values = {"duration": 10.0, "step": 1.0} | change
    with pytest.raises(ScenarioError, match=message):
        constellation.paths(shell, [(MANILA, DALIAN)], **values)  # type: ignore[arg-type]


def test_planes_must_divide_the_satellites() -> None:
    with pytest.raises(ScenarioError, match="66 satellites are not 7 planes"):
        constellation.paths(Shell(orbit.example(), 7), [(MANILA, DALIAN)])
    with pytest.raises(ScenarioError, match="links need at least 3 planes"):
        constellation.paths(Shell(orbit.example(), 2), [(MANILA, DALIAN)])
    with pytest.raises(ScenarioError, match="no pair of places"):
        constellation.paths(Shell(orbit.example(), 6), [])


def test_the_command_reads_shells() -> None:
    assert not shell_of("example", None).seam
    delta = shell_of("walker:550,53,72x22,39", None)
    assert (delta.planes, delta.shift, delta.seam) == (72, 17, True)
    star = shell_of("walker:780,86.4,6x11,3,189.6", None)
    assert (star.planes, star.shift, star.seam) == (6, 0, False)


def test_the_command_writes_a_scenario(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    ends = ["--from", "47.4,8.5", "--to", "40.7,-74", "--out", str(out)]
    few = ["--duration", "60", "--min-elevation", "8"]
    assert farlink("channels", "paths", "example", *ends, *few) == 0
    assert "light time along the path" in " ".join(capsys.readouterr().out.split())
    assert farlink("run", str(out / "scenario.toml"), "--set", "duration=1s", "--quiet") == 0
    empty = tmp_path / "empty.tle"
    empty.write_text("", encoding="ascii")
    for arguments, message in (
        (["walker:550,53"], "write for example walker:550,53,72x22,39"),
        (["walker:550,53,72x22,72"], "F is 0 to 71"),
        (["walker:550,53,72x22", "--planes", "3"], "--planes is for a file of elements"),
        (["none.tle"], "none.tle: no such file"),
        ([str(empty)], "empty.tle: give the number of its planes with --planes"),
        ([str(empty), "--planes", "3"], "empty.tle: no two-line elements in it"),
    ):
        assert (
            farlink("channels", "paths", *arguments, *ends[:4], "--out", str(tmp_path / "b")) == 2
        )
        err = capsys.readouterr().err
        assert message in err
        assert err.count("\n") == 1
        assert not (tmp_path / "b").exists()
