"""Printed cells to which a study is fitted, and those that judge the fit.

The split is drawn by seed, table by table (stratified). Cells that were used for a choice of the
model are never in the held-out half. Two kinds of rows are left out: rows marked `derived`, which
follow from other cells, and rows that repeat the numbers of an earlier row of their table. A row of
one cell is no repetition, because two numbers may be equal by chance.
"""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from farlink.studies.agreement import GridCell
from farlink.studies.grid import grid
from farlink.studies.model import Model

__all__ = ["Split", "Target", "keys", "measure", "split"]

Key = tuple[str, str, str]
"""Table, row and column of a cell."""


@dataclass(frozen=True)
class Target:
    """Printed cell of a table as a target of the fit."""

    table: str
    row: str
    column: str
    used: bool = False

    @property
    def key(self) -> Key:
        """Table, row and column."""
        return self.table, self.row, self.column

    @property
    def text(self) -> str:
        """Name as `cells` of a choice writes it."""
        return f"{self.table}: {self.row}, {self.column}"


@dataclass(frozen=True)
class Split:
    """Targets of the fit, and held-out targets that judge it."""

    seed: int
    fitted: Sequence[Target]
    held_out: Sequence[Target]


def keys(tables: Mapping[str, Mapping[str, Any]], used: Sequence[str] = ()) -> list[Target]:
    """Return the targets of tables (entries of a record by id), in printed order.

    `used` has the cells that choices of the model used.
    """
    marked, members = set(used), []
    for id_, entry in tables.items():
        if "cells" not in entry:
            continue
        data, before = entry["cells"], []
        for row, line in data["rows"].items():
            repeats = len(line["printed"]) > 1 and line["printed"] in before
            if line.get("derived") or "none" in line or repeats:
                continue
            before.append(line["printed"])
            for place, column in enumerate(data["columns"]):
                if line["printed"][place] != "":
                    text = f"{id_}: {row}, {column}"
                    members.append(Target(id_, row, column, text in marked))
    return members


def split(targets: Sequence[Target], seed: int) -> Split:
    """Draw half of the targets of each table for the fit; the others are held out.

    Used cells fill the fitted half first. A single remaining cell goes to a random half.
    """
    fitted: list[Target] = []
    held_out: list[Target] = []
    for table in dict.fromkeys(target.table for target in targets):
        members = [target for target in targets if target.table == table]
        draw = random.Random(f"{seed}:{table}")  # noqa: S311 (a split, no secret)
        half = len(members) // 2 + (draw.random() < 0.5 if len(members) % 2 else 0)
        order = draw.sample(members, len(members))
        order.sort(key=lambda target: not target.used)
        fits = {target.key for target in order[: max(half, sum(t.used for t in members))]}
        fitted += [target for target in members if target.key in fits]
        held_out += [target for target in members if target.key not in fits]
    return Split(seed, fitted, held_out)


def measure(
    model: Model, tables: Mapping[str, Mapping[str, Any]], targets: Sequence[Target]
) -> dict[Key, GridCell]:
    """Return the cells of the targets under a model. Only their rows are simulated."""
    cells: dict[Key, GridCell] = {}
    for id_ in dict.fromkeys(target.table for target in targets):
        wanted = {(t.row, t.column) for t in targets if t.table == id_}
        for place, made in grid(model, _only(tables[id_], wanted)).cells.items():
            cells[id_, *place] = made
    return cells


def _only(entry: Mapping[str, Any], wanted: set[tuple[str, str]]) -> dict[str, Any]:
    """Return an entry of a table with only the wanted cells; the others are empty."""
    data = entry["cells"]
    rows = {}
    for row, line in data["rows"].items():
        printed = [
            value if (row, column) in wanted else ""
            for value, column in zip(line["printed"], data["columns"], strict=True)
        ]
        if any(value != "" for value in printed):
            rows[row] = {**line, "printed": printed}
    return {**entry, "cells": {**data, "rows": rows}}
