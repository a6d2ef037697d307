"""Runs of a study with real packets: each in a process of its own, several side by side.

`python -m farlink.studies.live_run` reads a `Job` as JSON and writes what was measured. Links of
a study are slow, so that several emulations have room on one processor, and a process of its own
takes its namespaces away whatever ends it.
"""

import hashlib
import json
import platform
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from types import FrameType
from typing import Any

from farlink import _farlink, emulation, files, source
from farlink.errors import RunError, ScenarioError

__all__ = ["TRIES", "Job", "Run", "check_allowed", "run_all"]

TRIES = 3
"""Times that a run is emulated, until one did not fall behind the clock."""

Told = Callable[[str], None]


@dataclass(frozen=True)
class Job:
    """A run: the scenario of one transfer, which run it is, and who sends.

    `kernel` is a congestion control of the kernel; empty for this package's TCP, the one of
    the scenario. A run of which one packet in a hundred is later than `late_s` is done again.
    """

    label: str
    scenario: Mapping[str, Any]
    run: int
    kernel: str = ""
    late_s: float = emulation.BEHIND_S

    @property
    def key(self) -> str:
        """Name of what is measured: of this kernel, by this version."""
        content = [asdict(self), platform.release(), _farlink.version()]
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True)
class Run:
    """Result of a run.

    Attributes
    ----------
    flow
        Metrics of the transfer, by the names of simulated ones.
    links
        Metrics of each direction of each link ("radio.down"); None where it has none.
    late_p99_s
        One packet in a hundred was later than this.
    """

    flow: Mapping[str, float]
    links: Mapping[str, Mapping[str, float | None]]
    late_p99_s: float


def check_allowed(scenario: Mapping[str, Any]) -> None:
    """Raise `ScenarioError` where this system lets nobody emulate, or not this user."""
    try:
        emulation.emulate(scenario, seconds=0.001)
    except RunError as error:
        raise ScenarioError(f"--live needs Linux and root: {error}") from None


def run_all(
    jobs: Sequence[Job], together: int, store: Path | None = None, tell: Told | None = None
) -> list[Run]:
    """Emulate all of these, so many at a time; what the store has is not run again.

    Raises
    ------
    RunError
        If a transfer fails. Then, and at Ctrl-C, the other runs are ended and taken down.
    """
    table: dict[int, Run] = {}
    waiting = []
    for place, job in enumerate(jobs):
        kept = _kept(store, job)
        if kept is None:
            waiting.append((place, job))
        else:
            table[place] = kept
    running: dict[subprocess.Popen[str], tuple[int, Job]] = {}
    with _leaving(), _ending(running):
        while waiting or running:
            while waiting and len(running) < together:
                place, job = waiting.pop(0)
                running[_start(job)] = (place, job)
            process = _ended(running)
            place, job = running[process]
            output, _ = process.communicate()
            del running[process]
            table[place] = _read(process.returncode, output, job)
            _keep(store, job, table[place])
            if tell:
                tell(f"live: {len(table)} of {len(jobs)} runs done ({job.label})")
    return [table[place] for place in range(len(jobs))]


def _start(job: Job) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "farlink.studies.live_run", json.dumps(asdict(job))]
    # In a group of its own: Ctrl-C reaches the one that waits, which ends the runs.
    return subprocess.Popen(  # noqa: S603 (this program)
        command,
        stdout=subprocess.PIPE,
        text=True,
        stdin=subprocess.DEVNULL,
        process_group=0,
    )


def _ended(running: "Iterable[subprocess.Popen[str]]") -> "subprocess.Popen[str]":
    """Wait for the first that ends; what it writes fits into its pipe."""
    while True:
        for process in running:
            if process.poll() is not None:
                return process
        time.sleep(0.02)


def _read(code: int, output: str, job: Job) -> Run:
    data = json.loads(output) if output.strip() else {"error": f"it ended with {code}"}
    if "error" in data:
        raise RunError(f"the live transfer of {job.label}, run {job.run}, failed: {data['error']}")
    return Run(**data)


@contextmanager
def _ending(running: "Mapping[subprocess.Popen[str], object]") -> Iterator[None]:
    """End what still runs, and wait until it has taken its namespaces away."""
    try:
        yield
    finally:
        for process in running:
            process.send_signal(signal.SIGTERM)
        for process in running:
            process.communicate()


@contextmanager
def _leaving() -> Iterator[None]:
    """Leave by an exception at SIGTERM and the end of the terminal, so that the runs end, too."""

    def leave(number: int, _frame: FrameType | None) -> None:
        raise SystemExit(128 + number)

    numbers = [signal.SIGTERM]
    if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:  # as nohup sets it
        numbers.append(signal.SIGHUP)
    try:
        before = [(number, signal.signal(number, leave)) for number in numbers]
    except ValueError:  # not the main thread: signals are somebody else's affair
        yield
        return
    try:
        yield
    finally:
        for number, handler in before:
            signal.signal(number, handler)


def _kept(store: Path | None, job: Job) -> Run | None:
    if store is None:
        return None
    with suppress(OSError, ValueError, TypeError):
        return Run(**json.loads((store / f"{job.key}.json").read_text(encoding="utf-8")))
    return None


def _keep(store: Path | None, job: Job, run: Run) -> None:
    if store is not None:
        store.mkdir(parents=True, exist_ok=True)
        files.write_text(store / f"{job.key}.json", json.dumps(asdict(run)) + "\n")


def emulated(job: Job) -> Run:
    """Emulate a run, again if it fell behind the clock."""
    tries = (_once(job) for _ in range(TRIES))
    best = next(tries)
    for again in tries:
        if best.late_p99_s <= job.late_s:
            break
        best = min(best, again, key=lambda item: item.late_p99_s)
    return best


def _once(job: Job) -> Run:
    flow = job.scenario["flows"][0]
    sender, _ = source.ends(flow)
    options: dict[str, Any] = {"run": job.run}
    if job.kernel:
        options["tcp"] = job.kernel
    else:
        options["endpoints"] = {sender: job.scenario["tcp"]["variant"]}
    with tempfile.TemporaryDirectory(prefix="farlink-") as where:
        report, counters = Path(where) / "report.json", Path(where) / "counters.json"
        done = emulation.transfer(
            job.scenario,
            flow["size"],
            output=report,
            counters=counters if job.kernel else None,
            **options,
        )
        if done.exit_code or not report.exists():
            raise RunError(f"exit code {done.exit_code}")
        data = json.loads(report.read_text(encoding="utf-8"))
        counted = json.loads(counters.read_text(encoding="utf-8")) if job.kernel else {}
    measured = {"goodput": data["goodput_bit_s"], "duration": data["seconds"]}
    if job.kernel:
        measured["timeouts"] = counted["TcpExt"]["TCPTimeouts"]
        measured["segments_retransmitted"] = counted["Tcp"]["RetransSegs"]
    else:
        own = done.data["endpoints"][sender]
        for name in ("timeouts", "segments_retransmitted", "fast_retransmits"):
            measured[name] = own[name]
    links = {f"{row['link']}.{row['direction']}": row["metrics"] for row in done.data["links"]}
    return Run(measured, links, float(done.data["lateness"]["p99_s"]))


def main(text: str) -> int:
    """Run a job that is written as JSON, and write what it gave."""
    try:
        data = asdict(emulated(Job(**json.loads(text))))
    except (RunError, ScenarioError) as error:
        data = {"error": str(error)}
    sys.stdout.write(json.dumps(data) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
