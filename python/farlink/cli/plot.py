"""The command `farlink plot`: draws a connection of a capture."""

import json
import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from farlink import files, paper
from farlink.cli import options, text
from farlink.cli.options import declare
from farlink.errors import ScenarioError
from farlink.views.capture import show

if TYPE_CHECKING:
    from farlink.captures import Capture

__all__ = ["plot"]


def plot(
    path: Annotated[Path, typer.Argument(help="A .pcap or .pcapng file.", metavar="CAPTURE")],
    connection: Annotated[
        int | None, declare("--connection", "Connection to draw; by default the biggest.", "N")
    ] = None,
    direction: Annotated[
        str | None,
        declare(
            "--direction",
            "a2b (from the opener) or b2a; by default each that carries much.",
            "NAME",
        ),
    ] = None,
    t0: Annotated[float | None, declare("--from", "Show from here on.", "SECONDS")] = None,
    t1: Annotated[float | None, declare("--to", "Show up to here.", "SECONDS")] = None,
    out: Annotated[
        Path | None,
        options.out(
            "Folder for the figures; by default the file's name without its ending, and -plots."
        ),
    ] = None,
    figure_size: options.FigureSize = None,
    fonts: options.Fonts = None,
    only_list: Annotated[bool, declare("--list", "List the connections, draw nothing.")] = False,
    as_json: options.AsJson = False,
) -> None:
    """Draw sequence numbers, round trips, throughput and flight of a captured connection.

    The plots are those of tcptrace, for the connection with the most data. The capture may be from
    either end or from a place between the ends. Times are seconds from the connection's first
    packet.
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
