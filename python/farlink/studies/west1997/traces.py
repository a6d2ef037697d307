"""Measures from traces: causes of stalls, and effects of scripted losses."""

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from farlink.studies.cache import Cell
from farlink.studies.model import Model
from farlink.studies.quantity import Evidence, Quantity, fact
from farlink.studies.west1997.registry import REGISTRY

if TYPE_CHECKING:
    import pandas as pd

    from farlink.trace import Trace

__all__ = ["MSS", "scripted", "sender"]

MSS = 1460
RUNS = 20
"""Number of traced runs, as many as in the report."""

_DUPLICATES = 3
_SMALL = 4 * MSS
"""Window (bytes) below which a loss cannot cause three duplicate ACKs."""

_NEAR = 16 * 1024
"""Distance in the stream (bytes) up to which two losses count as in one window."""


def sender(trace: "Trace", name: str) -> "pd.DataFrame":
    """Return the rows of a trace for the sending end."""
    table = trace.table(name)
    return table[table["side"] == "from"]


def _of_runs(model: Model, cell: Cell, label: str, of: "Callable[[Trace], float]") -> Quantity:
    runs = range(min(RUNS, model.cache.runs))
    values = [model.cache.read(cell, run, of, label) for run in runs]
    return Quantity(values, f"{label}({cell.label})")


def _marks(trace: "Trace", kind: str) -> list[float]:
    marks = sender(trace, "marks")
    return [float(time) for time in marks["time"][marks["kind"] == kind]]


def _last_before(table: "pd.DataFrame", column: str, time: float, default: float) -> float:
    result = table[column][table["time"] < time]
    return float(result.iloc[-1]) if len(result) else default


def _stalls(trace: "Trace") -> Iterator[tuple[int, bool, bool]]:
    """Yield for each time-out the number of duplicate ACKs for the missing segment, and two flags.

    The first flag is set if since the previous time-out at least two losses were within `_NEAR` of
    that segment. The second flag is set if in addition cwnd was at least `_SMALL` in that time, and
    below `_SMALL` just before the time-out.
    """
    acks, windows = sender(trace, "acks"), sender(trace, "cwnd")
    drops = trace.table("drops").dropna(subset=["seq"])
    before = 0.0
    for time in _marks(trace, "timeout"):
        known = acks["ack"][acks["time"] < time].to_numpy()
        una = float(known.max()) if len(known) else 0.0
        duplicates = max(int(np.sum(known == una)) - 1, 0)
        since = (windows["time"] > before) & (windows["time"] < time)
        largest = float(windows["cwnd"][since].max()) if since.any() else 0.0
        near = (drops["time"] > before) & (drops["time"] < time)
        near &= (drops["seq"] - una).abs() <= _NEAR
        small = _last_before(windows, "cwnd", time, 0.0) < _SMALL <= largest
        together = int(near.sum()) > 1
        yield duplicates, together, together and small
        before = time


def _share_of_stalls(
    holds: "Callable[[tuple[int, bool, bool]], bool]",
) -> "Callable[[Trace], float]":
    def share(trace: "Trace") -> float:
        results = [holds(stall) for stall in _stalls(trace)]
        return sum(results) / len(results) if results else float("nan")

    return share


@REGISTRY.function("too_few_duplicates")
def _too_few_duplicates(model: Model, scheme: str, err: str) -> Quantity:
    """Return the share of time-outs before which fewer than three duplicate ACKs had arrived."""
    share = _share_of_stalls(lambda item: item[0] < _DUPLICATES)
    return _of_runs(model, model.cell(scheme, err), "too few duplicates", share)


@REGISTRY.function("losses_together")
def _losses_together(model: Model, scheme: str, err: str) -> Quantity:
    """Return the share of time-outs after at least two losses in one window."""
    share = _share_of_stalls(lambda item: item[1])
    return _of_runs(model, model.cell(scheme, err), "losses together", share)


@REGISTRY.function("halved_away")
def _halved_away(model: Model, scheme: str, err: str) -> Quantity:
    """Return the share of time-outs after two losses in one window had reduced cwnd too far."""
    share = _share_of_stalls(lambda item: item[2])
    return _of_runs(model, model.cell(scheme, err), "halved away", share)


@REGISTRY.function("detection_ms")
def _detection_ms(model: Model, scheme: str, err: str, **factors: Any) -> Quantity:  # noqa: ANN401
    """Return the mean time from a loss to its fast retransmit (ms)."""

    def mean(trace: "Trace") -> float:
        drops, acks = trace.table("drops").dropna(subset=["seq"]), sender(trace, "acks")
        entries = []
        for time in _marks(trace, "fast_retransmit"):
            una = _last_before(acks, "ack", time, 0.0)
            lost = drops["time"][(drops["seq"] == una) & (drops["time"] < time)]
            if len(lost):
                entries.append(time - float(lost.iloc[-1]))
        return 1e3 * float(np.mean(entries)) if entries else float("nan")

    return _of_runs(model, model.cell(scheme, err, **factors), "detection in ms", mean)


@REGISTRY.function("near_time")
def _near_time(_: Model, what: Quantity, time: Quantity, at: float, within: float) -> Quantity:
    """Return a quantity of the runs with a transfer time within `within` of `at` (s)."""
    away = (time - at).values  # noqa: PD011 (no frame)
    values = np.where(np.abs(away) <= within, what.values, np.nan)
    return Quantity(values, f"{what.label} at {at:g} s", what.unit)


# --- Scripted losses


def scripted(
    model: Model,
    scheme: str,
    window: int,
    lost: Sequence[int] = (),
    wired: Sequence[int] = (),
    **more: Any,  # noqa: ANN401 (keys of [tcp], and segments)
) -> "Trace":
    """Return the traces of a transfer with a constant window and scripted losses.

    Parameters
    ----------
    window
        Initial and largest window (segments).
    lost, wired
        Numbers of data packets that the wireless and the wired link lose.
    more
        Keys of [tcp], and `segments`, the number of segments to send (by default six windows).
    """
    cell = model.cell(scheme, "none")
    tree = copy.deepcopy(dict(cell.scenario))
    size = more.pop("segments", 6 * window) * MSS
    open_ = f"{window * MSS} B"
    tree["tcp"].update({"initial_window": window, "receive_window": open_}, **more)
    tree["tcp"]["initial_ssthresh"] = open_
    if tree["tcp"]["delayed_ack"] == "off":
        tree["tcp"].pop("ack_heartbeat")
    tree["flows"][0]["size"] = f"{size} B"
    for link, numbers in ((1, lost), (0, wired)):
        if numbers:
            channel = {"scripted_loss": {"packets": list(numbers), "min_size": "100 B"}}
            tree["links"][link]["down"]["channel"] = channel
    return model.cache.probe(Cell(f"{scheme}, {window} segments, {lost} {wired} lost", tree))


@REGISTRY.function("same_as_reno")
def _same_as_reno(model: Model, scheme: str, window: int, lost: int) -> Evidence:
    """Return the fact whether a scheme sends exactly as Reno if one packet of a window is lost."""
    sent = [
        sender(scripted(model, item, window, [lost]), "segments")[["time", "seq", "len"]].to_numpy()
        for item in ("reno", scheme)
    ]
    same = sent[0].shape == sent[1].shape and bool(np.all(sent[0] == sent[1]))
    return fact(same, f"{scheme} sends as Reno with packet {lost} of {window} lost")


@REGISTRY.function("recoveries")
def _recoveries(model: Model, scheme: str, window: int, lost: Sequence[int]) -> int:
    """Count fast retransmits and time-outs after scripted losses."""
    trace = scripted(model, scheme, window, lost)
    return len(_marks(trace, "fast_retransmit")) + len(_marks(trace, "timeout"))


@REGISTRY.function("timeouts_after")
def _timeouts_after(model: Model, scheme: str, window: int, lost: Sequence[int]) -> int:
    """Count time-outs after scripted losses."""
    return len(_marks(scripted(model, scheme, window, lost), "timeout"))


@REGISTRY.function("resent_a_round")
def _resent_a_round(model: Model, scheme: str, window: int, lost: Sequence[int]) -> tuple[int, ...]:
    """Count the retransmissions between successive ACKs of new data."""
    trace = scripted(model, scheme, window, lost)
    sent, acks = sender(trace, "segments"), sender(trace, "acks")
    again = sent[sent["retransmission"]]["time"].to_numpy()
    news = acks["time"][acks["ack"] > acks["ack"].cummax().shift(fill_value=0)].to_numpy()
    edges = [again[0], *news[news > again[0]]]
    counts, _ = np.histogram(again, bins=[*edges, again[-1] + 1.0])
    return tuple(int(count) for count in counts if count)


@REGISTRY.function("acks_of")
def _acks_of(model: Model, window: int, lost: Sequence[int]) -> tuple[int, ...]:
    """Return the ACK numbers for one window from a receiver without delayed ACKs."""
    trace = scripted(model, "reno", window, lost, segments=window, delayed_ack="off")
    acks = sender(trace, "acks")
    first = _marks(trace, "fast_retransmit") + _marks(trace, "timeout")
    rows = acks[(acks["time"] <= min(first, default=np.inf)) & (acks["ack"] > 0)]
    return tuple(int(item) + 1 for item in rows["ack"])


@REGISTRY.function("blocks_of")
def _blocks_of(model: Model, window: int, lost: Sequence[int]) -> tuple[tuple[int, int], ...]:
    """Return the SACK blocks of one window, the widest for each left edge, the highest first."""
    table = sender(scripted(model, "sack", window, lost, segments=window), "sacks")
    blocks: dict[int, int] = {}
    for left, right in zip(table["left"], table["right"], strict=True):
        end = min(int(right), window * MSS) + 1  # without the sequence number of the FIN
        blocks[int(left) + 1] = max(blocks.get(int(left) + 1, 0), end)
    return tuple((left, blocks[left]) for left in sorted(blocks, reverse=True))


@REGISTRY.function("round_trip_ms")
def _round_trip_ms(model: Model) -> float:
    """Return the time from a single packet to its ACK (ms)."""
    trace = scripted(model, "reno", 1, segments=1, delayed_ack="off")
    acks = sender(trace, "acks")
    sent = float(sender(trace, "segments")["time"].iloc[0])
    return 1e3 * (float(acks["time"][acks["ack"] >= MSS].iloc[0]) - sent)


@REGISTRY.function("window_after_loss")
def _window_after_loss(model: Model, scheme: str, window: int) -> float:
    """Return cwnd right after a fast retransmit (segments)."""
    trace = scripted(model, scheme, window, [3])
    (time, *_) = _marks(trace, "fast_retransmit")
    windows = sender(trace, "cwnd")
    return float(windows["cwnd"][windows["time"] >= time].iloc[0]) / MSS


@REGISTRY.function("regained_s")
def _regained_s(model: Model, packets: int, round_ms: float) -> float:
    """Return the time (s) in which cwnd grows from half of `packets` back to `packets`."""
    cell = model.cell("reno", "none", size="40 MB")
    tree = copy.deepcopy(dict(cell.scenario))
    size = f"{packets * MSS} B"
    keys = {"initial_window": packets, "receive_window": size, "initial_ssthresh": size}
    tree["tcp"].update(keys)
    link = tree["links"][1]
    for direction in ("down", "up"):
        rate = {"rate": "10 Mbit/s", "delay": f"{round_ms / 2:g} ms", "queue": "unlimited"}
        link[direction] = rate
    link["down"] = {**link["down"], "channel": {"scripted_loss": {"packets": [packets // 2]}}}
    trace = model.cache.probe(Cell(f"{packets} packets, {round_ms:g} ms", tree))
    windows = sender(trace, "cwnd")
    (start, *_) = _marks(trace, "recovery_exit")
    full = windows[(windows["time"] > start) & (windows["cwnd"] >= packets * MSS)]
    return float(full["time"].iloc[0]) - start


# --- Partial acknowledgments


def _acts_of_agent(trace: "Trace", action: str) -> tuple[int, ...]:
    agent = trace.table("agent")
    return tuple(int(item) for item in agent["seq"][agent["action"] == action])


SCENARIOS: Mapping[int, tuple[Sequence[int], Sequence[int]]] = {
    1: ((4,), ()),
    2: ((2,), (2, 3)),
    3: ((2, 4), (2, 3)),
}
"""Numbers of the packets (of four) that the wireless and the wired link lose in figures 5 to 7."""


@REGISTRY.function("partials")
def _partials(model: Model, scenario: int, repairs_lost: int = 0) -> tuple[int, ...]:
    """Return the packet numbers in the partial acknowledgments of the full protocol.

    The wireless link also loses the first `repairs_lost` local retransmissions.
    """
    lost, wired = SCENARIOS[scenario]
    more = range(max(lost) + 1, max(lost) + 1 + repairs_lost)
    trace = scripted(model, "ackp-full", 4, [*lost, *more], wired, segments=4)
    return tuple(round(end / MSS) for end in _acts_of_agent(trace, "partial"))


@REGISTRY.function("local_repairs")
def _local_repairs(model: Model, scenario: int) -> tuple[int, ...]:
    """Return the numbers of the packets that the base station retransmitted."""
    lost, wired = SCENARIOS[scenario]
    trace = scripted(model, "ackp-full", 4, lost, wired, segments=4)
    result = _acts_of_agent(trace, "timeout") + _acts_of_agent(trace, "resend")
    return tuple(start // MSS + 1 for start in result)


@REGISTRY.function("sender_reductions")
def _sender_reductions(model: Model, scenario: int) -> int:
    """Count the sender's time-outs and fast retransmits in a scenario of figures 5 to 7."""
    lost, wired = SCENARIOS[scenario]
    trace = scripted(model, "ackp-full", 4, lost, wired, segments=4)
    return len(_marks(trace, "timeout")) + len(_marks(trace, "fast_retransmit"))


@REGISTRY.function("partials_per_packet")
def _partials_per_packet(model: Model, scheme: str, err: str, net: str = "lan") -> Quantity:
    """Return the number of partial acknowledgments per data segment of the sender."""

    def share(trace: "Trace") -> float:
        return len(_acts_of_agent(trace, "partial")) / len(sender(trace, "segments"))

    return _of_runs(model, model.cell(scheme, err, net=net), "partials per packet", share)


@REGISTRY.function("only_the_timer")
def _only_the_timer(model: Model) -> Evidence:
    """Return the fact whether partial ACKs change no segment, RTT sample or cwnd of the sender."""
    entries = []
    for scheme in ("snoop", "ackp"):
        trace = model.cache.probe(model.cell(scheme, "none", size="200 kB"))
        segments, windows = sender(trace, "segments"), sender(trace, "cwnd")
        entries.append(
            (
                [int(item) for item in segments["seq"]],
                [float(drop_duplicate) for drop_duplicate in windows["cwnd"].drop_duplicates()],
                len(sender(trace, "rtt")),
                len(_acts_of_agent(trace, "partial")) > 0,
            )
        )
    same = entries[0][:3] == entries[1][:3] and entries[1][3]
    return fact(same, "with 137 partial ACKs the sender sends, opens and samples as without")


@REGISTRY.function("partials_unasked")
def _partials_unasked(model: Model) -> int:
    """Count partial acknowledgments to a sender without the option, next to a sender with it."""
    cell = model.cell("ackp-full", "bit16k", size="200 kB")
    tree = copy.deepcopy(dict(cell.scenario))
    flow = tree["flows"][0]
    tree["flows"] = [flow, {**flow, "name": "old", "tcp": {"ackp": "off"}}]
    agent = model.cache.probe(Cell("one sender without ACKP", tree)).table("agent")
    return int(np.sum((agent["action"] == "partial") & (agent["flow"] == "old")))
