"""Outcomes of claims: a verdict with the kind of evidence behind it.

A verdict "reproduced" alone says little. It can mean a printed number that runs met, an order
without a number, or a computed fact. An outcome keeps these apart. The index page, the pages of
studies, the terminal and the documents all use its words.
"""

import enum
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from farlink.studies.account import AccountStatus
from farlink.studies.judge import FAILED, UNTESTED, Finding, Ground, Judgement, ground
from farlink.studies.quantity import Verdict
from farlink.studies.study import STRENGTHS, Choice, Claim, Study

if TYPE_CHECKING:
    from farlink.studies.archive import StudyResult

__all__ = [
    "CALIBRATION",
    "Fitted",
    "Outcome",
    "Unused",
    "account_counts",
    "account_table",
    "count",
    "fitted",
    "headline",
    "kind",
    "outcome",
    "outcome_of",
    "summary",
    "unused",
]

CALIBRATION = "calibration"
"""Row of claims to which a value was fitted, in the place of a strength."""


class Outcome(enum.Enum):
    """Outcome of a claim, from the strongest evidence to none."""

    NUMBER = "number met"
    ORDER_ONLY = "order met, number missed"
    ORDER = "order met, no number"
    FACT = "fact"
    AXIS = "within the axis"
    OURS = "within our bound"
    TIE = "tie"
    FEW_EVENTS = "too few events"
    UNDECIDED = "undecided"
    NOT_MET = "not met"
    UNTESTED = "untested"
    FAILED = "failed"


_MET = {
    Ground.PRINTED: Outcome.NUMBER,
    Ground.ORDER: Outcome.ORDER,
    Ground.FACT: Outcome.FACT,
    Ground.AXIS: Outcome.AXIS,
    Ground.OURS: Outcome.OURS,
}
"""Outcome of a reproduced claim, by the kind of statement that decides."""

_MISSED = (Outcome.ORDER_ONLY, Outcome.NOT_MET, Outcome.TIE)
"""Outcomes of a claim whose statement the runs refute, so that an account can explain it."""

_OPEN = (Outcome.FEW_EVENTS, Outcome.UNDECIDED)
"""Outcomes of a claim that the runs neither meet nor refute. An account can concern them, too."""

_OTHERS = {
    Verdict.ORDER_ONLY: Outcome.ORDER_ONLY,
    Verdict.TIE: Outcome.TIE,
    Verdict.NOT_REPRODUCED: Outcome.NOT_MET,
    Verdict.FEW_EVENTS: Outcome.FEW_EVENTS,
    Verdict.UNDECIDED: Outcome.UNDECIDED,
}


def outcome(judgement: Judgement) -> Outcome:
    """Return the outcome of a judged claim under the first interpretation."""
    if judgement.status == FAILED:
        return Outcome.FAILED
    if judgement.status == UNTESTED or judgement.first is None:
        return Outcome.UNTESTED
    return outcome_of(judgement.claim, judgement.first)


def outcome_of(claim: Claim, finding: Finding) -> Outcome:
    """Return the outcome of a claim with a finding."""
    if finding.verdict is Verdict.REPRODUCED:
        return _MET[ground(claim, finding)]
    return _OTHERS[finding.verdict]


def kind(claim: Claim) -> str:
    """Return the strength of a claim, or `CALIBRATION`."""
    return CALIBRATION if claim.calibration else claim.strength


def count(judgements: Iterable[Judgement]) -> dict[str, dict[Outcome, int]]:
    """Count outcomes by strength; calibration checks have their own row, the last."""
    rows: dict[str, dict[Outcome, int]] = {name: {} for name in (*STRENGTHS, CALIBRATION)}
    for judgement in judgements:
        row = rows[kind(judgement.claim)]
        result = outcome(judgement)
        row[result] = row.get(result, 0) + 1
    return {
        name: {item: row[item] for item in Outcome if item in row}
        for name, row in rows.items()
        if row
    }


def account_counts(
    judgements: Iterable[Judgement],
    strength: str = STRENGTHS[0],
    outcomes: Sequence[Outcome] = _MISSED,
) -> dict[AccountStatus, int]:
    """Count the accounts of claims of one strength, by default of missed printed numbers."""
    states = [
        item.account
        for item in judgements
        if kind(item.claim) == strength and outcome(item) in outcomes
    ]
    return {status: states.count(status) for status in AccountStatus if status in states}


def account_table(
    judgements: Iterable[Judgement], strength: str = STRENGTHS[0]
) -> dict[Outcome, dict[AccountStatus, int]]:
    """Count accounts by outcome of all claims of one strength that the runs do not meet."""
    members = list(judgements)
    rows = {item: account_counts(members, strength, (item,)) for item in (*_MISSED, *_OPEN)}
    return {item: row for item, row in rows.items() if row}


def headline(counts: Mapping[str, Mapping[Outcome, int]], strength: str = STRENGTHS[0]) -> str:
    """Return a sentence with the outcomes of the claims of one strength."""
    row = counts.get(strength, {})
    total = sum(row.values())
    if not total:
        return f"There are no {strength} claims."
    # Names of outcomes have commas.
    parts = "; ".join(f"{number} {item.value}" for item, number in row.items())
    return f"Of {total} {strength} claims: {parts}."


def summary(judgements: Iterable[Judgement]) -> str:
    """Return the counts of outcomes as a line of text, calibration checks apart."""
    members = list(judgements)
    free = [item for item in members if not item.claim.calibration]
    checks = [item for item in members if item.claim.calibration]
    line = _counted(free) or "no claims"
    return f"{line}. Calibration checks apart: {_counted(checks)}" if checks else line


def _counted(judgements: Sequence[Judgement]) -> str:
    results = [outcome(item) for item in judgements]
    numbers = ((item, results.count(item)) for item in Outcome)
    return "; ".join(f"{number} {item.value}" for item, number in numbers if number)


@dataclass(frozen=True)
class Fitted:
    """Choice that used printed results, with the claims and cells concerned."""

    choice: Choice
    claims: Sequence[str]
    cells: Sequence[str]


def fitted(study: Study) -> list[Fitted]:
    """Return the choices of a study for which printed results were used."""
    return [
        Fitted(choice, choice.on, choice.cells) for choice in study.choices if choice.calibration
    ]


@dataclass(frozen=True)
class Unused:
    """Claims with a printed number that runs measure, and those that no choice has used.

    Attributes
    ----------
    numbers
        Number of judged claims with a printed number in a text or a table.
    free
        How many of these no choice of the model has used.
    met
        How many of the latter are met.
    """

    numbers: int
    free: int
    met: int

    @property
    def text(self) -> str:
        """Sentence with the three numbers."""
        return (
            f"Of {self.numbers} claims with a printed number that runs measure, no choice of the "
            f"model has used {self.free}; the runs meet {self.met} of these."
        )


def unused(result: "StudyResult") -> Unused:
    """Return how many printed numbers no choice of the model has used, and how many are met."""
    numbers = [item for item in result.judgements if item.ground is Ground.PRINTED]
    free = [item for item in numbers if not item.claim.calibration]
    return Unused(len(numbers), len(free), sum(outcome(j) is Outcome.NUMBER for j in free))
