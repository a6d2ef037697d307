"""`farlink channels fit`: a channel out of captures or a table."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from farlink import files
from farlink.cli import text

if TYPE_CHECKING:
    from farlink.cli.page import Sink
    from farlink.estimate import Fit

__all__ = ["fit", "show"]


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


def show(fit: "Fit", out: "Sink") -> None:
    """Print the parameters with their intervals."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in ("parameter", "estimate", "95 % interval"):
        table.add_column(name, justify="left" if name == "parameter" else "right", no_wrap=True)
    for name, unit, row in fit.rows:
        factor, shown = (1e-3, "ms") if unit == "s" else (1.0, unit)
        label = f"{name.removesuffix('_s')} ({shown})" if shown else name
        mean = "-" if row.mean is None else f"{row.mean / factor:.5g}"
        interval = "-"
        if row.low is not None and row.high is not None:
            interval = f"{row.low / factor:.5g} to {row.high / factor:.5g}"
        table.add_row(label, mean, interval)
    out.print(table)
    lost = int(fit.observed.lost.sum())
    out.print(
        f"{len(fit):,} packets, {lost:,} lost; model of loss: {fit.loss.model}", soft_wrap=True
    )
    for note in fit.notes:
        out.print(note, soft_wrap=True)
    out.print("")
