"""Simulation cache of a study: metrics and traces of its cells.

A cell is a complete scenario with a label. The cache simulates each cell once for all figures and
claims (`farlink.experiment`). Run k of all cells has the same random numbers.
"""

import hashlib
import json
import math
import warnings
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from farlink import _farlink, registry, source
from farlink.experiment.experiment import Experiment
from farlink.experiment.numbers import Layout
from farlink.experiment.points import Point
from farlink.studies.quantity import Quantity
from farlink.trace import Trace

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

    from farlink.api import Progress
    from farlink.experiment.execute import Executor
    from farlink.experiment.store import Store

__all__ = ["Cell", "SimulationCache"]

_Point = TypeVar("_Point")


@dataclass(frozen=True)
class Cell:
    """Scenario of a study with its label.

    Attributes
    ----------
    label
        Text for figures and messages: "rlp, PER 0.3".
    scenario
        Tree of the scenario.
    runs
        Factor by which the cell's number of runs exceeds the cache's, such as 2 for rare events.
    """

    label: str
    scenario: Mapping[str, Any]
    runs: int = 1

    @cached_property
    def key(self) -> str:
        """Name derived from the scenario's content."""
        text = json.dumps(self.scenario, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()


@dataclass
class SimulationCache:
    """Cache of metrics and traces, in which each cell is simulated once.

    Parameters
    ----------
    runs
        Number of independent runs of a cell, at least 2.
    seed
        Seed of all cells.
    jobs
        Threads.
    progress
        Callback as in `farlink.run`.
    quick
        Whether figures have fewer points (see `points`), and all cells have `runs` runs.

    Attributes
    ----------
    store, executor
        Store of the metrics, by default memory, and executor of the simulations, by default threads
        (see `farlink.experiment.Experiment`).
    more
        Numbers of runs above `runs`, by key of the cell.
    """

    runs: int = 10
    seed: int = 1
    jobs: int = 1
    quick: bool = False
    progress: "Progress | None" = None
    store: "Store | Path | str | None" = None
    executor: "Executor | None" = None
    more: dict[str, int] = field(default_factory=dict)
    _points: dict[str, Point] = field(default_factory=dict)
    _cells: dict[str, Cell] = field(default_factory=dict)
    _traces: dict[tuple[str, int], Trace] = field(default_factory=dict)
    _reads: dict[tuple[str, int, Hashable], float] = field(default_factory=dict)
    _traced_runs: int = 0
    _traced_events: int = 0

    def __post_init__(self) -> None:
        self._experiment = Experiment(
            self.store, "study", self.jobs, self.executor, self._tell, keep=True
        )

    @property
    def events(self) -> int:
        """Number of events simulated so far."""
        return self._experiment.events + self._traced_events

    @property
    def simulated_runs(self) -> int:
        """Number of runs simulated so far."""
        return self._experiment.simulated_runs + self._traced_runs

    def prefetch(self, cells: Iterable[Cell]) -> None:
        """Simulate the cells that are not in the cache, in parallel."""
        self._experiment.simulate([(self.point(cell), self.count(cell)) for cell in cells])

    def point(self, cell: Cell) -> Point:
        """Return the design point of a cell."""
        key = cell.key
        if key not in self._points:
            self._cells[key] = cell
            where = source.find({**cell.scenario, "seed": self.seed})
            text = next(iter(where.resolve(None, []).values()))
            self._points[key] = Point(text, {"cell": cell.label})
        return self._points[key]

    def planned(self, make: "Callable[[SimulationCache], object]") -> list[Cell]:
        """Return the cells that a function of a cache will request, as far as a dry run shows.

        The function is called with a cache whose numbers are all NaN. If it needs a trace or real
        numbers, the dry run ends there, and later cells are simulated on request.
        """
        plan = _DryRun(runs=self.runs, seed=self.seed, quick=self.quick)
        with suppress(Exception), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            make(plan)
        return plan.cells

    def count(self, cell: Cell) -> int:
        """Return the number of runs of a cell, without its factor if `quick`."""
        runs = max(self.runs, self.more.get(cell.key, 0)) if self.more else self.runs
        return runs * (1 if self.quick else cell.runs)

    def cell(self, key: str) -> Cell:
        """Return the cell with a key; its metrics must have been requested before."""
        return self._cells[key]

    def points(self, x: Sequence[_Point]) -> list[_Point]:
        """Return all points of a figure, or every second one if `quick`."""
        return list(x[::2] if self.quick else x)

    def flow(self, cell: Cell, metric: str, *, flow: int = 0) -> Quantity:
        """Return the values of a metric of a flow, one for each run.

        Raises
        ------
        KeyError
            If there is no such flow or metric.
        """
        return self._quantity(cell, ("flow", flow, metric))

    def link(self, cell: Cell, link: str, direction: str, metric: str) -> Quantity:
        """Return the values of a metric of a link's direction ("down", "up"), one for each run.

        Raises
        ------
        KeyError
            If there is no such link, direction or metric.
        """
        return self._quantity(cell, ("link", link, direction, metric))

    def trace(self, cell: Cell, name: str, run: int = 0) -> "pd.DataFrame":
        """Return the table of a trace of a run (see docs/results.md)."""
        return self.probe(cell, run).table(name)

    def probe(self, cell: Cell, run: int = 0) -> Trace:
        """Return all traces of a run."""
        key = (cell.key, run)
        if key not in self._traces:
            self._traces[key] = self._simulate(cell, run)
        return self._traces[key]

    def read(
        self,
        cell: Cell,
        run: int,
        of: Callable[[Trace], float],
        name: Hashable,
        *,
        forget: bool = False,
    ) -> float:
        """Return the value that `of` computes from the traces of a run, and cache it.

        `name` is the value's key in the cache, so that later interim analyses reuse it. With
        `forget` a new trace is not cached. This saves memory if only one value of the trace is
        needed.
        """
        key = (cell.key, run, name)
        if key not in self._reads:
            forget = forget and (cell.key, run) not in self._traces
            self._reads[key] = of(self._simulate(cell, run) if forget else self.probe(cell, run))
        return self._reads[key]

    def forget_traces(self) -> None:
        """Delete all traces from the cache, but not the values that `read` computed."""
        self._traces.clear()

    def _simulate(self, cell: Cell, run: int) -> Trace:
        trace = Trace(_farlink.trace(self.text(cell), run, None, packets=False, progress=None))
        self._traced_runs += 1
        self._traced_events += trace.measures.events
        return trace

    def text(self, cell: Cell) -> str:
        """Return the resolved scenario of a cell."""
        return self.point(cell).text

    def _quantity(self, cell: Cell, name: "_Name") -> Quantity:
        self.prefetch([cell])
        point = self.point(cell)
        numbers = self._experiment.numbers(point)
        scope, metric = str(name[0]), str(name[-1])
        of = _flow(numbers.layout, point, int(name[1])) if scope == "flow" else _link(name)
        try:
            column = numbers.layout.index((scope, of, metric))
        except ValueError:
            where = " ".join(str(part) for part in name)
            raise KeyError(f"{cell.label}: a run has no {where}") from None
        values = np.ascontiguousarray(numbers.values[: self.count(cell), column])  # noqa: PD011
        label = f"{metric}({cell.label})"
        return Quantity(values, label, registry.unit(scope, metric), [cell.key])

    def _tell(self, done: int, total: int) -> None:
        if self.progress is not None:
            self.progress(math.nan, math.nan, done, total)


_Name = tuple[str | int, ...]
"""Name of a metric: ("flow", index, metric) or ("link", name, direction, metric)."""


def _flow(layout: Layout, point: Point, place: int) -> str:
    """Return the name of the flow with an index in the scenario; empty for no flow.

    A store orders flows by name, not as the scenario does.
    """
    names = list(dict.fromkeys(of for scope, of, _ in layout if scope == "flow"))
    results = [str(flow["name"]) for flow in point.scenario["flows"]]

    def order(name: str) -> tuple[int, int]:
        # An entry "web" for several flows makes the flows "web.0", "web.1", ... ...
        base, _, number = name.rpartition(".")
        return (results.index(name), 0) if name in results else (results.index(base), int(number))

    names.sort(key=order)
    return names[place] if place < len(names) else ""


def _link(name: "_Name") -> str:
    return ".".join(str(part) for part in name[1:-1])


class _DryRun(SimulationCache):
    """Cache that collects the requested cells and simulates none."""

    def __init__(self, **options: Any) -> None:  # noqa: ANN401 (those of the base)
        super().__init__(**options)
        self.cells: list[Cell] = []

    def prefetch(self, cells: Iterable[Cell]) -> None:
        self.cells += cells

    def probe(self, cell: Cell, run: int = 0) -> Trace:
        raise _NotYetError

    def _simulate(self, cell: Cell, run: int) -> Trace:
        raise _NotYetError

    def _quantity(self, cell: Cell, name: _Name) -> Quantity:
        self.prefetch([cell])
        return Quantity(np.full(self.count(cell), np.nan), str(name[-1]))


class _NotYetError(Exception):
    """Error that ends a dry run at the first request for a trace."""
