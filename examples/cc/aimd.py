"""AIMD with parameters: `--tcp "examples/cc/aimd.py:Aimd(alpha=1, beta=0.7)"`."""

import farlink as fl


class Aimd(fl.CongestionControl):
    """Add alpha segments per window; keep the share beta of the data in flight after a loss."""

    publish = {"losses": ""}

    def __init__(self, alpha=1.0, beta=0.5):
        self.alpha, self.beta, self.losses = alpha, beta, 0

    def on_ack(self, event):
        if not event.cwnd_limited:
            return
        if self.cwnd < self.ssthresh:
            self.cwnd += event.acked
        else:
            self.cwnd += self.alpha * event.mss * event.acked / self.cwnd

    def on_loss(self, event):
        self.losses += 1
        self.ssthresh = self.cwnd = max(self.beta * event.flight, 2 * event.mss)
