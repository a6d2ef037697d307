"""Table of the result of a sweep."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from farlink.experiment.sweep import SweepResult
    from farlink.views.page import Sink

__all__ = ["_table", "show"]


_MOST_ROWS = 60
"""Largest number of rows on a terminal; results.csv has all rows."""


def show(result: "SweepResult", out: "Sink") -> None:
    """Print a row per point, and a summary of the runs."""
    from farlink.experiment.page import cells, is_random

    head, rows = cells(result)
    table = _table(head, len(result.factors))
    for row in rows[:_MOST_ROWS]:
        table.add_row(*row)
    out.print(table)
    if len(rows) > _MOST_ROWS:
        out.print(f"{len(rows) - _MOST_ROWS:,} more rows are in results.csv", soft_wrap=True)
    total = sum(result.runs)
    what = f"mean ± half of the 95 % interval (Student's t) of {_runs(result)} a point"
    if not is_random(result):
        what = f"nothing random happened: the {_runs(result)} of a point are the same"
    out.print(
        f"{result.plan.name}, seed {result.plan.seed}: {what}; {len(rows):,} points, "
        f"{total:,} runs, {result.simulated_runs:,} of them simulated now, "
        f"in {result.wall_s:.1f} s",
        soft_wrap=True,
    )
    missed = sum(not met for met in result.reached)
    if missed and result.plan.rule is not None:
        out.print(
            f"WARNING: {missed} of {len(rows)} points did not reach the precision in "
            f"{result.plan.rule.most:,} runs; most = N in the file's precision allows more",
            soft_wrap=True,
        )


def _runs(result: "SweepResult") -> str:
    least, most = min(result.runs), max(result.runs)
    if least == most:
        return f"{most:,} run{'s' if most > 1 else ''}"
    return f"{least:,} to {most:,} runs"


def _table(head: list[str], left: int) -> Any:  # noqa: ANN401 (rich is imported when it is needed)
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    for place, title in enumerate(head):
        shown = title if place < left else title.replace(" (", "\n(")
        table.add_column(shown, no_wrap=True, justify="left" if place < left else "right")
    return table
