"""Tables of docs/tcp/starting.md: 100 MB over GEO, sixteen ways to start.

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
WINDOWS = {f"tcp.{key}": "64 MiB" for key in ("send_buffer", "receive_window")}
SPLIT = "split at the gateway, Hybla over the satellite"


def resume(megabytes: float) -> dict[str, str]:
    """Return the keys of Careful Resume with a saved window of `megabytes`; the BDP has 3.75."""
    return {"tcp.resume.cwnd": f"{megabytes} MB", "tcp.resume.rtt": "600 ms"}


WAYS: dict[str, tuple[str, dict[str, str]]] = {
    "cubic, 10 segments": ("cubic", {}),
    "cubic, 3 segments": ("cubic", {"tcp.initial_window": "3"}),
    "cubic, 32 segments": ("cubic", {"tcp.initial_window": "32"}),
    "cubic, paced slow start": ("cubic", PACED),
    "cubic, HyStart": ("cubic", {"tcp.slow_start": "hystart"}),
    "cubic, HyStart++": ("cubic", {"tcp.slow_start": "hystart++"}),
    "cubic, SEARCH": ("cubic", {"tcp.slow_start": "search"}),
    "cubic, SEARCH and paced": ("cubic", {"tcp.slow_start": "search", **PACED}),
    "hybla, SEARCH": ("hybla", {"tcp.slow_start": "search"}),
    "bbr": ("bbr", {}),
    "cubic, resumes the path as it is": ("cubic", resume(3.75)),
    "cubic, resumes, the rate has doubled since": ("cubic", resume(1.875)),
    "cubic, resumes, the rate has halved since": ("cubic", resume(7.5)),
    "cubic, resumes, a quarter of the rate is left": ("cubic", resume(15)),
    "cubic, resumes and SEARCH": ("cubic", {"tcp.slow_start": "search", **resume(3.75)}),
    SPLIT: ("cubic", {}),
}
RUNS = 5


def scenario(size: int, queue: int, jitter: str | None, *, split: bool = False) -> dict[str, Any]:
    """Return a download of `size` MB over GEO, with exponential jitter of this mean if any.

    With `split` the connection ends at a gateway, 1 ms from the server.
    """
    down: dict[str, Any] = {"rate": "50 Mbit/s", "delay": "300 ms", "queue": {"packets": queue}}
    if jitter:
        down["channel"] = {"jitter": {"distribution": "exponential", "mean": jitter}}
    up = {"rate": "10 Mbit/s", "delay": "300 ms"}
    near = "gateway" if split else "server"
    tree: dict[str, Any] = {
        "name": "starts",
        "links": [{"name": "satellite", "between": [near, "client"], "down": down, "up": up}],
        "flows": [
            {"name": "download", "from": "server", "to": "client", "size": f"{size} MB"}
        ],
    }  # fmt: skip
    if split:
        wired = {"rate": "1 Gbit/s", "delay": "1 ms"}
        link = {"name": "wired", "between": ["server", "gateway"], "down": wired, "up": wired}
        tree["links"].append(link)
        tree["agents"] = [{"at": "gateway", "wireless": "satellite", "kind": "pepsal"}]
    return tree


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
            keys = {**WINDOWS, **keys}
            runs = RUNS if jitter else 1
            results = [
                fl.run(
                    scenario(size, queue, jitter, split=name == SPLIT),
                    tcp=tcp,
                    runs=runs,
                    overrides=keys,
                )
                for size in SIZES
            ]
            cells = [cell(result, "duration") for result in results]
            cells.append(cell(results[-1], "segments_retransmitted"))
            sys.stdout.write(f"| {name} | {' | '.join(cells)} |\n")
            sys.stdout.flush()
        sys.stdout.write("\n")


if __name__ == "__main__":
    main()
