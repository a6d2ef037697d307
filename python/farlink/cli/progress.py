"""Progress display: a bar on a terminal, otherwise a line every ten seconds."""

import math
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from farlink import api
from farlink.cli import text

__all__ = ["line_printer", "simulating", "writing"]

_BETWEEN_S = 10.0
"""Minimum time between two progress lines if there is no terminal (s)."""

Tell = Callable[[str], None]


@contextmanager
def simulating(quiet: bool) -> Iterator[api.Progress | None]:
    """Yield the progress callback of a simulation; None if `quiet`."""
    if quiet:
        yield None
        return
    if not sys.stderr.isatty():
        tell = line_printer()

        def line(simulated_s: float, expected_s: float, done: int, total: int) -> None:
            runs = f", {done:,} of {total:,} runs done" if total > 1 else ""
            tell(f"simulating: {_simulated(simulated_s, expected_s)}{runs}")

        yield line
        return
    with _bar() as update:
        yield update


@contextmanager
def writing(quiet: bool) -> Iterator[Tell | None]:
    """Yield a callback that shows the file in work; None if `quiet`."""
    if quiet:
        yield None
        return
    if not sys.stderr.isatty():
        yield line_printer()
        return
    from rich.console import Console

    with Console(stderr=True).status("writing") as shown:
        yield lambda what: shown.update(f"writing {what}")


def line_printer(clock: Callable[[], float] = time.monotonic) -> Tell:
    """Return a function that writes a line to standard error at most every ten seconds.

    No line is written in the first ten seconds, so that the log of a short run stays empty.
    """
    before = clock()

    def tell(what: str) -> None:
        nonlocal before
        if clock() - before >= _BETWEEN_S:
            before = clock()
            sys.stderr.write(text.printable(f"farlink: {what}") + "\n")
            sys.stderr.flush()

    return tell


def _simulated(simulated_s: float, expected_s: float) -> str:
    if math.isfinite(expected_s) and expected_s > 0:
        return f"{simulated_s:,.0f} s of {expected_s:,.0f} s"
    return f"{simulated_s:,.0f} s"


@contextmanager
def _bar() -> Iterator[api.Progress]:
    """Show simulated time, runs and remaining time; the bar is removed at the end."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

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
            part = 0.0
            if math.isfinite(expected_s) and expected_s > 0:
                part = min(simulated_s / expected_s, 1.0)
            # Parallel runs report in any order, and the bar must not move backwards.
            furthest = max(furthest, min((done + part) / total, 1.0))
            runs = f"{done} of {total} runs done" if total > 1 else ""
            simulated = _simulated(simulated_s, expected_s)
            shown.update(task, total=1.0, completed=furthest, simulated=simulated, runs=runs)

        yield update
    sys.stderr.flush()
