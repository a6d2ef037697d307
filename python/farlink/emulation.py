"""Real packets in real time: programs in the hosts of a scenario, on Linux, as root."""

import json
import os
import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Any

from farlink import _farlink, files, source, units
from farlink.errors import FarlinkError, ScenarioError

__all__ = ["BEHIND_S", "Emulated", "Interrupted", "check_kernel", "emulate", "transfer"]

BEHIND_S = 1e-3
"""An emulation fell behind if one packet in a hundred was later than this, in seconds."""

LONGEST_S = 1e9
"""An emulation lasts no longer, in seconds: some 30 years."""

DATA_PORT = 5001
"""Port of a transfer's sender."""

Command = tuple[str, Sequence[str]]
"""A host, and a program with its arguments."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C ended an emulation; `done` is what it had done by then."""

    def __init__(self, done: "Emulated") -> None:
        super().__init__()
        self.done = done


class Emulated:
    """What an emulation did.

    `data` holds exit_code, duration_s, lateness, hosts, links, packets (where all of them are),
    servers (with the exit codes of those that ended early) and endpoints (what hosts in user space
    sent, fetched and dropped); docs/emulator.md describes it.
    """

    def __init__(self, data: dict[str, Any]) -> None:
        self.data = data

    def _repr_html_(self) -> str:
        """Show in notebooks what the command prints."""
        from farlink.cli import page
        from farlink.cli.emulate import tables

        return page.as_html(lambda out: tables(self, out))

    @property
    def exit_code(self) -> int:
        """Exit code of the program; 128 and the number of the signal if one killed it."""
        return int(self.data["exit_code"])

    @property
    def missing(self) -> int:
        """Packets that came into being and are nowhere: 0, or the engine has an error."""
        packets: dict[str, int] = self.data["packets"]
        made = ("offered", "copied", "cut", "answered")
        found = ("not_ipv4", "no_host", "overflowed", "left", "lost", "for_routers", "inside")
        return sum(packets[key] for key in made) - sum(packets[key] for key in found)

    @property
    def behind(self) -> bool:
        """Whether the engine could not keep up with the clock (`BEHIND_S`)."""
        return float(self.data["lateness"]["p99_s"]) > BEHIND_S


def emulate(
    scenario: str | Path | Mapping[str, object],
    command: Sequence[str] | None = None,
    *,
    host: str | None = None,
    servers: Sequence[Command] = (),
    tcp: str | None = None,
    overrides: Mapping[str, object] | None = None,
    seed: int | None = None,
    seconds: float | None = None,
    endpoints: Mapping[str, str] | None = None,
    plain: bool = False,
    realtime: bool | None = None,
    run: int = 0,
    pcap: Path | None = None,
    snaplen: int = 0,
    sample: bool = False,
) -> Emulated:
    """Run a program in a host of a scenario, whose links carry its packets in real time.

    Each node that a flow of the scenario begins or ends at becomes a host: a network namespace
    with an address, which /etc/hosts knows by its name. The flows themselves are not run.
    Needs Linux and root.

    Parameters
    ----------
    scenario
        As for `run`.
    command
        Program and arguments. Without it the network is there for `seconds`.
    host
        Where the program runs; by default where the first flow goes to.
    servers
        (host, program and arguments) of programs that are started before, and killed after.
    tcp
        Congestion control of the hosts' kernels; by default the kernel's own.
    overrides, seed
        As for `run`.
    seconds
        End after so long, whatever the program does; up to 1e9.
    endpoints
        Names of hosts that are no kernel but the TCP of this package in user space, each with
        the TCP (`farlink tcp`) that it is. It answers on ports 7 (echo), 9 (discard) and 19
        (data without end). No program can run there.
    plain
        One packet to each read and write of a device: slower, and what the default, which
        passes several of a connection at once, is compared with.
    realtime
        By default the engine's thread runs before all others of normal priority (SCHED_FIFO) where
        the system allows it; "realtime" and "realtime_refused" of `data` tell. With True it must,
        and the process also stays in memory, idle processors stay awake, and the thread watches
        the clock for the last 50 us before a packet is due, which takes more of a processor. With
        False it runs at normal priority.
    run
        Number of the run: others draw other random numbers in the channels.
    pcap
        Directory for <host>.pcapng, what each host sends and gets, and lost.pcapng, what the
        links lose, with the cause as a comment of each packet.
    snaplen
        Bytes kept of each packet; 0 keeps all.
    sample
        Look at the kernel's TCP every 50 ms; `data` has "sockets" then.

    Raises
    ------
    ScenarioError
        If the scenario is wrong, there is no such host, or the kernel has no such TCP.
    RunError
        If the system refuses: no root, no TUN device.
    Interrupted
        At Ctrl-C, if there is no command. With one, Ctrl-C is for that command.
    """
    return _emulate(
        scenario,
        command,
        host=host,
        servers=servers,
        tcp=tcp,
        overrides=overrides,
        seed=seed,
        seconds=seconds,
        endpoints=endpoints,
        plain=plain,
        realtime=realtime,
        run=run,
        pcap=pcap,
        snaplen=snaplen,
        sample=sample,
    )


def _emulate(
    scenario: str | Path | Mapping[str, object],
    command: Sequence[str] | None,
    *,
    host: str | None = None,
    servers: Sequence[Command] = (),
    tcp: str | None = None,
    overrides: Mapping[str, object] | None = None,
    seed: int | None = None,
    seconds: float | None = None,
    endpoints: Mapping[str, str] | None = None,
    checked: int | None = None,
    plain: bool = False,
    realtime: bool | None = None,
    run: int = 0,
    pcap: Path | None = None,
    snaplen: int = 0,
    sample: bool = False,
) -> Emulated:
    """Emulate; `checked` is the size of a transfer that user-space hosts take part in."""
    text, default = _resolved(scenario, overrides, seed)
    own = [
        (name, _resolved(scenario, overrides, seed, variant)[0])
        for name, variant in (endpoints or {}).items()
    ]
    fetches = checked is not None and default[1] in (endpoints or {})
    engine = getattr(_farlink, "emulate", None)
    if engine is None:
        raise FarlinkError("emulation needs Linux: it is made of network namespaces")
    main = None if command is None else (host or default[1], list(command))
    if main is None and seconds is None and not fetches:
        raise ScenarioError("an emulation needs a command, or seconds to last")
    if seconds is not None and not 0 < seconds <= LONGEST_S:
        raise ScenarioError(f"seconds is {seconds:g}; write a time above 0, up to {LONGEST_S:g} s")
    if snaplen and pcap is None:
        raise ScenarioError(
            f"snaplen {snaplen} has no effect without pcap, which names a directory"
        )
    if not 0 <= snaplen < 2**32:
        raise ScenarioError(f"snaplen is {snaplen}; write 0 (all of a packet) or a number of bytes")
    if pcap is not None:
        files.check_directory(pcap)
        pcap.mkdir(parents=True, exist_ok=True)
    started = [(name, list(argv)) for name, argv in servers]
    directory = None if pcap is None else str(pcap)
    program = main is not None and checked is None
    with _signals(program=program):
        out = engine(
            text,
            run,
            started,
            main,
            tcp,
            seconds,
            endpoints=own,
            checked=None if checked is None else (*default, DATA_PORT, checked),
            plain=plain,
            realtime=realtime,
            pcap=directory,
            snaplen=snaplen,
            sample=sample,
        )
    data = json.loads(out)
    tree = json.loads(text)
    data |= {"scenario": tree.get("name") or "scenario", "seed": tree["seed"], "run": run}
    # The program of a transfer may be the one that Ctrl-C reaches first.
    interrupted = data["exit_code"] == 128 + signal.SIGINT and not program
    if data.pop("interrupted") or interrupted:
        data["exit_code"] = 128 + signal.SIGINT
        raise Interrupted(Emulated(data))
    return Emulated(data)


def transfer(
    scenario: str | Path | Mapping[str, object],
    size: str,
    *,
    tcp: str | None = None,
    overrides: Mapping[str, object] | None = None,
    seed: int | None = None,
    endpoints: Mapping[str, str] | None = None,
    plain: bool = False,
    realtime: bool | None = None,
    run: int = 0,
    pcap: Path | None = None,
    snaplen: int = 0,
    sample: bool = False,
    output: Path | None = None,
) -> Emulated:
    """Transfer checked data over the first flow's path, by the TCP of the kernel.

    `size` is written as in scenarios ("10 MB"). Every byte is compared at the receiver, which
    prints a line of JSON (to the file `output` if given); a wrong or missing one is exit code 1.
    With `endpoints` the sender or the receiver or both are this package's TCP. The rest is as
    for `emulate`.
    """
    count = units.parse_size(size)
    if count is None or count < 1 or count != int(count):
        raise ScenarioError(f"transfer {size!r}: write a size such as 10MB")
    _, (sender, receiver) = _resolved(scenario, overrides, seed)
    # For each connection and not for the host: the kernel keeps some for root alone, which no
    # namespace can have as its default.
    control = [tcp] if tcp else []
    check_kernel(tcp)
    program = [sys.executable, str(Path(__file__).with_name("transfer.py"))]
    own = endpoints or {}
    if tcp and sender in own and receiver in own:
        raise ScenarioError(
            f"tcp {tcp!r} has no effect: both ends of the transfer are in user space"
        )
    report = ["--output", str(output)] if output else []
    fetch = [*program, *report, "fetch", sender, str(int(count)), *control]
    serve = [*program, "serve", str(int(count)), *control]
    done = _emulate(
        scenario,
        None if receiver in own else fetch,
        host=receiver,
        servers=[] if sender in own else [(sender, serve)],
        overrides=overrides,
        seed=seed,
        endpoints=own,
        checked=int(count),
        plain=plain,
        realtime=realtime,
        run=run,
        pcap=pcap,
        snaplen=snaplen,
        sample=sample,
    )
    if receiver in own:
        # As the program would have.
        fetched = done.data["endpoints"][receiver]["fetched"]
        if output is None:
            sys.stdout.write(json.dumps(fetched) + "\n")
            sys.stdout.flush()
        else:
            output.write_text(json.dumps(fetched) + "\n", encoding="utf-8")
        done.data["exit_code"] = int(not (fetched and fetched["correct"]))
    return done


def check_kernel(tcp: str | None) -> None:
    """Raise `ScenarioError` if this kernel has no TCP of that name."""
    known = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
    if tcp and known.exists() and tcp not in known.read_text().split():
        raise ScenarioError(
            f"the kernel has no TCP {tcp!r}; it has {', '.join(known.read_text().split())}"
        )


def _resolved(
    scenario: str | Path | Mapping[str, object],
    overrides: Mapping[str, object] | None,
    seed: int | None,
    variant: str | None = None,
) -> tuple[str, tuple[str, str]]:
    """Return the resolved scenario, with another TCP if named, and the nodes of its first flow."""
    changes = [(path, source.override_text(value)) for path, value in (overrides or {}).items()]
    if seed is not None:
        changes.append(("seed", str(seed)))
    (text,) = source.find(scenario).resolve(variant and [variant], changes).values()
    flow = json.loads(text)["flows"][0]
    return text, (flow["from"].replace("{}", "0"), flow["to"].replace("{}", "0"))


@contextmanager
def _signals(*, program: bool) -> Iterator[None]:
    """Leave Ctrl-C to the user's program, if there is one, which ends the emulation by ending.

    Without one it ends the emulation, as SIGTERM and the end of the terminal (SIGHUP) always do.
    """

    def leave(number: int, _frame: FrameType | None) -> None:
        raise SystemExit(128 + number)

    def ignore(_number: int, _frame: FrameType | None) -> None:
        """Not SIG_IGN, which the program would inherit."""

    handlers: list[tuple[int, Callable[[int, FrameType | None], None]]] = [(signal.SIGTERM, leave)]
    if program:
        handlers.append((signal.SIGINT, ignore))
    if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:  # as nohup sets it
        handlers.append((signal.SIGHUP, leave))
    try:
        before = [(number, signal.signal(number, handler)) for number, handler in handlers]
    except ValueError:  # not the main thread: signals are somebody else's affair
        yield
        return
    try:
        with _terminal():
            yield
    finally:
        for number, handler in before:
            signal.signal(number, handler)


@contextmanager
def _terminal() -> Iterator[None]:
    """Take the terminal back at the end from a shell that took it."""
    try:
        terminal = os.open("/dev/tty", os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        yield
        return
    try:
        group = os.tcgetpgrp(terminal)
        try:
            yield
        finally:
            if group == os.getpgrp():
                # Who is not in the foreground would be stopped for asking.
                before = signal.signal(signal.SIGTTOU, signal.SIG_IGN)
                with suppress(OSError):
                    os.tcsetpgrp(terminal, group)
                signal.signal(signal.SIGTTOU, before)
    finally:
        os.close(terminal)
