"""Curves side by side: told apart by colour, and without it by dashes and marker."""

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

# Colour, dashes and marker change together, in cycles of different length: the first 42 looks
# differ from each other in colour or dashes, and neighbours in all three, so that a print
# without colour tells them apart too. Dashes are lengths in widths of the line, none is solid.
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
"""Markers on a curve that goes through the whole figure."""

_GRID = 300
"""Instants at which two curves are held against each other."""
_NEAR = 0.01
"""Curves nearer than this share of the figure's height cannot be told apart."""
_MOSTLY = 0.9
"""Share of the time in which they must be."""
_APART = 0.05
"""Curves farther apart than this at any time are seen to differ."""

_DASH = 5.0
"""Length of a dash of curves that share a line, in its widths."""


@dataclass(frozen=True)
class Look:
    """Look of a curve."""

    place: int
    """Number of the curve among those of the figure."""
    colour: str
    dashes: tuple[float, ...]
    marker: str

    def keywords(self) -> dict[str, Any]:
        """Return what `Axes.plot` and `Line2D` take."""
        return {"color": self.colour, "ls": (0, self.dashes) if self.dashes else "-"}


@dataclass(frozen=True)
class Curve:
    """Values over time (sorted), by a name and a label for the legend."""

    name: str
    label: str
    time: Array
    value: Array
    look: Look


def look(place: int) -> Look:
    """Return how the curve with this number looks."""
    return Look(
        place,
        PALETTE[place % len(PALETTE)],
        _DASHES[place % len(_DASHES)],
        _MARKERS[place % len(_MARKERS)],
    )


def of_tcp(result: "Result", tcp: str) -> Look:
    """Return how the curve of a TCP looks: the same in all figures of a result."""
    return look(list(result.tcp).index(tcp))


def colour(result: "Result", tcp: str) -> str:
    """Return the colour of a TCP: the same in all figures of a result."""
    return of_tcp(result, tcp).colour


def draw_curves(
    axes: "Axes", curves: Sequence[Curve], limits: tuple[float, float], width: float = 1.1
) -> tuple[list[Line2D], list[str], str]:
    """Draw curves so that each is seen; return handles and labels of a legend, and a note.

    Those that lie on each other have dashes in turn, and all their markers at different times;
    the note says which they are, and is empty if there are none.
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
    """Return the names of curves that cannot be told apart, in groups of two and more.

    They are near each other most of the time, and nowhere far apart: what is flat but for one
    peak is not the same as what has its peak elsewhere.
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
    """Return which points have a marker: at other times than those of other curves."""
    phase = (curve.look.place % of + 0.5) / of
    times = limits[0] + (limits[1] - limits[0]) * (np.arange(_MARKS) + phase) / _MARKS
    inside = (curve.time >= limits[0]) & (curve.time <= limits[1])
    if not inside.any():
        return np.array([], dtype=np.int64)
    last = float(curve.time[inside][-1])
    places = np.searchsorted(curve.time, times[times <= last])
    # One at the end: where a transfer is done.
    ends = np.append(places, np.flatnonzero(inside)[-1])
    return np.unique(np.clip(ends, 0, len(curve.time) - 1))
