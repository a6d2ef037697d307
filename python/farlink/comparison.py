"""Comparison of a transfer by farlink's TCP, simulated, with one by the kernel's TCP, emulated."""

import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from farlink import api, captured, emulation, files, folder, pictures, source, units
from farlink.errors import RunError, ScenarioError
from farlink.measures import values_of
from farlink.result import Result
from farlink.stats import Estimate, mean_ci95

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["PROFILE", "Comparison", "Row", "compare"]

CLOSE = 0.05
"""Largest deviation of a ratio of goodputs from 1 that counts as agreement.

The whole interval of the ratio must be within this distance.
"""

PROFILE = "linux"
"""Default profile of simulated TCPs; the emulated side is a Linux kernel."""

_TRIES = 3
"""Number of attempts to emulate a run that is not late."""

_LATE_SHARE = 0.01
"""Share of a round trip that 1 % of the packets may be late, if that is more than
`emulation.BEHIND_S`. Such a delay changes no goodput by more than this share.
"""

BUFFERS = {
    "tcp.send_buffer": "64 MiB",
    "tcp.receive_window": "80 KiB",
    "tcp.receive_window_max": "40 MiB",
}
"""Default buffers of both sides, in bytes of data (kernels count memory; see `_memory`)."""

_OF_DATA = 1.6
"""Bytes of kernel memory per byte of data: 2304 for a segment of 1448, rounded. The kernel assumes
the same share (tcp_win_from_space after tcp_measure_rcv_mss).
"""

Told = Callable[[str], None]


@dataclass(frozen=True)
class Row:
    """Result of one TCP: goodput in bit/s of each run."""

    tcp: str
    simulated: tuple[float, ...]
    emulated: tuple[float, ...]
    late: tuple[tuple[float, float], ...] = ()
    """Lateness of the packets of each emulated run in seconds: median and 99th percentile."""
    bearable_s: float = emulation.BEHIND_S
    """99th percentile of the lateness (s) above which a run is not judged."""

    @property
    def late_s(self) -> tuple[float, float]:
        """Median and 99th percentile of the lateness in the worst run."""
        if not self.late:
            return 0.0, 0.0
        return max(item for item, _ in self.late), max(item for _, item in self.late)

    @property
    def is_judged(self) -> bool:
        """Whether the emulated packets were on time in every run."""
        return self.late_s[1] <= self.bearable_s

    @property
    def ratio(self) -> Estimate:
        """Ratio of emulated to simulated goodput (of means), with its 95 % interval.

        Run k of both sides has the channel of run k, so the interval is that of paired runs. With
        the ratio estimator of sampling theory, it comes from the residuals e - r s divided by the
        mean of s, and Student's t. Without deviation, as on a lossless link, the interval is a
        point.
        """
        ours, theirs = mean_ci95(self.simulated), mean_ci95(self.emulated)
        assert ours.mean is not None
        assert theirs.mean is not None
        mean = theirs.mean / ours.mean
        pairs = zip(self.emulated, self.simulated, strict=True)
        half = mean_ci95([theirs - mean * ours for theirs, ours in pairs]).half_width
        if half is None:
            return Estimate(mean, None, None, len(self.simulated))
        half /= ours.mean
        return Estimate(mean, mean - half, mean + half, len(self.simulated))

    @property
    def verdict(self) -> str:
        """Verdict from the interval of the ratio.

        The verdict is "within 5 %" if the whole interval is inside, and "differs" if 1 is outside
        of the interval. Otherwise it is "undecided", and more runs are needed. A single run has no
        interval. If the machine was late, the emulated path differed from the scenario's, and the
        verdict is empty.
        """
        if not self.is_judged:
            return f"not judged: the machine was late by {1e3 * self.late_s[1]:.1f} ms"
        ratio = self.ratio
        if ratio.low is None or ratio.high is None:
            return "undecided (one run)"
        if ratio.low >= 1 - CLOSE and ratio.high <= 1 + CLOSE:
            return f"within {100 * CLOSE:.0f} %"
        return "undecided" if ratio.low <= 1 <= ratio.high else "differs"


@dataclass(frozen=True)
class Sides:
    """Settings of both sides."""

    simulated: Mapping[str, str]
    """Keys of `[tcp]` of the simulated TCP."""
    emulated: Mapping[str, str]
    """Settings of net.ipv4 of the hosts whose kernels run the emulated TCP."""
    offloads: bool
    """Whether the kernel sent and received several segments at once, which farlink's TCP never
    does.
    """
    jitter: Mapping[str, Mapping[str, str]]
    """Jitter of hosts (`[[hosts]]`) of both sides."""


class Comparison:
    """Result of a comparison.

    `to_json` writes the value of `data`.
    """

    def __init__(
        self,
        result: Result,
        rows: Sequence[Row],
        sequences: "Mapping[str, dict[str, pd.DataFrame]]",
        sides: "Sides",
    ) -> None:
        self.result = result
        self.rows = tuple(rows)
        self.sequences = sequences
        self.sides = sides
        self.late_p99_s = max(row.late_s[1] for row in self.rows)

    @property
    def is_judged(self) -> bool:
        """Whether the emulated packets were on time in all runs of all TCPs."""
        return all(row.is_judged for row in self.rows)

    @cached_property
    def data(self) -> dict[str, Any]:
        """Goodputs of all runs, ratios and their intervals."""

        def row(item: Row) -> dict[str, Any]:
            ratio = item.ratio
            return {
                "tcp": item.tcp,
                "simulated_bit_s": list(item.simulated),
                "emulated_bit_s": list(item.emulated),
                "ratio": ratio.mean,
                "ratio_ci95": [ratio.low, ratio.high],
                "verdict": item.verdict,
                "late_p50_s": [half for half, _ in item.late],
                "late_p99_s": [most for _, most in item.late],
            }

        return {
            "format": "farlink-comparison/1",
            "scenario": self.result.scenario(),
            "late_p99_s": self.late_p99_s,
            "judged": self.is_judged,
            "sides": {
                "simulated": dict(self.sides.simulated),
                "emulated": dict(self.sides.emulated),
                "offloads": self.sides.offloads,
                "jitter": {host: dict(item) for host, item in self.sides.jitter.items()},
            },
            "rows": [row(item) for item in self.rows],
        }

    def _repr_html_(self) -> str:
        """Return the HTML that notebooks show, with the text that the command prints."""
        from farlink.views import page
        from farlink.views.compare import show

        return page.as_html(lambda out: show(self, out))

    def save(self, directory: Path) -> list[Path]:
        """Write comparison.json, and the sequence plots as sequence.png and sequence.svg.

        Either all of these files are written or the folder stays unchanged. Files that an earlier
        result of farlink wrote are removed. A figure that cannot be drawn is omitted with a
        `FigureWarning`.
        """
        from farlink.plot.compare import draw_pair
        from farlink.plot.style import save

        name = "comparison.json"
        with folder.filling(directory, last=name) as stage:
            files.write_text(stage / name, json.dumps(self.data, indent=1) + "\n")
            plots: list[Path] = []
            with pictures.optional("sequence"):
                plots = save(draw_pair(self), stage / "sequence")
        return [directory / path.name for path in (stage / name, *plots)]


def compare(
    scenario: str | Path | Mapping[str, object],
    tcp: Sequence[str],
    *,
    size: str | None = None,
    runs: int = 1,
    overrides: Mapping[str, object] | None = None,
    seed: int | None = None,
    realtime: bool | None = None,
    offloads: bool = False,
    tell: Told | None = None,
) -> Comparison:
    """Compare transfers over the first flow's path: farlink's TCP simulated, a kernel's emulated.

    Both sides have the same buffers (`BUFFERS`), no segmentation offload, and the jitter of the
    scenario's hosts. The simulated side is the TCP of that name with the profile "linux"
    ("linux-cubic"), or with the profile before the name ("rfc-cubic"). Run k of both sides has the
    channel of run k. An emulated run that fell behind the clock (`emulation.BEHIND_S`) is repeated
    at most twice. The result then comes from the last repetition, and has its `late_p99_s`.

    Parameters
    ----------
    scenario, overrides, seed
        As for `run`. Only the ends of the first flow count, and no key of `[tcp]`. Overrides of
        send_buffer, receive_window and receive_window_max hold for both sides, other keys of `tcp`
        for the simulated side alone.
    tcp
        Names of TCPs that exist on both sides.
    size
        Bytes to transfer ("5 MB"); by default the size of the first flow.
    runs
        Runs of each TCP on each side.
    realtime
        Real-time priority of the engine, as in `emulate`.
    offloads
        Let the kernel send and receive several segments at once (TSO, GRO), which saves time.
    tell
        Function that is called with a line of text before each emulated run, because these take
        real time.

    Raises
    ------
    ScenarioError
        If the scenario is wrong, or one of the sides lacks a TCP.
    RunError
        If the system refuses, or data arrives corrupted.
    """
    tree, amount = _tree(scenario, size, overrides, seed)
    keys = {**BUFFERS, **_tcp_keys(overrides)}
    jitter = {host["name"]: host["jitter"] for host in tree.get("hosts", [])}
    sides = Sides(keys, _memory(keys), offloads, jitter)
    bearable = max(emulation.BEHIND_S, _LATE_SHARE * _round_trip(tree))
    for name in tcp:
        emulation.check_kernel(source.split(name)[1])
    if not 1 <= runs <= 1000:
        raise ScenarioError(f"runs is {runs}; write 1 to 1000")
    if any(source.split(name)[0] == source.QUIC for name in tcp):
        raise ScenarioError("compare has no QUIC on the emulated side; name TCPs")
    names = [name if source.split(name)[0] else f"{PROFILE}-{name}" for name in dict.fromkeys(tcp)]
    result = api.run(tree, tcp=names, runs=runs, overrides=keys)
    simulated = {
        row["tcp"]: tuple(value for value in values_of(row, "goodput") if value is not None)
        for row in result.rows("results")
    }
    path = _EmulatedPath(tree, amount, sides, realtime, bearable, runs, tell)
    rows, sequences = [], {}
    for name in names:
        row, sequences[name] = path.row(name, simulated[name])
        rows.append(row)
    return Comparison(result, rows, sequences, sides)


def _tcp_keys(overrides: Mapping[str, object] | None) -> dict[str, str]:
    """Return the overrides of `[tcp]`."""
    return {path: value for path, value in source.changes(overrides, None) if _of_tcp(path)}


def _of_tcp(path: str) -> bool:
    return path.partition(".")[0] == "tcp"


def _memory(keys: Mapping[str, str]) -> dict[str, str]:
    """Return the kernel settings with which its buffers hold a number of data bytes.

    The send buffer counts the memory of segments, but buffers of up to 64 KiB hold almost as many
    bytes of data.
    """

    def size(key: str) -> int:
        result = units.whole_size(keys[f"tcp.{key}"])
        if result is None:
            raise ScenarioError(f"tcp.{key} is {keys[f'tcp.{key}']}; write a size such as 4 MiB")
        return result

    first, most = (round(_OF_DATA * size(key)) for key in ("receive_window", "receive_window_max"))
    send = size("send_buffer")
    return {
        "tcp_wmem": f"4096 {min(16384, send)} {send}",
        "tcp_rmem": f"4096 {first} {max(first, most)}",
    }


def _round_trip(tree: Mapping[str, Any]) -> float:
    """Return the sum of the delays of the first flow's path, there and back, in seconds."""
    from farlink.advice.path import bottleneck

    return 2 * bottleneck(tree).delay_s


@dataclass(frozen=True)
class _Measured:
    """Measurement of an emulated run.

    The measurement has goodput (bit/s), lateness (s; median and 99th percentile), and the packets
    of run 0.
    """

    goodput: float
    late_s: tuple[float, float]
    sequence: "dict[str, pd.DataFrame]"


@dataclass(frozen=True)
class _EmulatedPath:
    """Emulated side of a comparison: a transfer of `amount` bytes by a kernel's TCP."""

    tree: Mapping[str, Any]
    amount: int
    sides: Sides
    realtime: bool | None
    bearable: float
    runs: int
    tell: Told | None

    def row(self, name: str, simulated: tuple[float, ...]) -> tuple[Row, "dict[str, pd.DataFrame]"]:
        """Emulate all runs of a TCP, and return its row and the packets of run 0."""
        kernel = source.split(name)[1]
        measured = [self._run(kernel, run) for run in range(self.runs)]
        goodputs = tuple(item.goodput for item in measured)
        late = tuple(item.late_s for item in measured)
        return Row(name, simulated, goodputs, late, self.bearable), measured[0].sequence

    def _run(self, kernel: str, run: int) -> _Measured:
        """Emulate a run.

        A run that fell behind the clock is repeated; there are at most `_TRIES` attempts.
        """
        for attempt in range(_TRIES):
            if self.tell:
                again = " again: it fell behind the clock" if attempt else ""
                self.tell(f"emulating {kernel}, run {run + 1} of {self.runs}{again}")
            with tempfile.TemporaryDirectory(prefix="farlink-") as where:
                measured = self._once(kernel, run, Path(where))
            if measured.late_s[1] <= self.bearable:
                break
        return measured

    def _once(self, kernel: str, run: int, where: Path) -> _Measured:
        pcap, report = (where if run == 0 else None), where / "report.json"
        done = emulation.transfer(
            self.tree,
            f"{self.amount} B",
            tcp=kernel,
            run=run,
            realtime=self.realtime,
            plain=not self.sides.offloads,
            memory=self.sides.emulated,
            pcap=pcap,
            snaplen=captured.HEADERS if pcap is not None else 0,
            output=report,
        )
        if done.exit_code or not report.exists():
            raise RunError(f"the transfer by the kernel's {kernel}, run {run}, failed")
        goodput = float(json.loads(report.read_text())["goodput_bit_s"])
        late = done.data["lateness"]
        sequence = {} if pcap is None else _sequence(done, pcap, self.tree)
        return _Measured(goodput, (float(late["p50_s"]), float(late["p99_s"])), sequence)


def _tree(
    scenario: str | Path | Mapping[str, object],
    size: str | None,
    overrides: Mapping[str, object] | None,
    seed: int | None,
) -> tuple[dict[str, Any], int]:
    """Return the scenario with a single transfer of the given size, and the size in bytes."""
    others = {k: v for k, v in (overrides or {}).items() if not _of_tcp(k)}
    (text,) = source.find(scenario).resolve(None, source.changes(others, seed)).values()
    tree: dict[str, Any] = json.loads(text)
    flow = tree["flows"][0]
    wanted = size if size is not None else flow.get("size")
    amount = units.whole_size(wanted) if wanted is not None else None
    if amount is None:
        raise ScenarioError("--transfer: write a size such as 5MB; the first flow has none to take")
    kept = ("name", "seed", "links", "routes", "agents", "handoffs", "hosts", "max_duration")
    out = {key: tree[key] for key in kept if key in tree}
    begins, ends = source.ends(flow)
    out["flows"] = [
        {
            "name": "transfer",
            "from": begins,
            "to": ends,
            "app": "file",
            "size": f"{amount} B",
            "opens": "receiver",
        }
    ]
    return out, amount


def _sequence(
    done: emulation.Emulated, pcap: Path, tree: Mapping[str, Any]
) -> "dict[str, pd.DataFrame]":
    sender = tree["flows"][0]["from"]
    (address,) = (row["address"] for row in done.data["hosts"] if row["host"] == sender)
    return captured.tables(pcap / f"{sender}.pcapng", address)
