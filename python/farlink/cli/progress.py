"""Progress: a bar on a terminal, and elsewhere a line now and then."""

import math
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from farlink import api
from farlink.cli import text

__all__ = ["simulating", "telling", "writing"]

_BETWEEN_S = 10.0
"""Seconds between two lines where there is no terminal."""

Tell = Callable[[str], None]


@contextmanager
def simulating(quiet: bool) -> Iterator[api.Progress | None]:
    """Give the function that a run tells its progress; None if nothing is to be seen."""
    if quiet:
        yield None
        return
    if not sys.stderr.isatty():
        tell = telling()

        def line(simulated_s: float, expected_s: float, done: int, total: int) -> None:
            runs = f", {done:,} of {total:,} runs done" if total > 1 else ""
            tell(f"simulating: {_simulated(simulated_s, expected_s)}{runs}")

        yield line
        return
    with _bar() as update:
        yield update


@contextmanager
def writing(quiet: bool) -> Iterator[Tell | None]:
    """Give the function that is told what is being drawn or written; None if `quiet`."""
    if quiet:
        yield None
        return
    if not sys.stderr.isatty():
        yield telling()
        return
    from rich.console import Console

    with Console(stderr=True).status("writing") as shown:
        yield lambda what: shown.update(f"writing {what}")


def telling(clock: Callable[[], float] = time.monotonic) -> Tell:
    """Return a function that writes what it is told to standard error, but not every time.

    Not before ten seconds are over, nor within ten seconds of the last line: a log of a short run
    stays empty, and one of a long run shows that it goes on.
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
    """Show simulated time, runs and the time left; the bar goes when it is done."""
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
            # Runs side by side report in turn, and the bar must not go back.
            furthest = max(furthest, min((done + part) / total, 1.0))
            runs = f"{done} of {total} runs done" if total > 1 else ""
            simulated = _simulated(simulated_s, expected_s)
            shown.update(task, total=1.0, completed=furthest, simulated=simulated, runs=runs)

        yield update
    sys.stderr.flush()
