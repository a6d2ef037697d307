"""Mixed traffic for a long time: memory use is stable, and every packet is accounted for.

The long test takes an hour, or the number of seconds in FARLINK_ENDURANCE.
"""

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from test_emulate import FARLINK, path, pytestmark, python  # noqa: F401  (skips without the right)

import farlink as fl
from farlink import control

TRAFFIC = str(Path(__file__).with_name("traffic.py"))
SCENARIO = """
seed = 11

[[links]]
name = "lan"
between = ["server", "gateway"]
down = { rate = "100 Mbit/s", delay = "1 ms", queue = { packets = 1000 } }

# Loss, changed bits, copies and overtaking; routers cut what is long, or say that it is too long.
[[links]]
name = "satellite"
between = ["gateway", "station"]
[links.down]
rate = "8 Mbit/s"
delay = "40 ms"
mtu = "1200 B"
queue = { packets = 60 }
[links.down.channel]
loss = 0.002
corrupt = 0.002
duplicate = 0.002
reorder = { probability = 0.002, delay = "5 ms" }
[links.up]
rate = "4 Mbit/s"
delay = "40 ms"
mtu = "1300 B"
queue = { packets = 60 }
channel = { loss = 0.002, corrupt = 0.002, duplicate = 0.002 }

# A protocol of its own against the bit errors.
[[links]]
name = "radio"
between = ["station", "client"]
down = { rate = "10 Mbit/s", delay = "3 ms", queue = { packets = 100 }, channel = { ber = 1e-6 } }
up = { rate = "5 Mbit/s", delay = "3 ms", queue = { packets = 100 }, channel = { ber = 1e-6 } }
arq = { protocol = "mdlp", modulus = 128, window = 60, t200 = "100 ms", t205 = "5 ms", n2 = 3 }

[[flows]]
from = "server"
to = "client"
size = "1 MB"
"""
# Nodes 1 to 4 are server, gateway, station and client; no node has number 5.
ADDRESSES = [f"10.0.0.{number}" for number in (1, 2, 3, 5)]

CHANGES = [
    [("links.1.down.rate", "2 Mbit/s")],
    [("links.1.down.delay", "150 ms"), ("links.1.up.delay", "150 ms")],
    [("links.1.down.channel", "{ gilbert = { loss = 0.02, burst = 5 } }")],
    [("links.1.down.queue", "{ packets = 20 }")],
    [("links.1.down.rate", "8 Mbit/s"), ("links.1.down.delay", "20 ms")],
    [("links.1.down.channel", "{ loss = 0.001, duplicate = 0.01, corrupt = 0.005 }")],
    [("links.0.up.channel", "{ reorder = { probability = 0.01, delay = '2 ms' } }")],
    [("links.1.down.queue", "{ packets = 200 }"), ("links.1.up.delay", "20 ms")],
]


def resident(pid: int) -> int:
    """Return the resident memory of a running process in KiB."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1])
    raise AssertionError(f"process {pid} has no memory")


def entries(directory: str) -> int:
    return len(list(Path(directory).iterdir()))


def missing(packets: Mapping[str, int]) -> int:
    """Return the number of packets that were created and are in no count."""
    made = ("entered", "copied", "cut", "answered")
    result = ("left", "lost", "for_routers", "absorbed", "inside")
    return sum(packets[key] for key in made) - sum(packets[key] for key in result)


def check_balance(data: Mapping[str, Any]) -> None:
    """Check that the counts of hosts, links and network agree on every packet."""
    packets, hosts, links = data["packets"], data["hosts"], data["links"]
    assert missing(packets) == 0
    assert sum(row["sent"] for row in hosts) == packets["entered"]
    assert sum(row["delivered"] + row["refused"] for row in hosts) == packets["left"]
    assert sum(row["metrics"]["drops"] for row in links) == packets["lost"]
    causes = [
        count
        for row in links
        for name, count in row["metrics"].items()
        if name.startswith("drops_")
    ]
    assert sum(causes) == packets["lost"]


def endure(seconds: float, tmp_path: Path) -> dict[str, Any]:
    """Run the mixed traffic, sample the emulator meanwhile, and return all samples."""
    scenario, report, counted = (tmp_path / name for name in ("mixed.toml", "report", "counted"))
    scenario.write_text(SCENARIO)
    load = [sys.executable, TRAFFIC, "load", "server", str(seconds), str(counted), *ADDRESSES]
    command = [*FARLINK, "emulate", str(scenario), "--json", str(report), "--quiet"]
    command += ["--at", f"server: {sys.executable} {TRAFFIC} serve", "--in", "client", "--", *load]
    memory, files, threads, changes = [], [], [], 0
    began = time.monotonic()
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            next_change = 3.0
            while process.poll() is None:
                time.sleep(1)
                here = [
                    emulation for emulation in control.running() if emulation.pid == process.pid
                ]
                at = time.monotonic() - began
                if not here or at > seconds:
                    continue
                assert missing(here[0].stats()["packets"]) == 0
                if at > next_change:
                    next_change = at + max(2.0, seconds / 400)
                    here[0].channel(on=changes % 5 != 4, link="satellite")
                    here[0].set(CHANGES[changes % len(CHANGES)])
                    changes += 1
                time.sleep(0.1)  # until the engine has closed the connection
                memory.append(resident(process.pid))
                files.append(entries(f"/proc/{process.pid}/fd"))
                threads.append(entries(f"/proc/{process.pid}/task"))
        finally:
            process.kill()
        stderr = process.stderr.read() if process.stderr else ""
    assert process.returncode == 0, stderr
    return {
        "memory": memory,
        "files": files,
        "threads": threads,
        "changes": changes,
        "counted": json.loads(counted.read_text()),
        "data": json.loads(report.read_text()),
    }


def check(seen: Mapping[str, Any]) -> None:
    """Check that memory is stable, no packet is missing, and each kind of traffic occurred."""
    counted, data = seen["counted"], seen["data"]
    assert counted.get("wrong", 0) == 0
    assert counted["hung"] == 0
    for kind in ("bulk", "upload", "short", "echoes", "noise"):
        assert counted[kind] > 0, kind
    # Echoes, unreachable destinations and times exceeded.
    for kind in ("icmp 0", "icmp 3", "icmp 11"):
        assert counted[kind] > 0, kind
    check_balance(data)
    packets = data["packets"]
    for kind in ("copied", "cut", "answered", "for_routers", "lost"):
        assert packets[kind] > 0, kind
    # After 5 s of rest the kernels still retransmit on broken connections.
    assert packets["inside"] < 100
    client = next(row for row in data["hosts"] if row["host"] == "client")
    assert client["not_ip"] > 0
    assert seen["changes"] > 0
    # After the first third the process has all memory and files that it needs.
    memory, files, threads = (seen[key] for key in ("memory", "files", "threads"))
    third = len(memory) // 3
    assert max(files[third:]) - min(files[third:]) <= 1
    assert max(threads[third:]) == min(threads[third:])
    early, late = (statistics.median(part) for part in (memory[third : 2 * third], memory[-third:]))
    assert late - early < 1024, f"{early} KiB, then {late} KiB"


def test_half_a_minute_of_mixed_traffic(tmp_path: Path) -> None:
    check(endure(20, tmp_path))


@pytest.mark.long
def test_an_hour_of_mixed_traffic(tmp_path: Path) -> None:
    seen = endure(float(os.environ.get("FARLINK_ENDURANCE", "3600")), tmp_path)
    third = len(seen["memory"]) // 3
    middle, last = (
        statistics.median(part)
        for part in (seen["memory"][third : 2 * third], seen["memory"][-third:])
    )
    summary = {
        "seconds": seen["data"]["duration_s"],
        "packets": seen["data"]["packets"],
        "lateness": seen["data"]["lateness"],
        "counted": seen["counted"],
        "changes": seen["changes"],
        "resident_kib": {"first": seen["memory"][0], "middle": middle, "last": last},
        "files": [min(seen["files"]), max(seen["files"])],
    }
    sys.stdout.write(json.dumps(summary, indent=1) + "\n")
    check(seen)


COUNT = """
import socket, sys, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for i in range(3000):
    s.sendto(bytes(i % 1400), ("client", 9))
noise = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, 0x0800)
for i in range(100):
    noise.sendto(bytes(50), ("farlink0", 0x0800))
time.sleep(1)
(line,) = [line for line in open("/proc/net/dev") if "farlink0" in line]
open(sys.argv[1], "w").write(line.partition(":")[2])
"""


def test_the_engine_has_every_packet_that_the_kernel_handed_over(tmp_path: Path) -> None:
    """A device that passes one packet at a time allows a comparison with the kernel's own count."""
    out = tmp_path / "dev"
    done = fl.emulate(path(), python(COUNT, str(out)), host="server", plain=True)
    columns = out.read_text().split()
    got, sent, dropped = int(columns[1]), int(columns[9]), int(columns[11])
    server = next(row for row in done.data["hosts"] if row["host"] == "server")
    assert dropped == 0
    assert sent >= 3100
    assert server["sent"] + server["not_ip"] + server["no_host"] == sent
    assert server["not_ip"] == 100
    assert server["delivered"] == got
    check_balance(done.data)
