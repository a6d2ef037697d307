"""Emulation: programs in hosts of a scenario exchange real packets (Linux, root)."""

import json
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Any, TypedDict, Unpack

from farlink import _farlink, attachment, checks, files, source, units
from farlink.errors import FarlinkError, ScenarioError

__all__ = [
    "BEHIND_S",
    "CERTIFICATE",
    "Emulated",
    "Interrupted",
    "Options",
    "Terminated",
    "check_kernel",
    "check_seconds",
    "emulate",
    "of_gateways",
    "over_quic",
    "signals",
    "transfer",
    "utf8",
]

BEHIND_S = 1e-3
"""Lateness (s) of the 99th percentile of packets above which an emulation fell behind."""

CERTIFICATE = Path(__file__).with_name("data") / "quic.pem"
"""File of the certificate of QUIC servers in user space, whose name is "farlink"."""

LONGEST_S = 1e9
"""Longest duration of an emulation in seconds, some 30 years."""

DATA_PORT = 5001
"""Port of a transfer's sender."""

Command = tuple[str, Sequence[str]]
"""Host, and a program with its arguments."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C ended an emulation.

    `done` is the result until then.
    """

    def __init__(self, done: "Emulated") -> None:
        super().__init__()
        self.done = done


class Terminated(SystemExit):
    """SIGTERM or SIGHUP ended an emulation.

    `done` is the result until then.
    """

    def __init__(self, done: "Emulated") -> None:
        super().__init__(done.exit_code)
        self.done = done


class Emulated:
    """Result of an emulation.

    `data` has exit_code, duration_s, lateness, hosts, links, packets (counts by place), servers
    (with exit codes of early ends) and endpoints (bytes that hosts in user space sent, fetched and
    dropped). docs/emulator/packets.md describes it.
    """

    def __init__(self, data: dict[str, Any]) -> None:
        self.data = data

    def _repr_html_(self) -> str:
        """Return the HTML that notebooks show, with the text that the command prints."""
        from farlink.views import page
        from farlink.views.emulate import tables

        return page.as_html(lambda out: tables(self, out))

    @property
    def exit_code(self) -> int:
        """Exit code of the program, or 128 plus the number of the signal that killed it."""
        return int(self.data["exit_code"])

    @property
    def missing(self) -> int:
        """Number of packets that entered the engine and are unaccounted for.

        A value other than 0 is a bug of the engine.
        """
        packets: dict[str, int] = self.data["packets"]
        made = ("offered", "copied", "cut", "answered", "injected")
        result = (
            "not_ip",
            "no_host",
            "overflowed",
            "left",
            "lost",
            "for_routers",
            "absorbed",
            "inside",
        )
        return sum(packets[key] for key in made) - sum(packets[key] for key in result)

    @property
    def behind(self) -> bool:
        """Whether the engine fell behind the clock (`BEHIND_S`)."""
        return float(self.data["lateness"]["p99_s"]) > BEHIND_S


class Options(TypedDict, total=False):
    """Options of an emulation: the keywords of `emulate` and `transfer`."""

    host: str | None
    """Host of the program; by default the destination of the first flow."""
    servers: Sequence[Command]
    """Programs to start before the command and to kill after it: (host, program and arguments)."""
    tcp: str | None
    """Congestion control of the hosts' kernels; by default the kernel's own."""
    overrides: Mapping[str, object] | None
    """As for `run`."""
    seed: int | None
    """As for `run`."""
    seconds: float | None
    """Time in seconds, up to 1e9, after which the emulation ends even if the program still runs."""
    endpoints: Mapping[str, str] | None
    """TCPs of hosts in user space, by the name of the host.

    Such a host is farlink's own TCP (`farlink list tcp`) instead of a kernel. It answers on ports 7
    (echo), 9 (discard) and 19 (data without end); as "quic", also QUIC on ports 443 and 5001. No
    program can run there.
    """
    attach: Mapping[str, str] | None
    """Existing machines or namespaces that are hosts, by the name of the host.

    A value is an Ethernet interface ("eth1": the machine behind it is the host), "bridge:NAME",
    "netns:NAME" or "container:NAME".
    """
    internet: str | None
    """Host that is this machine itself.

    Over the links of the scenario, the other hosts reach everything that this machine reaches by
    IPv4, through the kernel's NAT.
    """
    force: bool
    """Attach an interface even if the machine's own connection uses it."""
    plain: bool
    """Pass one packet in each read and write of a device.

    This is slower; the default passes several packets of a connection at once.
    """
    realtime: bool | None
    """By default the engine's thread runs before all others of normal priority (SCHED_FIFO) where
    the system allows it; "realtime" and "realtime_refused" of `data` tell. With True it must, and
    the process also stays in memory, idle processors stay awake, and the thread watches the clock
    for the last 50 us before a packet is due, which takes more of a processor. With False it runs
    at normal priority."""
    run: int
    """Number of the run, which selects the random numbers of the channels."""
    pcap: Path | None
    """Directory for captures.

    <host>.pcapng has the packets that a host sends and receives; lost.pcapng has the packets that
    links lose, each with its cause as a comment.
    """
    snaplen: int
    """Bytes kept of each packet; 0 keeps all."""
    sample: bool
    """Sample the kernel's TCP every 50 ms; `data` then has "sockets"."""


def emulate(
    scenario: str | Path | Mapping[str, object],
    command: Sequence[str] | None = None,
    **options: Unpack[Options],
) -> Emulated:
    """Run a program in a host of a scenario; the scenario's links carry its packets in real time.

    Each node at which a flow of the scenario begins or ends becomes a host. A host is a network
    namespace with an address, which /etc/hosts lists by name. The flows themselves do not run.
    Needs Linux and root.

    Parameters
    ----------
    scenario
        As for `run`.
    command
        Program and arguments. Without it the network runs for `seconds`; with `attach` and neither,
        it runs until Ctrl-C.
    options
        Options described in `emulation.Options`: host, servers, tcp, overrides, seed, seconds,
        endpoints, attach, internet, force, plain, realtime, run, pcap, snaplen, sample.

    Raises
    ------
    ScenarioError
        If the scenario is wrong, a host does not exist, or the kernel lacks the TCP.
    RunError
        If the system refuses: no root, no TUN device.
    Interrupted
        At Ctrl-C without a command. With a command, Ctrl-C is left to the command. A SIGINT that a
        process sends to farlink alone is passed on to the command, and ends the run 3 s later.
    Terminated
        At SIGTERM or SIGHUP.
    """
    _check("emulate", options)
    return _emulate(scenario, command, options)


def transfer(
    scenario: str | Path | Mapping[str, object],
    size: str,
    *,
    output: Path | None = None,
    counters: Path | None = None,
    memory: Mapping[str, str] | None = None,
    **options: Unpack[Options],
) -> Emulated:
    """Transfer checked data over the first flow's path, by the TCP of the kernel.

    `size` is written as in scenarios ("10 MB"). The receiver compares every byte, and prints a line
    of JSON (into the file `output` if given). A wrong or missing byte gives exit code 1. The file
    `counters` gets the counters of the sender's kernel, by the names of /proc/net/snmp and netstat.
    `memory` has settings of net.ipv4 for the kernels of both ends, such as "tcp_wmem". With
    `endpoints`, one or both ends use farlink's TCP. With "quic" as the receiver's, `servers` has
    the server of QUIC, unless the sender is "quic" too. The other options are those of `emulate`,
    except the options for programs (host, servers, seconds).
    """
    _check("transfer", options)
    own, servers = options.get("endpoints") or {}, options.pop("servers", None) or []
    of_programs = {
        "host": options.pop("host", None),
        "servers": () if over_quic(own) else servers,
        "seconds": options.pop("seconds", None),
    }
    for name, value in of_programs.items():
        if value:
            raise ScenarioError(f"{name} has no effect on a transfer over the first flow's path")
    count = units.whole_size(size)
    if count is None:
        raise ScenarioError(f"transfer {size!r}: write a size such as 10MB")
    text, (sender, receiver) = _resolved(scenario, options)
    # The TCP is set per connection and not per host. The kernel allows some TCPs to root only, and
    # these cannot be a namespace's default.
    tcp = options.pop("tcp", None)
    control = [tcp] if tcp else []
    check_kernel(tcp)
    program = [sys.executable, "-P", str(Path(__file__).with_name("transfer.py"))]
    if tcp and sender in own and receiver in own:
        raise ScenarioError(
            f"tcp {tcp!r} has no effect: both ends of the transfer are in user space"
        )
    report = ["--output", str(output)] if output else []
    if memory:
        program += ["--memory", json.dumps(dict(memory))]
    if counters:
        if sender in own:
            raise ScenarioError("counters are of a kernel, and the sender is in user space")
        program += ["--counters", str(counters)]
    fetch = [*program, *report, "fetch", sender, str(count), *control]
    serve = [*program, "--ip", source.ip(json.loads(text)), "serve", str(count), *control]
    options["host"] = receiver
    options["servers"] = [] if sender in own else [(sender, serve)]
    if quic := over_quic(own):
        _check_quic(quic, own, (sender, receiver), servers)
        options["servers"] = servers
    done = _emulate(scenario, None if receiver in own else fetch, options, checked=count)
    if receiver in own:
        # With a kernel host, a program writes this line.
        fetched = done.data["endpoints"][receiver]["fetched"]
        if output is None:
            sys.stdout.write(json.dumps(fetched) + "\n")
            sys.stdout.flush()
        else:
            output.write_text(json.dumps(fetched) + "\n", encoding="utf-8")
        done.data["exit_code"] = int(not (fetched and fetched["correct"]))
    # The sender ends with the transfer, so it is reported only if it failed.
    done.data["servers"] = [row for row in done.data["servers"] if row["exit_code"] != 0]
    return done


def over_quic(endpoints: Mapping[str, str]) -> set[str]:
    """Return the hosts in user space whose transport is QUIC."""
    return {name for name, tcp in endpoints.items() if source.split(tcp)[0] == source.QUIC}


def _check_quic(
    quic: set[str], own: Mapping[str, str], ends: tuple[str, str], servers: Sequence[Command]
) -> None:
    """Raise `ScenarioError` if the ends of a transfer over QUIC do not understand each other."""
    sender, receiver = ends
    if receiver not in quic and receiver not in own:
        raise ScenarioError(
            f"{receiver} receives by a kernel, which has no QUIC; write endpoint {receiver}=quic "
            f"too, or a program of QUIC instead of the transfer"
        )
    if receiver not in quic or (sender in own and sender not in quic):
        tcp = receiver if receiver not in quic else sender
        raise ScenarioError(
            f"endpoint {tcp}={own[tcp]} is a TCP, and the other end of the transfer is QUIC"
        )
    if sender in own and servers:
        raise ScenarioError("servers has no effect: both ends of the transfer are in user space")
    if sender not in own and not servers:
        raise ScenarioError(
            f"{sender} sends by a kernel, which has no QUIC; write endpoint {sender}=quic too, or "
            f"start a server of QUIC on port {DATA_PORT} of {sender}"
        )


def of_gateways(
    scenario: str | Path | Mapping[str, object],
    unit: Mapping[str, str],
    notice: Callable[[str], None],
    options: Options,
) -> Emulated:
    """Emulate with hosts that join from other machines (`farlink.machines.unit`)."""
    return _emulate(scenario, None, options, unit=(unit, notice))


def check_seconds(seconds: float | None) -> None:
    """Raise `ScenarioError` if a duration is out of range."""
    if seconds is not None and not 0 < seconds <= LONGEST_S:
        raise ScenarioError(f"seconds is {seconds:g}; write a time above 0, up to {LONGEST_S:g} s")


def _check(function: str, options: Options) -> None:
    """Raise `TypeError` for unknown options, as Python does for unknown keywords."""
    for name in options.keys() - Options.__annotations__.keys():
        raise TypeError(f"{function}() got an unexpected keyword argument {name!r}")


def _check_options(options: Options, *, unit: bool) -> None:
    if options.get("force") and not options.get("attach"):
        raise ScenarioError("force has no effect without attach")
    if unit and options.get("internet"):
        raise ScenarioError("internet has no effect on gateways, which are on other machines")
    check_seconds(options.get("seconds"))
    checks.whole("run", options.get("run", 0), 2**64 - 1, least=0)
    snaplen = options.get("snaplen", 0)
    if snaplen and options.get("pcap") is None:
        raise ScenarioError(
            f"snaplen {snaplen} has no effect without pcap, which names a directory"
        )
    if not 0 <= snaplen < 2**32:
        raise ScenarioError(f"snaplen is {snaplen}; write 0 (all of a packet) or a number of bytes")


def _emulate(
    scenario: str | Path | Mapping[str, object],
    command: Sequence[str] | None,
    options: Options,
    checked: int | None = None,
    unit: tuple[Mapping[str, str], Callable[[str], None]] | None = None,
) -> Emulated:
    """Emulate a scenario.

    `checked` is the size of a transfer in which user-space hosts take part. `unit` has the engine's
    settings for hosts on other machines, and the function for its notices.
    """
    text, default = _resolved(scenario, options)
    endpoints = options.get("endpoints") or {}
    own = [
        {"host": name, "scenario": _resolved(scenario, options, variant)[0]}
        for name, variant in endpoints.items()
    ]
    engine = getattr(_farlink, "emulate", None)
    if engine is None:
        raise FarlinkError("emulation needs Linux: it is made of network namespaces")
    main = None if command is None else (options.get("host") or default[1], command)
    _check_options(options, unit=unit is not None)
    seconds, fetches = options.get("seconds"), checked is not None and default[1] in endpoints
    attach = options.get("attach") or {}
    if main is None and seconds is None and not fetches and not attach and unit is None:
        raise ScenarioError("an emulation needs a command, or seconds to last")
    pcap, run = options.get("pcap"), options.get("run", 0)
    if pcap is not None:
        files.check_directory(pcap)
        pcap.mkdir(parents=True, exist_ok=True)
    asked = {
        "run": run,
        "servers": [_task(server) for server in options.get("servers") or ()],
        "main": main and _task(main),
        "tcp": options.get("tcp"),
        "seconds": seconds,
        "endpoints": own,
        "transfer": checked
        and {"sender": default[0], "receiver": default[1], "port": DATA_PORT, "bytes": checked},
        "plain": options.get("plain", False),
        "realtime": options.get("realtime"),
        "pcap": pcap and str(pcap),
        "snaplen": options.get("snaplen", 0),
        "sample": options.get("sample", False),
        "attach": attachment.attached(attach),
        "internet": options.get("internet"),
        "force": options.get("force", False),
        "unit": unit and dict(unit[0]),
    }
    program = main is not None and checked is None
    on_main_thread = threading.current_thread() is threading.main_thread()
    asked |= {"interrupt": program and on_main_thread, "sweeper": _SWEEPER}
    with signals(program=(lambda: True) if program else None) as received:
        words = utf8(json.dumps(asked, ensure_ascii=False))
        data = json.loads(engine(text, words, unit and unit[1]))
    tree = json.loads(text)
    data |= {"scenario": tree.get("name") or "scenario", "seed": tree["seed"], "run": run}
    # Ctrl-C may reach the program of a transfer first.
    interrupted = data["exit_code"] == 128 + signal.SIGINT and not program
    if data.pop("interrupted") or interrupted:
        number = received[-1] if received else signal.SIGINT
        data["exit_code"] = 128 + number
        raise Interrupted(Emulated(data)) if number == signal.SIGINT else Terminated(Emulated(data))
    return Emulated(data)


_SWEEPER = [sys.executable, "-P", "-c", "from farlink import _farlink; _farlink.sweep()"]
"""Program that restores the settings of an Internet uplink if this process is killed."""


def _task(command: Command) -> dict[str, object]:
    host, argv = command
    return {"host": host, "argv": list(argv)}


def utf8(text: str) -> str:
    """Return the text if UTF-8 can represent it; `ScenarioError` otherwise."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ScenarioError(
            f"{error.object[error.start : error.end]!r} in a command or a path is no UTF-8"
        ) from None
    return text


def check_kernel(tcp: str | None) -> None:
    """Raise `ScenarioError` if this kernel has no TCP of that name."""
    known = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
    if tcp and known.exists() and tcp not in known.read_text().split():
        raise ScenarioError(
            f"the kernel has no TCP {tcp!r}; it has {', '.join(known.read_text().split())}"
        )


def _resolved(
    scenario: str | Path | Mapping[str, object], options: Options, variant: str | None = None
) -> tuple[str, tuple[str, str]]:
    """Return the resolved scenario, with the TCP replaced if given, and its first flow's nodes."""
    changes = source.changes(options.get("overrides"), options.get("seed"))
    (text,) = source.find(scenario).resolve(variant and [variant], changes).values()
    return text, source.ends(json.loads(text)["flows"][0])


@contextmanager
def signals(*, program: Callable[[], bool] | None) -> Iterator[list[int]]:
    """Leave Ctrl-C to the user's program, whose end also ends the emulation.

    Without a program, or before it starts, Ctrl-C ends the emulation. SIGTERM and SIGHUP (the end
    of the terminal) always end it. The list has the numbers of SIGTERM and SIGHUP signals that
    arrived.
    """
    received: list[int] = []

    def leave(number: int, _frame: FrameType | None) -> None:
        received.append(number)
        raise SystemExit(128 + number)

    def leave_to_program(number: int, frame: FrameType | None) -> None:
        # The program would inherit SIG_IGN.
        if program is not None and not program():
            signal.default_int_handler(number, frame)

    handlers: list[tuple[int, Callable[[int, FrameType | None], None]]] = [(signal.SIGTERM, leave)]
    if program is not None:
        handlers.append((signal.SIGINT, leave_to_program))
    if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:  # nohup ignores SIGHUP.
        handlers.append((signal.SIGHUP, leave))
    try:
        before = [(number, signal.signal(number, handler)) for number, handler in handlers]
    except ValueError:  # Signals can be handled only in the main thread.
        yield received
        return
    try:
        with _terminal():
            yield received
    finally:
        for number, handler in before:
            signal.signal(number, handler)


@contextmanager
def _terminal() -> Iterator[None]:
    """Take the terminal back at the end from a shell that became its foreground process."""
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
                # SIGTTOU would stop a background process that changes the foreground group.
                before = signal.signal(signal.SIGTTOU, signal.SIG_IGN)
                with suppress(OSError):
                    os.tcsetpgrp(terminal, group)
                signal.signal(signal.SIGTTOU, before)
    finally:
        os.close(terminal)
