"""`farlink diff`: two results, or two scenarios, side by side."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from farlink import files
from farlink.cli import complete, progress, text
from farlink.errors import ScenarioError

if TYPE_CHECKING:
    from farlink.cli.page import Sink
    from farlink.experiment.diff import Diff, Row

__all__ = ["diff", "show"]

_MOST_SETTINGS = 20


def diff(
    a: str = typer.Argument(
        help="Saved result (.json or folder), or a scenario.",
        metavar="A",
        autocompletion=complete.scenarios,
    ),
    b: str = typer.Argument(help="The other one.", metavar="B", autocompletion=complete.scenarios),
    tcp: list[str] = typer.Option(
        [], "--tcp", help="TCPs of scenarios.", metavar="A,B,C", autocompletion=complete.tcps
    ),
    changes: list[str] = typer.Option(
        [], "--set", help="Replace a value in both scenarios.", metavar="PATH=VALUE"
    ),
    changes_b: list[str] = typer.Option(
        [], "--set-b", help="Replace a value in B alone.", metavar="PATH=VALUE"
    ),
    runs: int | None = typer.Option(
        None, "--runs", help="Runs of scenarios; by default 30.", metavar="N"
    ),
    seed: int | None = typer.Option(None, "--seed", help="Seed of scenarios.", metavar="N"),
    jobs: int | None = typer.Option(
        None, "--jobs", help="Threads; by default one per processor.", metavar="N"
    ),
    measures: list[str] = typer.Option(
        [], "--measures", help="What is compared (`farlink list metrics`).", metavar="A,B"
    ),
    csv: Path | None = typer.Option(None, "--csv", help="Write the table here.", metavar="FILE"),
    quiet: bool = typer.Option(False, "--quiet", help="No progress and no table."),
) -> None:
    """Compare two results or scenarios, run by run, with intervals.

    Run k of both meets the same losses, so that small differences show. For example what an
    initial window of 30 segments does: farlink diff geo-lossy geo-lossy --set-b
    tcp.initial_window=30
    """
    from farlink.experiment import diff as work

    if csv is not None:
        files.check_file(csv)
    names = [word.strip() for option in measures for word in option.split(",")]
    if not all(names):
        raise ScenarioError("--measures: a name is empty; write --measures goodput,duration")
    both = dict(text.assignments(changes))
    with progress.simulating(quiet) as watch:
        difference = work.diff(
            a,
            b,
            tcp=text.names(tcp),
            overrides_a=both or None,
            overrides_b={**both, **dict(text.assignments(changes_b))} or None,
            runs=runs,
            seed=seed,
            jobs=jobs,
            measures=names or None,
            progress=watch,
        )
    if csv is not None:
        files.write_text(csv, difference.frame.to_csv(index=False))
    if not quiet:
        show(difference, text.console(sys.stdout))


def show(difference: "Diff", out: "Sink") -> None:
    """Print what differs in the scenarios, and a row per TCP and measure."""
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
    out.print(
        f"A: {difference.a.name}, B: {difference.b.name}; {difference.runs} runs, {how}; "
        "mean ± half of the "
        "95 % interval",
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
