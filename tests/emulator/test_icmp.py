"""Messages from routers to kernels: traceroute, unreachable destinations, echoes."""

import errno
import itertools
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from test_emulate import pytestmark, python  # noqa: F401  (skips without the right)

import farlink as fl

ROUTE = ["10.0.0.2", "10.0.0.3", "10.0.0.4"]
"""Addresses of two routers and the client, in the order of the path from the server."""


def path() -> dict[str, Any]:
    way = {"rate": "10 Mbit/s", "delay": "5 ms"}
    nodes = ["server", "gateway", "station", "client"]
    return {
        "links": [
            {"between": [a, b], "down": way, "up": way} for a, b in itertools.pairwise(nodes)
        ],
        "flows": [{"from": "server", "to": "client", "size": "1 MB"}],
    }


PROBE = """
import json, select, socket, struct, sys

IP_RECVERR, MSG_ERRQUEUE = 11, socket.MSG_ERRQUEUE

def error(s):
    # struct sock_extended_err and the address of who says it (linux/errqueue.h)
    poll = select.poll()
    poll.register(s, select.POLLERR)
    assert poll.poll(5000), "nobody said anything"
    data, ancillary, _, _ = s.recvmsg(2000, 512, MSG_ERRQUEUE)
    ((_, _, told),) = [item for item in ancillary if item[1] == IP_RECVERR]
    number, origin, kind, code = struct.unpack_from("=IBBB", told)
    return [number, origin, kind, code, socket.inet_ntoa(told[20:24]), len(data)]

def udp(address, ttl=64, size=40):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.setsockopt(socket.IPPROTO_IP, IP_RECVERR, 1)
        s.setsockopt(socket.IPPROTO_IP, socket.IP_TTL, ttl)
        s.sendto(bytes(size), (address, 33434))
        return error(s)

def tcp(address):
    with socket.socket() as s:
        s.settimeout(5)
        try:
            s.connect((address, 80))
        except OSError as error:
            return error.errno

found = {
    "route": [udp("client", ttl, size) for ttl, size in ((1, 40), (2, 1400), (3, 40))],
    "router": udp("10.0.0.3"),
    "nowhere": udp("10.9.9.9"),
    "tcp to a router": tcp("10.0.0.2"),
    "tcp to nowhere": tcp("10.9.9.9"),
}
open(sys.argv[1], "w").write(json.dumps(found))
"""
ICMP = 2
"""Origin "ICMP" of an error in struct sock_extended_err."""


def test_kernels_hear_how_far_a_packet_came(tmp_path: Path) -> None:
    """The node at the last allowed hop answers a probe.

    The kernel checks the message, and returns the quoted datagram to the socket that sent it.
    """
    out = tmp_path / "out"
    done = fl.emulate(path(), python(PROBE, str(out)), host="server")
    assert done.exit_code == 0
    data = json.loads(out.read_text())
    exceeded, port, network = (11, 0), (3, 3), (3, 0)
    # The message holds 576 bytes: 520 of data behind the headers of IP, ICMP, IP and UDP.
    assert data["route"] == [
        [errno.EHOSTUNREACH, ICMP, *exceeded, ROUTE[0], 40],
        [errno.EHOSTUNREACH, ICMP, *exceeded, ROUTE[1], 520],
        [errno.ECONNREFUSED, ICMP, *port, ROUTE[2], 40],
    ]
    assert data["router"][:5] == [errno.ECONNREFUSED, ICMP, *port, ROUTE[1]]
    assert data["nowhere"][:5] == [errno.ENETUNREACH, ICMP, *network, ROUTE[0]]
    assert data["tcp to a router"] == errno.ENOPROTOOPT
    assert data["tcp to nowhere"] == errno.ENETUNREACH
    packets = done.data["packets"]
    assert packets["for_routers"] == 2
    # TCP may repeat the two connection attempts that fail.
    assert packets["answered"] >= 6
    assert packets["limited"] == 0


PING = """
import json, socket, struct, sys, time

def ping(address, size):
    with socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP) as s:
        s.settimeout(5)
        words = [0x0800, 0, 77, 1, *range(size // 2)]
        total = sum(words)
        while total >> 16:
            total = (total & 0xFFFF) + (total >> 16)
        words[1] = ~total & 0xFFFF
        began = time.monotonic()
        s.sendto(struct.pack(f"!{len(words)}H", *words), (address, 0))
        answer, (source, _) = s.recvfrom(2000)
        return [source, answer[20:22].hex(), len(answer), answer[24:] == struct.pack(
            f"!{len(words)}H", *words)[4:], time.monotonic() - began]

open(sys.argv[1], "w").write(json.dumps([ping(to, 56) for to in sys.argv[2:]]))
"""


def test_routers_and_hosts_answer_pings(tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = fl.emulate(path(), python(PING, str(out), *ROUTE), host="server")
    assert done.exit_code == 0
    for hops, (address, row) in enumerate(zip(ROUTE, json.loads(out.read_text()), strict=True), 1):
        assert row[:4] == [address, "0000", 84, True]
        # At least both delays of each link; a busy machine may add more.
        assert row[4] >= 10e-3 * hops


@pytest.mark.skipif(shutil.which("traceroute") is None, reason="no traceroute")
def test_traceroute_prints_the_route(tmp_path: Path) -> None:
    out = tmp_path / "out"
    command = ["traceroute", "-n", "-q", "1", "-w", "5", "client"]
    fl.emulate(path(), ["sh", "-c", '"$@" > "$0"', str(out), *command], host="server")
    hops = [line.split()[1] for line in out.read_text().splitlines()[1:]]
    assert hops == ROUTE
