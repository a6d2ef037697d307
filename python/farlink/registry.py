"""Measures and traces of the engine, read from its registry."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from farlink import _farlink

__all__ = [
    "Measure",
    "TraceKind",
    "is_summed",
    "limits",
    "measures",
    "quantities",
    "traces",
    "unit",
]


@dataclass(frozen=True)
class Measure:
    """Measure of a flow, of a direction of a link, or of a run."""

    name: str
    scope: str
    unit: str
    kind: str
    combine: str
    pooled: Sequence[str]
    """Measures of the numerator and of the rest, from which a pooled share is computed; empty for
    other measures.
    """
    definition: str

    def of_all(self, values: Sequence[float | None]) -> float | None:
        """Combine the values of several flows of one run; None if no flow has a value."""
        present = [value for value in values if value is not None]
        if not present:
            return None
        return sum(present) if self.combine == "sum" else math.fsum(present) / len(present)


@dataclass(frozen=True)
class TraceKind:
    """Trace: its columns with units, and its table in the engine."""

    name: str
    table: str
    columns: Sequence[Mapping[str, Any]]
    when: str

    @property
    def units(self) -> dict[str, str]:
        """Unit of each column; empty for a column without a unit."""
        return {column["name"]: column["unit"] for column in self.columns}


@cache
def _registry() -> dict[str, list[dict[str, Any]]]:
    known: dict[str, list[dict[str, Any]]] = json.loads(_farlink.registry())
    return known


@cache
def measures(scope: str) -> Mapping[str, Measure]:
    """Return the measures of a "flow", of a direction of a "link" or of a "run", by name."""
    known = [Measure(**measure) for measure in _registry()["measures"]]
    return {entry.name: entry for entry in known if entry.scope == scope}


@cache
def traces() -> Mapping[str, TraceKind]:
    """Return every trace by name."""
    return {trace["name"]: TraceKind(**trace) for trace in _registry()["traces"]}


def quantities() -> list[dict[str, str]]:
    """Return the quantities of each congestion control in the trace `control`."""
    return _registry()["quantities"]


def unit(scope: str, name: str) -> str:
    """Return the unit of a measure; empty for a measure without a unit or an unknown one."""
    return known.unit if (known := measures(scope).get(name)) else ""


def limits() -> list[str]:
    """Return the names of the causes that can limit a sender.

    Each has a metric with its share of time.
    """
    prefix = "limited_"
    return [name.removeprefix(prefix) for name in measures("flow") if name.startswith(prefix)]


def is_summed(metric: str) -> bool:
    """Return whether a flow metric is summed over the flows of a run, instead of averaged."""
    measure = measures("flow").get(metric)
    return measure is not None and measure.combine == "sum"
