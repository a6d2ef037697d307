"""Reader of pcap and pcapng files: frames, and the IP packets in them."""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from farlink.errors import ScenarioError

__all__ = ["Packet", "packets"]

# Link types (tcpdump.org, LINKTYPE_*). The offset of the IP header depends on them.
_NULL, _ETHERNET, _RAW, _LOOP, _SLL, _IPV4, _IPV6, _SLL2 = 0, 1, 101, 108, 113, 228, 229, 276
_RAW_OLD = (12, 14)
_VLAN = (0x8100, 0x88A8, 0x9100)
_PPPOE = 0x8864
_KNOWN = (_NULL, _ETHERNET, _RAW, _LOOP, _SLL, _IPV4, _IPV6, _SLL2, *_RAW_OLD)

# https://www.ietf.org/archive/id/draft-ietf-opsawg-pcap-06.html and ...-pcapng-04.html
_PCAP = {0xA1B2C3D4: 1000, 0xA1B23C4D: 1}
"""Unit (ns) of the sub-second field of a timestamp, by magic number."""
_SECTION, _INTERFACE, _OLD_PACKET, _SIMPLE, _ENHANCED = 0x0A0D0D0A, 1, 2, 3, 6
_ORDER = 0x1A2B3C4D
_RESOLUTION, _OFFSET = 9, 14

_LONGEST = 16 * 2**20
"""Largest record (bytes): a longer one is damaged, because no interface has such frames."""


@dataclass(frozen=True, slots=True)
class Packet:
    """IP packet: capture time, captured bytes from the IP header on, and original length."""

    time_ns: int
    data: bytes
    length: int

    @property
    def time(self) -> float:
        """Capture time in seconds since 1970."""
        return self.time_ns / 1e9

    @property
    def ends(self) -> tuple[bytes, bytes]:
        """Source and destination address."""
        if self.data[0] >> 4 == 4:
            return self.data[12:16], self.data[16:20]
        return self.data[8:24], self.data[24:40]

    @property
    def identity(self) -> bytes:
        """Bytes that routers do not change: the headers without TTL, DSCP, ECN and checksum."""
        data = self.data[:96]
        if data[0] >> 4 == 4:
            return data[:1] + data[2:8] + data[9:10] + data[12:]
        return data[4:7] + data[8:]


def packets(path: Path) -> Iterator[Packet]:
    """Yield the IP packets of a capture, and skip other frames.

    Raises
    ------
    ScenarioError
        If the file cannot be read, or is no pcap or pcapng file.
    """
    try:
        with path.open("rb") as file:
            for time_ns, kind, frame, length in _frames(_Input(path, file)):
                start = _network(frame, kind)
                if start is not None:
                    yield Packet(time_ns, frame[start:], max(length, len(frame)) - start)
    except OSError as error:
        raise ScenarioError(f"{path}: {(error.strerror or str(error)).lower()}") from error


Frame = tuple[int, int, bytes, int]
"""Capture time (ns), link type, captured bytes of the frame, and its length on the wire."""


class _Input:
    """Binary file read record by record; errors give the position of a truncated record."""

    def __init__(self, path: Path, file: BinaryIO) -> None:
        self.path, self._file = path, file

    def record(self, size: int) -> bytes | None:
        """Read `size` bytes; None at the end of the file."""
        data = self._file.read(size) if size <= _LONGEST else b"?"
        if not data and size:
            return None
        if len(data) < size:
            raise self._truncated()
        return data

    def rest(self, size: int) -> bytes:
        """Read `size` bytes; raise an error if the file ends before."""
        data = self.record(size) if size else b""
        if data is None:
            raise self._truncated()
        return data

    def _truncated(self) -> ScenarioError:
        return ScenarioError(
            f"{self.path}: damaged, or cut off within a packet near byte {self._file.tell()}; "
            "`editcap` writes its undamaged part to another file"
        )

    def refuse(self) -> ScenarioError:
        return ScenarioError(f"{self.path}: not a pcap or pcapng file, or a damaged one")


def _frames(file: _Input) -> Iterator[Frame]:
    head = file.record(4)
    if head is None or len(head) < 4:
        raise file.refuse()
    (little,), (big,) = struct.unpack("<I", head), struct.unpack(">I", head)
    if little == _SECTION:
        yield from _pcapng(file)
    elif little in _PCAP:
        yield from _pcap(file, "<", _PCAP[little])
    elif big in _PCAP:
        yield from _pcap(file, ">", _PCAP[big])
    else:
        raise file.refuse()


def _pcap(file: _Input, order: str, unit: int) -> Iterator[Frame]:
    (kind,) = struct.unpack(order + "16xI", file.rest(20))
    kind &= 0x0FFFFFFF  # Bits above these four have the length of the frame check sequence.
    _check_kind(file, kind)
    record = struct.Struct(order + "IIII")
    while (head := file.record(16)) is not None:
        seconds, fraction, kept, length = record.unpack(head)
        yield seconds * 10**9 + fraction * unit, kind, file.rest(kept), length


@dataclass(slots=True)
class _Interface:
    kind: int
    per_second: int = 10**6
    offset_s: int = 0


def _pcapng(file: _Input) -> Iterator[Frame]:
    order, interfaces = "<", list[_Interface]()
    kind, head = _SECTION, file.rest(4)
    while True:
        if kind == _SECTION:
            magic = file.rest(4)
            order = "<" if struct.unpack("<I", magic)[0] == _ORDER else ">"
            if struct.unpack(order + "I", magic)[0] != _ORDER:
                raise file.refuse()
            body, interfaces = _block(file, order, head, 12), []
            list(_options(file, order, body[12:]))
        else:
            body = _block(file, order, head, 8)
        if kind == _INTERFACE:
            interfaces.append(_interface(file, order, body))
        elif kind in (_ENHANCED, _OLD_PACKET):
            yield _packet(file, order, body, interfaces, kind)
        elif kind == _SIMPLE:
            raise ScenarioError(f"{file.path}: its packets have no times (Simple Packet Blocks)")
        start = file.record(8)
        if start is None:
            return
        kind, head = struct.unpack(order + "I", start[:4])[0], start[4:]


def _block(file: _Input, order: str, head: bytes, read: int) -> bytes:
    """Return the body of a pcapng block whose first `read` bytes have been read."""
    (length,) = struct.unpack(order + "I", head)
    if length < read + 4 or length % 4:
        raise file.refuse()
    body = file.rest(length - read)
    if body[-4:] != head:
        raise file.refuse()
    return body[:-4]


def _interface(file: _Input, order: str, body: bytes) -> _Interface:
    if len(body) < 8:
        raise file.refuse()
    result = _Interface(struct.unpack_from(order + "H", body)[0])
    for code, value in _options(file, order, body[8:]):
        if code == _RESOLUTION and len(value) == 1:
            result.per_second = 2 ** (value[0] & 127) if value[0] & 128 else 10 ** value[0]
        elif code == _OFFSET and len(value) == 8:
            (result.offset_s,) = struct.unpack(order + "q", value)
    return result


def _options(file: _Input, order: str, body: bytes) -> Iterator[tuple[int, bytes]]:
    at = 0
    while at + 4 <= len(body):
        code, length = struct.unpack_from(order + "HH", body, at)
        if code == 0:
            return
        if at + 4 + length > len(body):
            raise file.refuse()
        yield code, body[at + 4 : at + 4 + length]
        at += 4 + length + -length % 4


def _packet(
    file: _Input, order: str, body: bytes, interfaces: list[_Interface], kind: int
) -> Frame:
    if len(body) < 20:
        raise file.refuse()
    number, high, low, kept, length = struct.unpack_from(order + "IIIII", body)
    if kind == _OLD_PACKET:
        (number,) = struct.unpack_from(order + "H", body)
    if number >= len(interfaces) or kept > len(body) - 20:
        raise file.refuse()
    where = interfaces[number]
    _check_kind(file, where.kind)
    ticks = high << 32 | low
    time_ns = ticks * 10**9 // where.per_second + where.offset_s * 10**9
    return time_ns, where.kind, body[20 : 20 + kept], length


def _check_kind(file: _Input, kind: int) -> None:
    if kind not in _KNOWN:
        raise ScenarioError(
            f"{file.path}: link type {kind} is not read; convert it, for example with editcap -T"
        )


def _network(frame: bytes, kind: int) -> int | None:
    """Return the offset of the IP header in a frame; None if the frame carries no IP."""
    if kind == _ETHERNET:
        start = 14
        while len(frame) > start and int.from_bytes(frame[start - 2 : start]) in _VLAN:
            start += 4
        if int.from_bytes(frame[start - 2 : start]) == _PPPOE:
            start += 8
    elif kind in (_NULL, _LOOP):
        start = 4
    elif kind == _SLL:
        start = 16
    elif kind == _SLL2:
        start = 20
    else:
        start = 0
    kept = len(frame) - start
    version = frame[start] >> 4 if kept > 0 else 0
    return start if (version == 4 and kept >= 20) or (version == 6 and kept >= 40) else None
