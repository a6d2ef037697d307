"""Wrong models, and whether the verdicts notice them.

A record that stays green under a model without TCP, or with two protocols swapped, proves
nothing. So each study names wrong models and the claims that each must turn.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from farlink.studies.judge import Judgement
from farlink.studies.model import Change
from farlink.studies.quantity import Verdict

__all__ = ["Mutation"]

_GREEN = (Verdict.REPRODUCED.value, Verdict.ORDER_ONLY.value)


@dataclass(frozen=True)
class Mutation:
    """A wrong model and what claims are worth under it."""

    mutant: Change
    judgements: Sequence[Judgement]

    @property
    def green(self) -> list[str]:
        """Claims that are reproduced though the model is wrong."""
        return [j.claim.id for j in self.judgements if j.status == Verdict.REPRODUCED.value]

    @property
    def judged(self) -> int:
        """Claims that can be judged, calibration apart."""
        return sum(bool(j.findings) and not j.claim.calibration for j in self.judgements)

    @property
    def unnoticed(self) -> list[str]:
        """Claims that the record names for this model and that hold under it all the same."""
        return [name for name in self.mutant.turns if name in self.green]

    def turned(self, right: Sequence[Judgement]) -> list[str]:
        """Return the claims that hold under the right model, at least in order, and not here."""
        held = {j.claim.id for j in right if j.status in _GREEN}
        here = {j.claim.id: j.status for j in self.judgements}
        return [
            name
            for name in held
            if name in here and here[name] not in _GREEN and here[name] != "failed"
        ]
