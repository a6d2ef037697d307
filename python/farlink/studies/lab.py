"""The laboratory of a study: runs cells, keeps their numbers, and makes traces.

A cell is a scenario with everything said. Each is simulated once however many figures
and claims ask for it; run k of all cells has the same random numbers.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from farlink import _farlink, source
from farlink.studies.quantity import Quantity
from farlink.trace import Trace

if TYPE_CHECKING:
    import pandas as pd

    from farlink.api import Progress

__all__ = ["Cell", "Lab"]


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
        text = json.dumps([self.scenario, self.runs], sort_keys=True)
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
        Whether figures and scenarios should be made shorter where they can.
    """

    runs: int = 10
    seed: int = 1
    jobs: int = 1
    quick: bool = False
    progress: "Progress | None" = None
    told: Callable[[str], None] | None = None
    events: int = 0
    _outcomes: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    _texts: dict[str, str] = field(default_factory=dict)
    _traces: dict[tuple[str, int], Trace] = field(default_factory=dict)

    def prefetch(self, cells: Iterable[Cell]) -> None:
        """Simulate all of these that were not yet, side by side."""
        wanted = {cell.key: cell for cell in cells if cell.key not in self._outcomes}
        work: list[tuple[str, int]] = []
        for cell in wanted.values():
            work += [(self.text(cell), k) for k in range(self.runs * cell.runs)]
        if not work:
            return
        outcomes = [json.loads(one) for one in _farlink.simulate(work, self.jobs, self.progress)]
        for key, cell in wanted.items():
            count = self.runs * cell.runs
            self._outcomes[key], outcomes = outcomes[:count], outcomes[count:]
            self.events += sum(one["events"] for one in self._outcomes[key])

    def flow(self, cell: Cell, metric: str, *, flow: int = 0) -> Quantity:
        """Return a metric of a flow of a cell, run by run."""
        rows = [one["flows"][flow] for one in self.outcomes(cell)]
        return _quantity(rows, "flow", metric, cell)

    def link(self, cell: Cell, link: str, direction: str, metric: str) -> Quantity:
        """Return a metric of a direction ("down", "up") of a link of a cell, run by run."""
        rows = [
            next(
                row for row in one["links"] if (row["link"], row["direction"]) == (link, direction)
            )
            for one in self.outcomes(cell)
        ]
        return _quantity(rows, "link", metric, cell)

    def outcomes(self, cell: Cell) -> list[dict[str, Any]]:
        """Return what came out of every run of a cell."""
        self.prefetch([cell])
        return self._outcomes[cell.key]

    def trace(self, cell: Cell, name: str, run: int = 0) -> "pd.DataFrame":
        """Return a trace of a run of a cell (see docs/results.md)."""
        return self.probe(cell, run).table(name)

    def probe(self, cell: Cell, run: int = 0) -> Trace:
        """Return all traces of a run of a cell."""
        key = (cell.key, run)
        if key not in self._traces:
            self._traces[key] = Trace(_farlink.trace(self.text(cell), run, None, None))
        return self._traces[key]

    def text(self, cell: Cell) -> str:
        """Return the resolved scenario of a cell."""
        if cell.key not in self._texts:
            where = source.find({**cell.scenario, "seed": self.seed})
            self._texts[cell.key] = next(iter(where.resolve(None, []).values()))
        return self._texts[cell.key]


def _quantity(rows: list[dict[str, Any]], scope: str, metric: str, cell: Cell) -> Quantity:
    values = [row["metrics"][metric] for row in rows]
    units = {(one["scope"], one["name"]): one["unit"] for one in json.loads(_farlink.metrics())}
    numbers = np.array([np.nan if one is None else one for one in values], dtype=np.float64)
    return Quantity(numbers, f"{metric}({cell.label})", units[scope, metric])
