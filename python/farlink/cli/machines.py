"""`farlink unit` and `farlink gateway`: an emulation on several machines."""

import json
import os
import sys
from pathlib import Path

import typer

from farlink import emulation, files, machines
from farlink.cli import emulate, text
from farlink.errors import ScenarioError

__all__ = ["gateway", "unit"]

_KEY_VARIABLE = "FARLINK_KEY"


def _notice(line: str) -> None:
    sys.stderr.write(text.printable(f"farlink: {line}") + "\n")
    sys.stderr.flush()


_KEY_FILE = typer.Option(
    None, "--key-file", help="File with the key, for its owner alone.", metavar="FILE"
)


def _secret(key: str | None, key_file: Path | None) -> tuple[str | None, bool]:
    """Return the key that was given, if any, and whether a command line shows it to others."""
    variable = os.environ.get(_KEY_VARIABLE)
    if key_file is not None:
        if key not in (None, variable):
            raise ScenarioError(f"--key-file {key_file} beside --key: write one of them")
        return machines.key_in(key_file, f"--key-file {key_file}"), False
    shown = key is not None and key != variable and not key.startswith("@")
    return (None if key is None else machines.key(key)), shown


_SHOWN = (
    "warning: other users of this machine see the key of --key in the list of processes; write "
    f"--key-file FILE, or set {_KEY_VARIABLE}"
)


def unit(
    scenario: str = emulate.SCENARIO,
    listen: str = typer.Option(
        f"0.0.0.0:{machines.PORT}",
        "--listen",
        help="Address and UDP port for gateways.",
        metavar="ADDR:PORT",
    ),
    key: str | None = typer.Option(
        None,
        "--key",
        envvar=_KEY_VARIABLE,
        show_envvar=True,
        help="Key of an earlier run, @FILE for one in a file; by default a new one. Others see it.",
        metavar="KEY",
    ),
    key_file: Path | None = _KEY_FILE,
    endpoint: list[str] = emulate.ENDPOINT,
    attach: list[str] = emulate.ATTACH,
    force: bool = emulate.FORCE,
    tcp: list[str] = emulate.TCP,
    realtime: bool | None = emulate.REALTIME,
    changes: list[str] = emulate.SET,
    seed: int | None = emulate.SEED,
    seconds: float | None = typer.Option(
        None, "--seconds", help="End after so long; by default at Ctrl-C.", metavar="N"
    ),
    pcap: Path | None = emulate.PCAP,
    snaplen: int = emulate.SNAPLEN,
    json_file: Path | None = emulate.JSON,
    quiet: bool = typer.Option(
        False, "--quiet", help="No table, and no line of who comes and goes."
    ),
) -> None:
    """Decide the fate of packets of gateways on other machines (Linux, root)."""
    if json_file is not None and not text.is_standard_output(json_file):
        files.check_file(json_file)
    given, others_see = _secret(key, key_file)
    secret, (_, port) = given or machines.key(None), machines.address("--listen", listen)
    shown = False

    def notice(line: str) -> None:
        nonlocal shown
        if not shown:
            shown = True
            text.line(f"key: {secret}")
            sys.stdout.flush()
            _notice(
                f"join with: farlink gateway --join THIS-MACHINE:{port} --as HOST --key-file FILE"
            )
            if others_see:
                _notice(_SHOWN)
        if not quiet:
            _notice(line)

    options: emulation.Options = {
        "tcp": text.one_name(tcp),
        "overrides": dict(text.assignments(changes)),
        "seed": seed,
        "endpoints": emulate.of_hosts("--endpoint", endpoint, "TCP", "server=hybla"),
        "attach": emulate.of_hosts("--attach", attach, "WHAT", "office=eth1"),
        "force": force,
        "realtime": realtime,
        "seconds": seconds,
        "pcap": pcap,
        "snaplen": snaplen,
    }
    try:
        done = machines.unit(scenario, listen=listen, key=secret, notice=notice, options=options)
    except (emulation.Interrupted, emulation.Terminated) as ended:
        done = ended.done
    emulate.show(done, json_file=json_file, quiet=quiet)
    emulate.end(done, strict=False)


def gateway(
    command: list[str] = typer.Argument(
        None, help="Program and arguments, behind --; it runs in the host.", metavar="-- PROGRAM"
    ),
    join: str = typer.Option(..., "--join", help="Where the unit is.", metavar="HOST[:PORT]"),
    host: str = typer.Option(..., "--as", help="Host of the scenario to be.", metavar="HOSTNAME"),
    key: str | None = typer.Option(
        None,
        "--key",
        envvar=_KEY_VARIABLE,
        show_envvar=True,
        help="What the unit printed, or @FILE. Others see it.",
        metavar="KEY",
    ),
    key_file: Path | None = _KEY_FILE,
    attach: str | None = typer.Option(
        None,
        "--attach",
        help="What is the host instead of a namespace of its own: an interface (the machine behind "
        "it), bridge:NAME, netns:NAME or container:NAME.",
        metavar="WHAT",
    ),
    force: bool = emulate.FORCE,
    position: str | None = typer.Option(
        None,
        "--position",
        help="Where it is, in metres; @FILE has rows of seconds, X and Y.",
        metavar="X,Y",
    ),
    seconds: float | None = typer.Option(None, "--seconds", help="End after so long.", metavar="N"),
    plain: bool = emulate.PLAIN,
    as_json: bool = typer.Option(False, "--json", help="Write what happened as JSON."),
) -> None:
    """Be a host of a unit's scenario on this machine (Linux, root)."""
    secret, others_see = _secret(key, key_file)
    if secret is None:
        raise ScenarioError(
            f"no key: write what the unit printed into a file and --key-file FILE, or set "
            f"{_KEY_VARIABLE}"
        )

    def notice(line: str) -> None:
        nonlocal others_see
        if others_see:
            others_see = False
            _notice(_SHOWN)
        _notice(line)

    done = machines.gateway(
        join,
        host,
        secret,
        notice=notice,
        program=command or None,
        attach=attach,
        force=force,
        track=machines.places(position) if position else (),
        seconds=seconds,
        plain=plain,
    )
    if as_json:
        text.line(json.dumps(done))
    else:
        _notice(
            f"{done['host']} {done['address']}: sent {done['sent']:,}, got {done['delivered']:,}; "
            f"{done['unsent']:,} not sent, {done['forged']:,} forged, {done['replayed']:,} replayed"
        )
    if done["unit_ended"]:
        _notice("the unit has ended")
    raise typer.Exit(done["exit_code"] or int(done["unit_ended"] and bool(command)))
