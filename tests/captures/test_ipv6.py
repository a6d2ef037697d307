"""Tshark reads IPv6 captures: addresses, flow labels, checksums, reassembled fragments."""

import subprocess
from collections import defaultdict
from pathlib import Path

import pytest

import farlink as fl

from . import cases, reader
from .test_readers import ALLOWED

pytestmark = reader.needs_tshark

HOSTS = {"server": "fd66:6172:6c6b::1", "client": "fd66:6172:6c6b::3"}

Row = dict[str, str]


def read(path: Path, *fields: str) -> list[Row]:
    """Return these fields of every packet."""
    assert reader.TSHARK is not None
    command = [reader.TSHARK, "-n", "-r", str(path), "-T", "fields", "-E", "aggregator=|"]
    for preference in ("tcp.check_checksum:TRUE", "udp.check_checksum:TRUE"):
        command += ["-o", preference]
    for field in fields:
        command += ["-e", field]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return [dict(zip(fields, line.split("\t"), strict=True)) for line in done.stdout.splitlines()]


def captured(tree: cases.Tree, directory: Path) -> dict[str, Path]:
    result = fl.run({**tree, "ip": "v6"})
    return {path.stem: path for path in result.save_pcaps(directory)}


@pytest.mark.parametrize("name", ["sack-timestamps", "corrupt", "all-stages", "two-flows"])
def test_segments_have_headers_of_ipv6(name: str, tmp_path: Path) -> None:
    files = captured(cases.scenario(name), tmp_path)
    assert set(files) == set(HOSTS)
    labels: dict[tuple[str, ...], set[int]] = defaultdict(set)
    for host, path in files.items():
        rows = read(
            path,
            "frame.protocols",
            "frame.len",
            "ipv6.plen",
            "ipv6.src",
            "ipv6.dst",
            "ipv6.hlim",
            "ipv6.flow",
            "tcp.srcport",
            "tcp.dstport",
            "tcp.len",
            "tcp.hdr_len",
            "tcp.options.mss_val",
            "tcp.checksum.status",
            "_ws.expert.message",
        )
        assert len(rows) > 500
        for row in rows:
            assert row["frame.protocols"] in {"raw:ipv6:tcp", "raw:ipv6:tcp:data"}
            length = int(row["ipv6.plen"])
            assert length == int(row["tcp.hdr_len"]) + int(row["tcp.len"])
            assert length + 40 == int(row["frame.len"]) <= 1500
            ends = row["ipv6.src"], row["ipv6.dst"]
            assert set(ends) == set(HOSTS.values())
            here = row["ipv6.src"] == HOSTS[host]
            assert row["ipv6.hlim"] == ("64" if here else "63")
            assert row["tcp.options.mss_val"] in {"", "1440"}
            if here:
                assert row["tcp.checksum.status"] == reader.GOOD
            labels[*ends, row["tcp.srcport"], row["tcp.dstport"]].add(int(row["ipv6.flow"], 0))
        bad = [row for row in rows if row["tcp.checksum.status"] != reader.GOOD]
        assert {row["tcp.checksum.status"] for row in bad} <= {reader.BAD}
        assert bool(bad) == (name in {"corrupt", "all-stages"})
        if name == "sack-timestamps":
            remarks = {
                word for row in rows for word in row["_ws.expert.message"].split("|") if word
            }
            assert not {remark for remark in remarks if not reader.known(remark, ALLOWED)}
    # Each direction of each flow has its own label.
    assert len(labels) == (4 if name == "two-flows" else 2)
    assert {len(of_one) for of_one in labels.values()} == {1}
    all_labels = {next(iter(of_one)) for of_one in labels.values()}
    assert len(all_labels) == len(labels)
    assert 0 not in all_labels


def test_fragments_are_put_together_by_another_reader(tmp_path: Path) -> None:
    tree = cases.scenario("sack")
    radio = tree["links"][1]
    radio["down"].update(mtu="1280 B", channel={})
    tree["flows"][0].pop("size")
    tree["flows"][0].update(app="cbr", rate="1 Mbit/s", packet="3000 B", datagrams=50)
    tree.pop("tcp")
    path = captured(tree, tmp_path)["client"]
    rows = read(
        path,
        "ipv6.fraghdr.offset",
        "ipv6.fraghdr.more",
        "ipv6.fragment.count",
        "ipv6.reassembled.length",
        "ipv6.fragment.error",
        "udp.length",
        "udp.checksum.status",
    )
    offsets = [int(row["ipv6.fraghdr.offset"]) for row in rows]
    # tshark counts in units of 8 bytes.
    assert set(offsets) == {0, 1232 // 8, 2464 // 8}
    whole = [row for row in rows if row["udp.length"]]
    # The first segment was too long for the radio link, because its sender did not know the MTU
    # yet.
    assert len(whole) == 49
    assert len(rows) == 3 * 49
    for row in whole:
        assert row["ipv6.fragment.count"] == "3"
        assert row["ipv6.reassembled.length"] == row["udp.length"] == "3008"
        assert row["udp.checksum.status"] == reader.GOOD
    assert not any(row["ipv6.fragment.error"] for row in rows)
