"""Table of BBR's use of the link under loss: this machine's kernel beside ours.

    sudo .venv/bin/python tools/bbr_table.py record [RUNS]   # the kernel, in the emulator: an hour
    .venv/bin/python tools/bbr_table.py                      # ours, beside what was recorded

A cell is a path, a loss of data packets and a time. Use of the link is goodput with headers over
what survives the loss, in %. Run k of both sides draws the losses of seed k. `record` appends to
bbr_kernel.csv the runs of `CELLS` that are not there.
"""

import csv
import json
import os
import statistics
import sys
import tempfile
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

import farlink
from farlink import emulation
from farlink.measures import values_of

RESULTS = Path(__file__).with_name("bbr_kernel.csv")
COLUMNS = ("kernel", "mbit_s", "delay_ms", "loss", "queue", "seconds", "run", "goodput_bit_s",
           "late_p99_s")  # fmt: skip
MEMORY = {
    "tcp_wmem": "4096 16384 536870912",
    "tcp_rmem": "4096 268435456 536870912",
    "tcp_no_metrics_save": "1",
}
ON_THE_WIRE = 1500 / 1448
SIMULATED = 12


@dataclass(frozen=True)
class Cell:
    """Path with a rate, a delay each way, a loss and a queue of packets; time of the bulk."""

    mbit_s: int
    delay_ms: int
    loss: float
    queue: int
    seconds: int

    @property
    def window(self) -> int:
        """Packets of 1500 bytes in a round trip."""
        return round(self.mbit_s * 1e6 * 2 * self.delay_ms / 1e3 / 12_000)

    def used(self, goodput: float) -> float:
        """Return the use of the link in % of what survives the loss."""
        return 100 * goodput * ON_THE_WIRE / (self.mbit_s * 1e6 * (1 - self.loss))


CELLS = [
    Cell(mbit_s, delay, loss, queue, seconds)
    for mbit_s, delay, queue, seconds in (
        (60, 10, 100, 20),
        (12, 50, 100, 20),
        (2, 300, 100, 30),
        (100, 50, 1000, 20),
        (60, 100, 1000, 20),
        (20, 300, 1000, 30),
        (200, 300, 10_000, 30),
    )
    for loss in (0.01, 0.05, 0.15)
]


def scenario(cell: Cell, tcp: dict[str, Any]) -> dict[str, Any]:
    """Return the scenario of a cell."""
    link = {"rate": f"{cell.mbit_s} Mbit/s", "delay": f"{cell.delay_ms} ms"}
    down = {**link, "queue": {"packets": cell.queue}, "channel": {"loss": cell.loss}}
    return {
        "duration": f"{cell.seconds} s",
        "tcp": {**tcp, "receive_window": "256 MiB", "send_buffer": "256 MiB"},
        "links": [{"between": ["a", "b"], "down": down, "up": link}],
        "flows": [{"from": "a", "to": "b", "app": "bulk", "duration": f"{cell.seconds} s"}],
    }


def emulate(cell: Cell, run: int) -> tuple[float, float]:
    """Return goodput in bit/s and lateness in s of a run of the kernel's BBR."""
    program = [sys.executable, str(Path(__file__).with_name("bbr_bulk.py")), json.dumps(MEMORY)]
    with tempfile.TemporaryDirectory() as where:
        report = Path(where) / "bytes"
        done = emulation.emulate(
            scenario(cell, {"variant": "bbr"}),
            [*program, "fetch", "a", str(cell.seconds), str(report)],
            servers=[("a", [*program, "serve", "bbr"])],
            host="b",
            plain=True,
            run=run,
        )
        return 8 * int(report.read_text()) / cell.seconds, float(done.data["lateness"]["p99_s"])


def recorded() -> list[dict[str, str]]:
    """Return the rows of the file."""
    if not RESULTS.exists():
        return []
    with RESULTS.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def of(cell: Cell, rows: list[dict[str, str]]) -> list[dict[str, str]]:
    """Return the rows of a cell."""
    key = [f"{value:g}" for value in astuple(cell)]
    return [row for row in rows if [row[name] for name in COLUMNS[1:6]] == key]


def record(runs: int) -> None:
    """Run the kernel wherever a run is missing."""
    kernel = os.uname().release.partition("-")[0]
    for cell in CELLS:
        there = {row["run"] for row in of(cell, recorded())}
        for run in range(runs):
            if str(run) in there:
                continue
            goodput, late = emulate(cell, run)
            fresh = not RESULTS.exists()
            with RESULTS.open("a", encoding="utf-8", newline="") as file:
                writer = csv.writer(file, lineterminator="\n")
                if fresh:
                    writer.writerow(COLUMNS)
                key = [f"{value:g}" for value in astuple(cell)]
                writer.writerow([kernel, *key, run, f"{goodput:.0f}", f"{late:.6f}"])


def shown(values: list[float]) -> str:
    """Return median and range."""
    if not values:
        return "-"
    return f"{statistics.median(values):.0f} ({min(values):.0f} to {max(values):.0f})"


def main() -> None:
    """Print the table."""
    sys.stdout.write("| window | RTT | loss | kernel | `linux-bbr` | `bbr` |\n")
    sys.stdout.write("| --- | --- | --- | --- | --- | --- |\n")
    rows = recorded()
    for cell in CELLS:
        columns = [[cell.used(float(row["goodput_bit_s"])) for row in of(cell, rows)]]
        for tcp in ({"profile": "linux", "variant": "bbr"}, {"variant": "bbr"}):
            most = {"receive_window_max": "256 MiB"} if "profile" in tcp else {}
            result = farlink.run(scenario(cell, {**tcp, **most}), runs=SIMULATED)
            goodputs = values_of(result.rows("results")[0], "goodput")
            columns.append([cell.used(value) for value in goodputs if value is not None])
        path = f"{cell.window:,} | {2 * cell.delay_ms} ms | {100 * cell.loss:g} %"
        sys.stdout.write(f"| {path} | {' | '.join(shown(values) for values in columns)} |\n")
        sys.stdout.flush()


if __name__ == "__main__":
    if sys.argv[1:2] == ["record"]:
        record(int(sys.argv[2]) if sys.argv[2:] else 6)
    else:
        main()
