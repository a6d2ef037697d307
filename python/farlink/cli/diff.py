"""`farlink diff`: two results, or two scenarios, side by side."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from farlink import files
from farlink.cli import complete, progress, text
from farlink.errors import ScenarioError
from farlink.views.diff import show

if TYPE_CHECKING:
    pass

__all__ = ["diff"]


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
