"""Array computations of the figures."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "Array",
    "Columns",
    "envelope",
    "scattered",
    "step_at",
    "thinned",
    "total",
    "within",
]

Array = np.ndarray[Any, np.dtype[Any]]


class Columns:
    """Columns of equal length as arrays, sorted by `time`."""

    def __init__(self, columns: Mapping[str, Array]) -> None:
        self._columns = columns

    @classmethod
    def of(cls, table: "pd.DataFrame") -> "Columns":
        """Convert a table. Columns of names become text, other columns numbers."""
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
        """Columns by name."""
        return dict(self._columns)

    def __getitem__(self, name: str) -> Array:
        return self._columns[name]

    def __len__(self) -> int:
        return len(self._columns["time"])

    def where(self, chosen: Array | slice) -> "Columns":
        """Return the chosen rows."""
        return Columns({name: column[chosen] for name, column in self._columns.items()})

    def equal(self, **values: str) -> "Columns":
        """Return the rows that have the given values, by column."""
        chosen = np.ones(len(self), dtype=bool)
        for name, value in values.items():
            chosen &= self[name] == value
        return self.where(chosen)

    def then(self, time: float) -> "Columns":
        """Return the rows, with the last row repeated at a later time."""
        rows = self.where(np.append(np.arange(len(self)), len(self) - 1))
        rows["time"][-1] = time
        return rows

    def split(self, name: str) -> "dict[str, Columns]":
        """Return the rows grouped by the value of a column."""
        if len(self) and (self[name] == self[name][0]).all():
            return {str(self[name][0]): self}
        order = np.argsort(self[name], kind="stable")
        values = self[name][order]
        starts = np.flatnonzero(values[1:] != values[:-1]) + 1
        parts = np.split(order, starts) if len(order) else []
        return {str(self[name][part[0]]): self.where(part) for part in parts}

    def between(self, limits: tuple[float, float]) -> "Columns":
        """Return the rows whose time is within the limits."""
        return self.where((self["time"] >= limits[0]) & (self["time"] <= limits[1]))

    def around(self, limits: tuple[float, float]) -> "Columns":
        """Return the rows within the limits and one more on each side, as lines need."""
        return self.where(within(self["time"], limits))


def within(time: Array, limits: tuple[float, float]) -> slice:
    """Return the slice of the sorted `time` within the limits, with one more row on each side."""
    first = int(np.searchsorted(time, limits[0], side="left"))
    last = int(np.searchsorted(time, limits[1], side="right"))
    return slice(max(first - 1, 0), last + 1)


def thinned(time: Array, value: Array, limits: tuple[float, float], columns: int) -> Array:
    """Return the indices of points that suffice to draw the same line.

    `time` is sorted. In each column between the limits, the result has the first, last, smallest
    and largest point, and the points next to a gap (NaN).
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
        # Of equal extremes in a column only the first is needed.
        places = np.flatnonzero(best & there)
        column = np.repeat(np.arange(len(starts)), lengths)[places]
        kept[places[np.diff(column, prepend=-1) > 0]] = True
    gaps = np.flatnonzero(there[1:] != there[:-1])
    kept[gaps] = kept[gaps + 1] = True
    return np.flatnonzero(kept)


def scattered(
    time: Array, values: Sequence[Array], limits: tuple[float, float], cells: tuple[int, int]
) -> Array:
    """Return the indices of points that suffice to draw the same cloud of points or bars.

    `time` is sorted, and a point has one or more heights, `values`. `cells` has the columns and
    rows of a grid over `limits` and the range of the heights. Of points whose heights are in the
    same cells the result has the first. In each column it also has the smallest and largest point
    of each height, and no height is without its extremes.
    """
    columns, rows = cells
    if len(time) <= 4 * columns:
        return np.arange(len(time))
    width = (limits[1] - limits[0]) / columns
    cell = np.floor((time - limits[0]) / width).astype(np.int64)
    for value in values:
        known = value[np.isfinite(value)]
        low, high = float(known.min(initial=np.inf)), float(known.max(initial=-np.inf))
        scale = rows / (high - low) if high > low else 0.0
        place = np.where(np.isfinite(value), (value - low) * scale, -1.0)
        cell = cell * (rows + 2) + np.floor(place).astype(np.int64) + 1
    _, first = np.unique(cell, return_index=True)
    kept = np.zeros(len(time), dtype=bool)
    kept[first] = True
    for value in values:
        kept[thinned(time, value, limits, columns)] = True
    return np.flatnonzero(kept)


def envelope(
    time: Array, value: Array, limits: tuple[float, float], columns: int
) -> tuple[Array, Array, Array, Array]:
    """Return middles of columns of time, with minimum, mean and maximum of a step function.

    `value[i]` is valid from `time[i]` (sorted) to `time[i + 1]`; the value before `time[0]` is 0.
    The mean is over time.
    """
    edges = np.linspace(limits[0], limits[1], columns + 1)
    # Steps and column edges are combined: between two adjacent values the step function is constant
    # and within one column.
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
    """Return the sum of step functions (sorted times, values) as a step function."""
    if len(steps) == 1:
        return steps[0]
    rises = [np.diff(value, prepend=0.0) for _, value in steps]
    times = np.concatenate([time for time, _ in steps])
    order = np.argsort(times, kind="stable")
    return times[order], np.cumsum(np.concatenate(rises)[order])


def step_at(time: Array, value: Array, when: Array) -> Array:
    """Return the values of a step function at the times `when`; 0 before its first step."""
    padded = np.concatenate([[0.0], value])
    return np.asarray(padded[np.searchsorted(time, when, side="right")])
