"""Records goodputs of this machine's kernel over emulated paths (Linux, root).

.venv/bin/python tests/validation/kernel/record.py [PART OF PARTS]

appends the rows of `CELLS` that results.csv does not have. README.md describes the rows.
"""

import csv
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from farlink.comparison import compare

__all__ = ["CELLS", "COLUMNS", "RESULTS", "Cell"]

RESULTS = Path(__file__).with_name("results.csv")
COLUMNS = (
    "kernel", "tcp", "window", "rtt_ms", "loss", "burst", "queue", "amount", "late_p99_s",
    "goodputs",
)  # fmt: skip
RUNS = 4


@dataclass(frozen=True)
class Cell:
    """Path with the bytes to transfer and the TCPs to record."""

    window: int
    rtt_ms: int
    loss: float
    burst: int
    amount: str
    tcps: tuple[str, ...] = ("reno", "cubic")


ALL = ("reno", "cubic", "bbr")
CELLS = (
    Cell(10, 20, 0.01, 0, "8 MB", ALL),
    Cell(100, 100, 0.001, 0, "12 MB"),
    Cell(100, 100, 0.01, 0, "3 MB"),
    Cell(1000, 600, 0.001, 0, "5 MB"),
    Cell(10, 20, 0.05, 0, "3 MB", ALL),
    Cell(100, 100, 0.05, 0, "800 kB"),
    Cell(100, 20, 0.01, 0, "15 MB"),
    Cell(1000, 600, 0.01, 0, "1500 kB"),
    Cell(100, 100, 0.01, 3, "3 MB", ALL),
    Cell(100, 600, 0.01, 0, "1500 kB"),
    Cell(10, 20, 0.15, 0, "800 kB", ALL),
)


def scenario(cell: Cell) -> dict[str, Any]:
    link = {
        "rate": f"{cell.window * 12_000_000 // cell.rtt_ms} bit/s",
        "delay": f"{cell.rtt_ms / 2:g} ms",
    }
    lost = (
        {"gilbert": {"loss": cell.loss, "burst": cell.burst}} if cell.burst else {"loss": cell.loss}
    )
    down = {**link, "queue": {"packets": cell.window}, "channel": lost}
    return {
        "max_duration": "1 h",
        "links": [{"name": "link", "between": ["server", "client"], "down": down, "up": link}],
        "flows": [{"name": "file", "from": "server", "to": "client", "size": cell.amount}],
    }


def recorded() -> set[tuple[str, ...]]:
    if not RESULTS.exists():
        return set()
    with RESULTS.open(encoding="utf-8", newline="") as file:
        return {tuple(row[name] for name in COLUMNS[1:8]) for row in csv.DictReader(file)}


def record(cell: Cell, tcp: str) -> None:
    key = (tcp, str(cell.window), str(cell.rtt_ms), f"{cell.loss:g}", str(cell.burst),
           str(cell.window), cell.amount)  # fmt: skip
    if key in recorded():
        return
    row = compare(scenario(cell), [tcp], runs=RUNS).rows[0]
    sys.stderr.write(f"{' '.join(key)}: {row.ratio.mean:.3f}\n")
    kernel = os.uname().release.partition("-")[0]
    goodputs = " ".join(f"{goodput:.0f}" for goodput in row.emulated)
    with RESULTS.open("a", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerow(
            [kernel, *key, f"{row.late_s[1]:.6f}", goodputs]
        )


def main(part: int = 0, parts: int = 1) -> None:
    if not RESULTS.exists():
        RESULTS.write_text(",".join(COLUMNS) + "\n", encoding="utf-8")
    for cell in CELLS[part::parts]:
        for tcp in cell.tcps:
            record(cell, tcp)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:3]))
