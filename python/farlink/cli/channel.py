"""`farlink channels sample`: a channel by itself, sampled beside its closed form."""

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from farlink import files, pictures
from farlink.cli import text
from farlink.errors import ScenarioError
from farlink.views.channel import show

if TYPE_CHECKING:
    from farlink.channels import ChannelSample

__all__ = ["channel"]


def channel(
    what: str = typer.Argument(
        "",
        help="Key of a channel (gilbert, loss, ber, jitter, ...), scenario, preset or file.",
        metavar="NAME",
        show_default=False,
    ),
    changes: list[str] = typer.Option(
        [], "--set", help="A parameter; of a scenario, a value by its path.", metavar="KEY=VALUE"
    ),
    link: str | None = typer.Option(
        None,
        "--link",
        help="Link of a scenario; by default the one with a channel.",
        metavar="NAME",
    ),
    direction: str = typer.Option("down", "--direction", help="down or up.", metavar="NAME"),
    packets: int = typer.Option(1_000_000, "--packets", help="Packets to sample.", metavar="N"),
    length: int = typer.Option(1500, "--bytes", help="IP length of each.", metavar="N"),
    spacing: str | None = typer.Option(
        None,
        "--spacing",
        help="Time from packet to packet; by default 1 ms, in a scenario that of the link.",
        metavar="TIME",
    ),
    seed: int | None = typer.Option(None, "--seed", help="Replace the seed.", metavar="N"),
    run: int = typer.Option(0, "--run", help="Number of the run that it begins.", metavar="N"),
    as_json: bool = typer.Option(False, "--json", help="Print JSON instead of a table."),
    plot: bool = typer.Option(False, "--plot", help="Draw it as PNG and SVG."),
    out: Path | None = typer.Option(
        None, "--out", help="Write the figure here; by default farlink-out.", metavar="DIR"
    ),
) -> None:
    """Sample a channel by itself and compare it with its closed form.

    Without a name it lists the keys of a channel.
    """
    from farlink import channels

    if not what:
        _list(as_json)
        return
    if out is not None and not plot:
        raise ScenarioError("--out has no effect without --plot; add --plot or leave it out")
    directory = out or Path("farlink-out")
    if plot:
        files.check_directory(directory)
    given = dict(text.assignments(changes))
    alone = what in channels.stages()
    asked = channels.Asked(
        link, direction, packets, length, spacing, seed, run, {} if alone else given
    )
    sample = channels.sample(what, given if alone else {}, asked)
    if as_json:
        text.line(json.dumps(sample.data, indent=2))
    else:
        show(sample, text.console(sys.stdout))
        if outside := sample.outside():
            # The same once more, with other random numbers: chance does not come twice.
            following = replace(asked, run=run + 1)
            again = channels.sample(what, given if alone else {}, following)
            text.line(_verdict(sample, outside, again))
    if plot:
        stem = "channel-" + "-".join(sample.name.replace(",", "").split()).replace("/", "-")
        written: list[Path] = []
        with pictures.optional(stem):
            written = sample.save(directory / stem)
        for path in written:
            if not as_json:
                text.line(f"figure: {path}")


def _list(as_json: bool) -> None:
    from rich import box
    from rich.table import Table

    from farlink import channels

    known = channels.stages()
    if as_json:
        text.line(json.dumps(known, indent=2))
        return
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("key", no_wrap=True)
    table.add_column("meaning", overflow="fold")
    for name, meaning in known.items():
        table.add_row(name, meaning)
    console = text.console(sys.stdout)
    console.print(table)
    console.print(
        "farlink channels sample gilbert --set loss=0.05 --set burst=4 --plot", soft_wrap=True
    )


def _verdict(sample: "ChannelSample", outside: list[str], again: "ChannelSample") -> str:
    compared = sum(row.agrees is not None for row in sample.rows)
    text = f"{len(outside)} of {compared} outside"
    still = [name for name in again.outside() if name in outside]
    if still:
        return (
            f"{text}, and in run {again.run}, with other random numbers, again: "
            f"{'; '.join(still)}. That is hardly chance: once in 400 for each"
        )
    return (
        f"{text}, by chance: in run {again.run}, with other random numbers, they agree (one in 20 "
        "is outside, and what depends on each other goes out together)"
    )
