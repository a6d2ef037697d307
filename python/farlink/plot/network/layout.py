"""Columns, rows and slots of a network, left to right, without overlaps by construction."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from farlink.plot.network.model import Link, Network

__all__ = ["Layout", "Slot", "Wire", "columns_of", "lay_out_network", "spread"]

_SWEEPS = 8
_SPINE_WEIGHT = 1000.0


@dataclass
class Slot:
    """Place of a link in the gap after a column: `above` and `below` are heights of its label."""

    gap: int
    link: int
    above: float = 0.06
    below: float = 0.06
    y: float = 0.0


@dataclass
class Wire:
    """Way of a link through columns: the points of the way, by column."""

    link: Link
    points: list[tuple[int, str]]
    slots: list[Slot] = field(default_factory=list)


@dataclass
class Layout:
    """Columns of nodes (and of places where long links pass), heights, and ways of links."""

    columns: list[list[str]]
    y: dict[str, float]
    wires: list[Wire]


def columns_of(network: Network) -> dict[str, int]:
    """Return the column of each node: the longest path of a flow left to right, and the rest."""
    column = {name: number for number, name in enumerate(_spine(network))}
    while len(column) < len(network.nodes):
        free = [name for name in network.nodes if name not in column]
        known = {name: [n for n in network.neighbours(name) if n in column] for name in free}
        # Nodes between two known ones come first, because their place is certain.
        name = max(free, key=lambda item: (min(len(known[item]), 2), -free.index(item)))
        places = [column[other] for other in known[name]]
        if len(places) > 1:
            column[name] = round(sum(places) / len(places))
        elif places:
            part = _part(network, name, set(column))
            is_left = bool(part & network.sources) and not part & network.sinks
            column[name] = places[0] + (-1 if is_left else 1)
        else:
            column[name] = 0
    least = min(column.values())
    return {name: number - least for name, number in column.items()}


def _spine(network: Network) -> list[str]:
    """Return the longest of the paths of the flows."""
    return max((network.path(lane.stops[0], lane.stops[-1]) for lane in network.lanes), key=len)


def _part(network: Network, start: str, without: set[str]) -> set[str]:
    """Return the nodes that can be reached without the nodes of a set."""
    part, queue = {start}, [start]
    for name in queue:
        for other in network.neighbours(name):
            if other not in part and other not in without:
                part.add(other)
                queue.append(other)
    return part


def spread(wanted: Sequence[float], gaps: Sequence[float], weights: Sequence[float]) -> list[float]:
    """Return ascending places nearest to `wanted` (least squares) with gaps between them."""
    offsets = [0.0]
    for gap in gaps:
        offsets.append(offsets[-1] + gap)
    blocks: list[tuple[float, float, int]] = []
    for value, offset, weight in zip(wanted, offsets, weights, strict=True):
        blocks.append((value - offset, weight, 1))
        while len(blocks) > 1 and blocks[-2][0] > blocks[-1][0]:
            (a, wa, na), (b, wb, nb) = blocks[-2:]
            blocks[-2:] = [((a * wa + b * wb) / (wa + wb), wa + wb, na + nb)]
    means = [mean for mean, _, count in blocks for _ in range(count)]
    return [mean + offset for mean, offset in zip(means, offsets, strict=True)]


def lay_out_network(
    network: Network,
    heights: Mapping[str, tuple[float, float]],
    labels: Sequence[tuple[float, float]],
) -> Layout:
    """Place nodes and links.

    `heights` has the extent of each node above and below its centre; `labels` has those of
    each link's label above and below its line. Heights grow downwards.
    """
    column = columns_of(network)
    wires = [_wire(link, column, number) for number, link in enumerate(network.links)]
    columns: list[list[str]] = [[] for _ in range(max(column.values()) + 1)]
    for name in network.nodes:
        columns[column[name]].append(name)
    for wire in wires:
        for at, name in wire.points[1:-1]:
            if name not in network.nodes:
                columns[at].append(name)
    for wire, label in zip(wires, labels, strict=True):
        middle = wire.slots[len(wire.slots) // 2]
        middle.above, middle.below = label
    layout = Layout(columns, dict.fromkeys((n for c in columns for n in c), 0.0), wires)
    spine = set(_spine(network))
    for sweep in range(_SWEEPS):
        _place_nodes(layout, heights, spine, backwards=sweep % 2 == 1)
    _place_slots(layout)
    return layout


def _wire(link: Link, column: Mapping[str, int], number: int) -> Wire:
    a, b = link.ends
    if column[a] > column[b]:
        link = link.turned()
        a, b = b, a
    left, right = column[a], column[b]
    between = [(at, f"\0{number}.{at}") for at in range(left + 1, right)]
    points = [(left, a), *between, (right, b)]
    # A link inside a column has its slot in the gap after it.
    slots = [Slot(at, number) for at in range(left, max(right, left + 1))]
    return Wire(link, points, slots)


def _place_nodes(
    layout: Layout, heights: Mapping[str, tuple[float, float]], spine: set[str], *, backwards: bool
) -> None:
    near: dict[str, list[str]] = {name: [] for column in layout.columns for name in column}
    room: dict[str, tuple[float, float]] = {}
    for wire in layout.wires:
        names = [name for _, name in wire.points]
        for a, b in pairwise(names):
            near[a].append(b)
            near[b].append(a)
    for name, others in near.items():
        # A host's link has its label beside the host, and both need room.
        own = [w for w in layout.wires if name in (w.points[0][1], w.points[-1][1])]
        sizes = [heights.get(name, (0.1, 0.1))]
        if len(others) == 1:
            sizes += [(slot.above, slot.below) for wire in own for slot in wire.slots]
        room[name] = max(a for a, _ in sizes), max(b for _, b in sizes)
    columns = list(enumerate(layout.columns))
    for number, names in columns[::-1] if backwards else columns:
        wanted = {}
        for name in names:
            places = [layout.y[other] for other in near[name]]
            wanted[name] = sum(places) / len(places) if places else 0.0
        alike = len({frozenset(near[name]) for name in names}) == 1
        weight = {}
        for name in names:
            on_spine = name in spine and not alike
            weight[name] = _SPINE_WEIGHT if on_spine else 1.0
            wanted[name] = 0.0 if on_spine else wanted[name]
        order = sorted(names, key=lambda name: (round(wanted[name], 6), names.index(name)))
        gaps = [room[a][1] + room[b][0] for a, b in pairwise(order)]
        placed = spread([wanted[n] for n in order], gaps, [weight[n] for n in order])
        layout.y.update(zip(order, placed, strict=True))
        layout.columns[number] = order


def _place_slots(layout: Layout) -> None:
    slots: dict[int, list[tuple[float, int, Slot]]] = {}
    degree: dict[tuple[int, str], int] = {}
    for wire in layout.wires:
        for slot, (a, b) in _parts(wire):
            for name in (a, b):
                degree[slot.gap, name] = degree.get((slot.gap, name), 0) + 1
    for number, wire in enumerate(layout.wires):
        for slot, (a, b) in _parts(wire):
            # At the end with a single link the line is straight.
            single = [name for name in (a, b) if degree[slot.gap, name] == 1]
            ends = single if len(single) == 1 else (a, b)
            y = sum(layout.y[name] for name in ends) / len(ends)
            slots.setdefault(slot.gap, []).append((y, number, slot))
    for places in slots.values():
        places.sort(key=lambda item: item[:2])
        row = [slot for _, _, slot in places]
        gaps = [a.below + b.above for a, b in pairwise(row)]
        weights = [1.0 + 10.0 * (slot.above + slot.below > 0.3) for slot in row]
        for slot, y in zip(row, spread([y for y, _, _ in places], gaps, weights), strict=True):
            slot.y = y


def _parts(wire: Wire) -> list[tuple[Slot, tuple[str, str]]]:
    names = [name for _, name in wire.points]
    return list(zip(wire.slots, pairwise(names), strict=True))
