"""Search for the levels of the unknowns that give half of a study's printed numbers.

Optuna proposes levels. Run k of each trial has the same random numbers (paired runs). A trial
simulates the fitted cells table by table, and ends early if its likelihood cannot come within
`_HOPELESS` of the best trial's. The best trial and the model as chosen are then simulated with a
fresh seed. Held-out cells are simulated only at this point.
"""

import datetime as dt
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from farlink import _farlink
from farlink.checks import whole
from farlink.errors import ScenarioError
from farlink.studies import find
from farlink.studies.agreement import GridCell, agreement
from farlink.studies.cache import SimulationCache
from farlink.studies.inference.likelihood import standard_error, total
from farlink.studies.inference.posterior import CellValues, coordinates, excluded, posterior
from farlink.studies.inference.record import Half, Inferred, JudgedCell
from farlink.studies.inference.targets import Key, Split, Target, keys, measure, split
from farlink.studies.inference.unknowns import Unknown, change, unknowns
from farlink.studies.study import Study
from farlink.tuning import _optuna, _suggest

if TYPE_CHECKING:
    from farlink.tuning.space import Level

__all__ = ["infer"]

_HOPELESS = 20.0
"""Loss of log likelihood against the best trial, in the tables so far, that ends a trial."""

_FEWEST = 2
"""Number of trials with a value above which a cell is interpolated."""

Tell = Callable[[str], None]


@dataclass
class _Trial:
    levels: Mapping[str, "Level"]
    cells: dict[Key, GridCell] = field(default_factory=dict)
    worth: float = -math.inf
    pruned: bool = False


def infer(
    name: str,
    *,
    trials: int = 100,
    runs: int = 2,
    confirm: int = 10,
    seed: int = 1,
    jobs: int = 1,
    store: str | Path | None = None,
    tell: Tell | None = None,
) -> Inferred:
    """Infer a study's unknowns from half of its printed numbers.

    Parameters
    ----------
    name
        Name of the study.
    trials, runs
        Number of trials, and runs of each point in a trial.
    confirm
        Runs of each point of the best trial and of the model as chosen, with a fresh seed.
    seed
        Seed of the split, of the search and of the runs.
    jobs, store
        Threads, and store of the runs.
    tell
        Callback that gets a line of text after each trial.

    Raises
    ------
    ScenarioError
        If the study has no unknowns or no printed cells, a number is out of range, or Optuna is
        not installed.
    """
    whole("trials", trials, 100_000, least=_FEWEST + 1)
    whole("runs", runs, 10_000)
    whole("confirm", confirm, 100_000, least=2)
    study = find(name)
    members = unknowns(study.record, study.registry.hooks, study.registry.editors)
    tables = _tables(study)
    used = [cell for choice in study.choices for cell in choice.cells]
    targets = keys(tables, used)
    if not members or not targets:
        raise ScenarioError(f"--infer: {name} has no unknowns with printed cells that runs measure")
    drawn = split(targets, seed)
    cache = SimulationCache(runs, seed, jobs, store=store)
    search = _Search(study, members, tables, drawn, cache, tell)
    search.run(trials)
    best = search.best
    fresh = replace(search, cache=SimulationCache(confirm, seed + 1_000_000, jobs, store=store))
    return _result(search, fresh, best, runs, confirm)


def _tables(study: Study) -> dict[str, Mapping[str, Any]]:
    """Return the tables with printed cells; `tables` under `inference` may name some of them."""
    names = study.record.get("inference", {}).get("tables", list(study.tables))
    data = {name: study.tables[name].data for name in names}
    return {name: entry for name, entry in data.items() if "cells" in entry}


@dataclass
class _Search:
    study: Study
    members: Sequence[Unknown]
    tables: Mapping[str, Mapping[str, Any]]
    split: Split
    cache: SimulationCache
    tell: Tell | None
    trials: list[_Trial] = field(default_factory=list)

    @property
    def best(self) -> _Trial:
        """Most likely trial."""
        return max(self.trials, key=lambda trial: trial.worth)

    @property
    def chosen(self) -> dict[str, "Level"]:
        """Levels of the model as chosen."""
        return {item.id: item.chosen for item in self.members}

    def run(self, trials: int) -> None:
        """Try the model as chosen, and then the proposals of Optuna."""
        optuna = _optuna()
        sampler = optuna.samplers.TPESampler(
            seed=self.split.seed % 2**32, multivariate=True, n_startup_trials=max(10, trials // 3)
        )
        asked_all = optuna.create_study(sampler=sampler, direction="maximize")
        asked_all.enqueue_trial({k.knob.path: _place(k, k.chosen) for k in self.members})
        for number in range(trials):
            asked = asked_all.ask()
            levels = {item.id: _suggest(asked, item.knob) for item in self.members}
            trial = self._try(levels if number else self.chosen)
            self.trials.append(trial)
            asked_all.tell(asked, trial.worth)
            if self.tell:
                best = self.best
                text = ", ".join(f"{name} {level}" for name, level in best.levels.items())
                self.tell(f"trial {number + 1} of {trials}: best {best.worth:.1f}, {text}")

    def _try(self, levels: Mapping[str, "Level"]) -> _Trial:
        trial = _Trial(dict(levels))
        best = self.best if self.trials else None
        for table in dict.fromkeys(target.table for target in self.split.fitted):
            part = [target for target in self.split.fitted if target.table == table]
            trial.cells |= self.measure(levels, part)
            trial.worth = total(trial.cells.values())
            if best is None or best.pruned:
                continue
            so_far = total(cell for key, cell in best.cells.items() if key in trial.cells)
            if trial.worth < so_far - _HOPELESS and len(trial.cells) < len(self.split.fitted):
                # The loss so far is recorded for the whole trial, whose other cells are not
                # simulated.
                trial.pruned = True
                trial.worth = best.worth + trial.worth - so_far
                break
        return trial

    def measure(
        self, levels: Mapping[str, "Level"], targets: Sequence[Target]
    ) -> dict[Key, GridCell]:
        """Simulate and return the cells of targets."""
        registry = self.study.registry
        changed = change(self.members, levels, registry.hooks, registry.editors)

        def made(cache: SimulationCache) -> dict[Key, GridCell]:
            return measure(self.study.model(cache, changed), self.tables, targets)

        self.cache.prefetch(self.cache.planned(made))
        return made(self.cache)


def _place(item: Unknown, level: "Level") -> object:
    """Return a level in Optuna's form: a number of a range, or the index of a level."""
    number = item.knob.number(level)
    return int(number) if item.knob.whole or not item.knob.is_range else number


def _result(search: _Search, fresh: _Search, best: _Trial, runs: int, confirm: int) -> Inferred:
    drawn = search.split
    halves = []
    cells = []
    both = {
        "chosen": fresh.measure(search.chosen, [*drawn.fitted, *drawn.held_out]),
        "inferred": fresh.measure(best.levels, [*drawn.fitted, *drawn.held_out]),
    }
    for half, targets in (("fitted", drawn.fitted), ("held out", drawn.held_out)):
        for kind, measured in both.items():
            numbers = agreement(measured[target.key] for target in targets)
            halves.append(
                Half(half, kind, numbers.cells, numbers.agree, numbers.ratio, numbers.factor)
            )
        for target in targets:
            chosen, inferred = (both[kind][target.key] for kind in ("chosen", "inferred"))
            cells.append(JudgedCell.of(target, half, chosen, inferred))
    kept = [trial for trial in search.trials if not trial.pruned]
    points = np.array([coordinates(search.members, trial.levels) for trial in search.trials])
    ranges = posterior(search.members, points, _values(search), drawn.seed)
    return Inferred(
        study=search.study.id,
        date=dt.date.today().isoformat(),
        version=_farlink.version(),
        seed=drawn.seed,
        trials=len(search.trials),
        pruned=len(search.trials) - len(kept),
        runs=runs,
        confirm=confirm,
        best=dict(best.levels),
        chosen=search.chosen,
        gain=best.worth - search.trials[0].worth,
        halves=halves,
        cells=cells,
        ranges=ranges.ranges,
        shares=ranges.shares,
        effective=ranges.effective,
        importance=ranges.importance,
        excluded=excluded(search.members, [(trial.levels, trial.worth) for trial in kept]),
        tried=[
            {"levels": dict(trial.levels), "worth": trial.worth, "pruned": trial.pruned}
            for trial in search.trials
        ],
    )


def _values(search: _Search) -> list[CellValues]:
    """Return the values of the fitted cells in all trials, for positive printed numbers."""
    rows = []
    for target in search.split.fitted:
        cells = [trial.cells.get(target.key) for trial in search.trials]
        first = next(cell for cell in cells if cell is not None)
        means = np.array([math.nan if c is None or c.ours is None else c.ours.mean for c in cells])
        known = means[np.isfinite(means)]
        if not first.value or first.value < 0 or len(known) <= _FEWEST or (known <= 0).any():
            continue
        ends = first.low, first.high
        rows.append(CellValues(first.value, *ends, means, standard_error(first)))
    return rows
