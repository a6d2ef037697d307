"""Judging claims: what the runs say of each, and the sum of it.

A claim states an order, a number, or both. Interim analyses have more and more runs until it is
decided; each spends a part of the level, so that all together keep it.
"""

import enum
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from farlink.studies.quantity import LEVEL, NO_CELL, SETTLED, Evidence, Quantity, Verdict
from farlink.studies.study import Claim

__all__ = [
    "FAILED",
    "UNTESTED",
    "Compared",
    "Finding",
    "Ground",
    "InterimAnalyses",
    "Judgement",
    "judge",
    "level_of",
    "summary",
]

UNTESTED = "untested"
FAILED = "failed"

_DECIDED = (Verdict.REPRODUCED, Verdict.NOT_REPRODUCED, Verdict.ORDER_ONLY, Verdict.TIE)


class Ground(enum.Enum):
    """The statement of a claim that its verdict rests on."""

    PRINTED = "a printed number that runs measured"
    AXIS = "the end of a published axis, as a bound of what runs measured"
    OURS = "a bound of ours, as none is printed"
    ORDER = "an order that runs measured"
    FACT = "a fact, computed or scripted"


@dataclass(frozen=True)
class Compared:
    """A published number and ours."""

    what: str
    published: float
    unit: str
    ours: Quantity

    @property
    def ratio(self) -> float:
        """Ours over what was published; NaN where that is 0."""
        return self.ours.mean / self.published if self.published else float("nan")


@dataclass(frozen=True)
class Finding:
    """Evidence of the runs on a claim under one reading.

    Attributes
    ----------
    order, number
        Evidence of the two statements; None for what the claim does not state.
    rows
        Published numbers beside ours.
    runs
        Runs of a point that it rests on.
    level
        The one-sided level of the analysis that decided, or of the last.
    """

    order: Evidence | None
    number: Evidence | None
    rows: Sequence[Compared] = ()
    runs: int = 0
    level: float = LEVEL

    @property
    def verdict(self) -> Verdict:
        """Verdict: both hold, the order alone, a tie, neither, or nothing."""
        order, number = (
            None if item is None else item.at(self.level) for item in (self.order, self.number)
        )
        if order is None or order is Verdict.REPRODUCED:
            if number is None:
                return Verdict.UNDECIDED if order is None else order
            if order is Verdict.REPRODUCED and number is Verdict.NOT_REPRODUCED:
                return Verdict.ORDER_ONLY
            return number
        return order

    @property
    def deciding(self) -> Evidence:
        """The evidence that the verdict hangs on."""
        evidence = self.number if self.number is not None else self.order
        if self.order is not None and self.order.at(self.level) is not Verdict.REPRODUCED:
            evidence = self.order
        return evidence if evidence is not None else Evidence(1.0, 1.0)

    def beside(self, key: str) -> str:
        """Return the same comparison as one of another finding; the deciding one without it."""
        what, bound = key.partition(" = ")[0], key.rpartition(" ")[2]
        stated = [item for item in (self.number, self.order) if item is not None]
        lines = [line for statement in stated for line in (statement.key, *statement.details)]
        alike = [line for line in lines if line.partition(" = ")[0] == what]
        same = [line for line in alike if line.rpartition(" ")[2] == bound]
        return (same or alike or [self.deciding.key])[0]

    @property
    def open(self) -> frozenset[str]:
        """Cells of which more runs would help, by their keys (see `Evidence.open`)."""
        stated = [item for item in (self.order, self.number) if item is not None]
        open_ = [
            statement.open
            for statement in stated
            if min(statement.p_for, statement.p_against) >= SETTLED
        ]
        return frozenset().union(*open_)

    @property
    def off(self) -> Compared | None:
        """Ratio of our number to the published number that is farthest from it."""
        known = [row for row in self.rows if row.ratio > 0]
        return max(known, key=lambda item: max(item.ratio, 1 / item.ratio), default=None)


@dataclass(frozen=True)
class Judgement:
    """A claim and what was found.

    Attributes
    ----------
    findings
        By reading of the study; the first is the one that counts.
    failure
        Why it could not be judged though it should have been; empty if it was.
    """

    claim: Claim
    findings: Mapping[str, Finding] = field(default_factory=dict)
    failure: str = ""

    @property
    def status(self) -> str:
        """A verdict in words, or `UNTESTED` or `FAILED`."""
        if self.failure:
            return FAILED
        return self.first.verdict.value if self.first is not None else UNTESTED

    @property
    def first(self) -> Finding | None:
        """Finding that counts: the one under the first reading."""
        return next(iter(self.findings.values()), None)

    @property
    def ground(self) -> Ground | None:
        """The kind of statement that was judged, whatever the verdict; None without one."""
        if self.first is None:
            return None
        stated = [item for item in (self.first.order, self.first.number) if item is not None]
        if not any(statement.sampled for statement in stated):
            return Ground.FACT
        if self.first.number is None:
            return Ground.ORDER
        return {"text": Ground.PRINTED, "table": Ground.PRINTED, "tick": Ground.AXIS}.get(
            self.claim.legibility, Ground.OURS
        )

    @property
    def key(self) -> str:
        """The comparison that the verdict hangs on, or why there is none."""
        if self.failure:
            return self.failure
        if self.first is None:
            return self.claim.untested
        off = self.first.off
        factor = ""
        if self.first.verdict is Verdict.ORDER_ONLY and off is not None:
            factor = f"; {off.what} is {off.ratio:.2g} times the published {off.published:g}"
        return self.first.deciding.key + factor

    @property
    def cause(self) -> str:
        """Why the claim does not reproduce, or is not decided, as far as the record knows."""
        return self.claim.cause if self.fails else ""

    @property
    def fails(self) -> bool:
        """Whether the claim was judged and is not reproduced."""
        return self.status not in (Verdict.REPRODUCED.value, UNTESTED, FAILED)

    @property
    def shown(self) -> list[tuple[str, str, str]]:
        """Evidence of the cause: reading, verdict under it, and the deciding numbers there."""
        if not self.fails or self.first is None:
            return []
        deciding = self.first.deciding.key
        rows = []
        for name in self.claim.shown_by:
            finding = self.findings.get(name)
            verdict = "" if finding is None else finding.verdict.value
            rows.append((name, verdict, "" if finding is None else finding.beside(deciding)))
        return rows


@dataclass
class InterimAnalyses:
    """Interim analyses of a claim: the later ones have more runs of the open parts alone.

    A part whose p-value at one analysis is below the level of the last (`SETTLED`) keeps its runs.
    So each part is judged at most once with each number of runs, at the level of that analysis, as
    if all parts had these runs.

    Parameters
    ----------
    find
        Returns a finding with a number of runs of everything, and more of some cells.
    """

    find: Callable[[int, Mapping[str, int]], Finding]
    runs: int = 0
    more: dict[str, int] = field(default_factory=dict)
    open: frozenset[str] = frozenset()

    def analyse(self, runs: int) -> Finding:
        """Return a finding with `runs` runs of the open parts."""
        if not self.runs or NO_CELL in self.open:
            # What is made of traces has as many runs as everything else.
            self.runs = runs
        self.more |= dict.fromkeys(self.open - {NO_CELL}, runs)
        finding = self.find(self.runs, self.more)
        self.open = finding.open
        return finding


def level_of(analyses: int, place: int) -> float:
    """Return the level of one of several analyses: half of `LEVEL` first, the rest evenly.

    The chance that any of them is wrong is at most the sum (Bonferroni).
    """
    if analyses == 1:
        return LEVEL
    return LEVEL / 2 if place == 0 else LEVEL / 2 / (analyses - 1)


def judge(
    claim: Claim,
    readings: Mapping[str, Callable[[int], Finding]],
    analyses: Sequence[int],
    decided: "Callable[[Finding], bool] | None" = None,
) -> Judgement:
    """Judge a claim under each reading, the first of which counts, with runs until decided.

    Parameters
    ----------
    claim
        What is judged; with `untested` it is not.
    readings
        Makes a finding with so many runs of a point, by name of the reading.
    analyses
        Numbers of runs of the interim analyses, in order.
    decided
        Whether no more runs are wanted; by default where the verdict is one.

    Returns
    -------
    Judgement
        Whatever goes wrong becomes a failure of this claim, and others can go on.
    """
    if claim.untested:
        return Judgement(claim)
    enough = decided or (lambda finding: finding.verdict in _DECIDED)
    findings = {}
    try:
        for name, make in readings.items():
            for place, runs in enumerate(analyses):
                finding = make(runs)
                level = level_of(len(analyses), place)
                findings[name] = Finding(finding.order, finding.number, finding.rows, runs, level)
                if enough(findings[name]):
                    break
    except Exception as error:
        return Judgement(claim, failure=f"{type(error).__name__}: {error}")
    return Judgement(claim, findings)


def summary(judgements: Iterable[Judgement]) -> str:
    """Count verdicts in a line; checks of what was fitted are no evidence and stand apart."""
    members = list(judgements)
    free = Counter(judgement.status for judgement in members if not judgement.claim.calibration)
    checks = Counter(judgement.status for judgement in members if judgement.claim.calibration)
    always = (Verdict.REPRODUCED, Verdict.NOT_REPRODUCED, Verdict.UNDECIDED)
    words = [item.value for item in Verdict if item in always or free[item.value]]
    parts = [f"{free[word]} {word}" for word in words]
    parts += [f"{free[word]} {word}" for word in (UNTESTED, FAILED) if free[word]]
    line = ", ".join(parts)
    if checks:
        held = ", ".join(f"{count} {status}" for status, count in checks.items())
        line += f"; calibration checks apart: {held}"
    return line
