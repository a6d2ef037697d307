"""Existing machines as hosts: behind interfaces and bridges, and in foreign namespaces."""

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from test_emulate import ECHO, FARLINK, path, pytestmark  # noqa: F401  (skips without the right)
from test_endings import (  # noqa: F401  (the fixture is of all tests)
    carries,
    heeds_signals,
    scenario_file,
    stop_while,
    until,
)

import farlink as fl

IP = shutil.which("ip", path="/usr/sbin:/sbin:/usr/bin:/bin") or ""
needs_ip = pytest.mark.skipif(not IP, reason="no ip(8) to make an interface with")


def ip(*arguments: str) -> str:
    done = subprocess.run([IP, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, (arguments, done.stderr)
    return done.stdout


def set_ipv6(device: str, key: str, value: int) -> None:
    with suppress(FileNotFoundError):  # a kernel without IPv6
        Path(f"/proc/sys/net/ipv6/conf/{device}/{key}").write_text(str(value))


class Machine:
    """A foreign namespace with one end of a cable; the other end is in the test's namespace."""

    def __init__(self) -> None:
        self.programs: list[subprocess.Popen[bytes]] = []
        self.name = f"else-{os.getpid()}"
        self.cable = f"cable{os.getpid() % 10**6}"
        ip("netns", "add", self.name)
        self.plug()

    def plug(self) -> None:
        ip("link", "add", self.cable, "type", "veth", "peer", "eth0", "netns", self.name)
        # The kernel assigns its own addresses a second later.
        set_ipv6(self.cable, "disable_ipv6", 1)
        ip("link", "set", self.cable, "up")
        file = "/proc/sys/net/ipv6/conf/eth0/accept_dad"
        ip("netns", "exec", self.name, "sh", "-c", f"echo 0 >{file}")
        ip("-n", self.name, "link", "set", "eth0", "up")

    def has(self, *addresses: str) -> None:
        for address in addresses:
            ip("-n", self.name, "addr", "add", address, "dev", "eth0", *_SURE[":" in address])

    def ip(self, *arguments: str) -> str:
        return ip("-n", self.name, *arguments)

    def serve(self) -> None:
        """Start a program that sends all received bytes back in reverse order."""
        command = [IP, "netns", "exec", self.name, sys.executable, "-c", TURN]
        self.programs.append(subprocess.Popen(command))
        until(lambda: ":1388 " in ip("netns", "exec", self.name, "cat", "/proc/net/tcp6"))

    def gone(self) -> None:
        for program in self.programs:
            program.kill()
            program.wait()
        with suppress(AssertionError):
            ip("link", "del", self.cable)
        ip("netns", "del", self.name)


# "nodad" makes an IPv6 address usable at once, without duplicate address detection.
_SURE = {True: ["nodad"], False: []}


@pytest.fixture
def machine() -> Iterator[Machine]:
    made = Machine()
    try:
        yield made
    finally:
        made.gone()


def state(device: str, *where: str) -> str:
    """Return the state of an interface, its addresses and routes, and the ports of a bridge."""
    looks = [("link", "show"), ("addr", "show"), ("route", "show", "table", "all")]
    looks += [("-6", "route", "show", "table", "all")]
    all_of = [ip(*where, "-d", *look, "dev", device) for look in looks]
    all_of.append(ip(*where, "-o", "link", "show", "master", device))
    text = re.sub(r"timer +[0-9.]+", "", "\n".join(all_of))
    return "\n".join(" ".join(line.split()) for line in text.splitlines())


def inside(machine: Machine) -> str:
    return state("eth0", "-n", machine.name) + ip("-n", machine.name, "-br", "link")


TALK = """
import hashlib, json, socket, sys
family, far = (socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET), sys.argv[1]
data = bytes(range(256)) * 2000
s = socket.socket(family, socket.SOCK_STREAM)
s.settimeout(8)
s.connect((far, 5000))
s.sendall(data)
s.shutdown(socket.SHUT_WR)
got = b""
while part := s.recv(1 << 16):
    got += part
print(json.dumps(hashlib.sha256(got).hexdigest() == hashlib.sha256(data[::-1]).hexdigest()))
"""
TURN = """
import socket
listener = socket.create_server(("::", 5000), family=socket.AF_INET6, dualstack_ipv6=True)
while True:
    s, _ = listener.accept()
    got = b""
    while part := s.recv(1 << 16):
        got += part
    s.sendall(got[::-1])
    s.close()
"""


def talk(far: str) -> list[str]:
    return [sys.executable, "-c", TALK, far]


@needs_ip
def test_a_machine_behind_an_interface_is_a_host(machine: Machine) -> None:
    """A machine behind an interface is a host of the emulation.

    The machine finds the other hosts by ARP. TCP works both ways, with segments of many packets.
    The interface is unchanged afterwards.
    """
    machine.has("10.0.0.3/24")
    before = state(machine.cable)
    machine.serve()
    done = fl.emulate(
        path("2 ms"), talk("10.0.0.3"), host="server", attach={"client": machine.cable}
    )
    assert done.exit_code == 0
    assert state(machine.cable) == before
    rows = {row["host"]: row for row in done.data["hosts"]}
    assert rows["client"]["attached"] == machine.cable
    assert rows["client"]["sent"] > 300
    assert done.missing == 0


@needs_ip
@pytest.mark.parametrize("by", ["netns", "container"])
def test_somebody_elses_namespace_is_a_host(
    by: str, machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A foreign namespace or container is a host of the emulation.

    The namespace has one more device during the run, and is unchanged afterwards. Docker names the
    first process of a container.
    """
    machine.has("192.0.2.7/24")
    before = inside(machine)
    machine.serve()
    name = machine.name
    if by == "container":
        docker = tmp_path / "docker"
        docker.write_text(f"#!/bin/sh\ntest $7 = box && echo {machine.programs[0].pid}\n")
        docker.chmod(0o755)
        monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
        name = "box"
        with pytest.raises(fl.ScenarioError, match="docker: exit code 1"):
            fl.emulate(path(), ["true"], attach={"client": "container:other"})
        # Until `ip` has entered the machine's namespace, the program is in this one.
        until(lambda: machine.name in ip("netns", "identify", str(machine.programs[0].pid)))
    done = fl.emulate(
        path("2 ms"), talk("10.0.0.3"), host="server", attach={"client": f"{by}:{name}"}
    )
    assert done.exit_code == 0
    assert inside(machine) == before
    assert done.missing == 0


@needs_ip
def test_a_machine_at_a_bridge_is_a_host_and_a_killed_run_leaves_no_port(
    machine: Machine, tmp_path: Path
) -> None:
    machine.has("10.0.0.3/24")
    bridge = f"br{os.getpid() % 10**6}"
    ip("link", "add", bridge, "type", "bridge")
    try:
        set_ipv6(bridge, "disable_ipv6", 1)
        ip("link", "set", bridge, "up")
        # The MTU of a bridge is the least MTU of its ports.
        ip("link", "set", machine.cable, "mtu", "2000", "master", bridge)
        before = state(bridge)
        assert " mtu 2000 " in before
        machine.serve()
        attach = {"client": f"bridge:{bridge}"}
        wrong("client is at it already, and the two", {**attach, "server": f"bridge:{bridge}"})
        done = fl.emulate(path("2 ms"), talk("10.0.0.3"), host="server", attach=attach)
        assert done.exit_code == 0
        assert state(bridge) == before
        scenario = scenario_file(tmp_path)
        option = f"client=bridge:{bridge}"
        run = subprocess.Popen([*FARLINK, "emulate", str(scenario), "--attach", option])
        until(lambda: carries(run.pid))
        assert " farlink" in state(bridge)
        assert " mtu 2000 " in ip("link", "show", "dev", bridge)
        run.kill()
        run.wait()
        until(lambda: state(bridge) == before)
    finally:
        ip("link", "del", bridge)


@needs_ip
def test_a_device_that_is_taken_away_ends_the_run_with_one_line(
    machine: Machine, tmp_path: Path
) -> None:
    option = f"client=netns:{machine.name}"
    command = [*FARLINK, "emulate", str(scenario_file(tmp_path)), "--attach", option]
    run = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    until(lambda: carries(run.pid))
    machine.ip("link", "del", "farlink0")
    _, output = run.communicate(timeout=30)
    assert (run.returncode, output.count("\n")) == (1, 1), output
    assert "the device of client is gone: somebody took it away" in output


def attached(machine: Machine, tmp_path: Path) -> "subprocess.Popen[bytes]":
    """Run an emulation whose client is the machine behind the cable; end it with Ctrl-C."""
    options = ["--quiet", "--attach", f"client={machine.cable}"]
    return subprocess.Popen([*FARLINK, "emulate", str(scenario_file(tmp_path)), *options])


@needs_ip
def test_an_interface_that_goes_and_comes_is_the_host_again(
    machine: Machine, tmp_path: Path
) -> None:
    """An interface may go down and up, or be removed and created anew with another machine."""
    machine.has("10.0.0.3/24")
    machine.serve()
    run = attached(machine, tmp_path)
    try:
        until(lambda: carries(run.pid))
        running = fl.control.find(str(run.pid))
        assert running.execute("server", talk("10.0.0.3")) == 0
        ip("link", "set", machine.cable, "down")
        ip("link", "set", machine.cable, "up")
        assert running.execute("server", talk("10.0.0.3")) == 0
        ip("link", "del", machine.cable)
        machine.plug()
        machine.ip("link", "set", "eth0", "address", "02:00:00:00:00:77")
        machine.has("10.0.0.3/24")
        assert running.execute("server", talk("10.0.0.3")) == 0
        # Only in this mode does a real interface receive frames for other addresses.
        assert " promiscuity 1 " in ip("-d", "link", "show", "dev", machine.cable)
    finally:
        run.send_signal(signal.SIGINT)
        assert run.wait(30) == 130


HEAR = """
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("", 9))
while True:
    print(s.recv(100).decode(), flush=True)
"""
SAY = """
import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for _ in range(int(sys.argv[2])):
    s.sendto(sys.argv[1].encode(), ("10.0.0.3", 9))
"""


@needs_ip
def test_a_packet_waits_three_seconds_for_its_machine(machine: Machine, tmp_path: Path) -> None:
    """A packet waits up to three seconds for a machine that does not answer ARP.

    farlink asks for the machine again without another packet. It drops packets that are older than
    three seconds, and packets beyond a hundred; waiting packets count as refused.
    """
    command = [IP, "netns", "exec", machine.name, sys.executable, "-c", HEAR]
    received = tmp_path / "heard"
    with received.open("w") as out:
        machine.programs.append(subprocess.Popen(command, stdout=out))
    run = attached(machine, tmp_path)
    try:
        until(lambda: carries(run.pid))
        running = fl.control.find(str(run.pid))

        def client() -> tuple[int, int]:
            row = next(row for row in running.stats()["hosts"] if row["host"] == "client")
            return row["delivered"], row["refused"]

        assert running.execute("server", [sys.executable, "-c", SAY, "lost", "105"]) == 0
        until(lambda: client() == (0, 105))
        time.sleep(3.2)
        assert running.execute("server", [sys.executable, "-c", SAY, "found", "1"]) == 0
        time.sleep(0.2)
        machine.has("10.0.0.3/24")
        until(lambda: received.read_text() != "")
        assert received.read_text() == "found\n"
        assert client() == (1, 105)
    finally:
        run.send_signal(signal.SIGINT)
        assert run.wait(30) == 130


TRIPS = """
import socket, sys, time
from pathlib import Path
where = Path(sys.argv[1])
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.settimeout(5)
def trip(sent):
    began = time.monotonic()
    s.sendto(b"x", ("10.0.0.1", 7))
    (where / sent).touch()
    s.recv(1)
    return time.monotonic() - began
trip("found")
(where / "ready").touch()
while not (where / "go").exists():
    time.sleep(0.01)
(where / "part").write_text(str(trip("sent")))
(where / "part").rename(where / "took")
"""


@needs_ip
@pytest.mark.parametrize("by", ["interface", "bridge", "netns"])
def test_a_machines_packets_are_delayed_from_when_they_came(
    by: str, machine: Machine, tmp_path: Path
) -> None:
    """In a round trip of 0.6 s nobody reads the machine's packets for the first 0.3 s."""
    bridge = f"br{os.getpid() % 10**6}"
    scenario = tmp_path / "path.json"
    scenario.write_text(json.dumps(path("300 ms")))
    echo = shlex.join([sys.executable, "-c", ECHO])
    what = {
        "interface": machine.cable,
        "bridge": f"bridge:{bridge}",
        "netns": f"netns:{machine.name}",
    }[by]
    options = ["--attach", f"client={what}", "--at", f"server: {echo}", "--in", "server"]
    try:
        if by != "netns":
            machine.has("10.0.0.3/24")
        if by == "bridge":
            ip("link", "add", bridge, "type", "bridge")
            set_ipv6(bridge, "disable_ipv6", 1)
            ip("link", "set", bridge, "up")
            ip("link", "set", machine.cable, "master", bridge)
        run = subprocess.Popen([*FARLINK, "emulate", str(scenario), *options, "--seconds", "30"])
        until(lambda: carries(run.pid))
        trips = [sys.executable, "-c", TRIPS, str(tmp_path)]
        machine.programs.append(subprocess.Popen([IP, "netns", "exec", machine.name, *trips]))
        stop_while(run, tmp_path, 0.3)
        until((tmp_path / "took").exists)
        run.send_signal(signal.SIGINT)
        assert run.wait(20) == 130
        assert 0.6 <= float((tmp_path / "took").read_text()) < 0.75
    finally:
        if by == "bridge":
            ip("link", "del", bridge)


FLOOD = """
import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for _ in range(10_000):
    s.sendto(bytes(1000), ("10.0.0.1", 9))
"""


@needs_ip
def test_frames_that_come_faster_than_they_are_read_are_counted(
    machine: Machine, tmp_path: Path
) -> None:
    """The machine sends ten megabytes while farlink is stopped; the buffer holds three."""
    machine.has("10.0.0.3/24")
    machine.serve()
    run = attached(machine, tmp_path)
    try:
        until(lambda: carries(run.pid))
        running = fl.control.find(str(run.pid))
        assert running.execute("server", talk("10.0.0.3")) == 0

        def client() -> tuple[int, int]:
            row = next(row for row in running.stats()["hosts"] if row["host"] == "client")
            return row["sent"], row["overflowed"]

        before = client()
        run.send_signal(signal.SIGSTOP)
        ip("netns", "exec", machine.name, sys.executable, "-c", FLOOD)
        run.send_signal(signal.SIGCONT)
        until(lambda: sum(client()) - sum(before) >= 10_000)
        assert client()[1] > 1000
    finally:
        run.send_signal(signal.SIGCONT)
        run.send_signal(signal.SIGINT)
        assert run.wait(30) == 130


@needs_ip
def test_programs_join_hosts_whose_namespaces_have_no_name_here(
    machine: Machine, tmp_path: Path
) -> None:
    """Programs can join hosts whose namespaces have no visible name.

    The first run was started by `ip netns exec`, whose mounts other processes do not see. The
    second has a foreign namespace whose name was removed meanwhile.
    """
    scenario = scenario_file(tmp_path)
    lent = f"lent-{os.getpid()}"
    ip("netns", "add", lent)
    options = ["--attach", f"client=netns:{lent}", "--quiet", "--seconds", "30"]
    command = [IP, "netns", "exec", machine.name, *FARLINK, "emulate", str(scenario), *options]
    run = subprocess.Popen(command)
    try:
        until(lambda: carries(run.pid))
        ip("netns", "del", lent)
        running = fl.control.find(str(run.pid))
        for host in ("server", "client"):
            look = [IP, "-br", "address", "show", "dev", "farlink0"]
            assert running.execute(host, look) == 0
    finally:
        with suppress(AssertionError):
            ip("netns", "del", lent)
        run.send_signal(signal.SIGINT)
        assert run.wait(30) == 130


def wrong(match: str, attach: dict[str, str], **options: Any) -> None:  # noqa: ANN401 (those of emulate)
    with pytest.raises(fl.ScenarioError, match=match) as error:
        fl.emulate(path(), ["true"], attach=attach, **options)
    assert "\n" not in str(error.value)


@needs_ip
def test_what_cannot_be_attached_is_refused_before_anything_is_made(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = state(machine.cable)
    cable, other = machine.cable, f"netns:{machine.name}"
    wrong("no such interface; there are .*lo", {"client": "eth77"})
    wrong("there is no host 'office'|there is no host \"office\"", {"office": cable})
    wrong("no such namespace", {"client": "netns:nobody"})
    wrong("/etc/hosts is no network namespace", {"client": "netns:/etc/hosts"})
    wrong("write an interface .eth1., bridge:NAME", {"client": "wire:3"})
    wrong("it is no bridge", {"client": f"bridge:{cable}"})
    wrong("it is no Ethernet", {"client": "lo"})
    wrong("it is server already", {"server": cable, "client": cable})
    wrong("it is server already", {"server": other, "client": other})
    wrong("write one of the two", {"client": cable}, endpoints={"client": "reno"})
    wrong("the machine's own network", {"client": "netns:/proc/self/ns/net"})
    wrong("a machine behind", {"client": cable}, host="client")
    wrong("has no effect", {"client": cable, "server": other}, tcp="reno")
    ip("link", "set", cable, "mtu", "1400")
    wrong(f"ip link set {cable} mtu 1500", {"client": cable})
    ip("link", "set", cable, "mtu", "1500", "down")
    wrong(f"ip link set {cable} up", {"client": cable})
    ip("link", "set", cable, "up")
    machine.has("10.0.0.99/16")
    wrong("its eth0 has the address 10.0.0.99", {"client": other})
    monkeypatch.setenv("PATH", "")
    wrong("neither docker nor podman", {"client": "container:box"})
    assert state(machine.cable) == before


@needs_ip
def test_the_machines_own_connection_and_what_another_run_has_are_refused(
    machine: Machine, tmp_path: Path
) -> None:
    """The run is in the machine's namespace, whose only connection is eth0; Ctrl-C ends the run."""
    machine.has("192.0.2.7/24")
    ip("-n", machine.name, "route", "add", "default", "via", "192.0.2.1")
    before = inside(machine)
    scenario = scenario_file(tmp_path)
    command = [IP, "netns", "exec", machine.name, *FARLINK, "emulate", str(scenario)]
    command += ["--quiet", "--attach", "client=eth0"]
    refused = subprocess.run(command, capture_output=True, text=True, check=False, timeout=30)
    assert refused.returncode == 2
    assert refused.stderr.count("\n") == 1
    assert "default route goes by it; --force" in refused.stderr
    run = subprocess.Popen([*command, "--force"])
    until(lambda: carries(run.pid))
    second = subprocess.run(
        [*command, "--force"], capture_output=True, text=True, check=False, timeout=30
    )
    assert second.returncode == 2
    assert "another emulation has it" in second.stderr
    run.send_signal(signal.SIGINT)
    assert run.wait(30) == 130
    assert inside(machine) == before


SESSION = """
import os, socket, time
listener = socket.create_server(("192.0.2.7", 22))
far = socket.create_connection(("192.0.2.7", 22))
os.write(1, b".")
time.sleep(60)
"""


@needs_ip
@pytest.mark.parametrize("way", ["IPv4", "IPv6", "session", "login"])
def test_what_the_machine_is_reached_by_is_not_attached(
    way: str, machine: Machine, tmp_path: Path
) -> None:
    """Refused are interfaces with a default route (IPv4 or IPv6) or an SSH connection."""
    machine.has("192.0.2.7/24", "2001:db8::7/64")
    reason, environment = "default route goes by it", {}
    if way == "IPv4":
        machine.ip("route", "add", "default", "via", "192.0.2.1")
    elif way == "IPv6":
        machine.ip("-6", "route", "add", "default", "via", "2001:db8::1", "dev", "eth0")
    else:
        reason = "an SSH session comes by it"
    if way == "login":
        environment = {"SSH_CONNECTION": "192.0.2.1 50000 192.0.2.7 2222"}
    if way == "session":
        machine.ip("link", "set", "lo", "up")
        command = [IP, "netns", "exec", machine.name, sys.executable, "-c", SESSION]
        login = subprocess.Popen(command, stdout=subprocess.PIPE)
        machine.programs.append(login)
        assert login.stdout is not None
        assert login.stdout.read(1) == b"."
        login.stdout.close()
    before = inside(machine)
    scenario = scenario_file(tmp_path)
    command = [IP, "netns", "exec", machine.name, *FARLINK, "emulate", str(scenario)]
    refused = subprocess.run(
        [*command, "--seconds", "1", "--attach", "client=eth0"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environment},
    )
    assert (refused.returncode, refused.stderr.count("\n")) == (2, 1), refused.stderr
    assert reason in refused.stderr
    assert inside(machine) == before
