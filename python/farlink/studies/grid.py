"""Printed tables of a study, cell by cell, with simulated values.

The entry of a table in the record has its cells under `cells`:

    [[table]]
    id = "table5"
    [table.cells]
    columns = { "with delayed ACK" = "d", "without" = "n" }
    ours = "time(row, column)"      # expression; `row` and `column` have the values of the names
    unit = "s"
    half = 0.05                     # half width of the precision, or `share` of the printed value
    [table.cells.rows]
    SACK = { value = "sack", printed = [470.1, 463.5] }

A row may have its own `ours` (also a list, one entry per column), `unit`, `half` and `share`. An
empty text in `printed` is an empty cell. A row with `derived` follows from other cells, and an
inference (`farlink.studies.inference`) leaves it out. A cell with `none` in place of `ours` has no
run, and `none` gives the reason. A printed text is compared with a value that a function of the
study gives (`inputs`).
"""

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

from farlink.studies.agreement import Agreement, GridCell, agreement
from farlink.studies.expression import Expression
from farlink.studies.model import Model

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Grid", "amount", "check", "frame", "grid", "inputs", "published"]

_ROW = {"value", "printed", "ours", "unit", "half", "share", "none", "derived"}
_TABLE = {"columns", "rows", "ours", "unit", "half", "share", "none", "note"}


@dataclass(frozen=True)
class Grid:
    """Printed table with the simulated value of each cell.

    Attributes
    ----------
    columns, rows
        Names, in printed order.
    cells
        Cells by row and column; an empty cell is missing.
    units
        Unit of each row; may be empty.
    note
        Line of text below the table.
    kind
        "measured" by runs, "computed" or "inputs".
    """

    columns: Sequence[str]
    rows: Sequence[str]
    cells: Mapping[tuple[str, str], GridCell]
    units: Mapping[str, str] = field(default_factory=dict)
    note: str = ""
    kind: str = "measured"

    @property
    def agreement(self) -> Agreement:
        """Agreement of all cells."""
        return agreement(self.cells.values())


def grid(model: Model, entry: Mapping[str, Any], used: Iterable[str] = ()) -> Grid:
    """Compute the grid of a table's entry in the record.

    Parameters
    ----------
    model
        Model that simulates the cells.
    entry
        Entry of the table (see the module).
    used
        Cells that were used for choices of the model, such as "table5: SACK, without".
    """
    data, names = entry["cells"], model.names
    columns = list(data["columns"])
    marked = set(used)
    cells = {}
    for row, line in data["rows"].items():
        for place, column in enumerate(columns):
            printed = line["printed"][place]
            if printed == "":
                continue
            here = {**names, "row": line.get("value", row), "column": data["columns"][column]}
            mark = f"{entry['id']}: {row}, {column}" in marked
            cells[row, column] = _cell(row, column, printed, _merged(data, line), place, here, mark)
    units = {row: line.get("unit", data.get("unit", "")) for row, line in data["rows"].items()}
    return Grid(columns, list(data["rows"]), cells, units, data.get("note", ""))


def inputs(rows: Iterable[tuple[str, str, str, bool | None]], note: str = "") -> Grid:
    """Return the grid of parameters, from rows of name, printed and chosen text, and equality."""
    members = list(rows)
    cells = {
        (name, "value"): GridCell(name, "value", printed, text=ours, equal=equal)
        for name, printed, ours, equal in members
    }
    return Grid(["value"], [row[0] for row in members], cells, note=note, kind="inputs")


@cache
def published(package: str, table: str) -> Any:  # noqa: ANN401 (what the record has)
    """Return the key `published` of a table in the record (.toml files) of a package.

    Raises
    ------
    StopIteration
        If no table has the id.
    """
    folder = resources.files(package)
    files = [path for path in folder.iterdir() if path.name.endswith(".toml")]
    records = (tomllib.loads(path.read_text(encoding="utf-8")) for path in files)
    rows = (row for record in records for row in record.get("table", ()))
    return next(row["published"] for row in rows if row["id"] == table)


def frame(grid: Grid) -> "pd.DataFrame":
    """Return a table with a row per printed cell, for files."""
    import pandas as pd

    rows = [
        {
            "row": cell.row,
            "column": cell.column,
            "printed": cell.printed,
            "low": cell.low,
            "high": cell.high,
            "ours": cell.ours.mean if cell.ours is not None else cell.text,
            "half_width": None if cell.ours is None else cell.ours.estimate.half_width,
            "unit": grid.units.get(cell.row, ""),
            "ratio": cell.ratio,
            "agrees": cell.agrees,
            "used": cell.used,
            "no_run": cell.reason,
        }
        for cell in grid.cells.values()
    ]
    return pd.DataFrame(rows)


def check(entry: Mapping[str, Any], known: Iterable[str]) -> None:
    """Raise `ValueError` if the cells of a table's entry are incomplete.

    A wrong expression raises `ScenarioError`.
    """
    data, id_ = entry["cells"], entry["id"]
    if unknown := data.keys() - _TABLE:
        raise ValueError(f"table {id_}, cells: {', '.join(sorted(unknown))} is no key of it")
    names = {*known, "row", "column"}
    for row, line in data["rows"].items():
        if unknown := line.keys() - _ROW:
            raise ValueError(f"table {id_}, {row}: {', '.join(sorted(unknown))} is no key of it")
        if len(line["printed"]) != len(data["columns"]):
            raise ValueError(f"table {id_}, {row}: {len(data['columns'])} columns are printed")
        given = _merged(data, line)
        if "ours" not in given and "none" not in given:
            raise ValueError(f"table {id_}, {row}: neither ours nor none")
        if "ours" in given and not {"half", "share"} & given.keys():
            raise ValueError(f"table {id_}, {row}: neither half nor share")
        texts = given.get("ours", [])
        for text in [texts] if isinstance(texts, str) else texts:
            Expression(text, f"table {id_}, {row}").check(names)


_SCALES = {
    "": 1.0,
    "B": 1.0,
    "KiB": 1024.0,
    "s": 1.0,
    "ms": 1e-3,
    "us": 1e-6,
    "kB": 1e3,
    "MB": 1e6,
    "MiB": 1024.0**2,
    "h": 3600.0,
    "min": 60.0,
    "kbit/s": 1e3,
    "Mbit/s": 1e6,
    "frames": 1.0,
    "packets/s": 1.0,
}


def amount(text: str) -> float:
    """Parse "19.2 kbit/s" or "4096 B" to a number in bit/s, bytes or seconds.

    Raises
    ------
    ValueError
        If the unit is unknown.
    """
    number, _, unit = text.partition(" ")
    if unit not in _SCALES:
        raise ValueError(f"the unit of {text!r} is none of {', '.join(_SCALES)}")
    return float(number) * _SCALES[unit]


def _merged(data: Mapping[str, Any], line: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keys of a row; missing keys are those of the table.

    `ours` and `none`, and `half` and `share`, exclude each other.
    """
    merged = dict(line)
    for pair in (("ours", "none"), ("half", "share")):
        if not set(pair) & line.keys():
            merged |= {key: data[key] for key in pair if key in data}
    return merged


def _cell(
    row: str,
    column: str,
    printed: Any,  # noqa: ANN401 (number or text of TOML)
    line: Mapping[str, Any],
    place: int,
    names: Mapping[str, Any],
    used: bool,  # noqa: FBT001
) -> GridCell:
    if "none" in line:
        return GridCell(row, column, str(printed), reason=line["none"], used=used)
    text = line["ours"] if isinstance(line["ours"], str) else line["ours"][place]
    ours = Expression(text, f"{row}, {column}").quantity(names)
    value = float(printed)
    low, high = _interval(value, line, place)
    return GridCell(row, column, f"{printed}", value, low, high, ours, used=used)


def _interval(value: float, line: Mapping[str, Any], place: int) -> tuple[float, float]:
    """Return the interval of a printed value: `half` or `share`, one number or one per column.

    A list of two numbers in place of one has the lower and the upper end.
    """
    key = "half" if "half" in line else "share"
    given = line[key]
    given = given[place] if isinstance(given, list) else given
    if isinstance(given, list):
        low, high = (float(end) for end in given)
        return (low, high) if key == "half" else (low * value, high * value)
    half = float(given) if key == "half" else float(given) * abs(value)
    return value - half, value + half
