"""Experiments: simulate points, and reuse stored results of runs."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from farlink.checks import whole
from farlink.experiment.execute import Executor, WorkerPool
from farlink.experiment.numbers import Layout, Numbers, of_run
from farlink.experiment.points import Point
from farlink.experiment.ranges import Ranges
from farlink.experiment.store import Store
from farlink.experiment.work import Part

__all__ = ["Experiment", "Tell"]

Tell = Callable[[int, int], None]
"""Progress callback: number of finished runs, and number of runs that were missing at the start."""

_FLUSH_S = 2.0
"""Interval between writes to the store (s); a killed process loses at most the work of this time.
"""

_FLUSH_NUMBERS = 4_000_000

_MOST_JOBS = 1024


@dataclass
class Experiment:
    """Simulator of points that stores the resulting numbers.

    Parameters
    ----------
    store
        Folder or `Store` that keeps the numbers; by default they are kept only in memory.
    name
        Name of the experiment under which the store describes the points.
    jobs
        Number of threads; by default one per processor.
    executor
        Executor with the interface of `concurrent.futures`, used instead of threads of this
        process.
    tell
        Progress callback.
    keep
        Whether numbers read from the store are also cached in memory, for repeated reads.

    Attributes
    ----------
    simulated_runs, events, worked_s
        Runs that were simulated (not found in the store), their events, and the time that all
        workers spent (s).
    """

    store: Store | Path | str | None = None
    name: str = ""
    jobs: int | None = None
    executor: Executor | None = None
    tell: Tell | None = None
    keep: bool = False
    simulated_runs: int = 0
    _cached: "dict[str, _PointNumbers]" = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        if self.store is not None and not isinstance(self.store, Store):
            self.store = Store(Path(self.store))
        threads = self.jobs if self.jobs is not None else (os.cpu_count() or 1)
        self._pool = WorkerPool(whole("jobs", threads, _MOST_JOBS), self.executor)

    @property
    def events(self) -> int:
        """Number of simulation events over all runs simulated by this object."""
        return self._pool.events

    @property
    def worked_s(self) -> float:
        """Time that all workers together spent on simulation (s)."""
        return self._pool.worked_s

    def missing(self, wanted: Iterable[tuple[Point, int]]) -> list[Part]:
        """Return the runs still to simulate to have the wanted number of runs of each point."""
        counts: dict[str, int] = {}
        texts: dict[str, str] = {}
        for point, runs in wanted:
            counts[point.key] = max(counts.get(point.key, 0), runs)
            texts.setdefault(point.key, point.text)
        there = self._there(counts)
        parts = (
            Part(key, texts[key], there.get(key, Ranges()).missing(n)) for key, n in counts.items()
        )
        return [part for part in parts if part.runs]

    def simulate(self, wanted: Iterable[tuple[Point, int]]) -> None:
        """Simulate the missing runs, up to the wanted number of each point.

        With a store, runs that finished before Ctrl-C are kept.

        Raises
        ------
        RunError
            If a run fails, or workers are lost.
        """
        wanted = list(wanted)
        self._simulate(wanted)
        if self.keep and isinstance(self.store, Store):
            cached = self._cached
            new = {
                request.key
                for request, n in wanted
                if request.key not in cached or cached[request.key].count < n
            }
            for number in self.store.numbers(new) if new else []:
                cached[number.point] = _PointNumbers(number.layout, [number])

    def _simulate(self, wanted: Sequence[tuple[Point, int]]) -> None:
        parts = self.missing(wanted)
        if not parts:
            return
        total = sum(len(part.runs) for part in parts)
        tell = self.tell
        if self.store is None:
            self._pool.run(parts, self._cache, tell and (lambda done: tell(done, total)))
            return
        assert isinstance(self.store, Store)
        names = {request.key: request for request, _ in wanted}
        self.store.describe(self.name, names.values())
        writer = _Writer(self.store)

        def take(numbers: Sequence[Numbers]) -> None:
            self._count(numbers)
            writer.take(numbers)

        try:
            self._pool.run(parts, take, tell and (lambda done: tell(done, total)))
        finally:
            writer.flush()
        self.store.tidy()

    def values(self, point: Point, measure: str, runs: int | None = None) -> NDArray[np.float64]:
        """Return a measure of a point, one value per run; NaN for a run without a value.

        Run k of all points uses the same random numbers, so the values of two points are pairs.
        With `runs`, missing runs up to that number are simulated first. Without it, the values of
        all existing runs are returned.

        Raises
        ------
        ScenarioError
            If there is no such measure (see `numbers.columns_of`).
        """
        if runs is not None:
            self.simulate([(point, runs)])
        numbers = self.numbers(point)
        values = of_run(numbers, measure)
        return values if runs is None else values[:runs]

    def numbers(self, point: Point) -> Numbers:
        """Return all numbers of a point.

        Raises
        ------
        KeyError
            If none of its runs was simulated.
        """
        cached = self._cached.get(point.key)
        if isinstance(self.store, Store) and not (self.keep and cached is not None):
            there = self.store.covered().get(point.key, Ranges())
            if cached is None or len(cached.runs) < len(there):
                for number in self.store.numbers([point.key]):
                    cached = self._cached[point.key] = _PointNumbers(number.layout, [number])
        if cached is None:
            raise KeyError(f"no run of {point.label or point.key} was simulated")
        return cached.numbers(point.key)

    def read(self, points: Iterable[Point], measures: Sequence[str]) -> dict[str, Numbers]:
        """Return the numbers of simulated points, by key.

        The result has at least the named measures and the columns needed for sums over flows.
        """
        keys = list(dict.fromkeys(point.key for point in points))
        if isinstance(self.store, Store):
            return {number.point: number for number in self.store.numbers(keys, measures)}
        return {key: self._cached[key].numbers(key) for key in keys}

    def _there(self, counts: Mapping[str, int]) -> Mapping[str, Ranges]:
        """Return the existing runs by point key; reads only memory if it has all of `counts`."""
        cached: dict[str, Ranges] = {}
        if self.keep or self.store is None:
            cached = {key: self._cached[key].runs for key in counts.keys() & self._cached.keys()}
        enough = all(key in cached and not cached[key].missing(n) for key, n in counts.items())
        if isinstance(self.store, Store) and not enough:
            return self.store.covered()
        return cached

    def _cache(self, numbers: Sequence[Numbers]) -> None:
        self._count(numbers)
        for number in numbers:
            self._cached.setdefault(number.point, _PointNumbers(number.layout)).parts.append(number)

    def _count(self, numbers: Sequence[Numbers]) -> None:
        self.simulated_runs += sum(len(number.runs) for number in numbers)


@dataclass
class _PointNumbers:
    """Numbers of one point, cached in memory."""

    layout: Layout
    parts: list[Numbers] = field(default_factory=list)

    @property
    def count(self) -> int:
        return sum(len(part.runs) for part in self.parts)

    @property
    def runs(self) -> Ranges:
        runs = Ranges()
        for part in self.parts:
            runs.add_each(part.runs.tolist())
        return runs

    def numbers(self, key: str) -> Numbers:
        if len(self.parts) > 1:
            runs = np.concatenate([part.runs for part in self.parts])
            values = np.concatenate([part.values for part in self.parts])
            order = np.argsort(runs)
            self.parts = [Numbers(key, self.layout, runs[order], values[order])]
        return self.parts[0]


class _Writer:
    """Buffer that writes numbers to a store in large parts."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._waiting: list[Numbers] = []
        self._size = 0
        self._since = _now()

    def take(self, numbers: Sequence[Numbers]) -> None:
        self._waiting += numbers
        self._size += sum(number.values.size for number in numbers)
        if self._size >= _FLUSH_NUMBERS or _now() - self._since >= _FLUSH_S:
            self.flush()
            self._store.tidy()

    def flush(self) -> None:
        waiting, self._waiting, self._size = self._waiting, [], 0
        self._store.add(waiting)
        self._since = _now()


def _now() -> float:
    import time

    return time.monotonic()
