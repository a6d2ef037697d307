"""`farlink cite`: BibTeX of farlink and of the sources of results."""

import sys
from typing import Annotated

import typer

from farlink import citation
from farlink.cli import complete

__all__ = ["cite"]


def cite(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            help="Results, scenarios, studies, TCPs and link presets.",
            metavar="[WHAT]...",
            autocompletion=complete.scenarios,
        ),
    ] = None,
) -> None:
    """Print BibTeX of farlink and of the sources behind results, scenarios or TCPs.

    A result is a folder that --out of run, sweep or study wrote, or a result.json. Its sources are
    those of the scenario, TCPs, channels, agents and presets.
    """
    sys.stdout.write(citation.bibtex(names or []))
