"""Devices that pass several packets at once and devices that pass one; real-time mode."""

import json
import sys
from pathlib import Path

import pytest
from test_emulate import path, pytestmark  # noqa: F401  (skips without the right)

import farlink as fl

MODES = ["several at once", "IPv6", "plain", "realtime"]

SERVE = """
import random, socket
random.seed(3)
listener = socket.create_server(("::", 99), family=socket.AF_INET6, dualstack_ipv6=True)
with listener:
    connection, _ = listener.accept()
    connection.sendall(random.randbytes(8_000_000))
    connection.shutdown(socket.SHUT_WR)
    connection.recv(1)
"""
FETCH = """
import json, random, socket, sys
random.seed(3)
data = b""
with socket.create_connection((sys.argv[2], 99)) as s:
    while more := s.recv(1 << 20):
        data += more
table = [line.split() for line in open("/proc/net/snmp") if line.startswith("Tcp:")]
counters = dict(zip(*table))
counters["right"] = data == random.randbytes(8_000_000)
open(sys.argv[1], "w").write(json.dumps(counters))
"""


@pytest.mark.parametrize("mode", MODES)
def test_every_packet_is_modelled_and_a_changed_bit_reaches_the_receiver(
    mode: str, tmp_path: Path
) -> None:
    """Every packet is modelled, and a changed bit reaches the receiver.

    The receiving kernel finds each wrong checksum itself. That holds also where the kernel receives
    several packets at once, whose checksums it need not verify.
    """
    out = tmp_path / "out.json"
    server = "fd66:6172:6c6b::1" if mode == "IPv6" else "server"
    done = fl.emulate(
        path("1 ms", "200 Mbit/s", corrupt=0.01),
        [sys.executable, "-c", FETCH, str(out), server],
        host="client",
        servers=[("server", [sys.executable, "-c", SERVE])],
        plain=mode == "plain",
        realtime=mode == "realtime",
    )
    assert done.exit_code == 0
    data = json.loads(out.read_text())
    assert data["right"] is True
    assert int(data["InCsumErrors"]) > 20
    hosts = {row["host"]: row for row in done.data["hosts"]}
    (down,) = (
        row["metrics"]
        for row in done.data["links"]
        if (row["link"], row["direction"]) == ("far", "down")
    )
    # 8 MB are 5525 packets of 1448 bytes (IPv6: 5603 of 1428), and retransmissions.
    assert 5525 < down["packets"] < 8000
    lost = sum(count for name, count in down.items() if name.startswith("drops_"))
    assert hosts["client"]["delivered"] + lost == down["packets"]
    assert hosts["server"]["sent"] == down["packets"]
