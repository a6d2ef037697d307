"""The command `farlink channels sample`: samples a channel and compares its closed form."""

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from farlink import files, pictures
from farlink.cli import options, text
from farlink.cli.options import declare
from farlink.errors import ScenarioError
from farlink.views.channel import show

if TYPE_CHECKING:
    from farlink.channels import ChannelSample

__all__ = ["channel"]


_What = Annotated[
    str,
    typer.Argument(
        help="Key of a channel (gilbert, loss, ber, jitter, ...), scenario, preset or file.",
        metavar="NAME",
        show_default=False,
    ),
]
_Changes = Annotated[
    list[str], declare("--set", "A parameter; of a scenario, a value by its path.", "KEY=VALUE")
]
_Link = Annotated[
    str | None, declare("--link", "Link of a scenario; by default the one with a channel.", "NAME")
]
_Direction = Annotated[str, declare("--direction", "down or up.", "NAME")]
_Packets = Annotated[int, declare("--packets", "Packets to sample.", "N")]
_Length = Annotated[int, declare("--bytes", "IP length of each.", "N")]
_Spacing = Annotated[
    str | None,
    declare(
        "--spacing",
        "Time from packet to packet; by default 1 ms, in a scenario that of the link.",
        "TIME",
    ),
]
_Run = Annotated[int, declare("--run", "Number of the run whose random streams are used.", "N")]


def channel(
    what: _What = "",
    changes: _Changes = [],
    link: _Link = None,
    direction: _Direction = "down",
    packets: _Packets = 1_000_000,
    length: _Length = 1500,
    spacing: _Spacing = None,
    seed: options.Seed = None,
    run: _Run = 0,
    as_json: options.AsJson = False,
    plot: Annotated[bool, declare("--plot", "Draw it as PNG and SVG.")] = False,
    out: Annotated[
        Path | None, options.out("Write the figure here; by default farlink-out.")
    ] = None,
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
            # Repeat with other random numbers: a chance deviation is unlikely to occur twice.
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
