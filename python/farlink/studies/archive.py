"""Result of a study: figures, tables and verdicts, and the files that `save` writes."""

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

from farlink import _farlink, folder
from farlink.studies.controls import NegativeControl
from farlink.studies.grid import Grid
from farlink.studies.judge import FAILED, Judgement
from farlink.studies.live import Live
from farlink.studies.model import AS_CHOSEN, Change
from farlink.studies.outcome import outcome, summary
from farlink.studies.study import Curves, Drawing, Item, Study, Table

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

__all__ = ["Made", "StudyResult"]


@dataclass(frozen=True)
class Made:
    """Content of a figure or table, or the error that prevented it."""

    item: Item
    content: Curves | Drawing | Grid | Table | None = None
    failure: str = ""


@dataclass(frozen=True)
class StudyResult:
    """Figures, tables and verdicts of a study, with the options of the run.

    Attributes
    ----------
    only
        Selected ids or beginnings of ids; None for all.
    runs, seed, quick
        Options of the run (see `farlink.study`).
    made
        Figures and tables, by id.
    judgements
        Judged claims, in the order of the record.
    readings
        Interpretations under which claims were judged; the first gives the verdicts.
    mutations
        Judgements under the negative controls, if those were run.
    causes
        Whether claims that do not reproduce were also judged under interpretations that show the
        cause.
    live
        Result of the emulated points, if they were selected.
    events, simulated_runs, wall_s
        Simulated events, simulated runs and elapsed time (s).
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
    mutations: Sequence[NegativeControl] = ()
    causes: bool = False
    live: Live | None = None
    version: str = field(default_factory=_farlink.version)

    def _repr_html_(self) -> str:
        """Return the output of `farlink study` as HTML for notebooks."""
        from farlink.views import page
        from farlink.views.study import show

        return page.as_html(lambda out: show(self, out))

    def __repr__(self) -> str:
        return f"<farlink.StudyResult {self.study.id}: {self.summary}>"

    @property
    def summary(self) -> str:
        """Counts of claims by outcome, as a line of text."""
        return summary(self.judgements)

    @property
    def failures(self) -> list[str]:
        """Errors of figures, tables and claims, one line each."""
        lines = [
            f"{name}: {figure.failure}" for name, figure in self.made.items() if figure.failure
        ]
        judged = [*self.judgements, *(self.live.judgements if self.live else ())]
        return lines + [f"{j.claim.id}: {j.failure}" for j in judged if j.status == FAILED]

    @property
    def command(self) -> str:
        """Command line that repeats this run."""
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
        """Return whether the selected claims are exactly those with live points."""
        mine = [judgement.claim.id for judgement in self.live.judgements] if self.live else []
        return bool(mine) and list(self.only or ()) == mine

    @cached_property
    def verdicts(self) -> "pd.DataFrame":
        """Table with a row per claim: figure, strength, verdict, p-values, deciding comparison."""
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
                    "outcome": outcome(judgement).value,
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
        """Figures (of matplotlib) by id."""
        return {name: make() for name, make in self.figure_makers.items()}

    @property
    def grids(self) -> dict[str, Grid]:
        """Printed tables cell by cell, by id."""
        contents = {name: made.content for name, made in self.made.items()}
        return {name: item for name, item in contents.items() if isinstance(item, Grid)}

    @property
    def figure_makers(self) -> "dict[str, Callable[[], Figure]]":
        """Functions that draw the figures, by id, so that a failure affects one figure only."""
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
        """Line below each figure of curves: number of runs, seed and version."""
        quick = ", quick" if self.quick else ""
        return (
            f"Mean and 95 % interval of {self.runs} runs or more a point; seed {self.seed}{quick}, "
            f"farlink {self.version}"
        )

    def heading(self, item: Item) -> str:
        """Return the title of a figure, with its place in the publication."""
        head = self.study.record["study"]
        place = item.where.split(",")[0]
        return f"{place} of {head['author'].split()[-1]} {head['year']}: {item.title}"

    def save(self, directory: str | Path) -> list[Path]:
        """Write page, verdicts, figures and their numbers, and return the paths.

        The files are index.html (which needs no other file), verdicts.json, verdicts.csv,
        figures/ID.png, .svg and .csv, and tables/ID.csv. Either all files are written or none.
        Files of an earlier call in the directory are deleted, as by `Result.save`.

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
