"""The commands `farlink emulate` and `farlink shell`: real programs on a scenario's links."""

import functools
import inspect
import json
import os
import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from farlink import emulation, files, pictures, source
from farlink.cli import options, text
from farlink.cli.live import check_port
from farlink.cli.options import declare
from farlink.errors import ScenarioError
from farlink.kernel import KernelTrace
from farlink.views.emulate import tables

__all__ = ["emulate", "end", "of_hosts", "shell", "show"]

_Host = Annotated[
    str | None,
    declare("--in", "Host of the program; by default the destination of the first flow.", "HOST"),
]
_Live = Annotated[
    bool, declare("--live", "Serve a page that shows the links and TCPs, and changes the links.")
]
_LivePort = Annotated[int, declare("--live-port", "Port of that page; 0 is a free one.", "N")]
_At = Annotated[
    list[str], declare("--at", "Program to start first, in another host.", "'HOST: COMMAND'")
]
_Internet = Annotated[
    str | None,
    declare(
        "--internet",
        "Host that is this machine itself, and the others' way to the Internet (NAT).",
        "HOST",
    ),
]


def _options(
    host: _Host = None,
    at: _At = [],
    tcp: options.KernelTcp = [],
    endpoint: options.Endpoint = [],
    attach: options.Attach = [],
    internet: _Internet = None,
    force: options.Force = False,
    plain: options.Plain = False,
    realtime: options.Realtime = None,
    changes: options.Changes = [],
    seed: options.Seed = None,
    pcap: options.PcapDir = None,
    snaplen: options.Snaplen = 0,
) -> emulation.Options:
    """Read the options that `emulate` and `shell` share."""
    return {
        "host": host,
        "servers": _servers(at),
        "tcp": text.one_name(tcp),
        "overrides": dict(text.assignments(changes)),
        "seed": seed,
        "endpoints": of_hosts("--endpoint", endpoint, "TCP", "server=hybla"),
        "attach": of_hosts("--attach", attach, "WHAT", "office=eth1"),
        "internet": internet,
        "force": force,
        "plain": plain,
        "realtime": realtime,
        "pcap": pcap,
        "snaplen": snaplen,
    }


def _with_options(command: Callable[..., None]) -> Callable[..., None]:
    """Replace the parameter `settings` of a command by the options of `_options`."""
    reads = inspect.signature(_options).parameters
    own = inspect.signature(command).parameters.values()
    merged = [
        read.replace(kind=inspect.Parameter.KEYWORD_ONLY)
        for each in own
        for read in (reads.values() if each.name == "settings" else [each])
    ]

    @functools.wraps(command)
    def run(**given: Any) -> None:  # noqa: ANN401 (as the signature below says)
        settings = _options(**{name: given.pop(name) for name in reads})
        command(settings=settings, **given)

    run.__signature__ = inspect.Signature(merged)  # type: ignore[attr-defined]
    run.__annotations__ = {item.name: item.annotation for item in merged}
    return run


@_with_options
def emulate(
    settings: emulation.Options,
    scenario: options.Scenario,
    command: Annotated[
        list[str] | None,
        typer.Argument(help="Program and arguments, behind --.", metavar="-- COMMAND"),
    ] = None,
    transfer: Annotated[
        str, declare("--transfer", "Transfer checked data instead of a program.", "SIZE")
    ] = "",
    seconds: Annotated[
        float | None, declare("--seconds", "End after this time, even if the program runs on.", "N")
    ] = None,
    trace: Annotated[
        Path | None, declare("--trace", "Write the state of the kernel's TCP here.", "DIR")
    ] = None,
    plots: Annotated[
        bool, declare("--plots", "Draw the traces; with --pcap also the sequence numbers.")
    ] = False,
    json_file: options.JsonFile = None,
    strict: Annotated[bool, declare("--strict", "Fail if the engine fell behind.")] = False,
    live: _Live = False,
    live_port: _LivePort = 0,
    quiet: Annotated[bool, declare("--quiet", "No table.")] = False,
) -> None:
    """Run a program whose packets cross the links of a scenario in real time (Linux, root)."""
    named = bool(command) + bool(transfer) + (seconds is not None and not command)
    if named != 1 and (named or not settings["attach"]):
        raise ScenarioError(
            "write what is to run: -- COMMAND, --transfer SIZE, or --seconds N for neither"
        )
    quic = emulation.over_quic(settings["endpoints"] or {})
    if transfer and (settings["host"] or (settings["servers"] and not quic)):
        raise ScenarioError(
            "--in and --at have no effect with --transfer, which runs over the first flow's path"
        )
    if json_file is not None and not text.is_standard_output(json_file):
        files.check_file(json_file)
    if trace is not None:
        files.check_directory(trace)
    elif plots:
        raise ScenarioError("--plots draws what --trace DIR writes; write both")
    asked: emulation.Options = {**settings, "seconds": seconds, "sample": trace is not None}
    try:
        with _page(scenario, settings, on=live, port=live_port):
            if transfer:
                done = emulation.transfer(scenario, transfer, **asked)
            else:
                done = emulation.emulate(scenario, command or None, **asked)
    except (emulation.Interrupted, emulation.Terminated) as ended:
        # Report the traffic until the signal.
        done = ended.done
    show(done, json_file=json_file, quiet=quiet)
    if trace is not None:
        seen = KernelTrace.of(done)
        seen.write(trace)
        if plots and not seen.flows:
            sys.stderr.write("farlink: no TCP connection was seen: there is nothing to draw\n")
        elif plots:
            _draw(seen, settings["tcp"] or "kernel", settings["pcap"], trace)
    end(done, strict=strict)


@contextmanager
def _page(scenario: str, settings: emulation.Options, *, on: bool, port: int) -> Iterator[None]:
    """Serve the live page until the end of the block, if `on`.

    The page's server prints the address once the emulation stands.
    """
    if port and not on:
        raise ScenarioError("--live-port has no effect without --live")
    if not on:
        yield
        return
    from farlink.browser import address, process

    check_port("--live-port", port)
    overrides = source.changes(settings["overrides"], settings["seed"])
    kernel = settings["tcp"]
    known = kernel in source.profiles()["linux"]["tcp"]
    state = address.experiment(scenario, [f"linux-{kernel}"] if known else None, overrides)
    with process.served(state, port):
        yield


def _draw(seen: "KernelTrace", name: str, pcap: Path | None, directory: Path) -> None:
    """Draw the kernel traces; with captures, also the sequence numbers of the largest flow."""
    from farlink.plot.style import save

    with pictures.optional("cwnd"):
        save(seen.plots(name, pcap).cwnd(), directory / "cwnd")
    if pcap is not None:
        with pictures.optional("sequence"):
            save(seen.plots(name, pcap).sequence(name), directory / "sequence")


@_with_options
def shell(
    settings: emulation.Options,
    scenario: options.Scenario,
    live: _Live = False,
    live_port: _LivePort = 0,
) -> None:
    """Open a shell in a host of a scenario (Linux, root); the network ends with it."""
    for name, value in _PROMPT.items():
        os.environ.setdefault(name, value)
    with _page(scenario, settings, on=live, port=live_port):
        done = emulation.emulate(scenario, [os.environ.get("SHELL", "/bin/sh")], **settings)
    show(done, json_file=None, quiet=False)
    end(done, strict=False)


_PROMPT = {
    # Runs before each prompt, because bash's start-up files may overwrite PS1.
    "PROMPT_COMMAND": 'case $PS1 in "($FARLINK_HOST) "*) ;; *) PS1="($FARLINK_HOST) $PS1" ;; esac',
    "PS1": "($FARLINK_HOST) $ ",
}
"""Environment that puts the host's name in front of the shell's prompt."""


def _servers(options: list[str]) -> list[tuple[str, list[str]]]:
    servers = []
    for option in options:
        name, colon, command = option.partition(":")
        try:
            argv = shlex.split(command)
        except ValueError as error:
            raise ScenarioError(f"--at {option!r}: {error}") from None
        if not colon or not name.strip() or not argv:
            raise ScenarioError(
                f"--at {option!r}: not HOST: COMMAND; write for example --at 'server: iperf3 -s'"
            )
        servers.append((name.strip(), argv))
    return servers


def of_hosts(option: str, given: list[str], what: str, example: str) -> dict[str, str]:
    """Parse an option of the form HOST=VALUE that may be given for several hosts."""
    of: dict[str, str] = {}
    for setting in given:
        host, equals, value = (part.strip() for part in setting.partition("="))
        if not equals or not host or not value:
            raise ScenarioError(
                f"{option} {setting!r}: not HOST={what}; write for example {option} {example}"
            )
        if host in of:
            raise ScenarioError(f"{option} {host!r} is given twice; give each host one {what}")
        of[host] = value
    return of


def show(done: emulation.Emulated, *, json_file: Path | None, quiet: bool) -> None:
    """Print the table, then write the JSON file, because the write may fail on a full disk."""
    if not quiet:
        tables(done, text.console(sys.stderr))
    if json_file is not None:
        summary = {key: entry for key, entry in done.data.items() if key != "sockets"}
        text.write_json(json_file, [json.dumps(summary, indent=1), "\n"])


def end(done: emulation.Emulated, *, strict: bool) -> None:
    """Exit with the code that reports success or failure."""
    failure = done.data["capture_failure"]
    if failure:
        sys.stderr.write(f"farlink: error: the captures are not whole: {failure}\n")
    if done.behind:
        late = 1e3 * done.data["lateness"]["p99_s"]
        sys.stderr.write(
            f"farlink: the engine fell behind the clock: one packet in a hundred was {late:.1f} "
            "ms late or more; the path was not the scenario's\n"
        )
    raise typer.Exit(done.exit_code or int(bool(failure) or (strict and done.behind)))
