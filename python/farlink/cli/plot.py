"""`farlink plot`: a real connection out of a capture."""

import json
import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from farlink import files, units
from farlink.cli import text
from farlink.errors import ScenarioError

if TYPE_CHECKING:
    from farlink.captures import Capture
    from farlink.cli.page import Sink

__all__ = ["plot", "show"]

_MOST_ROWS = 20


def plot(
    path: Path = typer.Argument(help="A .pcap or .pcapng file.", metavar="CAPTURE"),
    connection: int | None = typer.Option(
        None, "--connection", help="Number of the connection; else the biggest.", metavar="N"
    ),
    direction: str | None = typer.Option(
        None,
        "--direction",
        help="a2b (from the opener) or b2a; else each that carries much.",
        metavar="NAME",
    ),
    t0: float | None = typer.Option(None, "--from", help="Show from here on.", metavar="SECONDS"),
    t1: float | None = typer.Option(None, "--to", help="Show up to here.", metavar="SECONDS"),
    out: Path | None = typer.Option(
        None,
        "--out",
        help="Folder for the figures; else the file's name without its ending, and -plots.",
        metavar="DIR",
    ),
    only_list: bool = typer.Option(False, "--list", help="Tell the connections, draw nothing."),
    as_json: bool = typer.Option(False, "--json", help="Print JSON instead of a table."),
) -> None:
    """Draw sequence numbers, round trips, throughput and flight of a captured connection.

    As tcptrace does, of the connection with the most data; captured at either end or between.
    Times are seconds from its first packet.
    """
    from farlink import captures, folder

    where = out if out is not None else Path(f"{path.stem}-plots")
    if only_list and out is not None:
        raise ScenarioError(f"--out {out} has no effect beside --list, which draws nothing")
    if not only_list:
        files.check_directory(where)
    capture = captures.capture(path)
    chosen = capture.connection(connection)
    if as_json:
        text.line(json.dumps(_data(capture), indent=1))
    else:
        show(capture, text.console(sys.stdout))
    if only_list:
        return
    with folder.filling(where, last=f"sequence-{chosen.number}.txt") as stage:
        written = capture.plot.save(stage, connection, direction, t0=t0, t1=t1)
    if not as_json:
        for entry in written:
            text.line(f"wrote {where / entry.name}")


def _data(capture: "Capture") -> dict[str, Any]:
    rows = capture.summary.to_dict("records") if capture.connections else []
    return {
        "capture": str(capture.path),
        "connections": [
            {
                str(key): None if isinstance(value, float) and math.isnan(value) else value
                for key, value in row.items()
            }
            for row in rows
        ],
        "notes": capture.notes,
    }


def show(capture: "Capture", out: "Sink") -> None:
    """Print a row per connection and direction with data."""
    from rich import box
    from rich.table import Table

    from farlink.captures import measures

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    for name in ("", "from", "to"):
        table.add_column(name, no_wrap=True)
    for name in (
        "data",
        "time\n(s)",
        "goodput",
        "segments",
        "sent\nagain",
        "over-\ntaken",
        "least\nRTT (ms)",
        "median\nRTT (ms)",
        "largest\nflight",
    ):
        table.add_column(name, justify="right", no_wrap=True)
    for connection in capture.connections[:_MOST_ROWS]:
        for name, way in connection.directions.items():
            if not way.bytes:
                continue
            row = measures(connection, name)
            table.add_row(
                f"{connection.number} {name}",
                row["from"],
                row["to"],
                _with_unit(row["bytes"], "B"),
                f"{row['duration']:.4g}",
                _with_unit(row["goodput"], "bit/s"),
                f"{row['segments']:,}",
                f"{row['sent_again']:,}",
                f"{row['overtaken']:,}",
                _ms(row["rtt_min"]),
                _ms(row["rtt_median"]),
                _with_unit(row["flight_max"], "B"),
            )
    out.print(table)
    hidden = len(capture.connections) - _MOST_ROWS
    if hidden > 0:
        out.print(f"and {hidden:,} smaller connections", soft_wrap=True)
    first = capture.connections[0]
    places = {
        "sender": "at its sender",
        "receiver": "at its receiver",
        "between": "between its ends",
    }
    place = first.directions[first.main].place
    if place:
        out.print(f"connection {first.number} was captured {places[place]}", soft_wrap=True)
    for note in [*first.notes, *capture.notes]:
        out.print(note, soft_wrap=True)


def _with_unit(value: float, unit: str) -> str:
    if math.isnan(value):
        return "-"
    factor, shown = units.prefixed(value, unit)
    return f"{units.rounded(value / factor)} {shown}"


def _ms(value: float) -> str:
    return "-" if math.isnan(value) else f"{1e3 * value:.4g}"
