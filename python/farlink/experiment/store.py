"""Store of run results: Parquet files in a folder, queried with DuckDB.

A file is called a *part*. It is written atomically under a unique name, and its footer lists the
runs of each point that it contains. A killed process therefore loses only unwritten runs and
damages no file. Two processes can write at the same time. A run that both have simulated is used
once.

Small parts are merged into one part from time to time. The merged part lists the parts that it
replaces. Readers ignore these as soon as the merged part exists.
"""

import json
import os
import re
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from farlink import _farlink, files
from farlink.errors import ScenarioError
from farlink.experiment import damage, table
from farlink.experiment.numbers import OF_DATAGRAMS, Numbers
from farlink.experiment.points import Point
from farlink.experiment.ranges import Ranges
from farlink.experiment.snapshot import Content, Snapshot, repeated
from farlink.extras import lacking

if TYPE_CHECKING:
    import duckdb
    import pandas as pd

__all__ = ["Store"]

_HEAD = "farlink-store.json"
_FORMAT = "farlink-store/2"
_FILE = re.compile(r"(part|points)-.*\.parquet")
_MERGE = 32
"""Number of small parts that triggers a merge."""

_LARGE = 8_000_000
"""Number of rows (some 30 MB) from which a part is no longer merged."""

_TRIES = 5
"""Attempts to read while merges may interfere; the last attempt blocks merges."""


T = TypeVar("T")


class _MergedError(Exception):
    """Raised when files of a snapshot are gone because another process merged them."""


@dataclass
class Store:
    """Folder with the numbers of runs.

    Parameters
    ----------
    path
        The folder; created if missing.

    Raises
    ------
    ScenarioError
        If the folder contains other files.
    OutputError
        If the folder cannot be created.
    """

    path: Path
    _parts: dict[str, Content] = field(default_factory=dict, repr=False)
    _described: set[tuple[str, str]] = field(default_factory=set, repr=False)
    _read_points: set[str] = field(default_factory=set, repr=False)
    _last: Snapshot | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        self.path = Path(self.path)
        head = self.path / _HEAD
        if self._is_there():
            return
        if self.path.exists() and not self._may_be_taken():
            # Another process may have created the store since the first check.
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
        result = _document(files.read_text(head)).get("format")
        if result != _FORMAT:
            raise ScenarioError(
                f"{head}: format {result!r} is not known; this version reads {_FORMAT!r}"
            )
        return True

    def _may_be_taken(self) -> bool:
        """Return whether the folder is empty apart from another process's temporary files."""
        return self.path.is_dir() and all(
            path.name.startswith(files.TEMPORARY) for path in self.path.iterdir()
        )

    @classmethod
    def there(cls, path: str | Path) -> "Store":
        """Open an existing store.

        Raises
        ------
        ScenarioError
            If the folder is not a store.
        """
        if not (Path(path) / _HEAD).exists():
            raise ScenarioError(f"{path}: no store; `farlink sweep FILE` makes one")
        return cls(Path(path))

    def covered(self) -> dict[str, Ranges]:
        """Return the stored runs by point key, as a read-only view."""
        return self._snapshot().covered

    def describe(self, experiment: str, points: Iterable[Point]) -> None:
        """Write descriptions of the points of an experiment that have no description yet."""
        self._snapshot()
        new = [point for point in points if (experiment, point.key) not in self._described]
        if new:
            self._write(table.of_points(experiment, new), "points", {})
            self._described |= {(experiment, point.key) for point in new}

    def add(self, numbers: Sequence[Numbers]) -> None:
        """Write numbers as a new part, atomically.

        Raises
        ------
        OutputError
            If the part cannot be written; no partial file is left.
        """
        if not numbers:
            return
        covers: dict[str, Ranges] = {}
        for number in numbers:
            covers.setdefault(number.point, Ranges()).add_each(number.runs.tolist())
        rows = table.of_numbers(numbers)
        name = self._write(rows, "part", {"covers": _plain(covers), "replaces": []})
        self._parts[name] = Content(len(rows), covers, [])

    def numbers(self, keys: Iterable[str], measures: Sequence[str] | None = None) -> list[Numbers]:
        """Read the numbers of some points, point by point, with ascending run numbers.

        Reads all measures, or only `measures` and the columns needed for sums over flows.
        """
        wanted = set(keys)
        filters: dict[str, set[str]] = {}
        if measures is not None:
            names = {measure.rpartition(".")[2] for measure in measures}
            filters["measure"] = names | set(OF_DATAGRAMS)

        def read(name: str, part: Content) -> table.Rows:
            # A part of wanted points alone need not be filtered by point.
            own = {} if wanted.issuperset(part.covers) else {"point": wanted & part.covers.keys()}
            return damage.read(self.path / name, filters | own)

        def attempt() -> list[Numbers]:
            snapshot = self._read_snapshot()
            twice = repeated(snapshot.parts)
            try:
                rows = [
                    table.without(read(name, part), twice.get(name, {}))
                    for name, part in snapshot.parts.items()
                    if not wanted.isdisjoint(part.covers)
                ]
            except FileNotFoundError as error:
                raise _MergedError from error
            try:
                return table.to_numbers(table.joined(rows), snapshot.covered) if rows else []
            except table.BrokenRowsError as error:
                try:
                    damage.name_file(snapshot)
                except FileNotFoundError as gone:
                    raise _MergedError from gone
                raise ScenarioError(f"{self.path}: {error}; take another store") from error

        return self._between_merges(attempt)

    def query(self, sql: str, parameters: Sequence[object] | None = None) -> "pd.DataFrame":
        """Run an SQL query in DuckDB.

        The tables are `results` (point, run, scope, name, measure, value) and `points` (experiment,
        point, factors, engine, seed, scenario). `factors` maps text to text.
        """
        return self.ask(lambda duck: duck.execute(sql, parameters).df())

    def ask(self, question: "Callable[[duckdb.DuckDBPyConnection], T]") -> T:
        """Call `question` with a connection that has the views of `query`, and return its result.

        All rows come from one snapshot. `question` is called again if another process merged parts
        in the meantime.
        """
        try:
            import duckdb
        except ImportError as error:
            raise lacking("a question in SQL", "query") from error

        def attempt() -> T:
            snapshot = self._read_snapshot()
            try:
                with duckdb.connect() as duck:
                    duck.execute("set enable_progress_bar = false")
                    snapshot.add_views(duck)
                    return question(duck)
            except (duckdb.ParserException, duckdb.BinderException, duckdb.CatalogException):
                raise
            except (duckdb.Error, UnicodeDecodeError):
                try:
                    damage.name_file(snapshot)
                except FileNotFoundError as gone:
                    raise _MergedError from gone
                raise

        return self._between_merges(attempt)

    def _between_merges(self, attempt: "Callable[[], T]") -> T:
        """Call `attempt` until no merge interferes; the last attempt blocks merges."""
        for _ in range(_TRIES):
            with suppress(_MergedError):
                return attempt()
        with self._locked(shared=True):
            return attempt()

    def tidy(self, *, at_least: int | None = None) -> None:
        """Merge small parts if there are at least `at_least`, unless another process is merging.

        By default these are 32 parts of which none has more rows than the others together. Each
        row is then rewritten log2(rows) times at most, and not at each merge.
        """
        if not self._mergeable(self._snapshot(), at_least):
            return
        with self._locked() as alone:
            if not alone:
                return
            snapshot = self._read_snapshot()
            # Remove merged parts that remain from a process that was stopped too early.
            self._remove(self._parts.keys() - snapshot.parts.keys())
            if chosen := self._mergeable(snapshot, at_least):
                self._merge({name: snapshot.parts[name] for name in chosen})

    def _mergeable(self, snapshot: Snapshot, at_least: int | None) -> list[str]:
        """Return the names of the parts to merge; none if they are too few."""
        names = self._small(snapshot)
        if at_least is None:
            at_least = _MERGE
            names = _balanced(names, snapshot)
        return names if len(names) >= at_least else []

    def _small(self, snapshot: Snapshot) -> list[str]:
        """Return the names of small parts by size, up to the rows of one large part."""
        small = sorted((part.rows, name) for name, part in snapshot.parts.items())
        chosen: list[str] = []
        rows = 0
        for count, name in small:
            if count >= _LARGE or (rows + count > _LARGE and len(chosen) > 1):
                break
            chosen.append(name)
            rows += count
        return chosen

    def _merge(self, chosen: Mapping[str, Content]) -> None:
        twice = repeated(chosen)
        tables = []
        covers: dict[str, Ranges] = {}
        for name, part in chosen.items():
            content = damage.read(self.path / name)
            tables.append(table.without(content, twice.get(name, {})))
            for key, ranges in part.covers.items():
                covers.setdefault(key, Ranges()).add(ranges)
        rows = table.joined(tables)
        replaces = sorted(chosen)
        name = self._write(rows, "part", {"covers": _plain(covers), "replaces": replaces})
        self._parts[name] = Content(len(rows), covers, replaces)
        self._remove(replaces)

    def _remove(self, names: Iterable[str]) -> None:
        for name in names:
            with suppress(OSError):
                (self.path / name).unlink(missing_ok=True)

    def _write(
        self, rows: "table.Rows | Mapping[str, Any]", kind: str, mapping: Mapping[str, Any]
    ) -> str:
        metadata = {damage.META: json.dumps({"engine": _farlink.engine(), **mapping})}
        data = table.to_bytes(rows, metadata)
        name = damage.name_of(kind, uuid.uuid4().hex, data)
        files.write_bytes(self.path / name, data)
        return name

    def _snapshot(self) -> Snapshot:
        """Read the current snapshot."""
        return self._between_merges(self._read_snapshot)

    def _read_snapshot(self) -> Snapshot:
        """Read the footers of new files, and drop those of files that are gone.

        Raises
        ------
        _MergedError
            If files vanished while they were listed or read. A merge adds its part before it
            removes the replaced parts, so a listing may have missed both.
        """
        before = self._listed()
        names = self._listed()
        if not before <= names:
            raise _MergedError
        for name in self._parts.keys() - names:
            del self._parts[name]
        parts = {name for name in names if name.startswith("part-")}
        try:
            for name in sorted(parts - self._parts.keys()):
                self._parts[name] = damage.content(self.path / name)
            for name in sorted(names - parts - self._read_points):
                self._described |= damage.described(self.path / name)
                self._read_points.add(name)
        except FileNotFoundError as error:
            raise _MergedError from error
        replaced = {name for part in self._parts.values() for name in part.replaces}
        counting = sorted(self._parts.keys() - replaced)
        points = sorted(names - parts)
        last = self._last
        if last is None or list(last.parts) != counting or last.points != points:
            content = {name: self._parts[name] for name in counting}
            last = self._last = Snapshot(self.path, content, points)
        return last

    def _listed(self) -> set[str]:
        try:
            with os.scandir(self.path) as entries:
                return {entry.name for entry in entries if _FILE.fullmatch(entry.name)}
        except OSError as error:
            raise ScenarioError(f"{self.path}: {files.reason(error)}") from error

    @contextmanager
    def _locked(self, *, shared: bool = False) -> Iterator[bool]:
        """Hold the merge lock: exclusive to merge, or shared to keep others from merging.

        Yields False if another process holds the exclusive lock, or if the system has no file locks
        (Windows). A request for a shared lock waits.
        """
        try:
            import fcntl
        except ImportError:  # Windows has no such locks.
            yield False
            return
        handle = os.open(self.path / _HEAD, os.O_RDONLY | os.O_CLOEXEC)
        try:
            try:
                fcntl.flock(handle, fcntl.LOCK_SH if shared else fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                yield False
                return
            yield True
        finally:
            os.close(handle)


def _balanced(names: Sequence[str], snapshot: Snapshot) -> list[str]:
    """Return the first of the names by size, of which none has more rows than those before."""
    length = rows = 0
    for number, name in enumerate(names, 1):
        count = snapshot.parts[name].rows
        if count <= rows:
            length = number
        rows += count
    return list(names[:length])


def _plain(covers: Mapping[str, Ranges]) -> dict[str, list[list[int]]]:
    return {key: [list(item) for item in ranges] for key, ranges in covers.items()}


def _document(text: str) -> dict[str, Any]:
    try:
        data = json.loads(text)
    except ValueError:
        return {}
    return data if isinstance(data, dict) else {}
