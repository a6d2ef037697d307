"""The progress bar: simulated time, runs and the time left."""

import math
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from farlink import api

__all__ = ["bar"]


@contextmanager
def bar() -> Iterator[api.Progress]:
    """Give the function that a run tells its progress; the bar goes when it is done."""
    columns = (
        TextColumn("simulating"),
        BarColumn(bar_width=None),
        TextColumn("{task.fields[simulated]}"),
        TextColumn("{task.fields[runs]}"),
        TextColumn("ETA"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as shown:
        task = shown.add_task("", total=None, simulated="", runs="")

        furthest = 0.0

        def update(simulated_s: float, expected_s: float, done: int, total: int) -> None:
            nonlocal furthest
            simulated, part = f"{simulated_s:,.0f} s", 0.0
            if math.isfinite(expected_s) and expected_s > 0:
                simulated += f" of {expected_s:,.0f} s"
                part = min(simulated_s / expected_s, 1.0)
            # Runs side by side report in turn, and the bar must not go back.
            furthest = max(furthest, min((done + part) / total, 1.0))
            runs = f"{done} of {total} runs done" if total > 1 else ""
            shown.update(task, total=1.0, completed=furthest, simulated=simulated, runs=runs)

        yield update
    sys.stderr.flush()
