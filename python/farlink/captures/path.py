"""Estimate of the path behind a captured connection: rate, delay, buffer and losses."""

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from farlink.captures import Connection
from farlink.captures.direction import Array, Direction, Kind
from farlink.captures.ranges import check_missing
from farlink.errors import ScenarioError
from farlink.estimate import Fit, fit, in_toml

__all__ = ["FittedPath", "fit_path"]

_HEADERS = {"v4": 40, "v6": 60}
"""Size of the IP and TCP headers (bytes); timestamps add 12."""
_STAMPS = 12

_LEAST_MSS = 28
"""Smallest plausible MSS (bytes): the least IPv4 MTU of 68 minus 40 of headers (RFC 791, 3.2)."""

_TRAIN = 8
"""Number of back-to-back segments whose spacing gives the rate of the slowest link."""

_FULL = 0.75
"""Share of the longest queueing delay above which a loss counts as a queue overflow."""

_DISTINCT = 1.5
"""Ratio of back-to-back rate to sustained rate above which the link cannot have been full."""

_SEEN = 4
"""Number of segments that must wait at one time before a queue counts as observed."""

_FEWEST = 20
"""Least number of data segments for an estimate."""

_IDLE = 3.0
"""Idle time, in minimum RTTs, above which the application counts as paused."""


@dataclass(frozen=True)
class FittedPath:
    """Estimated path, which `scenario` converts into a scenario."""

    rate_bit_s: float
    """Rate of the slowest link, counted with IP and TCP headers."""
    filled: bool
    """Whether a queue was observed.

    If not, the rate may be that of the sender instead of the link.
    """
    delay_s: float
    """One-way delay (s): half of the minimum RTT."""
    queue_s: float
    """99 % quantile of the RTT above its minimum (s): the longest queueing delay."""
    full: int
    """Segments lost while the queue was full."""
    lost: int
    """Segments lost otherwise."""
    segments: int
    channel: Fit | None
    mss: int
    window: float
    timestamps: bool
    sack: bool
    size: int
    sends: str
    """End that opened the connection: "sender" or "receiver" of the data."""
    paused_s: float
    """Total time without data in flight, between the first and the last data segment (s)."""
    notes: tuple[str, ...]
    ip: str
    """IP version of the connection: "v4" or "v6"."""

    def _repr_html_(self) -> str:
        """Return the table of the estimate as HTML for notebooks."""
        from html import escape

        rows = "".join(
            f"<tr><td>{escape(name)}</td><td>{escape(value)}</td></tr>" for name, value in self.rows
        )
        notes = "".join(f"<p>{escape(note)}</p>" for note in self.notes)
        return f"<table>{rows}</table>{notes}"

    @property
    def buffer(self) -> int | None:
        """Size of the buffer (bytes); None if the queue never overflowed."""
        return round(self.queue_s * self.rate_bit_s / 8) if self.full else None

    def scenario(self, name: str = "fitted") -> dict[str, Any]:
        """Return a scenario with the path and one transfer of the captured number of bytes."""
        rate = f"{self.rate_bit_s:.0f} bit/s"
        delay = f"{1e3 * self.delay_s:.3f} ms"
        down: dict[str, Any] = {"rate": rate, "delay": delay}
        # The buffer is at least two packets; one of them is being transmitted.
        if self.buffer is not None:
            down["queue"] = {"bytes": f"{max(self.buffer, 2 * (self.mss + _HEADERS[self.ip]))} B"}
        if self.channel is not None and self.channel.channel:
            down["channel"] = self.channel.channel
        return {
            "name": name,
            "description": "fitted to a capture",
            "seed": 1,
            "ip": self.ip,
            "tcp": {
                "mss": f"{self.mss} B",
                "timestamps": self.timestamps,
                "sack": self.sack,
                "receive_window": f"{max(round(self.window), 2 * self.mss)} B",
            },
            "links": [
                {
                    "name": "path",
                    "between": ["sender", "receiver"],
                    "down": down,
                    "up": {"rate": rate, "delay": delay},
                }
            ],
            "flows": [
                {
                    "name": "transfer",
                    "from": "sender",
                    "to": "receiver",
                    "size": f"{self.size} B",
                    "opens": self.sends,
                }
            ],
        }

    def toml(self, name: str = "fitted") -> str:
        """Return the scenario as TOML, with the notes as comments."""
        tree = self.scenario(name)
        lines = [*(f"# {note}" for note in self.notes)]
        lines += [
            f"{key} = {json.dumps(tree[key])}" for key in ("name", "description", "seed", "ip")
        ]
        lines += ["", "[tcp]", *(f"{key} = {in_toml(tcp)}" for key, tcp in tree["tcp"].items())]
        for kind in ("links", "flows"):
            for row in tree[kind]:
                lines += ["", f"[[{kind}]]"]
                lines += [f"{key} = {in_toml(cell)}" for key, cell in row.items()]
        return "\n".join(lines) + "\n"

    @property
    def rows(self) -> list[tuple[str, str]]:
        """Rows (name, value) of the table that describes the path."""
        losses = "none" if self.channel is None else in_toml(self.channel.channel)
        return [
            (
                "rate of the slowest link",
                f"{self.rate_bit_s / 1e6:.4g} Mbit/s" + ("" if self.filled else " or more"),
            ),
            ("delay one way", f"{1e3 * self.delay_s:.4g} ms"),
            ("longest wait in queues and for ACKs", f"{1e3 * self.queue_s:.4g} ms"),
            (
                "buffer",
                f"{self.buffer:,} B" if self.buffer is not None else "not seen to be full",
            ),
            ("lost to the full queue", f"{self.full:,} of {self.segments:,} segments"),
            ("lost otherwise", f"{self.lost:,} of {self.segments:,} segments; {losses}"),
            ("greatest window offered", f"{self.window:,.0f} B"),
        ]


def fit_path(connection: Connection, direction: str | None = None) -> FittedPath:
    """Estimate the path of a connection's data.

    Raises
    ------
    ScenarioError
        If the capture has fewer than 20 data segments, or no round trip.
    """
    name = direction or connection.main
    way = connection.directions[name]
    what = f"connection {connection.number}"
    if len(way.segments["time"]) < _FEWEST:
        raise ScenarioError(
            f"{what} has {len(way.segments['time'])} segments with data from {way.sender}; "
            f"{_FEWEST} are the least that tell of a path"
        )
    least = way.least_rtt
    if least is None or least <= 0:
        raise ScenarioError(f"{what} shows no round trip: capture the handshake, or use timestamps")
    mss = _mss(way)
    lost, when = _units(way, mss, what)
    rtt = way.rtt
    wait = np.maximum(rtt["rtt"] - least, 0)
    rate, filled, notes = _rate(way, least, wait, mss)
    longest = float(np.quantile(wait, 0.99)) if len(wait) else 0.0
    full = np.zeros(len(lost), dtype=bool)
    if filled:
        full = _to_a_full_queue(way, lost, when, longest, mss / rate)
    others = lost & ~full
    channel = None
    if others.any() and len(lost[~full]) >= _FEWEST and not others.all():
        channel = fit(others[~full])
    acks = way.acks["window"]
    ip = "v6" if way.sender.startswith("[") else "v4"
    overhead = (mss + _HEADERS[ip] + (_STAMPS if way.stamped else 0)) / mss
    paused = _paused(way, least)
    if way.place == "sender":
        notes.append(
            "captured at the sender: what it sent again counts as lost, also where it was not"
        )
    if not way.place:
        notes.append("round trips do not tell where it was captured; the delay may lack a part")
    if paused > 0.05 * (way.until - way.since):
        notes.append(
            f"nothing was in flight for {paused:.3g} s: the application paused, which the "
            "simulated transfer does not"
        )
    if not full.any() and not filled:
        notes.append("the connection never filled the path: rate and buffer may be greater")
    notes.append("the way back is taken as wide and as long as this one, without losses")
    return FittedPath(
        8 * rate * overhead,
        filled,
        least / 2,
        longest,
        int(full.sum()),
        int(others.sum()),
        len(lost),
        channel,
        mss,
        float(acks.max(initial=65535.0)),
        way.stamped,
        way.sack,
        max(way.bytes, 1),
        "sender" if name == "a2b" else "receiver",
        paused,
        tuple(notes),
        ip,
    )


def _mss(way: Direction) -> int:
    """Return the data bytes of a full segment: the usual length, at most the negotiated MSS."""
    lengths, counts = np.unique(way.segments["len"], return_counts=True)
    usual = int(lengths[np.argmax(counts * lengths)])
    most = max((way.mss or 1460) - (_STAMPS if way.stamped else 0), _LEAST_MSS)
    return max(min(usual, most), 1)


def _units(way: Direction, mss: int, what: str) -> tuple[Array, Array]:
    """Return whether each segment was lost, and its time (s), in order of first transmission.

    Segments that a network card has merged are cut into pieces of `mss` again.
    """
    rows = way.segments
    fresh = np.flatnonzero(rows["kind"] == Kind.NEW)
    span = float((rows["seq"] + rows["len"])[fresh].max(initial=0.0))
    held = math.ceil(float(rows["len"].sum()) / mss)
    check_missing(what, max(held, len(fresh)), span / mss - held)
    repaired = np.flatnonzero(np.isin(rows["kind"], (Kind.AGAIN, Kind.FILLED)))
    covered = list(_pieces(rows["seq"][repaired], rows["len"][repaired]))
    starts = np.array([start for start, _ in covered])
    ends = np.array([end for _, end in covered])
    lost: list[bool] = []
    when: list[float] = []
    edge = 0.0
    for at in fresh:
        low, high = float(rows["seq"][at]), float(rows["seq"][at] + rows["len"][at])
        # Data missing below this segment was sent before it.
        for begin in np.arange(min(edge, low), high, mss):
            place = int(np.searchsorted(starts, begin, side="right")) - 1
            lost.append(bool(place >= 0 and begin < ends[place]))
            when.append(float(rows["time"][at]))
        edge = max(edge, high)
    return np.array(lost, dtype=bool), np.array(when)


def _pieces(starts: Array, lengths: Array) -> Iterator[tuple[float, float]]:
    """Yield the union of byte ranges as sorted disjoint ranges."""
    low = high = None
    for at in np.argsort(starts, kind="stable"):
        start, end = float(starts[at]), float(starts[at] + lengths[at])
        if high is None or low is None:
            low, high = start, end
        elif start <= high:
            high = max(high, end)
        else:
            yield low, high
            low, high = start, end
    if low is not None and high is not None:
        yield low, high


def _rate(way: Direction, least: float, wait: Array, mss: int) -> tuple[float, bool, list[str]]:
    """Return the slowest link's rate (data bytes/s), whether a queue was seen, and notes."""
    at_sender = way.place == "sender"
    if at_sender:
        # At the sender, the spacing of ACKs shows the spacing of data after the slowest link.
        time, amount = way.acks["time"], way.acks["covered"]
        amount = np.maximum.accumulate(amount) if len(amount) else amount
    else:
        time, amount = way.segments["time"], np.cumsum(way.segments["len"])
    if len(time) < 2 or amount[-1] <= amount[0]:
        raise ScenarioError("the capture shows no data that were acknowledged")
    span = max(least, 2 * _TRAIN * mss * (time[-1] - time[0]) / (amount[-1] - amount[0]))
    sustained = _fastest(time, amount, min(span, float(time[-1] - time[0])))
    queued = float(np.quantile(wait, 0.9)) * sustained > _SEEN * mss if len(wait) else False
    # A delayed ACK covers two or more segments.
    trains = _trains(time, amount, mss, least, _TRAIN // 2 - 1 if at_sender else _TRAIN)
    # If back-to-back segments are much faster than the ACKs, delayed ACKs cause the waiting time.
    if queued and (trains is None or trains < _DISTINCT * sustained):
        return sustained, True, []
    if trains is None:
        return sustained, False, []
    return max(trains, sustained), False, ["the rate is that of segments close behind each other"]


def _fastest(time: Array, amount: Array, span: float) -> float:
    """Return the 95 % quantile of the rate (bytes/s) over all intervals of `span` seconds."""
    if span <= 0:
        return float(amount[-1] - amount[0]) / 1e-6
    last = np.searchsorted(time, time + span, side="right") - 1
    whole = time + span <= time[-1]
    rates = (amount[last] - amount)[whole] / span
    return float(np.quantile(rates, 0.95)) if len(rates) else float(amount[-1] - amount[0]) / span


def _trains(time: Array, amount: Array, mss: int, least: float, rows: int) -> float | None:
    """Return the median rate (bytes/s) of trains of `rows` back-to-back arrivals."""
    if len(time) <= rows:
        return None
    took = time[rows:] - time[:-rows]
    moved = amount[rows:] - amount[:-rows]
    close = (took > 0) & (took < least / 4) & (moved >= _TRAIN * mss / 2)
    return float(np.median(moved[close] / took[close])) if close.sum() >= _TRAIN else None


def _to_a_full_queue(
    way: Direction, lost: Array, when: Array, longest: float, segment_s: float
) -> Array:
    """Return which lost segments met a full queue, as a mask."""
    rtt, least = way.rtt, way.least_rtt or 0.0
    if longest < _SEEN * segment_s or not len(rtt["time"]):
        return np.zeros(len(lost), dtype=bool)
    # At the sender an RTT is recorded when the ACK arrives, one full RTT after the segment.
    ahead = least + longest if way.place == "sender" else 0.0
    near = np.searchsorted(rtt["time"], when + ahead)
    window = max(len(rtt["time"]) // 200, 3)
    waits = np.array(
        [
            float(rtt["rtt"][max(at - window, 0) : at + window].max(initial=least)) - least
            if gone
            else 0.0
            for at, gone in zip(near, lost, strict=True)
        ]
    )
    return lost & (waits >= _FULL * longest)


def _paused(way: Direction, least: float) -> float:
    """Return the time without data in flight between the first and the last data segment (s)."""
    flight = way.flight
    inside = (flight["time"] >= way.since) & (flight["time"] <= way.until)
    time, value = flight["time"][inside], flight["flight"][inside]
    if len(time) < 2:
        return 0.0
    gaps = np.diff(time)
    idle = (value[:-1] <= 0) & (gaps > _IDLE * least)
    return float(gaps[idle].sum())
