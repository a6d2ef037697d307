"""A policy of numbers: a table from the state of the queue to the growth per round trip.

The four arguments are what a search or a learning program changes; `farlink tune` can vary them as
`tcp.control.Policy.g0` to `g3`.
"""

from typing import ClassVar

import farlink as fl
from farlink.congestion import Event


class Policy(fl.CongestionControl):
    """Growth in segments per round trip, chosen by the ratio of the smoothed to the least RTT."""

    publish: ClassVar = {"action": "segments"}

    def __init__(self, g0: float = 4.0, g1: float = 1.0, g2: float = 0.5, g3: float = -2.0) -> None:
        self.growth = (g0, g1, g2, g3)
        self.action = 0.0

    def on_ack(self, event: Event) -> None:
        """Look up the growth for the present RTT, and apply its share for this ACK."""
        if not event.cwnd_limited or event.srtt is None or event.min_rtt is None:
            return
        ratio = event.srtt / event.min_rtt
        self.action = self.growth[(ratio > 1.05) + (ratio > 1.2) + (ratio > 1.5)]
        if self.cwnd < self.ssthresh and ratio <= 1.2:
            self.cwnd += event.acked
        else:
            self.cwnd = max(
                self.cwnd + self.action * event.mss * event.acked / self.cwnd, event.mss
            )
