"""Traced runs of chapter 4, and searches in them.

Each published figure shows a part of one random run. The functions search the runs of the cache for
a similar part.
"""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from farlink.studies.cache import Cell
from farlink.studies.model import Model
from farlink.studies.quantity import Quantity

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "MSS",
    "WINDOW",
    "Run",
    "grouped",
    "high",
    "largest_burst",
    "lossy",
    "most_recoveries",
    "per_run",
    "recovered",
    "recovery_delays",
    "runs",
    "time_mean",
    "value_before",
    "within",
]

MSS, WINDOW = 512, 4096
LENGTH = "1 MB"
"""Size of the transfer in a traced run, which takes about a quarter of an hour."""

_Times = NDArray[np.float64]


def time_mean(time: ArrayLike, value: ArrayLike, start: float, end: float) -> float:
    """Return the mean from `start` to `end` of a step function that becomes `value` at `time`."""
    t, v = np.asarray(time, dtype=float), np.asarray(value, dtype=float)
    before = int(np.searchsorted(t, start, side="right")) - 1
    inside = (t > start) & (t < end)
    edges = np.concatenate([[start], t[inside], [end]])
    values = np.concatenate([v[max(before, 0) : max(before, 0) + 1], v[inside]])
    return float(np.sum(values * np.diff(edges)) / (end - start))


def largest_burst(time: _Times, within: float) -> int:
    """Return the largest number of events in any interval of length `within` (s)."""
    if not len(time):
        return 0
    return int((np.searchsorted(time, time + within, side="right") - np.arange(len(time))).max())


def recovery_delays(
    sent: "pd.DataFrame", came: "pd.DataFrame", marks: "pd.DataFrame"
) -> dict[str, list[float]]:
    """Return the recovery times (s) of lost segments by kind of repair.

    The time is from the first transmission to the first arrival. The kinds are "timeout" and
    "fast_retransmit". Segments that were retransmitted later in the same recovery are not counted.
    """
    delays: dict[str, list[float]] = {"timeout": [], "fast_retransmit": []}
    arrived = came[~came["duplicate"]].groupby("seq")["time"].first()
    by_time = {round(t, 6): str(kind) for t, kind in zip(marks["time"], marks["kind"], strict=True)}
    again = sent[sent["retransmission"]]["seq"].unique()
    for seq, copies in sent[sent["seq"].isin(again)].groupby("seq")["time"]:
        if seq not in arrived.index:
            continue
        # The copy that arrived is the last one sent before the arrival.
        repaired = copies[copies < arrived[seq]].iloc[-1]
        kind = by_time.get(round(repaired, 6))
        if kind in delays and repaired > copies.iloc[0]:
            delays[kind].append(float(arrived[seq] - copies.iloc[0]))
    return delays


class Run:
    """Traces of a run."""

    def __init__(self, model: Model, cell: Cell, run: int) -> None:
        self.seed, self.run = model.cache.seed, run
        self._probe = model.cache.probe(cell, run)

    def end(self, name: str, side: str = "from") -> "pd.DataFrame":
        """Return the rows of a trace for one end of the flow, by default the sender."""
        table = self._probe.table(name)
        return table[table["side"] == side]

    @property
    def arrivals(self) -> "pd.DataFrame":
        """Trace of arrived segments."""
        return self._probe.table("arrivals")

    @property
    def length(self) -> float:
        """Simulated time (s)."""
        return self._probe.simulated_s

    def caption(self, start: float, end: float) -> str:
        """Return a text with seed, run and time range."""
        return f"Seed {self.seed}, run {self.run}, {start:.0f} to {end:.0f} s."


def lossy(model: Model) -> Cell:
    """Return the cell without link recovery at a PER of 1 %."""
    return model.cell("none", 0.01, data=LENGTH)


def recovered(model: Model) -> Cell:
    """Return the cell with RLP at a PER of 1 %."""
    return model.cell("rlp", 0.01, data=LENGTH)


def high(model: Model, *, seq: bool) -> Cell:
    """Return the cell with RLP at a PER of 50 %, with or without in-sequence delivery."""
    return model.cell("rlp", 0.5, seq=seq, data=LENGTH)


def runs(model: Model, cell: Cell) -> Iterator[Run]:
    """Return the traced runs of a cell."""
    return (Run(model, cell, k) for k in range(model.cache.runs))


def per_run(model: Model, cell: Cell, label: str, measure: Callable[[Run], float]) -> Quantity:
    """Return a measure of each run of a cell; `label` is its key in the cache."""

    def of(run: int) -> float:
        return model.cache.read(cell, run, lambda _: measure(Run(model, cell, run)), label)

    return Quantity([of(run) for run in range(model.cache.runs)], f"{label}({cell.label})")


def within(table: "pd.DataFrame", start: float, end: float) -> "pd.DataFrame":
    """Return the rows from `start` to `end` (s)."""
    return table[(table["time"] >= start) & (table["time"] <= end)]


def value_before(table: "pd.DataFrame", column: str, time: float) -> float:
    """Return the last value of a column before a time."""
    before = table[table["time"] < time]
    return float(before[column].iloc[-1])


def small_window(model: Model) -> Iterator[tuple[Run, float, list[float]]]:
    """Find time-outs with cwnd below four segments after at least two fast retransmits.

    Yields the run, the time of the time-out, and the times of fast retransmits in the 17 s before
    it and after the previous time-out.
    """
    for run in runs(model, lossy(model)):
        marks = run.end("marks")
        recent: list[float] = []
        for time, kind in zip(marks["time"], marks["kind"], strict=True):
            if kind == "fast_retransmit":
                recent.append(float(time))
            elif kind == "timeout":
                near = [t for t in recent if time - t < 17]
                small = value_before(run.end("cwnd"), "cwnd", time) < 4 * MSS
                if len(near) >= 2 and small:
                    yield run, float(time), near
                recent = []


def most_recoveries(model: Model) -> tuple[Run, float, list[float]] | None:
    """Return the time-out of `small_window` with the most fast retransmits; None without one."""
    return max(small_window(model), key=lambda item: len(item[2]), default=None)


def grouped(rows: "pd.DataFrame") -> list[tuple[float, list[int]]]:
    """Group arrivals with gaps below 0.1 s, as (time of the first, sequence numbers)."""
    groups: list[tuple[float, list[int]]] = []
    last = -1.0
    for time, seq in zip(rows["time"], rows["seq"], strict=True):
        if time - last >= 0.1:
            groups.append((float(time), []))
        groups[-1][1].append(int(seq))
        last = time
    return groups
