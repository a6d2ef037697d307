"""`farlink diff`: compares two results or two scenarios."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from farlink import files
from farlink.cli import complete, options, progress, text
from farlink.cli.options import declare
from farlink.errors import ScenarioError
from farlink.views.diff import show

__all__ = ["diff"]


_ChangesB = Annotated[list[str], declare("--set-b", "Replace a value in B alone.", "PATH=VALUE")]
_Measures = Annotated[
    list[str], declare("--measures", "Measures to compare (`farlink list metrics`).", "A,B")
]


def diff(
    a: Annotated[
        str,
        typer.Argument(
            help="Saved result (.json or folder), or a scenario.",
            metavar="A",
            autocompletion=complete.scenarios,
        ),
    ],
    b: Annotated[
        str, typer.Argument(help="The other one.", metavar="B", autocompletion=complete.scenarios)
    ],
    tcp: Annotated[list[str], options.tcp("TCPs of scenarios.", "A,B,C")] = [],
    changes: options.Changes = [],
    changes_b: _ChangesB = [],
    runs: Annotated[int | None, options.runs("Runs of scenarios; by default 30.")] = None,
    seed: options.Seed = None,
    jobs: options.Jobs = None,
    measures: _Measures = [],
    csv: Annotated[Path | None, declare("--csv", "Write the table here.", "FILE")] = None,
    quiet: options.QuietTable = False,
) -> None:
    """Compare two results or scenarios, run by run, with intervals.

    Run k of both has the same losses, so that small differences show. --set changes both. For
    example, the effect of an initial window of 30 segments: farlink diff geo-lossy geo-lossy
    --set-b tcp.initial_window=30
    """
    from farlink.experiment import diff as comparison

    if csv is not None:
        files.check_file(csv)
    names = [word.strip() for option in measures for word in option.split(",")]
    if not all(names):
        raise ScenarioError("--measures: a name is empty; write --measures goodput,duration")
    both = dict(text.assignments(changes))
    with progress.simulating(quiet) as watch:
        difference = comparison.diff(
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
