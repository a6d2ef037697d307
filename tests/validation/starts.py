"""Tables of docs/tcp/starting.md: 100 MB over GEO, nine ways to start.

.venv/bin/python tests/validation/starts.py

prints the time to deliver 1, 10 and 100 MB and the retransmitted segments of 100 MB over 50/10
Mbit/s and 600 ms: with a queue of half a BDP, of two BDPs, and of two BDPs with jitter. Intervals
are 95 % confidence intervals of the mean.
"""

import sys
from typing import Any

import farlink as fl

__all__ = ["SIZES", "WAYS", "scenario"]

SIZES = (1, 10, 100)
PACED = {"tcp.pacing": "true", "tcp.pacing_ca_ratio": "10"}
WAYS: dict[str, tuple[str, dict[str, str]]] = {
    "cubic, 10 segments": ("cubic", {}),
    "cubic, 3 segments": ("cubic", {"tcp.initial_window": "3"}),
    "cubic, paced slow start": ("cubic", PACED),
    "cubic, HyStart": ("cubic", {"tcp.slow_start": "hystart"}),
    "cubic, HyStart++": ("cubic", {"tcp.slow_start": "hystart++"}),
    "cubic, SEARCH": ("cubic", {"tcp.slow_start": "search"}),
    "cubic, SEARCH and paced": ("cubic", {"tcp.slow_start": "search", **PACED}),
    "hybla, SEARCH": ("hybla", {"tcp.slow_start": "search"}),
    "bbr": ("bbr", {}),
}
RUNS = 5


def scenario(size: int, queue: int, jitter: str | None) -> dict[str, Any]:
    """Return a download of `size` MB over GEO, with exponential jitter of this mean if any."""
    down: dict[str, Any] = {"rate": "50 Mbit/s", "delay": "300 ms", "queue": {"packets": queue}}
    if jitter:
        down["channel"] = {"jitter": {"distribution": "exponential", "mean": jitter}}
    up = {"rate": "10 Mbit/s", "delay": "300 ms"}
    return {
        "name": "starts",
        "links": [{"name": "satellite", "between": ["server", "client"], "down": down, "up": up}],
        "flows": [
            {"name": "download", "from": "server", "to": "client", "size": f"{size} MB"}
        ],
    }  # fmt: skip


def cell(result: fl.Result, metric: str) -> str:
    """Return mean and interval of a metric."""
    row = result.summary[metric].iloc[0]
    half = (row["ci95_high"] - row["ci95_low"]) / 2
    return f"{row['mean']:.4g}" + (f" ± {half:.2g}" if half > 0 else "")


def main() -> None:
    for queue, jitter in ((1250, None), (5000, None), (5000, "5 ms")):
        sys.stdout.write("| start | 1 MB | 10 MB | 100 MB | retransmitted segments |\n")
        sys.stdout.write("| --- | --- | --- | --- | --- |\n")
        for name, (tcp, keys) in WAYS.items():
            keys = {"tcp.send_buffer": "64 MiB", "tcp.receive_window_max": "64 MiB", **keys}
            runs = RUNS if jitter else 1
            results = [
                fl.run(scenario(size, queue, jitter), tcp=tcp, runs=runs, overrides=keys)
                for size in SIZES
            ]
            cells = [cell(result, "duration") for result in results]
            cells.append(cell(results[-1], "segments_retransmitted"))
            sys.stdout.write(f"| {name} | {' | '.join(cells)} |\n")
            sys.stdout.flush()
        sys.stdout.write("\n")


if __name__ == "__main__":
    main()
