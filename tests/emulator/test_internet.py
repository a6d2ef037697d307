"""A host that is the test machine itself, through which other hosts reach its network.

A namespace of the test stands for the Internet, and another for the machine of farlink.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from test_attach import IP, Machine, inside, ip, needs_ip
from test_emulate import FARLINK, path, pytestmark  # noqa: F401  (skips without the right)
from test_endings import scenario_file, until

import farlink as fl

NFT = shutil.which("nft") or ""
needs_nft = pytest.mark.skipif(not NFT, reason="no nft(8), by which NAT is set")

# A server that first tries to connect back to the hidden host through the machine. Then it reports
# the client's address, and the sender of the last datagram.
SERVE = """
import socket, threading
def serve(s, host):
    near = socket.socket(s.family, socket.SOCK_DGRAM)
    near.bind(("", 9))
    near.setblocking(False)
    while True:
        c, who = s.accept()
        stranger = socket.socket(s.family, socket.SOCK_DGRAM)
        stranger.sendto(b"stranger", (host, 7))
        seen = [who[0]]
        try:
            seen.append(near.recvfrom(100)[1][0])
        except BlockingIOError:
            pass
        c.sendall(" and ".join(seen).encode())
        data = b""
        while part := c.recv(1 << 16):
            data += part
        c.sendall(data)
        c.close()
"""
# The Internet also has a name server that knows one name.
INTERNET = f"""{SERVE}
def names():
    u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    u.bind(("192.0.2.1", 53))
    while True:
        q, to = u.recvfrom(512)
        end = q.index(0, 12) + 5
        is_ipv4 = q[end - 4:end - 2] == bytes([0, 1])
        answer = bytes.fromhex("c00c00010001000000000004") + socket.inet_aton("198.51.100.7")
        count = bytes([0, 1, 0, int(is_ipv4), 0, 0, 0, 0])
        u.sendto(q[:2] + b"\\x81\\x80" + count + q[12:end] + answer * is_ipv4, to)
threading.Thread(target=names, daemon=True).start()
serve(socket.create_server(("", 5000)), "10.0.0.3")
"""
SIXTH = f"""{SERVE}
serve(socket.create_server(("::", 5000), family=socket.AF_INET6), "fd66:6172:6c6b::3")
"""
LOOK = """
import json, os, socket, struct, sys, time
found = {}
def look(far, family):
    near = socket.socket(family, socket.SOCK_DGRAM)
    near.bind(("", 7))
    began = time.monotonic()
    s = socket.create_connection((far, 5000), 5)
    found["handshake_s"] = time.monotonic() - began
    found["seen_as"] = s.recv(100).decode()
    data = os.urandom(300_000)
    s.sendall(data)
    s.shutdown(socket.SHUT_WR)
    got = b""
    while part := s.recv(1 << 16):
        got += part
    found["right"] = got == data
    near.settimeout(0.1)
    try:
        found["stranger"] = near.recv(100).decode()
    except TimeoutError:
        found["stranger"] = None
"""
LOOK_FOURTH = f"""{LOOK}
found["name"] = socket.gethostbyname("far.example")
# A datagram that says it is from somebody who is no host.
own = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
ends = [socket.inet_aton(address) for address in ("203.0.113.5", found["name"])]
header = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 0, 0, 0, 64, 17, 0, *ends)
own.sendto(header + struct.pack("!HHHH", 7, 9, 8, 0), (found["name"], 0))
look(found["name"], socket.AF_INET)
raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
raw.settimeout(2)
def answer(hops):
    raw.setsockopt(socket.IPPROTO_IP, socket.IP_TTL, hops)
    message = struct.pack("!BBHHH", 8, 0, 0xffff - 8 * 256 - 7 - hops, 7, hops)
    raw.sendto(message, (found["name"], 0))
    return raw.recvfrom(2000)[1][0]
found["hops"] = [answer(hops) for hops in (1, 2, 3)]
print(json.dumps(found), file=open(sys.argv[1], "w"))
"""
LOOK_SIXTH = f"""{LOOK}
look("2001:db8:7::7", socket.AF_INET6)
raw = socket.socket(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_ICMPV6)
raw.settimeout(2)
def answer(hops):
    raw.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_UNICAST_HOPS, hops)
    raw.sendto(struct.pack("!BBHHH", 128, 0, 0, 7, hops), ("2001:db8:7::7", 0))
    return raw.recvfrom(2000)[1][0]
found["hops"] = [answer(hops) for hops in (1, 2, 3)]
print(json.dumps(found), file=open(sys.argv[1], "w"))
"""


class Lab(Machine):
    """A machine whose default route goes to a namespace that stands for the Internet."""

    def __init__(self) -> None:
        super().__init__()
        self.far = f"far-{os.getpid()}"
        self.files = Path("/etc/netns") / self.name
        ip("netns", "add", self.far)
        ip("link", "set", self.cable, "netns", self.far)
        for address, device in (("192.0.2.1/24", self.cable), ("198.51.100.7/32", "lo")):
            ip("-n", self.far, "addr", "add", address, "dev", device)
            ip("-n", self.far, "link", "set", device, "up")
        self.has("192.0.2.7/24")
        ip("-n", self.far, "route", "add", "10.0.0.0/8", "via", "192.0.2.7")
        self.ip("link", "set", "lo", "up")
        # `ip netns exec` shows these files in place of the machine's own.
        self.files.mkdir(parents=True)
        (self.files / "resolv.conf").write_text("nameserver 127.0.0.53\nnameserver 192.0.2.1\n")
        self.within("sh", "-c", "echo 0 >/proc/sys/net/ipv4/ip_forward")

    def within(
        self, *command: str, env: dict[str, str] | None = None
    ) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [IP, "netns", "exec", self.name, *command],
            capture_output=True,
            text=True,
            check=False,
            env=env,
        )

    def state(self) -> str:
        """Return all settings that a connection to the Internet may have changed."""
        forward = "grep . /proc/sys/net/ipv[46]/conf/*/*forwarding"
        return inside(self) + self.within("sh", "-c", f"{forward}; {NFT} list ruleset").stdout

    def has_ipv6(self) -> None:
        """Add a route to the Internet over IPv6."""
        ip("-n", self.far, "addr", "add", "2001:db8:1::1/64", "dev", self.cable, "nodad")
        ip("-n", self.far, "addr", "add", "2001:db8:7::7/128", "dev", "lo", "nodad")
        ip("-n", self.far, "route", "add", "fd66:6172:6c6b::/64", "via", "2001:db8:1::7")
        self.has("2001:db8:1::7/64")
        self.ip("route", "add", "default", "via", "2001:db8:1::1")

    def gone(self) -> None:
        super().gone()
        ip("netns", "del", self.far)
        shutil.rmtree(self.files)


@pytest.fixture
def lab() -> Iterator[Lab]:
    made = Lab()
    try:
        made.ip("route", "add", "default", "via", "192.0.2.1")
        yield made
    finally:
        made.gone()


@needs_ip
@needs_nft
def test_hosts_reach_by_the_scenarios_path_what_the_machine_reaches(
    lab: Lab, tmp_path: Path
) -> None:
    """Hosts reach over the scenario's path all that the machine reaches.

    Names, TCP in both directions and errors of routers work. Nobody outside reaches a host, and no
    message reaches a machine that is not a host.
    """
    command = [IP, "netns", "exec", lab.far, sys.executable, "-c", INTERNET]
    lab.programs.append(subprocess.Popen(command))
    until(lambda: ":1388 " in ip("netns", "exec", lab.far, "cat", "/proc/net/tcp"))
    before, out = lab.state(), tmp_path / "found.json"
    run = [*FARLINK, "emulate", str(scenario_file(tmp_path)), "--internet", "server", "--quiet"]
    done = lab.within(*run, "--", sys.executable, "-c", LOOK_FOURTH, str(out))
    assert done.returncode == 0, done.stderr
    data = json.loads(out.read_text())
    assert data.pop("handshake_s") > 0.02, "two times the link's 10 ms"
    assert data == {
        "name": "198.51.100.7",
        "seen_as": "192.0.2.7",
        "right": True,
        "stranger": None,
        "hops": ["10.0.0.2", "10.0.0.1", "198.51.100.7"],
    }
    assert lab.state() == before


@needs_ip
@needs_nft
def test_forwarding_that_somebody_switched_on_meanwhile_stays(lab: Lab, tmp_path: Path) -> None:
    """Forwarding of eth0 was off before the run, but must not be switched off again."""
    run = [*FARLINK, "emulate", str(scenario_file(tmp_path)), "--internet", "server", "--quiet"]
    switch = "echo 1 >/proc/sys/net/ipv4/ip_forward"
    assert lab.within(*run, "--in", "server", "--", "sh", "-c", switch).returncode == 0
    assert "conf/eth0/forwarding:1" in lab.state()


FORCE = Path("/proc/sys/net/ipv6/conf/all/force_forwarding")


@needs_ip
@needs_nft
@pytest.mark.parametrize("forwards", [False, True])
def test_what_the_machine_reaches_by_ipv6_the_hosts_reach_so(
    lab: Lab, tmp_path: Path, *, forwards: bool
) -> None:
    """Hosts reach over IPv6 all that the machine reaches.

    farlink switches forwarding on only for the interfaces that lead to the Internet, and only where
    it is off.
    """
    if not forwards and not FORCE.exists():
        pytest.skip("a kernel before 6.17 forwards IPv6 on all interfaces or on none")
    lab.has_ipv6()
    # With forwarding on all interfaces the machine would forget its learnt routes.
    lab.within("sh", "-c", f"echo {int(forwards)} >/proc/sys/net/ipv6/conf/all/forwarding")
    command = [IP, "netns", "exec", lab.far, sys.executable, "-c", SIXTH]
    lab.programs.append(subprocess.Popen(command))
    until(lambda: ":1388 " in ip("netns", "exec", lab.far, "cat", "/proc/net/tcp6"))
    before, out = lab.state(), tmp_path / "found.json"
    run = [*FARLINK, "emulate", str(scenario_file(tmp_path)), "--internet", "server", "--quiet"]
    done = lab.within(*run, "--", sys.executable, "-c", LOOK_SIXTH, str(out))
    assert done.returncode == 0, done.stderr
    data = json.loads(out.read_text())
    assert data.pop("handshake_s") > 0.02
    assert data == {
        "seen_as": "2001:db8:1::7",
        "right": True,
        "stranger": None,
        "hops": ["fd66:6172:6c6b::2", "fd66:6172:6c6b::1", "2001:db8:7::7"],
    }
    assert lab.state() == before


@needs_ip
@needs_nft
def test_without_a_way_out_of_ipv6_hosts_know_that_at_once(lab: Lab, tmp_path: Path) -> None:
    """Hosts have no IPv6 route, so that programs try IPv4 without waiting for an answer."""
    reach = "import socket; socket.socket(socket.AF_INET6).connect(('2001:db8:7::7', 5000))"
    run = [*FARLINK, "emulate", str(scenario_file(tmp_path)), "--internet", "server", "--quiet"]
    done = lab.within(*run, "--", sys.executable, "-c", reach)
    assert "Network is unreachable" in done.stderr


def reaper_of(process: int) -> int:
    """Return the process that supervises a run."""
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            lines = status.read_text().splitlines()
        except OSError:
            continue  # the process has just ended
        rows = dict(line.split(":\t", 1) for line in lines if ":\t" in line)
        if rows["Name"] == "farlink-reaper" and rows["PPid"] == str(process):
            return int(rows["Pid"])
    raise AssertionError(f"{process} has no reaper")


@needs_ip
@needs_nft
@pytest.mark.parametrize("by", ["reaper", "next run"])
def test_what_a_killed_run_left_is_put_back(by: str, lab: Lab, tmp_path: Path) -> None:
    """Rules and forwarding are restored; meanwhile a second run cannot use the connection."""
    lab.has_ipv6()
    before = lab.state()
    run = [IP, "netns", "exec", lab.name, *FARLINK, "emulate", str(scenario_file(tmp_path))]
    first = subprocess.Popen([*run, "--internet", "server", "--seconds", "60"])
    reaper = 0
    try:
        until(lambda: "conf/eth0/forwarding:1" in lab.state())
        there = lab.state()
        second = lab.within(*run[4:], "--internet", "client", "--seconds", "60")
        assert (second.returncode, second.stderr.count("\n")) == (2, 1), second.stderr
        assert "--internet client: another emulation has it" in second.stderr
        assert lab.state() == there
        if by == "next run":
            reaper = reaper_of(first.pid)
            os.kill(reaper, signal.SIGSTOP)
    finally:
        first.send_signal(signal.SIGKILL)
        first.wait()
    if reaper:
        until(lambda: "farlink-out" not in lab.ip("-br", "link"))
        assert "conf/eth0/forwarding:1" in lab.state()
        assert lab.within(*run[4:], "--seconds", "0.1", "--quiet").returncode == 0
        assert lab.state() == before
        os.kill(reaper, signal.SIGCONT)
    until(lambda: lab.state() == before)


@needs_ip
def test_what_cannot_be_a_way_out_is_refused(tmp_path: Path) -> None:
    """Without NAT, a route, the host, or a kernel host, one line is printed and nothing created."""
    lab = Lab()
    try:
        before = lab.state()
        run = [*FARLINK, "emulate", str(scenario_file(tmp_path)), "--internet", "server"]
        run += ["--seconds", "1"]
        without = {**os.environ, "PATH": str(tmp_path)}
        tries = [("no program nft in PATH", without), ("no default route", None)]
        for why, environment in tries[: 2 if NFT else 1]:
            done = lab.within(*run, env=environment)
            assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
            assert why in done.stderr
        assert lab.state() == before
    finally:
        lab.gone()
    with pytest.raises(fl.ScenarioError, match='no host "moon"'):
        fl.emulate(path(), seconds=1, internet="moon")
    with pytest.raises(fl.ScenarioError, match="--internet server: --endpoint makes server"):
        fl.emulate(path(), seconds=1, internet="server", endpoints={"server": "reno"})
