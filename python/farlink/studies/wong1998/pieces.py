"""Measures of chapter 4 from the traces of single runs, one value for each run."""

import numpy as np

from farlink.studies.model import Model
from farlink.studies.quantity import Evidence, Quantity, fact
from farlink.studies.wong1998.registry import REGISTRY
from farlink.studies.wong1998.traced import (
    MSS,
    WINDOW,
    Run,
    grouped,
    high,
    largest_burst,
    lossy,
    most_recoveries,
    per_run,
    recovered,
    recovery_delays,
    runs,
    time_mean,
    within,
)

__all__: list[str] = []

_SHOWN_S = 100.0
"""Time that figure 4.5 shows (s)."""

_PIECE_S = 30.0
"""Time that figures 4.12 and 4.13 show (s)."""


def _delays(run: Run, kind: str) -> list[float]:
    return recovery_delays(run.end("segments"), run.arrivals, run.end("marks"))[kind]


@REGISTRY.function("recovery_delay")
def _recovery_delay(model: Model, kind: str) -> Quantity:
    """Return the mean time (s) from transmission to arrival of segments repaired by `kind`."""

    def mean(run: Run) -> float:
        result = _delays(run, kind)
        return float(np.mean(result)) if result else float("nan")

    return per_run(model, lossy(model), f"recovery by {kind}, s", mean)


@REGISTRY.function("shortest_recovery")
def _shortest_recovery(model: Model, kind: str) -> Quantity:
    """Return the least time (s) from transmission to arrival of segments repaired by `kind`."""

    def least(run: Run) -> float:
        return min(_delays(run, kind), default=float("nan"))

    return per_run(model, lossy(model), f"shortest recovery by {kind}, s", least)


def _silences(run: Run) -> list[float]:
    """Return the time (s) from the last transmission to each time-out."""
    marks, sent = run.end("marks"), run.end("segments")["time"].to_numpy()
    times = marks[marks["kind"] == "timeout"]["time"].to_numpy()
    last = [int(np.searchsorted(sent, time - 1e-9)) - 1 for time in times]
    return [float(time - sent[k]) for time, k in zip(times, last, strict=True) if k >= 0]


@REGISTRY.function("idle_share")
def _idle_share(model: Model, bound: float) -> Quantity:
    """Return the share of time-outs at most `bound` s after the last transmission."""

    def share(run: Run) -> float:
        result = _silences(run)
        return float(np.mean(np.array(result) <= bound)) if result else float("nan")

    return per_run(model, lossy(model), f"share of time-outs after {bound:g} s at most", share)


@REGISTRY.function("idle_steps")
def _idle_steps(model: Model) -> float:
    """Return the largest distance (s) of the RTO at a time-out from a multiple of 0.5 s."""
    farthest = 0.0
    for run in runs(model, lossy(model)):
        state, marks = run.end("rto"), run.end("marks")
        for time in marks[marks["kind"] == "timeout"]["time"]:
            rto = float(state[state["time"] < time]["rto"].iloc[-1])
            farthest = max(farthest, abs(rto - round(2 * rto) / 2))
    return farthest


@REGISTRY.function("small_window_before_timeout")
def _small_window(model: Model) -> Evidence:
    """Return the fact whether a time-out with cwnd < 4 segments follows two fast recoveries."""
    result = most_recoveries(model)
    where = "none" if result is None else f"run {result[0].run} at {result[1]:.1f} s"
    return fact(result is not None, f"time-out in a small window: {where}")


@REGISTRY.function("window_after_timeout")
def _window_after_timeout(model: Model) -> Quantity:
    """Return the largest cwnd (B) right after a time-out, for each run."""

    def largest(run: Run) -> float:
        marks = run.end("marks")
        cwnd = run.end("cwnd").groupby("time")["cwnd"].last()
        times = [t for t in marks[marks["kind"] == "timeout"]["time"] if t in cwnd.index]
        return max((float(cwnd[t]) for t in times), default=float("nan"))

    return per_run(model, lossy(model), "largest window after a time-out, B", largest)


@REGISTRY.function("window_rule_broken")
def _window_rule_broken(model: Model) -> Quantity:
    """Count the steps of congestion avoidance that break the study's rule.

    The rule (sections 2.1.5 and 2.1.3) is cwnd += 512 * 512 / cwnd per ACK of new data, in whole
    bytes.
    """

    def broken(run: Run) -> float:
        cwnd, ssthresh = run.end("cwnd"), run.end("ssthresh")["ssthresh"].to_numpy()
        window, time = cwnd["cwnd"].to_numpy(), cwnd["time"].to_numpy()
        marks = set(run.end("marks")["time"].round(6))
        count = 0
        for k in range(1, len(window)):
            before, now = window[k - 1], window[k]
            calm = round(float(time[k]), 6) not in marks and ssthresh[k] == ssthresh[k - 1]
            if calm and ssthresh[k] <= before < now and now - before < MSS:
                step = min(before + MSS * MSS // before, WINDOW)
                count += now != step
        return count

    return per_run(model, lossy(model), "windows that break the rule", broken)


@REGISTRY.function("window_after")
def _window_after(_: Model, first: int, *acks: int) -> int:
    """Compute cwnd (bytes) after several fast retransmits, with `acks` ACKs of new data after each.

    cwnd is `first` before. A fast retransmit halves cwnd and sets ssthresh to that value. An ACK
    adds a segment up to ssthresh and MSS * MSS / cwnd above.
    """
    window = first
    for count in acks:
        window //= 2
        threshold = window
        for _ack in range(count):
            window += MSS if window <= threshold else MSS * MSS // window
            window = min(window, WINDOW)
    return window


@REGISTRY.function("window_share")
def _window_share(model: Model, ll: str) -> Quantity:
    """Return the share of time with cwnd at 4096 B, from its first time at 4096 B to 100 s."""

    def share(run: Run) -> float:
        cwnd = run.end("cwnd")
        full = cwnd[cwnd["cwnd"] >= WINDOW]["time"]
        if full.empty or full.iloc[0] >= _SHOWN_S:
            return 0.0
        return time_mean(cwnd["time"], cwnd["cwnd"] >= WINDOW, float(full.iloc[0]), _SHOWN_S)

    cell = recovered(model) if ll == "rlp" else lossy(model)
    return per_run(model, cell, "share of time at 4096 B", share)


@REGISTRY.function("window_cuts")
def _window_cuts(model: Model, ll: str) -> Quantity:
    """Return the number of time-outs and fast retransmits in the first 100 s."""

    def cuts(run: Run) -> float:
        marks = within(run.end("marks"), 0, _SHOWN_S)
        return float(marks["kind"].isin(["timeout", "fast_retransmit"]).sum())

    cell = recovered(model) if ll == "rlp" else lossy(model)
    return per_run(model, cell, "cuts of the window in 100 s", cuts)


@REGISTRY.function("longest_silence")
def _longest_silence(model: Model, ll: str) -> Quantity:
    """Return the longest time (s) without an arrival in the first 500 s."""

    def gap(run: Run) -> float:
        times = np.concatenate([within(run.arrivals, 0, 500)["time"], [min(500, run.length)]])
        return float(np.diff(times).max())

    cell = recovered(model) if ll == "rlp" else lossy(model)
    return per_run(model, cell, "longest silence at the receiver, s", gap)


def _pieces(run: Run, word: str) -> list[float]:
    """Return the measure `word` of each 30 s of a run after its first 100 s."""
    rows = run.arrivals
    starts = np.arange(100.0, run.length - _PIECE_S, _PIECE_S)
    entries = []
    for start in starts:
        piece = within(rows, start, start + _PIECE_S)
        time = piece["time"].to_numpy()
        edges = np.concatenate([[start], time, [start + _PIECE_S]])
        sizes = [len(seqs) for _, seqs in grouped(piece)]
        match word:
            case "largest":
                entries.append(float(largest_burst(time, 0.1)))
            case "number":
                entries.append(float(sum(size >= 3 for size in sizes)))
            case "wait":
                entries.append(float(np.diff(edges).max()))
            case _:
                entries.append(float(piece["out_of_order"].sum()))
    return entries


@REGISTRY.function("bursts")
def _bursts(model: Model, seq: bool, word: str) -> Quantity:  # noqa: FBT001 (as a record says it)
    """Return the mean over 30 s pieces of the measure `word`.

    "largest" is the largest burst, "number" the bursts of at least 3 segments, "wait" the longest
    time (s) without an arrival. Any other word gives the out-of-order segments.
    """

    def mean(run: Run) -> float:
        result = _pieces(run, word)
        return float(np.mean(result)) if result else float("nan")

    return per_run(model, high(model, seq=seq), f"{word} of 30 s", mean)


@REGISTRY.function("burst_share")
def _burst_share(model: Model, word: str, value: float) -> Quantity:
    """Return the share of 30 s pieces with a measure below `value`; ties count half."""

    def share(run: Run) -> float:
        values = np.array(_pieces(run, word))
        return float(np.mean((values < value) + 0.5 * (values == value)))

    return per_run(model, high(model, seq=True), f"share with {word} up to {value:g}", share)
