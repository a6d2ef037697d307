"""Names of store files with their CRC-32, and detection of damaged files."""

import json
import zlib
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from farlink import _farlink, columns
from farlink.columns import Texts
from farlink.errors import ScenarioError
from farlink.experiment import table
from farlink.experiment.ranges import Ranges
from farlink.experiment.snapshot import Content, Snapshot

__all__ = ["META", "content", "described", "name_file", "name_of", "read"]

META = "farlink"
"""Key of the Parquet footer whose value lists the runs in a part."""


def name_of(kind: str, unique: str, data: bytes) -> str:
    """Return the name of a store file: kind, unique text and CRC-32 of its bytes."""
    return f"{kind}-{unique}-{zlib.crc32(data):08x}.parquet"


def _load(path: Path) -> bytes:
    data = path.read_bytes()
    if not path.stem.endswith(f"-{zlib.crc32(data):08x}"):
        raise ValueError("the CRC-32 is not that of the name")
    return data


def content(path: Path) -> Content:
    """Read the footer of a part.

    Raises
    ------
    FileNotFoundError
        If the file no longer exists.
    ScenarioError
        If the file is damaged.
    """
    with _naming(path):
        rows, metadata, _ = _farlink.parquet_footer(_load(path))
        data = json.loads(metadata[META])
        covers = {str(key): Ranges(pairs) for key, pairs in data["covers"].items()}
        return Content(rows, covers, [str(replace) for replace in data["replaces"]])


def described(path: Path) -> set[tuple[str, str]]:
    """Read the (experiment, point key) pairs that a file describes; raises as `content` does."""
    with _naming(path):
        rows = columns.from_parquet(_load(path), ["experiment", "point"])
        names, keys = (columns.array(rows, name) for name in ("experiment", "point"))
        assert isinstance(names, Texts)
        assert isinstance(keys, Texts)
        return set(zip(names.to_array().tolist(), keys.to_array().tolist(), strict=True))


def read(path: Path, filters: Mapping[str, Collection[str]] | None = None) -> table.Rows:
    """Read rows of a part, by default all of them; raises as `content` does."""
    with _naming(path):
        return table.read(_load(path), filters)


def name_file(snapshot: Snapshot) -> None:
    """Check all files of a snapshot; the error names the first damaged file.

    Raises
    ------
    FileNotFoundError
        If a file no longer exists.
    ScenarioError
        If a file is damaged.
    """
    for name in snapshot.points:
        described(snapshot.folder / name)
    for name, part in snapshot.parts.items():
        rows = read(snapshot.folder / name)
        with _naming(snapshot.folder / name):
            _check(rows, part)


def _check(rows: table.Rows, part: Content) -> None:
    """Raise `ValueError` unless the rows cover the runs of the footer, equally many per run."""
    pairs, counts = np.unique(
        np.stack([rows.point.codes, rows.run], axis=1), axis=0, return_counts=True
    )
    in_runs: dict[str, dict[int, int]] = {}
    for (point, run), count in zip(pairs.tolist(), counts.tolist(), strict=True):
        in_runs.setdefault(rows.point.texts[point], {})[run] = count
    runs = {key: Ranges() for key in in_runs}
    for key, values in in_runs.items():
        runs[key].add_each(sorted(values))
    if runs != dict(part.covers) or any(
        len(set(column.values())) > 1 for column in in_runs.values()
    ):
        raise ValueError("rows do not fit the runs")


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Convert errors of a Parquet reader for a damaged file into an error that names the file."""
    try:
        yield
    except (FileNotFoundError, MemoryError):
        raise
    except PermissionError as error:
        raise ScenarioError(f"{path}: permission denied") from error
    except (
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
