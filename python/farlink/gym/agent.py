"""Congestion control whose window a learning program sets, and its counters of an interval."""

from farlink.congestion import CongestionControl, Event

__all__ = ["Agent", "made"]

made: "list[Agent]" = []
"""Instances that the run under construction or in progress has built so far."""


class Agent(CongestionControl):
    """Counters since the last action. The environment sets ``cwnd`` between two events.

    A time-out sets cwnd to one segment. A loss changes nothing, because the next action may.
    """

    owns_recovery = True

    def __init__(self) -> None:
        self.acked = self.losses = self.timeouts = self.marks = self.samples = 0
        self.total = self.flight = 0
        self.rtts = 0.0
        self.mss = 1
        self.limited = False
        self.srtt: float | None = None
        self.min_rtt: float | None = None
        made.append(self)

    def start(self) -> None:
        """Set the counters of an interval to zero."""
        self.acked = self.losses = self.timeouts = self.marks = self.samples = 0
        self.rtts = 0.0
        self.limited = False

    def on_established(self, event: Event) -> None:
        """Store the RTT of the handshake."""
        self.mss, self.srtt, self.min_rtt = event.mss, event.srtt, event.min_rtt

    def on_delivered(self, event: Event) -> None:
        """Count bytes and RTT samples."""
        self.acked += event.acked
        self.total += event.acked
        self.limited |= event.cwnd_limited
        self.mss, self.flight, self.srtt, self.min_rtt = (
            event.mss,
            event.flight,
            event.srtt,
            event.min_rtt,
        )
        if event.rtt is not None:
            self.rtts += event.rtt
            self.samples += 1

    def on_loss(self, event: Event) -> None:
        """Count a loss, which TCP reports once per window."""
        self.losses += 1
        self.ssthresh = self.cwnd

    def on_ecn(self, event: Event) -> None:
        """Count a mark, which TCP reports once per window."""
        self.marks += 1

    def on_recovered(self, event: Event) -> None:
        """Keep the window."""

    def on_timeout(self, event: Event) -> None:
        """Count a time-out and set cwnd to one segment."""
        self.timeouts += 1
        self.cwnd = event.mss
