"""Graphs of NetworkX: a constellation at an instant, and paths over graphs that change."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from datetime import datetime
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from farlink import orbit
from farlink.constellation.ground import below
from farlink.constellation.shells import Path, Search, Shell, rows_of_choice
from farlink.errors import ScenarioError
from farlink.extras import lacking
from farlink.orbit import LIGHT, Place

if TYPE_CHECKING:
    import networkx as nx

__all__ = ["graph", "graph_paths"]


def graph(
    shell: Shell,
    time: float = 0.0,
    *,
    places: Mapping[str, Place] | None = None,
    min_elevation: float = 25.0,
    max_range: float | None = None,
    links: bool = True,
    clearance: float = 80.0,
    start: datetime | None = None,
) -> "nx.Graph[Any]":
    """Return the constellation at an instant as a graph of NetworkX.

    Satellites are nodes 0, 1, ... with ``name``, ``plane``, ``latitude``, ``longitude`` and
    ``altitude`` (km). Places are nodes by their name. Edges have ``length`` (km) and ``delay`` (s).

    Parameters
    ----------
    shell
        Satellites.
    time
        Seconds after `start`.
    places
        Places on the ground by name. Each has an edge to every satellite that it can use, so a path
        in the graph may pass a place.
    min_elevation, max_range, links, clearance, start
        As for `paths`.

    Raises
    ------
    ScenarioError
        If an argument is wrong, or `networkx` or `sgp4` is missing.
    """
    import numpy as np

    made = _networkx().Graph()
    satellites = shell.satellites(start)
    count = len(satellites.names)
    search = Search(shell, count, [], min_elevation, max_range, links=links)
    search.clear(satellites, clearance)
    points = satellites.positions(None, np.array([time]))[:, 0]
    per = count // shell.planes
    for number, (north, east, height) in enumerate(zip(*below(points), strict=True)):
        made.add_node(
            number,
            name=satellites.names[number],
            plane=number // per,
            latitude=float(north),
            longitude=float(east),
            altitude=float(height),
        )
    if links:
        for a, b in _grid(shell, per):
            length = float(np.linalg.norm(points[a] - points[b]))
            if length <= search.longest:
                made.add_edge(a, b, length=length, delay=length / LIGHT)
    for name, place in (places or {}).items():
        made.add_node(name, latitude=place.latitude, longitude=place.longitude, altitude=0.0)
        far, high = orbit.range_and_elevation(points, place)
        usable = (high >= min_elevation) & (far <= search.max_range)
        for seen in np.flatnonzero(usable):
            length = float(far[seen])
            made.add_edge(name, int(seen), length=length, delay=length / LIGHT)
    return made


def _networkx() -> Any:  # noqa: ANN401 (a module)
    try:
        import networkx as nx
    except ImportError as error:
        raise lacking("a graph", "graphs") from error
    return nx


def _grid(shell: Shell, per: int) -> list[tuple[int, int]]:
    """Return the links of +Grid: along each plane, and to the plane after it."""
    pairs = []
    for plane in range(shell.planes):
        for place in range(per):
            node = plane * per + place
            pairs.append((node, plane * per + (place + 1) % per))
            if plane + 1 < shell.planes:
                pairs.append((node, node + per))
            elif shell.seam:
                pairs.append((node, (place + shell.shift) % per))
    return pairs


def graph_paths(
    graphs: "nx.Graph[Any] | Callable[[float], nx.Graph[Any]]",
    pairs: Sequence[tuple[Hashable, Hashable]],
    *,
    duration: float = 600.0,
    step: float = 1.0,
    interval: float | None = None,
) -> list[Path]:
    """Compute the paths of least delay over graphs of NetworkX.

    Parameters
    ----------
    graphs
        Graph, or function that returns the graph at a number of seconds. Edges have a ``delay`` in
        seconds.
    pairs
        Pairs of nodes.
    duration, step, interval
        As for `paths`. Between two choices a path stays while its edges exist.

    Returns
    -------
    list of Path
        One for each pair; `Path.frame` is its table, and `Path.recording` makes a scenario of it.

    Raises
    ------
    ScenarioError
        If an argument is wrong, a node is not in the graph, an edge has no delay, or `networkx` is
        missing.
    """
    import numpy as np

    nx = _networkx()
    if not pairs:
        raise ScenarioError("no pair of nodes")
    per = rows_of_choice(duration, step, interval)
    rows = round(duration / step)
    delays = np.full((len(pairs), rows), np.nan)
    hops: list[list[tuple[int | str, ...]]] = [[] for _ in pairs]
    chosen: list[list[Hashable]] = [[] for _ in pairs]
    unknown = {node for pair in pairs for node in pair}
    for row in range(rows):
        now = graphs(row * step) if callable(graphs) else graphs
        unknown -= {node for node in unknown if node in now}
        for number, pair in enumerate(pairs):
            if row % per == 0:
                chosen[number] = _shortest(nx, now, pair)
            nodes = chosen[number]
            delays[number, row] = _delay(now, nodes)
            inner = nodes[1:-1] or (nodes and ["direct"])
            hops[number].append(tuple(n if isinstance(n, int) else str(n) for n in inner))
    if unknown:
        raise ScenarioError(f"node {min(unknown, key=str)!r} is not in the graph at any time")
    return [
        Path((str(a), str(b)), step, delays[number], tuple(hops[number]))
        for number, (a, b) in enumerate(pairs)
    ]


def _shortest(nx: Any, now: "nx.Graph[Any]", pair: tuple[Hashable, Hashable]) -> list[Hashable]:  # noqa: ANN401 (a module)
    try:
        nodes: list[Hashable] = nx.dijkstra_path(now, *pair, weight=_weight)
    except (nx.NetworkXNoPath, nx.NodeNotFound):
        return []
    return nodes


def _weight(first: Hashable, second: Hashable, edge: Mapping[str, Any]) -> float:
    value = edge.get("delay")
    if not isinstance(value, int | float) or not value >= 0:
        raise ScenarioError(
            f"the edge from {first!r} to {second!r} has the delay {value!r}; "
            "write seconds, 0 or more"
        )
    return float(value)


def _delay(now: "nx.Graph[Any]", nodes: Sequence[Hashable]) -> float:
    """Return the delay of a path in a graph; NaN without a path, or if an edge is gone."""
    edges = list(pairwise(nodes))
    if not edges or not all(now.has_edge(a, b) for a, b in edges):
        return float("nan")
    return float(sum(now.edges[a, b]["delay"] for a, b in edges))
