"""The errors of this package: one hierarchy, with `FarlinkError` at its root."""

from farlink._farlink import FarlinkError, RunError, ScenarioError

__all__ = ["FarlinkError", "OutputError", "RunError", "ScenarioError"]


class OutputError(FarlinkError, OSError):
    """A file could not be written; the message names it and says why."""
