"""Snapshot of a store: the valid parts at one time, and views of their rows.

A query and its list of runs must come from the same snapshot, because another process may add or
merge parts between two snapshots.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from farlink.experiment.ranges import Ranges

if TYPE_CHECKING:
    import duckdb

__all__ = ["Content", "Snapshot", "repeated", "text"]


@dataclass(frozen=True)
class Content:
    """Footer of a part: its runs, and the parts that it replaces.

    Attributes
    ----------
    rows
        Number of rows.
    covers
        Runs whose numbers the part contains, by the key of their point.
    replaces
        Names of the parts that were merged into this part.
    """

    rows: int
    covers: Mapping[str, Ranges]
    replaces: Sequence[str]


@dataclass(frozen=True)
class Snapshot:
    """Valid files of a store at one time.

    Attributes
    ----------
    folder
        Folder of the store.
    parts
        Content of the parts that no other part replaces, by name, sorted.
    points
        Names of the files that describe points, sorted.
    """

    folder: Path
    parts: Mapping[str, Content]
    points: Sequence[str]

    @cached_property
    def covered(self) -> dict[str, Ranges]:
        """Stored runs, by the key of their point."""
        covered: dict[str, Ranges] = {}
        for part in self.parts.values():
            for key, ranges in part.covers.items():
                covered.setdefault(key, Ranges()).add(ranges)
        return covered

    @property
    def files(self) -> list[Path]:
        """Paths of all files that the SQL views read."""
        return [self.folder / name for name in (*self.parts, *self.points)]

    def add_views(self, duck: "duckdb.DuckDBPyConnection") -> None:
        """Create the views `results` and `points` in a DuckDB connection."""
        self._add_results(duck)
        self._add_points(duck)

    def _add_results(self, duck: "duckdb.DuckDBPyConnection") -> None:
        if not self.parts:
            duck.execute(
                "create table results (point text, run integer, scope text, name text, "
                "measure text, value double)"
            )
            return
        rows = [
            (name, key, low, high)
            for name, keys in repeated(self.parts).items()
            for key, ranges in keys.items()
            for low, high in ranges
        ]
        listed = ", ".join(text(str(self.folder / name)) for name in self.parts)
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

    def _add_points(self, duck: "duckdb.DuckDBPyConnection") -> None:
        if not self.points:
            duck.execute(
                "create table points (experiment text, point text, factors map(text, text), "
                "engine text, seed ubigint, scenario text)"
            )
            return
        listed = ", ".join(text(str(self.folder / name)) for name in self.points)
        duck.execute(
            "create view points as select distinct * "  # noqa: S608 (our names)
            "replace (factors::json::map(text, text) as factors) "
            f"from read_parquet([{listed}])"
        )


def repeated(parts: Mapping[str, Content]) -> dict[str, dict[str, Ranges]]:
    """Return the runs of each part that an earlier part also contains, by point key."""
    seen: dict[str, Ranges] = {}
    twice: dict[str, dict[str, Ranges]] = {}
    for name, part in parts.items():
        for key, ranges in part.covers.items():
            before = seen.setdefault(key, Ranges())
            if common := before.common(ranges):
                twice.setdefault(name, {})[key] = common
            before.add(ranges)
    return twice


def text(value: str) -> str:
    """Quote a string as an SQL literal."""
    return "'" + value.replace("'", "''") + "'"
