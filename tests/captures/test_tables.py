"""The traces of a run agree with the captures of the same run."""

from pathlib import Path

import pandas as pd

from . import reader
from .conftest import Case, transfer
from .endpoint import offset, replay, retransmissions
from .reader import ACK, SYN

pytestmark = reader.needs_tshark


def _table(case: Case, name: str, flow: int, side: str) -> pd.DataFrame:
    table = case.trace.table(name)
    flow_name = case.flows[flow]["name"]
    mine: pd.DataFrame = table[(table["flow"] == flow_name) & (table["side"] == side)]
    return mine.assign(time=_whole(mine["time"]))


def _whole(seconds: "pd.Series[float]") -> "pd.Series[int]":
    """Return whole nanoseconds; doubles hold them exactly in runs shorter than 2^53 ns."""
    return (seconds * 1e9).round().astype("int64")


SIDES = (("server", "from"), ("client", "to"))


def test_segments(case: Case) -> None:
    for flow in range(len(case.flows)):
        for host, side in SIDES:
            connection = case.connection(host, flow)
            isn = connection.sent_from() + 1
            again = {packet.ident for packet in retransmissions(connection)}
            expected = [
                (p.time, offset(p.seq, isn), p.len, p.ident in again)
                for p in connection.left()
                if p.len
            ]
            table = _table(case, "segments", flow, side)
            columns = ["time", "seq", "len", "retransmission"]
            assert list(table[columns].itertuples(index=False, name=None)) == expected


def test_acks(case: Case) -> None:
    for flow in range(len(case.flows)):
        for host, side in SIDES:
            connection = case.connection(host, flow)
            isn = connection.sent_from() + 1
            own, peer = connection.syns()
            shift = peer.shift if peer.shift and own.shift is not None else 0
            arrived = {
                (p.time, max(0, offset(p.ack, isn)), p.window << (0 if p.flags & SYN else shift))
                for p in connection.arrived()
                if p.flags & ACK
            }
            table = _table(case, "acks", flow, side)
            rows = set(table[["time", "ack", "window"]].itertuples(index=False, name=None))
            assert rows <= arrived
            # The trace has each ACK that acknowledged new data.
            news, high = set(), 0
            for packet in connection.arrived():
                ack = offset(packet.ack, isn)
                if packet.flags & ACK and ack > high:
                    news.add((packet.time, ack))
                    high = ack
            assert news <= {(time, ack) for time, ack, _ in rows}


def test_sacks(case: Case) -> None:
    for flow in range(len(case.flows)):
        for host, side in SIDES:
            connection = case.connection(host, flow)
            isn = connection.sent_from() + 1
            arrived = {
                (p.time, offset(left, isn), offset(right, isn))
                for p in connection.arrived()
                for left, right in p.sack
            }
            table = _table(case, "sacks", flow, side)
            rows = set(table[["time", "left", "right"]].itertuples(index=False, name=None))
            assert rows <= arrived
            assert bool(rows) == bool(arrived)


def test_delivered(case: Case) -> None:
    for flow in range(len(case.flows)):
        tcp = case.tcp(flow)
        for host, side in SIDES:
            connection = case.connection(host, flow)
            peer = case.connection("client" if host == "server" else "server", flow)
            size = max(
                (offset(p.seq, peer.sent_from()) - 1 + p.len for p in peer.left() if p.len),
                default=0,
            )
            expected, total = [], 0
            steps = replay(connection, reassembly=tcp["reassembly"], timestamps=tcp["timestamps"])
            for packet, receiver in steps:
                # Neither the SYN nor the FIN is data.
                now = min(max(0, receiver.nxt - 1), size)
                if now > total:
                    total = now
                    expected.append((packet.time, total))
            table = _table(case, "delivered", flow, side)
            columns = ["time", "bytes"]
            assert list(table[columns].itertuples(index=False, name=None)) == expected


def test_files_hold_the_same(tmp_path: Path) -> None:
    """The traces written as files agree with the packets, too."""
    case = transfer("sack", tmp_path)
    expected = [(p.seq, p.len) for p in case.connection("server", 0).left() if p.len]
    isn = case.connection("server", 0).sent_from() + 1
    for table_format in ("parquet", "csv"):
        case.result.save(tmp_path, table_format=table_format)
        path = tmp_path / "sack" / f"segments.{table_format}"
        table = pd.read_parquet(path) if table_format == "parquet" else pd.read_csv(path)
        suffix = "" if table_format == "parquet" else "_B"
        rows = list(table[[f"seq{suffix}", f"len{suffix}"]].itertuples(index=False, name=None))
        assert rows == [(offset(seq, isn), length) for seq, length in expected]
