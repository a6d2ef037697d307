"""Runs of farlink beside runs of ns-3.

The module has the rows of ns3/results.csv, runs the equal cases here, and gives the allowed
distance of two means.
"""

import csv
import math
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import farlink as fl
from paths import geo, terrestrial

__all__ = ["FOLLOWS_RFC", "METRICS", "Mean", "Row", "ours", "rows"]

FOLLOWS_RFC = "3.37-rfc"
"""The changed engine: ns-3, corrected where it departs from the RFCs (ns3/README.md)."""

METRICS = (
    "goodput",
    "segments_sent",
    "segments_retransmitted",
    "timeouts",
    "fast_retransmits",
    "losses",
)
RUNS = 100


@dataclass(frozen=True)
class Mean:
    """A mean over `n` runs with the standard deviation of a run."""

    mean: float
    sd: float
    n: int

    @classmethod
    def of(cls, values: Sequence[float]) -> "Mean":
        sd = statistics.stdev(values) if len(values) > 1 else 0.0
        return cls(statistics.fmean(values), sd, len(values))

    @property
    def half_width(self) -> float:
        """Return half the width of the 95 % interval (normal)."""
        return 1.96 * self.sd / math.sqrt(self.n)

    def distance(self, other: "Mean", *, count: bool) -> float:
        """Return the difference in standard errors of the difference.

        The variance of a count is taken as at least that of a Poisson variable. Otherwise thirty
        runs without a time-out would mean that time-outs never happen.
        """
        variance = self.sd**2 / self.n + other.sd**2 / other.n
        if count:
            pooled = (self.mean * self.n + other.mean * other.n) / (self.n + other.n)
            variance = max(variance, pooled / self.n + pooled / other.n)
        difference = self.mean - other.mean
        return 0.0 if difference == 0 else difference / math.sqrt(variance)


@dataclass(frozen=True)
class Row:
    """Case of ns-3."""

    case: str
    engine: str
    tcp: str
    sack: bool
    delayed_ack: bool
    window: int
    initial_window: int
    queue: int
    ber: float
    loss: float
    metrics: dict[str, Mean]

    def __str__(self) -> str:
        parts = [self.case, self.engine, self.tcp, "SACK" if self.sack else "no SACK"]
        parts += ["delayed ACK"] * self.delayed_ack + ["1 MiB window"] * (self.window > 65_535)
        parts += [f"IW {self.initial_window}"] * (self.initial_window != 2)
        parts += [f"BER {self.ber:g}"] * (self.ber > 0) + [f"loss {self.loss:g}"] * (self.loss > 0)
        return ", ".join(parts + [f"queue {self.queue}"] * (self.case == "drop-tail-60s"))

    @property
    def lossless(self) -> bool:
        return self.ber == 0 and self.loss == 0 and self.case != "drop-tail-60s"

    @property
    def size(self) -> str:
        return self.case.partition("-")[2]


@cache
def rows() -> tuple[Row, ...]:
    text = Path(__file__).parent / "ns3" / "results.csv"
    with text.open(encoding="utf-8", newline="") as file:
        return tuple(_row(fields) for fields in csv.DictReader(file))


def _row(fields: dict[str, str]) -> Row:
    runs = int(fields["runs"])
    return Row(
        case=fields["case"],
        engine=fields["engine"],
        tcp=fields["tcp"],
        sack=fields["sack"] == "1",
        delayed_ack=fields["delayed_ack"] == "1",
        window=int(fields["window"]),
        initial_window=int(fields["initial_window"]),
        queue=int(fields["queue"]),
        ber=float(fields["ber"]),
        loss=float(fields["loss"]),
        metrics={
            name: Mean(float(fields[f"{name}_mean"]), float(fields[f"{name}_sd"]), runs)
            for name in METRICS
        },
    )


def tcp_alike(row: Row) -> dict[str, Any]:
    """Return the settings that make farlink behave as ns-3; ns3/README.md has the reasons."""
    tcp: dict[str, Any] = {
        "variant": "cubic" if row.tcp == "cubic" else "sack" if row.sack else "newreno",
        "receive_window": f"{row.window} B",
        "initial_window": row.initial_window,
        "delayed_ack": "200 ms" if row.delayed_ack else "off",
        "limited_transmit": True,
        "sampling": "every-segment",
    }
    if row.tcp != "cubic":
        tcp["byte_counting"] = "off"
    if row.sack:
        tcp["rescue"] = False
    else:
        tcp |= {"recovery": "newreno-impatient", "careful": "less"}
    if row.engine != FOLLOWS_RFC and row.tcp == "newreno":
        tcp["reduce_from"] = "pipe"
    elif row.engine == FOLLOWS_RFC:
        tcp["reduce_from"] = "flight-unbounded"
    return tcp


def scenarios(row: Row) -> Iterator[tuple[dict[str, Any], int]]:
    """Scenarios equal to ns-3's, with PPP's two bytes per packet, and their numbers of runs."""
    tcp = tcp_alike(row)
    if row.case.startswith("geo"):
        yield geo(tcp, row.size, ber=row.ber, overhead="2 B"), 1 if row.lossless else RUNS
    elif row.loss > 0:
        flow = {"size": row.size}
        yield (
            terrestrial(tcp, flow, delay="20 ms", queue=row.queue, loss=row.loss, overhead="2 B"),
            RUNS,
        )
    else:
        flow = {"app": "bulk", "duration": "60 s"}
        for tenth in range(245, 256):
            path = terrestrial(
                tcp, flow, delay=f"{tenth / 10} ms", queue=row.queue, loss=0.0, overhead="2 B"
            )
            yield {**path, "duration": "60 s"}, 1


@cache
def _ours(index: int) -> dict[str, Mean]:
    values: dict[str, list[float]] = {name: [] for name in METRICS}
    for scenario, runs in scenarios(rows()[index]):
        data = fl.run(scenario, runs=runs).data
        metrics = data["results"][0]["metrics"]
        for name in METRICS[:-1]:
            values[name] += metrics[name]["values"]
        (channel,) = (
            link["metrics"]
            for link in data["links"]
            if link["link"] != "lan" and link["direction"] == "down"
        )
        causes = (channel["drops_loss"]["values"], channel["drops_bit_error"]["values"])
        values["losses"] += [sum(each) for each in zip(*causes, strict=True)]
    return {name: Mean.of(each) for name, each in values.items()}


def ours(row: Row) -> dict[str, Mean]:
    """Run the case with farlink."""
    return _ours(rows().index(row))
