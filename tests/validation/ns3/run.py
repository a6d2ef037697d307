"""Runs the cases with programs built from reference.cc and prints the rows of results.csv.

    python run.py ENGINE PROGRAM TCP SEEDS >> results.csv

ENGINE is the name in the column, PROGRAM is the binary, and TCP is `newreno` (unmodified ns-3, SACK
only) or `rfc5681` (with the changes of README.md, with and without SACK).
"""

import csv
import statistics
import subprocess
import sys
from collections.abc import Iterator
from typing import TextIO

MIB = 1 << 20
TERRESTRIAL = {"accRate": "100e6", "accDelay": "0", "downRate": "10e6", "upRate": "10e6"}
PHASES = 11
"""Runs of a case without randomness: delays of 24.5 to 25.5 ms in steps of 0.1 ms."""

Case = tuple[str, dict[str, str]]


def cases() -> Iterator[Case]:
    for delayed in "01":
        for ber, mib, window in (
            ("1e-06", 10, 65535),
            ("1e-06", 10, MIB),
            ("1e-05", 5, 65535),
            ("1e-07", 10, 65535),
        ):
            options = {"ber": ber, "n": str(mib * MIB), "window": str(window), "delack": delayed}
            yield f"geo-{mib}MiB", options
        for loss in ("0.001", "0.01", "0.03"):
            options = {"per": loss, "n": str(20 * MIB), "window": str(MIB), "delack": delayed}
            yield "terrestrial-20MiB", {**options, **TERRESTRIAL, "delay": "20", "queue": "100"}
    options = {"ber": "1e-06", "n": str(50 * MIB), "window": "65535", "delack": "0"}
    yield "geo-50MiB", options
    for queue in ("20", "50"):
        options = {"bulk": "60", "window": str(MIB), "delack": "0", "queue": queue}
        yield "drop-tail-60s", {**options, **TERRESTRIAL}


def run(program: str, options: dict[str, str]) -> list[float]:
    command = [program, *(f"--{key}={value}" for key, value in options.items())]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return [float(field) for field in done.stdout.split(",")]


def write(to: TextIO, engine: str, program: str, tcp: str, seeds: int) -> None:
    rows = csv.writer(to, lineterminator="\n")
    for name, options in cases():
        for sack in "01" if tcp == "rfc5681" else "1":
            recovery = "option1" if sack == "0" else "classic"
            fixed = {**options, "tcp": tcp, "sack": sack, "recovery": recovery}
            if "bulk" in options:
                runs = [{**fixed, "delay": f"{24.5 + 0.1 * k:.1f}"} for k in range(PHASES)]
            else:
                runs = [{**fixed, "run": str(seed)} for seed in range(1, seeds + 1)]
            values = [run(program, item) for item in runs]
            row = [name, engine, tcp, sack, options["delack"], options["window"], "2"]
            row += [options.get("queue", "100000"), options.get("ber", "0")]
            row += [options.get("per", "0"), str(len(values))]
            for column in zip(*values, strict=True):
                row += [f"{statistics.mean(column):.8g}", f"{statistics.stdev(column):.5g}"]
            rows.writerow(row)
            to.flush()


if __name__ == "__main__":
    write(sys.stdout, sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]))
