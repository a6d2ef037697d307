"""Maps of a path over a constellation, as a film strip, with the delay over time."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from farlink.plot.data import Array
from farlink.plot.sheet import blank, styled
from farlink.plot.sheet import points as scaled
from farlink.plot.style import LOSS, MUTED, PALETTE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["Scene", "arc", "draw_scene", "outlines"]

_WIDE = 7.0
_LAND, _SHORE = "#EDEBE4", "#B9B4A4"
_PATH, _TRACK, _DOT = PALETTE[1], PALETTE[5], "#9AA5AD"
_LETTERS = "abcdefgh"
_SHIFTS = (-360.0, 0.0, 360.0)
"""Degrees by which everything is repeated, for maps across the antimeridian."""
_LEAST_SPAN = 40.0
"""Smallest width of a map of the film strip (degrees)."""


@dataclass(frozen=True)
class Scene:
    """Everything on a picture of a path.

    `ends` are latitude and longitude of the two places. `nodes` has the satellites of each row.
    `north` and `east` have each satellite at each moment; `rows` has the rows of the moments, and
    `main` is the moment of the large map. `tracks` are latitudes and longitudes over `span` s.
    """

    ends: tuple[tuple[float, float], tuple[float, float]]
    step: float
    delay: Array
    nodes: Sequence[Sequence[int]]
    rows: Sequence[int]
    main: int
    north: Array
    east: Array
    tracks: Sequence[tuple[Array, Array]]
    span: float

    def time(self, moment: int) -> float:
        """Return the time of a moment (s)."""
        return self.step * self.rows[moment]

    def way(self, moment: int) -> list[tuple[float, float]]:
        """Return latitude and longitude of the places and satellites of the path at a moment."""
        nodes = self.nodes[self.rows[moment]]
        if not nodes:
            return []
        middle = [(float(self.north[n, moment]), float(self.east[n, moment])) for n in nodes]
        return [self.ends[0], *middle, self.ends[1]]


@cache
def outlines() -> list[Array]:
    """Return the outlines of land: rows of degrees east and north."""
    text = resources.files("farlink.data").joinpath("land.txt").read_text(encoding="ascii")
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    return [
        np.array([pair.split(",") for pair in line.split()], dtype=np.float64) / 10
        for line in lines
    ]


def arc(start: tuple[float, float], end: tuple[float, float], count: int = 24) -> Array:
    """Return rows of degrees east and north on the great circle between two points.

    Longitudes are continuous, so they may exceed 180 degrees.
    """
    a, b = (_vector(*point) for point in (start, end))
    angle = float(np.arccos(np.clip(a @ b, -1.0, 1.0)))
    share = np.linspace(0.0, 1.0, count)[:, None]
    if angle < 1e-9:
        way = np.repeat(a[None], count, axis=0)
    else:
        way = (np.sin((1 - share) * angle) * a + np.sin(share * angle) * b) / np.sin(angle)
    east = np.unwrap(np.arctan2(way[:, 1], way[:, 0]))
    north = np.arcsin(np.clip(way[:, 2], -1.0, 1.0))
    points: Array = np.degrees(np.stack([east, north], axis=1))
    return points


def _vector(north: float, east: float) -> Array:
    lat, lon = np.radians([north, east])
    return np.array([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)])


@styled
def draw_scene(scene: Scene) -> "Figure":
    """Draw the map of the world, a map of each moment, and the delay."""
    count = len(scene.rows)
    across = min(count, 3)
    down = -(-count // across)
    box = _region(scene)
    side = (_WIDE - 0.3 - 0.15 * (across - 1)) / across
    tall = min(max(side * (box[3] - box[2]) / (box[1] - box[0]), 0.6 * side), 1.3 * side)
    world = (_WIDE - 0.75) / 2
    high = 0.45 + world + 0.35 + down * (tall + 0.3) + 0.15 + 1.6 + 0.5
    figure = blank(_WIDE, high)

    def place(left: float, top: float, wide: float, height: float) -> "Axes":
        return figure.add_axes(
            (left / _WIDE, 1 - (top + height) / high, wide / _WIDE, height / high)
        )

    (a, b), (c, d) = scene.ends
    figure.text(
        0.15 / _WIDE,
        1 - 0.1 / high,
        f"Path of least delay from {a:g},{b:g} to {c:g},{d:g} over {len(scene.north):,} satellites",
        fontsize=scaled(9.5),
        va="top",
    )
    _draw_world(place(0.5, 0.45, 2 * world, world), scene)
    top = 0.45 + world + 0.5
    for moment in range(count):
        row, column = divmod(moment, across)
        axes = place(0.15 + column * (side + 0.15), top + row * (tall + 0.3), side, tall)
        _draw_moment(axes, scene, moment, _fitted(box, side / tall))
    _draw_delay(place(0.65, high - 0.45 - 1.6, _WIDE - 0.85, 1.55), scene)
    return figure


def _draw_world(axes: "Axes", scene: Scene) -> None:
    _draw_land(axes, (-180.0, 180.0, -90.0, 90.0))
    axes.set_xticks(range(-180, 181, 60), [_degrees(x, "EW") for x in range(-180, 181, 60)])
    axes.set_yticks(range(-60, 61, 30), [_degrees(y, "NS") for y in range(-60, 61, 30)])
    axes.plot(scene.east[:, scene.main], scene.north[:, scene.main], ".", color=_DOT, ms=2.2)
    for north, east in scene.tracks:
        _wrapped(axes, np.stack([east, north], axis=1), color=_TRACK, lw=1.0)
    _draw_way(axes, scene, scene.main)
    axes.set_title(f"at {scene.time(scene.main):g} s", loc="right", fontsize=scaled(8))
    handles = [
        axes.plot([], [], ".", color=_DOT, ms=5, label="satellite")[0],
        axes.plot([], [], color=_TRACK, label=f"ground tracks over {scene.span:g} s")[0],
        axes.plot([], [], color=_PATH, marker="o", ms=4, label="path")[0],
    ]
    axes.legend(
        handles=handles, loc="lower left", bbox_to_anchor=(0, 1.0), ncols=3, borderaxespad=0.2
    )


def _degrees(value: int, letters: str) -> str:
    return f"{abs(value)}°{letters[value < 0] if value else ''}"


def _draw_moment(
    axes: "Axes", scene: Scene, moment: int, box: tuple[float, float, float, float]
) -> None:
    _draw_land(axes, box)
    axes.set_xticks([])
    axes.set_yticks([])
    north = scene.north[:, moment]
    for shift in _SHIFTS:
        east = scene.east[:, moment] + shift
        is_in = (east > box[0]) & (east < box[1]) & (north > box[2]) & (north < box[3])
        axes.plot(east[is_in], north[is_in], ".", color=_DOT, ms=3)
    _draw_way(axes, scene, moment)
    row = scene.rows[moment]
    state = f"{1e3 * scene.delay[row]:.2f} ms" if np.isfinite(scene.delay[row]) else "no path"
    hops = len(scene.nodes[row])
    text = f"{_LETTERS[moment]}: {scene.time(moment):g} s, {state}"
    if hops:
        text += f", {hops} satellite{'s' if hops > 1 else ''}"
    axes.set_title(text, fontsize=scaled(7.5))


def _draw_land(axes: "Axes", box: tuple[float, float, float, float]) -> None:
    left, right, low, high = box
    for shift in _SHIFTS:
        for ring in outlines():
            east = ring[:, 0] + shift
            if east.max() > left and east.min() < right and ring[:, 1].min() < high:
                axes.fill(east, ring[:, 1], fc=_LAND, ec=_SHORE, lw=0.4, zorder=1)
    axes.set_xlim(left, right)
    axes.set_ylim(low, high)
    for spine in axes.spines.values():
        spine.set_visible(True)


def _draw_way(axes: "Axes", scene: Scene, moment: int) -> None:
    way = scene.way(moment)
    for number, (start, end) in enumerate(pairwise(way)):
        is_ground = number in (0, len(way) - 2)
        _wrapped(
            axes,
            arc(start, end),
            color=_PATH,
            lw=1.4,
            ls=(0, (2, 1)) if is_ground else "-",
            zorder=4,
        )
    for shift in _SHIFTS:
        for north, east in way[1:-1]:
            axes.plot(east + shift, north, "o", color=_PATH, ms=3.5, zorder=5)
        for north, east in scene.ends:
            axes.plot(
                east + shift, north, "s", mfc="white", mec=PALETTE[6], mew=1.1, ms=4.5, zorder=6
            )


def _wrapped(axes: "Axes", line: Array, **style: object) -> None:
    """Draw a line that may cross the border of the map."""
    east = np.degrees(np.unwrap(np.radians(line[:, 0])))
    left, right = axes.get_xlim()
    for shift in (2 * _SHIFTS[0], *_SHIFTS, 2 * _SHIFTS[2]):
        if east.max() + shift > left and east.min() + shift < right:
            axes.plot(east + shift, line[:, 1], **style)  # type: ignore[arg-type]


def _region(scene: Scene) -> tuple[float, float, float, float]:
    """Return the part of the map with the paths of all moments: west, east, south, north."""
    centre = float(arc(*scene.ends, 3)[1, 0])
    east, north = [], []
    for moment in range(len(scene.rows)):
        for lat, lon in scene.way(moment) or list(scene.ends):
            east.append((lon - centre + 180) % 360 - 180)
            north.append(lat)
    margin = 6.0
    left, right = min(east) - margin, max(east) + margin
    low, high = min(north) - margin, max(north) + margin
    if right - left < _LEAST_SPAN:
        middle = (left + right) / 2
        left, right = middle - _LEAST_SPAN / 2, middle + _LEAST_SPAN / 2
    return centre + left, centre + right, max(low, -90.0), min(high, 90.0)


def _fitted(
    box: tuple[float, float, float, float], aspect: float
) -> tuple[float, float, float, float]:
    """Return the box with `aspect` degrees of longitude per degree of latitude, not smaller."""
    left, right, low, high = box
    wide, tall = right - left, high - low
    if wide < aspect * tall:
        more = (aspect * tall - wide) / 2
        return left - more, right + more, low, high
    more = wide / aspect
    low = min(max((low + high - more) / 2, -90.0), max(90.0 - more, -90.0))
    return left, right, low, low + more


def _draw_delay(axes: "Axes", scene: Scene) -> None:
    time = scene.step * np.arange(len(scene.delay))
    changes = [
        row
        for row in range(1, len(scene.nodes))
        if list(scene.nodes[row]) != list(scene.nodes[row - 1])
    ]
    for number, (begin, end) in enumerate(pairwise([0, *changes, len(scene.delay)])):
        piece = slice(begin, end)
        if not scene.nodes[begin]:
            axes.axvspan(begin * scene.step, end * scene.step, color=LOSS, alpha=0.15, lw=0)
            continue
        axes.plot(
            time[piece],
            1e3 * scene.delay[piece],
            color=PALETTE[number % 2 * 2],
            marker="." if end - begin == 1 else None,
            ms=2,
        )
    if len(changes) <= _MOST_MARKS:
        for row in changes:
            axes.axvline(row * scene.step, color=MUTED, lw=0.5, ls=":", zorder=1)
    for moment in range(len(scene.rows)):
        axes.annotate(
            _LETTERS[moment],
            (scene.time(moment), 1.0),
            xycoords=("data", "axes fraction"),
            ha="center",
            va="bottom",
            fontsize=scaled(7.5),
        )
        axes.axvline(scene.time(moment), ymin=0.95, color=_PATH, lw=1.5)
    axes.set_xlim(0, scene.step * len(scene.delay))
    axes.set_xlabel("time (s)")
    axes.set_ylabel("one-way delay (ms)")
    number = len(changes)
    axes.set_title(
        f"delay; {number} change{'s' if number != 1 else ''} of the path (dotted)", pad=12
    )


_MOST_MARKS = 150
"""Number of changes above which they are not marked."""
