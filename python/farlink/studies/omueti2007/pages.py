"""Pages under congestion by buffer and rate of the gateway, which the text leaves open."""

import math
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from farlink.studies.cache import SimulationCache
from farlink.studies.model import Change, Model
from farlink.studies.omueti2007.registry import REGISTRY
from farlink.studies.omueti2007.tables import service
from farlink.studies.study import Table

__all__ = ["BUFFERS", "PRINTED", "RATES", "level"]

BUFFERS = (2, 3, 4, 5, 6, 8, 10)
"""Buffers (packets)."""

RATES = (300, 360, 420, 512)
"""Rates (kbit/s)."""

PRINTED: Mapping[tuple[str, str], float] = {
    ("adalr_sack", "d"): 11.0,
    ("adalr_sack", "n"): 10.3,
    ("adalr_newreno", "d"): 11.0,
    ("adalr_newreno", "n"): 11.1,
    ("sack", "d"): 13.8,
    ("sack", "n"): 11.7,
    ("newreno", "d"): 16.6,
    ("newreno", "n"): 11.7,
}
"""Page response times (s) of table 6, by TCP and acknowledgments."""

_RUNS = 2
"""Runs of a point; the pages have no randomness, so that all runs are equal."""


def _set(tree: dict[str, Any], packets: int, rate: int) -> None:
    """Set buffer and rate of the gateway's IP service if the service is limited."""
    service(tree, "rate", f"{rate} kbit/s")
    service(tree, "queue", {"packets": packets})


def level(times: Mapping[tuple[str, str], float]) -> tuple[float, float]:
    """Return the geometric means of simulated / printed, and of the factor between both."""
    logs = [math.log(times[cell] / printed) for cell, printed in PRINTED.items()]
    factor = sum(abs(log) for log in logs) / len(logs)
    return math.exp(sum(logs) / len(logs)), math.exp(factor)


def _levels(model: Model, packets: int) -> Iterator[str]:
    old = model.cache
    cache = SimulationCache(_RUNS, old.seed, old.jobs, store=old.store)
    for rate in RATES:
        change = Change("", "", edits=(partial(_set, packets=packets, rate=rate),))
        other = Model(cache, model.plan, change, REGISTRY.hooks)
        points = {cell: other.page(*cell, congested=True) for cell in PRINTED}
        ratio, factor = level({cell: time.mean for cell, time in points.items()})
        yield f"{ratio:.2f}, {factor:.2f}"


@REGISTRY.table("pages")
def _pages(model: Model) -> Table:
    return Table(
        columns=["buffer", *(f"{rate} kbit/s" for rate in RATES)],
        rows=[[f"{packets} packets", *_levels(model, packets)] for packets in BUFFERS],
        note="Geometric means over the eight cells of table 6: simulated over printed time, and "
        "the factor between both.",
    )
