"""Time-sequence graphs like those of Ostermann's tcptrace."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from farlink import source, units
from farlink.plot import data
from farlink.plot.curves import Curve, colour, draw_curves, look, of_tcp
from farlink.plot.data import Array, Columns
from farlink.plot.sheet import bold, halo, points, raster, share_of_page, sheet, strokes, styled
from farlink.plot.style import (
    ACK,
    DATA,
    LOSS,
    MUTED,
    RASTER_ABOVE,
    SACK,
    SECOND,
    WINDOW,
    AtLeastZero,
    crowd,
    headline,
    legend_above,
    remark,
    scale_axis,
    time_axis,
    title,
)
from farlink.plot.view import View

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

__all__ = [
    "Parts",
    "draw_comparison",
    "draw_first_loss",
    "draw_parts",
    "draw_sequence",
    "letters",
]

_MOST_LETTERS = 40
"""Largest number of letters R, or of crosses, in a figure. More of them would overlap."""

_FEW = 400
"""Number of segments up to which each segment is drawn, whatever the data in flight. In a capture
at the receiver no data appears to be in flight.
"""

_MOST_LINES = 10
"""Number of flows above which flows are thin lines of one colour, with their median."""

_UPPER_LANE, _LOWER_LANE = 0.915, 0.85
"""Heights of the lanes of retransmissions and of drops, as shares of the axes. The lane of
time-outs is above both.
"""

_LETTER = (0.017, 0.042)
"""Width and height of a letter R, as shares of the axes."""

_Legend = list[tuple["Artist", str]]


@styled
def draw_sequence(view: View, tcp: str) -> Figure:
    """Draw the time-sequence graph of one TCP between t0 and t1, by default of the whole run.

    If the data in flight is too small to distinguish segments, ACKs and window, the segments are
    drawn as one line with retransmissions as ticks above.
    """
    limits = view.limits([tcp])
    text = headline(view, "Time-sequence", [tcp], of_flow=True)
    return draw_parts(Parts.of(view, tcp), limits, text)


@styled
def draw_first_loss(view: View, tcp: str) -> Figure | None:
    """Draw the time around the first retransmission; None without one."""
    segments = view.end_of(tcp, "segments")
    again = segments.where(segments["retransmission"] == 1)
    if not len(again):
        return None
    repaired, seq = float(again["time"][0]), again["seq"][0]
    before = segments.where((segments["seq"] == seq) & (segments["time"] < repaired))
    sent = float(before["time"][-1]) if len(before) else repaired
    repair = max(repaired - sent, 1e-3)
    limits = (max(0.0, sent - 0.35 * repair), repaired + 1.6 * repair)
    text = headline(view, "First loss", [tcp], of_flow=True)
    return draw_parts(Parts.of(view, tcp), limits, text)


@styled
def draw_comparison(view: View, tcp: Sequence[str]) -> Figure:
    """Draw the acknowledged data of each TCP, or of each flow of a single TCP, over time.

    With several flows and several TCPs, each TCP has one curve with the sum over its flows.
    """
    figure = sheet(3.9)
    axes = figure.subplots()
    limits = view.limits(tcp)
    flows = len(view.need_flows(tcp[0]))
    if len(tcp) == 1 and flows > _MOST_LINES:
        handles, labels, note = _fan(axes, view, tcp[0], limits)
    else:
        curves = _of_flows(view, tcp[0], limits) if len(tcp) == 1 else _of_tcps(view, tcp, limits)
        handles, labels, note = draw_curves(axes, curves, limits, 1.3)
    if view.t0 is None:
        # A margin below 0 keeps lines that start at 0 from being cut in half.
        axes.set_ylim(bottom=-0.01 * axes.get_ylim()[1])
        axes.yaxis.set_major_locator(AtLeastZero())
    scale_axis(axes, "acknowledged", "B", axes.get_ylim()[1])
    time_axis(axes, _with_room(limits))
    what = "Progress" if flows == 1 else f"Progress of {flows:,} flows"
    if flows > 1 and len(tcp) > 1:
        what += " together"
    title(figure, headline(view, what, tcp))
    remark(figure, note)
    legend_above(axes, handles, labels)
    return figure


def _of_tcps(view: View, tcp: Sequence[str], limits: tuple[float, float]) -> list[Curve]:
    curves = []
    for name in tcp:
        acks, segments = (view.each_end_of(name, trace) for trace in ("acks", "segments"))
        time, acked = data.total(
            [_acked(ack, segments[flow], limits) for flow, ack in acks.items()]
        )
        again = sum(int(segment["retransmission"].sum()) for segment in segments.values())
        notes = [f"{again:,} retransmitted", view.ending(name, limits)]
        if source.split(name)[0] == source.QUIC:
            notes.insert(1, _unacknowledged(view.delivered(name), float(acked.max())))
        label = f"{name} ({', '.join(filter(None, notes))})"
        time, acked = _corners(time, acked, limits)
        curves.append(Curve(name, label, time, acked, of_tcp(view.result, name)))
    return curves


def _unacknowledged(delivered: float, acked: float) -> str:
    """Return a text with the delivered bytes if the last ACKs did not arrive, otherwise "".

    A flow over QUIC ends with the delivery of its last byte.
    """
    if delivered <= acked:
        return ""
    scale, unit = units.prefixed(delivered, "B")
    return f"{units.rounded(delivered / scale)} {unit} delivered"


def _of_flows(view: View, tcp: str, limits: tuple[float, float]) -> list[Curve]:
    acks, segments = (view.each_end_of(tcp, trace) for trace in ("acks", "segments"))
    curves = []
    for place, (flow, rows) in enumerate(acks.items()):
        time, acked = _corners(*_acked(rows, segments[flow], limits), limits)
        again = int(segments[flow]["retransmission"].sum())
        label = f"{flow} ({again:,} retransmitted)"
        curves.append(Curve(flow, label, time, acked, look(place)))
    return curves


def _fan(
    axes: "Axes", view: View, tcp: str, limits: tuple[float, float]
) -> tuple[list[Line2D], list[str], str]:
    """Draw many flows as thin lines, and their median as a thick line."""
    acks, segments = (view.each_end_of(tcp, trace) for trace in ("acks", "segments"))
    at = np.linspace(*limits, 400)
    rows = []
    shade = colour(view.result, tcp)
    for flow, columns in acks.items():
        time, acked = _acked(columns, segments[flow], limits)
        axes.plot(*_corners(time, acked, limits), color=shade, lw=0.5, alpha=0.35)
        rows.append(data.step_at(time, acked, at))
    (median,) = axes.plot(at, np.median(rows, axis=0), color=DATA, lw=1.6)
    thin = Line2D([], [], color=shade, lw=0.8, alpha=0.7)
    return [thin, median], [f"each of {len(acks):,} flows", "their median"], ""


def _acked(acks: Columns, segments: Columns, limits: tuple[float, float]) -> tuple[Array, Array]:
    """Return times and acknowledged bytes, from 0 and never decreasing.

    The sequence number of a FIN is not counted.
    """
    sent = float((segments["seq"] + segments["len"]).max(initial=0))
    most = np.maximum.accumulate(acks["ack"]) if len(acks) else acks["ack"]
    return np.append(0.0, acks["time"]), np.append(0.0, np.minimum(most, sent))


def _corners(time: Array, value: Array, limits: tuple[float, float]) -> tuple[Array, Array]:
    """Return times and values of the corners of a step function within the limits."""
    part = data.within(time, limits)
    time, value = time[part], value[part]
    seen = data.thinned(time, value, limits, strokes())
    time, value = time[seen], value[seen]
    return np.repeat(time, 2)[1:], np.repeat(value, 2)[:-1]


@dataclass(frozen=True)
class Parts:
    """Data of a time-sequence graph of one direction of a connection."""

    segments: Columns
    acks: Columns
    sacks: Columns
    drops: Columns
    timeouts: Columns
    overtaken: Columns | None = None
    """Reordered segments that were not retransmitted. Known in captures only."""

    @classmethod
    def of(cls, view: View, tcp: str) -> "Parts":
        """Read the traces of a flow's sending end."""
        segments, acks, sacks, marks = (
            view.end_of(tcp, name) for name in ("segments", "acks", "sacks", "marks")
        )
        return cls(segments, acks, sacks, view.drops_of(tcp), marks.equal(kind="timeout"))


def draw_parts(parts: Parts, limits: tuple[float, float], text: str) -> Figure:
    """Draw segments, ACKs, SACK blocks, drops and time-outs within the limits."""
    figure = sheet(4.3)
    axes = figure.subplots()
    title(figure, text)
    segments, acks = parts.segments.between(limits), parts.acks
    legend: _Legend = []
    few = parts.overtaken is not None and len(segments) <= _FEW
    resolved = few or _resolves(segments, acks)
    axes.set_ylim(_vertical_limits(segments, acks.around(limits), window=resolved))
    if resolved:
        time_axis(axes, limits)
        drops = parts.drops.between(limits)
        _make_room(axes, segments, drops)
        _bars(axes, segments, legend)
        _drops(axes, drops, legend)
        _overtaken(axes, parts.overtaken, limits, legend)
        _lines(axes, acks.around(limits), legend)
        _sacks(axes, parts.sacks.between(limits), legend)
    else:
        time_axis(axes, _with_room(limits))
        _overview(axes, segments, legend)
        if parts.overtaken is not None and len(acks):
            legend.insert(1, _acked_along(axes, acks.around(limits)))
    _timeouts(axes, parts.timeouts.between(limits), legend)
    scale_axis(axes, "sequence number", "B", axes.get_ylim()[1])
    legend_above(axes, [handle for handle, _ in legend], [label for _, label in legend])
    return figure


def _with_room(limits: tuple[float, float]) -> tuple[float, float]:
    return limits[0], limits[0] + 1.02 * (limits[1] - limits[0])


def _vertical_limits(segments: Columns, acks: Columns, *, window: bool) -> tuple[float, float]:
    acked, edge = acks["ack"], acks["ack"] + acks["window"]
    sent = segments["seq"] + segments["len"]
    low = float(min([*acked[:1], *segments["seq"][:1]], default=0))
    high = float(max(sent.max(initial=1), acked.max(initial=1)))
    # A window far above the segments is not drawn, because it would squeeze them to the bottom.
    offered = float(edge.max(initial=0))
    if window and offered < high + 1.5 * (high - low):
        high = max(high, offered)
    margin = 0.03 * max(high - low, 1.0)
    return (low - margin if low > margin else -margin / 3), high + 2 * margin


def _resolves(segments: Columns, acks: Columns) -> bool:
    """Return whether the data in flight is tall enough to distinguish ACKs, segments and window."""
    if not len(segments) or not len(acks):
        return True
    latest = np.searchsorted(acks["time"], segments["time"], side="right") - 1
    una = np.where(latest >= 0, acks["ack"][np.maximum(latest, 0)], 0)
    flight = float(np.median(segments["seq"] + segments["len"] - una))
    return flight > 0.015 * float(segments["seq"].max() - segments["seq"].min())


def _overview(axes: "Axes", segments: Columns, legend: _Legend) -> None:
    """Draw the segments as one line, and retransmissions as ticks in a lane above."""
    again = segments["retransmission"] == 1
    new = segments.where(~again)
    seen = data.thinned(new["time"], new["seq"], axes.get_xlim(), strokes())
    (line,) = axes.plot(new["time"][seen], new["seq"][seen], color=DATA, lw=1.3)
    legend.append((line, "segments"))
    if again.any():
        bottom, top = axes.get_ylim()
        axes.set_ylim(bottom, bottom + 1.14 * (top - bottom))
        times = segments["time"][again]
        _events(axes, times, _UPPER_LANE, LOSS, "retransmission", legend)


def _acked_along(axes: "Axes", acks: Columns) -> "tuple[Artist, str]":
    """Draw the ACKs as dashes on the line of segments, because both lines coincide."""
    acked = np.maximum.accumulate(acks["ack"])
    seen = data.thinned(acks["time"], acked, axes.get_xlim(), strokes())
    (line,) = axes.plot(acks["time"][seen], acked[seen], color=ACK, lw=1.3, ls=(0, (4, 4)))
    return line, "ACK"


def _make_room(axes: "Axes", segments: Columns, drops: Columns) -> None:
    """Extend the y axis by lanes for events that are too many to be drawn at their place."""
    many = [segments["retransmission"].sum() > _MOST_LETTERS, len(drops) > _MOST_LETTERS]
    if any(many):
        bottom, top = axes.get_ylim()
        axes.set_ylim(bottom, bottom + (1.22 if many[1] else 1.14) * (top - bottom))


def _bars(axes: "Axes", segments: Columns, legend: _Legend) -> None:
    """Draw segments as bars, with small caps if a segment is tall enough."""
    bottom, top = axes.get_ylim()
    again = segments["retransmission"] == 1
    for chosen, shade, width, name in (
        (~again, DATA, 0.8, "segment"),
        (again, LOSS, 1.6, "retransmission"),
    ):
        part = segments.where(chosen)
        if not len(part):
            continue
        ends = part["seq"] + part["len"]
        drawn = _vertical(axes, part["time"], part["seq"], ends, shade, width)
        drawn.set_zorder(3 if shade == LOSS else 2)
        if shade == DATA or len(part) <= _MOST_LETTERS:
            legend.append((Line2D([], [], color=shade, lw=1.6), name))
        else:
            _events(axes, part["time"], _UPPER_LANE, LOSS, name, legend)
        share = part["len"].max() / (top - bottom)
        if share < 1 / 250 and shade == DATA:
            # A line through the bars, which are less than a pixel tall.
            seen = data.thinned(part["time"], ends, axes.get_xlim(), strokes())
            axes.plot(
                part["time"][seen],
                ends[seen],
                color=shade,
                lw=0.6,
                zorder=2,
                drawstyle="steps-post",
            )
        if share > 1 / 110:
            seen = data.scattered(part["time"], [part["seq"], ends], axes.get_xlim(), raster())
            times = np.tile(part["time"][seen], 2)
            heights = np.concatenate([part["seq"][seen], ends[seen]])
            axes.plot(times, heights, "_", color=shade, ms=2.6, mew=0.7, zorder=2.5)
        if shade == LOSS and len(part) <= _MOST_LETTERS:
            letters(axes, part["time"], ends)


def letters(axes: "Axes", times: Array, heights: Array) -> None:
    """Write an R above each point, unless it would cover another R."""
    left, right = axes.get_xlim()
    bottom, top = axes.get_ylim()
    wide = _LETTER[0] / share_of_page()
    placed: list[tuple[float, float]] = []
    for time, height in zip(times, heights, strict=True):
        x, y = (time - left) / (right - left), (height - bottom) / (top - bottom)
        if any(abs(x - a) < wide and abs(y - b) < _LETTER[1] for a, b in placed):
            continue  # The letter would overlap the previous one.
        placed.append((x, y))
        axes.annotate(
            "R",
            (time, height),
            (0, 2),
            textcoords="offset points",
            color=LOSS,
            ha="center",
            va="bottom",
            fontsize=points(7),
            fontweight=bold(),
            zorder=4,
            annotation_clip=True,
            path_effects=halo(),
        )


def _drops(axes: "Axes", drops: Columns, legend: _Legend) -> None:
    """Mark dropped packets with crosses at the time of the drop, or many in a lane."""
    if not len(drops):
        return
    if len(drops) > _MOST_LETTERS:
        _events(axes, drops["time"], _LOWER_LANE, MUTED, "drop", legend)
        return
    (drawn,) = axes.plot(drops["time"], drops["seq"], "x", color=LOSS, ms=4, mew=1.0, zorder=3)
    legend.append((drawn, "drop"))


def _overtaken(
    axes: "Axes", late: Columns | None, limits: tuple[float, float], legend: _Legend
) -> None:
    part = late.between(limits) if late is not None else None
    if part is not None and len(part):
        ends = part["seq"] + part["len"]
        (drawn,) = axes.plot(part["time"], ends, "o", mfc="none", color=SECOND, ms=4, zorder=3)
        legend.append((drawn, f"overtaken ({len(part):,})"))


def _lines(axes: "Axes", acks: Columns, legend: _Legend) -> None:
    """Draw the lines of the cumulative ACK and of the advertised window."""
    if not len(acks):
        return
    edge = acks["ack"] + acks["window"]
    top = axes.get_ylim()[1]
    for height, shade, name in ((acks["ack"], ACK, "ACK"), (edge, WINDOW, "offered window")):
        if height.min() < top:
            seen = data.thinned(acks["time"], height, axes.get_xlim(), strokes())
            (line,) = axes.plot(
                acks["time"][seen],
                height[seen],
                color=shade,
                drawstyle="steps-post",
                lw=1.2,
                zorder=1.9,
            )
            legend.append((line, name))


def _sacks(axes: "Axes", sacks: Columns, legend: _Legend) -> None:
    if not len(sacks):
        return
    drawn = _vertical(axes, sacks["time"], sacks["left"], sacks["right"], SACK, 0.8)
    drawn.set_zorder(1.8)
    legend.append((Line2D([], [], color=SACK, lw=1.6), "SACK block"))


def _timeouts(axes: "Axes", timeouts: Columns, legend: _Legend) -> None:
    if len(timeouts):
        _events(axes, timeouts["time"], 0.97, DATA, "time-out", legend)


def _events(
    axes: "Axes", times: Array, height: float, shade: str, name: str, legend: _Legend
) -> None:
    """Mark events in a lane above the data, with ticks, or with counts for many events."""
    label = f"{name}{'s' if len(times) > 1 else ''} ({len(times):,}"
    drawn = crowd(axes, times, axes.get_xlim(), height, shade)
    if drawn is None:
        legend.append((_lane(axes, times, height, shade), f"{label})"))
    else:
        legend.append((drawn[0], f"{label}; {drawn[1]})"))


def _lane(axes: "Axes", times: Array, height: float, shade: str) -> Line2D:
    """Mark times with triangles, or with thin ticks if triangles would overlap."""
    few = len(times) <= _MOST_LETTERS
    (line,) = axes.plot(
        times,
        np.full(len(times), height),
        "v" if few else "|",
        color=shade,
        ms=4 if few else 4.5,
        mew=0 if few else 0.5,
        transform=axes.get_xaxis_transform(),
    )
    return line


def _vertical(
    axes: "Axes", time: Array, low: Array, high: Array, shade: str, width: float
) -> LineCollection:
    seen = data.scattered(time, [low, high], axes.get_xlim(), raster())
    time, low, high = time[seen], low[seen], high[seen]
    ends = np.stack([low, high], axis=1)
    lines = np.stack([np.stack([time, time], axis=1), ends], axis=2)
    collection = LineCollection(
        list(lines), colors=shade, linewidths=width, rasterized=len(lines) > RASTER_ABOVE
    )
    axes.add_collection(collection, autolim=False)
    return collection
