"""Readers of files with packets sent over a channel and packets that arrived."""

import csv
import ipaddress
import math
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from farlink.captures.file import Packet, packets
from farlink.captures.ranges import check_missing
from farlink.captures.segment import ACK, SYN, Segment, parse
from farlink.errors import ScenarioError
from farlink.estimate.matching import match

__all__ = ["Observed", "both_ends", "one_end", "table"]

Array = np.ndarray[Any, np.dtype[Any]]

_LOST = ("", "lost", "nan", "none", "null", "na")
_UNITS = {"": 1.0, "_s": 1.0, "_ms": 1e-3, "_us": 1e-6, "_ns": 1e-9}
_MOST_UNCLEAR = 0.01
"""Share of packets that may be omitted as ambiguous, because other packets have equal content."""

_REORDERED = 3
"""Without an RTT, a hole filled within this number of later segments is reordering."""


@dataclass(frozen=True)
class Observed:
    """Packets in the order sent.

    `lost` is true for each lost packet. `sent` and `received` are times in seconds (`received` is
    NaN if lost), or None if the files have no times.
    """

    source: str
    lost: Array
    sent: Array | None = None
    received: Array | None = None
    notes: list[str] = field(default_factory=list)


def table(path: Path) -> Observed:
    """Read a CSV with a row per packet.

    Columns `sent` and `received` are times in seconds (or `sent_ms`, `received_us` and so on).
    `received` is empty or "lost" if the packet was lost. Alternatively, a column `lost` holds 0 or
    1 in the order sent, and `sent` is optional.
    """
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            reader = csv.DictReader(file)
            names = [name.strip() for name in reader.fieldnames or []]
            reader.fieldnames = names
            rows = list(reader)
    except OSError as error:
        raise ScenarioError(f"{path}: {(error.strerror or str(error)).lower()}") from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise ScenarioError(f"{path}: not a CSV file: {error}") from error
    sent_name, sent_unit = _column(names, "sent")
    received_name, received_unit = _column(names, "received")
    if sent_name and received_name:
        sent = _numbers(path, rows, sent_name, sent_unit, gaps=False)
        received = _numbers(path, rows, received_name, received_unit, gaps=True)
        order = np.argsort(sent, kind="stable")
        sent, received = sent[order], received[order]
        return Observed(str(path), np.isnan(received), sent, received)
    if "lost" in names:
        flags = _numbers(path, rows, "lost", 1.0, gaps=False)
        if not np.isin(flags, (0, 1)).all():
            raise ScenarioError(f"{path}: column lost holds other values than 0 and 1")
        times = _numbers(path, rows, sent_name, sent_unit, gaps=False) if sent_name else None
        return Observed(str(path), flags == 1, times)
    raise ScenarioError(
        f"{path}: has the columns {', '.join(names) or 'none'}; a row per packet needs sent and "
        "received (empty if it was lost), or lost (0 or 1)"
    )


def _column(names: list[str], wanted: str) -> tuple[str | None, float]:
    for suffix, factor in _UNITS.items():
        if wanted + suffix in names:
            return wanted + suffix, factor
    return None, 1.0


def _numbers(
    path: Path, rows: list[dict[str, str]], name: str, factor: float, *, gaps: bool
) -> Array:
    values = np.empty(len(rows))
    for i, row in enumerate(rows):
        text = (row[name] or "").strip()
        if gaps and text.lower() in _LOST:
            values[i] = math.nan
            continue
        try:
            values[i] = float(text) * factor
        except ValueError:
            values[i] = math.nan
        if not math.isfinite(values[i]):
            raise ScenarioError(f"{path}:{i + 2}: {name} = {text!r} is not a number") from None
    return values


def both_ends(sender: Path, receiver: Path, source: str | None) -> Observed:
    """Match the packets of a capture before a channel with those of a capture behind it.

    Packets are identified by their content without TTL, DSCP, ECN and header checksum.
    `matching.match` decides about packets of equal content. Ambiguous packets are omitted. More
    than 1 % of them are an error.

    Packets sent before the first packet that arrived, or after the last, are omitted. The second
    capture may have started later, and the last packets may still be in flight.
    """
    before, after = list(packets(sender)), list(packets(receiver))
    for path, found_there in ((sender, before), (receiver, after)):
        if not found_there:
            raise ScenarioError(f"{path}: holds no IP packets")
    arrived: dict[bytes, list[float]] = defaultdict(list)
    for packet in after:
        arrived[packet.identity].append(packet.time)
    address = _address(source) if source else _common_source(before, arrived)
    chosen = sorted(
        (packet for packet in before if packet.ends[0] == address), key=lambda item: item.time
    )
    host = ipaddress.ip_address(address)
    if not chosen:
        raise ScenarioError(f"{sender}: holds no packets from {host}")
    pairing = match([(choice.time, choice.identity) for choice in chosen], arrived)
    if len(pairing.unclear) > _MOST_UNCLEAR * len(chosen):
        raise ScenarioError(
            f"{sender}: of {len(chosen):,} packets from {host}, {len(pairing.unclear):,} have the "
            "same content as others, of which not all arrived; which were lost cannot be told. "
            "Send packets that differ (with a number in each), or write a CSV"
        )
    clear = [number for number in range(len(chosen)) if number not in pairing.unclear]
    sent = np.array([chosen[number].time for number in clear])
    received = np.array([pairing.received[number] for number in clear])
    there = np.flatnonzero(~np.isnan(received))
    if not len(there):
        raise ScenarioError(
            f"{receiver}: holds none of the packets of {sender} from {host}; are they of the same "
            "time, and is there a NAT or a proxy between them?"
        )
    seen = slice(there[0], there[-1] + 1)
    sent, received = sent[seen], received[seen]
    notes = [f"packets from {host}, matched by their content", *pairing.notes]
    if float(np.nanmin(received - sent)) < 0:
        notes.append(
            "some packets arrive before they were sent: the clocks of the two captures differ, and "
            "the constant part of the delay says nothing"
        )
    return Observed(f"{sender} and {receiver}", np.isnan(received), sent, received, notes)


def _address(text: str) -> bytes:
    try:
        return ipaddress.ip_address(text).packed
    except ValueError:
        raise ScenarioError(f"--from {text}: not an IP address") from None


def _common_source(before: list[Packet], arrived: Mapping[bytes, list[float]]) -> bytes:
    """Return the address that sent most bytes among the packets in both captures.

    Only packets that the first capture has at an earlier time are counted, if there are any.
    """
    volume: Counter[bytes] = Counter()
    for packet in before:
        times = arrived.get(packet.identity)
        if times and times[0] >= packet.time:
            volume[packet.ends[0]] += len(packet.data)
    if not volume:
        for packet in before:
            if packet.identity in arrived:
                volume[packet.ends[0]] += len(packet.data)
    if not volume:
        volume.update({packet.ends[0]: 1 for packet in before})
    return volume.most_common(1)[0][0]


def one_end(receiver: Path) -> Observed:
    """Find the losses before a TCP receiver from the holes in the sender's data.

    The connection with the most data is used. Each segment sent for the first time is one packet. A
    hole that stays open for at least a round trip is a loss; a shorter hole is reordering.
    Retransmissions are left out, because they are not in the order sent. With one capture, delays
    are unknown.
    """
    by_flow: dict[tuple[bytes, bytes, int, int], list[Segment]] = defaultdict(list)
    for packet in packets(receiver):
        outcome = parse(packet)
        if outcome is not None:
            by_flow[outcome.flow].append(outcome)
    data = {flow: [segment for segment in all_ if segment.length] for flow, all_ in by_flow.items()}
    flow = max(data, key=lambda item: sum(s.length for s in data[item]), default=None)
    if flow is None or len(data[flow]) < 10:
        raise ScenarioError(
            f"{receiver}: holds no TCP connection with data; for other traffic give the captures "
            "of both ends, or a CSV"
        )
    segments = data[flow]
    _refuse_senders_side(receiver, by_flow, flow)
    size = Counter(segment.length for segment in segments).most_common(1)[0][0]
    round_trip = _handshake(by_flow, flow)
    lost = _holes(str(receiver), segments, size, round_trip)
    source = ipaddress.ip_address(flow[0])
    notes = [
        f"one end, TCP from {source} port {flow[2]}: {len(segments):,} segments of {size} B; "
        "retransmissions are left out",
        "a loss that is repaired before anything new is sent is not seen; measure long transfers",
        "losses are of the whole path before the capture, full queues included; delays are not "
        "known",
    ]
    if round_trip is None:
        notes.append(
            "no handshake in the capture: a hole filled before three later segments counts as "
            "reordering"
        )
    return Observed(str(receiver), lost, None, None, notes)


def _refuse_senders_side(
    path: Path,
    by_flow: dict[tuple[bytes, bytes, int, int], list[Segment]],
    flow: tuple[bytes, bytes, int, int],
) -> None:
    """Raise `ScenarioError` if a capture was made at the sender of the data.

    The handshake ends with a gap before a packet of the data sender. The gap is a round trip at the
    receiver, and close to 0 at the sender. At the sender there are retransmissions but never holes.
    """
    back = (flow[1], flow[0], flow[3], flow[2])
    ends = sorted(
        [(item.time, 0, item) for item in by_flow[flow]]
        + [(item.time, 1, item) for item in by_flow.get(back, [])],
        key=lambda item: item[0],
    )
    flags = [end.flags & (SYN | ACK) for _, _, end in ends]
    gaps = [0.0, 0.0]
    for at in range(len(ends) - 2):
        if flags[at : at + 3] == [SYN, SYN | ACK, ACK]:
            for item in (at + 1, at + 2):
                gaps[ends[item][1]] = ends[item][0] - ends[item - 1][0]
            break
    by_sender, by_receiver = gaps
    segments = [item for item in by_flow[flow] if item.length]
    offsets, edge, again, holes = _offsets(segments), 0, 0, 0
    for data, at in zip(segments, offsets, strict=True):
        again += at + data.length <= edge
        holes += at > edge
        edge = max(edge, at + data.length)
    if 2 * by_sender < by_receiver or (again and not holes and by_sender <= by_receiver):
        raise ScenarioError(
            f"{path}: this is a capture of the sender, where nothing is missing ({again:,} "
            "segments were sent again); give that of the receiver, or both"
        )


def _handshake(
    by_flow: dict[tuple[bytes, bytes, int, int], list[Segment]], flow: tuple[bytes, bytes, int, int]
) -> float | None:
    """Return the RTT of the handshake: from the receiver's SYN or SYN-ACK to the reply."""
    back = (flow[1], flow[0], flow[3], flow[2])
    own = [item for item in by_flow.get(back, []) if item.flags & SYN]
    theirs = by_flow[flow]
    if not own:
        return None
    if own[0].flags & ACK:
        answers = [
            packet.time
            for packet in theirs
            if not packet.flags & SYN and packet.time > own[-1].time
        ]
    else:
        answers = [
            packet.time for packet in theirs if packet.flags & SYN and packet.time > own[-1].time
        ]
    return answers[0] - own[-1].time if answers else None


def _offsets(segments: list[Segment]) -> list[int]:
    """Return each segment's offset in the stream, unwrapped modulo 2^32."""
    base, offsets, previous = segments[0].sequence, [], 0
    for segment in segments:
        previous += (segment.sequence - base - previous + 2**31) % 2**32 - 2**31
        offsets.append(previous)
    return offsets


def _holes(source: str, segments: list[Segment], size: int, round_trip: float | None) -> Array:
    """Return for each segment sent for the first time whether it was lost."""
    offset = _offsets(segments)
    missing, edge = 0.0, 0
    for segment, at in zip(segments, offset, strict=True):
        missing += max(at - edge, 0) / size
        edge = max(edge, at + segment.length)
    check_missing(source, len(segments), missing)
    starts: list[int] = []
    first_seen: dict[int, int] = {}
    edge = 0
    fates: list[tuple[int, bool]] = []
    holes: dict[int, tuple[float, int]] = {}
    for number, (segment, at) in enumerate(zip(segments, offset, strict=True)):
        if at >= edge:
            for start in range(edge, at, size):
                starts.append(start)
                holes[start] = (segment.time, number)
                first_seen[start] = len(fates)
                fates.append((start, True))
            fates.append((at, False))
            edge = at + segment.length
            continue
        inside = starts[bisect_left(starts, at) : bisect_left(starts, at + segment.length)]
        for start in [start for start in inside if (start - at) % size == 0 and start in holes]:
            seen, when = holes.pop(start)
            early = (
                segment.time - seen < 0.9 * round_trip
                if round_trip is not None
                else number - when < _REORDERED
            )
            if early:
                fates[first_seen[start]] = (start, False)
    return np.array([lost for _, lost in fates])
