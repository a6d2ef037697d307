"""AIMD with parameters: `--tcp "examples/cc/aimd.py:Aimd(alpha=1, beta=0.7)"`."""

from typing import ClassVar

import farlink as fl
from farlink.congestion import Event


class Aimd(fl.CongestionControl):
    """Add alpha segments per window; keep the share beta of the data in flight after a loss."""

    publish: ClassVar = {"losses": ""}

    def __init__(self, alpha: float = 1.0, beta: float = 0.5) -> None:
        self.alpha, self.beta, self.losses = alpha, beta, 0

    def on_ack(self, event: Event) -> None:
        """Grow by the bytes acknowledged in slow start, then by alpha segments per window."""
        if not event.cwnd_limited:
            return
        if self.cwnd < self.ssthresh:
            self.cwnd += event.acked
        else:
            self.cwnd += self.alpha * event.mss * event.acked / self.cwnd

    def on_loss(self, event: Event) -> None:
        """Reduce the window to the share beta of the data in flight."""
        self.losses += 1
        self.ssthresh = self.cwnd = max(self.beta * event.flight, 2 * event.mss)
