"""A kernel's TCP through agents that split its connection. Skipped where emulation cannot be."""

import hashlib
import json
from pathlib import Path
from typing import Any

from test_emulate import pytestmark, python  # noqa: F401  (skips without the right)

import farlink as fl

RATE = 2e6
"""Of the satellite link, in bit/s."""
SERVE = """
import socket, sys
data = b"".join(i.to_bytes(4, "big") for i in range(int(sys.argv[1]) // 4))
with socket.create_server(("", 9001)) as listener:
    connection, _ = listener.accept()
    with connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"reno")
        asked = connection.recv(100)
        connection.sendall(data)
        connection.shutdown(socket.SHUT_WR)
        connection.recv(100)
"""
FETCH = """
import hashlib, json, socket, sys, time
s = None
for _ in range(50):
    try:
        s = socket.create_connection(("server", 9001), timeout=60)
        break
    except OSError:
        time.sleep(0.1)
s.sendall(b"all of it")
came, times, digest = 0, [], hashlib.sha256()
began = time.monotonic()
while data := s.recv(1 << 16):
    digest.update(data)
    came += len(data)
    times.append((time.monotonic() - began, came))
    if time.monotonic() - began > float(sys.argv[2]):
        break
open(sys.argv[1], "w").write(json.dumps({"times": times, "digest": digest.hexdigest()}))
"""


def geo(*agents: dict[str, Any]) -> dict[str, Any]:
    """A geostationary link that loses 2 % between two short ones."""
    short = {"rate": "100 Mbit/s", "delay": "2 ms"}
    far = {"rate": "2 Mbit/s", "delay": "250 ms", "queue": {"packets": 300}}
    return {
        "links": [
            {"between": ["server", "near"], "down": short},
            {
                "name": "satellite",
                "between": ["near", "gate"],
                "down": {**far, "channel": {"loss": 0.02}},
                "up": far,
            },
            {"between": ["gate", "client"], "down": short},
        ],
        "agents": list(agents),
        "flows": [{"from": "server", "to": "client", "size": "1 MB"}],
    }


def fetch(
    scenario: dict[str, Any], size: int, longest_s: float, folder: Path
) -> tuple[list[tuple[float, int]], str, fl.Emulated]:
    """Times and bytes as they came, their digest, and the report."""
    out = folder / "times.json"
    done = fl.emulate(
        scenario,
        python(FETCH, str(out), str(longest_s)),
        host="client",
        servers=[("server", python(SERVE, str(size)))],
    )
    assert done.exit_code == 0
    assert done.missing == 0
    found = json.loads(out.read_text())
    return found["times"], found["digest"], done


def rate(times: list[tuple[float, int]], after: int) -> float:
    """Bit/s from when `after` bytes had come."""
    first = next(i for i, (_, came) in enumerate(times) if came >= after)
    (start, before), (end, came) = times[first], times[-1]
    return 8 * (came - before) / (end - start)


def test_a_proxy_at_both_ends_of_a_satellite_link_fills_it(tmp_path: Path) -> None:
    """Plain Reno of the kernel gets less than a tenth of a geostationary link that loses 2 %, and
    nine tenths with a proxy at both ends, which take a loss for damage; each byte is right.

    A link that carries 1448 of 1500 bytes and sends 2 % again gives 0.946 of its rate.
    """
    pep = {
        "wireless": "satellite",
        "kind": "pep",
        "buffer": "4 MiB",
        "satellite_tcp": {
            "variant": "scps",
            "assume_loss": "corruption",
            "initial_window": 100,
            "receive_window": "4 MiB",
        },
    }
    size = 3_000_000
    times, digest, done = fetch(
        geo({"at": "near", **pep}, {"at": "gate", **pep}), size, 60, tmp_path
    )
    sent = b"".join(i.to_bytes(4, "big") for i in range(size // 4))
    assert digest == hashlib.sha256(sent).hexdigest()
    assert rate(times, 500_000) >= 0.9 * RATE
    assert [agent["metrics"]["connections"] for agent in done.data["agents"]] == [1, 1]
    plain, _, _ = fetch(geo(), size, 6, tmp_path)
    assert rate(plain, 0) < 0.1 * RATE
