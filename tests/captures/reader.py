"""Reader of captures that uses tshark and tcptrace instead of farlink's own reader."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

TSHARK = shutil.which("tshark")
TCPTRACE = shutil.which("tcptrace")

needs_tshark = pytest.mark.skipif(
    TSHARK is None, reason="tshark is not installed (Debian, Ubuntu: apt install tshark)"
)
needs_tcptrace = pytest.mark.skipif(
    TCPTRACE is None, reason="tcptrace is not installed (Debian, Ubuntu: apt install tcptrace)"
)

START_NS = 86_400 * 10**9
"""Time on the clock of a capture when the run starts."""

_FIELDS = (
    "frame.time_epoch",
    "frame.protocols",
    "frame.cap_len",
    "ip.len",
    "ip.src",
    "ip.dst",
    "ip.id",
    "ip.ttl",
    "ip.flags",
    "ip.checksum.status",
    "tcp.srcport",
    "tcp.dstport",
    "tcp.seq_raw",
    "tcp.ack_raw",
    "tcp.len",
    "tcp.flags",
    "tcp.window_size_value",
    "tcp.checksum.status",
    "tcp.options.mss_val",
    "tcp.options.wscale.shift",
    "tcp.options.sack_perm",
    "tcp.options.timestamp.tsval",
    "tcp.options.timestamp.tsecr",
    "tcp.options.sack_le",
    "tcp.options.sack_re",
    "tcp.analysis.retransmission",
    "tcp.analysis.fast_retransmission",
    "tcp.analysis.spurious_retransmission",
    "tcp.analysis.out_of_order",
    "_ws.expert.message",
)

FIN, SYN, RST, PSH, ACK = 0x01, 0x02, 0x04, 0x08, 0x10


@dataclass(frozen=True, slots=True)
class Packet:
    """Packet as tshark prints it: raw fields, and tshark's analysis of the packet."""

    time: int
    """Nanoseconds since the start of the run."""
    protocols: str
    captured: int
    ip_len: int
    src: str
    dst: str
    ident: int
    ttl: int
    ip_flags: int
    ip_sum: str
    src_port: int
    dst_port: int
    seq: int
    ack: int
    len: int
    flags: int
    window: int
    tcp_sum: str
    mss: int | None
    shift: int | None
    sack_permitted: bool
    tsval: int | None
    tsecr: int | None
    sack: tuple[tuple[int, int], ...]
    again: bool
    """Whether tshark calls the packet a retransmission of some kind."""
    out_of_order: bool
    """Whether tshark calls it out of order, its name for a retransmission that comes too soon."""
    expert: tuple[str, ...]

    @property
    def damaged(self) -> bool:
        return self.tcp_sum == BAD

    @property
    def space(self) -> int:
        """Return the length of the packet in sequence numbers."""
        return self.len + bool(self.flags & SYN) + bool(self.flags & FIN)


BAD, GOOD, UNVERIFIED = "0", "1", "2"
"""Values of tshark's checksum status; UNVERIFIED also stands for a packet that was cut."""


# An empty folder of capture programs: tshark starts each such program before it reads a file.
_ENVIRONMENT = {**os.environ, "WIRESHARK_EXTCAP_DIR": os.devnull}


def packets(path: Path) -> list[Packet]:
    """Return every packet of a capture in file order; fail if the file is truncated."""
    assert TSHARK is not None
    command = [TSHARK, "-n", "-r", str(path), "-T", "fields", "-E", "aggregator=|"]
    # SACK blocks have no raw field; without this option they are relative.
    absolute = "tcp.relative_sequence_numbers:FALSE"
    for preference in ("ip.check_checksum:TRUE", "tcp.check_checksum:TRUE", absolute):
        command += ["-o", preference]
    for field in _FIELDS:
        command += ["-e", field]
    done = subprocess.run(command, env=_ENVIRONMENT, capture_output=True, text=True, check=True)
    # The only allowed message is a warning against running tshark as root.
    complaints = [line for line in done.stderr.splitlines() if "Running as user" not in line]
    assert [line for line in complaints if line] == []
    return [_packet(line.split("\t")) for line in done.stdout.splitlines()]


def _packet(row: list[str]) -> Packet:
    values = dict(zip(_FIELDS, row, strict=True))

    def number(field: str) -> int:
        return int(values[field], 0)

    def optional(field: str) -> int | None:
        return int(values[field], 0) if values[field] else None

    def listed(field: str) -> list[int]:
        return [int(word) for word in values[field].split("|") if word]

    seconds, nanoseconds = values["frame.time_epoch"].split(".")
    again = ("retransmission", "fast_retransmission", "spurious_retransmission")
    return Packet(
        time=int(seconds) * 10**9 + int(nanoseconds.ljust(9, "0")) - START_NS,
        protocols=values["frame.protocols"],
        captured=number("frame.cap_len"),
        ip_len=number("ip.len"),
        src=values["ip.src"],
        dst=values["ip.dst"],
        ident=number("ip.id"),
        ttl=number("ip.ttl"),
        ip_flags=number("ip.flags"),
        ip_sum=values["ip.checksum.status"],
        src_port=number("tcp.srcport"),
        dst_port=number("tcp.dstport"),
        seq=number("tcp.seq_raw"),
        ack=number("tcp.ack_raw"),
        len=number("tcp.len"),
        flags=number("tcp.flags"),
        window=number("tcp.window_size_value"),
        tcp_sum=values["tcp.checksum.status"],
        mss=optional("tcp.options.mss_val"),
        shift=optional("tcp.options.wscale.shift"),
        sack_permitted=bool(values["tcp.options.sack_perm"]),
        tsval=optional("tcp.options.timestamp.tsval"),
        tsecr=optional("tcp.options.timestamp.tsecr"),
        sack=tuple(zip(listed("tcp.options.sack_le"), listed("tcp.options.sack_re"), strict=True)),
        again=any(values[f"tcp.analysis.{kind}"] for kind in again),
        out_of_order=bool(values["tcp.analysis.out_of_order"]),
        expert=tuple(word for word in values["_ws.expert.message"].split("|") if word),
    )


def known(remark: str, allowed: Iterable[str]) -> bool:
    """Return whether a rule of the list allows a remark of tshark."""
    return any(re.fullmatch(rule, remark) for rule in allowed)


def tcptrace(path: Path) -> list[dict[str, str]]:
    """Return the counts of `tcptrace -l`, a row per connection; `a` is the end that opened it."""
    assert TCPTRACE is not None
    done = subprocess.run(
        [TCPTRACE, "-n", "-l", "--csv", str(path)], capture_output=True, text=True, check=True
    )
    return list(_rows(done.stdout))


def _rows(text: str) -> Iterator[dict[str, str]]:
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    names = lines[0].split(",")
    for line in lines[1:]:
        yield dict(zip(names, (word.strip() for word in line.split(",")), strict=False))
