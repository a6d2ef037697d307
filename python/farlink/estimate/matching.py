"""Matching of packets between two captures; ambiguous matches are reported."""

import math
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

__all__ = ["Matched", "match"]

_ENOUGH = 20
"""Number of packets with unique content that suffices to bound the delays of all packets."""


_TICK_S = 1e-6
"""Resolution of capture timestamps (s)."""


@dataclass
class Matched:
    """Arrival time of each sent packet (s), NaN if it did not arrive.

    `unclear` holds the indices of packets whose arrival is ambiguous.
    """

    received: list[float]
    unclear: set[int] = field(default_factory=set)
    notes: list[str] = field(default_factory=list)


def match(sent: Sequence[tuple[float, bytes]], arrived: Mapping[bytes, list[float]]) -> Matched:
    """Match sent packets (time, content) with the arrival times of each content.

    A content that was sent once is unambiguous. A content that arrived as often as it was sent is
    matched in order. For any other content, each arrival must fit exactly one packet. An arrival
    fits if its delay is in the range of unique contents' delays, widened by half the range on both
    sides. Otherwise all packets of that content are unclear.
    """
    groups: dict[bytes, list[int]] = defaultdict(list)
    for number, (_, content) in enumerate(sent):
        groups[content].append(number)
    matches = Matched([math.nan] * len(sent))
    in_order = by_delay = 0
    delays = []
    several = []
    for content, numbers in groups.items():
        times = sorted(arrived.get(content, ()))
        if len(numbers) == 1 or len(times) == len(numbers):
            in_order += len(numbers) if len(numbers) > 1 else 0
            for number, time in zip(numbers, times, strict=False):
                matches.received[number] = time
            if len(numbers) == 1 and times:
                delays.append(times[0] - sent[numbers[0]][0])
        elif times:
            several.append((numbers, times))
    for numbers, times in several:
        ways = _by_delay([sent[number][0] for number in numbers], times, delays)
        if ways is None:
            matches.unclear.update(numbers)
            continue
        by_delay += len(numbers)
        for at, time in ways.items():
            matches.received[numbers[at]] = time
    if in_order:
        matches.notes.append(
            f"{in_order:,} packets have the same content as others; as many arrived as were sent, "
            "and they are matched in order"
        )
    if by_delay:
        matches.notes.append(
            f"{by_delay:,} packets have the same content as others, of which not all arrived; "
            "the delays of the rest leave one way to match them"
        )
    if matches.unclear:
        matches.notes.append(
            f"{len(matches.unclear):,} packets have the same content as others; which of them "
            "arrived cannot be told, and they are left out"
        )
    return matches


def _by_delay(
    sent: Sequence[float], times: Sequence[float], delays: Sequence[float]
) -> dict[int, float] | None:
    """Return the arrival times by packet index, or None if the match is ambiguous."""
    if len(delays) < _ENOUGH:
        return None
    least, most = min(delays), max(delays)
    slack = (most - least) / 2 + _TICK_S
    ways: dict[int, float] = {}
    for time in times:
        # For a given arrival the delay falls from packet to packet, so the fitting packets are
        # adjacent.
        first = _first_below(sent, time, most + slack, equal=True)
        behind = _first_below(sent, time, least - slack, equal=False)
        if behind - first != 1 or first in ways:
            return None
        ways[first] = time
    return ways


def _first_below(sent: Sequence[float], time: float, delay: float, *, equal: bool) -> int:
    """Return the first packet with a delay below `delay`, or at most `delay` if `equal`."""

    def below(sent_at: float) -> int:
        return int(time - sent_at < delay or (equal and time - sent_at == delay))

    return bisect_left(sent, 1, key=below)
