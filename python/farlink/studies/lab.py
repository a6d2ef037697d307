"""The laboratory of a study: runs cells, keeps their numbers, and makes traces.

A cell is a scenario with everything said. Each is simulated once however many figures
and claims ask for it; run k of all cells has the same random numbers.
"""

import hashlib
import json
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from farlink import _farlink, registry, source
from farlink.studies.quantity import Quantity
from farlink.trace import Trace

if TYPE_CHECKING:
    import pandas as pd

    from farlink._farlink import Measures
    from farlink.api import Progress

__all__ = ["Cell", "Lab"]

_Point = TypeVar("_Point")


@dataclass(frozen=True)
class Cell:
    """A scenario of a study.

    Attributes
    ----------
    label
        For the reader: "rlp, PER 0.3".
    scenario
        The tree of the scenario.
    runs
        How many runs it needs, of those that the lab makes by default: a factor, such
        as 2 where what counts is rare.
    """

    label: str
    scenario: Mapping[str, Any]
    runs: int = 1

    @property
    def key(self) -> str:
        """Name of the scenario's content."""
        text = json.dumps(self.scenario, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()


@dataclass
class Lab:
    """Runs cells and remembers what came out.

    Parameters
    ----------
    runs
        Independent runs of a cell, 2 or more.
    seed
        Seed of all cells.
    jobs
        Threads.
    progress
        As for `farlink.run`.
    quick
        Whether figures have fewer points (see `points`) and no cell more than `runs`.

    Attributes
    ----------
    events, simulated_runs
        Events and runs that were simulated so far.
    """

    runs: int = 10
    seed: int = 1
    jobs: int = 1
    quick: bool = False
    progress: "Progress | None" = None
    events: int = 0
    simulated_runs: int = 0
    _numbers: "dict[str, list[_Numbers]]" = field(default_factory=dict)
    _texts: dict[str, str] = field(default_factory=dict)
    _traces: dict[tuple[str, int], Trace] = field(default_factory=dict)

    def prefetch(self, cells: Iterable[Cell]) -> None:
        """Simulate all of these that were not yet, side by side."""
        cells = list(cells)
        missing = self._missing(cells)
        texts = {cell.key: self.text(cell) for cell in cells if cell.key in missing}
        work = [(key, k) for key, runs in missing.items() for k in runs]
        for done in range(0, len(work), _AT_ONCE):
            part = work[done : done + _AT_ONCE]
            progress = self._progress(done, len(work))
            runs: dict[str, list[int]] = {}
            for key, k in part:
                runs.setdefault(key, []).append(k)
            parts = [(texts[key], ks) for key, ks in runs.items()]
            found = _farlink.simulate(parts, self.jobs, progress)
            for key, measures in zip(runs, found, strict=True):
                self._numbers.setdefault(key, []).extend(_Numbers.of(measures))
                self.events += measures.events
                self.simulated_runs += len(measures)

    def planned(self, make: "Callable[[Lab], object]") -> list[Cell]:
        """Return the cells that a function of a lab will ask for, as far as can be told.

        It is called with a lab whose numbers are all NaN. One that needs a trace, or cannot
        go on without numbers, has told of the cells up to there, and what is still
        missing is simulated when it is asked for.
        """
        plan = _Plan(runs=self.runs, seed=self.seed, quick=self.quick)
        with suppress(Exception), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            make(plan)
        return plan.cells

    def count(self, cell: Cell) -> int:
        """Return how many runs a cell gets: its factor does not count if `quick`."""
        return self.runs * (1 if self.quick else cell.runs)

    def points(self, x: Sequence[_Point]) -> list[_Point]:
        """Return the points of a figure: all of these, every second one if `quick`."""
        return list(x[::2] if self.quick else x)

    def flow(self, cell: Cell, metric: str, *, flow: int = 0) -> Quantity:
        """Return a metric of a flow of a cell, run by run.

        Raises
        ------
        KeyError
            If there is no such flow or metric.
        """
        return self._quantity(cell, ("flow", flow, metric))

    def link(self, cell: Cell, link: str, direction: str, metric: str) -> Quantity:
        """Return a metric of a direction ("down", "up") of a link of a cell, run by run.

        Raises
        ------
        KeyError
            If there is no such link, direction or metric.
        """
        return self._quantity(cell, ("link", link, direction, metric))

    def trace(self, cell: Cell, name: str, run: int = 0) -> "pd.DataFrame":
        """Return a trace of a run of a cell (see docs/results.md)."""
        return self.probe(cell, run).table(name)

    def probe(self, cell: Cell, run: int = 0) -> Trace:
        """Return all traces of a run of a cell."""
        key = (cell.key, run)
        if key not in self._traces:
            trace = Trace(_farlink.trace(self.text(cell), run, None, None))
            self.events += trace.measures.events
            self.simulated_runs += 1
            self._traces[key] = trace
        return self._traces[key]

    def text(self, cell: Cell) -> str:
        """Return the resolved scenario of a cell."""
        key = cell.key
        if key not in self._texts:
            where = source.find({**cell.scenario, "seed": self.seed})
            self._texts[key] = next(iter(where.resolve(None, []).values()))
        return self._texts[key]

    def _quantity(self, cell: Cell, name: "_Name") -> Quantity:
        self.prefetch([cell])
        runs = self._numbers[cell.key][: self.count(cell)]
        scope, metric = str(name[0]), str(name[-1])
        if name not in runs[0].columns:
            where = " ".join(str(part) for part in name)
            raise KeyError(f"{cell.label}: a run has no {where}")
        values = np.array([one.row[one.columns[name]] for one in runs])
        return Quantity(values, f"{metric}({cell.label})", registry.unit(scope, metric))

    def _missing(self, cells: Iterable[Cell]) -> dict[str, range]:
        """Return the runs to simulate by cell; cells that differ in `runs` share theirs."""
        counts: dict[str, int] = {}
        for cell in cells:
            key = cell.key
            counts[key] = max(counts.get(key, 0), self.count(cell))
        missing = {key: range(len(self._numbers.get(key, [])), n) for key, n in counts.items()}
        return {key: runs for key, runs in missing.items() if runs}

    def _progress(self, before: int, total: int) -> "Progress | None":
        told = self.progress
        if told is None:
            return None
        return lambda simulated, expected, done, _: told(simulated, expected, before + done, total)


_AT_ONCE = 4096
"""Runs that are simulated between two looks at what was stopped."""

_Name = tuple[str | int, ...]
"""Of a number: "flow", its place and the metric; or "link", its name, direction and metric."""


@dataclass(frozen=True)
class _Numbers:
    """The numbers of a run: 2 kB, where they would be 20 as objects.

    Attributes
    ----------
    columns
        Places in `row` by name; runs alike share it.
    """

    columns: Mapping[_Name, int]
    row: NDArray[np.float64]

    @classmethod
    def of(cls, measures: "Measures") -> "list[_Numbers]":
        """Return those of each run."""
        import pyarrow as pa

        names: list[_Name] = []
        for scope, items, metrics in measures.groups:
            for place, item in enumerate(items):
                of = (place,) if scope == "flow" else item
                names += [(scope, *of, metric) for metric in metrics]
        columns = _columns(tuple(names))
        rows = pa.record_batch(measures.numbers()).column(0).to_numpy()
        return [cls(columns, row) for row in rows.reshape(len(measures), len(names))]


@lru_cache(maxsize=64)
def _columns(names: tuple[_Name, ...]) -> dict[_Name, int]:
    return {name: place for place, name in enumerate(names)}


class _Plan(Lab):
    """A lab that simulates nothing and remembers what it was asked for."""

    def __init__(self, **options: Any) -> None:  # noqa: ANN401 (those of Lab)
        super().__init__(**options)
        self.cells: list[Cell] = []

    def prefetch(self, cells: Iterable[Cell]) -> None:
        self.cells += cells

    def probe(self, cell: Cell, run: int = 0) -> Trace:
        raise _NotYetError

    def _quantity(self, cell: Cell, name: _Name) -> Quantity:
        self.prefetch([cell])
        return Quantity(np.full(self.count(cell), np.nan), str(name[-1]))


class _NotYetError(Exception):
    """Stops a function that wants more than a plan can give."""
