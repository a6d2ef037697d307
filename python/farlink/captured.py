"""Segments, ACKs and SACK blocks of a TCP connection in a capture of an emulation."""

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from farlink.errors import ScenarioError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["COLUMNS", "HEADERS", "tables"]

COLUMNS = {
    "segments": ("time", "seq", "len", "retransmission"),
    "acks": ("time", "ack", "window"),
    "sacks": ("time", "left", "right"),
}
"""Traces that are in a capture, and their columns."""

HEADERS = 120
"""Bytes of a packet that hold its longest IPv4 and TCP headers."""

_START_NS = 86_400 * 10**9
_SECTION, _PACKET = 0x0A0D0D0A, 6
_TCP = 6
_SYN, _ACK = 2, 16
_HALF, _WHOLE = 2**31, 2**32


@dataclass
class _Stream:
    """One direction: what was sent, relative to the SYN, in bytes from 0."""

    first: int | None = None
    highest: int = 0
    shift: int = 0
    segments: list[tuple[float, int, int, bool]] = field(default_factory=list)
    acks: list[tuple[float, int, int]] = field(default_factory=list)
    sacks: list[tuple[float, int, int]] = field(default_factory=list)


def tables(
    path: Path, sender: str, connection: tuple[int, str, int] | None = None
) -> "dict[str, pd.DataFrame]":
    """Return the traces `segments`, `acks` and `sacks` of what the host of this address sent.

    Of the connection with this port here, and this address and port there; without it of the one
    that carries the most data. Columns and units are those of a simulated
    run; times are those of the capture's host.

    Raises
    ------
    ScenarioError
        If the file is no capture of an emulation.
    """
    import pandas as pd

    streams: dict[tuple[int, str, int], _Stream] = {}
    for time, packet in _packets(path):
        _take(streams, sender, time, packet)
    if connection is not None:
        best = streams.get(connection, _Stream())
    else:
        best = max(streams.values(), key=lambda one: one.highest, default=_Stream())
    return {
        name: pd.DataFrame(getattr(best, name), columns=list(columns))
        for name, columns in COLUMNS.items()
    }


def _take(
    streams: dict[tuple[int, str, int], _Stream], sender: str, time: float, packet: bytes
) -> None:
    header = 4 * (packet[0] & 15)
    length = int.from_bytes(packet[2:4], "big")
    fragment = int.from_bytes(packet[6:8], "big") & 0x1FFF
    if packet[9] != _TCP or fragment or len(packet) < header + 20:
        return
    source, target = (".".join(map(str, packet[at : at + 4])) for at in (12, 16))
    near, far, seq, ack, offset, flags, window = struct.unpack_from("!HHIIBBH", packet, header)
    size = length - header - 4 * (offset >> 4)
    options = packet[header + 20 : header + 4 * (offset >> 4)]
    if source == sender:
        stream = streams.setdefault((near, target, far), _Stream())
        if flags & _SYN or stream.first is None:
            stream.first = seq + 1 if flags & _SYN else seq
        if size > 0:
            start = stream.highest + _signed(seq - stream.first - stream.highest)
            again = start < stream.highest
            stream.segments.append((time, start, size, again))
            stream.highest = max(stream.highest, start + size)
    elif target == sender:
        stream = streams.setdefault((far, source, near), _Stream())
        known = dict(_options(options))
        if flags & _SYN:
            stream.shift = known.get(3, b"\0")[0]
        elif flags & _ACK and stream.first is not None:
            acked = stream.highest + _signed(ack - stream.first - stream.highest)
            stream.acks.append((time, acked, window << stream.shift))
            edges = known.get(5, b"")
            for at in range(0, len(edges) - 7, 8):
                left, right = (
                    stream.highest + _signed(edge - stream.first - stream.highest)
                    for edge in struct.unpack_from("!II", edges, at)
                )
                stream.sacks.append((time, left, right))


def _signed(difference: int) -> int:
    """Take a difference of sequence numbers for what it is, whatever wrapped."""
    return (difference + _HALF) % _WHOLE - _HALF


def _options(data: bytes) -> Iterator[tuple[int, bytes]]:
    at = 0
    while at < len(data) and data[at] != 0:
        if data[at] == 1:
            at += 1
            continue
        length = data[at + 1] if at + 1 < len(data) else 0
        if length < 2:
            return
        yield data[at], data[at + 2 : at + length]
        at += length


def _packets(path: Path) -> Iterator[tuple[float, bytes]]:
    """Yield time of the run in seconds and bytes of each packet."""
    data = path.read_bytes()
    at = 0
    while at + 12 <= len(data):
        kind, length = struct.unpack_from("<II", data, at)
        if (at == 0 and kind != _SECTION) or length < 12 or length % 4:
            raise ScenarioError(f"{path}: not a capture that farlink wrote")
        if kind == _PACKET and at + length <= len(data):
            high, low, kept = struct.unpack_from("<III", data, at + 12)
            packet = data[at + 28 : at + 28 + kept]
            if len(packet) >= 20:
                yield ((high << 32 | low) - _START_NS) / 1e9, packet
        at += length
