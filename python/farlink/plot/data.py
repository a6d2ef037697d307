"""Arithmetic behind the figures, on arrays."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Array", "Columns", "envelope", "step_at", "thinned", "total", "within"]

Array = np.ndarray[Any, np.dtype[Any]]


class Columns:
    """Columns of equal length as arrays, sorted by `time`."""

    def __init__(self, columns: Mapping[str, Array]) -> None:
        self._columns = columns

    @classmethod
    def of(cls, table: "pd.DataFrame") -> "Columns":
        """Take the columns of a table; names become text, other values numbers."""
        columns = {}
        for name in table.columns:
            column = table[name]
            if column.dtype == "category":
                known = np.asarray(column.cat.categories.astype(str), dtype=object)
                columns[str(name)] = known[column.cat.codes.to_numpy()]
            else:
                columns[str(name)] = column.to_numpy(dtype=np.float64, na_value=np.nan)
        return cls(columns)

    @property
    def arrays(self) -> dict[str, Array]:
        """The columns by name."""
        return dict(self._columns)

    def __getitem__(self, name: str) -> Array:
        return self._columns[name]

    def __len__(self) -> int:
        return len(self._columns["time"])

    def where(self, chosen: Array | slice) -> "Columns":
        """Return the chosen rows."""
        return Columns({name: column[chosen] for name, column in self._columns.items()})

    def equal(self, **values: str) -> "Columns":
        """Return the rows with these values."""
        chosen = np.ones(len(self), dtype=bool)
        for name, value in values.items():
            chosen &= self[name] == value
        return self.where(chosen)

    def then(self, time: float) -> "Columns":
        """Return the rows and the last of them once more, at a later time."""
        rows = self.where(np.append(np.arange(len(self)), len(self) - 1))
        rows["time"][-1] = time
        return rows

    def split(self, name: str) -> "dict[str, Columns]":
        """Return the rows of each value of a column, in their order."""
        if len(self) and (self[name] == self[name][0]).all():
            return {str(self[name][0]): self}
        order = np.argsort(self[name], kind="stable")
        values = self[name][order]
        starts = np.flatnonzero(values[1:] != values[:-1]) + 1
        parts = np.split(order, starts) if len(order) else []
        return {str(self[name][part[0]]): self.where(part) for part in parts}

    def between(self, limits: tuple[float, float]) -> "Columns":
        """Return the rows with a time inside the limits."""
        return self.where((self["time"] >= limits[0]) & (self["time"] <= limits[1]))

    def around(self, limits: tuple[float, float]) -> "Columns":
        """Return the rows inside the limits and one more on each side, for lines."""
        return self.where(within(self["time"], limits))


def within(time: Array, limits: tuple[float, float]) -> slice:
    """Return what of the sorted `time` is inside the limits, and one more on each side."""
    first = int(np.searchsorted(time, limits[0], side="left"))
    last = int(np.searchsorted(time, limits[1], side="right"))
    return slice(max(first - 1, 0), last + 1)


def thinned(time: Array, value: Array, limits: tuple[float, float], columns: int) -> Array:
    """Return places of the points that a line needs: its picture is the same without the others.

    `time` is sorted. Of each of the columns between the limits these are the first and last
    point, the least and the greatest, and those beside a gap (NaN).
    """
    if len(time) <= 4 * columns:
        return np.arange(len(time))
    there = np.isfinite(value)
    edges = np.linspace(*limits, columns + 1)
    starts = np.unique(np.searchsorted(time, edges[:-1]))
    starts = starts[starts < len(time)]
    if not len(starts) or starts[0] > 0:
        starts = np.append(0, starts)
    lengths = np.diff(np.append(starts, len(time)))
    kept = np.zeros(len(time), dtype=bool)
    kept[starts] = kept[starts + lengths - 1] = True
    for extreme, none in ((np.minimum, np.inf), (np.maximum, -np.inf)):
        known = np.where(there, value, none)
        best = known == np.repeat(extreme.reduceat(known, starts), lengths)
        # Of equal points of a column, the first is enough.
        places = np.flatnonzero(best & there)
        column = np.repeat(np.arange(len(starts)), lengths)[places]
        kept[places[np.diff(column, prepend=-1) > 0]] = True
    gaps = np.flatnonzero(there[1:] != there[:-1])
    kept[gaps] = kept[gaps + 1] = True
    return np.flatnonzero(kept)


def envelope(
    time: Array, value: Array, limits: tuple[float, float], columns: int
) -> tuple[Array, Array, Array, Array]:
    """Return column middles and least, mean (over time) and greatest value of a step function.

    `value[i]` holds from `time[i]` (sorted) to the next; before the first it is 0.
    """
    edges = np.linspace(limits[0], limits[1], columns + 1)
    # The steps inside the limits and the edges together, so that each piece
    # between two neighbours lies in one column and has one value.
    inside = (time > limits[0]) & (time < limits[1])
    points = np.concatenate([edges, time[inside]])
    values = np.concatenate([step_at(time, value, edges), value[inside]])
    order = np.argsort(points, kind="stable")
    points, values = points[order], values[order]
    starts = np.searchsorted(points, edges[:-1], side="left")
    area = np.add.reduceat(values[:-1] * np.diff(points), starts)
    low = np.minimum.reduceat(values[:-1], starts)
    high = np.maximum.reduceat(values[:-1], starts)
    return (edges[:-1] + edges[1:]) / 2, low, area / np.diff(edges), high


def total(steps: Sequence[tuple[Array, Array]]) -> tuple[Array, Array]:
    """Return times and sum of step functions, each with its sorted times and its values."""
    if len(steps) == 1:
        return steps[0]
    rises = [np.diff(value, prepend=0.0) for _, value in steps]
    times = np.concatenate([time for time, _ in steps])
    order = np.argsort(times, kind="stable")
    return times[order], np.cumsum(np.concatenate(rises)[order])


def step_at(time: Array, value: Array, when: Array) -> Array:
    """Return the value of a step function at `when`; before its first step it is 0."""
    padded = np.concatenate([[0.0], value])
    return np.asarray(padded[np.searchsorted(time, when, side="right")])
