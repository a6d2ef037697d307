"""Runs under random loss, for a test and for a figure."""

import math
from dataclasses import dataclass

import farlink as fl
from means import interval, mean
from models import mathis, padhye
from paths import random_loss

__all__ = ["LOSSES", "Point", "point"]

LOSSES = (1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2)
SECONDS = 300


@dataclass(frozen=True)
class Point:
    """Mean goodput with its 95 % interval, and the rates of the formulas, in segments per second.

    As in the papers, RTT and T0 of the formulas are measured: the mean of the samples, and the mean
    time-out in force.
    """

    mean: float
    low: float
    high: float
    mathis: float
    padhye: float
    timeouts: float


def point(tcp: str, loss: float, *, ack_every: int, runs: int) -> Point:
    scenario = random_loss(
        {"variant": tcp, "delayed_ack": "200 ms" if ack_every == 2 else "off"},
        loss,
        seconds=SECONDS,
        first_window=max(2, round(math.sqrt(1.5 / ack_every / loss))),
    )
    result = fl.run(scenario, runs=runs)
    rtt = mean(result, "rtt_mean", tcp)
    low, high = interval(result, "goodput", tcp)
    scale = 8 * 1460
    return Point(
        mean=mean(result, "goodput", tcp) / scale,
        low=low / scale,
        high=high / scale,
        mathis=mathis(loss, rtt, ack_every),
        padhye=padhye(loss, rtt, ack_every, mean(result, "rto_mean", tcp)),
        timeouts=mean(result, "timeouts", tcp) / SECONDS,
    )
