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

        def update(simulated_s: float, expected_s: float, done: int, total: int) -> None:
            simulated = f"{simulated_s:,.0f} s"
            if math.isfinite(expected_s) and expected_s > 0:
                simulated += f" of {expected_s:,.0f} s"
                share = min(simulated_s / expected_s, 1.0)
            else:
                share = done / total
            runs = f"run {min(done + 1, total)}/{total}" if total > 1 else ""
            shown.update(task, total=1.0, completed=share, simulated=simulated, runs=runs)

        yield update
    sys.stderr.flush()
