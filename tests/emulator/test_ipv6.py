"""IPv6 of real programs: echo, hops, path MTU, TCP and fragments, also from other machines."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from test_attach import TURN, Machine, inside, machine, needs_ip, talk  # noqa: F401
from test_emulate import path, pytestmark  # noqa: F401  (skips without the right)

import farlink as fl

SERVER, ROUTER, CLIENT = (f"fd66:6172:6c6b::{number}" for number in (1, 2, 3))

# Reports five results: echo of the router, echo of the other host, a fragmented datagram, a
# router's answer to too few hops, and the MTU that TCP found.
LOOK = """
import json, os, socket, struct, sys
out, found = sys.argv[1], {}
raw = socket.socket(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_ICMPV6)
raw.settimeout(3)
def answer(to, hops=64, kind=129):
    raw.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_UNICAST_HOPS, hops)
    raw.sendto(struct.pack("!BBHHH", 128, 0, 0, 7, hops) + b"x" * 40, (to, 0))
    while True:
        data, (who, *_) = raw.recvfrom(2000)
        if data[0] == kind:
            return who
found["echo"] = [answer(to) for to in sys.argv[2:4]]
found["expired"] = answer(sys.argv[3], 1, 3)
udp = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
udp.settimeout(0.3)
# The first ones are lost where they find, on the way there and back, what the path takes.
for _ in range(9):
    udp.sendto(bytes(5000), (sys.argv[3], 7))
    try:
        found["fragments"] = len(udp.recv(9000))
        break
    except TimeoutError:
        pass
s = socket.create_connection((sys.argv[3], 5000), 5)
data = os.urandom(300_000)
s.sendall(data)
s.shutdown(socket.SHUT_WR)
got = b""
while part := s.recv(1 << 16):
    got += part
found["right"] = got == data[::-1]
found["mtu"] = s.getsockopt(socket.IPPROTO_IPV6, 24)
print(json.dumps(found), file=open(out, "w"))
"""
ECHO = """
import socket, threading
u = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
u.bind(("::", 7))
def echo():
    while True:
        data, to = u.recvfrom(9000)
        u.sendto(data, to)
threading.Thread(target=echo, daemon=True).start()
"""


def narrow() -> dict[str, Any]:
    """Return a path whose second link has a smaller MTU than the first."""
    scenario = path("2 ms")
    for direction in ("down", "up"):
        scenario["links"][1][direction] = {**scenario["links"][1][direction], "mtu": "1400 B"}
    return scenario


def test_hosts_speak_ipv6(tmp_path: Path) -> None:
    """Hosts speak IPv6.

    They find the path MTU of 1400 bytes. A router answers echo and reports expired hops. No other
    packets are on the path.
    """
    out = tmp_path / "out.json"
    done = fl.emulate(
        narrow(),
        [sys.executable, "-c", LOOK, str(out), ROUTER, CLIENT],
        host="server",
        servers=[("client", [sys.executable, "-c", ECHO + TURN])],
    )
    assert done.exit_code == 0
    assert json.loads(out.read_text()) == {
        "echo": [ROUTER, CLIENT],
        "expired": ROUTER,
        "fragments": 5000,
        "right": True,
        "mtu": 1400,
    }
    assert done.missing == 0
    assert all(row["no_host"] == row["not_ip"] == 0 for row in done.data["hosts"])


@needs_ip
def test_a_machine_behind_an_interface_has_ipv6(machine: Machine, tmp_path: Path) -> None:  # noqa: F811
    """A machine finds neighbours over IPv6 alone, and its kernel finds the path MTU."""
    machine.has(f"{CLIENT}/64")
    machine.serve()
    attach = {"client": machine.cable}
    done = fl.emulate(narrow(), talk(CLIENT), host="server", attach=attach)
    assert done.exit_code == 0
    routes = machine.ip("-6", "route", "get", SERVER)
    (far,) = (r for r in done.data["links"] if (r["link"], r["direction"]) == ("far", "down"))
    assert "mtu 1400" in routes or far["metrics"]["drops_too_big"] > 0


@needs_ip
@pytest.mark.parametrize(("opens", "answers"), [("server", "client"), ("client", "server")])
def test_a_namespace_of_somebody_else_has_ipv6(
    opens: str,
    answers: str,
    machine: Machine,  # noqa: F811
    tmp_path: Path,
) -> None:
    """A foreign namespace has IPv6 as a host.

    It sends and answers pings, opens and accepts TCP connections, and finds the path MTU. Its own
    addresses and routes do not change.
    """
    machine.has("192.0.2.7/24", "2001:db8::7/64")
    before, out = inside(machine), tmp_path / "out.json"
    far = {"client": CLIENT, "server": SERVER}[answers]
    done = fl.emulate(
        narrow(),
        [sys.executable, "-c", LOOK, str(out), ROUTER, far],
        host=opens,
        servers=[(answers, [sys.executable, "-c", ECHO + TURN])],
        attach={"client": f"netns:{machine.name}"},
    )
    assert done.exit_code == 0
    assert json.loads(out.read_text()) == {
        "echo": [ROUTER, far],
        "expired": ROUTER,
        "fragments": 5000,
        "right": True,
        "mtu": 1400,
    }
    assert done.missing == 0
    assert inside(machine) == before
