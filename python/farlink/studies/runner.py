"""Running a study: cells in batches, then figures, tables and verdicts out of them."""

import os
import shlex
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from farlink import _farlink, folder
from farlink.errors import FarlinkError, ScenarioError
from farlink.studies import find
from farlink.studies.judge import FAILED, Judgement, judge, summary
from farlink.studies.lab import Cell, Lab
from farlink.studies.quantity import Evidence
from farlink.studies.select import Work, select
from farlink.studies.study import Claim, Curves, Drawing, Item, Study, Table

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

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
    """What happens next.

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
    """What came out of a study: figures, tables and verdicts, and how they were made.

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
    settings
        Labels of what claims were judged at; the first counts.
    events, simulated_runs, wall_s
        What it cost.
    """

    study: Study[Any]
    only: Sequence[str] | None
    runs: int
    seed: int
    quick: bool
    made: Mapping[str, Made]
    judgements: Sequence[Judgement]
    settings: Sequence[str]
    events: int
    simulated_runs: int
    wall_s: float
    version: str = field(default_factory=_farlink.version)

    def _repr_html_(self) -> str:
        """Show in notebooks what the command prints."""
        from farlink.cli import page
        from farlink.cli.study import show

        return page.as_html(lambda out: show(self, out))

    def __repr__(self) -> str:
        return f"<farlink.StudyResult {self.study.id}: {self.summary}>"

    @property
    def summary(self) -> str:
        """How many claims have which verdict, in a line."""
        return summary(self.judgements)

    @property
    def failures(self) -> list[str]:
        """What could not be made or judged though it should have been, a line each."""
        lines = [f"{name}: {one.failure}" for name, one in self.made.items() if one.failure]
        return lines + [f"{j.claim.id}: {j.failure}" for j in self.judgements if j.status == FAILED]

    @property
    def command(self) -> str:
        """The command that does the same again."""
        words = ["farlink", "study", self.study.id]
        if self.only is not None:
            words += ["--only", ",".join(self.only)]
        words += ["--quick"] if self.quick else []
        return shlex.join([*words, "--runs", str(self.runs), "--seed", str(self.seed)])

    @cached_property
    def verdicts(self) -> "pd.DataFrame":
        """A row per claim: figure, strength, verdict, p-values, and the number it hangs on."""
        import pandas as pd

        rows = []
        for one in self.judgements:
            first, claim = one.first, one.claim
            rows.append(
                {
                    "claim": claim.id,
                    "figure": claim.figure,
                    "where": claim.where,
                    "says": claim.title,
                    "strength": claim.strength,
                    "calibration": claim.calibration,
                    "verdict": one.status,
                    "p_for": None if first is None else first.p_for,
                    "p_against": None if first is None else first.p_against,
                    "key": one.key,
                }
            )
        columns = pd.Index(list(rows[0]) if rows else ["claim"])
        return pd.DataFrame(rows, columns=columns).set_index("claim")

    @cached_property
    def figures(self) -> "dict[str, Figure]":
        """The figures by id, as matplotlib figures."""
        from farlink.studies.draw import draw

        figures = {}
        for name, one in self.made.items():
            if isinstance(one.content, Curves):
                figures[name] = draw(one.content, self.heading(one.item), self.fine_print)
            elif isinstance(one.content, Drawing):
                figures[name] = one.content.figure
        return figures

    @property
    def fine_print(self) -> str:
        """What the numbers of all curves are."""
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
    progress: "Callable[[float, float, int, int], None] | None" = None,
    watch: Callable[[Step], None] | None = None,
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
    progress
        As for `run`, of the batch that is being simulated.
    watch
        Told of each batch before it begins.

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
    lab = Lab(runs=count, seed=seed, jobs=threads, quick=quick, progress=progress)
    return run_study(find(name), lab, only=words, watch=watch)


def run_study(
    study: Study[Any],
    lab: Lab,
    *,
    only: Sequence[str] | None = None,
    watch: Callable[[Step], None] | None = None,
) -> StudyResult:
    """Run a study in a lab; see `study`."""
    started = time.perf_counter()
    bench = _Bench(study, lab)
    made: dict[str, Made] = {}
    judgements = []
    batches = bench.batches(select(study, only, quick=lab.quick))
    total = sum(batch.runs for batch in batches)
    done = 0
    for batch in batches:
        if watch is not None:
            ids = [work.item.id for work in batch.work]
            watch(Step(ids, batch.new, batch.runs, done, total))
        # What a wrong cell is asked for by will say so; the others go on.
        with suppress(FarlinkError):
            lab.prefetch(cell for cell in batch.cells if _right(lab, cell))
        done += batch.runs
        for work in batch.work:
            if isinstance(work.item, Claim):
                judgements.append(judge(work.item, bench.judges(work.item, lab)))
            else:
                made[work.item.id] = bench.make(work)
    return StudyResult(
        study=study,
        only=only,
        runs=lab.runs,
        seed=lab.seed,
        quick=lab.quick,
        made=made,
        judgements=judgements,
        settings=list(bench.settings),
        events=lab.events,
        simulated_runs=lab.simulated_runs,
        wall_s=time.perf_counter() - started,
    )


def _right(lab: Lab, cell: Cell) -> bool:
    try:
        lab.text(cell)
    except ScenarioError:
        return False
    return True


@dataclass
class _Batch:
    """What is simulated together; `new` of its scenarios are new, with `runs` runs."""

    work: list[Work] = field(default_factory=list)
    cells: list[Cell] = field(default_factory=list)
    new: int = 0
    runs: int = 0


class _Bench:
    """A study and its functions, ready to be called."""

    def __init__(self, study: Study[Any], lab: Lab) -> None:
        self._study = study
        self._lab = lab
        # For a quick look the chosen setting is enough.
        count = 1 if lab.quick else None
        self.settings = dict(list(study.settings.items())[:count])

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

    def make(self, work: Work) -> Made:
        """Make a figure or table; what goes wrong is told in its place."""
        if "content" in work.item.data and not self._has_function(work):
            return Made(work.item)
        try:
            return Made(work.item, self._call(work, self._lab))
        except Exception as error:
            return Made(work.item, failure=f"{type(error).__name__}: {error}")

    def judges(self, claim: Claim, lab: Lab) -> dict[str, Callable[[], Evidence]]:
        """Return a judge of the claim for each setting that it is judged at."""
        count = None if claim.sensitive else 1
        settings = list(self.settings.items())[:count]

        def at(value: object) -> Callable[[], Evidence]:
            return lambda: self._study.registry.claims[claim.id](self._study.context(lab, value))

        return {label: at(value) for label, value in settings}

    def _cells(self, work: Work) -> list[Cell]:
        if isinstance(work.item, Claim):
            claim = work.item
            if claim.untested:
                return []
            cells = []
            for label in self.judges(claim, self._lab):
                cells += self._lab.planned(partial(self._judge, claim, label))
            return cells
        return self._lab.planned(lambda lab: self._call(work, lab))

    def _judge(self, claim: Claim, label: str, lab: Lab) -> Evidence:
        return self.judges(claim, lab)[label]()

    def _call(self, work: Work, lab: Lab) -> Curves | Drawing | Table:
        context = self._study.context(lab, next(iter(self.settings.values())))
        functions: dict[str, Callable[[Any], Any]] = (
            self._study.registry.tables if work.kind == "table" else self._study.registry.figures
        )
        made: Curves | Drawing | Table = functions[work.item.id](context)
        return made

    def _has_function(self, work: Work) -> bool:
        registry = self._study.registry
        return work.item.id in registry.figures or work.item.id in registry.tables
