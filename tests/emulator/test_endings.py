"""However a run ends, every process, namespace, mount, device and file of it ends with it."""

import json
import os
import pty
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from test_emulate import FARLINK, NAMES, path, pytestmark  # noqa: F401  (skips without the right)

import farlink as fl
import farlink.control
from farlink import source

FILES = Path("/run/farlink")

# Three processes that hide: a daemon with its own session, a daemon that left its network
# namespace, and a chain of forks whose processes each live only until the next fork.
HIDE = """
import os, subprocess, sys, time
from pathlib import Path
mark = sys.argv[1]
sleep = [sys.executable, "-c", "import sys, time; time.sleep(100)", mark]
if os.fork() == 0:
    os.setsid()
    subprocess.Popen(sleep)
    os._exit(0)
subprocess.Popen(["unshare", "-n", *sleep])
if os.fork() == 0:
    while True:
        if os.fork():
            os._exit(0)
        time.sleep(0.002)
Path(mark).write_text(str(os.getpid()))
"""
STAY = HIDE + "\ntime.sleep(100)"


def processes(mark: str) -> list[int]:
    entries = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and mark.encode() in (entry / "cmdline").read_bytes():
                entries.append(int(entry.name))
        except OSError:
            pass  # the process has just ended
    return entries


def names(process: int) -> list[str]:
    """Return the names of namespaces, sockets and files of the runs of this process."""
    start = f"farlink-{process}-"
    results = [p.name for d in (NAMES, FILES) for p in d.glob(start + "*") if d.is_dir()]
    return results + [m for m in Path("/proc/self/mountinfo").read_text().split() if start in m]


def gone(mark: str, process: int) -> None:
    """Assert that nothing of a run exists a moment after its end."""
    for _ in range(100):
        left = (processes(mark), names(process))
        if left == ([], []):
            return
        time.sleep(0.02)
    pytest.fail(f"left behind: {left}")


@pytest.fixture(autouse=True)
def heeds_signals() -> Iterator[None]:
    """Return whether a process heeds these signals.

    A background job of a shell ignores Ctrl-C, and a job of nohup ignores the end of the terminal.

    Programs that it starts ignore the signal, too. farlink leaves that unchanged, because it would
    otherwise wait for a program that does not end.
    """
    interrupt = signal.signal(signal.SIGINT, signal.default_int_handler)
    hang_up = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGINT, interrupt)
    signal.signal(signal.SIGHUP, hang_up)


def started(tmp_path: Path, script: str, *options: str) -> tuple["subprocess.Popen[str]", str]:
    """Start a run whose program is `script`, and wait until the program has reported its start."""
    mark = str(tmp_path / "mark")
    scenario = scenario_file(tmp_path)
    command = [sys.executable, "-c", script, mark] if script else []
    run = subprocess.Popen(
        [
            *FARLINK,
            "emulate",
            str(scenario),
            "--quiet",
            *options,
            *(["--", *command] if script else []),
        ],
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    until(lambda: Path(mark).exists() if script else carries(run.pid))
    return run, mark


def carries(process: int) -> bool:
    """Return whether a run carries packets, in addition to having created its hosts."""
    try:
        return bool(fl.control.find(str(process)).stats())
    except fl.FarlinkError:
        return False


def scenario_file(tmp_path: Path) -> Path:
    (text,) = source.find(path()).resolve(None, []).values()
    scenario = tmp_path / "path.json"
    scenario.write_text(text)
    return scenario


def until(true: Callable[[], bool]) -> None:
    for _ in range(1000):
        if true():
            return
        time.sleep(0.01)
    pytest.fail("it did not come to pass in 10 s")


def stop_while(run: "subprocess.Popen[Any]", where: Path, pause: float) -> None:
    """Stop a run while its program, which waits for the file `go` and writes `sent`, sends."""
    until((where / "ready").exists)
    run.send_signal(signal.SIGSTOP)
    (where / "go").touch()
    until((where / "sent").exists)
    time.sleep(pause)
    run.send_signal(signal.SIGCONT)


def test_a_program_that_ends_takes_all_that_it_started_with_it(tmp_path: Path) -> None:
    mark = str(tmp_path / "mark")
    done = fl.emulate(path(), [sys.executable, "-c", HIDE, mark])
    assert done.exit_code == 0
    assert processes(mark) == []
    assert names(os.getpid()) == []


@pytest.mark.parametrize(
    ("number", "code"),
    [
        (signal.SIGINT, 128 + signal.SIGINT),
        (signal.SIGTERM, 128 + signal.SIGTERM),
        (signal.SIGHUP, 128 + signal.SIGHUP),
        (signal.SIGKILL, -signal.SIGKILL),
    ],
)
def test_nothing_outlives_a_signal(number: signal.Signals, code: int, tmp_path: Path) -> None:
    """Ctrl-C reaches the program and farlink, the other signals farlink alone."""
    run, mark = started(tmp_path, STAY)
    assert processes(mark)
    if number == signal.SIGINT:
        os.killpg(run.pid, number)
    else:
        run.send_signal(number)
    with run:
        assert run.wait(10) == code
    gone(mark, run.pid)


def test_what_nohup_runs_outlives_the_terminal(tmp_path: Path) -> None:
    """The run still carries packets; the next signal ends it as usual."""
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    run, mark = started(tmp_path, STAY)
    run.send_signal(signal.SIGHUP)
    with pytest.raises(subprocess.TimeoutExpired):
        run.wait(0.5)
    assert carries(run.pid)
    run.send_signal(signal.SIGTERM)
    with run:
        assert run.wait(10) == 128 + signal.SIGTERM
    gone(mark, run.pid)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("script", ["", "STAY"])
def test_a_signal_to_farlink_alone_ends_a_run_with_its_results(
    script: str, number: signal.Signals, tmp_path: Path
) -> None:
    """A run with or without a program ends with the exit code of the signal."""
    out = tmp_path / "out.json"
    lasts = () if script else ("--seconds", "100")
    run, mark = started(tmp_path, script and STAY, *lasts, "--json", str(out))
    run.send_signal(number)
    with run:
        assert run.wait(20) == 128 + number
        assert run.stderr is not None
        content = run.stderr.read()
        if number == signal.SIGINT:
            assert content.endswith("farlink: interrupted\n")
        assert "Error" not in content.replace("KeyboardInterrupt", "")
    data = json.loads(out.read_text())
    assert data["exit_code"] == 128 + number
    assert data["links"]
    gone(mark, run.pid)


DEAF = "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n" + STAY
POLITE = """
import signal, sys, time
from pathlib import Path
mark = Path(sys.argv[1])
def end(*_):
    mark.write_text("ended")
    sys.exit(7)
signal.signal(signal.SIGINT, end)
mark.write_text("begun")
time.sleep(100)
"""


@pytest.mark.parametrize(("script", "code"), [(DEAF, 130), (POLITE, 7)])
def test_a_program_has_its_time_after_sigint_to_farlink_alone(
    script: str, code: int, tmp_path: Path
) -> None:
    run, mark = started(tmp_path, script)
    run.send_signal(signal.SIGINT)
    with run:
        assert run.wait(20) == code
    if script is POLITE:
        assert Path(mark).read_text() == "ended"
    gone(mark, run.pid)


HEEDS = """
import signal, sys, time
got = []
signal.signal(signal.SIGINT, lambda *_: got.append(1))
print("ready", flush=True)
while not got:
    time.sleep(0.01)
time.sleep(4)
sys.exit(7)
"""


def test_ctrl_c_at_a_terminal_is_for_the_program(tmp_path: Path) -> None:
    """The program runs on after a SIGINT for longer than farlink waits after its own SIGINT."""
    command = [*FARLINK, "emulate", str(scenario_file(tmp_path)), "--quiet"]
    process, terminal = pty.fork()
    if process == 0:
        os.execv(FARLINK[0], [*command, "--", sys.executable, "-c", HEEDS])  # noqa: S606 (no Popen)
    seen = b""
    while b"ready" not in seen:
        seen += os.read(terminal, 4096)
    os.write(terminal, b"\x03")
    with suppress(OSError):
        while os.read(terminal, 4096):
            pass
    _, status = os.waitpid(process, 0)
    os.close(terminal)
    assert os.waitstatus_to_exitcode(status) == 7


def test_ctrl_c_ends_a_transfer_without_a_traceback(tmp_path: Path) -> None:
    run, mark = started(tmp_path, "", "--transfer", "98765432B")
    # Once data cross, the Python programs at both ends have started.
    until(lambda: fl.control.find(str(run.pid)).stats()["packets"]["left"] > 20)
    os.killpg(run.pid, signal.SIGINT)
    with run:
        assert run.wait(10) == 130
        assert run.stderr is not None
        assert "Traceback" not in run.stderr.read()
    gone(mark, run.pid)


def test_names_of_others_that_come_during_a_run_do_not_keep_its_own(tmp_path: Path) -> None:
    """At first use `ip netns add` turns its directory into a shared mount, which hides names."""
    script = """
        mount -t tmpfs none /run || exit 9
        "$@" & farlink=$!
        until ls /run/farlink/*.ctl; do sleep 0.02; done
        mount --make-shared /run/netns ||
            { mount --rbind /run/netns /run/netns && mount --make-shared /run/netns; } || exit 8
        kill $farlink; wait $farlink
        test -z "$(ls /run/netns /run/farlink | grep -v :)" || exit 7
    """
    command = [*FARLINK, "emulate", str(scenario_file(tmp_path)), "--quiet", "--seconds", "100"]
    done = subprocess.run(
        [shutil.which("unshare") or "unshare", "-m", "sh", "-c", script, "sh", *command],
        capture_output=True,
        check=False,
        timeout=30,
    )
    assert done.returncode == 0, done


def test_a_run_takes_away_what_dead_runs_left_and_nothing_else() -> None:
    """A name contains the owner: process number, start time and process namespace."""
    own = Path("/proc/self/ns/pid").stat().st_ino
    since = Path("/proc/self/stat").read_text().rsplit(")", 1)[1].split()[19]
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    stay: list[str] = []
    go: list[str] = []
    command = [shutil.which("unshare") or "", "-pf", sys.executable, "-c", "input()"]
    inner = subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True)

    def living() -> int:
        child = Path(f"/proc/{inner.pid}/ns/pid_for_children")
        return child.stat().st_ino if child.exists() else own

    try:
        until(lambda: living() != own)
        stay += [f"farlink-{os.getpid()}-{since}-{own}-9-hosts", f"farlink-2-1-{living()}-9-hosts"]
        go += [f"farlink-{ended.pid}-1-{own}-9-hosts", f"farlink-{os.getpid()}-1-{own}-9-hosts"]
        # Only the initial process namespace can tell that another one has ended.
        (go if own == FIRST else stay).append("farlink-2-1-1-9-hosts")
        FILES.mkdir(exist_ok=True)
        for name in stay + go:
            (FILES / name).touch()
        swept = fl.emulate(path(), ["true"]).data["swept"]
        # A run of another test may have removed some names before.
        assert not set(swept) & set(stay)
        assert not any((FILES / name).exists() for name in go)
        assert all((FILES / name).exists() for name in stay)
    finally:
        os.killpg(inner.pid, signal.SIGKILL)
        inner.communicate()
        for name in stay + go:
            (FILES / name).unlink(missing_ok=True)


FIRST = 0xEFFFFFFC
"""Number of the process namespace that a machine begins with (linux/nsfs.h)."""


def test_a_shell_has_job_control_and_gives_the_terminal_back(tmp_path: Path) -> None:
    scenario = scenario_file(tmp_path)
    process, terminal = pty.fork()
    if process == 0:
        os.environ["SHELL"] = "/bin/bash"
        os.execv(FARLINK[0], [*FARLINK, "shell", str(scenario)])  # noqa: S606 (pty.fork is no Popen)
    os.write(terminal, b"set -m; sleep 50 & fg\n")
    seen = b""
    until(lambda: bool(processes("sleep\0" + "50")))
    os.write(terminal, b"\x03")
    os.write(terminal, b"echo code $?; exit 5\n")
    while True:
        try:
            seen += os.read(terminal, 4096)
        except OSError:
            break
    _, status = os.waitpid(process, 0)
    os.close(terminal)
    assert b"code 130" in seen
    assert b"no job control" not in seen
    assert os.waitstatus_to_exitcode(status) == 5
