"""Fitted channels as tables."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from farlink.estimate import Fit
    from farlink.views.page import Sink

__all__ = ["show"]


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
