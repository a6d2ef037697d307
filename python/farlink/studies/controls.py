"""Negative controls: claims judged under models that are wrong on purpose.

Claims prove nothing if even a model without TCP, or with two protocols exchanged, reproduces them.
A record therefore lists wrong models, each with claims that must not be reproduced under it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from farlink.studies.judge import Judgement
from farlink.studies.model import Change
from farlink.studies.quantity import Verdict

__all__ = ["NegativeControl", "should_judge"]

_GREEN = (Verdict.REPRODUCED.value, Verdict.ORDER_ONLY.value)
_REFUTED = (Verdict.NOT_REPRODUCED.value, Verdict.TIE.value, Verdict.ORDER_ONLY.value)
_OPEN = (Verdict.UNDECIDED.value, Verdict.FEW_EVENTS.value)


@dataclass(frozen=True)
class NegativeControl:
    """Wrong model with the judgements under it."""

    control: Change
    judgements: Sequence[Judgement]

    @property
    def green(self) -> list[str]:
        """Ids of claims that are reproduced although the model is wrong."""
        return [j.claim.id for j in self.judgements if j.status == Verdict.REPRODUCED.value]

    @property
    def green_free(self) -> list[str]:
        """Ids in `green` without calibration checks."""
        checks = {j.claim.id for j in self.judgements if j.claim.calibration}
        return [name for name in self.green if name not in checks]

    @property
    def judged(self) -> int:
        """Number of judged claims without calibration checks."""
        return sum(bool(j.findings) and not j.claim.calibration for j in self.judgements)

    @property
    def unnoticed(self) -> list[str]:
        """Claims in `turns` (not to be reproduced under this model) that are reproduced."""
        return [name for name in self.control.turns if name in self.green]

    def turned(self, right: Sequence[Judgement]) -> list[str]:
        """Return the claims that hold under the right model and are refuted under this one.

        This includes claims whose verdict drops from "reproduced" to "order only".
        """
        return self._changed_to(right, _REFUTED)

    def opened(self, right: Sequence[Judgement]) -> list[str]:
        """Return the claims that hold under the right model and are undecided under this one."""
        return self._changed_to(right, _OPEN)

    def _changed_to(self, right: Sequence[Judgement], words: Sequence[str]) -> list[str]:
        before = {j.claim.id: j.status for j in right}
        return [
            j.claim.id
            for j in self.judgements
            if before.get(j.claim.id) in _GREEN
            and j.status in words
            and j.status != before[j.claim.id]
        ]


def should_judge(control: Change, right: Judgement) -> bool:
    """Return whether to judge a claim under a wrong model.

    Only claims that hold under the right model, or that this model should refute, are judged, which
    saves runs. All claims are judged for a model with constants, because it simulates little.
    """
    return bool(control.constants) or right.status in _GREEN or right.claim.id in control.turns
