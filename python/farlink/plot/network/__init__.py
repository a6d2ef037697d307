"""Picture of a scenario's network: nodes, links, agents and flows, left to right."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.patches import FancyBboxPatch

from farlink.errors import ScenarioError
from farlink.plot.network.glyphs import ICON, draw_icon, draw_medium
from farlink.plot.network.labels import (
    LARGE,
    LINE,
    PILL,
    SMALL,
    Label,
    Ruler,
    link_label,
    node_label,
)
from farlink.plot.network.layout import Layout, Wire, lay_out_network
from farlink.plot.network.model import AgentMark, Lane, Network, Node, read_network
from farlink.plot.sheet import blank, styled
from farlink.plot.style import MUTED, PALETTE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["draw_network"]

_MARGIN = 0.15
_INSIDE = 0.25 * ICON
"""Distance of a link's end from the centre of its node, below the node's sign (inches)."""
_MOST_NODES = 200
_MOST_DETAILED = 30
"""Number of nodes above which links have no labels."""
_LEAST_WIDTH = 5.0
_COLOURS = {"wired": "#4D4D4D", "radio": PALETTE[1], "satellite": PALETTE[0]}
_DASHES: dict[str, Any] = {"wired": "-", "radio": (0, (3, 1.5)), "satellite": (0, (6, 2))}
_LANES = (PALETTE[2], PALETTE[3], PALETTE[4], PALETTE[5], PALETTE[0], PALETTE[1])


@dataclass
class _Plan:
    """Measured parts of a picture: x of columns and of slots, labels, heights."""

    network: Network
    layout: Layout
    labels: list[Label]
    x: list[float]
    half: list[float]
    zones: list[tuple[float, float]]
    top: float = 0.0


@styled
def draw_network(scenario: Mapping[str, Any]) -> "Figure":
    """Draw the network of a resolved scenario.

    Raises
    ------
    ScenarioError
        If the scenario has too many nodes, even with hosts in groups.
    """
    network = read_network(scenario)
    if len(network.nodes) > _MOST_NODES:
        raise ScenarioError(
            f"the network has {len(network.nodes):,} nodes beside groups of hosts; "
            f"a picture shows at most {_MOST_NODES}"
        )
    ruler = Ruler()
    plan = _plan(network, ruler)
    lanes = [_lane_text(plan, lane) for lane in network.lanes]
    wide = max([plan.zones[-1][1], _LEAST_WIDTH, *(ruler.width(t, SMALL) + 0.3 for t in lanes)])
    _shift(plan, (wide - plan.zones[-1][1]) / 2 + _MARGIN)
    wide += 2 * _MARGIN
    name, description = scenario["name"], scenario.get("description")
    title = f"{name}: {description}" if description else str(name)
    heading = ruler.wrapped(title, LARGE + 1, wide - 2 * _MARGIN)
    upper, lower = _extent(plan)
    plan.top = _MARGIN + 0.19 * len(heading) + 0.15 - upper
    bottom = plan.top + lower + 0.25
    heights = [0.32 if len(lane.tcps) == 1 else 0.5 for lane in network.lanes]
    notes = [line for text in network.notes for line in ruler.wrapped(text, SMALL, wide - 0.3)]
    tall = bottom + sum(heights) + LINE * len(notes) + (0.1 if notes else 0.0) + _MARGIN
    figure = blank(wide, tall)
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0), xlim=(0, wide), ylim=(tall, 0))
    axes.set_axis_off()
    for number, line in enumerate(heading):
        _text(axes, _MARGIN, _MARGIN + 0.19 * number, line, size=LARGE + 1, ha="left")
    _draw_wires(axes, plan)
    _draw_nodes(axes, plan)
    for number, (lane, text, height) in enumerate(zip(network.lanes, lanes, heights, strict=True)):
        _draw_lane(axes, plan, lane, text, bottom, wide, _LANES[number % len(_LANES)], ruler)
        bottom += height
    for number, line in enumerate(notes):
        y = bottom + 0.1 + LINE * number
        _text(axes, _MARGIN, y, line, ha="left", color=MUTED)
    return figure


def _plan(network: Network, ruler: Ruler) -> _Plan:
    is_detailed = len(network.nodes) <= _MOST_DETAILED
    labels = _link_labels(network, is_detailed=is_detailed)
    heights = {}
    for name, node in network.nodes.items():
        _, below = node_label(node).heights()
        heights[name] = ICON / 2 + PILL * len(node.agents) + 0.1, ICON / 2 + below + 0.05
    layout = lay_out_network(network, heights, [label.heights() for label in labels])
    count = len(layout.columns)
    half = [ICON / 2] * count
    for number, names in enumerate(layout.columns):
        for name in names:
            if name in network.nodes:
                half[number] = max(half[number], _node_width(network.nodes[name], ruler) / 2)
    room, bend = [0.0] * count, [0.0] * count
    for number, wire in enumerate(layout.wires):
        for slot in wire.slots:
            lines = labels[number].lines()
            sizes = [ruler.width(text, SMALL, weight) for text, weight in lines]
            room[slot.gap] = max([room[slot.gap], 0.6, *(size + 0.1 for size in sizes)])
            ends = [layout.y[name] for at, name in wire.points]
            steep = max(abs(slot.y - y) for y in ends)
            bend[slot.gap] = max(bend[slot.gap], min(max(0.25, 0.3 * steep), 0.8))
    x, zones, at = [], [], 0.0
    for number in range(count):
        x.append(at + half[number])
        at += 2 * half[number]
        zones.append((at + bend[number], at + bend[number] + room[number]))
        at += 2 * bend[number] + room[number]
    zones[-1] = (zones[-1][0], max(at, zones[-1][1]))
    return _Plan(network, layout, labels, x, half, zones)


def _link_labels(network: Network, *, is_detailed: bool) -> list[Label]:
    """Return a label for each link; only the first of several alike at a node has one."""
    groups: dict[tuple[object, ...], list[int]] = {}
    for number, link in enumerate(network.links):
        single = [len(network.neighbours(end)) == 1 for end in link.ends]
        if single[0] == single[1]:
            key: tuple[object, ...] = (number,)
        else:
            turned = link if single[0] else link.turned()
            key = (turned.ends[1], single[0], *turned.spec, network.nodes[turned.ends[0]].kind)
        groups.setdefault(key, []).append(number)
    labels = [Label()] * len(network.links)
    for members in groups.values():
        group = [network.links[number] for number in members]
        labels[members[0]] = link_label(group[0], group, is_detailed=is_detailed)
    return labels


def _node_width(node: Node, ruler: Ruler) -> float:
    lines = node_label(node).lines()
    texts = [ruler.width(text, SMALL, weight) for text, weight in lines]
    marks = [ruler.width(_mark(mark.kind), SMALL, "bold") + 0.14 for mark in node.agents]
    return max([ICON + 0.1 * (node.count > 1), *texts, *marks]) + 0.06


def _mark(kind: str) -> str:
    return {"pep": "PEP", "pepsal": "PEPsal", "eln": "ELN"}.get(kind, kind)


def _shift(plan: _Plan, distance: float) -> None:
    plan.x = [x + distance for x in plan.x]
    plan.zones = [(a + distance, b + distance) for a, b in plan.zones]


def _extent(plan: _Plan) -> tuple[float, float]:
    """Return the highest and lowest place of nodes and labels."""
    places = []
    for name, node in plan.network.nodes.items():
        y = plan.layout.y[name]
        _, below = node_label(node).heights()
        places += [y - ICON / 2 - PILL * len(node.agents), y + ICON / 2 + below]
    for number, wire in enumerate(plan.layout.wires):
        above, below = plan.labels[number].heights()
        for slot in wire.slots:
            places += [slot.y - above, slot.y + below]
    return min(places), max(places)


def _draw_wires(axes: "Axes", plan: _Plan) -> None:
    for number, wire in enumerate(plan.layout.wires):
        link = wire.link
        points = _way(plan, wire)
        colour = _COLOURS[link.medium]
        axes.plot(
            *zip(*points, strict=True),
            color=colour,
            ls=_DASHES[link.medium],
            lw=2.2 if link.count > 1 else 1.4,
            alpha=0.45 if link.standby else 1.0,
            zorder=2,
            gid=f"link {number}",
        )
        slot = wire.slots[len(wire.slots) // 2]
        label = plan.labels[number]
        left, right = plan.zones[slot.gap]
        x, y = (left + right) / 2, plan.top + slot.y
        for row, (text, weight) in enumerate(label.above[::-1]):
            _text(axes, x, y - 0.04 - LINE * (row + 1), text, weight=weight)
        for row, (text, weight) in enumerate(label.below):
            _text(axes, x, y + 0.05 + LINE * row, text, weight=weight)
        if label.sign:
            draw_medium(axes, label.sign, x, y - 0.13 - LINE * len(label.above))


def _way(plan: _Plan, wire: Wire) -> list[tuple[float, float]]:
    """Return the points of a link's line: straight beside labels, curved between them."""
    points: list[tuple[float, float]] = []
    (first, name), (_, last) = wire.points[0], wire.points[-1]
    points.append((plan.x[first] + _INSIDE, plan.top + plan.layout.y[name]))
    for index, slot in enumerate(wire.slots):
        left, right = plan.zones[slot.gap]
        edge = plan.x[slot.gap] + plan.half[slot.gap]
        y = plan.top + slot.y
        start = plan.top + plan.layout.y[wire.points[index][1]]
        points += _bend((edge, start), (left, y))
        at, other = wire.points[index + 1]
        end = plan.top + plan.layout.y[other]
        if at == slot.gap:
            points += _bend((left, y), (edge, end))
            points.append((plan.x[at] + _INSIDE, end))
            return points
        points += _bend((right, y), (plan.x[at] - plan.half[at], end))
    points.append((plan.x[wire.points[-1][0]] - _INSIDE, plan.top + plan.layout.y[last]))
    return points


def _bend(start: tuple[float, float], end: tuple[float, float]) -> list[tuple[float, float]]:
    """Return the points of an S-curve that is horizontal at both ends."""
    (x0, y0), (x1, y1) = start, end
    if abs(y1 - y0) < 1e-6:
        return [start, end]
    share = np.linspace(0.0, 1.0, 17)
    smooth = share**2 * (3 - 2 * share)
    return list(zip(x0 + (x1 - x0) * share, y0 + (y1 - y0) * smooth, strict=True))


def _draw_nodes(axes: "Axes", plan: _Plan) -> None:
    for number, names in enumerate(plan.layout.columns):
        for name in names:
            node = plan.network.nodes.get(name)
            if node is None:
                continue
            x, y = plan.x[number], plan.top + plan.layout.y[name]
            draw_icon(axes, node.kind, x, y, is_group=node.count > 1)
            for row, (text, weight) in enumerate(node_label(node).below):
                _text(axes, x, y + ICON / 2 + 0.05 + LINE * row, text, weight=weight)
            for row, mark in enumerate(node.agents):
                _pill(axes, x, y - ICON / 2 - PILL * (row + 0.5), mark)


def _pill(axes: "Axes", x: float, y: float, mark: AgentMark) -> None:
    colour = PALETTE[3] if mark.enabled else MUTED
    text = axes.text(
        x,
        y,
        _mark(mark.kind),
        fontsize=SMALL,
        weight="bold",
        ha="center",
        va="center",
        color="white",
        zorder=6,
    )
    box = text.get_window_extent().transformed(axes.transData.inverted())
    wide = abs(box.width) + 0.1
    axes.add_patch(
        FancyBboxPatch(
            (x - wide / 2, y - 0.075),
            wide,
            0.15,
            boxstyle="round,pad=0,rounding_size=0.06",
            fc=colour,
            ec="none",
            zorder=5,
        )
    )


def _column(plan: _Plan, name: str) -> int:
    return next(n for n, names in enumerate(plan.layout.columns) if name in names)


def _lane_text(plan: _Plan, lane: Lane) -> str:
    text = lane.label
    if any(len(_nodes(plan, name)) > 1 for name in (lane.stops[0], lane.stops[-1])):
        text += f", {lane.ends[0]} to {lane.ends[1]}"
    return f"{text}, {lane.tcps[0]}" if len(lane.tcps) == 1 else text


def _nodes(plan: _Plan, name: str) -> list[str]:
    names = plan.layout.columns[_column(plan, name)]
    return [item for item in names if item in plan.network.nodes]


def _draw_lane(
    axes: "Axes",
    plan: _Plan,
    lane: Lane,
    text: str,
    y: float,
    wide: float,
    colour: str,
    ruler: Ruler,
) -> None:
    places = [plan.x[_column(plan, name)] for name in lane.stops]
    half = ruler.width(text, SMALL) / 2
    middle = min(max((places[0] + places[-1]) / 2, half + _MARGIN), wide - half - _MARGIN)
    _text(axes, middle, y, text)
    at = y + LINE + 0.06
    for start, end, tcp in zip(places, places[1:], lane.tcps, strict=False):
        end_x = end if end != start else start + 0.5
        axes.annotate(
            "",
            (end_x, at),
            (start, at),
            arrowprops={
                "arrowstyle": "-|>",
                "color": colour,
                "lw": 1.6,
                "shrinkA": 0,
                "shrinkB": 0,
            },
        )
        axes.plot([start], [at], "o", color=colour, ms=3.5, zorder=4)
        if len(lane.tcps) > 1:
            _text(axes, (start + end) / 2, at + 0.05, tcp, color=colour, weight="bold")


def _text(axes: "Axes", x: float, y: float, text: str, **style: Any) -> None:  # noqa: ANN401
    """Write a line whose top is at `y`; dollar signs are no formulas."""
    size = style.pop("size", SMALL)
    values = {"ha": "center", "va": "top", "fontsize": size, "parse_math": False, **style}
    axes.text(x, y, text, zorder=5, **values)
