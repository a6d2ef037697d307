"""Grid of paths for each TCP: window x round trip x loss x number of flows.

The window of a path is the number of segments of 1,500 bytes that its rate times its round-trip
time holds. The queue has room for the window once more, and the receive window is twice the path's
window. A single flow therefore neither drains the link nor overflows the queue. Measured is the
second half of a run: the bytes that arrive in order between `start` and `end`.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import farlink as fl
from farlink import source
from farlink.experiment import Experiment, Point

__all__ = ["CELLS", "Cell", "Measured", "measure", "options", "prolonged", "rerun", "rows"]

WINDOWS = (10, 100, 1_000, 10_000)
RTTS_MS = (20, 100, 600)
LOSSES = (0.0, 1e-4, 1e-3, 0.01, 0.05, 0.15)
FLOWS = (1, 8)
BURST = 3
"""Mean number of packets in a burst of losses (Gilbert channel)."""

_SEGMENTS = {1e-4: 12_000, 1e-3: 12_000, 0.01: 8_000, 0.05: 4_000, 0.15: 2_000}
"""Segments of a run by loss; the run lasts from `_least_ms` to `_LONGEST_RTTS` round trips."""

_FULL = 0.85
"""Share of a link; a run without losses below it is measured again for longer."""

_LONGEST_RTTS = 4_000
_LONGEST_MS = 400_000


@dataclass(frozen=True, order=True)
class Cell:
    """Path of the grid with its number of flows."""

    window: int
    rtt_ms: int
    loss: float
    burst: int
    flows: int

    @property
    def rate(self) -> int:
        """Return the rate of the link in bit/s."""
        return self.window * 12_000_000 // self.rtt_ms

    @property
    def runs(self) -> int:
        """Return the number of seeds; without losses nothing is random, so one is enough."""
        if self.loss == 0:
            return 1
        if self.loss > 0.1:
            return 6
        return {10: 4, 100: 4, 1_000: 2, 10_000: 1}[self.window]

    def __str__(self) -> str:
        kind = f" in bursts of {self.burst}" if self.burst else ""
        flows = "one flow" if self.flows == 1 else f"{self.flows} flows"
        return f"{self.window} x {self.rtt_ms} ms x {100 * self.loss:g} %{kind}, {flows}"


CELLS = tuple(
    Cell(window, rtt, loss, burst, flows)
    for window in WINDOWS
    for rtt in RTTS_MS
    for flows in FLOWS
    for burst in (0, BURST)
    for loss in LOSSES
    if loss > 0 or burst == 0
)


@dataclass(frozen=True)
class Measured:
    """Measurement of a cell: bytes that arrived between `start` and `end`, for each run."""

    cell: Cell
    start_ms: int
    end_ms: int
    delivered: tuple[int, ...]

    @property
    def shares(self) -> list[float]:
        """Return goodput over the rate of the link, for each run."""
        seconds = (self.end_ms - self.start_ms) / 1e3
        return [8 * item / seconds / self.cell.rate for item in self.delivered]


def rows() -> list[str]:
    """Return the names of all TCPs: first the rows of the table, then the profiles.

    The profile "quic" is quinn, which no reference of the matrix is for.
    """
    profiles = source.profiles()
    kernels = [name for name in profiles if name not in ("rfc", "quic")]
    return [*fl.variants().index] + [
        f"{name}-{tcp}" for name in kernels for tcp in profiles[name]["tcp"]
    ]


def options(row: str) -> int:
    """Return the bytes of TCP options in a segment: profiles have timestamps."""
    return 0 if source.split(row)[0] is None else 12


def scenario(row: str, cell: Cell, end_ms: int) -> dict[str, Any]:
    link = {"rate": f"{cell.rate} bit/s", "delay": f"{cell.rtt_ms / 2:g} ms"}
    down: dict[str, Any] = {**link, "queue": {"packets": cell.window}}
    if cell.burst:
        down["channel"] = {"gilbert": {"loss": cell.loss, "burst": cell.burst}}
    elif cell.loss:
        down["channel"] = {"loss": cell.loss}
    tcp: dict[str, Any] = {"receive_window": f"{2 * cell.window * (1460 - options(row))} B"}
    if source.split(row)[0] is None:
        tcp["delayed_ack"] = "off"
    else:
        tcp["send_buffer"] = f"{max(4 * cell.window * 1460, 1 << 20)} B"
    return {
        "name": "grid",
        "duration": f"{end_ms} ms",
        "tcp": {"mss": "1460 B", **tcp},
        "links": [{"name": "link", "between": ["server", "client"], "down": down, "up": link}],
        "flows": [
            {"name": "bulk", "count": cell.flows, "from": "server", "to": "client", "app": "bulk",
             "duration": "1000 h"}
        ],
    }  # fmt: skip


def point(row: str, cell: Cell, end_ms: int) -> Point:
    return Point.of(scenario(row, cell, end_ms), tcp=row)


def measure(row: str, cells: Sequence[Cell], jobs: int | None = None) -> list[Measured]:
    """Measure cells of a TCP; a short run first gives the length of the other runs."""
    lab = Experiment(jobs=jobs)
    first = [point(row, cell, _least_ms(cell)) for cell in cells]
    lab.simulate((item, 1) for item in first)
    times = []
    for cell, item in zip(cells, first, strict=True):
        segments = float(lab.values(item, "bytes_delivered", 1)[0]) / 1460
        times.append(_end_ms(cell, segments))
    ends = zip(cells, times, strict=True)
    return prolonged(row, rerun(row, [(cell, end // 2, end) for cell, end in ends], jobs), jobs)


def prolonged(row: str, measured: list[Measured], jobs: int | None = None) -> list[Measured]:
    """Measure cells without losses whose link is not full again, eight times as long."""
    slow = [
        (item.cell, 4 * item.end_ms, 8 * item.end_ms)
        for item in measured
        if item.cell.loss == 0 and item.shares[0] < _FULL and item.end_ms == _least_ms(item.cell)
    ]
    again = {item.cell: item for item in rerun(row, slow, jobs)}
    return [again.get(item.cell, item) for item in measured]


def rerun(
    row: str, cells: Iterable[tuple[Cell, int, int]], jobs: int | None = None
) -> list[Measured]:
    """Measure cells between recorded times."""
    lab = Experiment(jobs=jobs)
    pairs = [
        (cell, start, end, point(row, cell, start), point(row, cell, end))
        for cell, start, end in cells
    ]
    # The longest runs come first, so that all threads are busy to the end.
    wanted = [(item, cell.runs) for cell, _, _, *both in pairs for item in both]
    lab.simulate(reversed(wanted))
    measured = []
    for cell, start, end, before, after in pairs:
        done = lab.values(after, "bytes_delivered", cell.runs)
        done = done - lab.values(before, "bytes_delivered", cell.runs)
        measured.append(Measured(cell, start, end, tuple(int(item) for item in done)))
    return measured


def _least_ms(cell: Cell) -> int:
    rtts = {10: 240, 100: 80, 1_000: 48, 10_000: 30}
    return rtts[cell.window] * cell.rtt_ms


def _end_ms(cell: Cell, segments: float) -> int:
    """Return the end of a run with the wanted number of segments, by the rate of a first run."""
    least = _least_ms(cell)
    if cell.loss == 0:
        return least
    wanted = _SEGMENTS[cell.loss] * (8 if cell.window > 100 and cell.loss == 1e-4 else 1)
    longest = max(_LONGEST_RTTS * cell.rtt_ms, _LONGEST_MS)
    end = min(max(least * wanted / max(segments, 1), least), longest)
    return 2 * cell.rtt_ms * round(end / cell.rtt_ms / 2)
