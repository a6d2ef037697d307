"""Super-packets of a kernel: a channel loses the segments that were read together."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from test_emulate import pytestmark  # noqa: F401  (skips without the right)

from farlink import emulation
from farlink.captures.file import packets


def path(super_packet: int | None) -> dict[str, Any]:
    down: dict[str, Any] = {"rate": "100 Mbit/s", "delay": "10 ms", "channel": {"loss": 0.01}}
    if super_packet:
        down["super_packet"] = super_packet
    link = {"between": ["server", "client"], "down": down}
    link["up"] = {"rate": "100 Mbit/s", "delay": "10 ms"}
    return {"links": [link], "flows": [{"from": "server", "to": "client", "size": "10 MB"}]}


@pytest.mark.parametrize(("super_packet", "together"), [(None, False), (8, True)])
def test_segments_of_a_super_packet_share_a_fate(
    tmp_path: Path, super_packet: int | None, *, together: bool
) -> None:
    """Losses one transmission time apart are of one super-packet: 1514 bytes take 121 us."""
    emulation.transfer(path(super_packet), "10MB", pcap=tmp_path)
    times = sorted(packet.time_ns for packet in packets(tmp_path / "lost.pcapng"))
    adjacent = sum(b - a < 130_000 for a, b in pairwise(times))
    assert len(times) > 20
    if together:
        assert adjacent > len(times) / 3
    else:
        assert adjacent < len(times) / 10
