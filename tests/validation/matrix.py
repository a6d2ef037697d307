"""Runs every TCP of the table over a matrix of paths, and compares it with the others.

.venv/bin/python tests/validation/matrix.py

updates the tables of "Every TCP over every path" in docs/validation.md.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from statistics import median
from typing import Any

import farlink as fl
from report import put, table

__all__ = ["CELLS", "LEAST", "PATHS", "REASONS", "Cell", "measure", "reason", "relative"]

#: A TCP needs a reason below if its rate is a smaller share of the median TCP's rate.
LEAST = 1 / 5

FLOWS = (1, 8)
LOSSES: dict[str, dict[str, Any] | None] = {
    "clean": None,
    "1 %": {"loss": 0.01},
    "bursts": {"gilbert": {"loss": 0.03, "burst": 3}},
}


@dataclass(frozen=True)
class Path:
    """Link, equal in both directions, and the `size` in kB of all flows together."""

    rate: str
    delay: str
    queue: str
    window: str
    size: int
    runs: int = 15


PATHS = {
    "19.2 kbit/s": Path("19.2 kbit/s", "19 ms", "20 kB", "64 KiB", 120),
    "64 kbit/s": Path("64 kbit/s", "50 ms", "20 kB", "64 KiB", 400),
    "2 Mbit/s": Path("2 Mbit/s", "40 ms", "20 kB", "64 KiB", 2000),
    "GEO": Path("2048 kbit/s", "260 ms", "133 kB", "256 KiB", 2000),
    "LEO": Path("20 Mbit/s", "22 ms", "110 kB", "256 KiB", 5000),
    "1 Gbit/s": Path("1 Gbit/s", "10 ms", "2500 kB", "8 MiB", 50000, runs=5),
}


@dataclass(frozen=True)
class Cell:
    """Cell of the matrix: a path, a kind of loss, a number of flows."""

    path: str
    loss: str
    flows: int

    def __str__(self) -> str:
        return f"{self.path}, {self.loss}, {self.flows}"


CELLS = [Cell(path, loss, flows) for path in PATHS for loss in LOSSES for flows in FLOWS]


@dataclass(frozen=True)
class Reason:
    """Reason why these TCPs are far below the others on these paths with these losses."""

    tcps: set[str]
    paths: set[str]
    losses: set[str]
    text: str


REASONS = [
    Reason(
        {"rfc793"},
        set(PATHS),
        set(LOSSES),
        "**No congestion window.** Each window of the receiver overflows the queue, what arrives "
        "behind a loss is thrown away, and since nearly all is sent twice no sample ends the "
        "backoff (Karn): a time-out takes up to a minute. On the clean link of 64 kbit/s one "
        'flow takes 958 s, with `backoff = "none"` 133 s.',
    ),
    Reason(
        {"tcp-rfc"},
        {"LEO", "1 Gbit/s"},
        {"1 %", "bursts"},
        "**No fast retransmit.** Each loss waits for a time-out of at least a second, which is 22 "
        "round trips of the LEO path and 50 of the one of 1 Gbit/s.",
    ),
    Reason(
        {"newreno", "eln", "adalr-newreno"},
        {"1 Gbit/s"},
        {"clean"},
        "**A segment a round trip.** Slow start overshoots queue and path by 1667 segments, which "
        "recovery without SACK sends again one each 20 ms (RFC 6582, 3.2, step 3): 33.3 of the "
        "34.2 s.",
    ),
    Reason(
        {"reno"},
        {"1 Gbit/s"},
        {"clean"},
        "**A time-out for several losses in a window.** Slow start overshoots the queue. Reno "
        "leaves its recovery at the first new ACK, and each of eight files waits for a time-out of "
        "a second after three to eight fast retransmits. `sack` has none, and takes 0.5 s in place "
        "of 2.3 to 3.9 s.",
    ),
    Reason(
        {
            "tcp-rfc",
            "tahoe",
            "reno",
            "newreno",
            "sack",
            "hybla",
            "adalr-newreno",
            "adalr-sack",
            "dctcp",
            "illinois",
            "htcp",
        },
        {"LEO", "1 Gbit/s"},
        {"bursts"},
        "**Backoff inside a burst.** The bursts are of packets, not of time: a segment that is "
        "sent alone after a time-out meets the same burst with 2/3, and the next time-out is "
        "twice as long. Who halves the window at each burst is often left with such a time-out; "
        "the median TCP does not halve, or sends on. One flow over LEO with and without backoff, "
        "means of 5 runs: `tahoe` 272 and 50 s, `sack` 101 and 36 s, with the same time-outs.",
    ),
    Reason(
        {"ledbat", "ledbat++"},
        {"LEO", "GEO", "1 Gbit/s"},
        set(LOSSES),
        "**Background transport.** `ledbat` has no slow start, and both add at most a segment per "
        "round trip and halve their window at each loss.",
    ),
]


def reason(tcp: str, cell: Cell) -> Reason | None:
    """Return the first reason for this TCP to be slow in this cell, if any."""
    return next(
        (
            item
            for item in REASONS
            if tcp in item.tcps and cell.path in item.paths and cell.loss in item.losses
        ),
        None,
    )


def scenario(cell: Cell) -> dict[str, Any]:
    path = PATHS[cell.path]
    link = {"rate": path.rate, "delay": path.delay, "queue": {"bytes": path.queue}}
    channel = LOSSES[cell.loss]
    down = link if channel is None else {**link, "channel": channel}
    flow = {"from": "server", "to": "client", "size": f"{path.size // cell.flows} kB"}
    return {
        "name": "matrix",
        "max_duration": "48 h",
        "tcp": {"receive_window": path.window},
        "links": [{"name": "link", "between": ["server", "client"], "down": down, "up": link}],
        "flows": [{"name": "file", "count": cell.flows, **flow}],
    }


def measure(cell: Cell, tcps: list[str], runs: int) -> dict[str, float]:
    """Return the median seconds until the last file arrived, by TCP; all files must arrive."""
    result = fl.run(scenario(cell), tcp=tcps, runs=runs)
    seconds = {}
    for tcp in tcps:
        flows = [row["metrics"] for row in result.data["results"] if row["tcp"] == tcp]
        assert len(flows) == cell.flows
        for flow in flows:
            assert flow["completed"]["mean"] == 1.0, f"{tcp}: a file is missing ({cell})"
        durations = (flow["duration"]["values"] for flow in flows)
        seconds[tcp] = median(max(run) for run in zip(*durations, strict=True))
    return seconds


def relative(seconds: dict[str, float]) -> dict[str, float]:
    """Return the rate of each TCP over the rate of the median TCP."""
    middle = median(seconds.values())
    return {tcp: middle / second for tcp, second in seconds.items()}


def shown(rate: float) -> str:
    return f"{rate:.2g}" if rate >= LEAST else f"**{rate:.2g}**"


def worst_table(tcps: list[str], rates: dict[Cell, dict[str, float]]) -> str:
    lines = [["TCP", *PATHS], ["---"] * (len(PATHS) + 1)]
    for tcp in tcps:
        worst = [min(rate[tcp] for cell, rate in rates.items() if cell.path == p) for p in PATHS]
        lines.append([f"`{tcp}`", *map(shown, worst)])
    return table(lines)


def seconds_table(seconds: dict[Cell, dict[str, float]]) -> str:
    kinds = [(loss, flows) for loss in LOSSES for flows in FLOWS]
    lines = [["path", *(f"{loss}, {flows}" for loss, flows in kinds)]]
    lines.append(["---"] * len(lines[0]))
    for path in PATHS:
        cells = [seconds[Cell(path, *kind)] for kind in kinds]
        lines.append([path, *(f"{median(cell.values()):.3g}" for cell in cells)])
    return table(lines)


def reason_list(rates: dict[Cell, dict[str, float]]) -> str:
    below: dict[str, list[tuple[str, Cell, float]]] = {item.text: [] for item in REASONS}
    for cell, rate in rates.items():
        for tcp, value in rate.items():
            if value < LEAST:
                why = reason(tcp, cell)
                below.setdefault(why.text if why else "**Not known.**", []).append(
                    (tcp, cell, value)
                )
    return "\n".join(f"- {text} {listed(cells)}\n" for text, cells in below.items())


def listed(cells: Iterable[tuple[str, Cell, float]]) -> str:
    """Return for each TCP the cells below the bound, and its lowest value."""
    by_tcp: dict[str, list[tuple[Cell, float]]] = {}
    for tcp, cell, value in cells:
        by_tcp.setdefault(tcp, []).append((cell, value))
    texts = []
    for tcp, item in by_tcp.items():
        least = min(value for _, value in item)
        where = (
            "; ".join(str(cell) for cell, _ in item)
            if len(item) <= len(LOSSES) * len(FLOWS)
            else f"{len(item)} of {len(CELLS)} cells"
        )
        texts.append(f"`{tcp}` ({where}; least {least:.2g})")
    return "Below a fifth: " + ", ".join(texts) + "."


def main() -> None:
    tcps = list(fl.variants().index)
    seconds = {cell: measure(cell, tcps, PATHS[cell.path].runs) for cell in CELLS}
    rates = {cell: relative(second) for cell, second in seconds.items()}
    put("matrix", worst_table(tcps, rates))
    put("matrix seconds", seconds_table(seconds))
    put("matrix reasons", reason_list(rates))


if __name__ == "__main__":
    main()
