"""Programs over emulated links.

The tests create network namespaces and TUN devices. Without the right to create them they are
skipped, with that reason.
"""

import ctypes
import hashlib
import json
import math
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import farlink as fl

FARLINK = [sys.executable, "-m", "farlink"]
NAMES = Path("/run/netns")


def _missing() -> str:
    if sys.platform != "linux":
        return "not Linux"
    if os.geteuid() != 0:
        return "not root"
    try:
        os.close(os.open("/dev/net/tun", os.O_RDWR))
        subprocess.run(
            [shutil.which("unshare") or "unshare", "-n", "true"], check=True, capture_output=True
        )
    except (OSError, subprocess.CalledProcessError) as error:
        return str(error)
    return ""


def _names_of_its_own() -> None:
    """Give each worker of pytest-xdist its own /run, which has the names of runs.

    Tests read the names of namespaces and sockets in /run. In the machine's /run they would see the
    runs of other workers.
    """
    if "PYTEST_XDIST_WORKER" not in os.environ or _missing():
        return
    new_mount_namespace = 0x00020000  # CLONE_NEWNS
    if ctypes.CDLL(None).unshare(new_mount_namespace) != 0:
        raise OSError("a worker cannot have a mount namespace of its own")
    for command in (
        ["mount", "--make-rprivate", "/"],
        ["mount", "-t", "tmpfs", "-o", "mode=755", "run", "/run"],
    ):
        subprocess.run(command, check=True)


_names_of_its_own()
pytestmark = pytest.mark.skipif(bool(_missing()), reason=f"emulation: {_missing()}")


def path(delay: str = "10 ms", rate: str = "20 Mbit/s", **channel: float) -> dict[str, Any]:
    """Two hosts and a router between them."""
    there = {"rate": rate, "delay": delay, "queue": {"packets": 1000}}
    return {
        "links": [
            {"between": ["server", "router"], "down": {"rate": "1 Gbit/s", "delay": "0 ms"}},
            {
                "name": "far",
                "between": ["router", "client"],
                "down": {**there, "channel": channel},
                "up": there,
            },
        ],
        "flows": [{"from": "server", "to": "client", "size": "1 MB"}],
    }


def python(script: str, *arguments: str) -> list[str]:
    return [sys.executable, "-c", script, *arguments]


ECHO = """
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("", 7))
while True:
    data, to = s.recvfrom(65536)
    s.sendto(data, to)
"""
PING = """
import json, socket, sys, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.settimeout(5)
times = []
for i in range(10):
    at = time.monotonic()
    s.sendto(b"x" * 56, ("server", 7))
    s.recv(100)
    times.append(time.monotonic() - at)
open(sys.argv[1], "w").write(json.dumps(times))
"""
BLAST = """
import socket, sys, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for i in range(int(sys.argv[1])):
    s.sendto(bytes(100), ("client", 9))
    time.sleep(0.0005)
time.sleep(0.5)
"""
NOISE = """
import os, random, socket, subprocess, sys
random.seed(1)
s = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, 0x0800)
to = ("farlink0", 0x0800)
for size in (1, 19, 20, 21, 60, 1400):
    for _ in range(50):
        s.sendto(random.randbytes(size), to)
good = bytes.fromhex("450000140000000040110000" "0a000003" "0a000001")
def mended(b):
    b = bytearray(b); b[10:12] = b"\\0\\0"
    x = sum(int.from_bytes(b[i:i+2], "big") for i in range(0, 20, 2))
    x = (x & 0xffff) + (x >> 16); x = (x & 0xffff) + (x >> 16)
    b[10:12] = (~x & 0xffff).to_bytes(2, "big"); return bytes(b)
s.sendto(good, to)                                      # a wrong checksum
s.sendto(mended(good[:6] + b"\\x20\\x01" + good[8:]), to)  # a fragment of nothing
s.sendto(mended(good[:16] + bytes([10, 9, 9, 9])), to)  # to nobody
s.sendto(mended(good), to)                              # UDP without a header
s.sendto(b"\\x60" + bytes(39), to)                       # IPv6
s.sendto(b"\\xff" * 1500, to)
"""


@pytest.mark.parametrize("delay_ms", [10, 50, 250])
def test_a_round_trip_takes_twice_the_delay(delay_ms: int, tmp_path: Path) -> None:
    """Replies never come earlier; a busy machine may delay them, which is not judged here."""
    times = tmp_path / "times.json"
    done = fl.emulate(
        path(f"{delay_ms} ms"),
        python(PING, str(times)),
        host="client",
        servers=[("server", python(ECHO))],
    )
    assert done.exit_code == 0
    # 84 and 112 bytes at 20 Mbit/s and 1 Gbit/s take less than 0.1 ms.
    least = min(json.loads(times.read_text()))
    assert 2e-3 * delay_ms <= least < 2e-3 * delay_ms + 0.1


def test_packets_wait_for_the_end_of_an_outage(tmp_path: Path) -> None:
    """Ten round trips take longer than the 100 ms between two outages of 200 ms."""
    times = tmp_path / "times.json"
    outage: Any = {"duration": "200 ms", "period": "300 ms", "packets": "hold"}
    done = fl.emulate(
        path("20 ms", outage=outage),
        python(PING, str(times)),
        host="client",
        servers=[("server", python(ECHO))],
    )
    assert done.exit_code == 0
    # Replies come 40 ms apart, so a reply meets each outage within its first 40 ms.
    longest = max(json.loads(times.read_text()))
    assert 0.18 < longest < 0.24 + 0.1


def test_a_transfer_arrives_whole_over_a_lossy_link() -> None:
    done = subprocess.run(
        [*FARLINK, "emulate", "geo-lossy", "--transfer", "200kB", "--set", "seed=3"],
        capture_output=True,
        text=True,
        check=True,
    )
    report = json.loads(done.stdout)
    assert report["correct"] is True
    assert report["bytes"] == 200_000
    assert "satellite" in done.stderr
    assert "ended before" not in done.stderr  # the sender exits after its transfer


def test_losses_are_those_of_the_channel_and_every_packet_is_accounted_for() -> None:
    sent = 2000
    done = fl.emulate(path(loss=0.1), python(BLAST, str(sent)), host="server")
    (down,) = (
        row["metrics"]
        for row in done.data["links"]
        if (row["link"], row["direction"]) == ("far", "down")
    )
    hosts = {row["host"]: row for row in done.data["hosts"]}
    assert hosts["server"]["sent"] == sent
    assert down["drops_loss"] + hosts["client"]["delivered"] == sent
    assert abs(down["drops_loss"] - 0.1 * sent) < 4 * math.sqrt(0.09 * sent)


def test_results_go_to_standard_output_where_that_is_asked_for(tmp_path: Path) -> None:
    done = subprocess.run(
        [*FARLINK, "emulate", "geo-omueti2007", "--json", "-", "--quiet", "--", "true"],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
    )
    assert json.loads(done.stdout)["exit_code"] == 0
    assert list(tmp_path.iterdir()) == []


def test_what_is_no_option_is_refused() -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'colour'"):
        fl.emulate(path(), ["true"], colour="red")  # type: ignore[call-arg]
    with pytest.raises(fl.ScenarioError, match="host has no effect on a transfer"):
        fl.emulation.transfer(path(), "1 kB", host="client")


def test_nothing_is_left_behind_and_the_exit_code_is_the_programs() -> None:
    before = set(NAMES.iterdir()) if NAMES.exists() else set()
    done = fl.emulate(path(), ["sh", "-c", "sleep 1000 & exit 7"], host="client")
    assert done.exit_code == 7
    assert (set(NAMES.iterdir()) if NAMES.exists() else set()) == before


def test_a_hundred_hosts_start_and_end() -> None:
    pairs = [(f"a{number}", f"b{number}") for number in range(50)]
    way = {"rate": "10 Mbit/s", "delay": "1 ms"}
    scenario = {
        "links": [{"between": pair, "down": way, "up": way} for pair in pairs],
        "flows": [{"from": a, "to": b, "size": "1 MB"} for a, b in pairs],
    }
    before = set(NAMES.iterdir()) if NAMES.exists() else set()
    script = """
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.settimeout(5)
s.sendto(b"x", ("b49", 7))
s.recv(10)
"""
    done = fl.emulate(scenario, python(script), host="a49", servers=[("b49", python(ECHO))])
    assert done.exit_code == 0
    assert len(done.data["hosts"]) == 100
    assert (set(NAMES.iterdir()) if NAMES.exists() else set()) == before


def test_more_hosts_may_have_more_files_open_than_was_allowed_before(tmp_path: Path) -> None:
    """A run of many hosts may open more files than the limit allowed before.

    farlink raises the limit if it may. If it may not, it reports the needed number before it
    creates anything.
    """
    pairs = [(f"a{number}", f"b{number}") for number in range(20)]
    way = {"rate": "10 Mbit/s", "delay": "1 ms"}
    scenario = tmp_path / "pairs.json"
    links = [{"between": pair, "down": way, "up": way} for pair in pairs]
    flows = [{"from": a, "to": b, "size": "1 MB"} for a, b in pairs]
    scenario.write_text(json.dumps({"links": links, "flows": flows}))
    emulate = shlex.join([*FARLINK, "emulate", str(scenario), "--quiet", "--", "true"])
    may = subprocess.run(["/bin/sh", "-c", f"ulimit -Sn 150; exec {emulate}"], check=False)
    assert may.returncode == 0
    # Root may raise even a hard limit where it has that right (CAP_SYS_RESOURCE).
    without = "setpriv --bounding-set -sys_resource --inh-caps -sys_resource"
    refused = subprocess.run(
        ["/bin/sh", "-c", f"ulimit -n 150; exec {without} {emulate}"],
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    assert refused.returncode == 1
    assert "40 hosts take up to 384 open files" in refused.stderr
    assert "ulimit -Hn 384" in refused.stderr
    assert refused.stderr.count("\n") == 1


def test_two_emulations_run_side_by_side() -> None:
    commands = [
        [*FARLINK, "emulate", "geo-omueti2007", "--transfer", "50kB", "--quiet"] for _ in range(2)
    ]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for command in commands]
    for emulation in running:
        out, _ = emulation.communicate(timeout=120)
        assert emulation.returncode == 0
        assert json.loads(out)["correct"] is True


def test_malformed_packets_are_counted_and_stop_nothing(tmp_path: Path) -> None:
    times = tmp_path / "times.json"
    script = NOISE + "\nexec(sys.argv[2])"
    done = fl.emulate(
        path(),
        python(script, str(times), PING),
        host="client",
        servers=[("server", python(ECHO))],
    )
    assert done.exit_code == 0
    assert len(json.loads(times.read_text())) == 10
    client = next(row for row in done.data["hosts"] if row["host"] == "client")
    assert client["not_ip"] >= 290
    # Packets to an unknown address reach the router, which has no route for them.
    (up,) = (
        row["metrics"]
        for row in done.data["links"]
        if (row["link"], row["direction"]) == ("far", "up")
    )
    assert up["drops_no_route"] == 1


USER_SPACE = ["--endpoint", "server=sack", "--endpoint", "client=sack"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--in", "moon", "--", "true"], 'there is no host "moon"; the hosts of this scenario'),
        (["--tcp", "nosuch", "--", "true"], 'cannot make "nosuch" the TCP of a host'),
        (["--tcp", "nosuch", "--", "true"], "as iperf3 -C nosuch does"),
        (
            ["--tcp", "reno", "--seconds", "1", *USER_SPACE],
            'tcp "reno" has no effect: all hosts are in user space',
        ),
        (["--transfer", "much"], "write a size such as 10MB"),
        (["--seconds", "-1"], "seconds is -1; write a time above 0"),
        (["--seconds", "nan"], "seconds is nan; write a time above 0"),
        (["--seconds", "1e300"], "up to 1e+09 s"),
        (["--snaplen", "80", "--", "true"], "has no effect without pcap"),
        (["--", "nosuchprogram"], 'there is no program "nosuchprogram"'),
        (["--", "/etc/passwd"], '"/etc/passwd" cannot be run: it is not executable'),
        (["--at", "server: nosuchprogram", "--", "true"], 'there is no program "nosuchprogram"'),
        (["--at", "server", "--", "true"], "not HOST: COMMAND"),
        ([], "write what is to run"),
    ],
)
def test_bad_input_is_one_line(arguments: list[str], message: str) -> None:
    done = subprocess.run(
        [*FARLINK, "emulate", "geo-omueti2007", *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert message in line


EMULATE = "emulate geo-omueti2007 -- true"
ATTACH = "emulate geo-omueti2007 --attach client=netns:/proc/1/ns/net"
KEY = bytes(32).hex() + hashlib.sha256(bytes(32)).hexdigest()[:8]
GATEWAY = f"gateway --join 127.0.0.1:9 --as client --key {KEY}"


@pytest.mark.parametrize(
    ("change", "command", "message"),
    [
        ("mount -t tmpfs none /dev", EMULATE, "there is no /dev/net/tun"),
        ("mount -t tmpfs none /etc", EMULATE, "there is no /etc/hosts"),
        *(
            ('set -- capsh --drop=cap_sys_admin -- -c "$*"', command, "CAP_SYS_ADMIN and")
            for command in (EMULATE, ATTACH, GATEWAY)
        ),
    ],
)
def test_what_the_machine_lacks_is_named(change: str, command: str, message: str) -> None:
    if "capsh" in change and not shutil.which("capsh"):
        pytest.skip("no capsh")
    apart = [shutil.which("unshare") or "unshare", "-m", "sh", "-c", f'{change}; exec "$@"', "sh"]
    done = subprocess.run(
        [*apart, *FARLINK, *command.split()],
        capture_output=True,
        text=True,
        check=False,
        timeout=8,
    )
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert message in line
