"""IP packets out of pcap and pcapng files."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from farlink.errors import ScenarioError

__all__ = ["Packet", "Segment", "read_packets", "segment"]

# Link types (tcpdump.org, LINKTYPE_*) and where the IP header begins in each.
_NULL, _ETHERNET, _RAW, _LOOP, _SLL, _IPV4, _IPV6, _SLL2 = 0, 1, 101, 108, 113, 228, 229, 276
_RAW_OLD = (12, 14)
_VLAN = (0x8100, 0x88A8)
_TCP = 6


@dataclass(frozen=True, slots=True)
class Packet:
    """An IP packet: when it was captured, in seconds, and its bytes from the IP header on."""

    time: float
    data: bytes

    @property
    def ends(self) -> tuple[bytes, bytes]:
        """Addresses of source and destination."""
        if self.data[0] >> 4 == 4:
            return self.data[12:16], self.data[16:20]
        return self.data[8:24], self.data[24:40]

    @property
    def identity(self) -> bytes:
        """What stays the same on the way: all but TTL, DSCP, ECN and header checksum."""
        data = self.data[:96]
        if data[0] >> 4 == 4:
            return data[:1] + data[2:8] + data[9:10] + data[12:]
        return data[4:7] + data[8:]


@dataclass(frozen=True, slots=True)
class Segment:
    """A TCP segment with data, or one that opens a connection."""

    time: float
    flow: tuple[bytes, bytes, int, int]
    sequence: int
    length: int
    flags: int


def read_packets(path: Path) -> Iterator[Packet]:
    """Read the IP packets of a capture; other frames are passed over.

    Raises
    ------
    ScenarioError
        If the file cannot be read, or is no pcap or pcapng file.
    """
    import dpkt

    try:
        with path.open("rb") as file:
            reader = dpkt.pcap.UniversalReader(_Whole(path, file))
            kind = reader.datalink()
            _check_kind(path, kind)
            for time, frame in reader:
                data = _network(frame, kind)
                if data is not None:
                    yield Packet(float(time), data)
    except ScenarioError:
        raise
    except OSError as error:
        raise ScenarioError(f"{path}: {(error.strerror or str(error)).lower()}") from error
    except (ValueError, dpkt.UnpackError) as error:
        raise ScenarioError(f"{path}: not a pcap or pcapng file, or a damaged one") from error


def _check_kind(path: Path, kind: int) -> None:
    if kind not in (_NULL, _ETHERNET, _RAW, _LOOP, _SLL, _IPV4, _IPV6, _SLL2, *_RAW_OLD):
        raise ScenarioError(
            f"{path}: link type {kind} is not read; convert it, for example with editcap -T"
        )


class _Whole:
    """A file that says where it ends within a record, which the reader would take as it is."""

    def __init__(self, path: Path, file: BinaryIO) -> None:
        self._path, self._file = path, file
        self.name = file.name

    def read(self, size: int = -1) -> bytes:
        data = self._file.read(size)
        if 0 < len(data) < size:
            raise ScenarioError(
                f"{self._path}: damaged, or cut off within a packet near byte {self._file.tell()}; "
                "`editcap` writes what is whole of it to another file"
            )
        return data

    def tell(self) -> int:
        return self._file.tell()

    def seek(self, at: int, whence: int = 0) -> int:
        return self._file.seek(at, whence)


def _network(frame: bytes, kind: int) -> bytes | None:
    """Return a frame from its IP header on; None if it carries no IP."""
    if kind == _ETHERNET:
        start = 14
        while len(frame) > start and int.from_bytes(frame[start - 2 : start]) in _VLAN:
            start += 4
    elif kind in (_NULL, _LOOP):
        start = 4
    elif kind == _SLL:
        start = 16
    elif kind == _SLL2:
        start = 20
    else:
        start = 0
    data = frame[start:]
    version = data[0] >> 4 if data else 0
    if (version == 4 and len(data) >= 20) or (version == 6 and len(data) >= 40):
        return data
    return None


def segment(packet: Packet) -> Segment | None:
    """Return the TCP segment of a packet; None if it carries none or is cut before its header."""
    data = packet.data
    if data[0] >> 4 == 4:
        header, whole = 4 * (data[0] & 15), int.from_bytes(data[2:4])
        fragment = int.from_bytes(data[6:8]) & 0x1FFF
        protocol = data[9]
    else:
        header, whole, fragment, protocol = 40, 40 + int.from_bytes(data[4:6]), 0, data[6]
    if protocol != _TCP or fragment or len(data) < header + 20:
        return None
    tcp = data[header:]
    length = whole - header - 4 * (tcp[12] >> 4)
    ports = int.from_bytes(tcp[0:2]), int.from_bytes(tcp[2:4])
    return Segment(
        packet.time, (*packet.ends, *ports), int.from_bytes(tcp[4:8]), max(length, 0), tcp[13]
    )
