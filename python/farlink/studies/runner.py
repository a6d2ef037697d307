"""Runs a study: plans and simulates runs, judges claims, and returns the result.

`plan` lists the necessary scenarios. `evaluate` computes findings and figures from their runs.
`judge` turns findings into verdicts. `archive` holds the result and writes its page.
"""

import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from farlink.errors import FarlinkError, ScenarioError
from farlink.studies import find
from farlink.studies.account import Account
from farlink.studies.archive import Made, StudyResult
from farlink.studies.cache import Cell, SimulationCache
from farlink.studies.controls import NegativeControl, should_judge
from farlink.studies.evaluate import content, finding, has_content
from farlink.studies.judge import Finding, InterimAnalyses, Judgement, judge
from farlink.studies.live import Live, emulate
from farlink.studies.model import Change
from farlink.studies.plan import batches
from farlink.studies.quantity import Evidence
from farlink.studies.select import Entry, select
from farlink.studies.study import Claim, Study

if TYPE_CHECKING:
    from farlink.api import Progress
    from farlink.experiment.execute import Executor

__all__ = ["RUNS", "RUNS_QUICK", "Step", "StudyRunner", "run_study", "study"]

RUNS = 10
"""Default number of runs of a cell."""

RUNS_QUICK = 6
"""Default number of runs of a cell with `quick`, the fewest that can decide if all agree."""

_MOST_RUNS = 1_000_000
_MOST_JOBS = 1024
_MOST_SEED = 2**64 - 1


@dataclass(frozen=True)
class Step:
    """Progress of a study before its next batch.

    Attributes
    ----------
    ids
        Ids of the batch's figures, tables and claims.
    cells, runs
        Numbers of the batch's new scenarios and runs.
    done, total
        Numbers of runs before this batch and in all planned batches. Interim analyses may add runs.
    """

    ids: Sequence[str]
    cells: int
    runs: int
    done: int
    total: int


def study(
    name: str,
    *,
    only: Sequence[str] | str | None = None,
    quick: bool = False,
    runs: int | None = None,
    seed: int = 1,
    jobs: int | None = None,
    reading: str | None = None,
    readings: bool = False,
    causes: bool = False,
    mutants: bool = False,
    tables: bool = False,
    live: bool = False,
    live_runs: int | None = None,
    store: str | Path | None = None,
    executor: "Executor | None" = None,
    progress: "Progress | None" = None,
    watch: Callable[[Step], None] | None = None,
    tell: Callable[[str], None] | None = None,
) -> StudyResult:
    """Repeat a published study: its figures and tables, and a verdict on each of its claims.

    Parameters
    ----------
    name
        Name of the study: "wong1998".
    only
        Ids of figures and tables (with their claims) and of claims, or beginnings of ids ("fig4").
    quick, runs, seed
        `quick`: whether to reduce runs and points, use one analysis, and skip entries with `full`.
        `runs`: runs of each point, 2 or more (by default 10, or 6 if `quick`). `seed`: their seed.
    reading, readings
        Interpretation of the text that gives the verdicts, by default the record's. Whether claims
        are also judged under all others.
    causes, mutants
        Whether claims are also judged under interpretations that show the cause of a difference.
        Whether claims are also judged under the record's negative controls.
    tables
        Whether the run makes only the printed tables, all of them, and judges no claim.
    live, live_runs
        Whether the record's live points are emulated (Linux, root), and the runs of each, at
        least 2. Without `only`, only claims on live points are judged.
    jobs, store, executor, progress, watch, tell
        Options as in `sweep`, `run`. `watch` is called before each batch, `tell` after each
        emulated run.

    Raises
    ------
    ScenarioError
        If an argument is wrong, before any run.

    Examples
    --------
    >>> fl.study("wong1998", only="fig4.17", quick=True).save("wong1998")  # doctest: +SKIP
    """
    ids = [only] if isinstance(only, str) else only
    if live_runs is not None and not live:
        raise ScenarioError("--live-runs has no effect without --live; leave it out")
    cache = _cache(runs, seed, jobs, progress, store, executor, quick=quick)
    record = find(name)
    if tables:
        _check_alone(only, live=live, mutants=mutants)
        ids = record.printed_tables
    real = _emulate(record, cache, ids, live_runs, store, tell) if live else None
    if real is not None and ids is None:
        ids = [judgement.claim.id for judgement in real.judgements]
    more: dict[str, Any] = {"reading": reading, "readings": readings, "causes": causes}
    more |= {"mutants": mutants, "claims": not tables, "watch": watch}
    return replace(run_study(record, cache, only=ids, **more), live=real)


def _check_alone(only: Sequence[str] | str | None, *, live: bool, mutants: bool) -> None:
    if only or live or mutants:
        raise ScenarioError(
            "--tables makes all printed tables alone; leave out --only, --live and --mutants"
        )


def _emulate(
    study: Study,
    cache: SimulationCache,
    only: Sequence[str] | None,
    runs: int | None,
    store: str | Path | None,
    tell: Callable[[str], None] | None,
) -> Live:
    claims = [part.item for part in select(study, only) if isinstance(part.item, Claim)]
    kept = None if store is None else Path(store) / "live"
    return emulate(study, cache, claims, runs=runs, store=kept, tell=tell)


def _cache(
    runs: int | None,
    seed: int,
    jobs: int | None,
    progress: "Progress | None",
    store: str | Path | None,
    executor: "Executor | None",
    *,
    quick: bool,
) -> SimulationCache:
    count = runs if runs is not None else (RUNS_QUICK if quick else RUNS)
    threads = jobs if jobs is not None else (os.cpu_count() or 1)
    if not 2 <= count <= _MOST_RUNS:
        raise ScenarioError(f"runs is {count}; write 2 to {_MOST_RUNS}: one run decides nothing")
    if not 1 <= threads <= _MOST_JOBS:
        raise ScenarioError(f"jobs is {threads}; write 1 to {_MOST_JOBS}")
    if not 0 <= seed <= _MOST_SEED:
        raise ScenarioError(f"seed is {seed}; write 0 to {_MOST_SEED}")
    return SimulationCache(count, seed, threads, quick, progress, store, executor)


def run_study(
    study: Study,
    cache: SimulationCache,
    *,
    only: Sequence[str] | None = None,
    reading: str | None = None,
    readings: bool = False,
    causes: bool = False,
    mutants: bool = False,
    claims: bool = True,
    watch: Callable[[Step], None] | None = None,
) -> StudyResult:
    """Run a study with the number of runs and the seed of a cache; see `study`."""
    started = time.perf_counter()
    interpretations = _interpretations(study, reading, every=readings)
    runner = StudyRunner(study, cache, interpretations)
    made: dict[str, Made] = {}
    judgements = []
    entries = select(study, only, quick=cache.quick)
    if not claims:
        entries = [entry for entry in entries if not isinstance(entry.item, Claim)]
    planned = batches(study, cache, interpretations, entries)
    total = sum(batch.runs for batch in planned)
    done = 0
    for batch in planned:
        if watch is not None:
            ids = [entry.item.id for entry in batch.entries]
            watch(Step(ids, batch.new, batch.runs, done, total))
        runner.simulate(batch.cells)
        done += batch.runs
        for entry in batch.entries:
            if isinstance(entry.item, Claim):
                judged = runner.judge(entry.item)
                judgements.append(runner.explain(judged) if causes else judged)
            else:
                made[entry.item.id] = runner.make(entry)
    mutations = []
    for control in study.plan.controls.values() if mutants else ():
        if watch is not None:
            watch(Step([f"wrong model {control.id!r}"], 0, 0, done, total))
        selected = [judgement for judgement in judgements if should_judge(control, judgement)]
        mutations.append(
            NegativeControl(control, [runner.judge_once(item, control) for item in selected])
        )
        cache.forget_traces()
    return StudyResult(
        study=study,
        only=only,
        runs=cache.runs,
        seed=cache.seed,
        quick=cache.quick,
        made=made,
        judgements=judgements,
        readings=interpretations,
        events=cache.events,
        simulated_runs=cache.simulated_runs,
        wall_s=time.perf_counter() - started,
        mutations=mutations,
        causes=causes,
    )


def _interpretations(study: Study, first: str | None, *, every: bool) -> list[Change]:
    """Return the interpretation that gives the verdicts, followed by all others if `every`."""
    known = dict(study.plan.interpretations)
    if first is not None and first not in known:
        names = ", ".join(repr(name) for name in known)
        raise ScenarioError(f"--reading {first}: {study.id} has no such reading; write {names}")
    chosen = known.pop(first) if first is not None else known.pop(next(iter(known)))
    return [chosen, *known.values()] if every else [chosen]


@dataclass(frozen=True)
class StudyRunner:
    """Simulates and judges a study. The first interpretation gives figures and verdicts."""

    study: Study
    cache: SimulationCache
    interpretations: Sequence[Change]

    def simulate(self, cells: Sequence[Cell]) -> None:
        """Simulate cells, but skip invalid scenarios, which fail later in their figure or claim."""
        with suppress(FarlinkError):
            self.cache.prefetch(cell for cell in cells if self._is_valid(cell))

    def _is_valid(self, cell: Cell) -> bool:
        try:
            self.cache.text(cell)
        except ScenarioError:
            return False
        return True

    def make(self, entry: Entry) -> Made:
        """Make a figure or table. An exception becomes the `failure` of the result."""
        if not has_content(self.study, entry):
            return Made(entry.item)
        try:
            return Made(entry.item, content(self.study, entry, self.interpretations[0], self.cache))
        except Exception as error:
            return Made(entry.item, failure=f"{type(error).__name__}: {error}")

    def judge(self, claim: Claim) -> Judgement:
        """Judge a claim in interim analyses until decided, and once under other interpretations."""
        first, *others = self.interpretations
        analyses = [self.cache.runs * k for k in claim.looks[: 1 if self.cache.quick else None]]
        judgement = judge(claim, {first.id: self._analyses(claim, first)}, analyses)
        if claim.untested or judgement.failure or not others:
            return judgement

        rest = judge(
            claim, {other.id: self._analyses(claim, other) for other in others}, analyses[:1]
        )
        findings = {**judgement.findings, **rest.findings}
        return Judgement(claim, findings, rest.failure)

    def explain(self, judgement: Judgement) -> Judgement:
        """Judge a claim that does not reproduce once under each of its `shown_by`."""
        claim = judgement.claim
        known = self.study.plan.interpretations
        if not judgement.fails:
            return judgement
        missing = [name for name in claim.shown_by if name not in judgement.findings]
        analyses = {name: self._analyses(claim, known[name]) for name in missing}
        rest = judge(claim, analyses, [self.cache.runs])
        findings = {**judgement.findings, **rest.findings}
        try:
            experiments = [self._experiment(claim, account) for account in claim.accounts]
        except Exception as error:
            return Judgement(claim, findings, f"{type(error).__name__}: {error}")
        return Judgement(claim, findings, rest.failure, experiments)

    def _experiment(self, claim: Claim, account: Account) -> Evidence | None:
        """Return the evidence on the claim's number, or a part of it, under a reading."""
        if not account.reading:
            return None
        number = account.number or claim.number or claim.order
        part = replace(claim, order=None, number=number, compare=())
        change = self.study.plan.interpretations[account.reading]
        analyses = [self.cache.runs * k for k in claim.looks[: 1 if self.cache.quick else None]]
        judged = judge(part, {change.id: self._analyses(part, change)}, analyses)
        if judged.failure:
            raise RuntimeError(f"account of {claim.id}: {judged.failure}")
        return None if judged.first is None else judged.first.number

    def judge_once(self, judgement: Judgement, change: Change) -> Judgement:
        """Judge a claim once, without interim analyses, under a negative control."""
        claim = judgement.claim
        return judge(claim, {change.id: self._analyses(claim, change)}, [self.cache.runs])

    def _analyses(self, claim: Claim, change: Change) -> Callable[[int], Finding]:
        return InterimAnalyses(partial(self._find, claim, change)).analyse

    def _find(self, claim: Claim, change: Change, runs: int, more: Mapping[str, int]) -> Finding:
        """Return the finding with `runs` runs of all cells and `more` (by key) of some."""
        cache = self.cache
        before = cache.runs, cache.more
        cache.runs, cache.more = runs, dict(more)
        try:
            of = partial(finding, self.study, claim, change)
            self.simulate([*cache.planned(of), *(cache.cell(key) for key in more)])
            return of(cache)
        finally:
            cache.runs, cache.more = before
