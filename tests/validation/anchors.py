"""Anchors: paths over which a kernel or ns-3 was measured, with their measured goodputs.

farlink runs each path with equal settings. `theirs` and the recorded goodput of `ours` are in
bit/s.
"""

import csv
import math
import statistics
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from agreement import FOLLOWS_RFC, scenarios
from agreement import rows as ns3_rows
from farlink.comparison import BUFFERS
from farlink.experiment import Experiment, Point
from test_long_path import LONG_PATH, PAIRS, RUNS, theirs

__all__ = ["Anchor", "Ours", "known", "of", "read", "run", "write"]

KERNEL = Path(__file__).parent / "kernel"
RECORD = Path(__file__).parent / "recorded" / "anchors.csv"

KERNEL_SHARE = 0.10
"""Share by which farlink's mean may differ from a kernel's, in addition to chance."""

_KERNEL_OF_ROWS = {"bbr": "bbr"}
"""Rows without a profile that are also compared with a kernel: BBR version 1 has one source."""


@dataclass(frozen=True)
class Anchor:
    """Case with an external measurement."""

    row: str
    source: str
    """Origin of the measurement: "kernel", "published", "ns-3" or "ns-3, changed"."""
    case: str
    window: int
    """Window of the grid that is nearest to the path's window, on a logarithmic scale."""
    trees: tuple[tuple[Mapping[str, Any], int], ...]
    """Scenarios with their numbers of runs."""
    tcp: str | None
    """TCP of the scenarios that name no TCP."""
    keys: Mapping[str, object]
    theirs: tuple[float, ...]
    """External goodput: of each run, with the losses of the same run here, or a range."""
    share: float
    """Share by which farlink's goodput may differ from `theirs`."""
    lossy: bool
    """Whether packets were lost."""
    paired: bool = False

    @property
    def name(self) -> str:
        return f"{self.row}, {self.source}, {self.case}"

    def uses(self, goodputs: tuple[float, ...]) -> str:
        """Return median and range of the use of the link, in % of the rate left by the loss."""
        down = self.trees[0][0]["links"][0]["down"]
        rate = float(down["rate"].removesuffix(" bit/s"))
        survives = 1 - down.get("channel", {}).get("loss", 0.0)
        shares = [100 * goodput * 1500 / 1448 / rate / survives for goodput in goodputs]
        median = f"{statistics.median(shares):.0f}"
        if f"{min(shares):.0f}" == f"{max(shares):.0f}":
            return median
        return f"{median} ({min(shares):.0f} to {max(shares):.0f})"

    @cached_property
    def points(self) -> list[tuple[Point, int]]:
        """Return the resolved scenarios with their numbers of runs."""
        return [
            (Point.of(tree, tcp=self.tcp, overrides=self.keys), runs) for tree, runs in self.trees
        ]


@dataclass(frozen=True)
class Ours:
    """Goodput of each run of farlink."""

    goodputs: tuple[float, ...]

    def ratio(self, anchor: Anchor) -> tuple[float, float]:
        """Return the ratio of `ours` to `theirs`, and its standard error.

        A range has no error, so `ours` is compared with the nearer end of the range. With heavy
        losses (medians of at least six) medians are compared instead of means.
        """
        here = statistics.fmean(self.goodputs)
        if not anchor.paired:
            low, high = min(anchor.theirs), max(anchor.theirs)
            there = min(max(here, low), high)
            spread = statistics.stdev(self.goodputs) if len(self.goodputs) > 1 else 0.0
            return here / there, spread / math.sqrt(len(self.goodputs)) / there
        if len(anchor.theirs) >= 6:
            here, there = statistics.median(self.goodputs), statistics.median(anchor.theirs)
        else:
            there = statistics.fmean(anchor.theirs)
        ratio = here / there
        rest = [a - ratio * b for a, b in zip(self.goodputs, anchor.theirs, strict=True)]
        error = statistics.stdev(rest) / math.sqrt(len(rest)) if len(rest) > 1 else 0.0
        return ratio, error / there


def _link(
    rate: float, rtt_ms: float, queue: int, channel: dict[str, Any], *, both: bool
) -> list[dict[str, Any]]:
    link: dict[str, Any] = {"rate": f"{rate:.0f} bit/s", "delay": f"{rtt_ms / 2:g} ms"}
    lossy = {"channel": channel} if channel else {}
    down = {**link, "queue": {"packets": queue}, **lossy}
    up = {**link, **lossy} if both else link
    return [{"name": "link", "between": ["server", "client"], "down": down, "up": up}]


def _flow(amount: str) -> dict[str, Any]:
    what = {"size": amount} if amount.endswith("B") else {"app": "bulk", "duration": amount}
    return {"flows": [{"name": "file", "from": "server", "to": "client", **what}]}


def _nearest(segments: float) -> int:
    return int(10 ** min(max(round(math.log10(segments)), 1), 4))


def _rows_of(tcp: str) -> list[str]:
    return [f"linux-{tcp}", *([_KERNEL_OF_ROWS[tcp]] if tcp in _KERNEL_OF_ROWS else [])]


def _buffers(row: str, size: str) -> dict[str, str]:
    keys = {"tcp.send_buffer": size, "tcp.receive_window": size}
    return keys | ({"tcp.receive_window_max": size} if "-" in row else {})


def _kernel() -> Iterator[Anchor]:
    with (KERNEL / "results.csv").open(encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
    for line in lines:
        window, rtt, loss = int(line["window"]), int(line["rtt_ms"]), float(line["loss"])
        burst, amount = int(line["burst"]), line["amount"]
        channel: dict[str, Any] = {"loss": loss} if loss else {}
        if burst:
            channel = {"gilbert": {"loss": loss, "burst": burst}}
        rate = window * 12e6 / rtt
        tree = {"max_duration": "1 h", **_flow(amount)}
        tree["links"] = _link(rate, rtt, int(line["queue"]), channel, both=False)
        goodputs = tuple(map(float, line["goodputs"].split()))
        in_bursts = f" in bursts of {burst}" if burst else ""
        case = f"{line['kernel']}, {window} x {rtt} ms x {100 * loss:g} %{in_bursts}, {amount}"
        for row in _rows_of(line["tcp"]):
            keys = BUFFERS if amount.endswith("B") else _buffers(row, "128 MiB")
            if "-" not in row:
                keys = {key: keys[key] for key in keys if key != "tcp.receive_window_max"}
                keys["tcp.receive_window"] = "40 MiB"
            trees = ((tree, len(goodputs)),)
            yield Anchor(
                row, "kernel", case, _nearest(window), trees, row, keys, goodputs, KERNEL_SHARE,
                loss > 0, paired=True,
            )  # fmt: skip


def _published() -> Iterator[Anchor]:
    with (KERNEL / "published.csv").open(encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
    for line in lines:
        rate, rtt, loss = float(line["rate_mbit"]), float(line["rtt_ms"]), float(line["loss"])
        both = line["both_ways"] == "1"
        tree = {"max_duration": "1 h", **_flow(f"{line['seconds']} s")}
        channel = {"loss": loss} if loss else {}
        tree["links"] = _link(rate * 1e6, rtt, int(line["queue"]), channel, both=both)
        # The use of a link counts headers: 1,448 of 1,500 bytes are data.
        used = line["measure"] == "used"
        scale = rate * 1e4 * 1448 / 1500 if used else 1e6
        ways = " each way" if both else ""
        case = f"{line['source']}, {rate:g} Mbit/s x {rtt:g} ms x {100 * loss:g} %{ways}"
        window = _nearest(rate * rtt / 12)
        there = (float(line["low"]) * scale, float(line["high"]) * scale)
        for row in _rows_of(line["tcp"]):
            trees, keys = ((tree, 6 if loss else 1),), _buffers(row, "64 MiB")
            yield Anchor(
                row, "published", case, window, trees, row, keys, there, KERNEL_SHARE, loss > 0
            )


def _ns3() -> Iterator[Anchor]:
    for tcp, settings, there, share in PAIRS:
        # Class names that ns-3 does not have belong to changed classes.
        source = "ns-3" if there in ("TcpNewReno", "TcpVegas", "TcpBbr") else "ns-3, changed"
        keys = "".join(f", {key.rpartition('.')[2]} = {value}" for key, value in settings.items())
        case = f"GEO, 10 MiB, BER 1e-6, 1 MiB window, {there}{keys}"
        goodputs = (theirs()[there],)
        long = ((LONG_PATH, RUNS),)
        yield Anchor(tcp, source, case, 100, long, tcp, settings, goodputs, share, lossy=True)
    for row in ns3_rows():
        tcp = "cubic" if row.tcp == "cubic" else "sack" if row.sack else "newreno"
        source = "ns-3, changed" if row.engine == FOLLOWS_RFC else "ns-3"
        geo = 2048e3 * 0.53 / 12e3
        window = _nearest(min(row.window / 1460, geo if row.case.startswith("geo") else 33))
        share = 0.10 if row.ber == 1e-5 else 0.05
        goodputs, lossy = (row.metrics["goodput"].mean,), not row.lossless
        trees = tuple(scenarios(row))
        yield Anchor(tcp, source, str(row), window, trees, None, {}, goodputs, share, lossy)


@cache
def known() -> tuple[Anchor, ...]:
    """Return all anchors."""
    return (*_kernel(), *_published(), *_ns3())


def of(row: str) -> list[Anchor]:
    """Return the anchors of a TCP."""
    return [anchor for anchor in known() if anchor.row == row]


def run(anchors: Iterable[Anchor], jobs: int | None = None) -> dict[str, Ours]:
    """Run anchors with farlink."""
    anchors = list(anchors)
    lab = Experiment(jobs=jobs)
    lab.simulate(pair for anchor in anchors for pair in anchor.points)
    return {
        anchor.name: Ours(
            tuple(
                float(value)
                for point, runs in anchor.points
                for value in lab.values(point, "goodput", runs)
            )
        )
        for anchor in anchors
    }


def write(ours: dict[str, Ours]) -> None:
    """Write the record of all anchors."""
    RECORD.parent.mkdir(exist_ok=True)
    with RECORD.open("w", encoding="utf-8", newline="") as file:
        lines = csv.writer(file, lineterminator="\n")
        lines.writerow(("anchor", "goodputs"))
        for anchor in known():
            if anchor.name in ours:
                values = ours[anchor.name].goodputs
                lines.writerow((anchor.name, " ".join(map(repr, values))))


@cache
def read() -> dict[str, Ours]:
    """Read the record."""
    if not RECORD.exists():
        return {}
    with RECORD.open(encoding="utf-8", newline="") as file:
        return {
            line["anchor"]: Ours(tuple(map(float, line["goodputs"].split())))
            for line in csv.DictReader(file)
        }
