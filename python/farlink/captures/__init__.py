"""TCP connections of a capture: their segments, ACKs, round trips and handshakes."""

import importlib
import ipaddress
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from farlink.captures.counted import measures
from farlink.captures.direction import Acknowledgment, Direction, Half, Sent, build
from farlink.captures.file import packets
from farlink.captures.segment import ACK, FIN, RST, SYN, Ends, Segment, parse
from farlink.errors import ScenarioError

if TYPE_CHECKING:
    import pandas as pd

    from farlink.plot.capture import CapturePlots

__all__ = ["Capture", "Connection", "capture"]


def __getattr__(name: str) -> Any:  # noqa: ANN401 (whatever is asked for)
    if name != "path":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    # Imported on first use, because farlink.captures.path imports this module.
    return importlib.import_module(f"{__name__}.path")


_REMEMBERED = 50_000
"""Number of packets within which another packet with equal headers counts as a copy."""


@dataclass
class _Reading:
    """State of a connection while its capture is read; `ends` are the opener and the responder."""

    ends: Ends
    start: float
    last: float
    halves: tuple[Half, Half] = field(default_factory=lambda: (Half(), Half()))
    first_sequence: int | None = None
    syn: list[float] = field(default_factory=list)
    syn_ack: list[float] = field(default_factory=list)
    answer: float | None = None
    reset: bool = False
    finished: int = 0
    probes: int = 0


@dataclass(frozen=True)
class Connection:
    """TCP connection; "a2b" in `directions` is the data of the opener, "b2a" of the responder."""

    number: int
    opener: str
    responder: str
    start_ns: int
    """Time of the first packet (ns since 1970)."""
    duration: float
    directions: dict[str, Direction]
    opened: bool
    """Whether the capture contains a SYN."""
    ending: str
    """"reset", "closed" (a FIN from both ends) or "open"."""
    notes: tuple[str, ...]

    @property
    def name(self) -> str:
        """Number of the connection, and the addresses of its ends."""
        return f"{self.number}: {self.opener} - {self.responder}"

    @property
    def main(self) -> str:
        """Name of the direction with the most data."""
        return max(self.directions, key=lambda name: self.directions[name].bytes)


class Capture:
    """TCP connections of a capture; `connections` are sorted by bytes of data, largest first."""

    def __init__(self, path: Path, connections: list[Connection], notes: list[str]) -> None:
        self.path = path
        self.connections = connections
        self.notes = notes

    def __repr__(self) -> str:
        return f"<farlink.Capture {self.path.name}: {len(self.connections)} TCP connections>"

    def _repr_html_(self) -> str:
        """Return the HTML that notebooks show: the table that the command prints."""
        from farlink.views import page
        from farlink.views.capture import show

        return page.as_html(lambda out: show(self, out))

    def connection(self, number: int | None = None) -> Connection:
        """Return a connection by its number in the capture (from 1), by default the largest."""
        if number is None:
            return self.connections[0]
        for item in self.connections:
            if item.number == number:
                return item
        raise ScenarioError(
            f"{self.path}: connection {number} is not there; it has 1 to {len(self.connections)}"
        )

    @property
    def summary(self) -> "pd.DataFrame":
        """Table with a row per connection and direction with data (s, bytes, bit/s)."""
        import pandas as pd

        rows = [
            {"connection": connection.number, "direction": name, **measures(connection, name)}
            for connection in self.connections
            for name, direction in connection.directions.items()
            if direction.bytes
        ]
        return pd.DataFrame(rows)

    @cached_property
    def plot(self) -> "CapturePlots":
        """Figures: `.sequence()`, `.rtt()`, `.throughput()`, `.flight()`."""
        from farlink.plot.capture import CapturePlots

        return CapturePlots(self)


def capture(path: str | Path) -> Capture:
    """Read the TCP connections of a pcap or pcapng file.

    Parameters
    ----------
    path
        Capture of Ethernet (also with VLAN tags or PPPoE), raw IP, Linux "any" or loopback, with
        IPv4 or IPv6. Packets may be truncated after the TCP header.

    Raises
    ------
    ScenarioError
        If the file cannot be read, or has no TCP connection.

    Examples
    --------
    >>> seen = fl.capture("download.pcapng")  # doctest: +SKIP
    >>> seen.plot.sequence().savefig("sequence.pdf")  # doctest: +SKIP
    """
    where, segments, origin_ns = Path(path), list[Segment](), None
    for packet in packets(where):
        origin_ns = packet.time_ns if origin_ns is None else origin_ns
        segment = parse(packet, origin_ns)
        if segment is not None:
            segments.append(segment)
    return of_segments(where, segments, origin_ns or 0)


def of_segments(where: Path, segments: Iterable[Segment], origin_ns: int) -> Capture:
    """Sort segments into connections; segment times are in seconds since `origin_ns`."""
    known: dict[Ends, _Reading] = {}
    readings: list[_Reading] = []
    recent, older, copies = set[int](), set[int](), 0
    for segment in sorted(segments, key=lambda item: item.time):
        if segment.identity:
            key = hash((segment.flow, segment.identity, segment[2:7], segment.stamp))
            if key in recent or key in older:
                copies += 1
                continue
            recent.add(key)
            if len(recent) > _REMEMBERED:
                recent, older = set(), recent
        reading = _reading(known, readings, segment)
        _take(reading, segment)
    if not readings:
        raise ScenarioError(f"{where}: holds no TCP connection")
    connections = [_connection(number, item, origin_ns) for number, item in enumerate(readings, 1)]
    connections.sort(key=lambda item: -max(way.bytes for way in item.directions.values()))
    notes = []
    if copies:
        notes.append(
            f"{copies:,} copies of packets are left out: captured at two interfaces, or doubled "
            "on their way"
        )
    return Capture(where, connections, notes)


def _reading(known: dict[Ends, _Reading], readings: list[_Reading], segment: Segment) -> _Reading:
    """Return the connection of a segment; a SYN with a new sequence number opens a new one."""
    back: Ends = (segment.flow[1], segment.flow[0], segment.flow[3], segment.flow[2])
    entry = known.get(segment.flow) or known.get(back)
    opens = segment.flags & (SYN | ACK) == SYN
    again = entry is not None and entry.first_sequence in (None, segment.sequence)
    if entry is None or (opens and (not again or (entry.first_sequence is None and _used(entry)))):
        # The opener sends the SYN or gets the SYN+ACK. Without either, the first segment's sender
        # is treated as the opener.
        opener = back if segment.flags & (SYN | ACK) == SYN | ACK else segment.flow
        entry = _Reading(opener, segment.time, segment.time)
        known.pop(back, None)
        known[segment.flow] = entry
        readings.append(entry)
    if opens:
        entry.first_sequence = segment.sequence
    entry.last = max(entry.last, segment.time)
    return entry


def _used(reading: _Reading) -> bool:
    return any(half.sent or half.acknowledgments for half in reading.halves)


def _take(reading: _Reading, segment: Segment) -> None:
    side = 0 if segment.flow == reading.ends else 1
    mine, theirs = reading.halves[side], reading.halves[1 - side]
    start = segment.sequence
    if segment.flags & SYN:
        (reading.syn_ack if segment.flags & ACK else reading.syn).append(segment.time)
        mine.syns += 1
        mine.shift, mine.mss, mine.sack = segment.scale, segment.mss, segment.sack_permitted
        start += 1
        if mine.base is None:
            mine.base = start % 2**32
    elif side == 0 and reading.syn_ack and reading.answer is None and segment.flags & ACK:
        reading.answer = segment.time
    reading.reset |= bool(segment.flags & RST)
    reading.finished |= (1 + side) * bool(segment.flags & FIN)
    if segment.stamp is not None and segment.stamp[0] not in mine.stamps:
        mine.stamps[segment.stamp[0]] = segment.time
    if segment.length and not segment.flags & RST:
        at = mine.place(start)
        if segment.length == 1 and at < mine.edge and _told(mine) >= at + 1:
            reading.probes += 1  # This is a keep-alive: it repeats the last byte (RFC 9293, 3.8.4).
        else:
            mine.sent.append(Sent(segment.time, at, segment.length, segment.stamp))
            mine.edge = max(mine.edge, at + segment.length)
            if segment.stamp is not None and segment.stamp[1] not in mine.echoes:
                mine.echoes[segment.stamp[1]] = segment.time
    if segment.flags & ACK and not segment.flags & (SYN | RST):
        at = theirs.place(segment.ack)
        blocks = tuple((theirs.place(a), theirs.place(b)) for a, b in segment.sacks)
        theirs.acknowledgments.append(
            Acknowledgment(segment.time, at, segment.window, segment.stamp, blocks)
        )
        theirs.edge = max(theirs.edge, at)


def _told(half: Half) -> int:
    return half.acknowledgments[-1].ack if half.acknowledgments else 0


def _connection(number: int, reading: _Reading, origin_ns: int) -> Connection:
    first, second = (
        _address(reading.ends[0], reading.ends[2]),
        _address(reading.ends[1], reading.ends[3]),
    )
    out, back = _handshake(reading)
    notes = []
    if not reading.halves[0].syns and not reading.halves[1].syns:
        notes.append(
            "no handshake in the capture: windows are drawn with the least scale that what was "
            "sent needs"
        )
    if reading.probes:
        notes.append(f"{reading.probes:,} keep-alives are left out")
    for half in reading.halves:
        # Times are made relative to the connection's first packet, offsets to the first byte seen.
        _shift(half, reading.start)
    directions = {
        "a2b": build((first, second), reading.halves[0], reading.halves[1], (out, back)),
        "b2a": build((second, first), reading.halves[1], reading.halves[0], (back, out)),
    }
    for way in directions.values():
        most = float(way.segments["len"].max(initial=0))
        if way.mss and most > way.mss:
            notes.append(
                f"segments of up to {most:,.0f} B from {way.sender}: the card cuts or joins them "
                f"(offload), those on the wire have {way.mss:,} B at most"
            )
    ending = "reset" if reading.reset else "closed" if reading.finished == 3 else "open"
    return Connection(
        number,
        first,
        second,
        origin_ns + round(1e9 * reading.start),
        reading.last - reading.start,
        directions,
        bool(reading.syn or reading.syn_ack),
        ending,
        tuple(notes),
    )


def _shift(half: Half, start: float) -> None:
    first = 0 if half.syns else min([segment.at for segment in half.sent], default=0)
    for segment in half.sent:
        segment.time -= start
        segment.at -= first
    for item in half.acknowledgments:
        item.time -= start
        item.ack -= first
        item.sacks = tuple((a - first, b - first) for a, b in item.sacks)
    for stamps in (half.stamps, half.echoes):
        for value in stamps:
            stamps[value] -= start


def _handshake(reading: _Reading) -> tuple[float | None, float | None]:
    """Return the handshake's round trips from the capture point to the responder and the opener.

    None after a retransmitted SYN or SYN+ACK, because the reply is then ambiguous.
    """
    out = reading.syn_ack[0] - reading.syn[0] if len(reading.syn) == 1 and reading.syn_ack else None
    back = None
    if len(reading.syn_ack) == 1 and reading.answer is not None:
        back = reading.answer - reading.syn_ack[0]
    return out, back


def _address(address: bytes, port: int) -> str:
    host = ipaddress.ip_address(address)
    return f"[{host}]:{port}" if host.version == 6 else f"{host}:{port}"
