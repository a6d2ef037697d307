"""Damaged files of a store: their names, and the repair of the store."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from farlink.errors import ScenarioError
from farlink.experiment import table
from farlink.experiment.ranges import Ranges
from farlink.experiment.snapshot import Content, Snapshot

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["META", "content", "described", "name_file", "read"]

META = b"farlink"
"""Key of a footer under which a part names its runs."""


def content(path: Path) -> Content:
    """Read the footer of a part.

    Raises
    ------
    FileNotFoundError
        If it is gone.
    ScenarioError
        If it is damaged.
    """
    import pyarrow.parquet as pq

    with _naming(path):
        footer = pq.read_metadata(path)
        data = footer.metadata or {}
        table.check_sum(path, data.get(table.SUM.encode()))
        data = json.loads(data[META])
        covers = {str(key): Ranges(pairs) for key, pairs in data["covers"].items()}
        return Content(footer.num_rows, covers, [str(replace) for replace in data["replaces"]])


def described(path: Path) -> set[tuple[str, str]]:
    """Read the experiments and keys of points that a file describes; errors as of `content`."""
    import pyarrow.parquet as pq

    with _naming(path):
        file = pq.ParquetFile(path)
        table.check_sum(path, (file.metadata.metadata or {}).get(table.SUM.encode()))
        content = file.read(["experiment", "point"])
        names, keys = (content.column(name).to_pylist() for name in ("experiment", "point"))
        return set(zip(names, keys, strict=True))


def read(path: Path) -> "pa.Table":
    """Read all rows of a file; errors as of `content`."""
    import pyarrow.parquet as pq

    with _naming(path):
        rows = pq.ParquetFile(path).read()
        rows.validate(full=True)
        is_points = path.name.startswith("points-")
        wanted = table.of_points("", []) if is_points else table.of_numbers([])
        # The CRC-32 is of what is before the footer, which has the names.
        if rows.column_names != wanted.column_names:
            raise ValueError("columns have other names")
        return rows


def name_file(snapshot: Snapshot) -> None:
    """Find the file that made a reading fail; returns if all of them are whole.

    Raises
    ------
    FileNotFoundError
        If one is gone.
    ScenarioError
        If one is damaged.
    """
    for name in snapshot.points:
        read(snapshot.folder / name)
    for name, part in snapshot.parts.items():
        rows = read(snapshot.folder / name)
        with _naming(snapshot.folder / name):
            _check(rows, part)


def _check(rows: "pa.Table", part: Content) -> None:
    """Raise `ValueError` unless a part has as many rows for each run of a point that it names."""
    counts = rows.group_by(["point", "run"]).aggregate([("run", "count")]).to_pydict()
    columns: dict[str, dict[int, int]] = {}
    for key, run, count in zip(
        *(counts[name] for name in ("point", "run", "run_count")), strict=True
    ):
        columns.setdefault(key, {})[run] = count
    runs = {key: Ranges() for key in columns}
    for key, values in columns.items():
        runs[key].add_each(sorted(values))
    if runs != dict(part.covers) or any(
        len(set(column.values())) > 1 for column in columns.values()
    ):
        raise ValueError("rows do not fit the runs")


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Turn what a reader of Parquet raises of a damaged file into one line with its name."""
    import pyarrow as pa

    try:
        yield
    except (FileNotFoundError, MemoryError):
        raise
    except PermissionError as error:
        raise ScenarioError(f"{path}: permission denied") from error
    except (
        pa.ArrowException,
        OSError,
        LookupError,
        ValueError,
        TypeError,
        AttributeError,
    ) as error:
        again = (
            "the next sweep describes its points again"
            if path.name.startswith("points-")
            else "its runs are simulated again"
        )
        raise ScenarioError(
            f"{path}: not a file of a store, or a damaged one; remove it: {again}"
        ) from error
