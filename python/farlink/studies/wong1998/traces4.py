"""Chapter 4 from traces of single runs: figures 4.2, 4.4, 4.5, 4.6, 4.12, 4.13, and claims.

The published figures each show a piece of one random run. Here the runs of the lab are
searched for the first piece that shows the same; the figure says which it is.
"""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from farlink.plot import style
from farlink.studies.lab import Cell
from farlink.studies.quantity import Evidence, Quantity, every, fact
from farlink.studies.study import Drawing
from farlink.studies.wong1998.model import REGISTRY, Wong

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["largest_burst", "recovery_delays", "time_mean"]

_MSS, _WINDOW = 512, 4096
_LENGTH = "1 MB"
"""Data of a traced run; about a quarter of an hour."""

_Times = NDArray[np.float64]


def time_mean(time: ArrayLike, value: ArrayLike, start: float, end: float) -> float:
    """Return the mean over time, from `start` to `end`, of what steps to `value` at `time`."""
    t, v = np.asarray(time, dtype=float), np.asarray(value, dtype=float)
    before = int(np.searchsorted(t, start, side="right")) - 1
    inside = (t > start) & (t < end)
    edges = np.concatenate([[start], t[inside], [end]])
    values = np.concatenate([v[max(before, 0) : max(before, 0) + 1], v[inside]])
    return float(np.sum(values * np.diff(edges)) / (end - start))


def largest_burst(time: _Times, within: float) -> int:
    """Return the most events that come within such a time."""
    if not len(time):
        return 0
    return int((np.searchsorted(time, time + within, side="right") - np.arange(len(time))).max())


def recovery_delays(
    sent: "pd.DataFrame", came: "pd.DataFrame", marks: "pd.DataFrame"
) -> dict[str, list[float]]:
    """Return how long lost segments took, by what repaired them.

    From the first transmission of a segment to its first arrival, in s, for "timeout" and
    "fast_retransmit". A segment that a time-out sent again in passing is not counted.
    """
    delays: dict[str, list[float]] = {"timeout": [], "fast_retransmit": []}
    arrived = came[~came["duplicate"]].groupby("seq")["time"].first()
    by_time = {round(t, 6): str(kind) for t, kind in zip(marks["time"], marks["kind"], strict=True)}
    again = sent[sent["retransmission"]]["seq"].unique()
    for seq, copies in sent[sent["seq"].isin(again)].groupby("seq")["time"]:
        if seq not in arrived.index:
            continue
        # The copy that came is the last one sent before; the others were lost.
        repaired = copies[copies < arrived[seq]].iloc[-1]
        kind = by_time.get(round(repaired, 6))
        if kind in delays and repaired > copies.iloc[0]:
            delays[kind].append(float(arrived[seq] - copies.iloc[0]))
    return delays


class _Run:
    """The traces of a run that the figures look at."""

    def __init__(self, w: Wong, cell: Cell, run: int) -> None:
        self.seed, self.run = w.lab.seed, run
        self._probe = w.lab.probe(cell, run)

    def end(self, name: str, side: str = "from") -> "pd.DataFrame":
        """Return a trace of one end of the flow."""
        table = self._probe.table(name)
        return table[table["side"] == side]

    @property
    def arrivals(self) -> "pd.DataFrame":
        return self._probe.table("arrivals")

    @property
    def length(self) -> float:
        return self._probe.simulated_s

    def told(self, start: float, end: float) -> str:
        return f"Seed {self.seed}, run {self.run}, {start:.0f} to {end:.0f} s."


def _lossy(w: Wong) -> Cell:
    return w.cell("none", 0.01, data=_LENGTH)


def _recovered(w: Wong) -> Cell:
    return w.cell("rlp", 0.01, data=_LENGTH)


def _high(w: Wong, *, seq: bool) -> Cell:
    return w.cell("rlp", 0.5, seq=seq, data=_LENGTH)


def _runs(w: Wong, cell: Cell) -> Iterator[_Run]:
    return (_Run(w, cell, k) for k in range(w.lab.runs))


def _per_run(w: Wong, cell: Cell, label: str, measure: Callable[[_Run], float]) -> Quantity:
    return Quantity([measure(run) for run in _runs(w, cell)], f"{label}({cell.label})")


def _within(table: "pd.DataFrame", start: float, end: float) -> "pd.DataFrame":
    return table[(table["time"] >= start) & (table["time"] <= end)]


def _value_before(table: "pd.DataFrame", column: str, time: float) -> float:
    before = table[table["time"] < time]
    return float(before[column].iloc[-1])


# --- Figure 4.2: fast recoveries make the window small, and a time-out follows


def _small_window(w: Wong) -> Iterator[tuple[_Run, float, list[float]]]:
    """Time-outs with less than four segments of window after fast recoveries.

    Gives the run, the time-out, and the fast retransmits since the time-out before it that
    are at most 20 s old: two or more.
    """
    for run in _runs(w, _lossy(w)):
        marks = run.end("marks")
        recent: list[float] = []
        for time, kind in zip(marks["time"], marks["kind"], strict=True):
            if kind == "fast_retransmit":
                recent.append(float(time))
            elif kind == "timeout":
                near = [t for t in recent if time - t < 17]
                small = _value_before(run.end("cwnd"), "cwnd", time) < 4 * _MSS
                if len(near) >= 2 and small:
                    yield run, float(time), near
                recent = []


def _most_recoveries(w: Wong) -> tuple[_Run, float, list[float]] | None:
    return max(_small_window(w), key=lambda one: len(one[2]), default=None)


@REGISTRY.figure("fig4.2")
@style.styled
def _window_and_timeout(w: Wong) -> Drawing:
    found = _most_recoveries(w)
    if found is None:
        run = _Run(w, _lossy(w), 0)
        timeout, note = 20.0, "No run has a time-out after two fast recoveries; the first run."
    else:
        run, timeout, near = found
        cwnd = _value_before(run.end("cwnd"), "cwnd", timeout)
        sent = run.end("segments")
        idle = timeout - float(sent[sent["time"] < timeout]["time"].iloc[-1])
        note = (
            f"{len(near)} fast retransmits, then cwnd {cwnd:.0f} B, {cwnd // _MSS:.0f} segments; "
            f"time-out at {timeout:.1f} s after {idle:.1f} s of silence (published: 3, 1828 B, "
            "3 segments, 4.5 s)."
        )
    start, end = timeout - 16.6, timeout + 3.4
    figure, (axes,) = style.panels(1, 2.8)
    cwnd_rows = run.end("cwnd")
    axes.step(cwnd_rows["time"], cwnd_rows["cwnd"], where="post", color=style.PALETTE[0])
    _events(axes, run, start, end)
    _finish(axes, (start, end), "cwnd (B)")
    axes.set_ylim(0, 5000)
    tables = {"cwnd": _within(cwnd_rows, start, end)}
    return Drawing(figure, tables, f"{run.told(start, end)} {note}")


@REGISTRY.claim("wong1998.fig4.2.cwnd1828_three_segments")
def _three_segments(w: Wong) -> Evidence:
    found = _most_recoveries(w)
    after = [_cwnd_after(run) for run in _runs(w, _lossy(w))]
    holds = 1828 // _MSS == 3 and set().union(*after) == {float(_MSS)} and found is not None
    times = "none" if found is None else f"run {found[0].run} at {found[1]:.1f} s"
    windows = ", ".join(f"{one:.0f} B" for one in sorted(set().union(*after)))
    return fact(holds, f"window after time-outs: {windows}; time-out in a small window: {times}")


def _cwnd_after(run: _Run) -> set[float]:
    marks = run.end("marks")
    cwnd = run.end("cwnd").groupby("time")["cwnd"].last()
    return {float(cwnd[t]) for t in marks[marks["kind"] == "timeout"]["time"] if t in cwnd.index}


# --- Figure 4.1 in numbers


@REGISTRY.claim("wong1998.fig4.1.timeout_costlier_than_fast_retransmit")
def _costlier(w: Wong) -> Evidence:
    def delay(kind: str) -> Quantity:
        def of(run: _Run) -> float:
            found = recovery_delays(run.end("segments"), run.arrivals, run.end("marks"))[kind]
            return float(np.mean(found)) if found else float("nan")

        return _per_run(w, _lossy(w), f"recovery by {kind}, s", of)

    return delay("timeout") >= 1.5 * delay("fast_retransmit")


# --- Figure 4.4: two time-outs in a row


@REGISTRY.figure("fig4.4")
@style.styled
def _two_timeouts(w: Wong) -> Drawing:
    run, times = _fast_retransmit_and_timeouts(w)
    start, end = times[0] - 4.1, times[0] + 15.9
    figure, (axes,) = style.panels(1, 3.2)
    sent, came = _within(run.end("segments"), start, end), _within(run.arrivals, start, end)
    first, again = sent[~sent["retransmission"]], sent[sent["retransmission"]]
    axes.plot(first["time"], first["seq"], "_", color=style.DATA, label="sent")
    axes.plot(again["time"], again["seq"], "x", color=style.LOSS, ms=5, label="sent again")
    axes.plot(came["time"], came["seq"], "o", mfc="none", ms=4, color=style.ACK, label="received")
    _events(axes, run, start, end)
    _finish(axes, (start, end), "sequence number (B)")
    style.legend_above(axes, *axes.get_legend_handles_labels())
    note = (
        f"Fast retransmit at {times[0]:.1f} s, time-outs at {times[1]:.1f} and {times[2]:.1f} s: "
        f"{times[1] - times[0]:.1f} and {times[2] - times[1]:.1f} s (published: 210.1, 214.1 and "
        "222.1 s; 4 and 8 s)."
    )
    return Drawing(figure, {"sent": sent, "received": came}, f"{run.told(start, end)} {note}")


def _fast_retransmit_and_timeouts(w: Wong) -> tuple[_Run, tuple[float, float, float]]:
    """Find a fast retransmit that two time-outs follow, the second after twice the time.

    The one whose first time-out comes nearest to the 4 s of the publication.
    """
    found = []
    for run in _runs(w, _lossy(w)):
        marks = run.end("marks")
        marks = marks[marks["kind"].isin(["fast_retransmit", "timeout"])]
        kinds, times = list(marks["kind"]), [float(t) for t in marks["time"]]
        for i in range(len(kinds) - 2):
            a, b, c = times[i : i + 3]
            if kinds[i : i + 3] == ["fast_retransmit", "timeout", "timeout"]:
                doubles = abs((c - b) - 2 * (b - a)) < 0.5
                found.append((not doubles, abs(b - a - 4), run.run, (a, b, c), run))
    if not found:
        return _Run(w, _lossy(w), 0), (10.0, 14.0, 22.0)
    best = min(found, key=lambda one: one[:3])
    return best[4], best[3]


# --- Figures 4.5 and 4.6: with and without link layer recovery


@REGISTRY.figure("fig4.5")
@style.styled
def _windows(w: Wong) -> Drawing:
    figure, panels = style.panels(2, 4.0)
    tables = {}
    for axes, cell, name in zip(
        panels, (_recovered(w), _lossy(w)), ("with recovery (RLP)", "without"), strict=True
    ):
        run = _Run(w, cell, 0)
        rows = _within(run.end("cwnd"), 0, 100)
        axes.step(rows["time"], rows["cwnd"], where="post", color=style.PALETTE[0])
        axes.set_title(name)
        _finish(axes, (0, 100), "cwnd (B)")
        axes.set_ylim(0, 5000)
        tables[f"cwnd {name}"] = rows
    panels[0].set_xlabel("")
    return Drawing(figure, tables, run.told(0, 100))


@REGISTRY.claim("wong1998.fig4.5.cwnd_stays_max_with_rlp")
def _stays(w: Wong) -> Evidence:
    def share(run: _Run) -> float:
        cwnd = run.end("cwnd")
        return time_mean(cwnd["time"], cwnd["cwnd"] == _WINDOW, 30, 500)

    def window(run: _Run) -> float:
        cwnd = run.end("cwnd")
        return time_mean(cwnd["time"], cwnd["cwnd"], 0, 500)

    full = _per_run(w, _recovered(w), "share of time at 4096 B", share)
    return every(full >= 0.98, _per_run(w, _lossy(w), "mean cwnd in B", window) <= 0.8 * _WINDOW)


@REGISTRY.figure("fig4.6")
@style.styled
def _progress(w: Wong) -> Drawing:
    figure, (axes,) = style.panels(1, 3.4)
    tables = {}
    for cell, name, colour in (
        (_recovered(w), "with link layer recovery (RLP)", style.PALETTE[0]),
        (_lossy(w), "without link layer recovery", style.PALETTE[1]),
    ):
        run = _Run(w, cell, 0)
        rows = _within(run.arrivals, 0, 500)
        axes.plot(rows["time"], rows["seq"] / 1e3, ".", ms=1.5, color=colour, label=name)
        tables[name] = rows
    _finish(axes, (0, 500), "sequence number received (kB)")
    style.legend_above(axes, *axes.get_legend_handles_labels())
    return Drawing(figure, tables, run.told(0, 500))


@REGISTRY.claim("wong1998.fig4.6.rlp_faster_at_1pct")
def _faster(w: Wong) -> Evidence:
    def gap(run: _Run) -> float:
        times = np.concatenate([_within(run.arrivals, 0, 500)["time"], [min(500, run.length)]])
        return float(np.diff(times).max())

    rlp = _per_run(w, _recovered(w), "longest silence at the receiver, s", gap)
    none = _per_run(w, _lossy(w), "longest silence at the receiver, s", gap)
    return every(w.thr("rlp", 0.01) > w.thr("none", 0.01), none > 3 * rlp)


# --- Figures 4.12 and 4.13: in sequence or not


@REGISTRY.figure("fig4.12")
@style.styled
def _bursts(w: Wong) -> Drawing:
    run, start = _liveliest(w, _high(w, seq=True), _burst_sizes)
    rows = _within(run.arrivals, start, start + 30)
    groups = _grouped(rows)
    note = "Bursts of 3 segments and more within 0.1 s: " + ", ".join(
        f"{len(seqs)} at {time:.1f} s" for time, seqs in groups if len(seqs) >= 3
    )
    published = "published, protocol and PER not named: 5, 4, 4, 3 at 863.2, 869.8, 874.2, 874.8 s"
    drawing = _received(rows, start, [(t, s) for t, s in groups if len(s) >= 3])
    said = f"RLP at PER 50 %. {run.told(start, start + 30)} {note} ({published})."
    return Drawing(drawing, {"received": rows}, said)


@REGISTRY.figure("fig4.13")
@style.styled
def _overtaken(w: Wong) -> Drawing:
    run, start = _liveliest(w, _high(w, seq=False), lambda rows: int(rows["out_of_order"].sum()))
    rows = _within(run.arrivals, start, start + 30)
    said = (
        f"RLP at PER 50 %, out of sequence. {run.told(start, start + 30)} "
        f"{int(rows['out_of_order'].sum())} of {len(rows)} segments came out of order (red)."
    )
    return Drawing(_received(rows, start, []), {"received": rows}, said)


@REGISTRY.claim("wong1998.fig4.12.sequencing_bursts")
def _burstier(w: Wong) -> Evidence:
    def largest(run: _Run) -> int:
        return largest_burst(run.arrivals["time"].to_numpy(), 0.1)

    def burst(run: _Run) -> float:
        """Return the mean over all windows of 30 s of their largest burst."""
        time = run.arrivals["time"].to_numpy()
        starts = np.arange(0, run.length - 30, 30)
        pieces = [time[(time >= t) & (time < t + 30)] for t in starts]
        return float(np.mean([largest_burst(piece, 0.1) for piece in pieces]))

    seq, other = _high(w, seq=True), _high(w, seq=False)
    label = "largest burst of 30 s, segments"
    bursts = [largest(run) for run in _runs(w, seq)]
    told = ", ".join(map(str, bursts))
    return every(
        fact(min(bursts) >= 3, f"largest bursts of the runs, segments: {told}"),
        _per_run(w, seq, label, burst) > _per_run(w, other, label, burst),
    )


def _burst_sizes(rows: "pd.DataFrame") -> int:
    return sum(len(seqs) for _, seqs in _grouped(rows) if len(seqs) >= 3)


def _grouped(rows: "pd.DataFrame") -> list[tuple[float, list[int]]]:
    """Return arrivals in groups with less than 0.1 s from one to the next."""
    groups: list[tuple[float, list[int]]] = []
    last = -1.0
    for time, seq in zip(rows["time"], rows["seq"], strict=True):
        if time - last >= 0.1:
            groups.append((float(time), []))
        groups[-1][1].append(int(seq))
        last = time
    return groups


def _liveliest(w: Wong, cell: Cell, count: "Callable[[pd.DataFrame], int]") -> tuple[_Run, float]:
    """Find the 30 s of the first run, its first 100 s left out, that show most."""
    run = _Run(w, cell, 0)
    starts = np.arange(100.0, run.length - 30, 10)
    if not len(starts):
        return run, 0.0
    return run, float(max(starts, key=lambda t: count(_within(run.arrivals, t, t + 30))))


def _received(rows: "pd.DataFrame", start: float, told: list[tuple[float, list[int]]]) -> "Figure":
    figure, (axes,) = style.panels(1, 3.2)
    late = rows["out_of_order"].to_numpy()
    axes.plot(rows["time"], rows["seq"] / 1e3, "o", ms=3, color=style.PALETTE[0])
    axes.plot(rows["time"][late], rows["seq"][late] / 1e3, "o", ms=3, color=style.LOSS)
    for time, seqs in told:
        axes.annotate(
            f"{len(seqs)}", (time, max(seqs) / 1e3), (-4, 3), textcoords="offset points", ha="right"
        )
    _finish(axes, (start, start + 30), "sequence number received (kB)")
    return figure


# --- Drawing


def _events(axes: "Axes", run: _Run, start: float, end: float) -> None:
    """Mark fast retransmits and time-outs above the curve."""
    marks = _within(run.end("marks"), start, end)
    for kind, text in (("fast_retransmit", "fast retransmit"), ("timeout", "time-out")):
        for time in marks[marks["kind"] == kind]["time"]:
            axes.axvline(time, color=style.MUTED, lw=0.7, ls=":" if kind == "timeout" else "--")
            axes.annotate(
                text,
                (time, 1),
                (2, -3),
                xycoords=("data", "axes fraction"),
                textcoords="offset points",
                rotation=90,
                va="top",
                fontsize=6.5,
                color=style.MUTED,
            )


def _finish(axes: "Axes", limits: tuple[float, float], label: str) -> None:
    style.time_axis(axes, limits)
    axes.set_ylabel(label)
