"""Records bulk transfers of this machine's BBR over emulated paths (Linux, root; an hour).

sudo .venv/bin/python tests/validation/kernel/record_bulk.py [RUNS]

adds to results.csv the runs of `CELLS` that it does not have. Run k has the losses of seed k.
README.md says how rows are made.
"""

import csv
import json
import os
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from record import COLUMNS, RESULTS

from farlink import emulation

MEMORY = {
    "tcp_wmem": "4096 16384 536870912",
    "tcp_rmem": "4096 268435456 536870912",
    "tcp_no_metrics_save": "1",
}


@dataclass(frozen=True)
class Cell:
    """Path with a loss of data packets, and the seconds of the bulk transfer."""

    window: int
    rtt_ms: int
    loss: float
    queue: int
    seconds: int

    @property
    def key(self) -> tuple[str, ...]:
        """First columns of the row, after the kernel's version."""
        path = (str(self.window), str(self.rtt_ms), f"{self.loss:g}", "0", str(self.queue))
        return ("bbr", *path, f"{self.seconds} s")


CELLS = [
    Cell(window, rtt, loss, 1000 if window == 833 else window, seconds)
    for window, rtt, seconds in (
        (100, 20, 20),
        (100, 100, 20),
        (100, 600, 30),
        (833, 100, 20),
        (1000, 200, 20),
        (1000, 600, 30),
        (10_000, 600, 30),
    )
    for loss in (0.01, 0.05, 0.15)
]


def scenario(cell: Cell) -> dict[str, Any]:
    """Return the scenario of a cell."""
    rate = cell.window * 12e6 / cell.rtt_ms
    link = {"rate": f"{rate:.0f} bit/s", "delay": f"{cell.rtt_ms / 2:g} ms"}
    down = {**link, "queue": {"packets": cell.queue}, "channel": {"loss": cell.loss}}
    return {
        "duration": f"{cell.seconds} s",
        "tcp": {"variant": "bbr", "receive_window": "256 MiB", "send_buffer": "256 MiB"},
        "links": [{"between": ["a", "b"], "down": down, "up": link}],
        "flows": [{"from": "a", "to": "b", "app": "bulk", "duration": f"{cell.seconds} s"}],
    }


def emulate(cell: Cell, run: int) -> tuple[float, float]:
    """Return goodput in bit/s and lateness in s of a run of the kernel's BBR."""
    program = [sys.executable, str(Path(__file__).with_name("bulk.py")), json.dumps(MEMORY)]
    with tempfile.TemporaryDirectory() as where:
        report = Path(where) / "bytes"
        done = emulation.emulate(
            scenario(cell),
            [*program, "fetch", "a", str(cell.seconds), str(report)],
            servers=[("a", [*program, "serve", "bbr"])],
            host="b",
            plain=True,
            run=run,
        )
        return 8 * int(report.read_text()) / cell.seconds, float(done.data["lateness"]["p99_s"])


def main(runs: int = 6) -> None:
    """Run the kernel for each missing row."""
    kernel = os.uname().release.partition("-")[0]
    for cell in CELLS:
        with RESULTS.open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        known = {tuple(row[name] for name in COLUMNS[1:8]): row for row in rows}
        row = known.get(cell.key)
        if row is None:
            row = dict(zip(COLUMNS, (kernel, *cell.key, "0", ""), strict=True))
            rows.append(row)
        for run in range(len(row["goodputs"].split()), runs):
            goodput, late = emulate(cell, run)
            row["goodputs"] = f"{row['goodputs']} {goodput:.0f}".strip()
            row["late_p99_s"] = f"{max(late, float(row['late_p99_s'])):.6f}"
            with RESULTS.open("w", encoding="utf-8", newline="") as file:
                lines = csv.DictWriter(file, COLUMNS, lineterminator="\n")
                lines.writeheader()
                lines.writerows(rows)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
