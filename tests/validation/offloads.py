"""Table of docs/offloads.md: losses of whole super-packets beside a kernel over netem.

.venv/bin/python tests/validation/offloads.py

prints the goodput of `linux-cubic` and `linux-bbr` in Mbit/s, with losses of single packets and of
super-packets of two, beside the published goodput of Linux over netem (LANMAN 2023: 10 Mbit/s, 100
ms each way, the loss in both directions). Intervals are 95 % confidence intervals of the mean.
"""

import sys
from typing import Any

import farlink as fl

__all__ = ["LOSSES", "PUBLISHED", "scenario"]

LOSSES = (0.0, 0.01, 0.02, 0.03, 0.04)
PUBLISHED = {
    "linux-cubic": (9.33, 1.30, 0.677, 0.502, 0.406),
    "linux-bbr": (9.17, 9.04, 8.90, 8.75, 8.54),
}
RUNS = 10
SECONDS = 60


def scenario(loss: float, size: int) -> dict[str, Any]:
    """Return the path with this loss, and super-packets of `size` segments of data."""
    link: dict[str, Any] = {"rate": "10 Mbit/s", "delay": "100 ms"}
    if loss:
        link["channel"] = {"loss": loss}
    down = {**link, "queue": {"packets": 1000}}
    if loss and size > 1:
        down["super_packet"] = size
    return {
        "name": "super-packets",
        "links": [{"name": "link", "between": ["server", "client"], "down": down, "up": link}],
        "flows": [
            {"name": "bulk", "from": "server", "to": "client", "app": "bulk",
             "duration": f"{SECONDS} s"}
        ],
    }  # fmt: skip


def goodput(tcp: str, loss: float, size: int) -> str:
    """Return mean and interval of the goodput in Mbit/s."""
    keys = {"tcp.send_buffer": "64 MiB", "tcp.receive_window_max": "64 MiB"}
    if tcp == "linux-bbr" and size > 1:
        keys["tcp.tso"] = "true"
    result = fl.run(scenario(loss, size), tcp=tcp, runs=RUNS if loss else 1, overrides=keys)
    row = result.summary["goodput"].iloc[0] / 1e6
    if not loss:
        return f"{row['mean']:.3g}"
    half = (row["ci95_high"] - row["ci95_low"]) / 2
    return f"{row['mean']:.3g} ± {half:.2g}"


def main() -> None:
    sys.stdout.write(
        "| TCP | loss each way | kernel over netem | single packets | super-packets of 2 |\n"
    )
    sys.stdout.write("| --- | --- | --- | --- | --- |\n")
    for tcp, published in PUBLISHED.items():
        for loss, there in zip(LOSSES, published, strict=True):
            cells = (goodput(tcp, loss, 1), goodput(tcp, loss, 2))
            line = f"| `{tcp}` | {100 * loss:g} % | {there:g} | {cells[0]} | {cells[1]} |"
            sys.stdout.write(f"{line}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
