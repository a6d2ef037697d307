"""Parallel writing of files by forks of this process."""

import gc
import os
import pickle
import signal
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Generic, TypeVar

from farlink import pictures

__all__ = ["FileTask", "done_by", "write_all"]

_Done = TypeVar("_Done")

_NUMBER = 4
"""Length in bytes of a task number in the shared file."""


FileTask = tuple[str, Callable[[], list[Path] | str]]
"""Output with its name, and the function that writes it.

The function returns the paths, or the reason why there is no figure.
"""


def write_all(
    tasks: Sequence[FileTask],
    processes: int,
    notify: Callable[[str], None] | None,
    figure: str | None = None,
) -> list[Path]:
    """Write files with at most `processes` processes, and return their paths.

    `notify` is called with the name of each task before this process starts it. A task that
    failed becomes a `FigureWarning`, and so does the kind `figure` if no task of this kind wrote a
    file.
    """
    done = done_by(
        processes,
        [write for _, write in tasks],
        lambda number: notify(tasks[number][0]) if notify else None,
    )
    written: list[Path] = []
    for (name, _), paths in zip(tasks, done, strict=True):
        if isinstance(paths, str):
            pictures.warn(name, paths)
        else:
            written += paths
    kind = f"figure {figure}"
    if figure is not None and not any(
        paths for (name, _), paths in zip(tasks, done, strict=True) if name.startswith(kind)
    ):
        pictures.warn(kind, "the run has no data for it")
    return written


def done_by(
    processes: int, tasks: Sequence[Callable[[], _Done]], notify: Callable[[int], None]
) -> list[_Done]:
    """Run all tasks with at most `processes` processes and return the result of each.

    The other processes are forks of this process (Linux only) and share its memory. Each takes the
    next task when it has finished a task. Tasks that failed in a fork are run again in this process
    at the end, so that errors equal those of a run without forks. `notify` is called with the
    number of each task that this process runs.
    """
    copies: list[_Copy[_Done]] = []
    done: dict[int, _Done] = {}
    with tempfile.TemporaryFile() as numbers:
        # Processes read task numbers from one open file. Its shared offset gives each number to
        # exactly one process.
        numbers.write(b"".join(n.to_bytes(_NUMBER, "little") for n in range(len(tasks))))
        numbers.flush()
        numbers.seek(0)
        try:
            others = range(min(processes, len(tasks)) - 1)
            if sys.platform == "linux" and others:
                # Memory that the garbage collector leaves untouched stays shared between forks.
                gc.freeze()
                copies.extend(_Copy.start(tasks, numbers) for _ in others)
            for number in _taken(numbers):
                notify(number)
                done[number] = tasks[number]()
            for copy in copies:
                done |= copy.done()
        finally:
            for copy in copies:
                copy.end()
            gc.unfreeze()
    for number, task in enumerate(tasks):
        if number not in done:
            notify(number)
            done[number] = task()
    return [done[number] for number in range(len(tasks))]


def _taken(numbers: BinaryIO) -> Iterator[int]:
    while number := os.read(numbers.fileno(), _NUMBER):
        yield int.from_bytes(number, "little")


@dataclass(frozen=True)
class _Copy(Generic[_Done]):
    """Fork of this process that runs tasks."""

    process: int
    answer: BinaryIO

    @classmethod
    def start(cls, tasks: Sequence[Callable[[], _Done]], numbers: BinaryIO) -> "_Copy[_Done]":
        """Fork this process.

        The fork runs tasks while there are any, sends back their results, and exits.
        """
        ours, theirs = os.pipe()
        with warnings.catch_warnings():
            # Python warns if a process with other threads forks. Threads of a progress display do
            # not run in the fork, and tasks do not take their locks.
            warnings.simplefilter("ignore", DeprecationWarning)
            process = os.fork()
        if process:
            os.close(theirs)
            return cls(process, open(ours, "rb"))  # noqa: PTH123 (a number; `end` closes)
        try:
            done = {number: tasks[number]() for number in _taken(numbers)}
            with open(theirs, "wb") as answer:  # noqa: PTH123 (a number)
                pickle.dump(done, answer)
        finally:
            # Errors of the fork are left to the first process, which runs the task again. Exit
            # handlers must not run in the fork.
            os._exit(0)

    def done(self) -> dict[int, _Done]:
        """Wait for the fork to exit and return its results, or none if a task failed."""
        with suppress(EOFError, pickle.UnpicklingError):
            done: dict[int, _Done] = pickle.load(self.answer)  # noqa: S301 (of our own copy)
            return done
        return {}

    def end(self) -> None:
        """Stop the fork if it is still running, and wait for it."""
        self.answer.close()
        with suppress(ProcessLookupError, ChildProcessError):  # raised where SIGCHLD is ignored
            os.kill(self.process, signal.SIGTERM)
            os.waitpid(self.process, 0)
