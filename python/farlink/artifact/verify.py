"""Verification of an archive: repeats its runs, sweeps and studies, and compares every number."""

import csv
import io
import json
import math
import shlex
import struct
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from farlink import _farlink, api, columns
from farlink.artifact.archive import Archive
from farlink.artifact.pack import KINDS
from farlink.errors import FarlinkError, ScenarioError

if TYPE_CHECKING:
    from farlink.experiment.points import Point

__all__ = ["Difference", "Item", "Verification", "verify"]

_NO_NUMBERS = ("wall_s", "version", "command", "simulated_runs", "events")
"""Keys that are not compared, because they depend on how a result was made, not on its numbers."""


@dataclass(frozen=True)
class Difference:
    """Value that differs from the archive: its place, the packed value, and the new value."""

    where: str
    packed: object
    again: object


@dataclass
class Item:
    """Result of the archive, with the outcome of its comparison.

    Attributes
    ----------
    folder, kind, command
        Folder in the archive, "run", "sweep" or "study", and the command that repeats the result.
    numbers
        Number of compared numbers.
    differences
        Values that are not equal to the bit.
    """

    folder: str
    kind: str
    command: str
    numbers: int = 0
    differences: list[Difference] = field(default_factory=list)


@dataclass(frozen=True)
class Verification:
    """Outcome of `verify`.

    Attributes
    ----------
    items
        The compared results.
    altered
        Sentences about files that were changed after packing.
    packed_with, engine_differs
        Comparison of an archive with the present engine: its version, and whether the engine
        differs.
    """

    items: Sequence[Item]
    altered: Sequence[str]
    packed_with: str
    engine_differs: bool

    @property
    def is_same(self) -> bool:
        """Whether every number is identical and no file was changed."""
        return not self.altered and not any(item.differences for item in self.items)


def verify(
    path: str | Path,
    *,
    jobs: int | None = None,
    tell: Callable[[str], None] | None = None,
) -> Verification:
    """Repeat all results of an archive and compare each number.

    Figures are not compared, because their pixels depend on fonts. Nothing is written outside a
    temporary folder.

    Parameters
    ----------
    path
        Archive that `pack` wrote.
    jobs
        Number of threads; by default one per processor.
    tell
        Callback that gets a line of text before each result.

    Raises
    ------
    ScenarioError
        If the file is not an archive, or is damaged.
    RunError
        If a run failed.
    """
    packed = Archive(Path(path))
    items = []
    for entry in packed.head["results"]:
        item = Item(entry["folder"], entry["kind"], entry["command"])
        if item.kind not in _AGAIN:
            raise ScenarioError(f"{path}: {item.folder}: kind {item.kind!r} is not known")
        if tell:
            tell(f"{item.folder}: {item.command}")
        with tempfile.TemporaryDirectory(prefix="farlink-verify-") as place:
            try:
                _AGAIN[item.kind](packed, item, Path(place), jobs)
            except FarlinkError:
                raise
            except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
                raise ScenarioError(
                    f"{path}: {item.folder} is no result of this kind; pack it again"
                ) from error
        items.append(item)
    return Verification(
        items, packed.altered, str(packed.head.get("farlink")),
        packed.head.get("engine") != _farlink.engine(),
    )  # fmt: skip


def _run_again(packed: Archive, item: Item, place: Path, jobs: int | None) -> None:
    document = packed.document(f"{item.folder}/{KINDS['run']}")
    (place / "result.json").write_text(json.dumps(document), encoding="utf-8")
    result = api.run(place / "result.json", jobs=jobs)
    _compare_trees(item, KINDS["run"], document, result.data)
    names = packed.names_in(item.folder)
    for kind, compare in (("parquet", _compare_tables), ("csv", _compare_csv)):
        traces = [name for name in names if name.endswith(f".{kind}")]
        if traces:
            result.save(place / kind, table_format=kind)
        for name in traces:
            now = (place / kind / name).read_bytes() if (place / kind / name).is_file() else b""
            compare(item, name, packed.read(f"{item.folder}/{name}"), now)
    captures = {
        name: packed.read(f"{item.folder}/{name}") for name in names if name.endswith(".pcapng")
    }
    for snaplen in sorted({_snaplen(data) for data in captures.values()}):
        result.save_pcaps(place / f"pcapng-{snaplen}", snaplen=snaplen)
    for name, data in captures.items():
        again = place / f"pcapng-{_snaplen(data)}" / name
        if not again.is_file() or again.read_bytes() != data:
            item.differences.append(Difference(f"{name}: packets", "as packed", "others"))


def _snaplen(capture: bytes) -> int:
    """Return the snap length of the first interface of a pcapng file (0: whole packets).

    Raises
    ------
    ValueError
        If the data is not a pcapng file.
    """
    try:
        order = {b"\x4d\x3c\x2b\x1a": "<", b"\x1a\x2b\x3c\x4d": ">"}[capture[8:12]]
        (length,) = struct.unpack_from(order + "I", capture, 4)
        kind, _, _, _, snaplen = struct.unpack_from(order + "IIHHI", capture, length)
    except (KeyError, struct.error) as error:
        raise ValueError("no capture") from error
    if kind != 1:
        raise ValueError("no interface in a capture")
    return int(snaplen)


def _sweep_again(packed: Archive, item: Item, _place: Path, jobs: int | None) -> None:
    from farlink.experiment import document as sweepfile
    from farlink.experiment.experiment import Experiment

    document = packed.document(f"{item.folder}/{KINDS['sweep']}")
    points = sweepfile.points(document)
    experiment = Experiment(jobs=jobs)
    experiment.simulate(points)
    table = list(csv.reader(io.StringIO(packed.text(f"{item.folder}/results.csv"))))
    rows = [row[-4:] for row in table[1:]]
    measures = [str(measure) for measure in document["measures"]]
    again = list(_estimates(experiment, points, measures, float(document["probability"])))
    if len(rows) != len(again):
        item.differences.append(Difference("results.csv: rows", len(rows), len(again)))
    for number, (row, values) in enumerate(zip(rows, again, strict=False), 2):
        for column, before, now in zip(table[0][-4:], row, values, strict=False):
            _compare(item, f"results.csv:{number} {column}", _number(before), now)


def _estimates(
    experiment: Any,  # noqa: ANN401 (Experiment, imported when it is needed)
    points: Sequence[tuple["Point", int]],
    measures: Sequence[str],
    probability: float,
) -> Iterator[tuple[float, ...]]:
    """Yield mean, bounds and n for each row of results.csv."""
    from farlink.stats import mean_ci95

    for measure in measures:
        for point, runs in points:
            values = experiment.values(point, measure, runs).tolist()
            listed = [None if math.isnan(value) else value for value in values]
            estimate = mean_ci95(listed, probability)
            parts = (estimate.mean, estimate.low, estimate.high)
            yield *(math.nan if part is None else part for part in parts), estimate.n


def _study_again(packed: Archive, item: Item, place: Path, jobs: int | None) -> None:
    from farlink.studies.runner import study

    document = packed.document(f"{item.folder}/{KINDS['study']}")
    options = _study_options(str(document.get("command")))
    result = study(str(document.get("study")), jobs=jobs, **options)
    result.save(place / "again")
    again = json.loads((place / "again" / KINDS["study"]).read_text(encoding="utf-8"))
    _compare_trees(item, KINDS["study"], document, again)
    for name in packed.names_in(item.folder):
        if name.endswith(".csv"):
            now = (place / "again" / name).read_bytes()
            _compare_csv(item, name, packed.read(f"{item.folder}/{name}"), now)


def _study_options(command: str) -> dict[str, Any]:
    """Parse the command stored by a study into arguments of `study`.

    Raises
    ------
    ScenarioError
        If the command has an option that `study` does not support here.
    """
    flags = {"--quick", "--readings", "--causes", "--mutants"}
    values: dict[str, Callable[[str], Any]] = {
        "--only": lambda text: text.split(","), "--runs": int, "--seed": int, "--reading": str,
    }  # fmt: skip
    options: dict[str, Any] = {}
    try:
        words = iter(shlex.split(command)[3:])
        for word in words:
            if word in flags:
                options[word[2:]] = True
            else:
                options[word[2:]] = values[word](next(words))
    except (KeyError, ValueError, StopIteration) as error:
        raise ScenarioError(f"the command {command!r} cannot be run again here") from error
    return options


_AGAIN: Mapping[str, Callable[[Archive, Item, Path, int | None], None]] = {
    "run": _run_again,
    "sweep": _sweep_again,
    "study": _study_again,
}


def _compare_trees(item: Item, name: str, before: object, now: object) -> None:
    """Compare two JSON trees leaf by leaf."""
    if isinstance(before, dict) and isinstance(now, dict):
        for key in {**before, **now}:
            if key not in _NO_NUMBERS:
                absent = "absent"
                _compare_trees(item, f"{name} {key}", before.get(key, absent), now.get(key, absent))
    elif isinstance(before, list) and isinstance(now, list) and len(before) == len(now):
        for place, (left, right) in enumerate(zip(before, now, strict=True)):
            _compare_trees(item, f"{name}[{place}]", left, right)
    else:
        _compare(item, name, before, now)


def _compare_csv(item: Item, name: str, before: bytes, now: bytes) -> None:
    """Compare two CSV tables cell by cell."""
    texts = (data.decode(errors="replace") for data in (before, now))
    tables = [list(csv.reader(io.StringIO(text))) for text in texts]
    if [len(row) for row in tables[0]] != [len(row) for row in tables[1]]:
        item.differences.append(Difference(f"{name}: shape", len(tables[0]), len(tables[1])))
        return
    for number, (row, again) in enumerate(zip(*tables, strict=True), 1):
        for left, right in zip(row, again, strict=True):
            _compare(item, f"{name}:{number}", _number(left), _number(right))


def _compare_tables(item: Item, name: str, before: bytes, now: bytes) -> None:
    """Compare two trace tables column by column; a differing column is one difference."""
    try:
        names = _farlink.parquet_footer(before)[2]
        packed = columns.from_parquet(before, names)
        again_names = _farlink.parquet_footer(now)[2]
        again = columns.from_parquet(now, again_names)
    except ValueError as error:
        raise ScenarioError(f"{item.folder}/{name} is damaged; fetch the archive again") from error
    for column in names:
        item.numbers += len(packed)
        if column not in again_names or packed.column(column) != again.column(column):
            rows = (f"{len(table)} rows" for table in (packed, again))
            item.differences.append(Difference(f"{name} {column}", *rows))


def _compare(item: Item, where: str, before: object, now: object) -> None:
    numeric = isinstance(before, int | float) and not isinstance(before, bool)
    item.numbers += numeric
    both_missing = before != before and now != now
    if before != now and not both_missing:
        item.differences.append(Difference(where, before, now))


def _number(text: str) -> float | str:
    """Return a cell as a number if possible; an empty cell is NaN."""
    try:
        return float(text) if text else math.nan
    except ValueError:
        return text
