"""Pictures of networks: no label covers another, and places follow from the scenario."""

import json
from collections.abc import Mapping
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.path import Path as Outline
from matplotlib.text import Text
from matplotlib.transforms import Bbox

import farlink as fl
from farlink import _farlink, cli, source
from farlink.errors import ScenarioError
from farlink.plot.network import draw_network
from farlink.plot.network.labels import link_label
from farlink.plot.network.layout import columns_of, spread
from farlink.plot.network.model import read_network

ROOT = Path(__file__).resolve().parents[2]
LIBRARY = [name for name, _ in _farlink.scenarios()]


def farlink(*arguments: str) -> int:
    with pytest.raises(SystemExit) as stopped:
        cli.main(list(arguments))
    assert isinstance(stopped.value.code, int)
    return stopped.value.code


def resolved(scenario: str | Path | Mapping[str, object]) -> dict[str, Any]:
    texts = source.find(scenario).resolve(None, [])
    tree: dict[str, Any] = json.loads(next(iter(texts.values())))
    return tree


def boxes(figure: Figure) -> dict[str, Bbox]:
    figure.draw_without_rendering()
    texts = {}
    for number, text in enumerate(figure.axes[0].findobj(Text)):
        assert isinstance(text, Text)
        if text.get_text() and text.get_visible():
            texts[f"{number} {text.get_text()}"] = text.get_window_extent()
    return texts


def check_picture(figure: Figure) -> None:
    """Check that texts are inside the picture, and cover neither texts, signs nor lines."""
    texts = boxes(figure)
    for name, box in texts.items():
        assert box.x0 >= 0, name
        assert box.x1 <= figure.bbox.width, name
        assert box.y0 >= 0, name
        assert box.y1 <= figure.bbox.height, name
    overlaps = [
        (a, b)
        for a, b in combinations(texts, 2)
        if (part := Bbox.intersection(texts[a], texts[b])) and part.width > 1 and part.height > 1
    ]
    assert not overlaps
    axes = figure.axes[0]
    for line in axes.lines:
        points = line.get_transform().transform(line.get_xydata())
        parts = [points, *(np.linspace(a, b, 40) for a, b in pairwise(points))]
        steps = np.concatenate(parts)
        for name, box in texts.items():
            assert not np.any(np.all((steps > box.min) & (steps < box.max), axis=1)), name
    signs = [
        Outline(sign.get_transform().transform(sign.get_path().vertices)).get_extents()
        for sign in axes.patches
        if sign.get_zorder() <= 4
    ]
    for name, box in texts.items():
        covers = [Bbox.intersection(box, sign) for sign in signs]
        assert all(part is None or min(part.width, part.height) <= 1 for part in covers), name


@pytest.mark.parametrize("name", LIBRARY)
def test_no_label_of_a_library_scenario_covers_another(name: str) -> None:
    check_picture(draw_network(resolved(name)))


@pytest.mark.parametrize("path", sorted((ROOT / "examples" / "leung1998").glob("*.toml")))
def test_the_topologies_of_leung1998_are_drawn_and_run(path: Path) -> None:
    check_picture(draw_network(resolved(path)))
    changes = {"max_duration": "20 s"}
    assert fl.run(path, overrides=changes).data["results"]


def net(
    pairs: list[tuple[str, str]], flows: list[tuple[str, str]], **more: object
) -> dict[str, Any]:
    way = {"rate": "10 Mbit/s", "delay": "5 ms", "queue": {"packets": 50}}
    return {
        "name": "net",
        "links": [
            {"between": [a, b], "down": way, "up": {**way, "rate": f"{1 + n} Mbit/s"}}
            for n, (a, b) in enumerate(pairs)
        ],
        "flows": [{"from": a, "to": b, "size": "1 MB"} for a, b in flows],
        **more,
    }


def ring(size: int) -> dict[str, Any]:
    nodes = [f"r{n}" for n in range(size)]
    return net(list(zip(nodes, [*nodes[1:], nodes[0]], strict=True)), [("r0", f"r{size // 2}")])


def mesh(rows: int, columns: int) -> dict[str, Any]:
    pairs = [(f"n{r}-{c}", f"n{r}-{c + 1}") for r in range(rows) for c in range(columns - 1)]
    pairs += [(f"n{r}-{c}", f"n{r + 1}-{c}") for r in range(rows - 1) for c in range(columns)]
    return net(pairs, [("n0-0", f"n{rows - 1}-{columns - 1}"), ("n0-1", "n1-0")])


PARKING = net(
    [("s0", "r1"), ("r1", "r2"), ("s1", "r2"), ("r2", "r3"), ("r3", "d0"), ("r2", "d1")],
    [("s0", "d0"), ("s1", "d0"), ("s0", "d1")],
)
STAR = net([(f"host{n}", "hub") for n in range(45)], [("host0", "host1")])
SHAPES = {
    "two": net([("a", "b")], [("a", "b"), ("b", "a")]),
    "triangle": net([("a", "b"), ("b", "c"), ("a", "c")], [("a", "c"), ("b", "c")]),
    "parking": PARKING,
    "ring of 5": ring(5),
    "ring of 20": ring(20),
    "mesh of 16": mesh(4, 4),
    "mesh of 64": mesh(8, 8),
    "star": STAR,
    "long names": net(
        [("a-node-with-a-very-long-name-indeed", "b" * 60), ("b" * 60, "c_d")],
        [("a-node-with-a-very-long-name-indeed", "c_d")],
    ),
}


@pytest.mark.parametrize("name", SHAPES)
def test_no_label_of_other_shapes_covers_another(name: str) -> None:
    check_picture(draw_network(resolved(SHAPES[name])))


def test_columns_run_from_senders_to_receivers() -> None:
    columns = columns_of(read_network(resolved(PARKING)))
    # The sender and the receiver at r2 hang before and behind their router.
    assert columns == {"s0": 0, "r1": 1, "s1": 1, "r2": 2, "d1": 3, "r3": 3, "d0": 4}
    pairs = read_network(resolved("fairness-omueti2007"))
    at = columns_of(pairs)
    assert {at[f"sender{n}"] for n in range(6)} == {0}
    assert {at[f"receiver{n}"] for n in range(6)} == {5}


def test_many_hosts_are_groups() -> None:
    thousand = read_network(resolved("dumbbell-1000-pairs"))
    assert [(node.name, node.count) for node in thousand.nodes.values()] == [
        ("sender{}", 1000),
        ("west", 1),
        ("east", 1),
        ("receiver{}", 1000),
    ]
    star = read_network(resolved(STAR))
    counts = {node.name: node.count for node in star.nodes.values()}
    # Hosts with flows differ from the nodes without.
    assert counts == {"host0 … host1": 2, "host2 … host44": 43, "hub": 1}
    small = read_network(resolved("fairness-omueti2007"))
    assert len(small.nodes) == 16


def test_labels_have_the_values_of_both_directions() -> None:
    network = read_network(resolved("geo-pep"))
    link = next(link for link in network.links if link.name == "satellite")
    texts = [text for text, _ in link_label(link, [link], is_detailed=True).below]
    assert texts == ["→ 4 Mbit/s, 250 ms, loss 0.5 %", "← 1 Mbit/s, 250 ms", "⇄ queue 300 packets"]
    turned = [text for text, _ in link_label(link.turned(), [link], is_detailed=True).below]
    assert turned[:2] == ["→ 1 Mbit/s, 250 ms", "← 4 Mbit/s, 250 ms, loss 0.5 %"]


def test_a_lane_has_the_tcp_that_sends_on_each_part() -> None:
    (lane,) = read_network(resolved("geo-pep")).lanes
    assert lane.stops == ("server", "hub", "terminal", "client")
    assert lane.tcps == ("reno", "scps", "reno")
    split = resolved("wlan-west1997")
    split["agents"] = [
        {
            "at": "verdi",
            "wireless": "wavelan",
            "kind": "split",
            "enabled": True,
            "wireless_tcp": {"variant": "sack"},
            "wired_tcp": {"variant": "vegas"},
        }
    ]
    (lane,) = read_network(split).lanes
    assert lane.tcps == ("reno", "sack")
    split["flows"][0] |= {"from": "chopin", "to": "ravel"}
    (lane,) = read_network(split).lanes
    assert lane.tcps == ("reno", "vegas")
    split["agents"][0]["enabled"] = False
    (lane,) = read_network(split).lanes
    assert lane.tcps == ("reno",)


def test_each_path_of_a_connection_has_an_arrow_between_hosts() -> None:
    network = read_network(resolved(ROOT / "examples" / "multipath" / "starlink-cell-geo.toml"))
    assert [(lane.label, lane.stops) for lane in network.lanes] == [
        ("download: file of 50 MB", ("server-a", "dish")),
        ("download.cell: further path", ("server-b", "phone")),
        ("download.geo: backup path", ("server-c", "terminal")),
    ]
    assert {node.kind for node in network.nodes.values()} == {"host"}


@pytest.mark.parametrize(
    "name",
    ["starlink-cell.toml", "starlink-cell-geo.toml", "two-lossy-paths.toml", "bottleneck.toml"],
)
def test_no_label_of_several_paths_covers_another(name: str) -> None:
    check_picture(draw_network(resolved(ROOT / "examples" / "multipath" / name)))


def test_a_label_breaks_no_value_and_repeats_no_absent_delay() -> None:
    bursts = read_network(resolved("geo-bursts")).links[0]
    assert [text for text, _ in link_label(bursts, [bursts], is_detailed=True).below] == [
        "→ 12 Mbit/s, 250 ms, bursts: loss 2.56 %,",
        "burst 16.7 ms, queue 900 kB",
        "← 3 Mbit/s, 250 ms, queue 225 kB",
    ]
    traced = read_network(resolved("starlink-laniewski2024")).links[0]
    assert traced.down[0] == "rate from a trace"
    groups = read_network(resolved(ROOT / "examples" / "leung1998" / "figure-4.1.toml"))
    assert groups.lanes[0].ends == ("workstation0 … 2", "remote0 … 2")


def test_notes_tell_routes_that_change_from_static_ones() -> None:
    scenario = resolved("several-losses")
    route = {"at": "router", "to": "client", "via": "client"}
    scenario["routes"] = [{**route, "start": "0 s"}]
    assert read_network(scenario).notes == ["Static routes: router to client via client."]
    scenario["routes"] += [{**route, "start": "1 s"}, {**route, "start": "1 s"}]
    (note,) = read_network(scenario).notes
    assert note.startswith("Routes that change once: router to client via client;")


def test_links_and_nodes_have_the_sign_of_their_medium() -> None:
    stations = read_network(resolved("two-stations"))
    kinds = {node.name: node.kind for node in stations.nodes.values()}
    assert kinds == {
        "fixed": "host",
        "router": "router",
        "north": "station",
        "south": "station",
        "mobile": "host",
    }
    assert [link.standby for link in stations.links] == [False, False, False, False, True]
    pep = read_network(resolved("geo-pep"))
    assert pep.nodes["hub"].kind == "dish"
    assert [link.medium for link in pep.links] == ["wired", "satellite", "wired"]


def test_places_are_the_nearest_with_the_gaps() -> None:
    assert spread([0.0, 0.0, 0.0], [1.0, 1.0], [1.0] * 3) == [-1.0, 0.0, 1.0]
    assert spread([0.0, 5.0], [1.0], [1.0, 1.0]) == [0.0, 5.0]
    heavy = spread([0.0, 0.0], [1.0], [1000.0, 1.0])
    assert abs(heavy[0]) < 0.01
    assert heavy[1] - heavy[0] == pytest.approx(1.0)


def test_too_many_nodes_are_refused() -> None:
    with pytest.raises(ScenarioError, match="shows at most 200"):
        draw_network(resolved(ring(201)))


@pytest.mark.parametrize("suffix", [".png", ".svg"])
def test_the_command_writes_the_same_picture_each_time(
    suffix: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    contents = []
    for name in ("a", "b"):
        path = tmp_path / f"{name}{suffix}"
        assert farlink("show", "geo-pep", "--plot", str(path), "--tcp", "vegas") == 0
        assert capsys.readouterr().out == f"figure: {path}\n"
        contents.append(path.read_bytes())
    assert contents[0] == contents[1]
    assert contents[0].startswith(b"\x89PNG" if suffix == ".png" else b"<?xml")
    if suffix == ".svg":
        assert b"vegas" in contents[0]


def test_a_wrong_suffix_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert farlink("show", "geo-pep", "--plot", str(tmp_path / "a.pdf")) == 2
    assert "a picture is a .png or .svg file" in capsys.readouterr().err


def test_the_function_draws_with_changes() -> None:
    figure = fl.network("geo-pep", overrides={"links.satellite.down.delay": "123 ms"})
    texts = [text.get_text() for text in figure.axes[0].texts]
    assert "→ 4 Mbit/s, 123 ms, loss 0.5 %" in texts
