"""Scripted losses of chapter 4: ladders 4.1, 4.3 and 4.18, and the resulting time-outs.

A script names a loss by its transmission, such as "the second transmission of segment 9". A run
without this loss gives the number of that packet, because both runs are equal up to the loss.
Losses are therefore added one by one.
"""

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from farlink.studies.cache import Cell
from farlink.studies.ladder import Arrow, Note, draw
from farlink.studies.model import Model
from farlink.studies.quantity import Evidence, every, fact
from farlink.studies.study import Drawing
from farlink.studies.wong1998.registry import REGISTRY

if TYPE_CHECKING:
    import pandas as pd

    from farlink.trace import Trace

__all__ = ["Script", "play"]

FRAGMENTS = 5
"""Fragments of a full segment of 532 bytes, with 108 bytes in a datagram of 128 bytes."""

_MSS = 512
_RADIO_BIT_S = 19_200
_MAC_S = 0.010
_SHORTEST = "100 B"
"""Smallest frame that scripted losses on the downlink count. ACKs and supervisory frames are
shorter.
"""


@dataclass(frozen=True)
class Script:
    """Transfer in slow start without link layer recovery, with scripted losses.

    Attributes
    ----------
    segments
        Number of full segments to send.
    losses
        Lost transmissions in order of time, as (segment, transmission of that segment), both
        counted from 1.
    ack_losses
        Transmissions whose ACKs are lost.
    """

    segments: int
    losses: Sequence[tuple[int, int]]
    ack_losses: Sequence[tuple[int, int]] = ()


def play(model: Model, script: Script) -> "Trace":
    """Return the traces of a scripted run.

    Raises
    ------
    ValueError
        If the run lacks a scripted transmission.
    """
    down: list[int] = []
    up: list[int] = []
    for loss in script.losses:
        trace = model.cache.probe(_scripted(model, script, down, up))
        first = FRAGMENTS * _transmission(trace, loss)
        down += range(first + 1, first + 1 + FRAGMENTS)
    for loss in script.ack_losses:
        trace = model.cache.probe(_scripted(model, script, down, up))
        up.append(_ack_of(trace, loss))
    return model.cache.probe(_scripted(model, script, down, up))


def _scripted(model: Model, script: Script, down: list[int], up: list[int]) -> Cell:
    """Return the cell with losses by frame number, and a constant delay for the medium access."""
    data = f"{script.segments * _MSS} B"
    plain = model.cell("none", 0.0, data=data)
    scenario = copy.deepcopy(dict(plain.scenario))
    radio = scenario["links"][2]
    radio["arq"]["mac"] = {"access": "constant", "delay": f"{1000 * _MAC_S:g} ms"}
    radio["up"] = dict(radio["down"])
    if down:
        lost = {"packets": sorted(down), "min_size": _SHORTEST}
        radio["down"] = {**radio["down"], "channel": {"scripted_loss": lost}}
    if up:
        radio["up"]["channel"] = {"scripted_loss": {"packets": sorted(up)}}
    return Cell(f"script {down} {up}", scenario)


def _sent(trace: "Trace") -> "pd.DataFrame":
    table = trace.table("segments")
    return table[table["side"] == "from"].reset_index(drop=True)


def _transmission(trace: "Trace", loss: tuple[int, int]) -> int:
    """Return the number of data segments sent before a transmission."""
    sent = _sent(trace)
    places = list(sent.index[sent["seq"] == (loss[0] - 1) * _MSS])
    if len(places) < loss[1]:
        raise ValueError(f"segment {loss[0]} is sent {len(places)} times, not {loss[1]}")
    return int(places[loss[1] - 1])


def _ack_of(trace: "Trace", loss: tuple[int, int]) -> int:
    """Return the number of the uplink frame with the ACK of a transmission."""
    arrived = trace.table("arrivals")["time"].iloc[_arrival(trace, loss)]
    frames = trace.table("frames")
    up = frames[frames["direction"] == "up"].reset_index(drop=True)
    return int(up.index[up["time"] > arrived][0]) + 1


def _arrival(trace: "Trace", loss: tuple[int, int]) -> int:
    """Return the row of a transmission in the trace `arrivals`."""
    came = _came(trace)
    place = _transmission(trace, loss)
    if came[place] is None:
        raise ValueError(f"transmission {loss} is lost")
    return sum(item is not None for item in came[:place])


def _came(trace: "Trace") -> list[float | None]:
    """Return the arrival time of each data segment in order of transmission; None if lost.

    The path keeps the order, so arrivals are matched to transmissions by sequence number.
    """
    arrivals = list(
        zip(trace.table("arrivals")["time"], trace.table("arrivals")["seq"], strict=True)
    )
    lost = _lost(trace)
    came: list[float | None] = []
    for place, seq in enumerate(_sent(trace)["seq"]):
        if place in lost or not arrivals:
            came.append(None)
            continue
        time, arrived = arrivals.pop(0)
        if arrived != seq:
            raise ValueError("segments came in another order than they were sent")
        came.append(float(time))
    return came


def _lost(trace: "Trace") -> set[int]:
    """Return the indices (from 0) of the data segments that lost a fragment."""
    frames = trace.table("frames")
    data = frames[(frames["direction"] == "down") & (frames["bytes"] >= 100)]
    return {place // FRAGMENTS for place, lost in enumerate(data["lost"]) if lost}


def _events(trace: "Trace") -> list[str]:
    """Return the kinds of a run's fast retransmits and time-outs, in order."""
    kinds = [str(kind) for kind in trace.table("marks")["kind"]]
    return [kind for kind in kinds if kind in ("fast_retransmit", "timeout")]


def _event_times(trace: "Trace") -> list[tuple[str, float]]:
    marks = trace.table("marks")
    pairs = zip(marks["kind"], marks["time"], strict=True)
    return [(str(k), float(t)) for k, t in pairs if k in ("fast_retransmit", "timeout")]


# --- The scripts

_TWO_LATER = Script(segments=12, losses=[(3, 1)])
"""cwnd is 3 segments; the first one is lost and two follow."""

_TWO_IN_A_WINDOW = Script(segments=13, losses=[(7, 1), (8, 1)])
"""Seven segments are outstanding and none follows; the first two are lost."""

_COPY_OF_FAST_RETRANSMIT = Script(segments=20, losses=[(7, 1), (7, 2)])
_COPY_OF_TIMEOUT = Script(segments=20, losses=[(3, 1), (3, 2)])
_ACK_OF_COPY = Script(segments=20, losses=[(3, 1)], ack_losses=[(3, 2)])
"""A time-out reduces cwnd to one segment, and the ACK of the retransmission is lost."""

_TWO_TIMEOUTS = Script(segments=20, losses=[(7, 1), (7, 2), (7, 3)])
_BOTH = Script(segments=13, losses=[(6, 1), (12, 1)])
"""Script of figure 4.1 from the figure's segment 4, with six segments outstanding."""


@REGISTRY.function("two_duplicates_then_timeout")
def _two_duplicates(model: Model) -> Evidence:
    return _follow(play(model, _TWO_LATER), ["timeout"])


@REGISTRY.function("second_loss_needs_timeout")
def _second_loss(model: Model) -> Evidence:
    return _follow(play(model, _TWO_IN_A_WINDOW), ["fast_retransmit", "timeout"])


@REGISTRY.function("lost_repairs_time_out")
def _lost_copies(model: Model) -> Evidence:
    return every(
        _follow(play(model, _COPY_OF_FAST_RETRANSMIT), ["fast_retransmit", "timeout"]),
        _follow(play(model, _COPY_OF_TIMEOUT), ["timeout", "timeout"]),
    )


@REGISTRY.function("lost_ack_times_out")
def _lost_ack(model: Model) -> Evidence:
    """Return the fact that a second time-out follows if the ACK of a retransmission is lost."""
    return _follow(play(model, _ACK_OF_COPY), ["timeout", "timeout"])


@REGISTRY.function("waits")
def _waits(model: Model) -> tuple[float, float, float]:
    """Return the RTO at a lost fast retransmit, and the times until two time-outs (s)."""
    trace = play(model, _TWO_TIMEOUTS)
    (_, fast), (_, first), (_, second) = _event_times(trace)
    state = trace.table("rto")
    state = state[(state["side"] == "from") & (state["time"] <= fast)]
    return float(state["rto"].iloc[-1]), first - fast, second - first


def _follow(trace: "Trace", expected: list[str]) -> Evidence:
    events = _events(trace)
    return fact(events == expected, f"{' and '.join(events)} (expected {' and '.join(expected)})")


# --- Figures 4.1 and 4.3


@REGISTRY.figure("fig4.1")
def _fast_retransmit_and_timeout(model: Model) -> Drawing:
    trace = play(model, _BOTH)
    note = (
        "Numbered as published. There four segments follow the first loss, here five: half a "
        "window of five leaves no room for two segments behind the second loss."
    )
    return _ladder(trace, offset=2, first=(4, 1), note=note)


@REGISTRY.figure("fig4.3")
def _two_losses(model: Model) -> Drawing:
    note = "Numbered as published; the sender has no more than these segments."
    return _ladder(play(model, _TWO_IN_A_WINDOW), offset=4, first=(1, 1), note=note)


def _ladder(trace: "Trace", *, offset: int, first: tuple[int, int], note: str) -> Drawing:
    """Draw the ladder of a script from a transmission on, with segment numbers minus `offset`."""
    sent, came = _sent(trace), _came(trace)
    begin = _transmission(trace, (first[0] + offset, first[1]))
    start = float(sent["time"][begin])
    arrows: list[Arrow] = []
    flight = 0.5
    for place in range(begin, len(sent)):
        time, seq = float(sent["time"][place]), int(sent["seq"][place])
        arrived = came[place]
        flight = flight if arrived is None else arrived - time
        label = f"{seq // _MSS + 1 - offset}"
        again = bool(sent["retransmission"][place])
        end = time + flight if arrived is None else arrived
        arrows.append(Arrow(time, end, 0, 1, label, lost=arrived is None, again=again))
    arrows += _acks(trace, start, offset)
    notes = [
        Note(time, 0, kind.replace("_", " ").replace("timeout", "time-out"))
        for kind, time in _event_times(trace)
    ]
    tables = {name: trace.table(name) for name in ("segments", "arrivals", "acks", "marks")}
    return Drawing(draw(["sender", "receiver"], arrows, notes), tables, note)


def _acks(trace: "Trace", start: float, offset: int) -> list[Arrow]:
    """Return arrows of the ACKs that left after `start` and arrived at the sender.

    An ACK leaves when its frame ends minus the frame's transmission time and the medium access
    delay.
    """
    acks, frames = trace.table("acks"), trace.table("frames")
    acks = acks[(acks["side"] == "from") & (acks["time"] > start)]
    up = frames[(frames["direction"] == "up") & ~frames["lost"]]
    arrows = []
    for time, ack in zip(acks["time"], acks["ack"], strict=True):
        frame = up[up["time"] < time].iloc[-1]
        left = float(frame["time"]) - 8 * int(frame["bytes"]) / _RADIO_BIT_S - _MAC_S
        if left < start:
            continue
        label = f"ACK {int(ack) // _MSS + 1 - offset}"
        arrows.append(Arrow(left, float(time), 1, 0, label, faint=True))
    return arrows


# --- Figure 4.18: MDLP retransmits frames that the receiver already has

_END_S = 20.0
_WAIT_S = 0.130
"""Access delay of the reverse channel (s), with which SREJ(1) arrives during the transmission of
I(5).
"""


def _frames(model: Model, lost: list[int], t205: float) -> "pd.DataFrame":
    """Return the frames of seven packets over MDLP with a window of seven."""
    scenario = copy.deepcopy(dict(model.cell("mdlp", 0.0, window=7, t205=t205).scenario))
    del scenario["tcp"]
    radio = scenario["links"][2]
    radio["arq"]["mac"] = {
        "access": "constant",
        "delay": f"{1000 * _WAIT_S:g} ms",
        "direction": "up",
    }
    radio["up"] = dict(radio["down"])
    if lost:
        loss = {"packets": lost, "min_size": _SHORTEST}
        radio["down"] = {**radio["down"], "channel": {"scripted_loss": loss}}
    packets = {"app": "cbr", "rate": "10 Mbit/s", "packet": "100 B", "datagrams": 7}
    # A run ends with its last packet, so a much later packet leaves time for the exchange.
    late = {**packets, "datagrams": 1, "start": f"{_END_S:g} s"}
    ends = {"from": "fixed", "to": "mobile"}
    scenario["flows"] = [{"name": "packets", **ends, **packets}, {"name": "late", **ends, **late}]
    name = f"MDLP, T205 {t205:g} s, frames {lost} lost"
    table = model.cache.trace(Cell(name, scenario), "frames")
    return table[(table["link"] == "radio") & (table["time"] < _END_S)].reset_index(drop=True)


def _play_frames(model: Model, t205: float) -> "pd.DataFrame":
    """Lose I(1) and its retransmission. RR(7) leaves T205 seconds after I(1) arrives."""
    lost: list[int] = []
    for copy_of_first in (0, 1):
        sent = _information(_frames(model, lost, t205))
        lost.append([i for i, ns in enumerate(sent) if ns == 1][copy_of_first] + 1)
    return _frames(model, lost, t205)


def _information(frames: "pd.DataFrame") -> list[int]:
    """Return the numbers N(S) of the downlink's I frames, in order of transmission."""
    data = frames[(frames["direction"] == "down") & (frames["frame"] == "I")]
    return [int(ns) for ns in data["ns"]]


def _duplicates(frames: "pd.DataFrame") -> list[int]:
    """Return the numbers N(S) of I frames that arrived again, without polls."""
    data = frames[(frames["direction"] == "down") & (frames["frame"] == "I") & ~frames["lost"]]
    seen: set[int] = set()
    again = []
    for ns, poll in zip(data["ns"], data["poll"], strict=True):
        if ns in seen and not poll:
            again.append(int(ns))
        seen.add(int(ns))
    return again


@REGISTRY.function("sent_frames")
def _sent_frames(model: Model, t205: float) -> tuple[int, ...]:
    """Return the numbers N(S) of the script's I frames, in order of transmission."""
    return tuple(_information(_play_frames(model, t205)))


@REGISTRY.function("duplicate_frames")
def _duplicate_frames(model: Model, t205: float) -> tuple[int, ...]:
    """Return the numbers N(S) of the script's I frames that arrived again."""
    return tuple(_duplicates(_play_frames(model, t205)))


@REGISTRY.figure("fig4.18")
def _ladder_of_frames(model: Model) -> Drawing:
    frames = _play_frames(model, t205=0)
    arrows = []
    for frame in frames.to_dict("records"):
        down = frame["direction"] == "down"
        label = _frame_label(frame["frame"], frame["ns"], frame["nr"], poll=frame["poll"])
        arrows.append(
            Arrow(
                frame["time"] - 8 * frame["bytes"] / _RADIO_BIT_S,
                frame["time"],
                0 if down else 1,
                1 if down else 0,
                label,
                lost=frame["lost"],
                again=frame["retransmission"],
                faint=not down,
            )
        )
    duplicates = ", ".join(f"I({ns})" for ns in _duplicates(frames))
    note = (
        f"Duplicates: {duplicates} (published: I(2), I(3), I(4)). T200 1 s; frames of the reverse "
        f"channel wait {_WAIT_S:g} s, so that I(3) to I(5) go before SREJ(1) comes, and RR(7) "
        "comes while I(4) is sent again. Sent T205 later (0.3 s), I(5) and I(6) go, too."
    )
    return Drawing(draw(["sender", "receiver"], arrows), {"frames": frames}, note)


def _frame_label(kind: str, ns: int, nr: int, *, poll: bool) -> str:
    bit = ", P=1" if kind == "I" else ", F=1"
    number = ns if kind == "I" else nr
    return f"{kind}({number}{bit if poll else ''})"
