"""Models without the engine: window arithmetic, Mathis 1997, Padhye 1998, RFC 9438."""

import heapq
import math

__all__ = ["GeoTransfer", "cubic", "mathis", "padhye"]

MSS = 1460


def mathis(loss: float, rtt: float, ack_every: int) -> float:
    """Return C / (RTT sqrt(p)) in segments per second (Mathis, Semke, Mahdavi and Ott 1997,
    eq. 3), with C = sqrt(3/2) for an ACK per packet and sqrt(3/4) for one per two (Table 1,
    periodic losses).

    It is the rate of congestion avoidance alone, without time-outs and window limit.
    """
    return math.sqrt(1.5 / ack_every) / (rtt * math.sqrt(loss))


def padhye(loss: float, rtt: float, ack_every: int, first_timeout: float) -> float:
    """Return the rate at which segments arrive, in segments per second (Padhye, Firoiu, Towsley and
    Kurose 1998 and 2000), for an unlimited window. It is the throughput of the full model with
    time-outs, not its send rate.

    `first_timeout` is their T0 in seconds. Losses in their model are correlated: all packets of a
    round after a lost packet are lost, too.
    """
    p, b = loss, ack_every
    c = (2 + b) / (3 * b)
    window = c + math.sqrt(8 * (1 - p) / (3 * b * p) + c * c)
    q = (1 - p) ** 3
    timeout_share = min(
        1.0, (1 - q) * (1 + q * (1 - (1 - p) ** (window - 3))) / (1 - (1 - p) ** window)
    )
    backoff = 1 + p + 2 * p**2 + 4 * p**3 + 8 * p**4 + 16 * p**5 + 32 * p**6
    packets: float = (1 - p) / p + window / 2 + timeout_share
    seconds: float = rtt * (b / 2 * window + 1) + timeout_share * backoff * first_timeout / (1 - p)
    return packets / seconds


def cubic(loss: float, rtt: float, c: float = 0.4, beta: float = 0.7) -> float:
    """Return the rate of CUBIC in segments per second (RFC 9438, equation 6), for periodic losses
    and a window that never limits.

    The window grows at least as fast as that of an AIMD with Reno's average (section 4.3).
    """
    window = math.pow(c * (3 + beta) / (4 * (1 - beta)), 0.25) * math.pow(rtt / loss, 0.75)
    return max(window / rtt, mathis(loss, rtt, 1))


class GeoTransfer:
    """A lossless download over the path of `paths.geo`, segment by segment.

    The window starts at two segments and grows by one with each ACK, up to the 44 full segments
    that 65,535 bytes hold. Four transmitters send first in, first out. The model has nothing else.
    Times are in seconds.
    """

    WINDOW = 65_535 // MSS
    # Transmission time per byte and delay of the four hops: lan, satellite, and back.
    HOPS = ((8 / 10e6, 0.010), (8 / 2048e3, 0.250), (8 / 256e3, 0.250), (8 / 10e6, 0.010))

    def __init__(self, size: int, *, ack_delay: float | None, sack_permitted: bool = False) -> None:
        # IP, TCP, MSS option; SACK-permitted with its padding.
        self._syn = 48 if sack_permitted else 44
        self._sizes = [min(MSS, size - at) for at in range(0, size, MSS)]
        self._ack_delay = ack_delay
        self._free = [0.0] * 4
        self._queue: list[tuple[float, int, str, int]] = []
        self._events = 0

    @property
    def loaded_rtt(self) -> float:
        """Return the round-trip time of a full segment and its ACK on an idle path."""
        down = sum(1500 * byte + delay for byte, delay in self.HOPS[:2])
        return down + sum(40 * byte + delay for byte, delay in self.HOPS[2:])

    def duration(self) -> float:
        """Return the seconds from the client's SYN to the arrival of the last byte."""
        syn = self._cross(0.0, self._syn, back=True)
        reply = self._cross(syn, self._syn, back=False)
        opened = self._cross(reply, 40, back=True)
        sent = acked = acks = arrived = 0
        waiting = 0  # segments that arrived and are not acknowledged
        timer = 0  # number of the current delayed-ACK timer
        self._push(opened, "ack", 0)
        finished = math.inf
        while self._queue:
            now, _, what, value = heapq.heappop(self._queue)
            if what == "ack":
                acks += value > 0
                acked = max(acked, value)
                window = min(2 + acks, self.WINDOW)
                while sent < len(self._sizes) and sent < acked + window:
                    at = self._cross(now, self._sizes[sent] + 40, back=False)
                    sent += 1
                    self._push(at, "segment", sent)
                continue
            if what == "segment":
                arrived = value
                waiting += 1
                if arrived == len(self._sizes):
                    finished = now
                if self._ack_delay is not None and waiting < 2:
                    timer += 1
                    self._push(now + self._ack_delay, "timer", timer)
                    continue
            elif value != timer or waiting == 0:
                continue
            waiting = 0
            timer += 1
            self._push(self._cross(now, 40, back=True), "ack", arrived)
        return finished

    def _cross(self, now: float, size: int, *, back: bool) -> float:
        """Send a packet over both links, and return its time of arrival."""
        for hop in (2, 3) if back else (0, 1):
            byte, delay = self.HOPS[hop]
            self._free[hop] = max(now, self._free[hop]) + size * byte
            now = self._free[hop] + delay
        return now

    def _push(self, time: float, what: str, value: int) -> None:
        self._events += 1
        heapq.heappush(self._queue, (time, self._events, what, value))
