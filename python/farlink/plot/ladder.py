"""Ladder of a flow's packets: sender left, receiver right, time downwards."""

import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from farlink.errors import ScenarioError
from farlink.plot.data import Columns
from farlink.plot.sheet import characters, halo, points, share_of_page, sheet, styled
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

__all__ = ["draw_ladder", "excerpt", "rungs"]

_LABEL, _LEAST_LABEL = 7.0, 6.2
"""Font size of segment numbers on a page, and their smallest size on any sheet (points)."""

_HEIGHT = 6.4
"""Height of the figure on a page (inches)."""

_MOST_PACKETS = 6000
"""Largest number of rows of packets in a ladder; more raise an error."""

_LEGIBLE = 350
"""Largest number of rows of packets in the default excerpt: more lines merge on a slide."""

_CLEAN_SEGMENTS = 24
"""Number of segments in the excerpt of a run without losses."""

_LEAST_HOP = 0.22
"""Smallest width of a hop, as a share of the widest."""

_WIDE = 0.8
"""Smallest share of a page at which sentences stand beside the ladder."""

_CLOSE = 0.3
"""Share of the width below which the names of neighbouring nodes are on two lines."""

_AT_FAR_END = ("checksum", "hop_limit", "no_route", "reassembly", "agent")
"""Causes of losses behind a link."""

_LOOKS = {
    "data": (DATA, 0.8, "data"),
    "ack": (ACK, 0.8, "ACK"),
    "agent ack": (PALETTE[0], 1.2, "ACK made by the agent"),
    "again": (SECOND, 1.8, "sent again by the sender"),
    "repair": (LOSS, 1.8, "sent again by the agent"),
}


@dataclass(frozen=True)
class Rung:
    """Packet on one hop. `end` is the place and time of its arrival or loss."""

    kind: str
    number: int
    start: tuple[float, float]
    end: tuple[float, float]
    is_lost: bool
    by_agent: bool
    label: str
    forward: bool


@dataclass(frozen=True)
class _Path:
    """Links of the flow's data in order, the names of their ends, and the ends' places."""

    links: dict[str, int]
    nodes: list[str]
    places: list[float]

    @classmethod
    def of(cls, rows: Columns, scenario: Mapping[str, Any]) -> "_Path":
        """Order the links by the first data packet that crosses each."""
        data = rows.where((rows["forward"] == 1) & (rows["len"] > 0))
        links = {str(name): i for i, name in enumerate(dict.fromkeys(data["link"]))}
        between = {
            item.get("name") or "-".join(item["between"]): item["between"]
            for item in scenario["links"]
        }
        nodes: list[str] = []
        widths = []
        for link in links:
            there = data.equal(link=link)
            ends = list(between.get(link, ["", ""]))
            ends = ends if there["direction"][0] == "down" else ends[::-1]
            nodes = [*nodes, ends[1]] if nodes else ends
            took = there["arrival"] - there["departure"]
            widths.append(float(np.nanmin(took)) if np.isfinite(took).any() else 0.0)
        share = np.sqrt(np.array(widths) / max(max(widths, default=1.0), 1e-9))
        places = np.concatenate([[0.0], np.cumsum(np.maximum(share, _LEAST_HOP))])
        return cls(links, nodes, [float(place) for place in places / max(places[-1], 1e-9)])


@styled
def draw_ladder(view: View, tcp: str) -> Figure:
    """Draw the packets of a flow between t0 and t1, by default around its first loss."""
    rows = _rows(view, tcp)
    limits = excerpt(view, tcp, rows)
    path = _Path.of(rows, view.result.scenario(tcp))
    shown = rungs(rows, path.links, path.places, limits)
    note = ""
    if view.t0 is None and view.t1 is None and len(shown) > _LEGIBLE:
        shown, limits, note = _cut(shown, limits)
    if len(shown) > _MOST_PACKETS:
        raise ScenarioError(
            f"{len(shown):,} packets cross links in {limits[1] - limits[0]:.6g} s, and "
            f"{_MOST_PACKETS:,} can be told apart; give plot.ladder a shorter time (t0, t1)"
        )
    figure = sheet(_HEIGHT)
    wide = share_of_page() >= _WIDE
    if wide:
        axes, beside = figure.subplots(1, 2, sharey=True, width_ratios=[1.7, 1])
    else:
        axes, beside = figure.subplots(), None
    _time_lines(axes, limits, path)
    legend = _draw(axes, shown)
    _number(axes, shown, limits)
    if beside is not None:
        _tell(beside, view, tcp, limits)
    title(figure, headline(view, "Packets", [tcp], of_flow=True))
    remark(figure, f"Numbers count segments; that of an ACK is the segment that it asks for.{note}")
    legend_above(axes, list(legend.values()), list(legend))
    return figure


def _cut(
    shown: list[Rung], limits: tuple[float, float]
) -> tuple[list[Rung], tuple[float, float], str]:
    """Return the first packets of an excerpt, their time, and a sentence about the cut."""
    end = sorted(rung.start[1] for rung in shown)[_LEGIBLE]
    first = [rung for rung in shown if rung.start[1] < end]
    note = f" Cut at {end:.4g} s for legibility; the repair ends at {limits[1]:.4g} s (t0, t1)."
    return first, (limits[0], end), note


def _rows(view: View, tcp: str) -> Columns:
    if not view.need_flows(tcp):
        raise ScenarioError("there is no flow over TCP to draw")
    where = {"flow": view.flow_name(tcp)}
    rows = Columns(view.result.arrays("packets", tcp, view.run, where=where))
    if not len(rows.where((rows["forward"] == 1) & (rows["len"] > 0))):
        raise ScenarioError(f"flow {where['flow']!r} sent no data in this run")
    return rows


def excerpt(view: View, tcp: str, rows: Columns) -> tuple[float, float]:
    """Return the selected range of time, or that from the first loss to its repair.

    Without a loss the range has the first segments.
    """
    if view.t0 is not None or view.t1 is not None:
        return view.limits([tcp])
    data = rows.where((rows["forward"] == 1) & (rows["len"] > 0))
    lost = data.where(np.isfinite(data["lost"]))
    if not len(lost):
        first = list(dict.fromkeys(data["number"]))[:_CLEAN_SEGMENTS]
        acks = rows.where((rows["forward"] == 0) & np.isfinite(rows["arrival"]))
        last = float(np.nanmax(data["arrival"][np.isin(data["number"], first)]))
        after = acks["arrival"][acks["time"] >= last]
        return 0.0, float(after[0]) if len(after) else last
    seq, number = lost["seq"][0], lost["number"][0]
    left = float(data["time"][data["number"] == number][0])
    again = data.where((data["seq"] == seq) & (data["time"] > left) & (data["number"] != number))
    arrived = again["arrival"][np.isfinite(again["arrival"])]
    repaired = float(arrived.max()) if len(arrived) else float(lost["lost"][0])
    answers = rows.where((rows["forward"] == 0) & (rows["time"] >= repaired))
    back = answers["arrival"][np.isfinite(answers["arrival"]) & (answers["ack"] > seq)]
    end = float(back[0]) if len(back) else repaired
    margin = 0.06 * (end - left)
    return max(left - margin, 0.0), end + 2 * margin


def rungs(
    rows: Columns, links: Mapping[str, int], places: list[float], limits: tuple[float, float]
) -> list[Rung]:
    """Return the packets on the path that are on a link within the range of time."""
    mss = {way: max(rows["len"][rows["forward"] == way].max(initial=0), 1) for way in (0, 1)}
    usual = {}
    for link in links:
        for way in (0, 1):
            some = rows.where((rows["link"] == link) & (rows["forward"] == way))
            took = some["arrival"] - some["departure"]
            usual[link, way] = float(np.nanmin(took)) if np.isfinite(took).any() else 0.0
    chosen = []
    origins: dict[float, int] = {}
    names = ("link", "forward", "number", "time", "departure", "arrival", "lost", "cause", "len")
    more = ("seq", "ack", "flags", "retransmission", "reason")
    for link, way, number, time, left, came, lost, cause, length, *rest in zip(
        *(rows[name] for name in (*names, *more)), strict=True
    ):
        if link not in links:
            continue
        seq, ack, flags, again, reason = rest
        start = left if np.isfinite(left) else time
        origin = origins.setdefault(number, links[link])
        by_end = origin == (0 if way else len(links) - 1)
        x0, x1 = places[links[link]], places[links[link] + 1]
        if not way:
            x0, x1 = x1, x0
        if np.isfinite(came):
            end = (x1, came)
        elif np.isfinite(lost) and cause in _AT_FAR_END:
            end = (x1, lost)
        elif np.isfinite(lost) and np.isfinite(left):
            end = (x0 + 0.5 * (x1 - x0), start + 0.5 * usual[link, int(way)])
        else:
            end = (x0, start)
        if start > limits[1] or end[1] < limits[0] or not (np.isfinite(came) or np.isfinite(lost)):
            continue
        kind = "ack" if not length else "again" if again else "data"
        if not by_end or str(reason).startswith("agent's"):
            kind = {"again": "repair", "ack": "agent ack"}.get(kind, kind)
        label = _label(length, seq, ack, int(flags), mss[int(way)], mss[1 - int(way)])
        is_lost = bool(np.isfinite(lost))
        by_agent = cause == "agent"
        chosen.append(
            Rung(kind, int(number), (x0, start), end, is_lost, by_agent, label, bool(way))
        )
    return chosen


def _label(length: float, seq: float, ack: float, flags: int, own: float, other: float) -> str:
    if length:
        return f"{seq // own + 1:.0f}"
    if flags & 2:
        return "SYN"
    if flags & 1:
        return "FIN"
    return f"{ack // other + 1:.0f}" if np.isfinite(ack) else ""


def _time_lines(axes: "Axes", limits: tuple[float, float], path: _Path) -> None:
    """Draw a vertical line for each node, with time downwards."""
    axes.set_xlim(-0.2, 1.14)
    axes.set_ylim(limits[1], limits[0])
    unit, factor = ("ms", 1e3) if limits[1] < 1 else ("s", 1.0)
    axes.yaxis.set_major_formatter(lambda value, _: f"{value * factor:,.6g}")
    axes.set_ylabel(f"time ({unit})")
    close = min(np.diff(path.places), default=1.0) < _CLOSE
    names = [f"\n{name}" if close and i % 2 else name for i, name in enumerate(path.nodes)]
    axes.set_xticks(path.places, names)
    axes.tick_params(axis="x", length=0, pad=1)
    axes.grid(visible=False)
    for side in ("bottom", "right", "top", "left"):
        axes.spines[side].set_visible(False)
    for place in path.places:
        axes.axvline(place, color=MUTED, lw=1.4, zorder=1)


def _draw(axes: "Axes", shown: list[Rung]) -> dict[str, Any]:
    legend: dict[str, Any] = {}
    for kind, (shade, width, name) in _LOOKS.items():
        some = [rung for rung in shown if rung.kind == kind]
        lines = [(rung.start, rung.end) for rung in some]
        if not lines:
            continue
        level = 3 if kind in ("again", "repair") else 2
        axes.add_collection(LineCollection(lines, colors=shade, linewidths=width, zorder=level))
        for forward, marker in ((True, ">"), (False, "<")):
            tips = [r.end for r in some if r.forward == forward and not r.is_lost]
            if tips:
                axes.plot(
                    *zip(*tips, strict=True), marker, color=shade, ms=2.6, mew=0, zorder=level
                )
        legend[name] = Line2D([], [], color=shade, lw=width)
    kept = [rung.end for rung in shown if rung.by_agent]
    if kept:
        look: dict[str, Any] = {"mfc": "white", "mec": ACK, "ms": 4.5, "mew": 1.2, "zorder": 5}
        (legend["kept back by the agent"],) = axes.plot(*zip(*kept, strict=True), "o", **look)
    lost = [rung.end for rung in shown if rung.is_lost and not rung.by_agent]
    if lost:
        (drawn,) = axes.plot(*zip(*lost, strict=True), "x", color=LOSS, ms=6, mew=1.8, zorder=5)
        legend["lost"] = drawn
    return legend


def _number(axes: "Axes", shown: list[Rung], limits: tuple[float, float]) -> None:
    """Label packets at their first nodes, beginning with lost and repeated packets."""
    size = max(points(_LABEL), _LEAST_LABEL)
    figure = axes.figure
    inches = 0.8 * figure.get_figheight()  # type: ignore[union-attr]
    least = 1.3 * size / 72 / inches * (limits[1] - limits[0])
    lost = {rung.number for rung in shown if rung.is_lost and not rung.by_agent}
    first: dict[int, Rung] = {}
    for rung in shown:
        first.setdefault(rung.number, rung)
    urgent = {"again": 0, "repair": 0, "data": 1, "agent ack": 1, "ack": 2}
    order = sorted(first.values(), key=lambda r: (r.number not in lost, urgent[r.kind], r.start[1]))
    placed: list[list[Rung]] = []
    for rung in order:
        x, y = rung.start
        beside = (
            group for group in placed if group[0].start[0] == x and group[0].forward == rung.forward
        )
        near = [group for group in beside if abs(group[0].start[1] - y) < least]
        if not rung.label or not limits[0] < y < limits[1]:
            continue
        if not near:
            placed.append([rung])
        elif (
            near[0][0].kind == rung.kind
            and near[0][0].number not in lost
            and rung.label.isdigit()
            and near[0][0].label.isdigit()
        ):
            near[0].append(rung)  # the label names the first and the last
    for group in placed:
        rung, last = group[0], group[-1].label
        x, y = rung.start
        outside = x in (0.0, 1.0)
        to_left = rung.forward == outside
        axes.annotate(
            rung.label if last == rung.label else f"{rung.label}\N{EN DASH}{last}",
            (x, y),
            (-4 if to_left else 4, 0 if outside else 2),
            textcoords="offset points",
            ha="right" if to_left else "left",
            va="center" if outside else "bottom",
            fontsize=size,
            color=LOSS if rung.number in lost else _LOOKS[rung.kind][0],
            path_effects=halo(),
            zorder=6,
        )


def _tell(axes: "Axes", view: View, tcp: str, limits: tuple[float, float]) -> None:
    """Write the sentences of the run beside the ladder, each at its time or lower."""
    axes.set_xlim(0, 1)
    axes.axis("off")
    lines = view.result.story(tcp, view.run)
    lines = lines[(lines["flow"] == view.flow_name(tcp)) & (lines["side"] == "from")]
    lines = lines[lines["time"].between(*limits)]
    size = max(points(_LABEL), _LEAST_LABEL)
    inches = 0.8 * axes.figure.get_figheight()  # type: ignore[union-attr]
    step = 1.3 * size / 72 / inches * (limits[1] - limits[0])
    # An agent may do the same at each of many ACKs.
    first = lines["text"] != lines["text"].shift()
    counts = first.cumsum().value_counts(sort=False)
    texts = [
        (float(time), textwrap.wrap(f"{text} ({n} times)" if n > 1 else text, characters(34)))
        for time, text, n in zip(lines["time"][first], lines["text"][first], counts, strict=True)
    ]
    while texts and sum(len(text) + 0.4 for _, text in texts) * step > limits[1] - limits[0]:
        texts.pop()
    # Sentences move up if those below them have too little room.
    ends = limits[1]
    latest = []
    for _, text in reversed(texts):
        ends -= (len(text) + 0.4) * step
        latest.append(ends)
    free = limits[0]
    for (time, text), most in zip(texts, reversed(latest), strict=True):
        y = min(max(time - 0.5 * step, free), max(most, free))
        axes.plot([0, 0.05], [time, y + 0.5 * step], color=MUTED, lw=0.6, clip_on=False)
        axes.text(0.07, y, "\n".join(text), va="top", fontsize=size, linespacing=1.2)
        free = y + (len(text) + 0.4) * step
