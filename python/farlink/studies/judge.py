"""Judging claims: what the runs say of each, and the sum of it."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from farlink.studies.quantity import Evidence, Verdict
from farlink.studies.study import Claim

__all__ = ["FAILED", "UNTESTED", "Judgement", "judge", "summary"]

UNTESTED = "untested"
FAILED = "failed"


@dataclass(frozen=True)
class Judgement:
    """A claim and what was found.

    Attributes
    ----------
    evidence
        By setting of the study; the first is the one that counts.
    failure
        Why it could not be judged though it should have been; empty if it was.
    """

    claim: Claim
    evidence: Mapping[str, Evidence] = field(default_factory=dict)
    failure: str = ""

    @property
    def status(self) -> str:
        """A verdict in words, or `UNTESTED` or `FAILED`."""
        if self.failure:
            return FAILED
        return self.first.verdict.value if self.first is not None else UNTESTED

    @property
    def first(self) -> Evidence | None:
        """What counts: the evidence at the first setting."""
        return next(iter(self.evidence.values()), None)

    @property
    def key(self) -> str:
        """The comparison that the verdict hangs on, or why there is none."""
        if self.failure:
            return self.failure
        return self.first.key if self.first is not None else self.claim.untested

    @property
    def cause(self) -> str:
        """Why the claim does not reproduce, as far as the record knows; else empty."""
        return self.claim.cause if self.status == Verdict.NOT_REPRODUCED.value else ""


def judge(claim: Claim, judges: Mapping[str, Callable[[], Evidence]]) -> Judgement:
    """Judge a claim at each setting it is to be judged at, the first of which counts.

    Whatever goes wrong becomes a failure of this claim, and others can go on.
    """
    if claim.untested:
        return Judgement(claim)
    try:
        return Judgement(claim, {label: one() for label, one in judges.items()})
    except Exception as error:
        return Judgement(claim, failure=f"{type(error).__name__}: {error}")


def summary(judgements: Iterable[Judgement]) -> str:
    """Count verdicts in a line; checks of what was fitted are no evidence and stand apart."""
    told = list(judgements)
    free = Counter(one.status for one in told if not one.claim.calibration)
    checks = Counter(one.status for one in told if one.claim.calibration)
    parts = [f"{free[verdict.value]} {verdict.value}" for verdict in Verdict]
    parts += [f"{free[word]} {word}" for word in (UNTESTED, FAILED) if free[word]]
    line = ", ".join(parts)
    if checks:
        held = ", ".join(f"{count} {status}" for status, count in checks.items())
        line += f"; calibration checks apart: {held}"
    return line
