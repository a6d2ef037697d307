"""ping: logs of iputils (best with `ping -D`, which prints times) and of BSD and macOS."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from farlink.recordings.build import Settings, Source, from_probes
from farlink.recordings.document import Recording
from farlink.recordings.irtt import joined
from farlink.recordings.probes import LOST, NOT_LOST, Probes
from farlink.recordings.reading import Input, fault, lines, number, quoted, whole

if TYPE_CHECKING:
    from farlink.recordings.document import Floats, Whole

__all__ = ["load", "recording"]

_STAMP = re.compile(r"\[(\d{1,12}(?:\.\d{1,9})?)\] ")
_REPLY = re.compile(
    r"(\d+) bytes from .*?:? ?icmp_seq=(\d+) (?:ttl|hlim)=\d+ time[=<]([\d.]+) ?ms(?P<again>.*)"
)
_LOST = re.compile(
    r"(?:no answer yet for icmp_seq=|Request timeout for icmp_seq |From .* icmp_seq=)(\d+)"
)
_OTHER = re.compile(
    r"PING |PING6|--- |\d+ packets transmitted|rtt min/avg|round-trip min/avg|pipe \d|"
    r".*[Nn]ame or service|ping: |\d+ bytes from .*truncated"
)
_ROUND = 65536
"""Number of sequence numbers, after which they begin again."""
_MOST_MS = 3_600_000.0
_MOST_PROBES = 20_000_000
_HEADER = 20
"""Bytes of the header of IPv4."""


def load(sources: Sequence[Input], settings: Settings) -> Recording:
    """Read logs of ping."""
    return recording("ping", sources, settings, Source())


def recording(kind: str, sources: Sequence[Input], settings: Settings, origin: Source) -> Recording:
    """Read logs of ping as those of a data set."""
    parts = [_parse(source, settings.interval) for source in sources]
    clock = all(item for _, _, item in parts)
    if not clock and len(parts) > 1:
        raise fault(
            sources[[item for _, _, item in parts].index(False)],
            None,
            "no times in it; several logs need those of ping -D",
        )
    half = ("estimated", "half the round trip")
    return from_probes(
        kind,
        joined([probes for probes, _, _ in parts]),
        sources,
        settings,
        origin,
        clock=clock,
        delays={"down": half, "up": half},
        bytes_=parts[0][1] + _HEADER,
        what=f"ICMP packets of {parts[0][1] + _HEADER} bytes",
    )


def _parse(source: Input, interval: float) -> tuple[Probes, int, bool]:
    """Return the probes, the bytes of a reply, and whether the log has times."""
    import numpy as np

    replies: dict[int, tuple[float | None, float]] = {}
    last, size = 0, 0
    for line, text in lines(source):
        stamp = _STAMP.match(text)
        body = text[stamp.end() :] if stamp else text
        reply, lost = _REPLY.fullmatch(body), _LOST.match(body)
        if reply is None and lost is None:
            if _OTHER.match(body):
                continue
            raise fault(source, line, f"{quoted(text)} is no line of ping")
        written = whole(source, line, "icmp_seq", (reply[2] if reply else lost[1]), 0, 2**32 - 1)  # type: ignore[index]
        sequence = _unwrapped(written, last)
        if sequence > _MOST_PROBES:
            raise fault(source, line, f"icmp_seq {written} leaves a hole of {sequence - last}")
        last = max(last, sequence)
        if reply is None or sequence in replies:
            continue
        trip = number(source, line, "time", reply[3], 0, _MOST_MS) / 1e3
        at = float(stamp[1]) if stamp else None
        size = size or whole(source, line, "bytes", reply[1], 1, 65535)
        replies[sequence] = (at, trip)
    if not replies:
        raise fault(source, None, "no reply of ping in it")
    clock = all(at is not None for at, _ in replies.values())
    first = min(replies)
    count = last - first + 1
    sent = np.full(count, np.nan)
    trips = np.full(count, np.nan)
    for sequence, (at, trip) in replies.items():
        # ping prints a reply when it comes, so the request left a round trip earlier.
        sent[sequence - first] = at - trip if clock and at is not None else np.nan
        trips[sequence - first] = trip
    numbers = np.arange(count, dtype=np.float64)
    if clock:
        seen = np.flatnonzero(~np.isnan(sent))
        sent = _filled(numbers, seen, sent[seen], interval)
    else:
        sent = numbers * interval
    fate = np.where(np.isnan(trips), LOST, NOT_LOST)
    times = np.round(sent * 1e9).astype(np.int64)
    return Probes(times, trips / 2, trips / 2, fate.astype(np.int64)), size, clock


def _filled(numbers: "Floats", seen: "Whole", sent: "Floats", interval: float) -> "Floats":
    """Return a time for each number: between replies on a line, beyond them at the interval."""
    import numpy as np

    spacing = np.diff(sent) / np.diff(seen) if len(seen) > 1 else np.array([interval])
    step = max(float(np.median(spacing)), 1e-6)
    out = np.interp(numbers, seen, sent)
    beyond = numbers > seen[-1]
    out[beyond] = sent[-1] + step * (numbers[beyond] - seen[-1])
    return out


def _unwrapped(written: int, last: int) -> int:
    """Return the sequence number that is nearest to the last one.

    Most programs print 16 bits, after which the numbers begin again.
    """
    if written >= _ROUND:
        return written
    base = last - last % _ROUND
    choices = [base - _ROUND + written, base + written, base + _ROUND + written]
    return min((item for item in choices if item >= 0), key=lambda item: abs(item - last))
