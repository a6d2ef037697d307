"""Errors of this package, derived from `FarlinkError`."""

from typing import TYPE_CHECKING

from farlink._farlink import FarlinkError, RunError, ScenarioError

if TYPE_CHECKING:
    from farlink.result import Result

__all__ = [
    "FarlinkError",
    "FigureWarning",
    "Interrupted",
    "OutputError",
    "RunError",
    "ScenarioError",
]


class OutputError(FarlinkError, OSError):
    """A file could not be written.

    The message names the file and the reason.
    """


class FigureWarning(UserWarning):
    """A figure could not be drawn, while all other output was written.

    The message names the figure and the reason.
    """


class Interrupted(KeyboardInterrupt):
    """Ctrl-C, or an exception of `progress`, ended a call after some runs were finished.

    `result` has the runs that were finished for every TCP. It equals the result of a call with this
    number of runs. The class derives from `KeyboardInterrupt` and not from `FarlinkError`.
    """

    def __init__(self, result: "Result", asked: int) -> None:
        super().__init__(f"interrupted when {result.runs} of {asked} runs of each TCP were done")
        self.result = result
