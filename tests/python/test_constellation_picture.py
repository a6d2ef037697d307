"""Pictures of paths over constellations, and graphs of NetworkX in and out."""

import math
from itertools import combinations
from pathlib import Path

import matplotlib as mpl
import networkx as nx
import numpy as np
import pytest
from matplotlib.path import Path as Outline
from matplotlib.text import Text
from matplotlib.transforms import Bbox

from farlink import constellation, orbit
from farlink.constellation.ground import below
from farlink.constellation.picture import rows_of_moments
from farlink.errors import ScenarioError
from farlink.orbit import LIGHT, Place
from farlink.plot.globe import arc, outlines
from test_cli import farlink

TOKYO, SAN_FRANCISCO = Place(35.7, 139.7), Place(37.8, -122.4)
CAPE, SVALBARD = Place(-33.9, 18.4), Place(78.2, 15.6)


def delta() -> constellation.Shell:
    return constellation.walker(altitude=780, inclination=60, planes=12, per_plane=12, phasing=5)


def star() -> constellation.Shell:
    return constellation.walker(
        altitude=780, inclination=86.4, planes=6, per_plane=11, spread=180, phasing=3
    )


@pytest.mark.parametrize("shell", [delta(), star()], ids=["delta", "star"])
@pytest.mark.parametrize("time", [1e-3, 61.0, 1900.0])
def test_the_graph_has_the_least_paths_of_the_shell(
    shell: constellation.Shell, time: float
) -> None:
    places = {"a": TOKYO, "b": SAN_FRANCISCO, "c": CAPE, "d": SVALBARD}
    for a, b in combinations(places, 2):
        # The second row of the table is at this time.
        (path,) = constellation.paths(
            shell, [(places[a], places[b])], duration=2 * time, step=time, min_elevation=10
        )
        # Without other places, which a path in the graph may pass.
        two = {a: places[a], b: places[b]}
        graph = constellation.graph(shell, time, places=two, min_elevation=10)
        try:
            delay = nx.dijkstra_path_length(graph, a, b, weight="delay")
        except nx.NetworkXNoPath:
            delay = math.nan
        assert path.delay[1] == pytest.approx(delay, rel=1e-9, nan_ok=True)


def test_the_graph_has_places_of_satellites_and_lengths_of_links() -> None:
    shell = delta()
    graph = constellation.graph(shell, places={"cape": CAPE}, min_elevation=10)
    satellites = [node for node in graph if isinstance(node, int)]
    assert satellites == list(range(144))
    # Each satellite has four neighbours (+Grid).
    assert {len([n for n in graph[node] if isinstance(n, int)]) for node in satellites} == {4}
    node = graph.nodes[13]
    assert (node["name"], node["plane"]) == ("SAT-01-01", 1)
    assert max(abs(graph.nodes[n]["latitude"]) for n in satellites) == pytest.approx(60, abs=0.4)
    assert node["altitude"] == pytest.approx(780, abs=25)
    for a, b, edge in graph.edges(data=True):
        assert edge["delay"] == pytest.approx(edge["length"] / LIGHT)
        if isinstance(a, str) or isinstance(b, str):
            assert 780 - 25 < edge["length"] < 2400
    inside = 2 * (6378.135 + 780) * math.sin(math.pi / 12)
    assert graph.edges[0, 1]["length"] == pytest.approx(inside, rel=0.01)
    lone = constellation.graph(shell, places={"cape": CAPE}, links=False)
    assert all("cape" in edge for edge in lone.edges)


def test_paths_over_graphs_are_those_of_the_shell() -> None:
    shell = delta()
    (by_shell,) = constellation.paths(
        shell, [(TOKYO, CAPE)], duration=240, step=20, interval=60, min_elevation=5
    )
    places = {"tokyo": TOKYO, "cape": CAPE}
    (by_graph,) = constellation.graph_paths(
        # A satellite below the least elevation stays in use until the next choice.
        lambda time: constellation.graph(shell, time, places=places, min_elevation=5),
        [("tokyo", "cape")],
        duration=240,
        step=20,
        interval=60,
    )
    for row in range(0, 12, 3):
        assert by_graph.satellites[row] == by_shell.satellites[row]
        assert by_graph.delay[row] == pytest.approx(by_shell.delay[row], rel=1e-9)
    same = np.isfinite(by_graph.delay)
    assert same.sum() >= 9
    assert by_graph.delay[same] == pytest.approx(by_shell.delay[same], rel=1e-9)
    assert by_graph.frame()["path"].tolist() == by_shell.frame()["path"].tolist()


def test_a_graph_of_ones_own_makes_a_path_table(tmp_path: Path) -> None:
    def at(time: float) -> "nx.Graph[str]":
        graph: nx.Graph[str] = nx.Graph()
        graph.add_edge("home", "leo", delay=0.010)
        if time < 3:
            graph.add_edge("leo", "office", delay=0.005)
        if time < 5:
            graph.add_edge("home", "geo", delay=0.13)
            graph.add_edge("geo", "office", delay=0.12)
        return graph

    (path,) = constellation.graph_paths(at, [("home", "office")], duration=6, step=1)
    assert path.frame()["path"].tolist() == ["leo"] * 3 + ["geo"] * 2 + ["none"]
    assert path.delay[:5].tolist() == pytest.approx([0.015] * 3 + [0.25] * 2)
    assert math.isnan(path.delay[5])
    # Between two choices the path stays, and is gone with its edge.
    (path,) = constellation.graph_paths(at, [("home", "office")], duration=6, step=1, interval=2)
    assert np.isfinite(path.delay).tolist() == [True, True, True, False, True, False]
    (direct,) = constellation.graph_paths(at(0), [("home", "leo")], duration=2)
    assert direct.frame()["path"].tolist() == ["direct"] * 2
    from farlink import recordings

    recording = path.recording(recordings.Settings(name="graph"))
    assert "home to office" in str(recording.source)
    recordings.save(recording, tmp_path / "graph")
    assert (tmp_path / "graph" / "scenario.toml").exists()


@pytest.mark.parametrize(
    ("edge", "pair", "message"),
    [
        ({}, ("a", "b"), "has the delay None; write seconds, 0 or more"),
        ({"delay": -1.0}, ("a", "b"), "has the delay -1.0"),
        ({"delay": 1.0}, ("a", "z"), "node 'z' is not in the graph"),
    ],
)
def test_wrong_graphs_are_refused(
    edge: dict[str, float], pair: tuple[str, str], message: str
) -> None:
    graph: nx.Graph[str] = nx.Graph()
    graph.add_edge("a", "b", **edge)
    with pytest.raises(ScenarioError, match=message):
        constellation.graph_paths(graph, [pair], duration=1)


def test_no_pair_of_nodes_is_refused() -> None:
    with pytest.raises(ScenarioError, match="no pair of nodes"):
        constellation.graph_paths(nx.Graph(), [])


@pytest.mark.parametrize("place", [TOKYO, CAPE, SVALBARD, Place(0, 180), Place(-90, 0)])
def test_the_point_below_a_place_is_the_place(place: Place) -> None:
    here, _ = orbit.frame(place)
    north, east, _ = below(np.array([here]))
    assert north[0] == pytest.approx(place.latitude, abs=2e-3)
    if abs(place.latitude) < 89:
        assert math.cos(math.radians(east[0] - place.longitude)) == pytest.approx(1)


def table(*names: str) -> constellation.Path:
    ways = tuple((ord(name),) for name in names)
    return constellation.Path((TOKYO, CAPE), 1.0, np.ones(len(ways)), ways)


def test_moments_are_the_middles_of_phases() -> None:
    assert rows_of_moments(table(*"aaabbbccc"), 3) == [1, 4, 7]
    # Evenly chosen phases if there are more.
    assert rows_of_moments(table(*"aaabbbcccdddeee"), 3) == [1, 7, 13]
    # Long phases are divided if there are fewer.
    assert rows_of_moments(table(*"aaaaaaaa"), 4) == [1, 3, 5, 7]
    assert rows_of_moments(table("a", "a"), 6) == [0, 1]


def test_arcs_follow_the_great_circle() -> None:
    middle = arc((0.0, 170.0), (0.0, -170.0), 3)[1]
    assert abs(middle[0]) == pytest.approx(180.0)
    assert middle[1] == pytest.approx(0.0, abs=1e-9)
    over = arc((60.0, 0.0), (60.0, 90.0), 3)[1]
    assert over[0] == pytest.approx(45)
    assert over[1] == pytest.approx(math.degrees(math.atan(math.tan(math.pi / 3) * math.sqrt(2))))
    assert np.abs(np.diff(arc((10.0, 170.0), (10.0, -100.0))[:, 0])).max() < 20


@pytest.mark.parametrize(
    ("north", "east", "is_land"),
    [
        (48, 2, True),
        (39, -98, True),
        (-25, 134, True),
        (66, 178, True),
        (67, -176, True),
        (-80, 0, True),
        (0, 20, True),
        (40, -40, False),
        (0, -150, False),
        (-50, 90, False),
        (35, 18, False),
    ],
)
def test_the_outlines_are_those_of_land(north: float, east: float, *, is_land: bool) -> None:
    points = [(east + shift, north) for shift in (-360, 0, 360)]
    rings = [Outline(ring) for ring in outlines()]
    assert any(ring.contains_point(point) for ring in rings for point in points) == is_land


@pytest.mark.parametrize(
    ("ends", "shell"),
    [((TOKYO, SAN_FRANCISCO), delta()), ((SVALBARD, CAPE), star())],
    ids=["across the antimeridian", "along a meridian"],
)
def test_a_picture_shows_the_path_without_overlaps(
    ends: tuple[Place, Place], shell: constellation.Shell
) -> None:
    (path,) = constellation.paths(shell, [ends], duration=600, step=5, min_elevation=10)
    with mpl.rc_context({"font.size": 23.0}):
        figure = constellation.picture(shell, path)
    world, *moments, delay = figure.axes
    assert len(moments) == 6
    for axes in moments:
        left, right = axes.get_xlim()
        low, high = axes.get_ylim()
        wide = (right - left) / axes.bbox.width
        assert wide == pytest.approx((high - low) / axes.bbox.height, rel=0.02)
        squares = [line for line in axes.lines if line.get_marker() == "s"]
        east = [float(np.asarray(line.get_xdata())[0]) for line in squares]
        inside = [place for place in east if left < place < right]
        assert len(inside) >= 2
    names = path.frame()["path"]
    changes = int((names != names.shift()).sum()) - 1
    assert f"{changes} change" in delay.get_title(loc="left")
    lines = [np.asarray(line.get_ydata(), dtype=float) for line in delay.lines]
    assert max(line.max() for line in lines if len(line) > 2) == pytest.approx(
        1e3 * np.nanmax(path.delay), rel=0.05
    )
    figure.draw_without_rendering()
    texts = [t for t in figure.findobj(Text) if t.get_text() and t.get_visible()]
    boxes = [text.get_window_extent() for text in texts]
    for a, b in combinations(range(len(boxes)), 2):
        part = Bbox.intersection(boxes[a], boxes[b])
        covers = part is not None and min(part.width, part.height) > 1
        assert not covers, (texts[a].get_text(), texts[b].get_text())
    assert len(world.lines) > 1


def test_a_time_without_a_path_is_shown() -> None:
    shell = star()
    (path,) = constellation.paths(
        shell, [(CAPE, CAPE)], duration=2400, step=20, links=False, min_elevation=30
    )
    assert np.isnan(path.delay).any()
    figure = constellation.picture(shell, path)
    titles = [axes.get_title(loc="left") for axes in figure.axes[1:-1]]
    assert any("no path" in title for title in titles)
    assert any("1 satellite" in title for title in titles)


def test_a_path_over_a_graph_has_no_map() -> None:
    graph: nx.Graph[str] = nx.Graph()
    graph.add_edge("a", "b", delay=0.1)
    (path,) = constellation.graph_paths(graph, [("a", "b")], duration=3)
    with pytest.raises(ScenarioError, match="not one over this shell"):
        constellation.picture(star(), path)


def test_the_command_draws_beside_the_scenario(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "leo"
    shell = ("walker:780,86.4,6x11,3,180", "--from", "78,15", "--to=-33.9,18.4")
    more = ("--duration", "120", "--step", "10", "--out", str(out), "--plot")
    assert farlink("channels", "paths", *shell, *more) == 0
    assert {"path.png", "path.svg", "scenario.toml"} <= {item.name for item in out.iterdir()}
    assert f"figure: {out / 'path.png'}" in capsys.readouterr().out.splitlines()
