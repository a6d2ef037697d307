"""Numbers of runs: a row per run, with the meaning of each column."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from farlink import registry
from farlink.errors import ScenarioError

__all__ = ["OF_DATAGRAMS", "Column", "Layout", "Numbers", "columns_of", "of_run"]

Column = tuple[str, str, str]
"""What a number is: its scope ("flow", "link", "run", "agent"), the flow, the direction of a
link ("satellite.down") or agent that it is of, and its measure."""

OF_DATAGRAMS = ("datagrams_sent", "datagrams_lost", "datagrams_received")
"""Measures that only flows of datagrams have, and their loss rate."""

Layout = tuple[Column, ...]


@dataclass(frozen=True)
class Numbers:
    """Numbers of some runs of a point.

    Attributes
    ----------
    point
        Key of the point.
    layout
        What each column of `values` is.
    runs
        Numbers of the runs, rising.
    values
        A row per run; NaN where a run had nothing to measure.
    """

    point: str
    layout: Layout
    runs: NDArray[np.int64]
    values: NDArray[np.float64]


def columns_of(layout: Layout, measure: str) -> list[int]:
    """Return the columns that a measure is made of.

    "goodput" is of all flows over TCP (of datagrams, if there are only those), or of the
    run; "download.goodput" of a flow, "satellite.down.utilisation" of a direction of a link,
    "snoop.base.radio.retransmitted" of an agent.

    Raises
    ------
    ScenarioError
        If there is no such measure.
    """
    places = _places(layout)
    whole, dot, last = measure.rpartition(".")
    entry = places.get((whole if dot else None, last if dot else measure))
    if entry is None and not dot:
        entry = places.get(("", measure))
    if entry is None:
        raise ScenarioError(f"measure {measure!r} is not there; {_known(layout, last, whole)}")
    # By name, so that sums over flows are the same bits wherever their numbers come from.
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
    """Return a measure run by run; NaN where a run had none.

    Over several flows goodput, bytes and counts are summed, other measures averaged,
    and a loss rate is that of all datagrams together, as `Result.total` does it.
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
    # The order in memory decides in which order numbers are added.
    return np.ascontiguousarray(numbers.values[:, list(columns)])
