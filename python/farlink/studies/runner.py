"""Running a study: cells in batches, then figures, tables and verdicts out of them."""

import os
import shlex
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from farlink import _farlink, folder
from farlink.errors import FarlinkError, ScenarioError
from farlink.studies import find
from farlink.studies.curves import curves
from farlink.studies.judge import FAILED, Compared, Finding, Judgement, Looks, judge, summary
from farlink.studies.lab import Cell, Lab
from farlink.studies.live import Live, emulate
from farlink.studies.model import AS_CHOSEN, Change
from farlink.studies.mutants import Mutation, worth_asking
from farlink.studies.quantity import Quantity
from farlink.studies.select import Work, select
from farlink.studies.study import Claim, Curves, Drawing, Item, Study, Table

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from farlink.experiment.execute import Executor

__all__ = ["RUNS", "RUNS_QUICK", "Made", "Step", "StudyResult", "run_study", "study"]

RUNS = 10
"""Runs of a cell."""

RUNS_QUICK = 6
"""Runs of a cell for a quick look: the fewest that can decide where all of them agree."""

_BATCH = 96
"""Runs that are simulated side by side, per thread, before figures are made of them."""

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


@dataclass(frozen=True)
class Made:
    """A figure or table that was made, or why not."""

    item: Item
    content: Curves | Drawing | Table | None = None
    failure: str = ""


@dataclass(frozen=True)
class StudyResult:
    """Result of a study: figures, tables and verdicts, and how they were made.

    Attributes
    ----------
    only
        What was asked for; None for everything.
    runs, seed, quick
        As they were asked for (see `farlink.study`).
    made
        Figures and tables, by id.
    judgements
        Claims, in the order of the study.
    readings
        Readings that claims were judged under; the first counts.
    mutations
        What wrong models would have got, where they were run.
    causes
        Whether what does not reproduce was judged under the readings that show why, too.
    live
        What came out with real packets, if it was asked for.
    events, simulated_runs, wall_s
        What it cost.
    """

    study: Study
    only: Sequence[str] | None
    runs: int
    seed: int
    quick: bool
    made: Mapping[str, Made]
    judgements: Sequence[Judgement]
    readings: Sequence[Change]
    events: int
    simulated_runs: int
    wall_s: float
    mutations: Sequence[Mutation] = ()
    causes: bool = False
    live: Live | None = None
    version: str = field(default_factory=_farlink.version)

    def _repr_html_(self) -> str:
        """Show in notebooks what the command prints."""
        from farlink.views import page
        from farlink.views.study import show

        return page.as_html(lambda out: show(self, out))

    def __repr__(self) -> str:
        return f"<farlink.StudyResult {self.study.id}: {self.summary}>"

    @property
    def summary(self) -> str:
        """Number of claims by verdict, in a line."""
        return summary(self.judgements)

    @property
    def failures(self) -> list[str]:
        """Things that should have been made or judged and were not, a line each."""
        lines = [
            f"{name}: {figure.failure}" for name, figure in self.made.items() if figure.failure
        ]
        judged = [*self.judgements, *(self.live.judgements if self.live else ())]
        return lines + [f"{j.claim.id}: {j.failure}" for j in judged if j.status == FAILED]

    @property
    def command(self) -> str:
        """The command that does the same again."""
        words = ["farlink", "study", self.study.id]
        if self.only is not None and not self._only_live:
            words += ["--only", ",".join(self.only)]
        words += ["--quick"] if self.quick else []
        if self.readings[0].id not in ("", AS_CHOSEN.id):
            words += ["--reading", self.readings[0].id]
        words += ["--readings"] if len(self.readings) > 1 else []
        words += ["--causes"] if self.causes else []
        words += ["--mutants"] if self.mutations else []
        words += ["--live", "--live-runs", str(self.live.runs)] if self.live else []
        return shlex.join([*words, "--runs", str(self.runs), "--seed", str(self.seed)])

    @property
    def _only_live(self) -> bool:
        """Return whether only claims are asked for that real packets can judge."""
        mine = [judgement.claim.id for judgement in self.live.judgements] if self.live else []
        return bool(mine) and list(self.only or ()) == mine

    @cached_property
    def verdicts(self) -> "pd.DataFrame":
        """A row per claim: figure, strength, verdict, p-values, and the number it hangs on."""
        import pandas as pd

        rows = []
        for judgement in self.judgements:
            claim = judgement.claim
            first = None if judgement.first is None else judgement.first.deciding
            rows.append(
                {
                    "claim": claim.id,
                    "figure": claim.figure,
                    "where": claim.where,
                    "says": claim.title,
                    "strength": claim.strength,
                    "calibration": claim.calibration,
                    "verdict": judgement.status,
                    "p_for": None if first is None else first.p_for,
                    "p_against": None if first is None else first.p_against,
                    "runs": None if judgement.first is None else judgement.first.runs,
                    "key": judgement.key,
                }
            )
        columns = pd.Index(list(rows[0]) if rows else ["claim"])
        return pd.DataFrame(rows, columns=columns).set_index("claim")

    @cached_property
    def figures(self) -> "dict[str, Figure]":
        """The figures by id, as matplotlib figures."""
        return {name: make() for name, make in self.figure_makers.items()}

    @property
    def figure_makers(self) -> "dict[str, Callable[[], Figure]]":
        """Functions that draw the figures, by id: one that fails does not cost the others."""
        from farlink.studies.draw import draw

        makers: dict[str, Callable[[], Figure]] = {}
        for name, figure in self.made.items():
            if isinstance(figure.content, Curves):
                makers[name] = partial(
                    draw, figure.content, self.heading(figure.item), self.fine_print
                )
            elif isinstance(figure.content, Drawing):
                makers[name] = partial(getattr, figure.content, "figure")
        return makers

    @property
    def fine_print(self) -> str:
        """Description of the numbers of all curves."""
        quick = ", quick" if self.quick else ""
        return (
            f"Mean and 95 % interval of {self.runs} runs or more a point; seed {self.seed}{quick}, "
            f"farlink {self.version}"
        )

    def heading(self, item: Item) -> str:
        """Return the title of a figure: where it is in the study, and what it shows."""
        head = self.study.record["study"]
        place = item.where.split(",")[0]
        return f"{place} of {head['author'].split()[-1]} {head['year']}: {item.title}"

    def save(self, directory: str | Path) -> list[Path]:
        """Write page, verdicts, figures and their numbers; returns the paths.

        The files are index.html (whole by itself), verdicts.json, verdicts.csv,
        figures/ID.png, .svg and .csv, and tables/ID.csv. They come into the directory all
        together or not at all; what an earlier call put there goes (`Result.save`).

        Raises
        ------
        OutputError
            If a file cannot be written.
        """
        from farlink.studies.page import write

        base = Path(directory)
        with folder.filling(base, last="index.html") as stage:
            written = [path.relative_to(stage) for path in write(self, stage)]
        return [base / path for path in written]


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
    progress: "Callable[[float, float, int, int], None] | None" = None,
    watch: Callable[[Step], None] | None = None,
    tell: Callable[[str], None] | None = None,
) -> StudyResult:
    """Run a published study again: its figures and tables, and a verdict on its claims.

    Parameters
    ----------
    name
        Name of the study: "wong1998".
    only
        Ids of figures, tables and claims, or their beginnings ("fig4"); by default
        everything. A figure or table brings its claims.
    quick
        For a first look: fewer runs, every second point of long curves, one setting, and
        nothing that the record calls long.
    runs
        Runs of each point, 2 or more; by default 10, or 6 if `quick`.
    seed
        Seed of all runs. Run k of every point has the same random numbers.
    jobs
        Threads; by default one per processor.
    reading
        The reading of the text that counts; by default the model as the record has it.
    readings
        Whether claims are judged under all other readings as well.
    causes
        Whether what does not reproduce is judged under the readings that show why, too.
    mutants
        Whether claims are judged under the wrong models of the record, too: which of them
        notice?
    live
        Whether the points that the record calls live are run with real packets first (Linux,
        root). Of the study itself only the claims are judged then that can be judged on them,
        unless `only` asks for more.
    live_runs
        Real runs of each point, 2 or more; by default what the record says.
    store, executor
        As for `sweep`: a folder whose numbers are not simulated again, and who simulates.
    progress
        As for `run`, of the batch that is being simulated.
    watch
        Told of each batch before it begins.
    tell
        Called with a line after each run with real packets.

    Returns
    -------
    StudyResult
        Its `verdicts` is a data frame, `figures` a dict of matplotlib figures, and
        `save` writes them with a page.

    Raises
    ------
    ScenarioError
        If anything asked for is wrong; nothing has run then.

    Examples
    --------
    >>> import farlink as fl
    >>> result = fl.study("wong1998", only="fig4.17", quick=True)  # doctest: +SKIP
    >>> result.verdicts["verdict"]  # doctest: +SKIP
    >>> result.save("wong1998")  # doctest: +SKIP
    """
    words = [only] if isinstance(only, str) else only
    count = runs if runs is not None else (RUNS_QUICK if quick else RUNS)
    threads = jobs if jobs is not None else (os.cpu_count() or 1)
    if not 2 <= count <= _MOST_RUNS:
        raise ScenarioError(f"runs is {count}; write 2 to {_MOST_RUNS}: one run decides nothing")
    if not 1 <= threads <= _MOST_JOBS:
        raise ScenarioError(f"jobs is {threads}; write 1 to {_MOST_JOBS}")
    if not 0 <= seed <= _MOST_SEED:
        raise ScenarioError(f"seed is {seed}; write 0 to {_MOST_SEED}")
    if live_runs is not None and not live:
        raise ScenarioError("--live-runs has no effect without --live; leave it out")
    lab = Lab(count, seed, threads, quick, progress, store, executor)
    named = find(name)
    real = None
    if live:
        chosen = [item.item for item in select(named, words) if isinstance(item.item, Claim)]
        folder_of_it = None if store is None else Path(store) / "live"
        real = emulate(named, lab, chosen, runs=live_runs, store=folder_of_it, tell=tell)
        if words is None:
            words = [judgement.claim.id for judgement in real.judgements]
    return replace(
        run_study(
            named,
            lab,
            only=words,
            reading=reading,
            readings=readings,
            causes=causes,
            mutants=mutants,
            watch=watch,
        ),
        live=real,
    )


def run_study(
    study: Study,
    lab: Lab,
    *,
    only: Sequence[str] | None = None,
    reading: str | None = None,
    readings: bool = False,
    causes: bool = False,
    mutants: bool = False,
    watch: Callable[[Step], None] | None = None,
) -> StudyResult:
    """Run a study in a lab; see `study`."""
    started = time.perf_counter()
    bench = _Bench(study, lab, _readings(study, reading, every=readings))
    made: dict[str, Made] = {}
    judgements = []
    batches = bench.batches(select(study, only, quick=lab.quick))
    total = sum(batch.runs for batch in batches)
    done = 0
    for batch in batches:
        if watch is not None:
            ids = [work.item.id for work in batch.work]
            watch(Step(ids, batch.new, batch.runs, done, total))
        bench.prefetch(batch.cells)
        done += batch.runs
        for work in batch.work:
            if isinstance(work.item, Claim):
                judged = bench.judge(work.item)
                judgements.append(bench.explain(judged) if causes else judged)
            else:
                made[work.item.id] = bench.make(work)
    mutations = []
    if mutants:
        for mutant in study.plan.mutants.values():
            if watch is not None:
                watch(Step([f"wrong model {mutant.id!r}"], 0, 0, done, total))
            asked = [judgement for judgement in judgements if worth_asking(mutant, judgement)]
            mutations.append(
                Mutation(mutant, [bench.judge_once(request, mutant) for request in asked])
            )
            lab.forget_traces()
    return StudyResult(
        study=study,
        only=only,
        runs=lab.runs,
        seed=lab.seed,
        quick=lab.quick,
        made=made,
        judgements=judgements,
        readings=bench.readings,
        events=lab.events,
        simulated_runs=lab.simulated_runs,
        wall_s=time.perf_counter() - started,
        mutations=mutations,
        causes=causes,
    )


def _readings(study: Study, first: str | None, *, every: bool) -> list[Change]:
    """Return the reading that counts, and the others if they are asked for."""
    known = dict(study.plan.readings)
    if first is not None and first not in known:
        names = ", ".join(repr(name) for name in known)
        raise ScenarioError(f"--reading {first}: {study.id} has no such reading; write {names}")
    chosen = known.pop(first) if first is not None else known.pop(next(iter(known)))
    return [chosen, *known.values()] if every else [chosen]


def _right(lab: Lab, cell: Cell) -> bool:
    try:
        lab.text(cell)
    except ScenarioError:
        return False
    return True


@dataclass
class _Batch:
    """Scenarios simulated together; `new` of them are new, with `runs` runs."""

    work: list[Work] = field(default_factory=list)
    cells: list[Cell] = field(default_factory=list)
    new: int = 0
    runs: int = 0


class _Bench:
    """A study in a lab: what its entries ask for, and what comes of it."""

    def __init__(self, study: Study, lab: Lab, readings: Sequence[Change]) -> None:
        self._study = study
        self._lab = lab
        self.readings = readings

    def batches(self, chosen: Sequence[Work]) -> "list[_Batch]":
        """Cut what is to be made into batches that keep all threads busy."""
        batches = [_Batch()]
        counted: dict[str, int] = {}
        for work in chosen:
            if batches[-1].runs >= _BATCH * self._lab.jobs:
                batches.append(_Batch())
            batch = batches[-1]
            cells = self._cells(work)
            batch.work.append(work)
            batch.cells += cells
            for cell in cells:
                key, runs = cell.key, self._lab.count(cell)
                known = counted.get(key, 0)
                batch.new += known == 0
                batch.runs += max(runs - known, 0)
                counted[key] = max(runs, known)
        return batches

    def prefetch(self, cells: Sequence[Cell]) -> None:
        """Simulate cells; of a wrong one that will tell which asks for it."""
        with suppress(FarlinkError):
            self._lab.prefetch(cell for cell in cells if _right(self._lab, cell))

    def make(self, work: Work) -> Made:
        """Make a figure or table; what goes wrong is told in its place."""
        if "content" in work.item.data and not self._has_function(work):
            return Made(work.item)
        try:
            return Made(work.item, self._call(work, self._lab))
        except Exception as error:
            return Made(work.item, failure=f"{type(error).__name__}: {error}")

    def judge(self, claim: Claim) -> Judgement:
        """Judge a claim: under the first reading with runs until decided, else at one look."""
        first, *others = self.readings
        looks = [self._lab.runs * k for k in claim.looks[: 1 if self._lab.quick else None]]
        judgement = judge(claim, {first.id: self._looks(claim, first)}, looks)
        if claim.untested or judgement.failure or not others:
            return judgement

        rest = judge(claim, {other.id: self._looks(claim, other) for other in others}, looks[:1])
        findings = {**judgement.findings, **rest.findings}
        return Judgement(claim, findings, rest.failure)

    def explain(self, judgement: Judgement) -> Judgement:
        """Judge what does not reproduce under the readings that show why, with one look each."""
        claim = judgement.claim
        known = self._study.plan.readings
        shown = [name for name in claim.shown_by if name not in judgement.findings]
        if not judgement.fails or not shown:
            return judgement
        ways = {name: self._looks(claim, known[name]) for name in shown}
        rest = judge(claim, ways, [self._lab.runs])
        return Judgement(claim, {**judgement.findings, **rest.findings}, rest.failure)

    def judge_once(self, judgement: Judgement, change: Change) -> Judgement:
        """Judge a claim under a wrong model, with one look."""
        claim = judgement.claim
        return judge(claim, {change.id: self._looks(claim, change)}, [self._lab.runs])

    def _looks(self, claim: Claim, change: Change) -> Callable[[int], Finding]:
        return Looks(partial(self._find, claim, change)).look

    def _find(self, claim: Claim, change: Change, runs: int, more: Mapping[str, int]) -> Finding:
        """Find what so many runs say of a claim, and more of some cells, by their keys."""
        lab = self._lab
        before = lab.runs, lab.more
        lab.runs, lab.more = runs, dict(more)
        try:
            planned = lab.planned(partial(self._finding, claim, change))
            self.prefetch([*planned, *(lab.cell(key) for key in more)])
            return self._finding(claim, change, lab)
        finally:
            lab.runs, lab.more = before

    def _finding(self, claim: Claim, change: Change, lab: Lab) -> Finding:
        names = self._study.model(lab, change).names
        order, number = (
            None if item is None else item.evidence(names) for item in (claim.order, claim.number)
        )
        rows = [
            Compared(
                reference.what,
                reference.published,
                reference.unit,
                _quantity(reference.ours.value(names)),
            )
            for reference in claim.compare
        ]
        return Finding(order, number, rows)

    def _cells(self, work: Work) -> list[Cell]:
        if isinstance(work.item, Claim):
            claim = work.item
            if claim.untested:
                return []
            cells = []
            for change in self.readings:
                cells += self._lab.planned(partial(self._finding, claim, change))
            return cells
        return self._lab.planned(lambda lab: self._call(work, lab))

    def _call(self, work: Work, lab: Lab) -> Curves | Drawing | Table:
        model = self._study.model(lab, self.readings[0])
        if "series" in work.item.data:
            return curves(model, work.item.data)
        functions: Mapping[str, Callable[[Any], Any]] = (
            self._study.registry.tables if work.kind == "table" else self._study.registry.figures
        )
        made: Curves | Drawing | Table = functions[work.item.id](model)
        return made

    def _has_function(self, work: Work) -> bool:
        registry = self._study.registry
        return work.item.id in registry.figures or work.item.id in registry.tables


def _quantity(value: Any) -> Quantity:  # noqa: ANN401 (whatever an expression gives)
    """Return a measured quantity as it is, and a computed or scripted number as one."""
    return value if isinstance(value, Quantity) else Quantity([float(value)] * 2, "computed")
