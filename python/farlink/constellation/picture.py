"""Data of a path's picture: satellites and tracks on the ground at some moments."""

from datetime import datetime
from typing import TYPE_CHECKING

from farlink.constellation.ground import below
from farlink.constellation.shells import Path, Shell
from farlink.errors import ScenarioError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from farlink.constellation.shells import Floats

__all__ = ["picture", "rows_of_moments"]

_MOMENTS = 6
_TRACK = 400
"""Number of points of a track on the ground."""
_LEAST_TRACK = 600.0
"""Shortest length of a track (s)."""


def rows_of_moments(path: Path, most: int = _MOMENTS) -> list[int]:
    """Return the rows of a film strip: the middles of evenly chosen phases of the path.

    With fewer phases than moments the longest phases have several moments.
    """
    ends = [
        row
        for row in range(1, len(path.satellites))
        if path.satellites[row] != path.satellites[row - 1]
    ]
    begins, ends = [0, *ends], [*ends, len(path.satellites)]
    spans = list(zip(begins, ends, strict=True))
    if len(spans) > most:
        last = len(spans) - 1
        spans = [spans[round(k * last / (most - 1))] for k in range(most)]
    while len(spans) < most:
        longest = max(range(len(spans)), key=lambda k: spans[k][1] - spans[k][0])
        begin, end = spans[longest]
        if end - begin < 2:
            break
        middle = (begin + end) // 2
        spans[longest : longest + 1] = [(begin, middle), (middle, end)]
    return [(begin + end) // 2 for begin, end in spans]


def picture(shell: Shell, path: Path, *, start: datetime | None = None) -> "Figure":
    """Draw a path over a constellation: a map, a film strip, and the delay over time.

    The map has the satellites and the path at the first moment of the film strip, and the tracks on
    the ground of that path's satellites. Changes of the path are marked in the delay.

    Parameters
    ----------
    shell
        Satellites.
    path
        Path of `paths` over this shell, from the same `start`.
    start
        Time 0 of the path; by default the epoch of the first elements.

    Raises
    ------
    ScenarioError
        If the path has other satellites than the shell, or `sgp4` is missing.
    """
    import numpy as np

    from farlink.plot.globe import Scene, draw_scene

    satellites = shell.satellites(start)
    count = len(satellites.names)
    places = [end for end in path.ends if not isinstance(end, str)]
    used = {node for nodes in path.satellites for node in nodes}
    if len(places) != 2 or not all(isinstance(node, int) and node < count for node in used):
        raise ScenarioError("the path is not one over this shell; draw a path of `paths`")
    rows = rows_of_moments(path)
    times = path.step * np.array(rows, dtype=np.float64)
    north, east, _ = below(satellites.positions(None, times))
    first = next((row for row in rows if path.satellites[row]), rows[0])
    nodes = [node for node in path.satellites[first] if isinstance(node, int)]
    span = max(path.step * len(path.delay), _LEAST_TRACK)
    tracks: list[tuple[Floats, Floats]] = []
    if nodes:
        points = satellites.positions(nodes, np.linspace(0.0, span, _TRACK))
        tracks = [(a, b) for a, b, _ in (below(way) for way in points)]
    scene = Scene(
        ends=((places[0].latitude, places[0].longitude), (places[1].latitude, places[1].longitude)),
        step=path.step,
        delay=path.delay,
        nodes=[[node for node in way if isinstance(node, int)] for way in path.satellites],
        rows=rows,
        main=rows.index(first),
        north=north,
        east=east,
        tracks=tracks,
        span=span,
    )
    return draw_scene(scene)
