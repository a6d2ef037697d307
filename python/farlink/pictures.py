"""Warnings for figures that cannot be drawn, so that all other output is still written."""

import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from farlink.errors import FarlinkError, FigureWarning, ScenarioError

__all__ = ["failure", "optional", "warn"]


@contextmanager
def optional(figure: str, *, refuses: bool = False) -> Iterator[None]:
    """Convert an error in a block that draws `figure` to a `FigureWarning`.

    With `refuses` a `ScenarioError` is raised instead, for a figure that the user requested.
    """
    try:
        yield
    except Exception as error:
        if refuses and isinstance(error, ScenarioError):
            raise
        warn(f"figure {figure}", failure(error))


def failure(error: Exception) -> str:
    """Return an error in one line; for a bug, with the line of code."""
    text = " ".join(str(error).split())
    if isinstance(error, FarlinkError):
        return text
    frames = traceback.extract_tb(error.__traceback__)
    place = f" ({Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""
    return f"{type(error).__name__}: {text}{place}"


def warn(figure: str, reason: str) -> None:
    """Emit the warning of a figure that could not be drawn."""
    warnings.warn(f"{figure} is missing: {reason}", FigureWarning, stacklevel=3)
