"""Reno: slow start and congestion avoidance of RFC 5681, equal to the built-in `reno`."""

import farlink as fl
from farlink.congestion import Event


class Reno(fl.CongestionControl):
    """Slow start, one segment per window, and half the data in flight after a loss."""

    over = "reno"

    def on_ack(self, event: Event) -> None:
        """Grow by a segment per ACK in slow start, and by a segment per window after it."""
        if not event.cwnd_limited:
            return
        if self.cwnd < self.ssthresh:
            self.cwnd += min(event.acked, event.mss)
        else:
            self.cwnd += max(event.mss**2 // self.cwnd, 1)

    def on_loss(self, event: Event) -> None:
        """Halve the window."""
        self.ssthresh = self.cwnd = max(event.flight // 2, 2 * event.mss)

    def on_timeout(self, event: Event) -> None:
        """Restart from one segment."""
        if event.first:
            self.ssthresh = max(event.flight // 2, 2 * event.mss)
        self.cwnd = event.mss
