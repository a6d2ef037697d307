"""A kernel whose host moves between base stations, each with snoop. Skipped without emulation."""

import hashlib
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import pytest
from test_agents import started
from test_control import ctl
from test_emulate import FARLINK, pytestmark, python  # noqa: F401  (skips without the right)

import farlink as fl

SIZE = 1_500_000
"""Bytes of the transfer: six seconds of the radio."""
SERVE = """
import socket, sys
data = b"".join(i.to_bytes(4, "big") for i in range(int(sys.argv[1]) // 4))
with socket.create_server(("", 9001)) as listener:
    connection, _ = listener.accept()
    with connection:
        connection.sendall(data)
        connection.shutdown(socket.SHUT_WR)
        connection.recv(1)
"""
FETCH = """
import hashlib, socket, sys, time
for _ in range(100):
    try:
        s = socket.create_connection(("server", 9001), timeout=60)
        break
    except OSError:
        time.sleep(0.1)
digest = hashlib.sha256()
while data := s.recv(1 << 16):
    digest.update(data)
open(sys.argv[1], "w").write(digest.hexdigest())
"""
RIGHT = hashlib.sha256(b"".join(i.to_bytes(4, "big") for i in range(SIZE // 4))).hexdigest()


WALK = """
[[links]]
between = ["server", "router"]
down = { rate = "10 Mbit/s", delay = "5 ms" }
[[links]]
between = ["router", "north"]
down = { rate = "10 Mbit/s", delay = "5 ms" }
[[links]]
between = ["router", "south"]
down = { rate = "10 Mbit/s", delay = "5 ms" }
[[links]]
name = "radio-north"
between = ["north", "client"]
down = { rate = "2 Mbit/s", delay = "2 ms", channel = { loss = 0.02 } }
up = { rate = "2 Mbit/s", delay = "2 ms" }
[[links]]
name = "radio-south"
between = ["south", "client"]
down = { rate = "2 Mbit/s", delay = "2 ms", channel = { loss = 0.02 } }
up = { rate = "2 Mbit/s", delay = "2 ms" }
[[handoffs]]
host = "client"
links = ["radio-north", "radio-south"]
at = ["1.5 s", "2.5 s", "3.5 s", "4.5 s"]
gap = "20 ms"
[[agents]]
at = "north"
wireless = "radio-north"
kind = "snoop"
handoff = "transfer"
[[agents]]
at = "south"
wireless = "radio-south"
kind = "snoop"
handoff = "transfer"
[[flows]]
from = "server"
to = "client"
size = "1 MB"
"""
"""Two stations with snoop, and a host that changes between them each second."""


def test_a_kernel_gets_each_byte_while_its_host_moves(tmp_path: Path) -> None:
    """Packets pass either station; snoop repairs at both, and its cache moves with the host."""
    out = tmp_path / "digest"
    done = fl.emulate(
        tomllib.loads(WALK),
        python(FETCH, str(out)),
        host="client",
        servers=[("server", python(SERVE, str(SIZE)))],
    )
    assert (done.exit_code, done.missing) == (0, 0)
    assert out.read_text() == RIGHT
    (moves,) = done.data["handoffs"]
    assert moves["metrics"]["handoffs"] == 4
    assert moves["metrics"]["bytes_transferred"] > 0
    repaired = [agent["metrics"]["local_retransmissions"] for agent in done.data["agents"]]
    assert min(repaired) > 0


@pytest.mark.long
def test_agents_are_switched_while_a_host_moves(tmp_path: Path) -> None:
    """Agents are switched off and on while a host moves.

    Snoop is switched off at one station, while the host is at either. All bytes arrive, and from
    then on only the other station repairs.
    """
    file, serve, fetch = (tmp_path / name for name in ("walk.toml", "serve.py", "fetch.py"))
    out = tmp_path / "digest"
    file.write_text(WALK.replace('"transfer"', '"lose"'))
    serve.write_text(SERVE)
    fetch.write_text(FETCH)
    command = [*FARLINK, "emulate", str(file), "--quiet", "--in", "client"]
    command += ["--at", f"server:{sys.executable} {serve} {SIZE}"]
    with subprocess.Popen([*command, "--", sys.executable, str(fetch), str(out)]) as process:
        try:
            item = started(process.pid)
            assert ctl(item, "set", "agents.0.enabled=false").returncode == 0
            result = item.stats()["agents"]
            before = result[0]["metrics"]["local_retransmissions"]
            last = result
            while process.poll() is None:
                time.sleep(0.1)
                try:
                    last = item.stats()["agents"]
                except fl.ScenarioError:  # the transfer ends
                    break
            assert process.wait(timeout=60) == 0
        finally:
            process.terminate()
    assert out.read_text() == RIGHT
    assert last[0]["metrics"]["local_retransmissions"] == before
    assert last[1]["metrics"]["local_retransmissions"] > 0
