"""Folder of a recording: recording.toml, a CSV for each direction, and a scenario that runs.

Rate, delay and loss of a moment are in one row of the CSV, which `rate_trace`, `delay_trace` and
`loss_trace` read as it is.
"""

import csv
import json
import tomllib
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from farlink import files, folder, units
from farlink.errors import ScenarioError
from farlink.recordings.document import (
    COLUMNS,
    MOST,
    MOST_ROWS,
    ORIGINS,
    Column,
    Direction,
    Phases,
    Recording,
    Traffic,
    rounded,
)
from farlink.recordings.scenario import scenario

if TYPE_CHECKING:
    from farlink.recordings.document import Whole

__all__ = ["DOCUMENT", "load", "save"]

DOCUMENT = "recording.toml"
SCENARIO = "scenario.toml"

FORMAT = 1

_T = TypeVar("_T")

_HEADS = {"rate": "rate (Mbit/s)", "delay": "delay (ms)", "loss": "loss"}
_SCALES = {"rate": 1e6, "delay": 1e-3, "loss": 1.0}
_DECIMALS = {"rate": 6, "delay": 3, "loss": 6}


def save(recording: Recording, directory: Path) -> None:
    """Write a recording into a folder, completely or not at all.

    Raises
    ------
    OutputError
        If the folder cannot be written.
    """
    if directory.exists() and not directory.is_dir():
        raise ScenarioError(f"--out {directory}: is a file; give a folder")
    with folder.filling(directory, last=DOCUMENT) as stage:
        for name, direction in recording.directions:
            files.write_pieces(stage / f"{name}.csv", _csv(recording, direction))
            if direction.opportunities is not None:
                text = "".join(f"{time}\n" for time in direction.opportunities)
                files.write_text(stage / f"{name}.trace", text)
        files.write_text(stage / SCENARIO, scenario(recording))
        files.write_text(stage / DOCUMENT, _document(recording))


def _csv(recording: Recording, direction: Direction) -> Iterator[str]:
    """Yield the rows; the last one marks the end and repeats the values before it."""
    columns = [name for name in COLUMNS if direction.column(name).values is not None]
    marks = recording.phase_of_rows()
    yield ",".join(["time (s)", *(_HEADS[name] for name in columns), "phase"]) + "\n"
    texts = []
    for name in columns:
        values = direction.column(name).values
        scale, decimals = _SCALES[name], _DECIMALS[name]
        texts.append(
            [f"{value / scale:.{decimals}f}" for value in ([] if values is None else values)]
        )
    for row in range(recording.rows + 1):
        at = min(row, recording.rows - 1)
        cells = [f"{row * recording.step:.3f}", *(text[at] for text in texts), str(marks[at])]
        yield ",".join(cells) + "\n"


def _document(recording: Recording) -> str:
    """Return the TOML of everything except the rows."""
    lines = [
        f"format = {FORMAT}",
        f"name = {quoted(recording.name)}",
        f"kind = {quoted(recording.kind)}",
        f"source = {quoted(recording.source)}",
        f"licence = {quoted(recording.licence)}",
        f"step_s = {recording.step!r}",
        f"rows = {recording.rows}",
        f"keep_order = {str(recording.keep_order).lower()}",
        f"notes = [{', '.join(map(quoted, recording.notes))}]",
    ]
    if recording.start is not None:
        lines.append(f"start = {recording.start.astimezone(UTC).isoformat()}")
    for file in recording.files:
        lines += ["", "[[files]]", *(f"{key} = {_value(file[key])}" for key in file)]
    if recording.phases is not None:
        lines += ["", *_phases(recording.phases)]
    for name, direction in recording.directions:
        for column in COLUMNS:
            lines += ["", f"[{name}.{column}]", *_column(direction.column(column))]
        lines += ["", f"[{name}.traffic]", *_traffic(direction.traffic)]
    return "\n".join(lines) + "\n"


def _phases(phases: Phases) -> Iterator[str]:
    yield "[phases]"
    yield f"origin = {quoted(phases.origin)}"
    yield f"by = {quoted(phases.by)}"
    for name, value in (("period_s", phases.period), ("first_s", phases.first)):
        if value is not None:
            yield f"{name} = {float(value)!r}"
    if phases.changed is not None:
        yield f"changed = {phases.changed}"
    yield f"starts = [{', '.join(map(str, phases.starts))}]"
    if phases.paths:
        yield f"paths = [{', '.join(map(quoted, phases.paths))}]"


def _column(column: Column) -> Iterator[str]:
    yield f"origin = {quoted(column.origin)}"
    yield f"by = {quoted(column.by)}"
    if column.values is None:
        yield f"constant = {float(column.constant or 0.0)!r}"


def _traffic(traffic: Traffic) -> Iterator[str]:
    yield f"by = {quoted(traffic.by)}"
    for name, value in (
        ("offered_bit_s", traffic.offered),
        ("share", traffic.share),
        ("queueing", traffic.queueing),
    ):
        if value is not None:
            yield f"{name} = {float(value)!r}"
    yield f"effect = {quoted(traffic.effect)}"


def quoted(text: object) -> str:
    """Return a text as a string of TOML."""
    whole = "".join(c if c.isprintable() or c in "\t\n" else "?" for c in str(text))
    return json.dumps(whole, ensure_ascii=False)


def _value(value: object) -> str:
    return str(value) if isinstance(value, int) else quoted(value)


def load(directory: Path) -> Recording:
    """Read the folder of a recording.

    Raises
    ------
    ScenarioError
        If a file is missing or damaged.
    """
    path = directory / DOCUMENT
    try:
        tree = tomllib.loads(files.read_text(path))
    except tomllib.TOMLDecodeError as error:
        raise ScenarioError(f"{path}: {error}") from error
    reader = _Reader(path, tree)
    if reader.get("format", int) != FORMAT:
        raise ScenarioError(f"{path}: format {tree.get('format')!r}; this farlink reads {FORMAT}")
    step = reader.number("step_s", 1e-3, 1e6)
    rows = reader.whole("rows", 1, MOST_ROWS)
    start = tree.get("start")
    if start is not None and not (isinstance(start, datetime) and start.tzinfo is not None):
        raise ScenarioError(f"{path}: start is no time with a zone")
    return Recording(
        name=reader.get("name", str),
        kind=reader.get("kind", str),
        source=reader.get("source", str),
        licence=reader.get("licence", str),
        step=step,
        rows=rows,
        down=_direction(directory, reader, "down", rows),
        up=_direction(directory, reader, "up", rows),
        start=start,
        phases=_read_phases(reader, rows),
        keep_order=reader.get("keep_order", bool),
        files=tuple(reader.tables("files")),
        notes=tuple(reader.texts("notes")),
    )


class _Reader:
    """Values of a TOML document, checked."""

    def __init__(self, path: Path, tree: Mapping[str, Any]) -> None:
        self.path, self.tree = path, tree

    def find(self, name: str) -> Any:  # noqa: ANN401 (whatever TOML has)
        at: Any = self.tree
        for part in name.split("."):
            at = at.get(part) if isinstance(at, dict) else None
        return at

    def get(self, name: str, kind: type[_T]) -> _T:
        value = self.find(name)
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise ScenarioError(f"{self.path}: {name} is missing or of another type")
        return value

    def number(self, name: str, low: float, high: float) -> float:
        value = self.find(name)
        good = isinstance(value, int | float) and not isinstance(value, bool)
        if not good or not low <= value <= high:
            raise ScenarioError(f"{self.path}: {name} is no number from {low:g} to {high:g}")
        return float(value)

    def maybe(self, name: str, low: float, high: float) -> float | None:
        return None if self.find(name) is None else self.number(name, low, high)

    def whole(self, name: str, low: int, high: int) -> int:
        value = self.get(name, int)
        if not low <= value <= high:
            raise ScenarioError(f"{self.path}: {name} is no whole number from {low} to {high}")
        return value

    def texts(self, name: str) -> list[str]:
        value = self.find(name)
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise ScenarioError(f"{self.path}: {name} is no list of texts")
        return value

    def tables(self, name: str) -> list[dict[str, object]]:
        value = self.find(name)
        value = [] if value is None else value
        good = isinstance(value, list) and all(
            isinstance(item, dict) and all(isinstance(part, str | int) for part in item.values())
            for item in value
        )
        if not good:
            raise ScenarioError(f"{self.path}: {name} is no list of tables")
        return list(value)


def _read_phases(reader: _Reader, rows: int) -> Phases | None:
    import numpy as np

    if reader.find("phases") is None:
        return None
    starts = reader.get("phases.starts", list)
    good = all(isinstance(row, int) and not isinstance(row, bool) for row in starts)
    if not good or not all(
        before < after for before, after in zip([0, *starts], [*starts, rows], strict=True)
    ):
        raise ScenarioError(f"{reader.path}: phases.starts are no rising rows from 1 to {rows - 1}")
    paths = reader.texts("phases.paths") if reader.find("phases.paths") is not None else []
    changed = reader.find("phases.changed")
    return Phases(
        starts=np.array(starts, dtype=np.int64),
        origin=_origin(reader, "phases.origin"),
        by=reader.get("phases.by", str),
        period=reader.maybe("phases.period_s", 1e-3, 1e6),
        first=reader.maybe("phases.first_s", 0, 1e9),
        changed=None if changed is None else reader.whole("phases.changed", 0, rows),
        paths=tuple(paths),
    )


def _origin(reader: _Reader, name: str) -> str:
    origin = reader.get(name, str)
    if origin not in ORIGINS:
        raise ScenarioError(f"{reader.path}: {name} = {origin!r}; write {', '.join(ORIGINS)}")
    return origin


def _direction(directory: Path, reader: _Reader, name: str, rows: int) -> Direction:
    columns = _rows(directory / f"{name}.csv", rows)
    made = {}
    for column in COLUMNS:
        where = f"{name}.{column}"
        values = columns.get(column)
        constant = None
        if values is None:
            constant = reader.number(f"{where}.constant", 0, MOST[column])
        by = reader.get(f"{where}.by", str)
        made[column] = Column(_origin(reader, f"{where}.origin"), by, constant, values)
    where = f"{name}.traffic"
    traffic = Traffic(
        by=reader.get(f"{where}.by", str),
        offered=reader.maybe(f"{where}.offered_bit_s", 0, MOST["rate"]),
        share=reader.maybe(f"{where}.share", 0, 1e9),
        queueing=reader.maybe(f"{where}.queueing", 0, 1),
        effect=reader.get(f"{where}.effect", str),
    )
    times = _opportunities(directory / f"{name}.trace")
    return Direction.of(made, traffic, times)


def _opportunities(path: Path) -> "Whole | None":
    if not files.is_file(path):
        return None
    from farlink.recordings import mahimahi, reading

    return mahimahi.opportunities(reading.read(path))


def _rows(path: Path, rows: int) -> dict[str, Any]:
    """Return the columns of a CSV by their names, without the row that marks the end."""
    import numpy as np

    reader = csv.reader(files.read_text(path).splitlines())
    head = next(reader, [])
    names = {text: name for name, text in _HEADS.items()}
    if head[:1] != ["time (s)"]:
        raise ScenarioError(f"{path}: the first column is not 'time (s)'")
    cells = list(reader)
    if len(cells) != rows + 1 or any(len(row) != len(head) for row in cells):
        raise ScenarioError(f"{path}: not {rows + 1} rows of {len(head)} values")
    columns = {}
    for at, text in enumerate(head):
        name = names.get(text)
        if name is None:
            continue
        try:
            values = np.array([float(row[at]) for row in cells[:-1]]) * _SCALES[name]
        except ValueError as error:
            raise ScenarioError(f"{path}: a value of {text!r} is no number") from error
        if not bool((np.isfinite(values) & (values >= 0) & (values <= MOST[name])).all()):
            raise ScenarioError(f"{path}: a value of {text!r} is out of range")
        columns[name] = rounded(name, values)
    return columns


def in_units(name: str, value: float) -> str:
    """Return a value of a column with its unit, as in a scenario."""
    if name == "rate":
        factor, unit = units.prefixed(value, "bit/s")
        return f"{value / factor:.10g} {unit}"
    return f"{1e3 * value:.6g} ms" if name == "delay" else f"{value:.6g}"
