"""Result of a study: what was made and judged, and the folder with its page."""

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

from farlink import _farlink, folder
from farlink.studies.controls import NegativeControl
from farlink.studies.judge import FAILED, Judgement, summary
from farlink.studies.live import Live
from farlink.studies.model import AS_CHOSEN, Change
from farlink.studies.study import Curves, Drawing, Item, Study, Table

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

__all__ = ["Made", "StudyResult"]


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
    mutations: Sequence[NegativeControl] = ()
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
