"""Congestion control by delay: keeps a target of segments in the queue, as Vegas does."""

from typing import ClassVar

import farlink as fl
from farlink.congestion import Event


class Delay(fl.CongestionControl):
    """Delay-based window: a segment more or less per round trip keeps `target` segments queued."""

    publish: ClassVar = {"queued": "segments"}

    def __init__(self, target: float = 4.0) -> None:
        self.target = target
        self.queued = 0.0

    def on_ack(self, event: Event) -> None:
        """Compare the window with the window that the least RTT would need."""
        if not event.cwnd_limited or event.srtt is None or event.min_rtt is None:
            return
        self.queued = self.cwnd * (1 - event.min_rtt / event.srtt) / event.mss
        if self.cwnd < self.ssthresh and self.queued < self.target:
            self.cwnd += event.acked
        else:
            self.ssthresh = min(self.ssthresh, self.cwnd)
            step = 1 if self.queued < self.target else -1
            self.cwnd += step * event.mss * event.acked / self.cwnd
