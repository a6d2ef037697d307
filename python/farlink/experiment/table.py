"""Rows of a store: numbers of runs in long form, to Arrow and back."""

import io
import json
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from farlink import _farlink
from farlink.experiment.numbers import Column, Layout, Numbers
from farlink.experiment.points import Point
from farlink.experiment.ranges import Ranges

if TYPE_CHECKING:
    import pyarrow as pa
    from typing_extensions import Buffer

__all__ = [
    "SUM",
    "BrokenRowsError",
    "check_sum",
    "joined",
    "of_numbers",
    "of_points",
    "to_numbers",
    "without",
    "write",
]

SUM = "farlink-crc32"
"""Key of a footer: bytes before the footer, and their CRC-32."""

_GROUP = 1 << 17
"""Rows of a row group above which the next measure starts a new group."""


class BrokenRowsError(ValueError):
    """Rows of a point are not one for each of its runs and columns."""

    def __init__(self, key: str) -> None:
        super().__init__(f"rows of point {key} do not fit its runs")


def of_numbers(numbers: Sequence[Numbers]) -> "pa.Table":
    """Return a row per number: point, run, scope, name, measure, value.

    Where a run had nothing to measure the value is null. Rows of a measure are together.
    """
    keys: dict[str, int] = {}
    groups: dict[Layout, list[Numbers]] = {}
    # Numbers of one task share their layout: it is hashed once.
    by_layout: dict[int, list[Numbers]] = {}
    for number in numbers:
        keys.setdefault(number.point, len(keys))
        if id(number.layout) not in by_layout:
            by_layout[id(number.layout)] = groups.setdefault(number.layout, [])
        by_layout[id(number.layout)].append(number)
    blocks = [_block(layout, group, keys) for layout, group in groups.items()]
    # Names in the order of the measures: what is asked for together stands together.
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
    """Numbers of one layout below each other."""

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
) -> "pa.Table":
    import pyarrow as pa

    def texts(codes: "NDArray[np.int32]", of: Sequence[str]) -> pa.Array:
        unique = {text: place for place, text in enumerate(dict.fromkeys(of))}
        places = np.array([unique[text] for text in of], np.int32)
        indices = places[codes] if len(of) else codes
        return pa.DictionaryArray.from_arrays(indices, pa.array(list(unique), pa.string()))

    return pa.table(
        {
            "point": texts(point, keys),
            "run": pa.array(run, pa.int32()),
            "scope": texts(column, [name[0] for name in names]),
            "name": texts(column, [name[1] for name in names]),
            "measure": texts(column, [name[2] for name in names]),
            "value": pa.array(value, pa.float64(), from_pandas=True),
        }
    )


def joined(tables: Sequence["pa.Table"]) -> "pa.Table":
    """Return the rows of several parts, those of a measure together."""
    import pyarrow as pa

    plain = [table.replace_schema_metadata(None) for table in tables]
    rows = pa.concat_tables(plain).unify_dictionaries().combine_chunks()
    keys = [rows.column("run").to_numpy()]
    keys += [_ranks(rows.column(name).chunk(0)) for name in ("point", "name", "scope", "measure")]
    return rows.take(pa.array(np.lexsort(keys)))


def _ranks(texts: "pa.DictionaryArray") -> "NDArray[np.int32]":
    """Return numbers that sort as these texts do."""
    order = np.argsort(np.array(texts.dictionary.to_pylist(), dtype=object))
    rank = np.empty(len(order), np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    ranks: np.typing.NDArray[np.int32] = rank[texts.indices.to_numpy()]
    return ranks


def without(rows: "pa.Table", runs: Mapping[str, Ranges]) -> "pa.Table":
    """Return the rows but those of these runs of points."""
    import pyarrow.compute as pc

    for key, ranges in runs.items():
        for low, past in ranges:
            run = rows.column("run")
            hit = pc.and_(
                pc.equal(pc.cast(rows.column("point"), "string"), key),
                pc.and_(pc.greater_equal(run, low), pc.less(run, past)),
            )
            rows = rows.filter(pc.invert(hit))
    return rows


def to_numbers(rows: "pa.Table", covered: Mapping[str, Ranges]) -> list[Numbers]:
    """Return the numbers in rows, a point at a time; `covered` says which runs there are.

    Raises
    ------
    BrokenRowsError
        If a point has not one row for each run and column.
    """
    if not rows.num_rows:
        return []
    rows = rows.combine_chunks()
    point, scope, name, measure = (
        rows.column(item).combine_chunks().dictionary_encode()
        for item in ("point", "scope", "name", "measure")
    )
    order = np.lexsort(
        [rows.column("run").to_numpy(), *(_ranks(item) for item in (name, scope, measure, point))]
    )
    points = point.indices.to_numpy()[order]
    starts = [0, *(np.flatnonzero(np.diff(points)) + 1).tolist(), len(order)]
    values = rows.column("value").to_numpy(zero_copy_only=False)
    run = rows.column("run").to_numpy()
    texts = [item.dictionary.to_pylist() for item in (scope, name, measure)]
    codes = [item.indices.to_numpy() for item in (scope, name, measure)]
    layouts: dict[bytes, Layout] = {}
    entries = []
    for start, end in pairwise(starts):
        part = order[start:end]
        key = str(point.dictionary[int(points[start])])
        ranges = covered.get(key, Ranges())
        runs = np.array([number for low, past in ranges for number in range(low, past)], np.int64)
        columns = len(part) // max(len(runs), 1)
        # Every run has a row for each column, so they are a matrix.
        if not columns or not np.array_equal(run[part], np.tile(runs, columns)):
            raise BrokenRowsError(key)
        first = part[:: len(runs)]
        if any(not np.array_equal(code[part], np.repeat(code[first], len(runs))) for code in codes):
            raise BrokenRowsError(key)
        named = np.stack([code[first] for code in codes], axis=1)
        layout = layouts.get(named.tobytes())
        if layout is None:
            layout = tuple((texts[0][a], texts[1][b], texts[2][c]) for a, b, c in named.tolist())
            layouts[named.tobytes()] = layout
        entries.append(Numbers(key, layout, runs, values[part].reshape(-1, len(runs)).T))
    return entries


def of_points(experiment: str, points: Iterable[Point]) -> "pa.Table":
    """Return a row per point, with its factors and scenario."""
    import pyarrow as pa

    points = list(points)
    factors = pa.map_(pa.string(), pa.string())
    written = [
        [(name, _level(factor)) for name, factor in point.factors.items()] for point in points
    ]
    return pa.table(
        {
            "experiment": pa.array([experiment] * len(points), pa.string()),
            "point": pa.array([item.key for item in points], pa.string()),
            "factors": pa.array(written, factors),
            "engine": pa.array([_farlink.engine()] * len(points), pa.string()),
            "seed": pa.array([item.scenario["seed"] for item in points], pa.uint64()),
            "scenario": pa.array([item.text for item in points], pa.string()),
        }
    )


def _level(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def write(rows: "pa.Table", path: Path) -> None:
    """Write a table as Parquet, with the CRC-32 of all before the footer in the footer.

    Starts a new row group when the measure changes, once the group is large enough. A query for one
    measure reads only its own groups then.
    """
    import pyarrow.parquet as pq

    rows = rows.unify_dictionaries().combine_chunks()
    # What questions choose by has statistics, so that they pass over groups of rows; they take
    # half of the time. Values hardly repeat: a dictionary of them is larger than they are.
    chosen = [
        column_name for column_name in rows.column_names if column_name in ("point", "measure")
    ]
    with (
        _Summed(path) as file,
        pq.ParquetWriter(
            file,
            rows.schema,
            compression="zstd",
            write_statistics=chosen,
            use_dictionary=[
                column_name
                for column_name in rows.column_names
                if column_name not in ("run", "value")
            ],
        ) as out,
    ):
        if "measure" not in rows.column_names or rows.num_rows <= _GROUP:
            out.write_table(rows)
        else:
            codes = rows.column("measure").chunk(0).indices.to_numpy()
            ends = np.flatnonzero(np.diff(codes)) + 1
            start = 0
            for end in [*ends.tolist(), rows.num_rows]:
                if end - start >= _GROUP // 2 or end == rows.num_rows:
                    out.write_table(rows.slice(start, end - start), row_group_size=1 << 20)
                    start = end
        out.add_key_value_metadata({SUM: f"{file.size} {file.sum}"})


class _Summed(io.FileIO):
    """A file that is written, with its size and CRC-32 so far."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, "wb")
        self.size = self.sum = 0

    def write(self, data: "Buffer", /) -> int:
        # A raw file may write a part alone.
        left = memoryview(data).cast("B")
        while left:
            count = super().write(left)
            self.sum = zlib.crc32(left[:count], self.sum)
            self.size += count
            left = left[count:]
        return memoryview(data).nbytes


def check_sum(path: Path, written: bytes | None) -> None:
    """Raise `ValueError` unless a file has the CRC-32 that its footer names, if it names one."""
    if written is None:  # an older version wrote it
        return
    size, wanted = (int(word) for word in written.split())
    result = 0
    with path.open("rb") as file:
        while size > 0 and (piece := file.read(min(size, 1 << 20))):
            result = zlib.crc32(piece, result)
            size -= len(piece)
    if size or result != wanted:
        raise ValueError("CRC-32 differs")
