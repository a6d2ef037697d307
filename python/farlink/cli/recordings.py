"""The commands `farlink channels import` and `export`: recordings of real links."""

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from farlink import files, recordings, units
from farlink.cli import options, text
from farlink.cli.options import declare
from farlink.errors import ScenarioError
from farlink.views.recording import described, show

__all__ = ["export_recording", "import_recording", "parse_rate"]

_KINDS = ", ".join(recordings.KINDS)
_FORMATS = ", ".join(recordings.FORMATS)


def import_recording(
    kind: Annotated[str, typer.Argument(help=f"Format: {_KINDS}.", metavar="KIND")],
    recorded: Annotated[
        list[Path], typer.Argument(help="Files of one link; .gz is decompressed.", metavar="FILE")
    ],
    out: Annotated[Path, options.out("Write recording, traces and scenario here.")],
    also: Annotated[
        list[str],
        declare(
            "--with", "Take delay and loss from this file, recorded at the same time.", "KIND:FILE"
        ),
    ] = [],
    name: Annotated[
        str | None, declare("--name", "Name; by default that of the folder.", "NAME")
    ] = None,
    source: Annotated[
        str | None, declare("--source", "Who recorded it, and where.", "TEXT")
    ] = None,
    licence: Annotated[str | None, declare("--licence", "Licence of the files.", "TEXT")] = None,
    direction: Annotated[
        str | None, declare("--direction", "Direction of the file: up or down.", "WAY")
    ] = None,
    between: Annotated[
        str | None, declare("--between", "For starrynet: two nodes, from 1.", "A,B")
    ] = None,
    step: Annotated[
        str | None, declare("--step", "Length of a row; by default 100 ms.", "TIME")
    ] = None,
    interval: Annotated[
        str, declare("--interval", "Time between probes of a log without times.", "TIME")
    ] = "1 s",
    period: Annotated[
        str, declare("--phases", "Interval of path phases to look for, or off.", "TIME")
    ] = "15 s",
    rate: Annotated[
        str, declare("--rate", "Rate down, where it was not recorded.", "RATE")
    ] = "100 Mbit/s",
    up_rate: Annotated[str, declare("--up-rate", "Rate up, likewise.", "RATE")] = "20 Mbit/s",
    delay: Annotated[str, declare("--delay", "One-way delay, likewise.", "TIME")] = "20 ms",
    loss: Annotated[float, declare("--loss", "Probability of loss, likewise.", "P")] = 0.0,
    as_json: options.AsJson = False,
) -> None:
    """Import a recording as traces and a scenario that runs.

    The folder has recording.toml (source, licence, origin of each value), down.csv and up.csv
    (rate, delay and loss of each moment), and scenario.toml.
    """
    settings = recordings.Settings(
        name=name or files.as_name(out.resolve().name),
        step=None if step is None else _step(step),
        rate=parse_rate("--rate", rate),
        up_rate=parse_rate("--up-rate", up_rate),
        delay=_time("--delay", delay, 0, 3600),
        loss=_loss(loss),
        period=None if period == "off" else _time("--phases", period, 0.1, 86400),
        interval=_time("--interval", interval, 1e-3, 3600),
        direction=_direction(direction),
        between=None if between is None else _nodes(between),
        source=source,
        licence=licence,
    )
    files.check_name(settings.name)
    files.check_directory(out)
    recording = recordings.read(kind, recorded, settings, _also(also))
    recordings.save(recording, out)
    if as_json:
        text.line(json.dumps(described(recording), indent=2))
        return
    show(recording, text.console(sys.stdout))
    text.line(f"wrote {out}; next: farlink run {out / 'scenario.toml'}")


def export_recording(
    format_: Annotated[str, typer.Argument(help=f"Format: {_FORMATS}.", metavar="FORMAT")],
    recording: Annotated[
        Path, typer.Argument(help="Folder of `farlink channels import`.", metavar="FOLDER")
    ],
    out: Annotated[Path, options.out("Write the files here.")],
) -> None:
    """Write an import for Mahimahi, netem or LeoReplayer.

    netem gets a script for tc for each direction; the others get traces and run.sh.
    """
    files.check_directory(out)
    whole = recordings.load(recording)
    for note in recordings.export(whole, format_, out):
        text.line(f"note: {note}")
    text.line(f"wrote {out}")


def _also(written: list[str]) -> tuple[str, list[str | Path]] | None:
    if not written:
        return None
    pairs = [item.partition(":") for item in written]
    for kind, colon, file in pairs:
        if not colon or not file or kind not in recordings.KINDS:
            raise ScenarioError(
                f"--with {kind}{colon}{file}: write KIND:FILE, with one of {_KINDS}"
            )
    if len({kind for kind, _, _ in pairs}) > 1:
        raise ScenarioError("--with: the files are of several formats; give those of one")
    return pairs[0][0], [file for _, _, file in pairs]


def _direction(written: str | None) -> str | None:
    if written not in (None, "up", "down"):
        raise ScenarioError(f"--direction {written}: write up or down")
    return written


def _loss(loss: float) -> float:
    if not 0 <= loss <= 1:
        raise ScenarioError(f"--loss {loss:g}: write a probability, 0 to 1")
    return loss


def parse_rate(option: str, written: str) -> float:
    """Parse a rate with its unit."""
    rate = units.parse_rate(written)
    if rate is None or not 1 <= rate <= 1e12:
        raise ScenarioError(f"{option} {written}: write a rate from 1 bit/s to 1 Tbit/s")
    return float(round(rate))


def _time(option: str, written: str, low: float, high: float) -> float:
    time = units.parse_time(written)
    if time is None or not low <= time <= high:
        raise ScenarioError(f"{option} {written}: write a time from {low:g} s to {high:g} s")
    return time


def _step(written: str) -> float:
    time = _time("--step", written, 1e-3, 3600)
    if abs(time * 1e3 - round(time * 1e3)) > 1e-6:
        raise ScenarioError(f"--step {written}: write whole milliseconds")
    return round(time, 3)


def _nodes(written: str) -> tuple[int, int]:
    parts = written.split(",")
    good = len(parts) == 2 and all(part.isascii() and part.isdigit() for part in parts)
    if not good or max(map(len, parts)) > 9 or parts[0] == parts[1]:
        raise ScenarioError(f"--between {written}: write two numbers of nodes, such as 26,27")
    return int(parts[0]), int(parts[1])
