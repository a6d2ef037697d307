"""The commands `farlink unit` and `farlink gateway`: an emulation across machines."""

import json
import os
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from farlink import emulation, files, machines
from farlink.cli import emulate, options, text
from farlink.cli.options import declare
from farlink.errors import ScenarioError

__all__ = ["gateway", "unit"]

_KEY_VARIABLE = "FARLINK_KEY"


def _notice(line: str) -> None:
    text.progress_line(f"farlink: {line}")


def _key(text: str) -> Any:  # noqa: ANN401 (of typer's own)
    """Declare the option --key, whose value may also come from an environment variable."""
    return typer.Option("--key", envvar=_KEY_VARIABLE, show_envvar=True, help=text, metavar="KEY")


_KeyFile = Annotated[
    Path | None, declare("--key-file", "File with the key; only its owner may read it.", "FILE")
]


def _secret(key: str | None, key_file: Path | None) -> tuple[str | None, bool]:
    """Return the key, or None, and whether other users can read it in the process list."""
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
    scenario: options.Scenario,
    listen: Annotated[
        str, declare("--listen", "Address and UDP port for gateways.", "ADDR:PORT")
    ] = f"0.0.0.0:{machines.PORT}",
    key: Annotated[
        str | None,
        _key(
            "Key of an earlier run, or @FILE; by default a new one. Other users see it in the list "
            "of processes."
        ),
    ] = None,
    key_file: _KeyFile = None,
    endpoint: options.Endpoint = [],
    attach: options.Attach = [],
    force: options.Force = False,
    tcp: options.KernelTcp = [],
    realtime: options.Realtime = None,
    changes: options.Changes = [],
    seed: options.Seed = None,
    seconds: Annotated[
        float | None, declare("--seconds", "End after this time; by default at Ctrl-C.", "N")
    ] = None,
    pcap: options.PcapDir = None,
    snaplen: options.Snaplen = 0,
    json_file: options.JsonFile = None,
    quiet: Annotated[
        bool, declare("--quiet", "No table, and no line when a gateway comes or goes.")
    ] = False,
) -> None:
    """Emulate the network between gateways on other machines (Linux, root)."""
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

    settings: emulation.Options = {
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
        done = machines.unit(scenario, listen=listen, key=secret, notice=notice, options=settings)
    except (emulation.Interrupted, emulation.Terminated) as ended:
        done = ended.done
    emulate.show(done, json_file=json_file, quiet=quiet)
    emulate.end(done, strict=False)


def gateway(
    join: Annotated[str, declare("--join", "Address of the unit.", "HOST[:PORT]")],
    host: Annotated[str, declare("--as", "Host of the scenario to be.", "HOSTNAME")],
    command: Annotated[
        list[str] | None,
        typer.Argument(
            help="Program and arguments, behind --; it runs in the host.", metavar="-- PROGRAM"
        ),
    ] = None,
    key: Annotated[
        str | None,
        _key("Key that the unit printed, or @FILE. Other users see it in the list of processes."),
    ] = None,
    key_file: _KeyFile = None,
    attach: Annotated[
        str | None,
        declare(
            "--attach",
            "Device or namespace that serves as the host: an interface (the machine behind "
            "it), bridge:NAME, netns:NAME or container:NAME; by default a new namespace.",
            "WHAT",
        ),
    ] = None,
    force: options.Force = False,
    position: Annotated[
        str | None,
        declare("--position", "Position in metres; @FILE has rows of seconds, X and Y.", "X,Y"),
    ] = None,
    seconds: Annotated[float | None, declare("--seconds", "End after this time.", "N")] = None,
    plain: options.Plain = False,
    as_json: Annotated[bool, declare("--json", "Write what happened as JSON.")] = False,
) -> None:
    """Run a host of a unit's scenario on this machine (Linux, root)."""
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
