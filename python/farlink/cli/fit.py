"""`farlink channels fit`: a channel out of captures or a table."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from farlink import files
from farlink.cli import text
from farlink.views.fit import show

if TYPE_CHECKING:
    pass

__all__ = ["fit"]


def fit(
    measured: Path = typer.Argument(
        help="CSV; or the capture before the channel; or the one at a TCP receiver alone.",
        metavar="FILE",
    ),
    receiver: Path | None = typer.Argument(
        None, help="The capture behind the channel.", metavar="FILE", show_default=False
    ),
    model: str = typer.Option(
        "auto", "--model", help="Model of loss: auto, loss, gilbert, time, full.", metavar="NAME"
    ),
    source: str | None = typer.Option(
        None, "--from", help="Address that the packets come from.", metavar="ADDRESS"
    ),
    as_json: bool = typer.Option(False, "--json", help="Print JSON instead of a table."),
    out: Path | None = typer.Option(
        None, "--out", help="Write the lines for a scenario here.", metavar="FILE"
    ),
) -> None:
    """Estimate loss, bursts and delay of a channel and print the lines for a scenario.

    A CSV has a row per packet with its times `sent` and `received` in seconds, the
    latter empty if it was lost.
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
