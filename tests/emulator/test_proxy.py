"""A kernel's TCP through agents that split its connection. Skipped without emulation."""

import hashlib
import json
from pathlib import Path
from typing import Any

from test_emulate import pytestmark, python  # noqa: F401  (skips without the right)

import farlink as fl

RATE = 2e6
"""Rate of the satellite link in bit/s."""
SIZE = 6_000_000
"""Bytes that the server offers: more than arrive during the test."""
FROM_S, UNTIL_S = 4.0, 12.0
"""Seconds between which the rate is measured."""
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
for _ in range(50):
    try:
        # An agent answers before it is known whether anybody listens.
        s = socket.create_connection(("server", 9001), timeout=60)
        s.sendall(b"all of it")
        s.recv(1, socket.MSG_PEEK)
        break
    except OSError:
        time.sleep(0.1)
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
    """Return a geostationary link with 2 % loss between two short links."""
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


def fetch(scenario: dict[str, Any], folder: Path) -> tuple[list[tuple[float, int]], fl.Emulated]:
    """Receive for `UNTIL_S`, check each byte, and return times, byte counts and the report."""
    out = folder / "times.json"
    done = fl.emulate(
        scenario,
        python(FETCH, str(out), str(UNTIL_S)),
        host="client",
        servers=[("server", python(SERVE, str(SIZE)))],
    )
    assert done.exit_code == 0
    assert done.missing == 0
    data = json.loads(out.read_text())
    sent = b"".join(i.to_bytes(4, "big") for i in range(SIZE // 4))
    assert data["digest"] == hashlib.sha256(sent[: data["times"][-1][1]]).hexdigest()
    return data["times"], done


def rate(times: list[tuple[float, int]]) -> float:
    """Return bit/s from `FROM_S` on, when slow start is over with and without the agents."""
    start, before = next(time for time in times if time[0] >= FROM_S)
    end, came = times[-1]
    return 8 * (came - before) / (end - start)


def test_a_proxy_at_both_ends_of_a_satellite_link_fills_it(tmp_path: Path) -> None:
    """A proxy at both ends fills a satellite link that loses 2 %.

    The kernel's Reno gets less than a tenth of the link's rate without proxies, and nine tenths
    with them. The proxies treat a loss as damage. Each byte is correct.

    With 1460 bytes of data in 1500, and 2 % of the packets sent again, the goodput is 0.954 of the
    rate.
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
    times, done = fetch(geo({"at": "near", **pep}, {"at": "gate", **pep}), tmp_path)
    assert all(agent["metrics"]["connections"] > 0 for agent in done.data["agents"])
    assert rate(times) >= 0.9 * RATE
    plain, _ = fetch(geo(), tmp_path)
    assert rate(plain) < 0.1 * RATE
