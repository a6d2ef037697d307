"""Rows of a store: numbers of runs in long form, written to and read from Parquet."""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from farlink import _farlink, columns
from farlink.columns import Texts
from farlink.experiment.numbers import Column, Layout, Numbers
from farlink.experiment.points import Point
from farlink.experiment.ranges import Ranges

__all__ = [
    "BrokenRowsError",
    "Rows",
    "joined",
    "of_numbers",
    "of_points",
    "read",
    "to_bytes",
    "to_numbers",
    "without",
]

_GROUP = 1 << 17
"""Rows of a Parquet row group above which a new measure starts a new group."""


_AT_ONCE = 1 << 20
"""Number of rows that are compared at a time."""


class BrokenRowsError(ValueError):
    """Raised if a point does not have one row for each run and column."""

    def __init__(self, key: str) -> None:
        super().__init__(f"rows of point {key} do not fit its runs")


@dataclass(frozen=True)
class Rows:
    """Numbers of runs in long form, one number per row.

    Attributes
    ----------
    point, scope, name, measure
        Key of the point; scope, name and measure describe the column (see `numbers.Column`).
    run
        Number of the run.
    value
        Measured number, NaN where a run had nothing to measure.
    """

    point: Texts
    run: "NDArray[np.int32]"
    scope: Texts
    name: Texts
    measure: Texts
    value: "NDArray[np.float64]"

    def __len__(self) -> int:
        return len(self.run)

    def __getitem__(self, chosen: "NDArray[Any]") -> "Rows":
        return Rows(*(column[chosen] for column in vars(self).values()))


def of_numbers(numbers: Sequence[Numbers]) -> Rows:
    """Return numbers as rows, grouped by measure."""
    keys: dict[str, int] = {}
    groups: dict[Layout, list[Numbers]] = {}
    # All numbers of a task share one layout object, which is hashed only once.
    by_layout: dict[int, list[Numbers]] = {}
    for number in numbers:
        keys.setdefault(number.point, len(keys))
        if id(number.layout) not in by_layout:
            by_layout[id(number.layout)] = groups.setdefault(number.layout, [])
        by_layout[id(number.layout)].append(number)
    blocks = [_block(layout, group, keys) for layout, group in groups.items()]
    # Names are sorted by measure, so that the rows of a measure are contiguous.
    names = sorted(
        {name for layout in groups for name in layout}, key=lambda name: (name[2], name[0], name[1])
    )
    rows = [
        (place, block.points, block.runs, block.values[name])
        for place, name in enumerate(names)
        for block in blocks
        if name in block.values
    ]
    if not rows:
        none = np.array([], np.int32)
        return _rows([], [], none, none, none, np.array([], np.float64))
    places, points, runs, values = zip(*rows, strict=True)
    column = np.repeat(np.array(places, np.int32), [len(value) for value in values])
    return _rows(
        list(keys),
        names,
        np.concatenate(points),
        np.concatenate(runs),
        column,
        np.concatenate(values),
    )


@dataclass(frozen=True)
class _Block:
    """Numbers with the same layout, stacked."""

    points: "NDArray[np.int32]"
    runs: "NDArray[np.int32]"
    values: "Mapping[Column, NDArray[np.float64]]"


def _block(layout: Layout, numbers: Sequence[Numbers], keys: Mapping[str, int]) -> _Block:
    counts = [len(number.runs) for number in numbers]
    values = np.ascontiguousarray(np.concatenate([number.values for number in numbers]).T)
    return _Block(
        np.repeat(np.array([keys[number.point] for number in numbers], np.int32), counts),
        np.concatenate([number.runs for number in numbers]).astype(np.int32),
        dict(zip(layout, values, strict=True)),
    )


def _rows(
    keys: Sequence[str],
    names: Sequence[Column],
    point: "NDArray[np.int32]",
    run: "NDArray[np.int32]",
    column: "NDArray[np.int32]",
    value: "NDArray[np.float64]",
) -> Rows:
    def texts(codes: "NDArray[np.int32]", of: Sequence[str]) -> Texts:
        unique = {text: place for place, text in enumerate(dict.fromkeys(of))}
        places = np.array([unique[text] for text in of], np.int32)
        return Texts(places[codes] if len(of) else codes, list(unique))

    scope, name, measure = (texts(column, [item[part] for item in names]) for part in range(3))
    return Rows(texts(point, keys), run, scope, name, measure, value)


def joined(parts: Sequence[Rows]) -> Rows:
    """Return the rows of several parts, grouped by measure."""

    def texts(column: str) -> Texts:
        unique: dict[str, int] = {}
        codes = []
        for part in parts:
            of: Texts = getattr(part, column)
            places = [unique.setdefault(text, len(unique)) for text in of.texts]
            codes.append(np.array(places, np.int32)[of.codes] if places else of.codes)
        return Texts(np.concatenate(codes), list(unique))

    rows = Rows(
        texts("point"),
        np.concatenate([part.run for part in parts]),
        texts("scope"),
        texts("name"),
        texts("measure"),
        np.concatenate([part.value for part in parts]),
    )
    keys = [rows.run, *(_ranks(item) for item in (rows.point, rows.name, rows.scope, rows.measure))]
    return rows[np.lexsort(keys)]


def _ranks(texts: Texts) -> "NDArray[np.int32]":
    """Return integers that sort in the same order as these texts."""
    order = np.argsort(np.array(texts.texts, dtype=object))
    rank = np.empty(len(order), np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    ranks: NDArray[np.int32] = rank[texts.codes]
    return ranks


def without(rows: Rows, runs: Mapping[str, Ranges]) -> Rows:
    """Return the rows except those of the given runs of points."""
    keep = np.ones(len(rows), bool)
    for key, ranges in runs.items():
        of_point = rows.point.equals(key)
        for low, past in ranges:
            keep &= ~(of_point & (rows.run >= low) & (rows.run < past))
    return rows if keep.all() else rows[keep]


def to_numbers(rows: Rows, covered: Mapping[str, Ranges]) -> list[Numbers]:
    """Convert rows to numbers, point by point; `covered` lists the runs of each point.

    Raises
    ------
    BrokenRowsError
        If a point lacks a row for a run and column, or has more than one.
    """
    if not len(rows):
        return []
    ranks = [_ranks(item) for item in (rows.name, rows.scope, rows.measure, rows.point)]
    order = np.lexsort([rows.run, *ranks])
    points = rows.point.codes[order]
    starts = np.array([0, *(np.flatnonzero(np.diff(points)) + 1).tolist()])
    counts = np.diff(np.append(starts, len(order))).tolist()
    keys = [rows.point.texts[code] for code in points[starts].tolist()]
    # Points with equally many rows and the same runs are matrices of one shape.
    alike: dict[tuple[int, tuple[tuple[int, int], ...]], list[int]] = {}
    for place, (key, count) in enumerate(zip(keys, counts, strict=True)):
        alike.setdefault((count, tuple(covered.get(key, Ranges()))), []).append(place)
    entries: list[Numbers | None] = [None] * len(keys)
    for (count, ranges), places in alike.items():
        runs = np.array([number for low, past in ranges for number in range(low, past)], np.int64)
        columns = count // max(len(runs), 1)
        if not columns or columns * len(runs) != count:
            raise BrokenRowsError(keys[places[0]])
        shape = (-1, columns, len(runs))
        step = max(1, _AT_ONCE // count)
        for first in range(0, len(places), step):
            chosen = places[first : first + step]
            part = order[starts[chosen][:, None] + np.arange(count)].reshape(shape)
            names = [keys[place] for place in chosen]
            for place, entry in zip(chosen, _matrices(rows, part, names, runs), strict=True):
                entries[place] = entry
    return [entry for entry in entries if entry is not None]


def _matrices(
    rows: Rows, part: "NDArray[np.intp]", keys: Sequence[str], runs: "NDArray[np.int64]"
) -> list[Numbers]:
    """Return the numbers of some points; `part` has the places of their rows, by column and run.

    Raises
    ------
    BrokenRowsError
        If a point lacks a row for a run and column, or has more than one.
    """
    codes = np.stack([item.codes[part] for item in (rows.scope, rows.name, rows.measure)], axis=-1)
    fits = (rows.run[part] == runs).all(axis=(1, 2))
    fits &= (codes == codes[:, :, :1]).all(axis=(1, 2, 3))
    if not fits.all():
        raise BrokenRowsError(keys[int(np.argmin(fits))])
    layouts: dict[bytes, Layout] = {}
    entries = []
    for key, values, described in zip(keys, rows.value[part], codes[:, :, 0], strict=True):
        known = described.tobytes()
        if known not in layouts:
            layouts[known] = tuple(
                (rows.scope.texts[a], rows.name.texts[b], rows.measure.texts[c])
                for a, b, c in described.tolist()
            )
        entries.append(Numbers(key, layouts[known], runs, values.T))
    return entries


def of_points(experiment: str, points: Iterable[Point]) -> "dict[str, NDArray[Any] | Texts]":
    """Return one row per point: its factors (JSON) and its scenario."""
    points = list(points)

    def texts(values: Iterable[str]) -> Texts:
        unique: dict[str, int] = {}
        codes = [unique.setdefault(value, len(unique)) for value in values]
        return Texts(np.array(codes, np.int32), list(unique))

    return {
        "experiment": texts(experiment for _ in points),
        "point": texts(item.key for item in points),
        "factors": texts(
            json.dumps({name: _level(factor) for name, factor in item.factors.items()})
            for item in points
        ),
        "engine": texts(_farlink.engine() for _ in points),
        "seed": np.array([item.scenario["seed"] for item in points], np.uint64),
        "scenario": texts(item.text for item in points),
    }


def _level(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def to_bytes(
    rows: "Rows | Mapping[str, NDArray[Any] | Texts]", metadata: Mapping[str, str]
) -> bytes:
    """Return rows as a Parquet file with key-value pairs in its footer.

    Starts a new row group when the measure changes, once the group is large enough. A query for one
    measure then reads only its own groups.
    """
    ends = []
    if isinstance(rows, Rows):
        start = 0
        for end in (np.flatnonzero(np.diff(rows.measure.codes)) + 1).tolist():
            if end - start >= _GROUP // 2:
                ends.append(end)
                start = end
        rows = vars(rows)
    return columns.to_parquet(columns.build(rows), metadata, ends)


def read(data: bytes, filters: Mapping[str, Collection[str]] | None = None) -> Rows:
    """Read rows from a Parquet file; `filters` are those of `from_parquet`.

    Raises
    ------
    ValueError
        If the data is not Parquet, or has other columns.
    """
    names = ("point", "run", "scope", "name", "measure", "value")
    table = columns.from_parquet(data, names, filters)
    return Rows(**{name: columns.array(table, name) for name in names})  # type: ignore[arg-type]
