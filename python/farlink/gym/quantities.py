"""Quantities of an interval that a learning program observes, and rewards made of them."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

__all__ = ["OBSERVATIONS", "REWARDS", "Observation", "Reward"]

Reward = Callable[[Mapping[str, float]], float]
"""Function from the quantities of an interval, by name, to the reward of the interval."""


@dataclass(frozen=True)
class Observation:
    """Quantity of an interval: unit, greatest value, and meaning. The least value is `low`."""

    unit: str
    high: float
    doc: str
    low: float = 0.0


OBSERVATIONS: Mapping[str, Observation] = {
    "throughput": Observation("Mbit/s", math.inf, "acknowledged data divided by the interval"),
    "throughput_ratio": Observation("", 1.0, "throughput divided by the most so far"),
    "rtt": Observation("s", math.inf, "mean of the RTT samples; without a sample, the last value"),
    "min_rtt": Observation("s", math.inf, "least RTT so far"),
    "rtt_ratio": Observation("", math.inf, "rtt divided by min_rtt"),
    "rtt_gradient": Observation("", math.inf, "change of rtt divided by the interval", -math.inf),
    "losses": Observation("", math.inf, "losses, at most one per window"),
    "timeouts": Observation("", math.inf, "retransmission time-outs"),
    "marks": Observation("", math.inf, "ECN marks, at most one per window"),
    "cwnd": Observation("segments", math.inf, "congestion window at the end"),
    "flight": Observation("segments", math.inf, "data in flight at the last ACK"),
    "limited": Observation("", 1.0, "1 if cwnd limited the sender at an ACK, else 0"),
    "interval": Observation("s", math.inf, "length of the interval"),
}
"""Quantities by name."""


def _power(now: Mapping[str, float]) -> float:
    return now["throughput"] / now["rtt_ratio"]


def _utility(now: Mapping[str, float]) -> float:
    return math.log(max(now["throughput"], 1e-3)) - math.log(now["rtt_ratio"])


REWARDS: Mapping[str, Reward] = {
    "throughput": lambda now: now["throughput"],
    "power": _power,
    "utility": _utility,
}
"""Rewards by name.

``throughput`` is in Mbit/s. ``power`` is throughput / rtt_ratio (Kleinrock 1979). ``utility`` is
log(throughput) - log(rtt_ratio), the objective of Winstein and Balakrishnan (2013) with weight 1.
"""
