"""Record of the grid: recorded/ has a file per TCP with a line per cell."""

import csv
from collections.abc import Iterable
from pathlib import Path

from grid import Cell, Measured

__all__ = ["DIRECTORY", "read", "write"]

DIRECTORY = Path(__file__).with_name("recorded")
_COLUMNS = ("window", "rtt_ms", "loss", "burst", "flows", "start_ms", "end_ms", "delivered")


def write(row: str, measured: Iterable[Measured]) -> None:
    """Write the record of a TCP."""
    DIRECTORY.mkdir(exist_ok=True)
    with (DIRECTORY / f"{row}.csv").open("w", encoding="utf-8", newline="") as file:
        lines = csv.writer(file, lineterminator="\n")
        lines.writerow(_COLUMNS)
        for result in measured:
            cell = result.cell
            delivered = " ".join(map(str, result.delivered))
            lines.writerow(
                (cell.window, cell.rtt_ms, f"{cell.loss:g}", cell.burst, cell.flows,
                 result.start_ms, result.end_ms, delivered)
            )  # fmt: skip


def read(row: str) -> dict[Cell, Measured]:
    """Read the record of a TCP; return an empty record if there is no file."""
    path = DIRECTORY / f"{row}.csv"
    if not path.exists():
        return {}
    with path.open(encoding="utf-8", newline="") as file:
        return {result.cell: result for result in map(_measured, csv.DictReader(file))}


def _measured(line: dict[str, str]) -> Measured:
    cell = Cell(
        int(line["window"]), int(line["rtt_ms"]), float(line["loss"]), int(line["burst"]),
        int(line["flows"]),
    )  # fmt: skip
    delivered = tuple(map(int, line["delivered"].split()))
    return Measured(cell, int(line["start_ms"]), int(line["end_ms"]), delivered)
