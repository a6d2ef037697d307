"""Tshark reads every capture, and remarks only on the effects of a lossy path."""

import re
import subprocess
from pathlib import Path

import pytest

import farlink as fl

from . import cases, reader
from .conftest import HOSTS, Case, transfer

pytestmark = reader.needs_tshark

ALLOWED = {
    r"Connection establish request \(SYN\): server port \d+": "the handshake",
    r"Connection establish acknowledge \(SYN\+ACK\): server port \d+": "the handshake",
    r"Connection finish \(FIN\)": "both ends close",
    "This frame initiates the connection closing": "the first FIN, and where it is sent again",
    "This frame undergoes the connection closing": "the other FIN",
    r"This frame is a \(suspected\) (fast |spurious )?retransmission": "packets are lost, and "
    "ACKs too, which makes some retransmissions needless",
    r"Duplicate ACK \(#\d+\)": "what a receiver answers to a gap",
    r"This frame is a \(suspected\) out-of-order segment": "a retransmission that left within a "
    "round trip of newer data, and what the reorder stage held back",
    r"Previous segment\(s\) not captured \(common at capture start\)": "lost before this host",
    r"TCP window specified by the receiver is now completely full": "the window limits the sender",
    r"D-SACK Sequence": "a duplicate is reported",
}
"""Every allowed remark of tshark, with the condition under which it is true."""


def test_nothing_but_what_loss_explains(case: Case) -> None:
    for host, packets in case.packets.items():
        remarks = {remark for packet in packets if not packet.damaged for remark in packet.expert}
        strange = {remark for remark in remarks if not reader.known(remark, ALLOWED)}
        assert strange == set(), host


def test_a_capture_is_ip_and_tcp_and_whole(case: Case) -> None:
    assert set(case.packets) == set(HOSTS)
    for packets in case.packets.values():
        # No packet is malformed, and no port makes tshark see another protocol.
        assert {p.protocols for p in packets} <= {"raw:ip:tcp", "raw:ip:tcp:data"}
        assert all(p.captured == p.ip_len for p in packets)
        times = [p.time for p in packets]
        assert times == sorted(times)
        assert times[0] >= 0


def test_checksums_are_right_but_where_the_channel_damaged_them(case: Case) -> None:
    for host, direction in (("server", "up"), ("client", "down")):
        packets = case.packets[host]
        assert {p.ip_sum for p in packets} == {reader.GOOD}
        damaged = [p for p in packets if p.tcp_sum != reader.GOOD]
        assert {p.tcp_sum for p in damaged} <= {reader.BAD}
        # Packets are damaged on the way, so only the receiving host shows the damage.
        assert all(p.dst == HOSTS[host] for p in damaged)
        last = "lan" if host == "server" else "radio"
        assert len(damaged) == case.link(last, direction, "drops_checksum")
        assert bool(damaged) == ("corrupt" in case.name or "all" in case.name)
        for packet in damaged:
            assert any(remark.startswith("Bad checksum") for remark in packet.expert)


def test_wireshark_s_own_summary_has_no_errors(tmp_path: Path) -> None:
    """The summary of all packets, which a person would read first, has nothing above a warning."""
    assert reader.TSHARK is not None
    for path in transfer("both-ways", tmp_path).files.values():
        done = subprocess.run(
            [reader.TSHARK, "-n", "-r", str(path), "-q", "-z", "expert"],
            capture_output=True,
            text=True,
            check=True,
        )
        groups = re.findall(r"^(\w+) \(\d+\)$", done.stdout, re.MULTILINE)
        assert groups == ["Warns", "Notes", "Chats"]


def test_packets_cut_behind_their_headers_tell_the_same(tmp_path: Path) -> None:
    whole = transfer("sack-timestamps", tmp_path / "whole").files
    again = fl.run(cases.scenario("sack-timestamps"))
    for path in again.save_pcaps(tmp_path / "cut", snaplen=80):
        assert path.stat().st_size < whole[path.stem].stat().st_size
        cut, full = reader.packets(path), reader.packets(whole[path.stem])
        assert len(cut) == len(full)
        for a, b in zip(cut, full, strict=True):
            assert a.captured == min(b.ip_len, 80)
            # tshark cannot verify a checksum over bytes that the capture cut off.
            expected = reader.GOOD if b.ip_len <= 80 else reader.UNVERIFIED
            assert a.tcp_sum == expected
            same = ("time", "ip_len", "ident", "seq", "ack", "len", "flags", "window", "sack")
            assert [getattr(a, name) for name in same] == [getattr(b, name) for name in same]
            assert (a.tsval, a.tsecr, a.again, a.expert) == (b.tsval, b.tsecr, b.again, b.expert)


@pytest.mark.parametrize("host", sorted(HOSTS))
def test_the_file_says_where_it_is_from(case: Case, host: str) -> None:
    data = case.files[host].read_bytes()
    assert data[:4] == bytes.fromhex("0a0d0d0a")
    assert host.encode() in data[:65_536]
