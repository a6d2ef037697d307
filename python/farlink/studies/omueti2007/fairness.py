"""Six downloads over one bottleneck, with RTTs from 65 to 540 ms (4.2.4, figure 19)."""

import copy
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from farlink.studies.cache import Cell
from farlink.studies.model import Model, put
from farlink.studies.omueti2007.registry import REGISTRY
from farlink.studies.quantity import Quantity

__all__ = ["jain"]

_DELAYS_MS = (250, 200, 150, 50, 25, 12.5)
"""One-way delays (ms) from the switch to receivers 0 to 5; all other links have 5 ms."""

_LONG = 3
"""Number of flows with an RTT above 0.3 s, the first ones. In "mixed" they use TCP-ADaLR and the
others NewReno.
"""

_VARIANTS = {
    "adalr": ["adalr-newreno"] * 6,
    "newreno": ["newreno"] * 6,
    "mixed": ["adalr-newreno"] * _LONG + ["newreno"] * _LONG,
}


def _six(model: Model, kind: str) -> Cell:
    plan = copy.deepcopy(dict(model.plan.tree))
    links = [_link("trunk0", "switch0", "gateway0", "10 Mbit/s", 5)]
    narrow = model.change.hook == "narrow_bottleneck"
    rate, packets = ("2048 kbit/s", 50) if narrow else ("10 Mbit/s", 100)
    links.append(_link("bottleneck", "gateway0", "gateway1", rate, 5, {"packets": packets}))
    links.append(_link("trunk1", "gateway1", "switch1", "10 Mbit/s", 5))
    flows = []
    for i, delay in enumerate(_DELAYS_MS):
        links.append(_link(f"sender{i}", f"sender{i}", "switch0", "10 Mbit/s", 5))
        links.append(_link(f"receiver{i}", "switch1", f"receiver{i}", "10 Mbit/s", delay))
        flow = {"name": f"download{i}", "from": f"sender{i}", "to": f"receiver{i}"}
        variant = model.change.swapped(_VARIANTS[kind][i].replace("-", "_")).replace("_", "-")
        tcp: dict[str, Any] = {"variant": variant}
        flows.append({**flow, "opens": "receiver", "app": "file", "size": "50 MiB", "tcp": tcp})
    tree = {**plan, "links": links, "flows": flows}
    for path, value in model.change.sets.items():
        if path.startswith("tcp."):
            put(tree, path, value)
    return Cell(f"six, {kind}", tree)


def _link(
    name: str, a: str, b: str, rate: str, delay: float, queue: object = "unlimited"
) -> dict[str, Any]:
    down = {"rate": rate, "delay": f"{delay:g} ms", "queue": queue}
    return {"name": name, "between": [a, b], "down": down}


def _rates(model: Model, kind: str) -> list[Quantity]:
    cell = _six(model, kind)
    return [model.cache.flow(cell, "goodput", flow=i) for i in range(len(_DELAYS_MS))]


@REGISTRY.function("jain")
def jain(model: Model, kind: str) -> Quantity:
    """Return Jain's index of the six goodputs, each over its own duration (eq. 2)."""
    rates = np.array([rate.values for rate in _rates(model, kind)])
    index = rates.sum(axis=0) ** 2 / (len(rates) * (rates**2).sum(axis=0))
    return Quantity(index, f"Jain's index({kind})")


@REGISTRY.function("fair_share")
def _fair_share(model: Model, kind: str, place: int) -> Quantity:
    """Return the goodput of a flow / the mean goodput of all six."""
    rates = _rates(model, kind)
    return (rates[place] * len(rates) / reduce(add, rates)).named(f"share of {place}({kind})")


@REGISTRY.function("long_share")
def _long_share(model: Model, kind: str) -> Quantity:
    """Return the share of the three flows with long RTTs in the total goodput."""
    rates = _rates(model, kind)
    return (reduce(add, rates[:_LONG]) / reduce(add, rates)).named(
        f"share of long round trips({kind})"
    )


@REGISTRY.hook("narrow_bottleneck")
def _narrow_bottleneck(_: dict[str, Any]) -> None:
    """Leave the satellite's scenario unchanged; `_six` applies the narrow bottleneck."""
