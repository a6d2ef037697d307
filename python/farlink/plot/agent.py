"""Sequence diagram of a flow's packets between sender, agents and receiver."""

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from farlink.errors import ScenarioError
from farlink.plot.data import Array, Columns
from farlink.plot.sheet import halo, points, sheet, styled
from farlink.plot.style import (
    ACK,
    DATA,
    LOSS,
    MUTED,
    PALETTE,
    SECOND,
    headline,
    legend_above,
    remark,
    title,
)
from farlink.plot.view import View

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw_agent"]

_LABEL, _LEAST_LABEL = 6.5, 6.2
"""Font size of packet numbers on a page, and their smallest size on any sheet (points)."""

_MOST_LABELS = 90
"""Largest number of packets that get number labels."""

_MOST_PACKETS = 4000
"""Largest number of packets in a diagram; more raise an error."""

_REPAIRS = ("resend", "timeout")
_LOSS_ACTIONS = (*_REPAIRS, "mark")
"""Actions of an agent after a loss. A diagram is by default around the first one."""

_LOOKS = {
    "data": (DATA, 0.8, "data"),
    "again": (SECOND, 1.6, "sent again by the sender"),
    "repair": (LOSS, 1.8, "sent again by the agent"),
    "ack": (ACK, 0.8, "ACK"),
    "own": (PALETTE[0], 1.2, "ACK made by the agent"),
}


@dataclass(frozen=True)
class _Packet:
    """Packet between two adjacent time lines; its arrival time `came` is None if it was lost."""

    kind: str
    hop: int
    forward: bool
    left: float
    came: float | None
    label: str


@dataclass(frozen=True)
class _Way:
    """Taps of agents on the path of a flow's data, in order, and their sides near the sender."""

    taps: list[int]
    near: list[str]

    @classmethod
    def of(cls, rows: Columns) -> "_Way":
        """Determine the order of the taps from the first data packets."""
        comes = rows.where((rows["leaves"] == 0) & (rows["forward"] == 1) & ~np.isnan(rows["tap"]))
        first = dict(zip(comes["tap"][::-1], comes["place"][::-1], strict=True))
        order = list(dict.fromkeys(comes["tap"]))
        return cls([int(tap) for tap in order], [str(first[tap]) for tap in order])

    def hop(self, place: str, tap: float) -> int:
        """Return the index of the hop at `place` of a tap, or at an end host if `tap` is NaN."""
        if np.isnan(tap):
            return 0 if place == "from" else len(self.taps)
        line = self.taps.index(int(tap))
        return line if place == self.near[line] else line + 1


@styled
def draw_agent(view: View, tcp: str, number: int) -> Figure:
    """Draw the packets of a flow between t0 and t1, by default around the first local recovery."""
    agents = view.result.scenario(tcp).get("agents") or []
    if not 0 <= number < len(agents):
        there = f"its agents are 0 to {len(agents) - 1}" if agents else "it has no agents"
        raise ScenarioError(f"the scenario has no agent {number}: {there}")
    flow, _here = view.flow_name(tcp), agents[number]
    places = list(dict.fromkeys((agent["at"], agent["wireless"]) for agent in agents))
    taps = [places.index((agent["at"], agent["wireless"])) for agent in agents]
    rows = Columns(view.result.arrays("passages", tcp, view.run, where={"flow": flow}))
    way = _Way.of(rows)
    if taps[number] not in way.taps:
        raise ScenarioError(f"no packet of flow {flow!r} crosses agent {number}")
    acts = Columns(view.result.arrays("agent", tcp, view.run, where={"flow": flow}))
    limits = _limits(view, tcp, rows, acts.where(acts["agent"] == number), taps[number])
    packets = _packets(rows, acts, way)
    shown = [
        packet
        for packet in packets
        if packet.left <= limits[1] and (packet.came or packet.left) >= limits[0]
    ]
    if len(shown) > _MOST_PACKETS:
        raise ScenarioError(
            f"{len(shown):,} packets cross in {limits[1] - limits[0]:.6g} s, and {_MOST_PACKETS:,} "
            "can be told apart; give a shorter time with t0 and t1"
        )
    figure = sheet(6.4)
    axes = figure.subplots()
    kinds = [
        ", ".join(a["kind"] for a, t in zip(agents, taps, strict=True) if t == tap)
        for tap in way.taps
    ]
    nodes = [places[tap][0] for tap in way.taps]
    inner = [f"{kind} at {node}" for kind, node in zip(kinds, nodes, strict=True)]
    _time_lines(axes, limits, ["sender", *inner, "receiver"])
    legend = _draw(axes, shown, packets, limits)
    acts = acts.between(limits)
    lines = np.array([1 + way.taps.index(taps[int(item)]) for item in acts["agent"]])
    _draw_actions(axes, acts, lines, legend)
    title(figure, headline(view, f"Sequence diagram of agent {number}", [tcp], of_flow=True))
    remark(figure, "Numbers are the first byte of data and the byte that an ACK asks for.")
    legend_above(axes, list(legend.values()), list(legend))
    return figure


def _limits(view: View, tcp: str, rows: Columns, acts: Columns, tap: int) -> tuple[float, float]:
    """Return the selected time, or the time of some packets before and after a local repair."""
    if view.t0 is not None or view.t1 is not None:
        return view.limits([tcp])
    repairs = acts.where(np.isin(acts["action"], _LOSS_ACTIONS))
    chosen = repairs if len(repairs) else acts
    at = float(chosen["time"][0]) if len(chosen) else float(rows["time"][0])
    first = at
    if len(chosen):
        # The first transmission through this tap of the segment that the agent repaired.
        lost = (rows["seq"] == chosen["seq"][0]) & (rows["leaves"] == 1) & (rows["time"] < at)
        lost &= rows["tap"] == tap
        first = float(rows["time"][lost][-1]) if lost.any() else at
    times = rows["time"][(rows["leaves"] == 1) & (rows["len"] > 0)]
    low = times[max(int(np.searchsorted(times, first)) - 8, 0)] if len(times) else first
    high = times[min(int(np.searchsorted(times, at)) + 16, len(times) - 1)] if len(times) else at
    start = float(min(low, first))
    return start, float(max(high, at + 0.6 * (at - start), start + 1e-3))


def _packets(rows: Columns, acts: Columns, way: _Way) -> list[_Packet]:
    """Match departures from a time line with arrivals at the next time line.

    An arrival belongs to the last identical packet that left early enough.
    """
    left: dict[tuple[Any, ...], list[tuple[float, str]]] = defaultdict(list)
    came: dict[tuple[Any, ...], list[float]] = defaultdict(list)
    repaired = {
        (time, seq)
        for time, seq, act in zip(acts["time"], acts["seq"], acts["action"], strict=True)
        if act in _REPAIRS
    }
    relayed = {
        (time, seq)
        for time, seq, act in zip(acts["time"], acts["seq"], acts["action"], strict=True)
        if act == "relay"
    }
    passing: set[tuple[Any, ...]] = set()
    sent: Counter[tuple[bool, float]] = Counter()
    names = ("time", "place", "tap", "leaves", "forward", "ident", "flags", "seq", "len", "ack")
    for time, place, tap, leaves, forward, ident, flags, seq, length, ack in zip(
        *(rows[name] for name in names), strict=True
    ):
        hop = way.hop(place, tap)
        has_data = bool(length > 0)
        key = (hop, bool(forward), ident, flags, _known(seq), length, _known(ack))
        through = (tap, bool(forward), time, _known(seq), length, has_data or _known(ack))
        if not leaves:
            came[key].append(time)
            passing.add(through)
            continue
        if place in ("from", "to"):
            again = has_data and sent[bool(forward), seq] > 0
            sent[bool(forward), seq] += 1
            kind = "again" if again else "data" if has_data else "ack"
        elif has_data:
            own = (time, seq) in repaired or (through not in passing and (time, seq) not in relayed)
            kind = "repair" if own else "again" if sent[bool(forward), seq] > 1 else "data"
        else:
            kind = "ack" if through in passing else "own"
        left[key].append((time, kind))
    least = [np.inf] * (len(way.taps) + 1)
    for key, times in came.items():
        if len(times) == 1 and len(left.get(key, ())) == 1:
            least[key[0]] = min(least[key[0]], times[0] - left[key][0][0])
    return [
        _Packet(kind, key[0], key[1], start, end, _label(key))
        for key, those in left.items()
        for (start, kind), end in zip(
            those, _arrivals([entry[0] for entry in those], came[key], least[key[0]]), strict=True
        )
    ]


def _known(number: float) -> float:
    """Return the number, or -1 for NaN, because NaN does not equal itself."""
    return number if np.isfinite(number) else -1.0


def _label(key: tuple[Any, ...]) -> str:
    seq, length, ack = key[4:]
    if length > 0:
        return f"{seq:.0f}"
    return "SYN" if int(key[3]) & 2 else f"{ack:.0f}" if ack >= 0 else ""


def _arrivals(left: list[float], came: list[float], least: float) -> list[float | None]:
    """Return arrival times of identical packets, None for losses; `least` is the minimum delay."""
    ends: list[float | None] = [None] * len(left)
    slack = 1e-9 if np.isfinite(least) else 0.0
    way = least if np.isfinite(least) else 0.0
    for time in came:
        for place in range(len(left) - 1, -1, -1):
            if ends[place] is None and left[place] + way <= time + slack:
                ends[place] = time
                break
    return ends


def _time_lines(axes: "Axes", limits: tuple[float, float], names: list[str]) -> None:
    """Draw the vertical time lines, with time downwards."""
    last = len(names) - 1
    axes.set_xlim(-0.08 * last, 1.08 * last)
    axes.set_ylim(limits[1], limits[0])
    span = limits[1] - limits[0]
    unit, factor = ("ms", 1e3) if span < 1 else ("s", 1.0)
    axes.yaxis.set_major_formatter(lambda value, _: f"{value * factor:,.6g}")
    axes.set_ylabel(f"time ({unit})")
    axes.set_xticks(range(last + 1), names)
    axes.tick_params(axis="x", length=0)
    axes.grid(visible=False)
    for side in ("bottom", "right", "top"):
        axes.spines[side].set_visible(False)
    for x in range(last + 1):
        axes.axvline(x, color=MUTED, lw=1.4, zorder=1)


def _draw(
    axes: "Axes", shown: list[_Packet], packets: list[_Packet], limits: tuple[float, float]
) -> dict[str, Any]:
    legend: dict[str, Any] = {}
    labels = len(shown) <= _MOST_LABELS
    placed: list[tuple[float, float, int]] = []
    ways: dict[tuple[int, bool], list[float]] = defaultdict(list)
    for packet in packets:
        if packet.came is not None:
            ways[packet.hop, packet.forward].append(packet.came - packet.left)
    half = {key: 0.5 * min(times) for key, times in ways.items()}
    last = max((packet.came or packet.left for packet in packets), default=0.0)
    for kind, (shade, width, name) in _LOOKS.items():
        lines, heads = [], []
        for entry in (entry for entry in shown if entry.kind == kind):
            start = (entry.hop if entry.forward else entry.hop + 1, entry.left)
            way = 1 if entry.forward else -1
            if entry.came is None:
                lines.append(
                    [
                        start,
                        (
                            start[0] + 0.5 * way,
                            entry.left + half.get((entry.hop, entry.forward), 0.0),
                        ),
                    ]
                )
            else:
                lines.append([start, (start[0] + way, entry.came)])
                heads.append((start[0] + way, entry.came, way))
            if labels and entry.label and _has_room(placed, start, way, limits):
                placed.append((*start, way))
                axes.annotate(
                    entry.label,
                    start,
                    (4 * way, 1.5),
                    textcoords="offset points",
                    ha="left" if way > 0 else "right",
                    va="bottom",
                    fontsize=max(points(_LABEL), _LEAST_LABEL),
                    color=shade,
                    path_effects=halo(),
                    zorder=5,
                    annotation_clip=True,
                    clip_on=True,
                )
        if not lines:
            continue
        axes.add_collection(LineCollection(lines, colors=shade, linewidths=width, zorder=2))
        for way, marker in ((1, ">"), (-1, "<")):
            tips = [(x - 0.012 * way, y) for x, y, to in heads if to == way]
            if tips:
                axes.plot(*zip(*tips, strict=True), marker, color=shade, ms=3.2, mew=0, zorder=3)
        legend[name] = Line2D([], [], color=shade, lw=width)
    # Packets without an arrival near the end of the run may be in flight, so they are not marked
    # lost.
    lost = [
        (entry.hop + 0.5, entry.left + half.get((entry.hop, entry.forward), 0.0))
        for entry in shown
        if entry.came is None
        and entry.left + max(ways[entry.hop, entry.forward], default=0.0) < last
    ]
    if lost:
        (drawn,) = axes.plot(*zip(*lost, strict=True), "x", color=LOSS, ms=5, mew=1.4, zorder=4)
        legend["lost"] = drawn
    return legend


def _has_room(
    placed: list[tuple[float, float, int]],
    at: tuple[float, float],
    way: int,
    limits: tuple[float, float],
) -> bool:
    """Return whether a label at a point overlaps no other label."""
    least = 0.02 * (limits[1] - limits[0])
    near = (x == at[0] and to == way and abs(y - at[1]) < least for x, y, to in placed)
    return limits[0] + least < at[1] <= limits[1] and not any(near)


def _draw_actions(axes: "Axes", acts: Columns, lines: Array, legend: dict[str, Any]) -> None:
    """Mark ACKs that agents suppress or mark, and the agents' time-outs and notices."""
    for act, marker, shade, name in (
        ("suppress", "o", ACK, "ACK kept from the sender"),
        ("timeout", "s", LOSS, "time-out of the agent"),
        ("mark", "D", PALETTE[0], "ACK marked"),
        ("notice", "^", PALETTE[0], "notice to the sender"),
    ):
        chosen = acts["action"] == act
        if chosen.any():
            (drawn,) = axes.plot(
                lines[chosen],
                acts["time"][chosen],
                marker,
                mfc="white",
                mec=shade,
                ms=5,
                mew=1.2,
                zorder=5,
            )
            legend[name] = drawn
