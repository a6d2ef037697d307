"""An end of a connection, replayed from the capture at its host.

A capture at a host shows all packets that an end of a connection knew. The data that the end held
and the ACKs that it owed therefore follow from the capture alone. Positions count from the SYN of
the peer or of the host itself; the SYN is position 0.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from .reader import ACK, FIN, SYN, Packet

_MODULUS = 2**32


@dataclass(frozen=True, slots=True)
class Connection:
    """The packets of one connection in the capture at one of its hosts."""

    packets: Sequence[Packet]
    host: str
    """Address of the host."""

    def left(self) -> Iterator[Packet]:
        """Return the segments that the host sent."""
        return (packet for packet in self.packets if packet.src == self.host)

    def arrived(self) -> Iterator[Packet]:
        """Return the segments that the host got and its checksum accepted."""
        return (p for p in self.packets if p.src != self.host and not p.damaged)

    def sent_from(self) -> int:
        """Initial sequence number of the host."""
        return next(packet.seq for packet in self.left() if packet.flags & SYN)

    def got_from(self) -> int:
        """Initial sequence number of the peer."""
        return next(packet.seq for packet in self.arrived() if packet.flags & SYN)

    def syns(self) -> tuple[Packet, Packet]:
        """Return the first SYN of the host and the first SYN of its peer."""
        own = next(packet for packet in self.left() if packet.flags & SYN)
        return own, next(packet for packet in self.arrived() if packet.flags & SYN)


def offset(seq: int, start: int) -> int:
    """Position of a sequence number after `start`, in a stream below 2 GiB."""
    ahead = (seq - start) % _MODULUS
    return ahead - _MODULUS if ahead >= _MODULUS // 2 else ahead


@dataclass(slots=True)
class Receiver:
    """Data that an end holds of its peer's stream, updated with each packet that arrives."""

    isn: int
    reassembly: bool
    timestamps: bool
    nxt: int = 0
    ranges: list[tuple[int, int]] = field(default_factory=list)
    latest: int | None = None
    """Start of the newest segment that arrived out of order."""
    recent: int | None = None
    """TS.Recent of RFC 7323."""
    acknowledged: int = 0
    """Position up to which the end has acknowledged."""

    def take(self, packet: Packet) -> bool:
        """Process a packet, and return whether it brought new data in order."""
        start = offset(packet.seq, self.isn)
        if self.timestamps and packet.tsval is not None:
            if self.recent is not None and packet.tsval < self.recent and not packet.flags & SYN:
                return False
            # Only acceptable segments, so no duplicates, set TS.Recent (RFC 7323, 5.3, R2 and R3).
            fresh = start + packet.space > self.nxt if packet.space else start >= self.nxt
            if self.recent is None or (fresh and start <= self.acknowledged):
                self.recent = packet.tsval
        end = start + packet.space
        if end <= self.nxt or packet.space == 0:
            return False
        if start > self.nxt:
            if self.reassembly:
                self._park(start, end)
                self.latest = start
            return False
        self.nxt = end
        while self.ranges and self.ranges[0][0] <= self.nxt:
            self.nxt = max(self.nxt, self.ranges.pop(0)[1])
        return True

    def _park(self, start: int, end: int) -> None:
        apart = [item for item in self.ranges if item[1] < start or item[0] > end]
        joined = [item for item in self.ranges if not (item[1] < start or item[0] > end)]
        low = min([start, *(entry[0] for entry in joined)])
        high = max([end, *(entry[1] for entry in joined)])
        self.ranges = sorted([*apart, (low, high)])


def replay(
    connection: Connection, *, reassembly: bool, timestamps: bool
) -> Iterator[tuple[Packet, Receiver]]:
    """Yield each packet that passed the host, and the receiver's state right after it."""
    receiver = Receiver(connection.got_from(), reassembly, timestamps)
    for packet in connection.packets:
        if packet.src == connection.host:
            yield packet, receiver
            if packet.flags & ACK:
                receiver.acknowledged = offset(packet.ack, receiver.isn)
        elif not packet.damaged:
            receiver.take(packet)
            yield packet, receiver


def data_end(connection: Connection) -> int:
    """Position after the last byte of data that the host ever sent."""
    isn = connection.sent_from()
    return max((offset(p.seq, isn) + p.len for p in connection.left() if p.len), default=1)


def retransmissions(connection: Connection) -> list[Packet]:
    """Packets with data below the highest position that the host had sent before."""
    isn, high, result = connection.sent_from(), 0, []
    for packet in connection.left():
        start = offset(packet.seq, isn)
        if packet.len and start < high:
            result.append(packet)
        high = max(high, start + packet.space)
    return result


def ends(connection: Connection) -> bool:
    """Return whether both ends sent a FIN."""
    return len({p.src for p in connection.packets if p.flags & FIN}) == 2
