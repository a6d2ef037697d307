"""The errors of this package: one hierarchy, with `FarlinkError` at its root."""

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
    """A file could not be written; the message names it and says why."""


class FigureWarning(UserWarning):
    """A figure could not be drawn; the message names it and says why. All else was written."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C (or what `progress` raised) when some runs were done.

    `result` holds them: it is that of the same call with as many runs as were done by then of
    every TCP. It is no `FarlinkError`, as Ctrl-C is none.
    """

    def __init__(self, result: "Result", asked: int) -> None:
        super().__init__(f"interrupted when {result.runs} of {asked} runs of each TCP were done")
        self.result = result
