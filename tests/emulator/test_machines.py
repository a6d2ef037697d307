"""Emulation on several machines, which are three namespaces joined by a bridge."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from test_attach import IP, ip, needs_ip
from test_emulate import FARLINK, path, pytestmark  # noqa: F401  (skips without the right)
from test_endings import heeds_signals, until  # noqa: F401  (the fixture is of all tests)

import farlink as fl
from farlink import emulation, machines
from farlink.cli import machines as cli_machines
from farlink.views import gateway as gateway_view

PATIENCE = 20.0
"""Seconds that anything may take to happen on a busy machine."""


class Machines:
    """Namespaces u, a and b with addresses 192.0.2.1, .2 and .3 of one network."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.names = {item: f"several-{os.getpid()}-{item}" for item in "uab"}
        self.programs: list[subprocess.Popen[str]] = []
        for name in self.names.values():
            ip("netns", "add", name)
            ip("-n", name, "link", "set", "lo", "up")
        unit = self.names["u"]
        ip("-n", unit, "link", "add", "lan", "type", "bridge")
        ip("-n", unit, "link", "set", "lan", "up")
        ip("-n", unit, "addr", "add", "192.0.2.1/24", "dev", "lan")
        for item, address in (("a", 2), ("b", 3)):
            name = self.names[item]
            ip(
                "-n",
                unit,
                "link",
                "add",
                "name",
                f"to-{item}",
                "type",
                "veth",
                "peer",
                "eth0",
                "netns",
                name,
            )
            ip("-n", unit, "link", "set", f"to-{item}", "master", "lan", "up")
            ip("-n", name, "addr", "add", f"192.0.2.{address}/24", "dev", "eth0")
            ip("-n", name, "link", "set", "eth0", "up")

    def start(self, machine: str, command: list[str], out: str) -> subprocess.Popen[str]:
        """Start a program on a machine, with its output in a file."""
        with (self.directory / out).open("w") as file:
            program = subprocess.Popen(
                [IP, "netns", "exec", self.names[machine], *command],
                stdout=file,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                text=True,
                start_new_session=True,
            )
        self.programs.append(program)
        return program

    def said(self, out: str, what: str, times: int = 1) -> str:
        """Wait until a program has printed a text, and return all its output."""
        end = time.monotonic() + PATIENCE
        while len(re.findall(what, text := (self.directory / out).read_text())) < times:
            assert time.monotonic() < end, f"{out} does not say {what!r}, but: {text}"
            time.sleep(0.05)
        return text

    def gone(self) -> None:
        for program in self.programs:
            if program.poll() is None:
                os.killpg(program.pid, signal.SIGKILL)
                program.wait()
        for name in self.names.values():
            ip("netns", "del", name)


@pytest.fixture
def laboratory(tmp_path: Path) -> Iterator[Machines]:
    made = Machines(tmp_path)
    try:
        yield made
    finally:
        made.gone()


TURN = """
import hashlib, socket, sys
with socket.create_server(("", 7000)) as listener:
    print("listens", flush=True)
    while True:
        connection, _ = listener.accept()
        with connection, connection.makefile("rb") as got:
            digest = hashlib.sha256(data := got.read(300_000)).digest()
            connection.sendall(digest + data[::-1])
"""
"""Program that receives a file, and returns its digest and the bytes in reverse order."""

TALK = """
import hashlib, os, socket, sys
data = os.urandom(300_000)
with socket.create_connection((sys.argv[1], 7000), timeout=30) as connection:
    connection.sendall(data)
    with connection.makefile("rb") as got:
        assert got.read(32) == hashlib.sha256(data).digest()
        assert got.read(len(data)) == data[::-1]
print("both ways whole")
"""

ALONE = """
import socket, sys, time
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as out:
    for _ in range(8):
        out.sendto(bytes(100), (sys.argv[1], 9))
        time.sleep(0.02)
time.sleep(0.5)
"""
"""Program that sends to an absent host."""

ATTACK = """
import json, socket, struct, sys, time
look = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
look.bind(("lan", 0))
first = sealed = None
while first is None or sealed is None:
    frame = look.recv(2048)
    if frame[12:14] != b"\\x08\\x00" or frame[23] != 17 or frame[36:38] != struct.pack("!H", 47800):
        continue
    length, = struct.unpack("!H", frame[38:40])
    datagram = frame[42 : 34 + length]
    if datagram[0] == 1:
        first = first or datagram
    if datagram[0] == 3 and len(datagram) > 600:
        sealed = datagram
def changed(datagram, at):
    return datagram[:at] + bytes([datagram[at] ^ 1]) + datagram[at + 1 :]
unit = ("192.0.2.1", 47800)
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as out:
    for _ in range(10):
        out.sendto(sealed, unit)  # replayed
        out.sendto(first, unit)
        out.sendto(changed(sealed, -1 % len(sealed)), unit)  # forged: the seal, then the number
        out.sendto(changed(sealed, 12), unit)
        out.sendto(b"hello", unit)
        out.sendto(b"\\x03\\0\\0\\0" + bytes(100), unit)
    out.settimeout(5)
    answers = [out.recv(2048)]
    proven = first[:8] + answers[0][8:] + first[24:]
    for _ in range(10):
        out.sendto(proven, unit)  # replayed, from an address that is proven
        out.sendto(changed(proven, 40), unit)  # without the key
    out.settimeout(1)
    try:
        while True:
            answers.append(out.recv(2048))
    except TimeoutError:
        pass
cookies = [answer for answer in answers if answer[0] == 4 and len(answer) < len(first)]
print(json.dumps({"answer": len(answers), "cookies": len(cookies)}))
"""
"""Program that records all packets to the unit, and replays them, changed and unchanged."""


def start_unit(laboratory: Machines, scenario: Path, *options: str) -> str:
    """Start the unit, and return its key."""
    out = str(laboratory.directory / "unit.json")
    unit = [*FARLINK, "unit", str(scenario), "--listen", "192.0.2.1", "--json", out, *options]
    laboratory.start("u", unit, "unit")
    text = laboratory.said("unit", "listening on 192.0.2.1:47800")
    assert "--join THIS-MACHINE:47800 --as HOST --key-file FILE" in text
    key = re.search("key: (.*)", text)
    assert key is not None
    return key[1]


def gateway(key: str, host: str, *rest: str) -> list[str]:
    return [*FARLINK, "gateway", "--join", "192.0.2.1", "--as", host, "--key", key, *rest]


def python(program: str, *arguments: str) -> list[str]:
    return ["--", sys.executable, "-c", program, *arguments]


@needs_ip
def test_three_machines_are_a_laboratory(laboratory: Machines, tmp_path: Path) -> None:
    """Transfer a file both ways under loss; restart a killed gateway; refuse strangers."""
    scenario = tmp_path / "three.toml"
    scenario.write_text(LOSSY)
    key = start_unit(laboratory, scenario)
    attack = laboratory.start("u", [sys.executable, "-c", ATTACK], "attack")
    far = laboratory.start("b", gateway(key, "right", *python(TURN)), "far")
    laboratory.said("far", "listens")
    near = gateway(key, "left", "--position", "3,4", *python(TALK, "right"))
    assert laboratory.start("a", near, "near").wait(60) == 0, laboratory.said("near", "")
    laboratory.said("near", "both ways whole")
    assert attack.wait(PATIENCE) == 0
    assert json.loads(laboratory.said("attack", "answer")) == {"answer": 10, "cookies": 10}
    stats = fl.control.find("three").stats()
    left, right = (row["gateway"] for row in stats["hosts"])
    assert left["place"] == [3.0, 4.0]
    # Ten packets of the attack, and at least one of each gateway.
    assert stats["strangers"].pop("unproven") >= 12
    assert stats["strangers"] == {
        "unknown": 20,
        "without_key": 10,
        "replayed": 10,
        "flooded": 0,
        "refused": 0,
    }
    assert [left[name] + right[name] for name in ("forged", "replayed")] == [20, 10]
    assert right["taken_off_s"] > 0
    shown = [gateway_view.line(row) for row in stats["hosts"]]
    assert "; at 3.0 m, 4.0 m" in shown[0]
    assert "taken off the scenario's delays" in shown[1]

    # A killed gateway cannot announce its end.
    os.killpg(far.pid, signal.SIGKILL)
    laboratory.said("unit", "gateway right is lost")
    alone = gateway(key, "left", *python(ALONE, "right"))
    assert laboratory.start("a", alone, "alone").wait(60) == 0
    laboratory.start("b", gateway(key, "right", *python(TURN)), "again")
    laboratory.said("again", "listens")
    talk = gateway(key, "left", *python(TALK, "right"))
    assert laboratory.start("a", talk, "talk").wait(60) == 0, laboratory.said("talk", "")
    # The unit ends, and announces its end.
    unit = laboratory.programs[0]
    unit.send_signal(signal.SIGINT)
    assert unit.wait(PATIENCE) == 130
    laboratory.said("again", "the unit has ended")
    done = json.loads((tmp_path / "unit.json").read_text())
    right = done["hosts"][1]["gateway"]
    assert (right["joined"], right["lost"]) == (2, 1)
    assert 1 <= right["away"] <= 8
    assert emulation.Emulated(done).missing == 0
    assert sum(row["metrics"]["drops_loss"] for row in done["links"]) > 5


LOSSY = """
name = "three"
seed = 1
[[links]]
name = "air"
between = ["left", "right"]
down = { rate = "10 Mbit/s", delay = "10 ms", channel = { loss = 0.02 } }
[[flows]]
from = "left"
to = "right"
size = "1 MB"
"""


def refused(command: list[str]) -> tuple[int, str]:
    """Run a command that fails; return its exit code and its one line of output."""
    done = subprocess.run(
        [*FARLINK, *command], capture_output=True, text=True, check=False, timeout=60
    )
    (line,) = done.stderr.splitlines()
    return done.returncode, line


def test_bad_input_is_one_line(tmp_path: Path) -> None:
    scenario = tmp_path / "three.toml"
    scenario.write_text(LOSSY)
    key = machines.key(None)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        code, line = refused(["unit", str(scenario), "--listen", f"127.0.0.1:{port}"])
    assert code == 2
    assert f"--listen 127.0.0.1:{port}: another program has this port" in line
    wrongs: list[tuple[dict[str, Any], str]] = [
        ({"key": "abc"}, "--key: a key has 72 hexadecimal digits, and this has 3"),
        ({"key": key[:-1] + ("1" if key[-1] == "0" else "0")}, "a digit of the key is wrong"),
        ({"key": f"@{tmp_path}/none"}, "none"),
        ({"key": None, "key_file": tmp_path / "none"}, "none"),
        ({"key": None, "key_file": None}, "no key: write what the unit printed into a file"),
        ({"key_file": tmp_path / "three.toml"}, "beside --key: write one of them"),
        ({"join": "a b"}, "--join 'a b': not an address"),
        ({"join": "[::1]:99999"}, "the port is 1 to 65535"),
        ({"position": "near"}, "--position 'near': write metres as X,Y"),
        ({"position": "1e300,0"}, "--position"),
        ({"attach": "thing:x"}, "not known"),
        ({"force": True}, "force has no effect without attach"),
        ({"attach": "bridge:b", "command": ["true"]}, "runs its own programs: leave out"),
        ({"attach": "eth1", "command": ["true"]}, "runs its own programs: leave out"),
        ({"seconds": 0.0}, "write a time above 0"),
    ]
    for options, message in wrongs:
        given = {**DEFAULT, "key": key, **options}
        with pytest.raises(fl.ScenarioError) as wrong:
            cli_machines.gateway(**given)
        assert message in str(wrong.value), options
    track = tmp_path / "track"
    track.write_text("# seconds, x, y\n0,1,2\n\n5,3,4\n")
    assert machines.places(f"@{track}") == [(0, 1, 2), (5, 3, 4)]
    track.write_text("0,1,2\n0,1,3\n")
    with pytest.raises(fl.ScenarioError, match="line 2 is not later"):
        machines.places(f"@{track}")


FLOOD = """
import pathlib, socket, sys, time
print("ready", flush=True)
while not pathlib.Path(sys.argv[1]).exists():
    time.sleep(0.01)
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for _ in range(15_000):
    s.sendto(b"flood", ("10.0.0.2", 9))
print("flooded", flush=True)
time.sleep(60)
"""


@needs_ip
def test_what_a_gateways_device_drops_is_counted_at_the_unit(
    laboratory: Machines, tmp_path: Path
) -> None:
    """The unit counts the packets that a gateway's device drops.

    The device holds 10,000 packets while the gateway is stopped. A datagram that is due in a second
    leaves after that second.
    """
    scenario, sign = tmp_path / "three.toml", tmp_path / "sign"
    scenario.write_text(LOSSY)
    key = start_unit(laboratory, scenario)
    right = laboratory.start("b", gateway(key, "right", "--seconds", "1"), "right")
    left = laboratory.start("a", gateway(key, "left", *python(FLOOD, str(sign))), "left")
    laboratory.said("left", "ready")
    left.send_signal(signal.SIGSTOP)
    sign.touch()
    laboratory.said("left", "flooded")
    left.send_signal(signal.SIGCONT)
    until(lambda: fl.control.find("three").stats()["hosts"][0]["gateway"]["overflowed"] > 1000)
    assert right.wait(PATIENCE) == 0
    laboratory.said("unit", "gateway right left")


RENO = """
from pathlib import Path
assert Path("/proc/sys/net/ipv4/tcp_congestion_control").read_text() == "reno\\n"
"""


def test_a_key_is_warned_of_where_others_see_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key, file = machines.key(None), tmp_path / "key"
    file.write_text(f"{key}\n")
    monkeypatch.delenv("FARLINK_KEY", raising=False)
    assert cli_machines._secret(None, None) == (None, False)
    assert cli_machines._secret(key, None) == (key, True)
    assert cli_machines._secret(f"@{file}", None) == (key, False)
    assert cli_machines._secret(None, file) == (key, False)
    monkeypatch.setenv("FARLINK_KEY", key)
    assert cli_machines._secret(key, None) == (key, False)
    assert cli_machines._secret(key, file) == (key, False)


def test_a_unit_is_joined_over_a_satellite(tmp_path: Path) -> None:
    """A gateway joins a unit over a satellite link.

    Unit and gateway are in hosts of an emulation, with a round trip of 600 ms. The gateway waits
    less than that before it first asks again. The unit reports which TCP its kernel has.
    """
    scenario, key = tmp_path / "three.toml", machines.key(None)
    scenario.write_text(LOSSY)
    done = fl.emulate(
        path("300 ms"),
        [*FARLINK, "gateway", "--join", "server", "--as", "left", "--key", key, *python(RENO)],
        servers=[("server", [*FARLINK, "unit", str(scenario), "--key", key, "--tcp", "reno"])],
    )
    assert done.exit_code == 0


@pytest.mark.parametrize("program", [[], ["--", "sleep", "60"]])
def test_ctrl_c_ends_a_gateway_that_waits_for_a_unit(program: list[str]) -> None:
    """Ctrl-C also ends a gateway whose program does not run yet."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
        silent.bind(("127.0.0.1", 0))
        silent.settimeout(PATIENCE)
        to = f"127.0.0.1:{silent.getsockname()[1]}"
        options = ["--join", to, "--as", "left", "--key", machines.key(None)]
        command = [*FARLINK, "gateway", *options, *program]
        run = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        silent.recv(2048)
        run.send_signal(signal.SIGINT)
        _, output = run.communicate(timeout=PATIENCE)
    assert (run.returncode, output) == (130, "farlink: interrupted\n")


DEFAULT: dict[str, Any] = {
    "command": [],
    "join": "127.0.0.1",
    "host": "left",
    "key_file": None,
    "attach": None,
    "force": False,
    "position": None,
    "seconds": None,
    "plain": False,
    "as_json": False,
}
"""Default options of a gateway."""


@needs_ip
@pytest.mark.long
def test_a_gateway_that_cannot_be_says_why(laboratory: Machines, tmp_path: Path) -> None:
    """A host that is unknown, taken or at the unit is refused; a wrong key gets no answer."""
    scenario = tmp_path / "three.toml"
    scenario.write_text(LOSSY)
    key = start_unit(laboratory, scenario)
    laboratory.start("b", gateway(key, "right"), "right")
    laboratory.said("right", "joined as right")
    for host, item in (
        ("middle", 'the unit refuses: there is no host "middle"; gateways can be left, right'),
        ("right", 'the unit refuses: "right" is another gateway at 192.0.2.3'),
    ):
        assert laboratory.start("a", gateway(key, host), host + "-2").wait(30) == 2
        assert item in laboratory.said(host + "-2", "refuses")
    other = laboratory.start("a", gateway(machines.key(None), "left"), "stranger")
    assert other.wait(30) == 1
    assert "no answer from 192.0.2.1:47800 within 10 s" in laboratory.said("stranger", "answer")
    stats = fl.control.find("three").stats()
    # The gateway asks again after 0.5 s, 1 s, and then every 2 s.
    assert 6 <= stats["strangers"]["without_key"] <= 7
    assert not stats["hosts"][0]["gateway"]["joined"]
