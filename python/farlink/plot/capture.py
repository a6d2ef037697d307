"""Figures of a TCP connection in a packet capture, like those of tcptrace."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from farlink import pictures
from farlink.captures.direction import Direction, Kind
from farlink.errors import ScenarioError
from farlink.plot.data import Array, Columns, envelope
from farlink.plot.sequence import Parts, draw_parts
from farlink.plot.sheet import sheet, styled
from farlink.plot.style import (
    ACK,
    DATA,
    LOSS,
    MUTED,
    PALETTE,
    WINDOW,
    crowd,
    legend_above,
    remark,
    save,
    scale_axis,
    time_axis,
    title,
)
from farlink.trace import round_bin

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

    from farlink.captures import Capture, Connection

__all__ = ["WAYS", "CapturePlots"]

WAYS = ("a2b", "b2a")
"""Directions of a connection: "a2b" from the end that opened the connection, "b2a" to that end."""

_SMALL = 0.1
"""Share of the other direction's data below which a direction has no figures by default."""

_POINTS = 3000
"""Number of samples above which columns with range and mean replace points."""

_COLUMNS = 700


class CapturePlots:
    """Figures of a capture: `capture.plot.sequence()` and so on.

    `connection` is a number in `capture.summary`, by default the connection with the most data.
    `direction` is "a2b" (from the end that opened the connection) or "b2a", by default the
    direction with more data. `t0` and `t1` bound the time axis, in seconds from the connection's
    first packet.
    """

    def __init__(self, capture: "Capture") -> None:
        self._capture = capture

    def sequence(
        self,
        connection: int | None = None,
        direction: str | None = None,
        *,
        t0: float | None = None,
        t1: float | None = None,
    ) -> Figure:
        """Draw sequence numbers over time, with ACKs, the advertised window and SACK blocks.

        Retransmissions are red with an R. Reordered segments have a circle.
        """
        return _sequence(_Shown(self._capture, connection, direction, t0, t1), "Time-sequence")

    def first_loss(
        self, connection: int | None = None, direction: str | None = None
    ) -> Figure | None:
        """Draw the time-sequence graph around the first retransmission; None without one."""
        shown = _Shown(self._capture, connection, direction)
        limits = _first_loss(shown.way)
        if limits is None:
            return None
        shown = _Shown(self._capture, connection, direction, *limits)
        return _sequence(shown, "First loss")

    def rtt(
        self,
        connection: int | None = None,
        direction: str | None = None,
        *,
        t0: float | None = None,
        t1: float | None = None,
    ) -> Figure:
        """Draw RTTs between the point of capture and each end."""
        return _rtt(_Shown(self._capture, connection, direction, t0, t1))

    def throughput(
        self,
        connection: int | None = None,
        direction: str | None = None,
        *,
        bin_s: float | None = None,
        t0: float | None = None,
        t1: float | None = None,
    ) -> Figure:
        """Draw the rates of sent and of acknowledged data."""
        return _throughput(_Shown(self._capture, connection, direction, t0, t1), bin_s)

    def flight(
        self,
        connection: int | None = None,
        direction: str | None = None,
        *,
        t0: float | None = None,
        t1: float | None = None,
    ) -> Figure:
        """Draw the data in flight and the window that the receiver advertised."""
        return _flight(_Shown(self._capture, connection, direction, t0, t1))

    def save(
        self,
        directory: str | Path,
        connection: int | None = None,
        direction: str | None = None,
        *,
        t0: float | None = None,
        t1: float | None = None,
    ) -> list[Path]:
        """Write all figures as PNG (200 dpi) and SVG; return their paths.

        If both directions carry much data, both are drawn unless `direction` is given. A figure
        that cannot be drawn gives a `FigureWarning`; the others are written.
        """
        written: list[Path] = []
        for name, draw in self._all(connection, direction, t0, t1):
            with pictures.optional(name, refuses=True):
                figure = draw()
                if figure is not None:
                    written += save(figure, Path(directory) / name)
        return written

    def _all(
        self, connection: int | None, direction: str | None, t0: float | None, t1: float | None
    ) -> Iterator[tuple[str, Callable[[], Figure | None]]]:
        chosen = self._capture.connection(connection)
        ways = [direction] if direction else _much(chosen)
        for way in ways:
            for draw in (self.sequence, self.rtt, self.throughput, self.flight):
                name = f"{draw.__name__}-{chosen.number}-{way}"
                yield name, partial(draw, connection, way, t0=t0, t1=t1)
            if t0 is None and t1 is None:
                name = f"first-loss-{chosen.number}-{way}"
                yield name, partial(self.first_loss, connection, way)


def _much(connection: "Connection") -> list[str]:
    """Return the directions with at least the share `_SMALL` of the data, largest first."""
    size = {name: direction.bytes for name, direction in connection.directions.items()}
    most = max(size.values())
    return sorted((name for name in size if size[name] >= _SMALL * most), key=lambda n: -size[n])


class _Shown:
    """Connection, direction and time range of a figure."""

    def __init__(
        self,
        capture: "Capture",
        number: int | None,
        direction: str | None,
        t0: float | None = None,
        t1: float | None = None,
    ) -> None:
        self.connection = capture.connection(number)
        name = direction or self.connection.main
        if name not in WAYS:
            raise ScenarioError(f"direction {name!r}: write a2b (from the opener) or b2a")
        self.name = capture.path.name
        self.way: Direction = self.connection.directions[name]
        if not len(self.way.segments["time"]):
            raise ScenarioError(
                f"{capture.path}: connection {self.connection.number} has no data from "
                f"{self.way.sender}"
            )
        start = 0.0 if t0 is None else t0
        end = max(self.connection.duration, 1e-6) if t1 is None else t1
        if start >= end:
            raise ScenarioError(
                f"t0 is {start:g} s and t1 is {end:g} s; t1 must be later, and the connection "
                f"takes {self.connection.duration:g} s"
            )
        self.limits = (start, end)

    def headline(self, what: str) -> str:
        return f"{what}: {self.name}, {self.way.sender} to {self.way.receiver}"

    def place(self) -> str:
        """Return a sentence that names the point of capture."""
        known = {
            "sender": "captured at the sender",
            "receiver": "captured at the receiver",
            "between": "captured between the ends",
        }
        return known.get(self.way.place, "where it was captured is not told by its round trips")


def _columns(rows: dict[str, Array]) -> Columns:
    order = np.argsort(rows["time"], kind="stable")
    return Columns({name: column[order].astype(np.float64) for name, column in rows.items()})


@styled
def _sequence(shown: _Shown, what: str) -> Figure:
    way = shown.way
    rows = _columns(way.segments)
    again = np.isin(rows["kind"], (Kind.AGAIN, Kind.FILLED)).astype(np.float64)
    segments = Columns({**{n: rows[n] for n in ("time", "seq", "len")}, "retransmission": again})
    nothing = Columns({name: np.empty(0) for name in ("time", "seq")})
    parts = Parts(
        segments,
        _columns(way.acks),
        _columns(way.sacks),
        nothing,
        nothing,
        rows.where(rows["kind"] == Kind.LATE),
    )
    figure = draw_parts(parts, shown.limits, shown.headline(what))
    remark(figure, shown.place())
    return figure


def _first_loss(way: Direction) -> tuple[float, float] | None:
    kinds, times = way.segments["kind"], way.segments["time"]
    lost = np.flatnonzero(np.isin(kinds, (Kind.AGAIN, Kind.FILLED)))
    if not len(lost):
        return None
    repaired = float(times[lost[0]])
    before = np.flatnonzero(way.segments["seq"][: lost[0]] <= way.segments["seq"][lost[0]])
    sent = float(times[before[-1]]) if len(before) else repaired
    repair = max(repaired - sent, 1e-3)
    return max(0.0, sent - 0.35 * repair), repaired + 1.6 * repair


@styled
def _rtt(shown: _Shown) -> Figure:
    way = shown.way
    figure = sheet(3.5)
    axes = figure.subplots()
    legend: list[tuple[Artist, str]] = []
    highest = 0.0
    for rows, shade, end in ((way.ahead, DATA, way.receiver), (way.behind, PALETTE[0], way.sender)):
        part = _columns(rows).between(shown.limits)
        if len(part):
            legend.append((_cloud(axes, part, shown.limits, shade), f"to {end} and back"))
            highest = max(highest, float(part["rtt"].max()))
    # In a capture at an end, round trips to that end are 0. The axis then fits the RTT of the whole
    # path.
    top = highest or way.least_rtt or 1.0
    axes.set_ylim(0, 1.12 * top)
    scale_axis(axes, "round trip", "s", top)
    time_axis(axes, shown.limits)
    title(figure, shown.headline("Round trips"))
    least = "" if way.least_rtt is None else f"; least of the whole path {way.least_rtt:.4g} s"
    note = "" if highest else "; no sample: nothing was acknowledged that was sent once"
    if way.place == "receiver" and not len(way.behind["rtt"]):
        note = "; without timestamps only the handshake tells the way to the sender and back"
    remark(figure, f"{shown.place()}{least}{note}")
    legend_above(axes, [handle for handle, _ in legend], [label for _, label in legend])
    return figure


def _cloud(axes: "Axes", part: Columns, limits: tuple[float, float], shade: str) -> Line2D:
    """Draw samples as points; more than `_POINTS` samples as range and mean of each column."""
    if len(part) <= _POINTS:
        size = 5 if len(part) < 500 else 3.5
        (points,) = axes.plot(part["time"], part["rtt"], ".", color=shade, ms=size, mew=0)
        return points
    middle, low, mean, high = envelope(part["time"], part["rtt"], limits, _COLUMNS)
    seen = (middle >= part["time"][0]) & (middle <= part["time"][-1])
    axes.fill_between(middle[seen], low[seen], high[seen], color=shade, alpha=0.25, lw=0)
    (line,) = axes.plot(middle[seen], mean[seen], color=shade)
    return line


@styled
def _throughput(shown: _Shown, bin_s: float | None) -> Figure:
    way, limits = shown.way, shown.limits
    width = bin_s or round_bin(1.6 * (limits[1] - limits[0]))
    if not 0 < width < limits[1] - limits[0] + width or (limits[1] - limits[0]) / width > 1e5:
        raise ScenarioError(f"bin_s is {width:g}; write seconds, at most 100,000 bins in all")
    count = max(1, round((limits[1] - limits[0]) / width))
    edges = limits[0] + width * np.arange(count + 1)
    rows, acks = _columns(way.segments), _columns(way.acks)
    acked = np.maximum.accumulate(acks["ack"]) if len(acks) else acks["ack"]
    figure = sheet(3.5)
    axes = figure.subplots()
    curves = [
        ("data, all that was here", rows["time"], rows["len"], DATA),
        ("acknowledged", acks["time"], np.diff(acked, prepend=acked[:1]), ACK),
    ]
    highest = 0.0
    handles: list[Artist] = []
    for _, time, size, shade in curves:
        bits, _ = np.histogram(time, bins=edges, weights=8.0 * size)
        rate = bits / width
        highest = max(highest, float(rate.max(initial=0)))
        handles += axes.plot((edges[:-1] + edges[1:]) / 2, rate, color=shade)
    labels = [name for name, *_ in curves]
    axes.set_ylim(0, 1.2 * highest or 1.0)
    again = rows["time"][np.isin(rows["kind"], (Kind.AGAIN, Kind.FILLED))]
    again = again[(again >= limits[0]) & (again <= limits[1])]
    if len(again):
        lane = crowd(axes, again, limits, 0.955, LOSS)
        label = f"sent again ({len(again):,})"
        if lane is None:
            (ticks,) = axes.plot(
                again,
                np.full(len(again), 0.955),
                "|",
                color=LOSS,
                ms=5,
                mew=0.7,
                transform=axes.get_xaxis_transform(),
            )
            lane = ticks, ""
        handles.append(lane[0])
        labels.append(f"{label}; {lane[1]}" if lane[1] else label)
    scale_axis(axes, "throughput", "bit/s", highest or 1.0)
    time_axis(axes, limits)
    title(figure, shown.headline(f"Throughput in bins of {width:g} s"))
    remark(figure, f"{shown.place()}; bytes of TCP data, without headers")
    legend_above(axes, handles, labels)
    return figure


@styled
def _flight(shown: _Shown) -> Figure:
    way, limits = shown.way, shown.limits
    figure = sheet(3.5)
    axes = figure.subplots()
    flight, acks = _columns(way.flight), _columns(way.acks)
    middle, low, mean, high = envelope(flight["time"], flight["flight"], limits, _COLUMNS)
    axes.fill_between(middle, low, high, color=MUTED, alpha=0.35, lw=0, step="mid")
    (line,) = axes.plot(middle, mean, color=DATA)
    handles, labels = [line], ["flight"]
    highest = float(high.max(initial=1.0))
    note = ""
    if len(acks):
        least = float(acks["window"].min())
        if least < 3 * highest:
            (window,) = axes.plot(
                acks["time"], acks["window"], color=WINDOW, drawstyle="steps-post", lw=1.0
            )
            handles.append(window)
            labels.append("offered window")
            highest = max(highest, min(float(acks["window"].max()), 3 * highest))
        else:
            note = f"; the window offered was always above {least:,.0f} B"
    axes.set_ylim(0, 1.12 * highest)
    scale_axis(axes, "bytes", "B", highest)
    time_axis(axes, limits)
    title(figure, shown.headline("Flight: sent, neither acknowledged nor SACKed"))
    shift = way.least_behind or 0.0
    if way.place in ("receiver", "between"):
        note += f"; as the sender had it, ACKs moved by {shift:.4g} s, the way to it and back"
    remark(figure, shown.place() + note)
    legend_above(axes, handles, labels)
    return figure
