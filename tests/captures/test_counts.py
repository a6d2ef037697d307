"""Counts of tshark and tcptrace in the captures equal those of the result."""

from collections import Counter

import pytest

from . import reader
from .conftest import HOSTS, Case
from .endpoint import data_end, offset, replay, retransmissions
from .reader import FIN, SYN


@reader.needs_tshark
def test_retransmissions(case: Case) -> None:
    for flow in range(len(case.flows)):
        connection = case.connection("server", flow)
        again = retransmissions(connection)
        data = [packet for packet in connection.left() if packet.len]
        assert len(again) == case.metric("segments_retransmitted", flow)
        assert len(data) == case.metric("segments_sent", flow)
        # tshark takes a retransmission soon after newer data for an overtaken packet. No packet is
        # overtaken at its sender, so this test counts both kinds together.
        marked = [packet for packet in data if packet.again or packet.out_of_order]
        assert marked == again


@reader.needs_tshark
def test_acknowledgments_without_data(case: Case) -> None:
    for flow in range(len(case.flows)):
        left = case.connection("client", flow).left()
        bare = [p for p in left if not p.len and not p.flags & (SYN | FIN)]
        assert len(bare) == case.metric("acks_sent", flow)


@reader.needs_tcptrace
def test_tcptrace_counts_the_same(case: Case) -> None:
    rows = reader.tcptrace(case.files["server"])
    assert len(rows) == len(case.flows)
    for row in rows:
        flow = (int(row["port_a"]) if int(row["port_a"]) > 49_151 else int(row["port_b"])) - 49_152
        server_opened = row["host_a"] == HOSTS["server"]
        out, back = ("a2b", "b2a") if server_opened else ("b2a", "a2b")
        size = case.metric("bytes_delivered", flow)
        assert int(row[f"unique_bytes_sent_{out}"]) == size
        assert int(row[f"actual_data_pkts_{out}"]) == case.metric("segments_sent", flow)
        again = case.metric("segments_retransmitted", flow)
        assert int(row[f"rexmt_data_pkts_{out}"]) == again
        assert int(row[f"outoforder_pkts_{out}"]) == 0
        assert int(row[f"resets_sent_{out}"]) == int(row[f"resets_sent_{back}"]) == 0
        assert int(row[f"truncated_data_{out}"]) == 0
        assert int(row[f"missed_data_{out}"]) == 0


@reader.needs_tshark
def test_goodput_is_the_clock_of_the_captures(case: Case) -> None:
    for flow, settings in enumerate(case.flows):
        opener = "server" if settings["opens"] == "sender" else "client"
        opened = next(p.time for p in case.connection(opener, flow).left() if p.flags & SYN)
        pairs = [("client", "server", "goodput", int(case.metric("bytes_delivered", flow)))]
        if settings["reverse"] != "0 B":
            reverse = data_end(case.connection("client", flow)) - 1
            pairs.append(("server", "client", "reverse_goodput", reverse))
        for host, source, metric, size in pairs:
            assert data_end(case.connection(source, flow)) - 1 == size
            complete = _complete_at(case, host, flow, size)
            goodput = 8 * size / (complete - opened) * 1e9
            assert goodput == pytest.approx(case.metric(metric, flow), rel=1e-6)


def _complete_at(case: Case, host: str, flow: int, size: int) -> int:
    """Return when the last of `size` bytes had arrived in order at a host, in nanoseconds."""
    tcp = case.tcp(flow)
    steps = replay(
        case.connection(host, flow), reassembly=tcp["reassembly"], timestamps=tcp["timestamps"]
    )
    # The SYN takes position 0.
    return next(packet.time for packet, receiver in steps if receiver.nxt > size)


@reader.needs_tshark
def test_packets_in_the_captures_are_those_of_the_links(case: Case) -> None:
    ends = (
        ("server", "client", "lan", "radio", "down"),
        ("client", "server", "radio", "lan", "up"),
    )
    for source, sink, first, last, direction in ends:
        left = [p for p in case.packets[source] if p.src == HOSTS[source]]
        arrived = Counter(p.ident for p in case.packets[sink] if p.dst == HOSTS[sink])
        assert len(left) == case.link(first, direction, "packets") + case.link(
            first, direction, "drops_congestion"
        )
        # The first link handed all packets that it did not drop to the next link.
        causes = ("drops_congestion", "drops_loss")
        lost = sum(case.link(link, direction, c) for link in (first, last) for c in causes)
        every = case.link(first, direction, "drops") + case.link(last, direction, "drops")
        assert every - lost == case.link(last, direction, "drops_checksum")
        missing = [p for p in left if p.ident not in arrived]
        # Packets that neither arrived nor were lost were still on their way at the end.
        underway = [p for p in missing if p.time > case.trace.simulated_s * 1e9 - 100e6]
        assert lost <= len(missing) <= lost + len(underway)
        copies = sum(arrived.values()) - len(arrived)
        assert (copies > 0) == ("duplicate" in case.name or case.name == "all-stages")
        assert set(arrived) <= {p.ident for p in left}


@reader.needs_tshark
def test_a_packet_is_the_same_at_both_hosts_but_for_its_hops(case: Case) -> None:
    fields = ("src", "dst", "src_port", "dst_port", "seq", "ack", "len", "flags", "window", "sack")
    for source, sink in (("server", "client"), ("client", "server")):
        left = {p.ident: p for p in case.packets[source] if p.src == HOSTS[source]}
        for there in case.packets[sink]:
            if there.dst != HOSTS[sink] or there.damaged:
                continue
            here = left[there.ident]
            assert all(getattr(here, name) == getattr(there, name) for name in fields)
            assert (here.tsval, here.tsecr) == (there.tsval, there.tsecr)
            assert (here.ttl, there.ttl) == (64, 63)
            # The shortest possible time is serialisation and propagation on both links.
            bits = 8 * here.ip_len
            rates = (100e6, _rate(case, source))
            least = _delay(case) + sum(bits / rate * 1e9 for rate in rates)
            assert there.time - here.time >= least - 2


def _rate(case: Case, source: str) -> float:
    """Rate of the radio link in bit/s in the direction away from a host."""
    radio = case.result.scenario()["links"][1]
    number, unit = radio["down" if source == "server" else "up"]["rate"].split()
    return float(number) * {"Mbit/s": 1e6, "kbit/s": 1e3}[unit]


def _delay(case: Case) -> float:
    """Return the one-way propagation delay in nanoseconds, equal in both directions."""
    links = case.result.scenario()["links"]
    return sum(1e6 * float(link["down"]["delay"].removesuffix(" ms")) for link in links)


@reader.needs_tshark
def test_sequence_numbers_start_where_offsets_do(case: Case) -> None:
    for flow, _, connection in case.connections():
        isn = connection.sent_from()
        first = next(p for p in connection.left() if p.flags & SYN)
        assert offset(first.seq, isn) == 0
        mss = int(case.tcp(flow)["mss"].removesuffix(" B"))
        assert first.mss == mss
