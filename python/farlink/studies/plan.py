"""Groups the figures, tables and claims of a study, with their scenarios, into batches."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

from farlink.studies.cache import Cell, SimulationCache
from farlink.studies.evaluate import content, finding
from farlink.studies.model import Change
from farlink.studies.select import Entry
from farlink.studies.study import Claim, Study

__all__ = ["Batch", "batches"]

_BATCH = 96
"""Number of runs of a batch for each thread."""


@dataclass
class Batch:
    """Scenarios that are simulated together.

    `new` cells are in no earlier batch. `runs` is the number of runs beyond those of earlier
    batches.
    """

    entries: list[Entry] = field(default_factory=list)
    cells: list[Cell] = field(default_factory=list)
    new: int = 0
    runs: int = 0


def batches(
    study: Study,
    cache: SimulationCache,
    interpretations: Sequence[Change],
    entries: Sequence[Entry],
) -> list[Batch]:
    """Group figures, tables and claims into batches large enough to use all threads."""
    planned = [Batch()]
    counted: dict[str, int] = {}
    for entry in entries:
        if planned[-1].runs >= _BATCH * cache.jobs:
            planned.append(Batch())
        batch = planned[-1]
        cells = _cells(study, cache, interpretations, entry)
        batch.entries.append(entry)
        batch.cells += cells
        for cell in cells:
            key, runs = cell.key, cache.count(cell)
            known = counted.get(key, 0)
            batch.new += known == 0
            batch.runs += max(runs - known, 0)
            counted[key] = max(runs, known)
    return planned


def _cells(
    study: Study, cache: SimulationCache, interpretations: Sequence[Change], entry: Entry
) -> list[Cell]:
    claim = entry.item
    if not isinstance(claim, Claim):
        return cache.planned(partial(content, study, entry, interpretations[0]))
    if claim.untested:
        return []
    cells = []
    for change in interpretations:
        cells += cache.planned(partial(finding, study, claim, change))
    return cells
