"""Published studies, repeated by simulation (`farlink study NAME`) and compared with print."""

import difflib
from importlib import import_module

from farlink.errors import ScenarioError
from farlink.studies.study import Study

__all__ = ["NAMES", "find"]

NAMES = ("west1997", "wong1998", "leung1998", "vatne2006", "omueti2007")
"""Names of all studies."""


def find(name: str) -> Study:
    """Return the study with a name.

    Raises
    ------
    ScenarioError
        If no study has this name.
    """
    if name not in NAMES:
        near = difflib.get_close_matches(name, NAMES, n=1)
        hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(NAMES)}"
        raise ScenarioError(f"study {name!r} is not known; {hint}")
    study: Study = import_module(f"farlink.studies.{name}").STUDY
    return study
