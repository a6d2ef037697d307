"""The group `farlink ctl`: inspects a running emulation and changes its links."""

import json
import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from farlink import control
from farlink.cli import options, text
from farlink.cli.options import declare
from farlink.errors import ScenarioError
from farlink.views import gateway

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

__all__ = ["app"]

app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    no_args_is_help=True,
    help="Look at a running emulation, and change its links.",
)

_Of = Annotated[
    str | None, declare("--of", "Scenario or process of the emulation, if several run.", "NAME|PID")
]


@app.command("list")
def list_running() -> None:
    """List the running emulations."""
    for emulation in control.running():
        text.line(f"{emulation.pid} {emulation.name}")


@app.command()
def show(of: _Of = None, as_json: options.AsJson = False) -> None:
    """Show the settings of the links, in the form that `set` takes."""
    _show(control.find(of).show(), as_json)


@app.command("set")
def change(
    changes: Annotated[
        list[str],
        typer.Argument(help="For example links.0.down.channel.ber=1e-5", metavar="PATH=VALUE..."),
    ],
    of: _Of = None,
) -> None:
    """Change values of links for later packets; either all values change or none."""
    control.find(of).set(_assignments(changes))


@app.command()
def channel(
    state: Annotated[str, typer.Argument(help="on or off", metavar="on|off")],
    link: Annotated[str | None, declare("--link", "This link alone.", "NAME")] = None,
    direction: Annotated[
        str | None, declare("--direction", "This direction alone.", "down|up")
    ] = None,
    of: _Of = None,
) -> None:
    """Switch channels off (packets pass unchanged) or on again."""
    if state not in ("on", "off"):
        raise ScenarioError(f"channel {state!r} is not known; write on or off")
    if direction not in (None, "down", "up"):
        raise ScenarioError(f"--direction {direction!r} is not known; write down or up")
    control.find(of).channel(on=state == "on", link=link, direction=direction)


@app.command("exec", context_settings={"ignore_unknown_options": True})
def execute(
    host: Annotated[str, typer.Argument(help="Name in the scenario.", metavar="HOST")],
    command: Annotated[
        list[str], typer.Argument(help="Program and arguments, behind --.", metavar="-- PROGRAM")
    ],
    of: _Of = None,
) -> None:
    """Run a program in a host; the exit code is the program's (128 + signal if it was killed)."""
    emulation = control.find(of)
    # Ctrl-C also reaches the program, which decides how to react. A handler that does nothing keeps
    # this process alive. The program would inherit SIG_IGN.
    signal.signal(signal.SIGINT, lambda *_: None)
    raise typer.Exit(emulation.execute(host, command))


@app.command()
def stats(
    of: _Of = None,
    watch: Annotated[bool, declare("--watch", "Repeat until the end or Ctrl-C.")] = False,
    every: Annotated[float, declare("--every", "Interval of --watch.", "SECONDS")] = 1.0,
    as_json: options.AsJson = False,
) -> None:
    """Show the packets that each link carried and lost, and the state of each TCP connection.

    With --watch it repeats the table and adds rates. A terminal shows the latest table only.
    """
    if not 0.1 <= every <= 3600:
        raise ScenarioError(f"--every is {every}; write 0.1 to 3600 seconds")
    emulation = control.find(of)
    states = emulation.watch(every) if watch else iter([emulation.stats()])
    if as_json:
        for now in states:
            text.line(json.dumps(now))
            sys.stdout.flush()
        return
    console = text.console(sys.stdout)
    before: dict[str, Any] | None = None
    with _screen(console, in_place=watch and console.is_terminal) as show_tables:
        for now in states:
            show_tables(now, before)
            before = now


def _assignments(changes: list[str]) -> list[tuple[str, str]]:
    try:
        return text.assignments(changes)
    except ScenarioError as error:
        raise ScenarioError(str(error).replace("--set ", "")) from None


def _show(state: Mapping[str, Any], as_json: bool) -> None:
    if as_json:
        text.line(json.dumps(state, indent=1))
        return
    off = {tuple(item) for item in state["channels_off"]}
    for number, link in enumerate(state["links"]):
        name = link.get("name") or "-".join(link["between"])
        for direction in ("down", "up"):
            note = " (channel off)" if (name, direction) in off else ""
            text.line(f"# {name} {direction}{note}")
            for path, value in _leaves(link[direction]):
                text.line(f"links.{number}.{direction}.{path}={value}")
    for number, agent in enumerate(state.get("agents") or []):
        text.line(f"# agent {agent['kind']} at {agent['at']}")
        text.line(f"agents.{number}.enabled={str(agent.get('enabled', True)).lower()}")


def _leaves(value: object, path: str = "") -> list[tuple[str, str]]:
    pairs: Sequence[tuple[Any, Any]]
    if isinstance(value, dict):
        pairs = list(value.items())
    elif isinstance(value, list):
        pairs = list(enumerate(value))
    else:
        return [(path, value if isinstance(value, str) else json.dumps(value))]
    return [leaf for key, pair in pairs for leaf in _leaves(pair, f"{path}.{key}".lstrip("."))]


_Show = Callable[[Mapping[str, Any], Mapping[str, Any] | None], None]


@contextmanager
def _screen(console: "Console", *, in_place: bool) -> Iterator[_Show]:
    """Yield a function that prints a status in place of the previous one, or below it."""
    if not in_place:

        def lines(now: Mapping[str, Any], before: Mapping[str, Any] | None) -> None:
            console.print(f"{now['duration_s']:.1f} s", end="")
            for table in (_links(now, before), *_flows(now["flows"])):
                console.print(table)
            _gateways(console, now)
            sys.stdout.flush()

        yield lines
        return
    from rich.console import Group
    from rich.live import Live

    with Live(console=console, auto_refresh=False) as live:

        def refresh(now: Mapping[str, Any], before: Mapping[str, Any] | None) -> None:
            gateways = [gateway.line(row) for row in now["hosts"] if "gateway" in row]
            links = _links(now, before)
            # Each table has two lines above and two below its rows, and one for its header.
            room = console.height - links.row_count - len(gateways) - _FRAME
            flows = now["flows"]
            shown = flows if len(flows) <= room else flows[: max(room - 1, 1)]
            hidden = len(flows) - len(shown)
            more = [f"and {hidden:,} flows more (--json has them all)"] if hidden else []
            time = f"{now['duration_s']:.1f} s"
            live.update(Group(time, links, *_flows(shown), *more, *gateways), refresh=True)

        yield refresh


_FRAME = 8


def _links(now: Mapping[str, Any], before: Mapping[str, Any] | None) -> "Table":
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    for title in ("link", "direction"):
        table.add_column(title, no_wrap=True)
    for title in ("packets", "lost", "packets/s", "lost/s", "queue (packets)"):
        table.add_column(title, justify="right")
    rows = before["links"] if before else [None] * len(now["links"])
    span = now["duration_s"] - (before["duration_s"] if before else 0.0)
    for row, old in zip(now["links"], rows, strict=True):
        counts = [_counts(row), _counts(old) if old else (0.0, 0.0)]
        rates = [(a - b) / span if span > 0 else 0.0 for a, b in zip(*counts, strict=True)]
        table.add_row(
            row["link"],
            row["direction"],
            *(f"{count:,.0f}" for count in counts[0]),
            *(f"{rate:,.1f}" for rate in rates),
            f"{row['waiting']:,}",
        )
    return table


def _flows(flows: Sequence[Mapping[str, Any]]) -> "list[Table]":
    """Build the table of TCP connections; an empty list if there are none."""
    if not flows:
        return []
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    for title in ("from", "to"):
        table.add_column(title, no_wrap=True)
    for title in (
        "kbit/s",
        "queue (packets)",
        "RTT (ms)",
        "least RTT (ms)",
        "cwnd (bytes)",
        "sent again",
    ):
        table.add_column(title, justify="right")

    def number(flow: Mapping[str, Any], key: str, factor: float = 1.0, digits: int = 0) -> str:
        value = flow.get(key)  # `stats` without --watch has no rates.
        return "-" if value is None else f"{factor * value:,.{digits}f}"

    for flow in flows:
        table.add_row(
            *(f"{flow[end]}:{flow[f'{end}_address'].rsplit(':', 1)[1]}" for end in ("from", "to")),
            number(flow, "bit_s", 1e-3, 1),
            number(flow, "waiting"),
            number(flow, "srtt_s", 1e3, 1),
            number(flow, "min_rtt_s", 1e3, 1),
            number(flow, "cwnd_bytes"),
            number(flow, "retransmissions"),
        )
    return [table]


def _gateways(console: "Console", now: Mapping[str, Any]) -> None:
    for row in now["hosts"]:
        if "gateway" in row:
            console.print(gateway.line(row), soft_wrap=True, markup=False)


def _counts(row: Mapping[str, Any]) -> tuple[float, float]:
    metrics = row["metrics"]
    lost = sum(value or 0 for key, value in metrics.items() if key.startswith("drops_"))
    return float(metrics["packets"] or 0), float(lost)
