"""Results count every late packet, every lost packet and every failed program."""

import json
import os
import shlex
import subprocess
import time
from pathlib import Path

from test_emulate import ECHO, FARLINK, path, pytestmark, python  # noqa: F401  (skips)
from test_endings import scenario_file, stop_while

import farlink as fl
from farlink.emulation import Emulated

FLOOD = """
import socket, sys, time
from pathlib import Path
where = Path(sys.argv[1])
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
(where / "ready").touch()
while not (where / "go").exists():
    time.sleep(0.01)
for i in range(11_000):
    s.sendto(bytes(100), ("server", 9))
(where / "sent").touch()
while not (where / "end").exists():
    time.sleep(0.01)
"""


def test_what_happens_while_the_engine_is_stopped_is_in_its_results(tmp_path: Path) -> None:
    """A stop of the engine shows in the results of the run.

    11,000 datagrams come while the process is stopped. A device holds 10,000 packets; the others
    count as lost there, and the packets read afterwards count as late.
    """
    out = tmp_path / "out.json"
    options = ["--strict", "--json", str(out)]
    flood = python(FLOOD, str(tmp_path))
    run = subprocess.Popen(
        [*FARLINK, "emulate", str(scenario_file(tmp_path)), *options, "--", *flood],
        stderr=subprocess.PIPE,
        text=True,
    )
    stop_while(run, tmp_path, 0.2)
    time.sleep(0.5)
    (tmp_path / "end").touch()
    _, output = run.communicate(timeout=20)
    assert run.returncode == 1
    assert "fell behind" in output
    assert "a host's device dropped them" in " ".join(output.split())
    done = Emulated(json.loads(out.read_text()))
    (client,) = (row for row in done.data["hosts"] if row["host"] == "client")
    assert client["overflowed"] > 0
    assert client["sent"] + client["overflowed"] == 11_000
    assert done.missing == 0
    assert done.data["packets"]["offered"] >= 11_000
    assert done.data["lateness"]["p50_s"] > 0.19


def test_each_server_is_waited_for_and_one_that_fails_is_told_of() -> None:
    late = "import socket, time; time.sleep(0.4); s = socket.create_server(('', 99)); s.accept()"
    find = "import socket; socket.create_connection(('server', 99)).close()"
    done = fl.emulate(
        path(),
        python(find),
        host="client",
        servers=[
            ("server", python(ECHO)),
            ("server", ["sh", "-c", "exit 3"]),
            ("server", python(late)),
        ],
    )
    assert done.exit_code == 0
    assert [server["exit_code"] for server in done.data["servers"]][:2] == [None, 3]


def test_real_time_priority_is_the_default_where_it_is_allowed() -> None:
    """Priority belongs to the engine, not to programs; the results give it, and the reason if it is
    missing.
    """
    ordinary = "import os; assert os.sched_getscheduler(0) == os.SCHED_OTHER"
    ask = "import os; os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(40))"
    allowed = subprocess.run(python(ask), capture_output=True, check=False).returncode == 0
    done = fl.emulate(path(), python(ordinary))
    assert done.exit_code == 0
    assert done.data["realtime"] is (allowed and len(os.sched_getaffinity(0)) > 1)
    assert (done.data["realtime_refused"] is None) is done.data["realtime"]
    done = fl.emulate(path(), python(ordinary), realtime=False)
    assert done.data["realtime"] is False
    assert done.data["realtime_refused"] is None


def test_a_program_of_a_run_can_look_at_it_and_have_a_run_of_its_own() -> None:
    """A program in a run can list runs and start a run of its own.

    Process numbers differ inside a run. A run counts as alive if its socket answers, and a start
    inside does not take the names of the outer run for those of a dead run.
    """
    look = [*FARLINK, "ctl", "stats", "--json", "--of", str(os.getpid())]
    start = [*FARLINK, "emulate", "geo-omueti2007", "--quiet", "--", "true"]
    both = " && ".join(shlex.join(command) for command in (look, start, look))
    done = fl.emulate(path(), ["sh", "-c", f"{{ {both}; }} >/dev/null"])
    assert done.exit_code == 0


ROUND_TRIP = """
import socket, sys, time
from pathlib import Path
where = Path(sys.argv[1])
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.settimeout(5)
(where / "ready").touch()
while not (where / "go").exists():
    time.sleep(0.01)
began = time.monotonic()
s.sendto(b"x", ("server", 7))
(where / "sent").touch()
s.recv(1)
(where / "took").write_text(str(time.monotonic() - began))
"""


def test_a_packet_is_delayed_from_when_it_came_and_not_from_when_it_was_read(
    tmp_path: Path,
) -> None:
    """In a round trip of 0.8 s nobody reads the device for the first 0.3 s."""
    out, scenario = tmp_path / "out.json", tmp_path / "path.json"
    scenario.write_text(json.dumps(path(delay="400 ms")))
    trip = python(ROUND_TRIP, str(tmp_path))
    echo = ["--at", f"server: {shlex.join(python(ECHO))}"]
    run = subprocess.Popen(
        [*FARLINK, "emulate", str(scenario), *echo, "--json", str(out), "--", *trip],
        stderr=subprocess.PIPE,
        text=True,
    )
    stop_while(run, tmp_path, 0.3)
    _, output = run.communicate(timeout=20)
    assert run.returncode == 0, output
    assert 0.8 <= float((tmp_path / "took").read_text()) < 0.95
    # The packet left in time, so no packet was late.
    assert json.loads(out.read_text())["lateness"]["p99_s"] < 0.1


TAKE_TURNS = """
import socket, sys, time
from pathlib import Path
where, far, turns = Path(sys.argv[1]), sys.argv[2], sys.argv[3:]
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("", 7))
s.settimeout(5)
if far == "server":
    (where / "ready").touch()
while not (where / "go").exists():
    time.sleep(0.001)
for turn in turns:
    time.sleep(float(turn))
    s.sendto(b"x", (far, 7))
if far == "server":
    (where / "sent").touch()
    s.recv(1)
else:
    time.sleep(5)
"""


def test_what_came_to_several_hosts_at_once_enters_without_going_back_in_time(
    tmp_path: Path,
) -> None:
    """Packets that several hosts sent at once enter in the order of their times.

    While nobody reads, the client sends, then the server, then the client again. The engine reads a
    device to its end before it reads the next one.
    """
    out, scenario = tmp_path / "out.json", tmp_path / "path.json"
    scenario.write_text(json.dumps(path(delay="200 ms")))
    client = python(TAKE_TURNS, str(tmp_path), "server", "0", "0.2")
    server = shlex.join(python(TAKE_TURNS, str(tmp_path), "client", "0.1"))
    options = ["--at", f"server: {server}", "--json", str(out)]
    run = subprocess.Popen(
        [*FARLINK, "emulate", str(scenario), *options, "--", *client],
        stderr=subprocess.PIPE,
        text=True,
    )
    stop_while(run, tmp_path, 0.1)
    _, output = run.communicate(timeout=20)
    assert run.returncode == 0, output
    done = Emulated(json.loads(out.read_text()))
    assert done.missing == 0
    assert sum(row["sent"] for row in done.data["hosts"]) >= 3
