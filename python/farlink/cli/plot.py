"""`farlink plot`: a real connection out of a capture."""

import json
import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from farlink import files, paper
from farlink.cli import text
from farlink.errors import ScenarioError
from farlink.views.capture import show

if TYPE_CHECKING:
    from farlink.captures import Capture

__all__ = ["plot"]


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
    figure_size: str | None = typer.Option(
        None,
        "--figure-size",
        help="Size of figures: page, column, slide, or inches as 3.4x2.5.",
        metavar="SIZE",
    ),
    fonts: str | None = typer.Option(
        None, "--fonts", help="Fonts of figures: sans, or tex (Computer Modern).", metavar="NAME"
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
    for option, value in (("--figure-size", figure_size), ("--fonts", fonts)):
        if only_list and value is not None:
            raise ScenarioError(f"{option} has no effect beside --list, which draws nothing")
    size = None if figure_size is None else paper.written_size(figure_size)
    letters = None if fonts is None else paper.read_fonts(fonts)
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
    from farlink.plot.sheet import sheet_of

    with (
        folder.filling(where, last=f"sequence-{chosen.number}.txt") as stage,
        sheet_of(size, letters),
    ):
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
