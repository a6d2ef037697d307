"""The store: numbers of runs as Parquet files in a folder, queried with DuckDB.

A file, a *part*, is written whole or not at all, under a name that nobody else takes; it says
in its footer which runs of which points it has. So a killed process loses what it had
not yet written and harms nothing, two processes can write at once, and what both have
simulated counts once. Now and then many small parts are merged into one, which names those that
it replaces: they count no more from the moment it is there.
"""

import json
import os
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from farlink import _farlink, files
from farlink.errors import ScenarioError
from farlink.experiment import table
from farlink.experiment.numbers import OF_DATAGRAMS, Numbers
from farlink.experiment.points import Point
from farlink.experiment.ranges import Ranges

if TYPE_CHECKING:
    import duckdb
    import pandas as pd
    import pyarrow as pa

__all__ = ["Store"]

_HEAD = "farlink-store.json"
_FORMAT = "farlink-store/1"
_PART = "part-*.parquet"
_POINTS = "points-*.parquet"
_META = b"farlink"
_MERGE = 32
"""Small parts from which on they are merged."""

_LARGE = 8_000_000
"""Rows of a part that is not merged with others any more: some 30 MB."""


@dataclass(frozen=True)
class _Part:
    rows: int
    covers: Mapping[str, Ranges]
    replaces: Sequence[str]


@dataclass
class Store:
    """A folder with numbers of runs.

    Parameters
    ----------
    path
        The folder; it is made if it is not there.

    Raises
    ------
    ScenarioError
        If the folder has something else in it.
    OutputError
        If it cannot be made.
    """

    path: Path
    _parts: dict[str, _Part] = field(default_factory=dict, repr=False)
    _described: set[tuple[str, str]] = field(default_factory=set, repr=False)
    _read_points: set[str] = field(default_factory=set, repr=False)
    _covered: dict[str, Ranges] = field(default_factory=dict, repr=False)
    _covered_by: set[str] = field(default_factory=set, repr=False)

    def __post_init__(self) -> None:
        self.path = Path(self.path)
        head = self.path / _HEAD
        if self._is_there():
            return
        if self.path.exists() and not self._may_be_taken():
            # Another process may have made the store since the first look.
            if self._is_there():
                return
            raise ScenarioError(
                f"{self.path}: neither a store nor an empty folder; take another name"
            )
        files.write_text(head, json.dumps({"format": _FORMAT}) + "\n")

    def _is_there(self) -> bool:
        head = self.path / _HEAD
        if not head.exists():
            return False
        found = _document(files.read_text(head)).get("format")
        if found != _FORMAT:
            raise ScenarioError(
                f"{head}: format {found!r} is not known; this version reads {_FORMAT!r}"
            )
        return True

    def _may_be_taken(self) -> bool:
        """Whether nothing is in the folder but what another process is about to write."""
        return self.path.is_dir() and all(
            one.name.startswith(files.TEMPORARY) for one in self.path.iterdir()
        )

    @classmethod
    def there(cls, path: str | Path) -> "Store":
        """Open a store that must be there.

        Raises
        ------
        ScenarioError
            If it is not.
        """
        if not (Path(path) / _HEAD).exists():
            raise ScenarioError(f"{path}: no store; `farlink sweep FILE` makes one")
        return cls(Path(path))

    def covered(self) -> dict[str, Ranges]:
        """Return which runs there are, by the key of their point: to look at, not to change."""
        self._look()
        if self._covered_by != self._parts.keys():
            self._covered = {}
            for part in self._counting().values():
                for key, ranges in part.covers.items():
                    self._covered.setdefault(key, Ranges()).add(ranges)
            self._covered_by = set(self._parts)
        return self._covered

    def describe(self, experiment: str, points: Iterable[Point]) -> None:
        """Write down what the points of an experiment are, where it is not yet."""
        self._look()
        new = [one for one in points if (experiment, one.key) not in self._described]
        if new:
            self._write(table.of_points(experiment, new), "points", {})
            self._described |= {(experiment, one.key) for one in new}

    def add(self, numbers: Sequence[Numbers]) -> None:
        """Write numbers as a new part.

        Raises
        ------
        OutputError
            If it cannot be written; nothing of it is there then.
        """
        if not numbers:
            return
        covers: dict[str, Ranges] = {}
        for one in numbers:
            covers.setdefault(one.point, Ranges()).add_each(one.runs.tolist())
        rows = table.of_numbers(numbers)
        name = self._write(rows, "part", {"covers": _plain(covers), "replaces": []})
        self._parts[name] = _Part(rows.num_rows, covers, [])

    def numbers(self, keys: Iterable[str], measures: Sequence[str] | None = None) -> list[Numbers]:
        """Read numbers of some points, a point at a time, runs rising.

        All, or those of `measures` and what sums over flows need.
        """
        keys = list(dict.fromkeys(keys))
        with self.connected() as duck:
            import pyarrow as pa

            duck.register("wanted", pa.table({"point": pa.array(keys, pa.string())}))
            asked = "select * from results semi join wanted using (point)"
            if measures is not None:
                names = {one.rpartition(".")[2] for one in measures} | set(OF_DATAGRAMS)
                asked += f" where measure in ({', '.join(map(_text, sorted(names)))})"
            found = duck.sql(asked).to_arrow_table()
        return table.to_numbers(found, self.covered())

    def query(self, sql: str, parameters: Sequence[object] | None = None) -> "pd.DataFrame":
        """Ask DuckDB.

        There is `results` (point, run, scope, name, measure, value), and `points`
        (experiment, point, factors, engine, seed, scenario), with factors as a map of text.
        """
        with self.connected() as duck:
            return duck.execute(sql, parameters).df()

    @contextmanager
    def connected(self) -> "Iterator[duckdb.DuckDBPyConnection]":
        """Give a connection that has the views of `query`."""
        import duckdb

        self._look()
        with duckdb.connect() as duck:
            duck.execute("set enable_progress_bar = false")
            parts = self._counting()
            _results(duck, [self.path / one for one in parts], _twice(parts))
            _points(duck, sorted(self.path.glob(_POINTS)))
            yield duck

    def tidy(self, *, at_least: int = _MERGE) -> None:
        """Merge small parts if there are many, unless another process is at it."""
        self._look()
        parts = self._counting()
        small = sorted((one.rows, name) for name, one in parts.items() if one.rows < _LARGE)
        chosen: list[str] = []
        rows = 0
        for count, name in small:
            if rows + count > _LARGE and len(chosen) > 1:
                break
            chosen.append(name)
            rows += count
        if len(chosen) < at_least:
            return
        with self._alone() as alone:
            if alone:
                with suppress(FileNotFoundError):  # merged by another process just before
                    self._merge({name: parts[name] for name in chosen})

    def _merge(self, chosen: Mapping[str, _Part]) -> None:
        import pyarrow.parquet as pq

        twice = _twice(chosen)
        tables = []
        covers: dict[str, Ranges] = {}
        for name, part in chosen.items():
            found = pq.ParquetFile(self.path / name).read()
            tables.append(table.without(found, twice.get(name, {})))
            for key, ranges in part.covers.items():
                covers.setdefault(key, Ranges()).add(ranges)
        rows = table.joined(tables)
        replaces = sorted(chosen)
        name = self._write(rows, "part", {"covers": _plain(covers), "replaces": replaces})
        self._parts[name] = _Part(rows.num_rows, covers, replaces)
        self._remove(replaces)

    def _remove(self, names: Iterable[str]) -> None:
        for name in names:
            with suppress(OSError):
                (self.path / name).unlink(missing_ok=True)

    def _write(self, rows: "pa.Table", kind: str, says: Mapping[str, Any]) -> str:
        name = f"{kind}-{uuid.uuid4().hex}.parquet"
        told = {_META: json.dumps({"engine": _farlink.engine(), **says}).encode()}
        with files.replacing(self.path / name) as temporary:
            table.write(rows.replace_schema_metadata(told), temporary)
        return name

    def _look(self) -> None:
        """Read the footers of parts that are new, and forget those that are gone."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        there = {one.name for one in self.path.glob(_PART)}
        for name in self._parts.keys() - there:
            del self._parts[name]
        for name in sorted(there - self._parts.keys()):
            try:
                footer = pq.read_metadata(self.path / name)
                says = json.loads((footer.metadata or {})[_META])
                covers = {key: Ranges(pairs) for key, pairs in says["covers"].items()}
                self._parts[name] = _Part(footer.num_rows, covers, says["replaces"])
            except FileNotFoundError:
                continue
            except (pa.ArrowInvalid, OSError, KeyError, ValueError, TypeError) as error:
                raise ScenarioError(
                    f"{self.path / name}: not a part of a store, or a damaged one; remove it: its "
                    "runs are simulated again"
                ) from error
        for name in sorted({one.name for one in self.path.glob(_POINTS)} - self._read_points):
            found = pq.ParquetFile(self.path / name).read(["experiment", "point"])
            names, keys = (found.column(one).to_pylist() for one in ("experiment", "point"))
            self._described |= set(zip(names, keys, strict=True))
            self._read_points.add(name)

    def _counting(self) -> dict[str, _Part]:
        """Return the parts that no other replaces, in an order that is always the same."""
        gone = {name for one in self._parts.values() for name in one.replaces}
        # Whoever merged them was stopped before they were removed.
        self._remove(gone & self._parts.keys())
        return {name: self._parts[name] for name in sorted(self._parts.keys() - gone)}

    @contextmanager
    def _alone(self) -> Iterator[bool]:
        """Hold the lock of those who merge; false if another process has it or there is none."""
        try:
            import fcntl
        except ImportError:  # Windows
            yield False
            return
        handle = os.open(self.path / _HEAD, os.O_RDONLY | os.O_CLOEXEC)
        try:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                yield False
                return
            yield True
        finally:
            os.close(handle)


def _twice(parts: Mapping[str, _Part]) -> dict[str, dict[str, Ranges]]:
    """Return which runs of which points of which part an earlier part has, too."""
    seen: dict[str, Ranges] = {}
    twice: dict[str, dict[str, Ranges]] = {}
    for name, part in parts.items():
        for key, ranges in part.covers.items():
            before = seen.setdefault(key, Ranges())
            if common := before.common(ranges):
                twice.setdefault(name, {})[key] = common
            before.add(ranges)
    return twice


def _results(
    duck: "duckdb.DuckDBPyConnection",
    parts: Sequence[Path],
    twice: Mapping[str, Mapping[str, Ranges]],
) -> None:
    if not parts:
        duck.register("nothing", table.of_numbers([]))
        duck.execute("create view results as select * from nothing")
        return
    rows = [
        (name, key, low, high)
        for name, keys in twice.items()
        for key, ranges in keys.items()
        for low, high in ranges
    ]
    listed = ", ".join(_text(str(one)) for one in parts)
    read = f"read_parquet([{listed}], filename = {'true' if rows else 'false'})"
    if not rows:
        duck.execute(f"create view results as select * from {read}")  # noqa: S608 (our names)
        return
    duck.execute("create table twice (part text, point text, low integer, past integer)")
    duck.executemany("insert into twice values (?, ?, ?, ?)", rows)
    duck.execute(
        f"create view results as select * exclude (filename) from {read} r where not exists "  # noqa: S608
        "(from twice t where ends_with(r.filename, t.part) and t.point = r.point "
        "and r.run >= t.low and r.run < t.past)"
    )


def _points(duck: "duckdb.DuckDBPyConnection", found: Sequence[Path]) -> None:
    if not found:
        duck.register("no_points", table.of_points("", []))
        duck.execute("create view points as select * from no_points")
        return
    listed = ", ".join(_text(str(one)) for one in found)
    duck.execute(f"create view points as select distinct * from read_parquet([{listed}])")  # noqa: S608


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _plain(covers: Mapping[str, Ranges]) -> dict[str, list[list[int]]]:
    return {key: [list(one) for one in ranges] for key, ranges in covers.items()}


def _document(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
