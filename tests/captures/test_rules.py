"""Every packet obeys the rules of TCP, given the packets that passed its host before it."""

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from . import reader
from .conftest import HOSTS, Case, transfer
from .endpoint import Connection, Receiver, offset, replay
from .reader import ACK, FIN, RST, SYN, Packet

pytestmark = reader.needs_tshark


def _receiving(case: Case, flow: int, connection: Connection) -> Iterator[tuple[Packet, Receiver]]:
    tcp = case.tcp(flow)
    return replay(connection, reassembly=tcp["reassembly"], timestamps=tcp["timestamps"])


def _bytes(quantity: str) -> int:
    number, unit = quantity.split()
    return int(number) * {"B": 1, "kB": 1000, "MB": 10**6}[unit]


def _nanoseconds(quantity: str) -> int:
    number, unit = quantity.split()
    return int(number) * {"ms": 10**6, "s": 10**9}[unit]


def test_an_acknowledgment_is_exactly_what_arrived_in_order(case: Case) -> None:
    for flow, _, connection in case.connections():
        last = 0
        for packet, receiver in _receiving(case, flow, connection):
            if packet.src != connection.host or not packet.flags & ACK:
                continue
            ack = offset(packet.ack, receiver.isn)
            assert ack == receiver.nxt
            assert ack >= last
            last = ack
        assert last > 1


def test_only_the_first_syn_goes_without_an_acknowledgment(case: Case) -> None:
    for _, _, connection in case.connections():
        for packet in connection.packets:
            if not packet.damaged:
                assert packet.flags & ACK or packet.flags == SYN
            assert not packet.flags & RST


def test_sack_blocks_are_what_the_receiver_holds(case: Case) -> None:
    blocks_seen = 0
    for flow, _, connection in case.connections():
        tcp = case.tcp(flow)
        own, peer = connection.syns()
        agreed = own.sack_permitted and peer.sack_permitted
        assert agreed == tcp["sack"]
        for packet, receiver in _receiving(case, flow, connection):
            if packet.src != connection.host:
                continue
            blocks = [tuple(offset(x, receiver.isn) for x in block) for block in packet.sack]
            # Each block is one whole range, above the ACK and within the data sent.
            assert set(blocks) <= set(receiver.ranges)
            assert len(set(blocks)) == len(blocks)
            if not agreed:
                assert blocks == []
                continue
            room = (_bytes(tcp["mss"]) - packet.len - (12 if tcp["timestamps"] else 0) - 4) // 8
            most = min(3 if tcp["timestamps"] else 4, room)
            assert len(blocks) == max(0, min(len(receiver.ranges), most))
            # RFC 2018, 4: the first block contains the segment that arrived last.
            if blocks and receiver.latest is not None and receiver.latest > receiver.nxt:
                assert blocks[0][0] <= receiver.latest < blocks[0][1]
            blocks_seen += len(blocks)
    if case.tcp(0)["sack"]:
        assert blocks_seen > 0


def test_the_window_never_shrinks_and_is_never_overrun(case: Case) -> None:
    for flow, _, connection in case.connections():
        tcp = case.tcp(flow)
        buffer = _bytes(tcp["receive_window"])
        own, peer = connection.syns()
        scaled = own.shift is not None and peer.shift is not None
        assert scaled == (tcp["window_scale"] != "off" and (own.shift or 0) > 0)
        shift = (own.shift or 0) if scaled else 0
        assert own.window == min(buffer, 65_535)
        edge = 0
        for packet, receiver in _receiving(case, flow, connection):
            if packet.src != connection.host or not packet.flags & ACK:
                continue
            # RFC 7323, 2.2: the window of a SYN is never scaled.
            window = packet.window << (0 if packet.flags & SYN else shift)
            assert buffer - _bytes(tcp["mss"]) <= window < buffer + (1 << shift) or (
                packet.flags & SYN and window == 65_535
            )
            right = offset(packet.ack, receiver.isn) + window
            assert right >= edge
            edge = right
        _check_sender(connection, _bytes(tcp["mss"]) - (12 if tcp["timestamps"] else 0))


def _check_sender(connection: Connection, mss: int) -> None:
    """Check the sender: data in order, without gaps, within the agreed lengths and the window."""
    isn = connection.sent_from()
    _, peer = connection.syns()
    shift = peer.shift if peer.shift and connection.syns()[0].shift is not None else 0
    edge, high = 1, 0
    for packet in connection.packets:
        if packet.src != connection.host:
            if not packet.damaged and packet.flags & ACK:
                window = packet.window << (0 if packet.flags & SYN else shift)
                edge = max(edge, offset(packet.ack, isn) + window)
            elif packet.flags == SYN:
                edge = max(edge, 1 + packet.window)
            continue
        start = offset(packet.seq, isn)
        assert packet.len <= mss
        assert start <= high, "a gap in what was sent"
        assert start + packet.len <= edge
        if packet.space == 0:
            assert start == high, "a bare ACK stands at SND.NXT"
        high = max(high, start + packet.space)


def test_acknowledgments_are_delayed_no_longer_than_they_may_be(case: Case) -> None:
    for flow, _, connection in case.connections():
        tcp = case.tcp(flow)
        at_once = tcp["delayed_ack"] == "off"
        longest = 0 if at_once else _nanoseconds(tcp["delayed_ack"])
        every = 1 if at_once else tcp["ack_every"]
        waiting = 0
        due = None  # time by which an ACK must have left
        nxt, gap = 0, False
        for packet, receiver in _receiving(case, flow, connection):
            if due is not None:
                assert packet.time <= due
            if packet.src == connection.host:
                if packet.flags & ACK:
                    waiting = 0
                    due = None
                continue
            if packet.space:
                if receiver.nxt > nxt and not gap and not packet.flags & (SYN | FIN):
                    waiting += 1
                    wait = 0 if waiting >= every else longest
                    due = min(packet.time + wait, packet.time + wait if due is None else due)
                else:
                    # Segments that are old, out of order or fill a gap need an immediate ACK (RFC
                    # 5681, 4.2).
                    due = packet.time
            nxt, gap = receiver.nxt, bool(receiver.ranges)
        assert due is None or due >= max(p.time for p in connection.packets)


def test_timestamps_are_the_clock_and_its_echo(case: Case) -> None:
    for flow, _, connection in case.connections():
        agreed = case.tcp(flow)["timestamps"]
        last = None
        for packet, receiver in _receiving(case, flow, connection):
            if not agreed:
                assert packet.damaged or (packet.tsval, packet.tsecr) == (None, None)
                continue
            if packet.src != connection.host:
                continue
            # Timestamps tick every millisecond, and every segment has one once agreed (RFC 7323,
            # 3.2).
            assert packet.tsval is not None
            assert last is None or packet.tsval - last[0] == packet.time // 10**6 - last[1]
            last = (packet.tsval, packet.time // 10**6)
            if packet.flags & ACK:
                assert packet.tsecr == receiver.recent
            else:
                assert packet.tsecr == 0


def test_identification_counts_the_packets_of_a_host(case: Case) -> None:
    for host, address in HOSTS.items():
        left = [packet for packet in case.packets[host] if packet.src == address]
        steps = {(b.ident - a.ident) % 65_536 for a, b in pairwise(left)}
        assert steps == {1}
        assert {packet.ttl for packet in left} == {64}


def test_both_ends_close_once_everything_is_there(case: Case) -> None:
    for _, _, connection in case.connections():
        isn = connection.sent_from()
        fins = {offset(p.seq, isn) + p.len for p in connection.left() if p.flags & FIN}
        assert len(fins) == 1
        beyond = [p for p in connection.left() if p.len and offset(p.seq, isn) >= min(fins)]
        assert beyond == []


def test_the_window_limits_a_transfer_without_congestion_control(tmp_path: Path) -> None:
    connection = transfer("rfc793", tmp_path).connection("server", 0)
    isn, una, widest = connection.sent_from(), 0, 0
    for packet in connection.packets:
        if packet.src == connection.host:
            widest = max(widest, offset(packet.seq, isn) + packet.len - una)
        else:
            una = max(una, offset(packet.ack, isn))
    assert 65_535 - 1460 < widest <= 65_535
