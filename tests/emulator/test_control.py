"""Captures of a running emulation, samples of the kernel's TCP, and changes of settings."""

import itertools
import json
import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pandas as pd
import pytest
from test_emulate import FARLINK, pytestmark  # noqa: F401  (skips without the right)
from test_endings import heeds_signals  # noqa: F401  (of all tests)

import farlink as fl
from farlink import control
from farlink.kernel import NAMES, KernelTrace

BLAST = """
import socket, sys, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
while True:
    s.sendto(bytes(100), ("client", 9))
    time.sleep(0.002)
"""


@contextmanager
def running(*arguments: str) -> Iterator[control.Running]:
    """Run an emulation of the GEO link until the end of the block."""
    command = [*FARLINK, "emulate", "geo-lossy", "--quiet", *arguments]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            for _ in range(600):
                emulations = [entry for entry in control.running() if entry.pid == process.pid]
                if emulations:
                    break
                time.sleep(0.05)
            (emulation,) = emulations
            for _ in range(100):
                try:
                    emulation.show()
                    break
                except fl.ScenarioError:  # starting
                    time.sleep(0.05)
            yield emulation
        finally:
            process.terminate()
            process.wait()
    assert not emulation.path.exists() or emulation not in control.running()


def ctl(emulation: control.Running, *arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [*FARLINK, "ctl", *arguments, "--of", str(emulation.pid)],
        capture_output=True,
        text=True,
        check=False,
    )


def satellite(emulation: control.Running) -> dict[str, float]:
    (row,) = (
        row["metrics"]
        for row in emulation.stats()["links"]
        if (row["link"], row["direction"]) == ("satellite", "down")
    )
    return {key: value or 0.0 for key, value in row.items()}


def settled(emulation: control.Running) -> tuple[float, float]:
    """Return packets and losses of the satellite link in the next second."""
    before = satellite(emulation)
    time.sleep(1.0)
    after = satellite(emulation)
    packets = after["packets"] - before["packets"]
    return packets, after["drops_loss"] - before["drops_loss"]


def test_links_change_while_packets_cross_them() -> None:
    with running("--in", "server", "--", sys.executable, "-c", BLAST) as emulation:
        for _ in range(600):
            if satellite(emulation)["packets"]:
                break
            time.sleep(0.05)
        packets, lost = settled(emulation)
        assert packets > 20
        assert lost == 0
        assert ctl(emulation, "set", "links.1.down.channel.loss=1").returncode == 0
        packets, lost = settled(emulation)
        assert lost == packets > 20
        assert ctl(emulation, "channel", "off").returncode == 0
        assert ["satellite", "down"] in emulation.show()["channels_off"]
        packets, lost = settled(emulation)
        assert lost == 0 < packets
        assert ctl(emulation, "channel", "on", "--link", "satellite").returncode == 0
        packets, lost = settled(emulation)
        assert lost == packets > 20
        shown = ctl(emulation, "show").stdout
        assert "links.1.down.channel.loss=1" in shown
        assert "# lan down (channel off)" in shown
        stats = json.loads(ctl(emulation, "stats", "--json").stdout)
        assert {row["host"] for row in stats["hosts"]} == {"server", "client"}


def test_what_is_shown_can_be_set() -> None:
    """Every line of `show` is a valid argument of `set`, and setting it changes nothing."""
    with running("--seconds", "60") as emulation:
        before = emulation.show()
        lines = ctl(emulation, "show").stdout.splitlines()
        assignments = [line for line in lines if not line.startswith("#")]
        assert len(assignments) > 15
        assert ctl(emulation, "set", *assignments).returncode == 0
        assert emulation.show() == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["set", "links.1.down.channel.ber=2"], "is not a probability"),
        (["set", "links.1.down.delay=5"], "links.1.down.delay=5"),
        (["set", "links.1.down.delay=1ms", "links.1.down.color=2"], 'unknown key "color"'),
        (
            ["set", "flows.0.size=1MB"],
            "only links can be changed while packets cross them, and agents",
        ),
        (["set", "links.1.name=moon"], "only rate, delay, overhead, service_time, queue, mark"),
        (["set", "links.1.down.delay"], "not PATH=VALUE"),
        (["channel", "maybe"], "write on or off"),
        (["channel", "off", "--link", "moon"], 'there is no link "moon"'),
        (["stats", "--every", "0"], "write 0.1 to 3600 seconds"),
    ],
)
def test_bad_input_is_one_line_and_changes_nothing(
    geo: control.Running, arguments: list[str], message: str
) -> None:
    before = geo.show()
    done = ctl(geo, *arguments)
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert message in line
    assert geo.show() == before


@pytest.fixture(scope="module")
def geo() -> Iterator[control.Running]:
    with running("--seconds", "600") as emulation:
        yield emulation


def test_the_socket_is_its_owners(geo: control.Running) -> None:
    assert stat.S_IMODE(geo.path.stat().st_mode) == 0o600
    nobody = "import os, socket; os.setuid(65534); socket.socket(socket.AF_UNIX).connect({!r})"
    script = nobody.format(str(geo.path))
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert "PermissionError" in done.stderr
    # A user who could connect would be asked for credentials.
    ask = "; ".join(
        (
            "import os, socket",
            "os.setuid(65534)",
            "s = socket.socket(socket.AF_UNIX)",
            f"s.connect({str(geo.path)!r})",
            "print(s.makefile().readline())",
        )
    )
    geo.path.chmod(0o666)
    done = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, check=False)
    geo.path.chmod(0o600)
    assert "only its owner may control an emulation" in done.stdout


def test_a_request_without_end_is_none(geo: control.Running) -> None:
    """The engine reads at most a mebibyte of a line."""
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(geo.path))
        client.sendall(b" " * (1 << 20))
        answer = json.loads(client.makefile().readline())
    assert answer["error"].startswith("no request: ")


def test_slow_clients_hold_up_nobody_and_are_hung_up_on(geo: control.Running) -> None:
    """A silent client and a client that sends a byte now and then each have a second in all."""
    before = geo.show()
    with ExitStack() as stack:
        silent = [stack.enter_context(socket.socket(socket.AF_UNIX)) for _ in range(20)]
        dripping = stack.enter_context(socket.socket(socket.AF_UNIX))
        for client in (*silent, dripping):
            client.connect(str(geo.path))
        # Served one after the other, the slow clients would take longer than a client waits.
        assert geo.show() == before
        sent = 0
        with suppress(BrokenPipeError, ConnectionResetError):
            while sent < 50:
                dripping.sendall(b" ")
                sent += 1
                time.sleep(0.4)
        assert sent < 50
        for client in silent:
            assert client.recv(1) == b""


@pytest.mark.parametrize(
    ("request_line", "message"),
    [
        ('{"version": 3, "do": "dance"}', "the request is of version 3"),
        ('{"do": "show"}', "the request is of no version"),
    ],
)
def test_a_request_of_another_version_is_told_so(
    geo: control.Running, request_line: str, message: str
) -> None:
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(geo.path))
        client.sendall(request_line.encode() + b"\n")
        answer = json.loads(client.makefile().readline())
    assert answer.keys() == {"version", "error"}
    assert "which speaks version 2 of the control protocol" in answer["error"]
    assert message in answer["error"]


def test_an_emulation_of_another_version_is_told_in_one_line(tmp_path: Path) -> None:
    """The socket answers as an emulation from before versions existed."""
    files = Path("/run/farlink")
    files.mkdir(exist_ok=True)
    own = Path("/proc/self/ns/pid").stat().st_ino
    path = files / f"farlink-{os.getpid()}-99-{own}-0-old.ctl"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        server.listen()

        def answer() -> None:
            for _ in range(2):  # one connection to find the emulation, one for the request
                client, _ = server.accept()
                with client, client.makefile() as lines:
                    if lines.readline():
                        client.sendall(b'{"error": "no request: unknown field `version`"}\n')

        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        try:
            done = ctl(control.Running("old", os.getpid(), path), "show")
        finally:
            path.unlink()
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert "it was started by another farlink, which speaks no version of the control" in line


def test_one_of_several_is_named(geo: control.Running) -> None:
    with running("--seconds", "600") as other:
        with pytest.raises(fl.ScenarioError, match="several emulations are running"):
            control.find("geo-lossy")
        assert control.find(str(other.pid)) == other
        with pytest.raises(fl.ScenarioError, match="no emulation 'moon' is running"):
            control.find("moon")
    assert geo in control.running()


def test_plots_need_a_trace() -> None:
    done = subprocess.run(
        [*FARLINK, "emulate", "geo-lossy", "--transfer", "1kB", "--plots"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "--plots draws what --trace DIR writes" in done.stderr


def test_captures_and_the_kernels_tcp(tmp_path: Path) -> None:
    size = 300_000
    done = fl.emulation.transfer(
        "geo-lossy",
        str(size) + "B",
        tcp="reno",
        overrides={"links.1.down.channel.ber": 2e-6},
        pcap=tmp_path,
        sample=True,
        output=tmp_path / "report.json",
    )
    assert json.loads((tmp_path / "report.json").read_text())["correct"] is True
    hosts = {row["host"]: row for row in done.data["hosts"]}
    links = done.data["links"]
    losses = sum(
        value or 0
        for row in links
        for key, value in row["metrics"].items()
        if key.startswith("drops_")
    )
    trace = KernelTrace.of(done)
    for name in NAMES:
        table = trace.table(name)
        assert len(table) or name == "ssthresh"
        assert set(table["side"]) <= {"from", "to"}
    cwnd = trace.table("cwnd")
    sender = cwnd[cwnd["side"] == "from"]
    assert set(sender["host"]) == {"server"}
    assert sender["cwnd"].iloc[0] >= 10 * 1448
    srtt = trace.table("srtt")
    assert 0.52 <= srtt.loc[srtt["side"] == "from", "srtt"].min() < 0.7
    figures = trace.plots("reno", tmp_path)
    (flow,) = trace.flows
    assert flow.startswith("10.0.0.1:5001-10.0.0.3:")
    assert figures.cwnd().axes[0].get_lines()
    assert "sequence number" in figures.sequence().axes[0].get_ylabel()
    written = trace.write(tmp_path / "trace")
    assert len(pd.read_parquet(written[0])) == len(cwnd)
    tshark = shutil.which("tshark")
    if tshark is None:
        pytest.skip("no tshark to read the captures with")

    def read(name: str, *arguments: str) -> list[str]:
        path = str(tmp_path / f"{name}.pcapng")
        out = subprocess.run(
            [tshark, "-r", path, *arguments], capture_output=True, text=True, check=True
        )
        return out.stdout.splitlines()

    for host, row in hosts.items():
        assert len(read(host)) == row["sent"] + row["delivered"]
    lost = read("lost", "-T", "fields", "-e", "frame.comment")
    assert len(lost) == losses
    assert set(lost) <= {"satellite down: bit_error", "satellite up: bit_error"}
    errors = read("client", "-q", "-z", "expert,error")
    assert not [line for line in errors if "Malformed" in line]


@pytest.mark.parametrize(
    ("ip", "address"), [("v4", "10.0.0.1:5001"), ("v6", "[fd66:6172:6c6b::1]:5001")]
)
def test_flows_are_watched_as_they_are(ip: str, address: str) -> None:
    """Each sample has rate, queue, RTT and window of a transfer; both sides end without error."""
    link = ["--set", "links.1.down.channel={}", "--set", f"ip={ip}"]
    command = [*FARLINK, "emulate", "geo-lossy", "--transfer", "500kB", "--quiet", *link]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        emulation = None
        for _ in range(600):
            emulation = next(
                (entry for entry in control.running() if entry.pid == process.pid), None
            )
            if emulation is not None:
                break
            time.sleep(0.05)
        assert emulation is not None
        watch = [*FARLINK, "ctl", "stats", "--watch", "--every", "0.5", "--of", str(emulation.pid)]
        with (
            subprocess.Popen(watch, stdout=subprocess.PIPE, text=True) as seen,
            subprocess.Popen(watch, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as stopped,
        ):
            looks = []
            for look in emulation.watch(0.25):
                looks.append(look)
                if len(looks) == 8:
                    assert stopped.stdout is not None
                    assert stopped.stdout.readline()
                    stopped.send_signal(signal.SIGINT)
            printed, _ = seen.communicate(timeout=30)
            assert stopped.communicate(timeout=30)[1] == b"farlink: interrupted\n"
        assert (seen.returncode, stopped.returncode) == (0, 130)
        assert process.stdout is not None
        assert json.loads(process.stdout.read())["correct"] is True
    rows = [row for look in looks for row in look["flows"]]
    assert {(row["from"], row["to"]) for row in rows if row["acked_bytes"] > 1} == {
        ("server", "client")
    }
    row = [row for row in rows if row["srtt_s"] is not None][-1]
    assert row["from_address"] == address
    moved = sum(
        (row["bit_s"] or 0.0) * (now["duration_s"] - before["duration_s"]) / 8
        for before, now in itertools.pairwise(looks)
        for row in now["flows"]
    )
    assert moved == pytest.approx(rows[-1]["acked_bytes"], rel=0.25)
    assert 0.5 <= row["min_rtt_s"] <= row["srtt_s"] < 5
    assert row["cwnd_bytes"] > 10 * 1428
    assert max(row["waiting"] for row in rows) > 5, "slow start fills the queue of the slow link"
    assert "kbit/s" in printed
    assert "server:5001" in printed
    assert "\x1b" not in printed


def test_a_program_joins_a_host_while_it_runs() -> None:
    """A program joins a host of a running emulation.

    It has the network, names and processes of the host and an exit code of its own. It ends with
    the run.
    """

    def execute(
        emulation: control.Running, host: str, *argv: str
    ) -> "subprocess.CompletedProcess[str]":
        command = [*FARLINK, "ctl", "exec", "--of", str(emulation.pid), host, "--", *argv]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    with running("--seconds", "60") as emulation:
        seen = "echo $FARLINK_HOST; cat /proc/net/dev /etc/hosts; echo $$; exit 7"
        done = execute(emulation, "server", "sh", "-c", seen)
        lines = done.stdout.splitlines()
        assert (done.returncode, lines[0]) == (7, "server"), done.stderr
        assert "farlink0:" in done.stdout
        assert "10.0.0.3 client" in lines
        assert int(lines[-1]) < 100, "a process namespace of its own"
        killed = execute(emulation, "server", "sh", "-c", "kill -9 $$")
        assert killed.returncode == 128 + 9
        for host, program, message in [
            ("moon", "true", "there is no host 'moon'"),
            ("server", "/no/such", "there is no program"),
        ]:
            wrong = execute(emulation, host, program)
            assert wrong.returncode == 2
            assert message in wrong.stderr.replace('"', "'")
            assert wrong.stderr.count("\n") == 1
        command = [*FARLINK, "ctl", "exec", "--of", str(emulation.pid), "client", "--"]
        begun = [*command, "sh", "-c", "echo here; exec sleep 60"]
        with subprocess.Popen(begun, stdout=subprocess.PIPE) as sleeper:
            assert sleeper.stdout is not None
            assert sleeper.stdout.readline() == b"here\n"
            os.kill(emulation.pid, 15)
            assert sleeper.wait(30) == 128 + 9
