"""Arithmetic behind the figures, on arrays."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Array", "Columns", "envelope", "within"]

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
                columns[str(name)] = np.asarray(column.astype(str), dtype=object)
            else:
                columns[str(name)] = column.to_numpy(dtype=np.float64, na_value=np.nan)
        return cls(columns)

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
    values = np.concatenate([_step_at(time, value, edges), value[inside]])
    order = np.argsort(points, kind="stable")
    points, values = points[order], values[order]
    starts = np.searchsorted(points, edges[:-1], side="left")
    area = np.add.reduceat(values[:-1] * np.diff(points), starts)
    low = np.minimum.reduceat(values[:-1], starts)
    high = np.maximum.reduceat(values[:-1], starts)
    return (edges[:-1] + edges[1:]) / 2, low, area / np.diff(edges), high


def _step_at(time: Array, value: Array, when: Array) -> Array:
    padded = np.concatenate([[0.0], value])
    return np.asarray(padded[np.searchsorted(time, when, side="right")])
