"""Computes findings of claims and contents of figures and tables from simulated runs.

Each function depends only on the record and a cache. `plan` calls it with a cache that simulates
nothing, to list the necessary cells. `runner` calls it with the real cache, to get the result.
"""

from collections.abc import Callable, Mapping
from typing import Any

from farlink.studies.cache import SimulationCache
from farlink.studies.curves import curves
from farlink.studies.grid import Grid, grid
from farlink.studies.judge import Compared, Finding
from farlink.studies.model import Change
from farlink.studies.quantity import Quantity
from farlink.studies.select import Entry
from farlink.studies.study import Claim, Curves, Drawing, Study, Table

__all__ = ["content", "finding", "has_content"]


def finding(study: Study, claim: Claim, change: Change, cache: SimulationCache) -> Finding:
    """Return the finding on a claim under a change of the model."""
    names = study.model(cache, change).names
    order, number = (
        None if item is None else item.evidence(names) for item in (claim.order, claim.number)
    )
    rows = [
        Compared(
            reference.what,
            reference.published,
            reference.unit,
            _quantity(reference.ours.value(names)),
        )
        for reference in claim.compare
    ]
    return Finding(order, number, rows)


def has_content(study: Study, entry: Entry) -> bool:
    """Return whether a figure or table is computed. Others are only described in the record."""
    registry = study.registry
    computed = entry.item.id in registry.figures or entry.item.id in registry.tables
    return computed or "content" not in entry.item.data


def content(
    study: Study, entry: Entry, change: Change, cache: SimulationCache
) -> Curves | Drawing | Grid | Table:
    """Return the content of a figure or table under a change of the model."""
    model = study.model(cache, change)
    if "series" in entry.item.data:
        return curves(model, entry.item.data)
    if "cells" in entry.item.data:
        used = [cell for choice in study.choices for cell in choice.cells]
        return grid(model, entry.item.data, used)
    functions: Mapping[str, Callable[[Any], Curves | Drawing | Grid | Table]] = (
        study.registry.tables if entry.kind == "table" else study.registry.figures
    )
    return functions[entry.item.id](model)


def _quantity(value: Any) -> Quantity:  # noqa: ANN401 (value of an expression)
    """Return a quantity unchanged, and a number as a quantity."""
    return value if isinstance(value, Quantity) else Quantity([float(value)] * 2, "computed")
