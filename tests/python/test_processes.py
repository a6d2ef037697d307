"""Figures drawn in parallel equal those of one process, even if other processes fail."""

import os
import signal
import time
from functools import partial
from pathlib import Path

import pytest

import farlink as fl
from farlink.processes import done_by


def _here(number: int) -> tuple[int, int]:
    time.sleep(0.05)
    return number, os.getpid()


def test_tasks_are_shared_and_each_is_done_once_in_order() -> None:
    lines: list[int] = []
    done = done_by(3, [partial(_here, number) for number in range(9)], lines.append)
    assert [number for number, _ in done] == list(range(9))
    assert len({process for _, process in done}) == 3
    assert lines == [number for number, process in done if process == os.getpid()]


def test_what_a_copy_cannot_do_is_done_here_and_fails_here() -> None:
    first = os.getpid()

    def killed(number: int) -> int:
        if os.getpid() != first:
            os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(0.02)
        return number

    assert done_by(3, [partial(killed, number) for number in range(6)], lambda _: None) == [
        *range(6)
    ]

    def fails(number: int) -> int:
        if number == 2:
            raise ValueError(f"task {number}")
        time.sleep(0.05)
        return number

    for processes in (1, 4):
        with pytest.raises(ValueError, match="task 2"):
            done_by(processes, [partial(fails, number) for number in range(4)], lambda _: None)
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)  # no copy is left


def test_the_figures_are_the_same_files(small: Path, tmp_path: Path) -> None:
    result = fl.run(small, tcp=["reno"])
    alone = result.plot.save(tmp_path / "1")
    shared = result.plot.save(tmp_path / "2", jobs=2)
    assert [path.name for path in shared] == [path.name for path in alone]
    for item, other in zip(alone, shared, strict=True):
        assert item.read_bytes() == other.read_bytes(), item.name
