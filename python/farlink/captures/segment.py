"""Parser of TCP headers, also for packets with truncated data."""

import struct
from typing import NamedTuple

from farlink.captures.file import Packet

__all__ = ["ACK", "FIN", "RST", "SYN", "Ends", "Segment", "parse"]

FIN, SYN, RST, ACK = 1, 2, 4, 16

Ends = tuple[bytes, bytes, int, int]
"""Source address, destination address, source port, destination port."""

_TCP, _FRAGMENT = 6, 44
_EXTENSIONS = (0, 43, 60)
"""Extension headers before TCP: hop-by-hop, routing, destination options (RFC 8200, 4)."""

_LONGEST = 2**20
"""Largest packet (bytes): a longer one is damaged; `gso_max_size` of Linux is 512 KiB at most."""

_FIXED = struct.Struct("!HHIIBBH")
_OPTIONS = {2: 2, 3: 1, 4: 0, 8: 8}
"""Lengths (bytes) of fixed-size options: MSS, window scale, SACK permitted, timestamps."""


class Segment(NamedTuple):
    """Header fields of a TCP segment; `length` is the number of its data bytes."""

    time: float
    flow: Ends
    sequence: int
    length: int
    flags: int
    ack: int
    window: int
    identity: int
    """IPv4 identification; 0 for IPv6."""
    mss: int | None
    scale: int | None
    sack_permitted: bool
    stamp: tuple[int, int] | None
    """(TSval, TSecr) of the timestamps option (RFC 7323); None without it."""
    sacks: tuple[tuple[int, int], ...]


def parse(packet: Packet, origin_ns: int = 0) -> Segment | None:
    """Return the TCP segment of a packet; None without TCP or with truncated headers.

    The time is in seconds since `origin_ns`, because a float since 1970 has no nanoseconds.
    """
    data = packet.data
    identity = 0
    if data[0] >> 4 == 4:
        start, whole = 4 * (data[0] & 15), int.from_bytes(data[2:4])
        if data[9] != _TCP or start < 20 or int.from_bytes(data[6:8]) & 0x1FFF:
            return None
        identity = int.from_bytes(data[4:6])
    else:
        result = _after_extensions(data)
        if result is None:
            return None
        start, payload = result, int.from_bytes(data[4:6])
        whole = 40 + payload if payload else 0
    if len(data) < start + 20:
        return None
    # A length of 0 marks a packet that the network card later cuts into segments (TSO).
    whole = whole or packet.length
    if whole > _LONGEST:
        return None
    near, far, sequence, ack, offset, flags, window = _FIXED.unpack_from(data, start)
    header = 4 * (offset >> 4)
    if header < 20 or whole < start + header:
        return None
    mss, scale, permitted, stamp, sacks = _read_options(data[start + 20 : start + header])
    return Segment(
        (packet.time_ns - origin_ns) / 1e9,
        (*packet.ends, near, far),
        sequence,
        whole - start - header,
        flags,
        ack,
        window,
        identity,
        mss,
        scale,
        permitted,
        stamp,
        sacks,
    )


def _after_extensions(data: bytes) -> int | None:
    """Return the offset of the TCP header in an IPv6 packet; None without a captured TCP header."""
    kind, at = data[6], 40
    while kind != _TCP:
        if kind == _FRAGMENT and at + 8 <= len(data):
            if int.from_bytes(data[at + 2 : at + 4]) & 0xFFF8:
                return None
            kind, at = data[at], at + 8
        elif kind in _EXTENSIONS and at + 8 <= len(data):
            kind, at = data[at], at + 8 * (data[at + 1] + 1)
        else:
            return None
    return at


def _read_options(
    data: bytes,
) -> tuple[int | None, int | None, bool, tuple[int, int] | None, tuple[tuple[int, int], ...]]:
    mss = scale = stamp = None
    permitted = False
    sacks: tuple[tuple[int, int], ...] = ()
    at = 0
    while at < len(data) and data[at] != 0:
        kind = data[at]
        if kind == 1:
            at += 1
            continue
        length = data[at + 1] if at + 1 < len(data) else 0
        value = data[at + 2 : at + length]
        if length < 2 or at + length > len(data) or len(value) != _OPTIONS.get(kind, len(value)):
            break  # The option is truncated or damaged; earlier options remain valid.
        if kind == 2:
            mss = int.from_bytes(value)
        elif kind == 3:
            scale = min(value[0], 14)  # RFC 7323, 2.3
        elif kind == 4:
            permitted = True
        elif kind == 5:
            edges = struct.unpack(f"!{len(value) // 8 * 2}I", value[: len(value) // 8 * 8])
            sacks = tuple(zip(edges[::2], edges[1::2], strict=True))
        elif kind == 8:
            stamp = struct.unpack("!II", value)
        at += length
    return mss, scale, permitted, stamp, sacks
