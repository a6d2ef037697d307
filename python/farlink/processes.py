"""Files written side by side: tasks that this process shares with copies of itself."""

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
"""Bytes of the number of a task."""


FileTask = tuple[str, Callable[[], list[Path] | str]]
"""Name of what is written, and its writer.

A writer returns the paths, or the reason why there is no figure."""


def write_all(
    tasks: Sequence[FileTask], processes: int, tell: Callable[[str], None] | None
) -> list[Path]:
    """Write files with up to so many processes, and return their paths.

    `tell` is called with the name of each task before this process begins with it. A figure
    without paths is a `FigureWarning`.
    """
    done = done_by(
        processes,
        [write for _, write in tasks],
        lambda number: tell(tasks[number][0]) if tell else None,
    )
    written: list[Path] = []
    for (name, _), paths in zip(tasks, done, strict=True):
        if isinstance(paths, str):
            pictures.warn(name, paths)
        else:
            written += paths
    return written


def done_by(
    processes: int, tasks: Sequence[Callable[[], _Done]], tell: Callable[[int], None]
) -> list[_Done]:
    """Return what each task returns, all done by up to so many processes.

    The others are copies of this one (fork, so only on Linux), which know all that it knows; each
    takes the next task when it is done with its last one. What a copy could not do is done here
    in the end: an error is the same without copies. `tell` is called with the number of each task
    that is done here.
    """
    copies: list[_Copy[_Done]] = []
    done: dict[int, _Done] = {}
    with tempfile.TemporaryFile() as numbers:
        # All copies read one open file, where each number is read once.
        numbers.write(b"".join(n.to_bytes(_NUMBER, "little") for n in range(len(tasks))))
        numbers.flush()
        numbers.seek(0)
        try:
            others = range(min(processes, len(tasks)) - 1)
            if sys.platform == "linux" and others:
                # What the collector of garbage does not touch, copies share.
                gc.freeze()
                copies.extend(_Copy.start(tasks, numbers) for _ in others)
            for number in _taken(numbers):
                tell(number)
                done[number] = tasks[number]()
            for copy in copies:
                done |= copy.done()
        finally:
            for copy in copies:
                copy.end()
            gc.unfreeze()
    for number, task in enumerate(tasks):
        if number not in done:
            tell(number)
            done[number] = task()
    return [done[number] for number in range(len(tasks))]


def _taken(numbers: BinaryIO) -> Iterator[int]:
    while number := os.read(numbers.fileno(), _NUMBER):
        yield int.from_bytes(number, "little")


@dataclass(frozen=True)
class _Copy(Generic[_Done]):
    """A copy of this process at its tasks."""

    process: int
    answer: BinaryIO

    @classmethod
    def start(cls, tasks: Sequence[Callable[[], _Done]], numbers: BinaryIO) -> "_Copy[_Done]":
        """Make a copy; it does tasks while there are any, says what they returned, and ends."""
        ours, theirs = os.pipe()
        with warnings.catch_warnings():
            # Python warns of threads, which a copy has not: those of Arrow and of a progress
            # display, whose locks the tasks do not take.
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
            # Whatever happened is for the first process to meet; nothing of its own ends here.
            os._exit(0)

    def done(self) -> dict[int, _Done]:
        """Wait for the end of the copy; return what its tasks returned, nothing if one failed."""
        with suppress(EOFError, pickle.UnpicklingError):
            done: dict[int, _Done] = pickle.load(self.answer)  # noqa: S301 (of our own copy)
            return done
        return {}

    def end(self) -> None:
        """End the copy if it goes on, and wait for it."""
        self.answer.close()
        with suppress(ProcessLookupError, ChildProcessError):  # where SIGCHLD is ignored
            os.kill(self.process, signal.SIGTERM)
            os.waitpid(self.process, 0)
