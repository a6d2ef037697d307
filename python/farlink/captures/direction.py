"""Data that one end of a TCP connection sent, as seen at the capture point."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from farlink.captures.ranges import Covered, Holes

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Acknowledgment", "Direction", "Half", "Kind", "Sent", "build"]

Array = np.ndarray[Any, np.dtype[Any]]

_HALF, _WHOLE = 2**31, 2**32

_EARLY = 0.9
"""Share of an RTT: a hole filled earlier is reordering, because no retransmission is that fast."""

_REORDERED = 3
"""Without an RTT, a hole filled within this number of later segments is reordering."""

_AT_AN_END = 0.1
"""A capture is "at" an end if the RTT to it is below this share of the RTT to the other end."""


class Kind(IntEnum):
    """Kind of a data segment, as judged from earlier segments."""

    NEW = 0
    AGAIN = 1
    """Retransmission whose bytes were already captured."""
    FILLED = 2
    """Retransmission that fills a hole: the first copy was lost before the capture point."""
    LATE = 3
    """Reordered segment: its bytes were missing for less than an RTT."""


class Sent:
    """Data segment: capture time (s), offset of its first byte, bytes, (TSval, TSecr)."""

    __slots__ = ("at", "length", "stamp", "time")

    def __init__(self, time: float, at: int, length: int, stamp: tuple[int, int] | None) -> None:
        self.time, self.at, self.length, self.stamp = time, at, length, stamp


class Acknowledgment:
    """Header fields of an ACK: acknowledgment number, unscaled window, timestamps, SACK blocks."""

    __slots__ = ("ack", "sacks", "stamp", "time", "window")

    def __init__(
        self,
        time: float,
        ack: int,
        window: int,
        stamp: tuple[int, int] | None,
        sacks: tuple[tuple[int, int], ...],
    ) -> None:
        self.time, self.ack, self.window, self.stamp, self.sacks = time, ack, window, stamp, sacks


@dataclass(slots=True)
class Half:
    """State of one direction while a capture is read."""

    base: int | None = None
    edge: int = 0
    sent: list[Sent] = field(default_factory=list)
    acknowledgments: list[Acknowledgment] = field(default_factory=list)
    stamps: dict[int, float] = field(default_factory=dict)
    """Time (s) at which each TSval of the sender was first captured."""
    echoes: dict[int, float] = field(default_factory=dict)
    """Time (s) at which a data segment first echoed each timestamp of the other end."""
    syns: int = 0
    shift: int | None = None
    mss: int | None = None
    sack: bool | None = None

    def place(self, number: int) -> int:
        """Return a sequence number as an offset after the SYN, unwrapped modulo 2^32."""
        if self.base is None:
            self.base = number
        ahead = (number - self.base - self.edge + _HALF) % _WHOLE - _HALF
        return self.edge + ahead


@dataclass(frozen=True)
class Direction:
    """Direction of a connection: times in seconds since its first packet, offsets in bytes."""

    sender: str
    receiver: str
    segments: dict[str, Array]
    """Columns: time, seq, len, kind."""
    acks: dict[str, Array]
    """Columns: time, ack, window (scaled, in bytes)."""
    sacks: dict[str, Array]
    """Columns: time, left, right (edges of SACK blocks)."""
    ahead: dict[str, Array]
    """Columns: time, rtt. Round trips from the capture point to the receiver and back (s)."""
    behind: dict[str, Array]
    """Columns: time, rtt. Round trips from the capture point to the sender and back (s)."""
    least_ahead: float | None
    """Minimum of `ahead` and of the handshake's round trip to the receiver (s)."""
    least_behind: float | None
    shift: int
    mss: int | None
    stamped: bool
    """Whether the segments carry timestamps."""
    sack: bool
    """Whether both ends permitted SACK; true if the SYNs were not captured."""

    @property
    def bytes(self) -> int:
        """Number of distinct data bytes at the capture point."""
        return self._once[0]

    @property
    def since(self) -> float:
        """Time of the first data segment (s)."""
        return float(self.segments["time"][0]) if len(self.segments["time"]) else 0.0

    @property
    def until(self) -> float:
        """Time of the last new data or of the last ACK that advances, whichever is later (s)."""
        ack = np.maximum.accumulate(self.acks["ack"]) if len(self.acks["ack"]) else np.empty(0)
        grown = self.acks["time"][1:][np.diff(ack) > 0]
        return max(self._once[1], float(grown.max(initial=0.0)))

    @cached_property
    def _once(self) -> tuple[int, float]:
        """Number of distinct data bytes, and the time (s) of the last segment with new bytes."""
        segments = self.segments
        if not len(segments["time"]):
            return 0, 0.0
        fresh = segments["kind"] != Kind.AGAIN
        ends = segments["seq"] + segments["len"]
        # Negative offsets are before the SYN: a damaged packet, or an earlier connection.
        edge = np.maximum(np.maximum.accumulate(ends), 0)
        before = np.append(0.0, edge[:-1])
        grown = np.maximum(edge - before, 0)
        filled = np.isin(segments["kind"], (Kind.FILLED, Kind.LATE))
        holes = np.maximum(segments["seq"] - before, 0)
        total = float(grown.sum() - holes.sum() + segments["len"][filled].sum())
        return int(total), float(segments["time"][fresh].max(initial=0.0))

    @property
    def sent_again(self) -> int:
        """Number of retransmitted segments, even if their first copy was not captured."""
        kinds = self.segments["kind"]
        return int(np.isin(kinds, (Kind.AGAIN, Kind.FILLED)).sum())

    @property
    def overtaken(self) -> int:
        """Number of reordered segments."""
        return int((self.segments["kind"] == Kind.LATE).sum())

    @property
    def place(self) -> str:
        """Place of the capture: "sender", "receiver" or "between"; "" if unknown."""
        ahead, behind = self.least_ahead, self.least_behind
        if ahead is None or behind is None:
            return ""
        if behind < _AT_AN_END * ahead:
            return "sender"
        return "receiver" if ahead < _AT_AN_END * behind else "between"

    @property
    def least_rtt(self) -> float | None:
        """Minimum RTT of the path (s): the sum of the minima on both sides of the capture point."""
        parts = [item for item in (self.least_ahead, self.least_behind) if item is not None]
        return sum(parts) if parts else None

    @cached_property
    def rtt(self) -> dict[str, Array]:
        """RTT of the whole path over time (s).

        The sum of the RTT on the longer side of the capture point and the least RTT on the shorter
        side.
        """
        near, far = self.least_ahead or 0.0, self.least_behind or 0.0
        item, more = (self.ahead, far) if near >= far else (self.behind, near)
        return {"time": item["time"], "rtt": item["rtt"] + more}

    @cached_property
    def flight(self) -> dict[str, Array]:
        """Flight size at the sender: bytes sent and neither acknowledged nor SACKed.

        The sender had received the ACKs captured up to `least_behind` ago when it sent a segment
        that is captured now.
        """
        segments, acks = self.segments, self.acks
        if not len(segments["time"]):
            return {"time": np.empty(0), "flight": np.empty(0)}
        edge = np.maximum.accumulate(segments["seq"] + segments["len"])
        known = acks["time"] + (self.least_behind or 0.0)
        covered = acks["covered"]
        times = np.concatenate([segments["time"], known])
        order = np.argsort(times, kind="stable")
        times = times[order]
        sent = np.searchsorted(segments["time"], times, side="right")
        places = np.searchsorted(known, times, side="right")
        start = segments["seq"][0]
        highest = np.append(start, edge)[sent]
        done = np.append(start, covered)[places]
        return {"time": times, "flight": np.maximum(highest - done, 0)}

    def table(self, name: str) -> "pd.DataFrame":
        """Return segments, acks, sacks, rtt or flight as a data frame, with units in `attrs`."""
        import pandas as pd

        rows: dict[str, Array] = getattr(self, name)
        table = pd.DataFrame({key: row for key, row in rows.items() if key != "covered"})
        if name == "segments":
            names = [kind.name.lower() for kind in Kind]
            table["kind"] = pd.Categorical.from_codes(
                table["kind"].astype("int64").tolist(), categories=pd.Index(names)
            )
        units = {"time": "s", "rtt": "s", "kind": ""}
        table.attrs["units"] = {column: units.get(column, "B") for column in table.columns}
        return table


def build(
    names: tuple[str, str],
    half: Half,
    other: Half,
    handshake: tuple[float | None, float | None],
) -> Direction:
    """Combine the segments of `half` with the ACKs of the other end.

    `handshake` has the round trips (s) from the capture point to the receiver and to the sender,
    None if unknown.
    """
    behind = _series(
        (time, time - other.stamps[value])
        for value, time in half.echoes.items()
        if value in other.stamps
    )
    least_behind = _least(behind, handshake[1])
    segments = _segments(half.sent, least_behind)
    acks = _acks(half.acknowledgments)
    shift = other.shift or 0
    if half.syns and other.syns and (half.shift is None or other.shift is None):
        shift = 0  # RFC 7323, 2.2: either both ends use time stamps or neither does.
    elif not other.syns:
        shift = _needed(segments, acks)
    acks["window"] = acks["window"] * float(2**shift)
    ahead = _echoed(half) if half.stamps and other.stamps else _acknowledged(segments, acks)
    sizes = [item for item in (half.mss, other.mss) if item is not None]
    return Direction(
        *names,
        segments,
        acks,
        _sacks(half.acknowledgments),
        ahead,
        behind,
        _least(ahead, handshake[0]),
        least_behind,
        shift,
        min(sizes) if sizes else None,
        bool(half.stamps and other.stamps),
        half.sack is not False and other.sack is not False,
    )


def _segments(sent: list[Sent], round_trip: float | None) -> dict[str, Array]:
    """Classify each data segment as new, retransmitted or reordered."""
    kinds = np.zeros(len(sent), dtype=np.int8)
    edge = 0
    holes = Holes[tuple[float, int]]()
    for number, segment in enumerate(sent):
        end = segment.at + segment.length
        if segment.at >= edge:
            if segment.at > edge:
                holes.append(edge, segment.at, (segment.time, number))
            edge = end
            continue
        hole = holes.cut(segment.at, end)
        if hole is not None:
            since, when = hole
            early = (
                segment.time - since < _EARLY * round_trip
                if round_trip is not None
                else number - when < _REORDERED
            )
            kinds[number] = Kind.LATE if early else Kind.FILLED
        else:
            kinds[number] = Kind.AGAIN
        edge = max(edge, end)
    return {
        "time": np.array([segment.time for segment in sent]),
        "seq": np.array([segment.at for segment in sent], dtype=np.float64),
        "len": np.array([segment.length for segment in sent], dtype=np.float64),
        "kind": kinds,
    }


def _acks(acknowledgments: list[Acknowledgment]) -> dict[str, Array]:
    """Return the columns of the ACKs, with the bytes covered so far by ACKs and SACK blocks."""
    covered, highest = np.empty(len(acknowledgments)), -(2**62)
    blocks = Covered()
    for number, ack in enumerate(acknowledgments):
        highest = max(highest, ack.ack)
        for left, right in ack.sacks:
            blocks.add(max(left, highest), right)
        blocks.forget_below(highest)
        covered[number] = highest + blocks.size
    return {
        "time": np.array([ack.time for ack in acknowledgments]),
        "ack": np.array([ack.ack for ack in acknowledgments], dtype=np.float64),
        "window": np.array([ack.window for ack in acknowledgments], dtype=np.float64),
        "covered": covered,
    }


def _sacks(acknowledgments: list[Acknowledgment]) -> dict[str, Array]:
    rows = [(ack.time, left, right) for ack in acknowledgments for left, right in ack.sacks]
    columns = np.array(rows, dtype=np.float64).reshape(-1, 3)
    return {"time": columns[:, 0], "left": columns[:, 1], "right": columns[:, 2]}


def _needed(segments: dict[str, Array], acks: dict[str, Array]) -> int:
    """Return the smallest window scale with which no segment exceeds the offered window."""
    if not len(segments["time"]) or not len(acks["time"]):
        return 0
    before = np.searchsorted(acks["time"], segments["time"]) - 1
    known = before >= 0
    ack, window = acks["ack"][before[known]], acks["window"][before[known]]
    above = (segments["seq"] + segments["len"])[known] - ack
    share = above / np.maximum(window, 1)
    return min(int(np.ceil(np.log2(max(float(share.max(initial=1.0)), 1.0)))), 14)


def _echoed(half: Half) -> dict[str, Array]:
    """Return RTTs from the first data segment with a TSval to its first echo (RFC 7323, 4)."""
    sent: dict[int, float] = {}
    for segment in half.sent:
        if segment.stamp is not None:
            sent.setdefault(segment.stamp[0], segment.time)
    return _series(
        (ack.time, ack.time - time)
        for ack in half.acknowledgments
        if ack.stamp is not None and (time := sent.pop(ack.stamp[1], None)) is not None
    )


def _acknowledged(segments: dict[str, Array], acks: dict[str, Array]) -> dict[str, Array]:
    """Return RTTs from a segment to its ACK, without those during retransmissions (Karn)."""
    new = segments["kind"] == Kind.NEW
    times, ends = segments["time"][new], (segments["seq"] + segments["len"])[new]
    again = segments["time"][~new]
    best = np.maximum.accumulate(acks["ack"]) if len(acks["ack"]) else acks["ack"]
    rows, before = [], 0
    for time, ack in zip(acks["time"], best, strict=True):
        at = int(np.searchsorted(ends, ack, side="right"))
        if at <= before:
            continue
        before, sent = at, float(times[at - 1])
        first = int(np.searchsorted(again, sent))
        if sent <= time and (first == len(again) or again[first] > time):
            rows.append((float(time), float(time) - sent))
    return _series(rows)


def _series(rows: Iterable[tuple[float, float]]) -> dict[str, Array]:
    columns = np.array(list(rows), dtype=np.float64).reshape(-1, 2)
    columns = columns[columns[:, 1] >= 0]
    columns = columns[np.argsort(columns[:, 0], kind="stable")]
    return {"time": columns[:, 0], "rtt": columns[:, 1]}


def _least(series: dict[str, Array], handshake: float | None) -> float | None:
    values = [float(series["rtt"].min())] if len(series["rtt"]) else []
    values += [] if handshake is None else [handshake]
    return min(values) if values else None
