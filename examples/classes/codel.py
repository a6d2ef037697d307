"""CoDel (RFC 8289) as a queue law in Python, equal to the discipline "codel" to the bit."""

from math import isqrt

import farlink as fl
from farlink.classes import Packet, Verdict

LONGEST_PACKET = 1514
"""Bytes of a packet on Ethernet. CoDel drops nothing with at most this number behind it."""


def nanoseconds(seconds: float) -> int:
    """Return the whole number of nanoseconds, which the engine counts in."""
    return round(seconds * 1e9)


class Codel(fl.QueueLaw):
    """Drop at departure, at growing rates, while sojourn times stay above the target."""

    def __init__(self, target: float = 0.005, interval: float = 0.1) -> None:
        self.target, self.interval = nanoseconds(target), nanoseconds(interval)
        self.first_above: int | None = None
        self.drop_next = self.count = self.last_count = 0
        self.dropping = self.entering = self.repeating = False

    def may_drop(self, packet: Packet, now: int) -> bool:
        """Return whether sojourn times have been above the target for an interval."""
        short = packet.queue_bytes <= LONGEST_PACKET
        if nanoseconds(packet.sojourn) < self.target or short:
            self.first_above = None
            return False
        if self.first_above is None:
            self.first_above = now + self.interval
            return False
        return now >= self.first_above

    def law(self, start: int) -> int:
        """Return the time of the next drop: interval / sqrt(count) after `start`."""
        return start + isqrt(self.interval**2 // max(self.count, 1))

    def on_departure(self, packet: Packet) -> Verdict:
        """Drop or mark at the times of the control law."""
        now = nanoseconds(packet.now)
        may_drop = self.may_drop(packet, now)
        if self.entering:
            self.entering = False
            self.enter(now)
            return None
        if self.dropping:
            self.dropping = may_drop
            if may_drop and self.repeating:
                self.drop_next = self.law(self.drop_next)
            self.repeating = may_drop and now >= self.drop_next
            if self.repeating:
                self.count += 1
                if packet.markable:
                    self.repeating = False
                    self.drop_next = self.law(self.drop_next)
                    return "mark"
                return "drop"
        elif may_drop:
            if packet.markable:
                self.enter(now)
                return "mark"
            self.entering = True
            return "drop"
        return None

    def enter(self, now: int) -> None:
        """Begin to drop, at the rate of a recent time of drops if there was one."""
        delta = self.count - self.last_count
        self.count = delta if delta > 1 and now < self.drop_next + 16 * self.interval else 1
        self.dropping = True
        self.drop_next = self.law(now)
        self.last_count = self.count
