"""The commands `farlink pack` and `farlink verify`: archive an experiment, and check it."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from farlink.cli import options, text
from farlink.cli.options import declare

__all__ = ["pack", "verify"]

_MOST_DIFFERENCES = 20


def pack(
    results: Annotated[
        list[Path],
        typer.Argument(
            help="Folders that --out of run, sweep and study wrote, or a result.json.",
            metavar="RESULT...",
        ),
    ],
    out: Annotated[Path, options.out("The archive.", "FILE")] = Path("experiment.zip"),
) -> None:
    """Pack results into one archive, which `farlink verify` can check.

    The archive has the scenarios with their seeds, the numbers and figures, the versions of all
    packages, BibTeX of the sources, and a README with the commands.
    """
    from farlink.artifact.pack import pack as run

    path = run(results, out)
    size = path.stat().st_size / 1e6
    count = len(results)
    text.line(f"{path}: {count} result{'s' * (count > 1)}, {size:.1f} MB")
    text.line(f"run it again: farlink verify {path}")


def verify(
    archive: Annotated[Path, typer.Argument(help="What `farlink pack` wrote.", metavar="ARCHIVE")],
    jobs: options.Jobs = None,
    quiet: Annotated[bool, declare("--quiet", "No table; the exit code tells.")] = False,
) -> None:
    """Repeat the results of an archive and compare each number with the packed number.

    The exit code is 0 if all numbers are equal to the bit, and 1 if a number differs or a file was
    changed. Figures are not compared, because their pixels depend on fonts. Nothing is written
    outside a temporary folder.
    """
    from farlink.artifact.verify import verify as run
    from farlink.views.verify import show

    def tell(line: str) -> None:
        if not quiet:
            sys.stderr.write(text.printable(f"again: {line}") + "\n")

    verification = run(archive, jobs=jobs, tell=tell)
    if not quiet:
        show(verification, text.console(sys.stdout), _MOST_DIFFERENCES)
    raise typer.Exit(0 if verification.is_same else 1)
