"""The command `farlink channels fit`: estimates a channel from captures or a CSV."""

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from farlink import files
from farlink.cli import options, text
from farlink.cli.options import declare
from farlink.views.fit import show

__all__ = ["fit"]


def fit(
    measured: Annotated[
        Path,
        typer.Argument(
            help="CSV; or the capture before the channel; or the one at a TCP receiver alone.",
            metavar="FILE",
        ),
    ],
    receiver: Annotated[
        Path | None,
        typer.Argument(help="The capture behind the channel.", metavar="FILE", show_default=False),
    ] = None,
    model: Annotated[
        str, declare("--model", "Model of loss: auto, loss, gilbert, time, full.", "NAME")
    ] = "auto",
    source: Annotated[
        str | None, declare("--from", "Source address of the packets.", "ADDRESS")
    ] = None,
    as_json: options.AsJson = False,
    out: Annotated[Path | None, options.out("Write the lines for a scenario here.", "FILE")] = None,
) -> None:
    """Estimate loss, bursts and delay of a channel and print the lines for a scenario.

    A CSV has a row per packet with the times `sent` and `received` (s). `received` is empty if the
    packet was lost.
    """
    from farlink import estimate

    if out is not None:
        files.check_file(out)
    fit = estimate.fit(measured, receiver, model=model, source=source)
    if out is not None:
        files.write_text(out, fit.stanza)
    if as_json:
        text.line(json.dumps(fit.data, indent=2))
        return
    show(fit, text.console(sys.stdout))
    text.line(fit.stanza.rstrip())
    if out is not None:
        text.line(f"written: {out}")
