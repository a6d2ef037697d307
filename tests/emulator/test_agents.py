"""Agents in an emulation, switched on and off during traffic and captured on both sides.

Skipped on machines that cannot emulate.
"""

import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from test_control import ctl
from test_emulate import FARLINK, pytestmark  # noqa: F401  (skips without the right)

import farlink as fl
from farlink import control

SCENARIO = """
[[links]]
between = ["server", "base"]
down = { rate = "10 Mbit/s", delay = "10 ms" }
[[links]]
name = "radio"
between = ["base", "client"]
down = { rate = "2 Mbit/s", delay = "2 ms", channel = { loss = 0.05 } }
up = { rate = "2 Mbit/s", delay = "2 ms" }
[[agents]]
at = "base"
wireless = "radio"
kind = "snoop"
[[flows]]
from = "server"
to = "client"
size = "1 MB"
"""
SERVE = """
import socket
with socket.create_server(("", 9001)) as listener:
    connection, _ = listener.accept()
    while True:
        connection.sendall(bytes(1 << 16))
"""
FETCH = """
import socket, time
while True:
    try:
        s = socket.create_connection(("server", 9001), timeout=60)
        break
    except OSError:
        time.sleep(0.1)
while s.recv(1 << 16):
    pass
"""


def counted(running: control.Running) -> tuple[float, float]:
    """Return how many packets the agent has retransmitted, and its link lost, so far."""
    stats: dict[str, Any] = running.stats()
    (agent,) = stats["agents"]
    (radio,) = (
        row["metrics"]
        for row in stats["links"]
        if (row["link"], row["direction"]) == ("radio", "down")
    )
    return agent["metrics"]["local_retransmissions"], radio["drops_loss"] or 0.0


def test_an_agent_is_switched_while_packets_cross_it(tmp_path: Path) -> None:
    """Snoop retransmits the packets that its link loses, but only while it is switched on.

    The link loses packets before, during and after the time without snoop. Captures on both sides
    show the same retransmissions.
    """
    file, captures = tmp_path / "snoop.toml", tmp_path / "captures"
    file.write_text(SCENARIO)
    captures.mkdir()
    server = tmp_path / "serve.py"
    server.write_text(SERVE)
    command = [
        *FARLINK,
        "emulate",
        str(file),
        "--quiet",
        "--pcap",
        str(captures),
        "--snaplen",
        "64",
    ]
    command += ["--in", "client", "--at", f"server:{sys.executable} {server}"]
    with subprocess.Popen([*command, "--", sys.executable, "-c", FETCH]) as process:
        try:
            item = started(process.pid)
            on, lost = _after(item, (0.0, 0.0))
            assert on > 0 < lost
            assert ctl(item, "set", "agents.0.enabled=false").returncode == 0
            before = counted(item)
            off, lost = _after(item, before)
            assert (off, lost > 0) == (0, True)
            assert "agents.0.enabled=false" in ctl(item, "show").stdout
            assert ctl(item, "set", "agents.0.enabled=true").returncode == 0
            again, _ = _after(item, counted(item))
            assert again > 0
        finally:
            process.terminate()
            process.wait()
    for side in ("wired", "wireless"):
        assert (captures / f"base@radio-{side}.pcapng").stat().st_size > 10_000


def started(pid: int) -> control.Running:
    for _ in range(600):
        for emulation in control.running():
            if emulation.pid == pid and _answers(emulation):
                return emulation
        time.sleep(0.05)
    pytest.fail("the emulation did not start")


def _answers(running: control.Running) -> bool:
    try:
        running.show()
    except fl.ScenarioError:  # starting
        return False
    return True


def _after(running: control.Running, before: tuple[float, float]) -> tuple[float, float]:
    """Return how many packets were retransmitted and lost until five more were lost."""
    for _ in range(300):
        now = counted(running)
        if now[1] >= before[1] + 5:
            break
        time.sleep(0.1)
    return now[0] - before[0], now[1] - before[1]
