"""Draws several curves that differ in colour, dashes and marker."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.lines import Line2D

from farlink.plot.data import Array
from farlink.plot.style import PALETTE

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from farlink.result import Result

__all__ = ["Curve", "Look", "colour", "draw_curves", "look", "of_tcp", "together"]

# Colour, dashes and marker have cycles of different lengths. The first 42 curves therefore differ
# in colour or dashes, and adjacent curves differ in all three, also in black and white. Dashes are
# lengths in line widths; an empty tuple is a solid line.
_DASHES: tuple[tuple[float, ...], ...] = (
    (),
    (6, 2),
    (2, 1.6),
    (8, 2, 1.5, 2),
    (4, 1.5, 1.2, 1.5, 1.2, 1.5),
    (12, 3),
)
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", "*", "h", ">")

_MARK: dict[str, Any] = {"ms": 5.5, "mew": 0.5, "mec": "white"}

_MARKS = 6
"""Number of markers on a curve over the whole width of the figure."""

_GRID = 300
"""Number of times at which `together` compares two curves."""
_NEAR = 0.01
"""Distance below which two curves overlap, as a share of the figure's height."""
_MOSTLY = 0.9
"""Share of the time for which curves of a group must be nearer than `_NEAR`."""
_APART = 0.05
"""Largest distance between curves of a group at any time, as a share of the figure's height."""

_DASH = 5.0
"""Length of a dash of overlapping curves, in line widths."""


@dataclass(frozen=True)
class Look:
    """Colour, dashes and marker of a curve."""

    place: int
    """Index of the curve in its figure."""
    colour: str
    dashes: tuple[float, ...]
    marker: str

    def keywords(self) -> dict[str, Any]:
        """Return keyword arguments for `Axes.plot` and `Line2D`."""
        return {"color": self.colour, "ls": (0, self.dashes) if self.dashes else "-"}


@dataclass(frozen=True)
class Curve:
    """Values over sorted times, with a name and a label for the legend."""

    name: str
    label: str
    time: Array
    value: Array
    look: Look


def look(place: int) -> Look:
    """Return the look of the curve with an index."""
    return Look(
        place,
        PALETTE[place % len(PALETTE)],
        _DASHES[place % len(_DASHES)],
        _MARKERS[place % len(_MARKERS)],
    )


def of_tcp(result: "Result", tcp: str) -> Look:
    """Return the look of a TCP's curve, which is equal in all figures of a result."""
    return look(list(result.tcp).index(tcp))


def colour(result: "Result", tcp: str) -> str:
    """Return the colour of a TCP, which is equal in all figures of a result."""
    return of_tcp(result, tcp).colour


def draw_curves(
    axes: "Axes", curves: Sequence[Curve], limits: tuple[float, float], width: float = 1.1
) -> tuple[list[Line2D], list[str], str]:
    """Draw curves; return handles and labels of the legend, and a note.

    Overlapping curves have alternating dashes, so that each remains visible. The curves' markers
    are at different times. The note names the overlapping curves.
    """
    handles = []
    groups = together(curves, limits)
    for curve in curves:
        group = next((names for names in groups if curve.name in names), [curve.name])
        keywords = curve.look.keywords()
        if len(group) > 1:
            keywords["ls"] = (group.index(curve.name) * _DASH, (_DASH, (len(group) - 1) * _DASH))
        axes.plot(curve.time, curve.value, lw=width, label=curve.label, **keywords)
        handle = curve.look.keywords() | {"lw": width}
        if len(curves) > 1:
            at = _marks(curve, limits, len(curves))
            mark: dict[str, Any] = {
                "marker": curve.look.marker,
                "ms": 4.5,
                "mew": 0.5,
                "mec": "white",
            }
            axes.plot(
                curve.time[at], curve.value[at], color=curve.look.colour, ls="", zorder=3, **mark
            )
            handle |= mark
        handles.append(Line2D([], [], **handle))
    note = "; ".join(", ".join(group) for group in groups)
    return handles, [curve.label for curve in curves], f"on each other: {note}" if note else ""


def together(curves: Sequence[Curve], limits: tuple[float, float]) -> list[list[str]]:
    """Return groups of the names of overlapping curves.

    Overlapping curves are nearer than `_NEAR` in the share `_MOSTLY` of the time, and never farther
    apart than `_APART`. Curves with peaks at different times are therefore not grouped.
    """
    at = np.linspace(*limits, _GRID)
    drawn = [curve for curve in curves if len(curve.time)]
    highest = max((float(np.nanmax(curve.value, initial=0.0)) for curve in drawn), default=0.0)
    rows = [np.interp(at, curve.time, curve.value, left=np.nan, right=np.nan) for curve in drawn]
    groups: list[list[int]] = []
    for number, row in enumerate(rows):
        for group in groups:
            first = rows[group[0]]
            either = np.isfinite(first) | np.isfinite(row)
            gap = np.abs(first - row)
            near = gap <= _NEAR * highest
            apart = float(np.nanmax(gap[either], initial=0.0)) > _APART * highest
            if either.any() and np.mean(near[either]) > _MOSTLY and not apart:
                group.append(number)
                break
        else:
            groups.append([number])
    return [[drawn[number].name for number in group] for group in groups if len(group) > 1]


def _marks(curve: Curve, limits: tuple[float, float], of: int) -> Array:
    """Return the indices of points with a marker, at other times than those of the other curves."""
    phase = (curve.look.place % of + 0.5) / of
    times = limits[0] + (limits[1] - limits[0]) * (np.arange(_MARKS) + phase) / _MARKS
    inside = (curve.time >= limits[0]) & (curve.time <= limits[1])
    if not inside.any():
        return np.array([], dtype=np.int64)
    last = float(curve.time[inside][-1])
    places = np.searchsorted(curve.time, times[times <= last])
    # The last point has a marker, because the transfer ends there.
    ends = np.append(places, np.flatnonzero(inside)[-1])
    return np.unique(np.clip(ends, 0, len(curve.time) - 1))
