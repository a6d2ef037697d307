"""Wrong models, and whether the verdicts notice them.

A record that stays green under a model without TCP, or with two protocols swapped, proves
nothing. So each study names wrong models and the claims that each must turn.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from farlink.studies.judge import Judgement
from farlink.studies.model import Change
from farlink.studies.quantity import Verdict

__all__ = ["NegativeControl", "worth_asking"]

_GREEN = (Verdict.REPRODUCED.value, Verdict.ORDER_ONLY.value)
_REFUTED = (Verdict.NOT_REPRODUCED.value, Verdict.TIE.value, Verdict.ORDER_ONLY.value)
_OPEN = (Verdict.UNDECIDED.value, Verdict.FEW_EVENTS.value)


@dataclass(frozen=True)
class NegativeControl:
    """A wrong model and what claims are worth under it."""

    control: Change
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
        return [name for name in self.control.turns if name in self.green]

    def turned(self, right: Sequence[Judgement]) -> list[str]:
        """Return the claims that hold under the right model and that these runs refute here.

        Also those of which the order alone is left of order and number.
        """
        return self._now(right, _REFUTED)

    def opened(self, right: Sequence[Judgement]) -> list[str]:
        """Return the claims that hold under the right model and are undecided here."""
        return self._now(right, _OPEN)

    def _now(self, right: Sequence[Judgement], words: Sequence[str]) -> list[str]:
        before = {j.claim.id: j.status for j in right}
        return [
            j.claim.id
            for j in self.judgements
            if before.get(j.claim.id) in _GREEN
            and j.status in words
            and j.status != before[j.claim.id]
        ]


def worth_asking(control: Change, right: Judgement) -> bool:
    """Return whether a wrong model judges a claim: one that holds otherwise, or is named.

    A model that simulates nothing costs nothing: there all are.
    """
    return bool(control.constants) or right.status in _GREEN or right.claim.id in control.turns
