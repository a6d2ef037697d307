"""Table of the differences between two results."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from farlink.experiment.diff import Diff, Row
    from farlink.views.page import Sink

__all__ = ["show"]


_MOST_SETTINGS = 20


def show(difference: "Diff", out: "Sink") -> None:
    """Print the keys that differ in the scenarios, and a row per TCP and measure."""
    from rich import box
    from rich.table import Table

    if difference.settings:
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
        for title in ("what differs", "A", "B"):
            table.add_column(title, overflow="fold")
        for row in difference.settings[:_MOST_SETTINGS]:
            table.add_row(*row)
        out.print(table)
        if len(difference.settings) > _MOST_SETTINGS:
            out.print(f"and {len(difference.settings) - _MOST_SETTINGS} more keys", soft_wrap=True)
    else:
        out.print("the scenarios are the same", soft_wrap=True)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    for title in ("tcp", "measure"):
        table.add_column(title, no_wrap=True)
    for title in ("A", "B", "B - A", "%"):
        table.add_column(title, no_wrap=True, justify="right")
    table.add_column("")
    for item in difference.rows:
        table.add_row(*_cells(item))
    out.print(table)
    how = (
        "paired: the same losses run by run"
        if difference.paired
        else f"not paired, since the seeds are {difference.a.seed} and {difference.b.seed} (Welch)"
    )
    estimates = (item for row in difference.rows for item in (row.a, row.b))
    if difference.runs > 1 and not any(item.has_spread for item in estimates):
        what = f"{difference.runs} runs, {how}; nothing random happened: the runs are the same"
    else:
        what = f"{difference.runs} runs, {how}; mean ± half of the 95 % interval"
    out.print(
        f"A: {difference.a.name}, B: {difference.b.name}; {what}",
        soft_wrap=True,
    )


def _cells(row: "Row") -> list[str]:
    from farlink import registry, units
    from farlink.experiment.page import cell, verdict

    unit = registry.unit("flow", row.measure)
    factor, shown = units.prefixed(max(abs(side.mean or 0.0) for side in (row.a, row.b)), unit)
    percent, low, high = row.percent
    half = (high - low) / 2
    name = row.measure.replace("_", " ")
    interval = row.difference
    return [
        row.tcp,
        f"{name} ({shown})" if shown else name,
        *(cell(side.mean, side.half_width, factor) for side in (row.a, row.b)),
        cell(interval.mean, interval.half_width, factor),
        cell(percent, half, 1.0),
        verdict(
            *(float("nan") if bound is None else bound for bound in (interval.low, interval.high))
        ),
    ]
