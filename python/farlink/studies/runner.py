"""Running a study: plan the runs, simulate them, judge the claims, archive the result.

`plan` says which scenarios are needed, `evaluate` computes findings and figures from their runs,
`judge` turns findings into verdicts, and `archive` holds the result and writes its page.
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
from farlink.studies.archive import Made, StudyResult
from farlink.studies.cache import Cell, SimulationCache
from farlink.studies.controls import NegativeControl, worth_asking
from farlink.studies.evaluate import content, finding, has_content
from farlink.studies.judge import Finding, InterimAnalyses, Judgement, judge
from farlink.studies.live import Live, emulate
from farlink.studies.model import Change
from farlink.studies.plan import batches
from farlink.studies.select import Work, select
from farlink.studies.study import Claim, Study

if TYPE_CHECKING:
    from farlink.api import Progress
    from farlink.experiment.execute import Executor

__all__ = ["RUNS", "RUNS_QUICK", "Step", "StudyRunner", "run_study", "study"]

RUNS = 10
"""Runs of a cell."""

RUNS_QUICK = 6
"""Runs of a cell for a quick look: the fewest that can decide where all of them agree."""

_MOST_RUNS = 1_000_000
_MOST_JOBS = 1024
_MOST_SEED = 2**64 - 1


@dataclass(frozen=True)
class Step:
    """Next step of a study.

    Attributes
    ----------
    ids
        Figures, tables and claims that are simulated and made.
    cells, runs
        New scenarios, and runs of them, for these.
    done, total
        Runs simulated before, and in all, as far as it is known ahead.
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
    live: bool = False,
    live_runs: int | None = None,
    store: str | Path | None = None,
    executor: "Executor | None" = None,
    progress: "Progress | None" = None,
    watch: Callable[[Step], None] | None = None,
    tell: Callable[[str], None] | None = None,
) -> StudyResult:
    """Run a published study again: its figures and tables, and a verdict on its claims.

    The result has `verdicts`, a data frame, and `figures`; `save` writes them with a page.

    Parameters
    ----------
    name
        Name of the study: "wong1998".
    only
        Ids of figures and tables (with their claims) and of claims, or beginnings of ids ("fig4").
    quick
        Fewer runs and points, one interim analysis, and no part that the record calls long.
    runs, seed
        Runs of each point, 2 or more (by default 10, or 6 if `quick`), and their seed. Run k of
        every point has the same random numbers.
    reading, readings
        Interpretation of the text that the verdicts are for, by default the record's; and whether
        claims are judged under all others, too.
    causes, mutants
        Whether claims that do not reproduce are judged under the interpretations that show why; and
        whether claims are judged under the record's wrong models, which must turn some of them.
    live, live_runs
        Whether the record's live points are run with real packets first (Linux, root), and the real
        runs of each, 2 or more. Without `only`, only the claims on them are judged then.
    jobs, store, executor, progress
        As for `sweep` and `run`; progress is that of the current batch.
    watch, tell
        Called with each batch before it begins, and with a line after each real run.

    Raises
    ------
    ScenarioError
        If an argument is wrong; nothing has run then.

    Examples
    --------
    >>> import farlink as fl
    >>> fl.study("wong1998", only="fig4.17", quick=True).save("wong1998")  # doctest: +SKIP
    """
    ids = [only] if isinstance(only, str) else only
    if live_runs is not None and not live:
        raise ScenarioError("--live-runs has no effect without --live; leave it out")
    cache = _cache(runs, seed, jobs, progress, store, executor, quick=quick)
    record = find(name)
    real = _emulate(record, cache, ids, live_runs, store, tell) if live else None
    if real is not None and ids is None:
        ids = [judgement.claim.id for judgement in real.judgements]
    more: dict[str, Any] = {"reading": reading, "readings": readings, "causes": causes}
    result = run_study(record, cache, only=ids, mutants=mutants, watch=watch, **more)
    return replace(result, live=real)


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
    watch: Callable[[Step], None] | None = None,
) -> StudyResult:
    """Run a study with the runs of a cache; see `study`."""
    started = time.perf_counter()
    interpretations = _interpretations(study, reading, every=readings)
    runner = StudyRunner(study, cache, interpretations)
    made: dict[str, Made] = {}
    judgements = []
    planned = batches(study, cache, interpretations, select(study, only, quick=cache.quick))
    total = sum(batch.runs for batch in planned)
    done = 0
    for batch in planned:
        if watch is not None:
            ids = [work.item.id for work in batch.work]
            watch(Step(ids, batch.new, batch.runs, done, total))
        runner.simulate(batch.cells)
        done += batch.runs
        for work in batch.work:
            if isinstance(work.item, Claim):
                judged = runner.judge(work.item)
                judgements.append(runner.explain(judged) if causes else judged)
            else:
                made[work.item.id] = runner.make(work)
    mutations = []
    for control in study.plan.controls.values() if mutants else ():
        if watch is not None:
            watch(Step([f"wrong model {control.id!r}"], 0, 0, done, total))
        asked = [judgement for judgement in judgements if worth_asking(control, judgement)]
        mutations.append(
            NegativeControl(control, [runner.judge_once(item, control) for item in asked])
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
    """Return the interpretation that counts, and with `every` the others."""
    known = dict(study.plan.interpretations)
    if first is not None and first not in known:
        names = ", ".join(repr(name) for name in known)
        raise ScenarioError(f"--reading {first}: {study.id} has no such reading; write {names}")
    chosen = known.pop(first) if first is not None else known.pop(next(iter(known)))
    return [chosen, *known.values()] if every else [chosen]


@dataclass(frozen=True)
class StudyRunner:
    """Simulation, figures and verdicts of a study; the first interpretation counts."""

    study: Study
    cache: SimulationCache
    interpretations: Sequence[Change]

    def simulate(self, cells: Sequence[Cell]) -> None:
        """Simulate cells; a wrong scenario is an error of the figure or claim that needs it."""
        with suppress(FarlinkError):
            self.cache.prefetch(cell for cell in cells if self._is_valid(cell))

    def _is_valid(self, cell: Cell) -> bool:
        try:
            self.cache.text(cell)
        except ScenarioError:
            return False
        return True

    def make(self, work: Work) -> Made:
        """Make a figure or table; an error becomes its failure."""
        if not has_content(self.study, work):
            return Made(work.item)
        try:
            return Made(work.item, content(self.study, work, self.interpretations[0], self.cache))
        except Exception as error:
            return Made(work.item, failure=f"{type(error).__name__}: {error}")

    def judge(self, claim: Claim) -> Judgement:
        """Judge a claim with runs until decided; under further interpretations with one look."""
        first, *others = self.interpretations
        looks = [self.cache.runs * k for k in claim.looks[: 1 if self.cache.quick else None]]
        judgement = judge(claim, {first.id: self._analyses(claim, first)}, looks)
        if claim.untested or judgement.failure or not others:
            return judgement

        rest = judge(claim, {other.id: self._analyses(claim, other) for other in others}, looks[:1])
        findings = {**judgement.findings, **rest.findings}
        return Judgement(claim, findings, rest.failure)

    def explain(self, judgement: Judgement) -> Judgement:
        """Judge what does not reproduce under the readings that show why, with one look each."""
        claim = judgement.claim
        known = self.study.plan.interpretations
        shown = [name for name in claim.shown_by if name not in judgement.findings]
        if not judgement.fails or not shown:
            return judgement
        ways = {name: self._analyses(claim, known[name]) for name in shown}
        rest = judge(claim, ways, [self.cache.runs])
        return Judgement(claim, {**judgement.findings, **rest.findings}, rest.failure)

    def judge_once(self, judgement: Judgement, change: Change) -> Judgement:
        """Judge a claim under a wrong model, with one look."""
        claim = judgement.claim
        return judge(claim, {change.id: self._analyses(claim, change)}, [self.cache.runs])

    def _analyses(self, claim: Claim, change: Change) -> Callable[[int], Finding]:
        return InterimAnalyses(partial(self._find, claim, change)).analyse

    def _find(self, claim: Claim, change: Change, runs: int, more: Mapping[str, int]) -> Finding:
        """Find what so many runs say of a claim, and more of some cells, by their keys."""
        cache = self.cache
        before = cache.runs, cache.more
        cache.runs, cache.more = runs, dict(more)
        try:
            of = partial(finding, self.study, claim, change)
            self.simulate([*cache.planned(of), *(cache.cell(key) for key in more)])
            return of(cache)
        finally:
            cache.runs, cache.more = before
