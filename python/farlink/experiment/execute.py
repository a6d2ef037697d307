"""Distribution of simulation tasks to threads or to a `concurrent.futures` executor."""

import os
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    CancelledError,
    Future,
    ThreadPoolExecutor,
    wait,
)
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

from farlink import _farlink
from farlink.errors import FarlinkError, RunError, ScenarioError
from farlink.experiment.numbers import Numbers
from farlink.experiment.work import Done, Part, simulate
from farlink.extras import lacking

__all__ = ["Executor", "WorkerPool", "on_cluster"]

_TASK_S = 0.5
"""Duration of a task (s): far above its overhead, and short enough for a quick Ctrl-C."""

_ROUNDS = 3
"""Minimum number of remaining tasks per worker, so that all workers finish at about one time."""

_BLOCK = 8
"""Consecutive runs of a point in a block; a task parses a scenario once for all of them."""

_POLL_S = 0.2


class Executor(Protocol):
    """Part of the interface of `concurrent.futures.Executor` that farlink uses."""

    def submit(self, fn: Callable[..., Any], /, *args: Any) -> "Future[Any]":  # noqa: ANN401
        """Schedule `fn(*args)` on a worker and return its future."""


@dataclass
class WorkerPool:
    """Pool of workers: threads of this process, or an external executor.

    Parameters
    ----------
    jobs
        Number of threads, used without an executor.
    executor
        Object with `submit`, such as a process pool or Dask's `client.get_executor()`. The caller
        shuts it down.
    """

    jobs: int = field(default_factory=lambda: os.cpu_count() or 1)
    executor: Executor | None = None
    worked_s: float = 0.0
    events: int = 0

    def run(
        self,
        parts: Sequence[Part],
        take: Callable[[Sequence[Numbers]], None],
        notify: Callable[[int], None] | None = None,
    ) -> None:
        """Simulate parts, and pass the numbers of each finished task to `take`, in any order.

        `notify` is called at least every 0.2 s with the number of finished runs. After Ctrl-C, or
        if a callback raises an error, no new task starts. `take` has then received all finished
        tasks.

        Raises
        ------
        RunError
            If a run fails, or workers end and the executor does not restart their tasks.
        """
        if not parts:
            return
        with self._pool() as (submit, workers, running):
            _Batch(deque(_blocks(parts)), submit, workers, running, take, notify, self).run()

    @contextmanager
    def _pool(self) -> "Iterator[tuple[_Submit, int, Callable[[], int]]]":
        if self.executor is not None:
            submit = partial(self.executor.submit, simulate)
            yield lambda parts: submit(parts, _farlink.engine()), _workers(self.executor), int
            return
        under_way: dict[int, int] = {}
        stop = threading.Event()

        def watched(parts: Sequence[Part], engine: str) -> Done:
            def running(_simulated: float, _expected: float, done: int, _total: int) -> None:
                if stop.is_set():
                    raise _StoppedError
                under_way[me] = done

            me = threading.get_ident()
            try:
                return simulate(parts, engine, running)
            finally:
                under_way.pop(me, None)

        pool = ThreadPoolExecutor(self.jobs, thread_name_prefix="farlink")
        try:
            yield (
                lambda parts: pool.submit(watched, parts, _farlink.engine()),
                self.jobs,
                lambda: sum(list(under_way.values())),
            )
        finally:
            stop.set()
            pool.shutdown(cancel_futures=True)


_Submit = Callable[[Sequence[Part]], "Future[Done]"]


@dataclass
class _Batch:
    """State of one call of `WorkerPool.run`."""

    blocks: "deque[Part]"
    submit: _Submit
    workers: int
    running: Callable[[], int]
    take: Callable[[Sequence[Numbers]], None]
    notify: Callable[[int], None] | None
    pool: WorkerPool
    left: int = 0
    done: int = 0
    seconds: float = 0.0
    cost: dict[str, float] = field(default_factory=dict)
    pending: "set[Future[Done]]" = field(default_factory=set)

    def run(self) -> None:
        self.left = sum(len(block.runs) for block in self.blocks)
        try:
            while self.blocks or self.pending:
                # Each worker has one task queued beside the running one, so that no worker idles.
                while self.blocks and len(self.pending) < 2 * self.workers:
                    self.pending.add(self.submit(self._task()))
                ready, self.pending = wait(self.pending, _POLL_S, FIRST_COMPLETED)
                for task in ready:
                    self._take(task)
                if self.notify is not None:
                    self.notify(self.done + self.running())
        except (BrokenExecutor, CancelledError) as error:
            raise RunError(f"workers are gone: {str(error) or type(error).__name__}") from error
        finally:
            for task in self.pending:
                # Keep the results of tasks that finished while the others were cancelled.
                if not task.cancel() and task.done():
                    with suppress(Exception, CancelledError):
                        self._take(task)

    def _take(self, future: "Future[Done]") -> None:
        try:
            result = future.result()
        except (FarlinkError, BrokenExecutor, CancelledError):
            raise
        except Exception as error:  # Any exception of a cluster for workers that died.
            raise RunError(f"a worker failed: {type(error).__name__}: {error}") from error
        self.take(result.numbers)
        runs = sum(len(number.runs) for number in result.numbers)
        self.done += runs
        self.seconds += result.seconds
        self.pool.worked_s += result.seconds
        self.pool.events += result.events
        for number in result.numbers:
            self.cost[number.point] = result.seconds / runs

    def _task(self) -> list[Part]:
        """Remove blocks for one task from the queue: many short runs, or a single long one."""
        mean = self.seconds / self.done if self.done else None
        parts: list[Part] = []
        budget = 0.0
        if mean is not None:
            budget = min(_TASK_S, self.left * mean / (_ROUNDS * self.workers))
        while self.blocks:
            block = self.blocks.popleft()
            cost = self.cost.get(block.point, mean)
            # A task has one run until a duration is measured.
            fits = 1 if cost is None or cost <= 0 else max(1, int(budget / cost))
            if fits < len(block.runs):
                self.blocks.appendleft(Part(block.point, block.text, block.runs[fits:]))
                block = Part(block.point, block.text, block.runs[:fits])
            parts.append(block)
            self.left -= len(block.runs)
            if cost is None:
                break
            budget -= cost * len(block.runs)
            if budget < cost:
                break
        return parts


def _blocks(parts: Sequence[Part]) -> Iterator[Part]:
    """Cut parts into blocks of runs, and yield the first block of every part first.

    Points therefore have about equally many runs if the work stops early.
    """
    most = max(len(part.runs) for part in parts)
    for first in range(0, most, _BLOCK):
        for part in parts:
            if runs := part.runs[first : first + _BLOCK]:
                yield Part(part.point, part.text, runs)


class _StoppedError(Exception):
    """Aborts a running simulation in a worker thread after the sweep was stopped."""


def _workers(executor: object) -> int:
    """Return how many tasks an executor runs at one time, or the number of CPUs if unknown."""
    most = getattr(executor, "_max_workers", None)
    if isinstance(most, int):
        return most
    with suppress(Exception):
        client = executor._client  # type: ignore[attr-defined]
        return sum(client.nthreads().values()) or 1
    return os.cpu_count() or 1


@contextmanager
def on_cluster(address: str) -> Iterator[Executor | None]:
    """Yield the executor of the Dask cluster with this scheduler; None for an empty address.

    Raises
    ------
    ScenarioError
        If Dask is not installed, or no scheduler answers there.
    """
    if not address:
        yield None
        return
    try:
        from distributed import Client
    except ImportError as error:
        raise lacking("--cluster", "cluster") from error
    try:
        client = Client(address, timeout=10)  # type: ignore[no-untyped-call]
    except (OSError, ValueError, TimeoutError) as error:
        raise ScenarioError(
            f"--cluster {address}: no scheduler answers there; write the address that "
            "`dask scheduler` prints, such as tcp://host:8786"
        ) from error
    with client:
        yield client.get_executor()  # type: ignore[no-untyped-call]
