"""Arithmetic of the study, and measures that take several points or a scenario of their own."""

import math
from itertools import pairwise

from farlink.studies.cache import Cell
from farlink.studies.model import Model
from farlink.studies.quantity import Quantity
from farlink.studies.wong1998.registry import REGISTRY
from farlink.trace import Trace

__all__ = ["congestion_of", "loss_of", "probe"]

_PROBE_S = 86_000
"""Length of a run that measures congestion, in s: a day."""


@REGISTRY.function("fragments_of")
def fragments_of(_: Model, length: int, mtu: int, header: int) -> int:
    """Return the fragments of a datagram with `length` bits behind its header.

    All lengths in bits; without the 8-byte units of RFC 791, as section 3.3 counts.
    """
    return math.ceil(length / (mtu - header))


def congestion_of(model: Model, setting: str) -> tuple[float, float]:
    """Return mean duration in s and periods per second of a setting of the Internet."""
    (result,) = model.plan.factors["inet"].values[setting].values()
    return float(str(result["duration"]).removesuffix(" s")), float(result["periods"])


@REGISTRY.function("model_loss")
def loss_of(model: Model, setting: str) -> float:
    """Return the share of time that the Internet is congested: alpha / (alpha + beta)."""
    duration, periods = congestion_of(model, setting)
    alpha, beta = 1 / (1 / periods - duration), 1 / duration
    return round(alpha / (alpha + beta), 9)


def probe(model: Model, setting: str) -> Cell:
    """Return a day of datagrams, one a second, through the Internet of a setting."""
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
    """Share of the datagrams that a day of congestion loses."""
    return model.cache.flow(probe(model, setting), "loss_rate")


@REGISTRY.function("congestion_length")
def _congestion_length(model: Model, setting: str) -> Quantity:
    """Mean length of a congestion in s, as datagrams a second apart see it.

    A row of lost datagrams is a period that at least one of them met: of an exponential
    duration D mean 1 / (1 - exp(-1 / D)) datagrams, which gives D back.
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
    """Return the RTT over MDLP with this N2 at the loss at which its mean is greatest."""
    at = [model.rtt_given_up(p, n2) for p in model.plan.constants["PER"]]
    return max(at, key=lambda item: -math.inf if math.isnan(item.mean) else item.mean)


@REGISTRY.function("repeated")
def _repeated(model: Model, inet: str) -> Quantity:
    """Time-outs that follow one of the same segment, per congestion, at no and at high loss."""
    _, periods = congestion_of(model, inet)
    points = (0.0, *model.plan.constants["HIGH"])
    rates = [model.repeated_rate(p, 5, inet=inet) / periods for p in points]
    total = rates[0]
    for rate in rates[1:]:
        total = total + rate
    return (total / len(rates)).named(f"repeated time-outs per congestion({inet})")
