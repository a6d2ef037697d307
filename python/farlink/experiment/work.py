"""Worker function: simulates some runs and returns their numbers."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from farlink import _farlink, columns
from farlink.errors import RunError
from farlink.experiment.numbers import Layout, Numbers

__all__ = ["Done", "Part", "simulate"]


@dataclass(frozen=True)
class Part:
    """Runs to simulate: the point's key, its resolved scenario, and the run numbers."""

    point: str
    text: str
    runs: Sequence[int]


@dataclass(frozen=True)
class Done:
    """Numbers of some parts, with their simulation time (s) and number of events."""

    numbers: Sequence[Numbers]
    seconds: float
    events: int


def simulate(
    parts: Sequence[Part],
    engine: str,
    progress: Callable[[float, float, int, int], None] | None = None,
) -> Done:
    """Simulate parts, one after another.

    Raises
    ------
    RunError
        If the points were made for another engine, or a run fails.
    """
    import numpy as np

    if engine != _farlink.engine():
        raise RunError(
            f"a worker has farlink {_farlink.engine()}, and this is {engine}; install the same "
            "on all machines"
        )
    if any('"python"' in item.text for item in parts):
        from farlink import classes, congestion

        for item in parts:
            congestion.register_from(item.text)
            classes.register_from(item.text)
    started = time.perf_counter()
    outcome = _farlink.simulate([(item.text, list(item.runs)) for item in parts], 1, progress)
    numbers = []
    groups: object = None
    layout: Layout = ()
    for part, measures in zip(parts, outcome, strict=True):
        # Runs with one layout share one object, which is read and pickled only once.
        if measures.groups != groups:
            groups = measures.groups
            layout = _layout(measures.groups)
        values = columns.numbers(measures.numbers(), "value")
        runs = np.asarray(part.runs, dtype=np.int64)
        rows = values.reshape(len(runs), len(layout))
        numbers.append(Numbers(part.point, layout, runs, rows))
    return Done(numbers, time.perf_counter() - started, sum(match.events for match in outcome))


def _layout(groups: Sequence[tuple[str, Sequence[Sequence[str]], Sequence[str]]]) -> Layout:
    return tuple(
        (scope, ".".join(item), measure)
        for scope, items, names in groups
        for item in items
        for measure in names
    )
