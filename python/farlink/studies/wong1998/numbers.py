"""Formulas of the study, and measures over several points or with their own scenario."""

import math
from functools import reduce
from itertools import pairwise
from operator import add

from farlink.studies.cache import Cell
from farlink.studies.model import Model
from farlink.studies.quantity import Quantity
from farlink.studies.wong1998.registry import REGISTRY
from farlink.trace import Trace

__all__ = ["congestion_of", "loss_of", "probe"]

_PROBE_S = 86_000
"""Length of a run that measures congestion (s), a day."""


@REGISTRY.function("fragments_of")
def fragments_of(_: Model, length: int, mtu: int, header: int) -> int:
    """Return the number of fragments of a datagram with `length` bits after its header.

    All lengths are in bits. As in section 3.3, fragments are not rounded to the 8-byte units of RFC
    791.
    """
    return math.ceil(length / (mtu - header))


def congestion_of(model: Model, setting: str) -> tuple[float, float]:
    """Return mean duration (s) and rate (1/s) of the congestion periods in a setting."""
    (result,) = model.plan.factors["inet"].values[setting].values()
    return float(str(result["duration"]).removesuffix(" s")), float(result["periods"])


@REGISTRY.function("model_loss")
def loss_of(model: Model, setting: str) -> float:
    """Return the share of time in which the Internet is congested: alpha / (alpha + beta)."""
    duration, periods = congestion_of(model, setting)
    alpha, beta = 1 / (1 / periods - duration), 1 / duration
    return round(alpha / (alpha + beta), 9)


def probe(model: Model, setting: str) -> Cell:
    """Return the cell of a day with one datagram per second through a setting's Internet."""
    path = model.cell("none", 0.0, inet=setting).scenario
    flow = {
        "name": "probe",
        "from": "fixed",
        "to": "base",
        "app": "cbr",
        "rate": "8000 bit/s",
        "packet": "1000 B",
        "duration": f"{_PROBE_S} s",
    }
    scenario = {
        "name": "wong1998-congestion",
        "duration": f"{_PROBE_S + 100} s",
        "links": path["links"][:2],
        "flows": [flow],
    }
    return Cell(f"probe, {setting}", scenario)


@REGISTRY.function("datagram_loss")
def _datagram_loss(model: Model, setting: str) -> Quantity:
    """Return the share of datagrams that the Internet's congestion loses in a day."""
    return model.cache.flow(probe(model, setting), "loss_rate")


@REGISTRY.function("congestion_length")
def _congestion_length(model: Model, setting: str) -> Quantity:
    """Return the mean length of a congestion period (s), from datagrams one second apart.

    A period with exponential duration of mean D that loses any datagrams loses 1 / (1 - exp(-1 /
    D)) on average. D follows from the mean number of consecutive losses.
    """
    cell = probe(model, setting)
    lost = [
        model.cache.read(cell, run, _mean_congestion, "congestion_length", forget=True)
        for run in range(model.cache.runs)
    ]
    return Quantity(lost, f"mean length of a congestion({setting})", "s")


def _mean_congestion(trace: Trace) -> float:
    numbers = trace.table("datagrams")["number"].to_numpy()
    gaps = [int(b - a - 1) for a, b in pairwise(numbers) if b > a + 1]
    mean = sum(gaps) / len(gaps) if gaps else math.nan
    return -1 / math.log(1 - 1 / mean) if mean > 1 else math.nan


@REGISTRY.function("max_rtt")
def _max_rtt(model: Model, n2: int) -> Quantity:
    """Return the RTT over MDLP with N2 at the frame loss with the largest mean RTT."""
    at = [model.rtt_given_up(p, n2) for p in model.plan.constants["PER"]]
    return max(at, key=lambda item: -math.inf if math.isnan(item.mean) else item.mean)


@REGISTRY.function("repeated")
def _repeated(model: Model, inet: str) -> Quantity:
    """Return the repeated time-outs of the same segment per congestion period.

    The mean is over a frame loss of 0 and the high frame losses.
    """
    _, periods = congestion_of(model, inet)
    points = (0.0, *model.plan.constants["HIGH"])
    rates = [model.repeated_rate(p, 5, inet=inet) / periods for p in points]
    return (reduce(add, rates) / len(rates)).named(f"repeated time-outs per congestion({inet})")
