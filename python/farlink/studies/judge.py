"""Judgement of claims: computes a verdict on each claim from its runs.

A claim states an order, a number, or both. Interim analyses judge it with more and more runs until
it is decided. Each analysis has a part of the significance level, and the parts add up to `LEVEL`.
"""

import enum
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from farlink.studies.account import Accounted, AccountStatus, status_of
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
    "ground",
    "judge",
    "level_of",
]

UNTESTED = "untested"
FAILED = "failed"

_DECIDED = (Verdict.REPRODUCED, Verdict.NOT_REPRODUCED, Verdict.ORDER_ONLY, Verdict.TIE)


class Ground(enum.Enum):
    """Kind of the statement that decides the verdict on a claim."""

    PRINTED = "a printed number that runs measured"
    AXIS = "the end of a published axis, as a bound of what runs measured"
    OURS = "a bound of ours, as none is printed"
    ORDER = "an order that runs measured"
    FACT = "a fact, computed or scripted"


@dataclass(frozen=True)
class Compared:
    """Published number and the simulated quantity for it."""

    what: str
    published: float
    unit: str
    ours: Quantity

    @property
    def ratio(self) -> float:
        """Simulated mean / published number; NaN if the published number is 0."""
        return self.ours.mean / self.published if self.published else float("nan")


@dataclass(frozen=True)
class Finding:
    """Evidence of the runs on a claim under one interpretation.

    Attributes
    ----------
    order, number
        Evidence on the claim's order and on its number. None for a kind of statement that the claim
        does not make.
    rows
        Published numbers with the simulated quantities for them.
    runs
        Number of runs of each point.
    level
        One-sided significance level of the deciding analysis, or of the last one.
    """

    order: Evidence | None
    number: Evidence | None
    rows: Sequence[Compared] = ()
    runs: int = 0
    level: float = LEVEL

    @property
    def verdict(self) -> Verdict:
        """Verdict from order and number at `level`."""
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
        """Evidence that decides the verdict: the order if it fails, otherwise the number."""
        evidence = self.number if self.number is not None else self.order
        if self.order is not None and self.order.at(self.level) is not Verdict.REPRODUCED:
            evidence = self.order
        return evidence if evidence is not None else Evidence(1.0, 1.0)

    def counterpart(self, key: str) -> str:
        """Return the finding's comparison of the quantities in `key`, else the deciding one."""
        what, bound = key.partition(" = ")[0], key.rpartition(" ")[2]
        stated = [item for item in (self.number, self.order) if item is not None]
        lines = [line for statement in stated for line in (statement.key, *statement.details)]
        alike = [line for line in lines if line.partition(" = ")[0] == what]
        same = [line for line in alike if line.rpartition(" ")[2] == bound]
        return (same or alike or [self.deciding.key])[0]

    @property
    def open(self) -> frozenset[str]:
        """Keys of the cells whose comparisons are not settled (see `Evidence.open`)."""
        stated = [item for item in (self.order, self.number) if item is not None]
        open_ = [
            statement.open
            for statement in stated
            if min(statement.p_for, statement.p_against) >= SETTLED
        ]
        return frozenset().union(*open_)

    @property
    def off(self) -> Compared | None:
        """Row whose ratio of simulated to published number is farthest from 1."""
        known = [row for row in self.rows if row.ratio > 0]
        return max(known, key=lambda item: max(item.ratio, 1 / item.ratio), default=None)


def ground(claim: Claim, finding: Finding) -> Ground:
    """Return the kind of statement that decides a finding on a claim."""
    stated = [item for item in (finding.order, finding.number) if item is not None]
    if not any(statement.sampled for statement in stated):
        return Ground.FACT
    if finding.number is None:
        return Ground.ORDER
    sources = {"text": Ground.PRINTED, "table": Ground.PRINTED, "tick": Ground.AXIS}
    return sources.get(claim.legibility, Ground.OURS)


@dataclass(frozen=True)
class Judgement:
    """Claim with its findings.

    Attributes
    ----------
    findings
        Findings by interpretation; the first gives the verdict.
    failure
        Error message if judging raised an exception, otherwise empty.
    experiments
        Evidence of the runs on the accounts of the claim, in their order; empty without runs.
    """

    claim: Claim
    findings: Mapping[str, Finding] = field(default_factory=dict)
    failure: str = ""
    experiments: Sequence[Evidence | None] = ()

    @property
    def status(self) -> str:
        """Verdict as text, or `UNTESTED` or `FAILED`."""
        if self.failure:
            return FAILED
        return self.first.verdict.value if self.first is not None else UNTESTED

    @property
    def first(self) -> Finding | None:
        """Finding under the first interpretation, which gives the verdict."""
        return next(iter(self.findings.values()), None)

    @property
    def ground(self) -> Ground | None:
        """Kind of statement that decides the first finding; None if untested or failed."""
        return None if self.first is None else ground(self.claim, self.first)

    @property
    def key(self) -> str:
        """Deciding comparison with its numbers, or the reason for no verdict."""
        if self.failure:
            return self.failure
        if self.first is None:
            return self.claim.untested
        off = self.first.off
        factor = ""
        if self.first.verdict is Verdict.ORDER_ONLY and off is not None:
            factor = f"; {off.what} is {_distance(off.ratio)} the published {off.published:g}"
        return self.first.deciding.key + factor

    @property
    def cause(self) -> str:
        """Recorded cause if the claim is not reproduced or not decided, otherwise empty."""
        return self.claim.cause if self.fails else ""

    @property
    def fails(self) -> bool:
        """Whether the claim has a verdict other than "reproduced"."""
        return self.status not in (Verdict.REPRODUCED.value, UNTESTED, FAILED)

    @property
    def accounted(self) -> list[Accounted]:
        """Accounts of a claim that is not reproduced, each with the evidence of its runs."""
        if not self.fails:
            return []
        evidence = list(self.experiments) or [None] * len(self.claim.accounts)
        return [Accounted(*pair) for pair in zip(self.claim.accounts, evidence, strict=True)]

    @property
    def account(self) -> AccountStatus | None:
        """Status of the claim's accounts together; None for a claim that is reproduced."""
        return status_of(self.accounted) if self.fails else None

    @property
    def cause_evidence(self) -> list[tuple[str, str, str]]:
        """Interpretations that show the cause, each with its verdict and comparison."""
        if not self.fails or self.first is None:
            return []
        deciding = self.first.deciding.key
        rows = []
        for name in self.claim.shown_by:
            finding = self.findings.get(name)
            verdict = "" if finding is None else finding.verdict.value
            rows.append((name, verdict, "" if finding is None else finding.counterpart(deciding)))
        return rows


@dataclass
class InterimAnalyses:
    """Analyses of a claim with growing numbers of runs. Only undecided parts get further runs.

    A part is a comparison of the claim. It gets no more runs once its p-value is below `SETTLED`,
    the level of the last analysis. A part is therefore judged at most once per number of runs, at
    the level of that analysis. The level is the same as if all parts had these runs.

    Parameters
    ----------
    find
        Returns the finding for a number of runs of all cells and a higher number for some (by key).
    """

    find: Callable[[int, Mapping[str, int]], Finding]
    runs: int = 0
    more: dict[str, int] = field(default_factory=dict)
    open: frozenset[str] = frozenset()

    def analyse(self, runs: int) -> Finding:
        """Return the finding with `runs` runs of the cells of undecided parts."""
        if not self.runs or NO_CELL in self.open:
            # Values from traces have no cell, so all cells get more runs.
            self.runs = runs
        self.more |= dict.fromkeys(self.open - {NO_CELL}, runs)
        finding = self.find(self.runs, self.more)
        self.open = finding.open
        return finding


def level_of(analyses: int, place: int) -> float:
    """Return the level of an analysis: half of `LEVEL` for the first, equal shares for the others.

    The probability of any wrong decision is at most the sum of these levels (Bonferroni).
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
    """Judge a claim under each interpretation, with more runs until it is decided.

    Parameters
    ----------
    claim
        Claim to judge, unless it has `untested`.
    readings
        Functions by interpretation, from the number of runs of a point to a finding. The first
        interpretation gives the verdict.
    analyses
        Numbers of runs of the interim analyses, in order.
    decided
        Returns whether a finding needs no more runs, by default whether its verdict is decided.

    Returns
    -------
    Judgement
        Findings, or the message of the exception that stopped judging.
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


def _distance(ratio: float) -> str:
    """Return the distance of a value from a printed one: in per cent if that is small."""
    if abs(ratio - 1) >= 0.1:
        return f"{ratio:.2g} times"
    return f"{100 * abs(ratio - 1):.2g} % {'above' if ratio > 1 else 'below'}"
