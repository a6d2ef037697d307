"""Matrix of measured numbers: a row for each run, and a description of each column."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from farlink import registry
from farlink.errors import ScenarioError

__all__ = ["OF_DATAGRAMS", "Column", "Layout", "Numbers", "columns_of", "of_run"]

Column = tuple[str, str, str]
"""Description of a column: (scope, name, measure).

The scope is "flow", "link", "run" or "agent". The name is that of the flow, the direction of a link
("satellite.down") or the agent.
"""

OF_DATAGRAMS = ("datagrams_sent", "datagrams_lost", "datagrams_received")
"""Counts that determine the loss rate of a datagram flow; TCP flows lack them."""

Layout = tuple[Column, ...]


@dataclass(frozen=True)
class Numbers:
    """Numbers of some runs of a point.

    Attributes
    ----------
    point
        Key of the point.
    layout
        Description of each column of `values`.
    runs
        Run numbers, ascending.
    values
        A row per run; NaN where a run had nothing to measure.
    """

    point: str
    layout: Layout
    runs: NDArray[np.int64]
    values: NDArray[np.float64]


def columns_of(layout: Layout, measure: str) -> list[int]:
    """Return the columns from which a measure is computed.

    "goodput" covers all TCP flows, the datagram flows if there are no others, or the run.
    "download.goodput" is the goodput of a flow, "satellite.down.utilisation" a measure of a link's
    direction, and "snoop.base.radio.retransmitted" a measure of an agent.

    Raises
    ------
    ScenarioError
        If the runs lack the measure.
    """
    places = _places(layout)
    whole, dot, last = measure.rpartition(".")
    entry = places.get((whole if dot else None, last if dot else measure))
    if entry is None and not dot:
        entry = places.get(("", measure))
    if entry is None:
        raise ScenarioError(f"measure {measure!r} is not there; {_known(layout, last, whole)}")
    # Columns are sorted by name, so that a sum over flows does not depend on their order.
    return sorted(entry, key=lambda place: layout[place])


@lru_cache(maxsize=64)
def _places(layout: Layout) -> dict[tuple[str | None, str], list[int]]:
    places: dict[tuple[str | None, str], list[int]] = {}
    for place, (scope, of, name) in enumerate(layout):
        places.setdefault((of, name), []).append(place)
        if scope == "flow":
            places.setdefault((None, name), []).append(place)
    return places


def _known(layout: Layout, last: str, whole: str) -> str:
    import difflib

    names = list(dict.fromkeys(
        name if scope in ("flow", "run") and not whole else f"{of}.{name}" if of else name
        for scope, of, name in layout
    ))  # fmt: skip
    close = difflib.get_close_matches(f"{whole}.{last}" if whole else last, names, n=3)
    if close:
        return f"did you mean {' or '.join(close)}?"
    return (
        "`farlink list metrics` lists them; write FLOW.MEASURE or LINK.down.MEASURE for one of them"
    )


def of_run(numbers: Numbers, measure: str) -> NDArray[np.float64]:
    """Return a measure, one value per run; NaN for a run without a value.

    Over several flows, goodput, bytes and counts are summed. The loss rate is that of all datagrams
    together, and other measures are averaged, as in `Result.total`.
    """
    columns = columns_of(numbers.layout, measure)
    if len(columns) == 1:
        return numbers.values[:, columns[0]]
    if measure == "loss_rate":
        lost, came = (
            np.nansum(_values(numbers, columns_of(numbers.layout, name)), axis=1)
            for name in OF_DATAGRAMS[1:]
        )
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(lost / (lost + came))
    values = _values(numbers, columns)
    udp = _values(numbers, columns_of(numbers.layout, OF_DATAGRAMS[0]))
    over_tcp = np.isnan(udp).all(axis=0)
    if not np.isnan(values[:, over_tcp]).all():
        values = np.ascontiguousarray(values[:, over_tcp])
    there = ~np.isnan(values)
    total = np.where(there, values, 0.0).sum(axis=1)
    count = there.sum(axis=1)
    known = registry.measures("flow").get(measure)
    with np.errstate(invalid="ignore", divide="ignore"):
        if known is not None and known.combine == "sum":
            return np.where(count > 0, total, np.nan)
        return np.asarray(total / count)


def _values(numbers: Numbers, columns: Sequence[int]) -> NDArray[np.float64]:
    # NumPy's order of addition depends on the memory layout, so the layout is fixed.
    return np.ascontiguousarray(numbers.values[:, list(columns)])
