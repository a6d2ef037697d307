"""Signs for hosts, routers, stations, dishes and satellites, drawn from patches."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from matplotlib.patches import Arc, Circle, FancyBboxPatch, Polygon, Rectangle

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.patches import Patch

__all__ = ["ICON", "draw_icon", "draw_medium"]

ICON = 0.36
"""Width and height of the sign of a node (inches)."""

_INK = "#333333"
_FILL = "#EAF2F8"
_SHIFT = 0.05
"""Distance between the signs of a group (inches)."""


def draw_icon(axes: "Axes", kind: str, x: float, y: float, *, is_group: bool = False) -> None:
    """Draw the sign of a node at its centre; a group has two more signs behind."""
    for step in (2, 1, 0) if is_group else (0,):
        shift = _SHIFT * step
        patches = _ICONS[kind](x + shift, y - shift)
        # Feet of the signs behind would look like parts of the one in front.
        for patch in patches[-1:] if step and kind == "host" else patches:
            patch.set_zorder(4 - 0.1 * step)
            axes.add_patch(patch)


def _host(x: float, y: float) -> "list[Patch]":
    half = ICON / 2
    screen = FancyBboxPatch(
        (x - half, y - half),
        ICON,
        0.68 * ICON,
        boxstyle="round,pad=0,rounding_size=0.03",
        fc=_FILL,
        ec=_INK,
        lw=1.0,
    )
    neck = Rectangle((x - 0.03, y + 0.18 * ICON), 0.06, 0.2 * ICON, fc=_INK, ec="none")
    foot = Rectangle((x - 0.09, y + 0.4 * ICON), 0.18, 0.03, fc=_INK, ec="none")
    return [neck, foot, screen]


def _router(x: float, y: float) -> "list[Patch]":
    half = ICON / 2
    patches: list[Patch] = [Circle((x, y), half, fc=_FILL, ec=_INK, lw=1.0)]
    for dx, dy in ((1, 0), (-1, 0), (0, 1), (0, -1)):
        tip, root, wide = 0.75 * half, 0.2 * half, 0.16 * half
        # Arrows at right angles show traffic in and out.
        patches.append(_arrow((x, y), (dx, dy), root, tip, wide))
    return patches


def _arrow(
    centre: tuple[float, float], way: tuple[int, int], root: float, tip: float, wide: float
) -> Polygon:
    (x, y), (dx, dy) = centre, way
    points = [
        (x + dx * tip, y + dy * tip),
        (x + dx * root - dy * wide * 2, y + dy * root + dx * wide * 2),
        (x + dx * root + dy * wide * 2, y + dy * root - dx * wide * 2),
    ]
    return Polygon(points, closed=True, fc=_INK, ec="none")


def _station(x: float, y: float) -> "list[Patch]":
    half = ICON / 2
    mast = Polygon(
        [(x, y - 0.45 * half), (x - 0.55 * half, y + half), (x + 0.55 * half, y + half)],
        closed=True,
        fc=_FILL,
        ec=_INK,
        lw=1.0,
    )
    bar = Rectangle((x - 0.3 * half, y + 0.35 * half), 0.6 * half, 0.02, fc=_INK, ec="none")
    return [mast, bar, *_waves(x, y - 0.5 * half, half)]


def _waves(x: float, y: float, size: float) -> "list[Patch]":
    patches: list[Patch] = [Circle((x, y), 0.13 * size, fc=_INK, ec="none")]
    for radius in (0.45, 0.85):
        wide = 2 * radius * size
        patches += [
            Arc((x, y), wide, wide, theta1=middle - 40, theta2=middle + 40, ec=_INK, lw=0.9)
            for middle in (0, 180)
        ]
    return patches


def _dish(x: float, y: float) -> "list[Patch]":
    half = ICON / 2
    # The bowl is half an ellipse that looks up and to the right.
    bowl = Arc((x, y - 0.1 * half), 1.9 * half, 1.5 * half, angle=45, theta1=0, theta2=180)
    bowl.set_edgecolor(_INK)
    bowl.set_linewidth(2.0)
    feed = Polygon(
        [(x - 0.25 * half, y + 0.25 * half), (x + 0.45 * half, y - 0.55 * half)],
        closed=False,
        fill=False,
        ec=_INK,
        lw=1.0,
    )
    tip = Circle((x + 0.5 * half, y - 0.6 * half), 0.12 * half, fc=_INK, ec="none")
    foot = Polygon(
        [(x - 0.2 * half, y + 0.4 * half), (x - 0.6 * half, y + half), (x + 0.4 * half, y + half)],
        closed=True,
        fc=_FILL,
        ec=_INK,
        lw=1.0,
    )
    return [foot, bowl, feed, tip]


def _satellite(x: float, y: float, size: float = ICON) -> "list[Patch]":
    half = size / 2
    body = Rectangle((x - 0.22 * half, y - 0.35 * half), 0.44 * half, 0.7 * half)
    panels = [
        Rectangle((x + side * 0.95 * half - 0.25 * half, y - 0.25 * half), 0.5 * half, 0.5 * half)
        for side in (-0.75, 0.75)
    ]
    beam = Rectangle((x - half, y - 0.03 * half), 2 * half, 0.06 * half, fc=_INK, ec="none")
    for patch in (body, *panels):
        patch.set_facecolor(_FILL)
        patch.set_edgecolor(_INK)
        patch.set_linewidth(0.9)
    return [beam, body, *panels]


_ICONS: "dict[str, Callable[[float, float], list[Patch]]]" = {
    "host": _host,
    "router": _router,
    "station": _station,
    "dish": _dish,
    "satellite": _satellite,
}


def draw_medium(axes: "Axes", medium: str, x: float, y: float) -> None:
    """Draw the small sign of a link over a satellite or by radio."""
    patches = _satellite(x, y, 0.6 * ICON) if medium == "satellite" else _waves(x, y, 0.3 * ICON)
    for patch in patches:
        patch.set_zorder(4)
        axes.add_patch(patch)
