"""iperf3: JSON of `iperf3 -J` or `--json-stream`, by TCP or UDP, one or both directions."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from farlink.recordings.build import Settings, Source, assumed, queueing_share
from farlink.recordings.document import (
    MOST,
    MOST_ROWS,
    Column,
    Direction,
    Recording,
    Traffic,
    rounded,
    utc,
)
from farlink.recordings.reading import (
    Input,
    fault,
    lines,
    load_json,
    member,
    number,
    quoted,
    whole,
)

if TYPE_CHECKING:
    from farlink.recordings.document import Floats

__all__ = ["load"]

_LEAST_STEP = 0.1
_MOST_SECONDS = 1e7
_MSS = 1448
"""Payload of a segment in bytes, to count the segments of an interval."""


@dataclass
class _Flow:
    """Intervals of one direction."""

    udp: bool
    streams: int
    start: float | None
    target: float
    at: list[float] = field(default_factory=list)
    length: list[float] = field(default_factory=list)
    rate: list[float] = field(default_factory=list)
    loss: list[float] = field(default_factory=list)
    trip: list[float] = field(default_factory=list)
    sender: bool = False


def load(sources: Sequence[Input], settings: Settings) -> Recording:
    """Read one or two files of iperf3: one for each direction, or one of `--bidir`."""
    flows: dict[str, _Flow] = {}
    for source in sources:
        for direction, flow in _flows(source, settings).items():
            if direction in flows:
                raise fault(
                    source, None, f"is another file of direction {direction}; give one for each"
                )
            flows[direction] = flow
    spans = [span for flow in flows.values() for span in flow.length]
    step = settings.step or max(_LEAST_STEP, round(sorted(spans)[len(spans) // 2], 3))
    ends = [flow.at[-1] + flow.length[-1] for flow in flows.values()]
    rows = max(1, round(min(ends) / step))
    if rows > MOST_ROWS:
        raise fault(sources[0], None, f"{rows:,} rows; use another --step")
    made = {
        direction: _direction(flows.get(direction), direction, step, rows, settings)
        for direction in ("down", "up")
    }
    starts = [flow.start for flow in flows.values() if flow.start is not None]
    return Recording(
        name=settings.name,
        kind="iperf3",
        source=settings.source or Source().source,
        licence=settings.licence or Source().licence,
        step=step,
        rows=rows,
        down=made["down"],
        up=made["up"],
        start=utc(round(starts[0] * 1e3) * 1_000_000) if starts else None,
        files=tuple(source.description() for source in sources),
        notes=tuple(_notes(flows)),
    )


def _flows(source: Input, settings: Settings) -> dict[str, _Flow]:
    start, intervals = _document(source)
    test = member(source, start, "test_start")
    udp = _protocol(source, test) == "UDP"
    streams = whole(source, None, "num_streams", test.get("num_streams", 1), 1, 1000)
    target = number(source, None, "target_bitrate", test.get("target_bitrate", 0), 0, MOST["rate"])
    begun = _start(source, start)
    backward = whole(source, None, "reverse", test.get("reverse", 0), 0, 1) == 1
    both = whole(source, None, "bidir", test.get("bidir", 0), 0, 1) == 1 or any(
        isinstance(item, dict) and "sum_bidir_reverse" in item for item in intervals
    )
    names = {"sum": "down" if backward else "up"}
    if both:
        names = {"sum": "up", "sum_bidir_reverse": "down"}
    if settings.direction is not None:
        if both:
            raise fault(source, None, "has both directions; leave --direction out")
        names = {"sum": settings.direction}
    flows = {}
    for key, direction in names.items():
        flow = _Flow(udp, streams, begun, target)
        _fill(source, flow, key, intervals)
        flows[direction] = flow
    return flows


def _protocol(source: Input, test: dict[str, Any]) -> str:
    protocol = test.get("protocol")
    if protocol not in ("TCP", "UDP"):
        raise fault(source, None, f"protocol {quoted(protocol)}; only TCP and UDP are known")
    return str(protocol)


def _document(source: Input) -> tuple[dict[str, Any], list[Any]]:
    """Return start and intervals, of one document or of one a line (`--json-stream`)."""
    events = list(lines(source))
    if len(events) > 1 and events[0][1].lstrip().startswith('{"event"'):
        start: dict[str, Any] | None = None
        intervals = []
        for line, text in events:
            event = load_json(source, "iperf3 --json-stream", text, line)
            if event.get("event") == "start":
                start = member(source, event, "data")
            elif event.get("event") == "interval":
                intervals.append(member(source, event, "data"))
            elif event.get("event") == "error":
                raise fault(source, line, f"iperf3 failed: {quoted(event.get('data'))}")
        if start is None:
            raise fault(source, None, "no event 'start' in it")
        return start, intervals
    document = load_json(source, "iperf3")
    if "error" in document:
        raise fault(source, None, f"iperf3 failed: {quoted(document['error'])}")
    return member(source, document, "start"), member(source, document, "intervals", list)


def _start(source: Input, start: dict[str, Any]) -> float | None:
    stamp = start.get("timestamp")
    if not isinstance(stamp, dict):
        return None
    if "timemillisecs" in stamp:
        return number(source, None, "timemillisecs", stamp["timemillisecs"], 0, 9e12) / 1e3
    if "timesecs" in stamp:
        return number(source, None, "timesecs", stamp["timesecs"], 0, 9e9)
    return None


def _fill(source: Input, flow: _Flow, key: str, intervals: list[Any]) -> None:
    """Append the intervals of one sum; those of `--omit` are left out."""
    for at, item in enumerate(intervals):
        where = f"intervals[{at}].{key}"
        total = item.get(key) if isinstance(item, dict) else None
        if not isinstance(total, dict):
            raise fault(source, None, f"no {where} in it")
        if total.get("omitted") is True:
            continue
        begin = number(source, None, f"{where}.start", total.get("start"), 0, _MOST_SECONDS)
        end = number(source, None, f"{where}.end", total.get("end"), begin, _MOST_SECONDS)
        if end - begin < 0.01:  # iperf3 closes with the rest of the last interval.
            continue
        data = number(source, None, f"{where}.bytes", total.get("bytes"), 0, 1e15)
        sender = total.get("sender") is True
        if sender and flow.udp:
            raise fault(
                source,
                None,
                "has what a UDP sender sent, which says nothing of the path; import the JSON of "
                "the receiver (the server's, or the client's with --reverse)",
            )
        flow.sender = flow.sender or sender
        flow.at.append(begin)
        flow.length.append(end - begin)
        flow.rate.append(min(8 * data / (end - begin), MOST["rate"]))
        flow.loss.append(_loss(source, where, flow, total, data))
        flow.trip.append(_trip(source, where, item, sender=sender))
    if not flow.at:
        raise fault(source, None, "no interval in it that is not omitted")


def _loss(source: Input, where: str, flow: _Flow, total: dict[str, Any], data: float) -> float:
    """Return the share of lost datagrams, or of retransmitted segments; NaN if unknown."""
    if flow.udp:
        packets = number(source, None, f"{where}.packets", total.get("packets"), 0, 1e12)
        lost = number(source, None, f"{where}.lost_packets", total.get("lost_packets"), -1e12, 1e12)
        # Datagrams that arrive late were counted as lost before.
        return min(1.0, max(0.0, lost / packets)) if packets else 0.0
    if not flow.sender:
        return float("nan")
    again = number(source, None, f"{where}.retransmits", total.get("retransmits", 0), 0, 1e12)
    return min(1.0, again / max(1.0, data / _MSS))


def _trip(source: Input, where: str, item: dict[str, Any], *, sender: bool) -> float:
    """Return the mean round trip of the streams that send, in seconds; NaN without one."""
    streams = item.get("streams")
    if not sender or not isinstance(streams, list):
        return float("nan")
    trips = [
        number(source, None, f"{where}: rtt", stream["rtt"], 0, 3.6e9) / 1e6
        for stream in streams
        if isinstance(stream, dict) and "rtt" in stream
    ]
    seen = [trip for trip in trips if trip > 0]
    return sum(seen) / len(seen) if seen else float("nan")


def _direction(
    flow: _Flow | None, direction: str, step: float, rows: int, settings: Settings
) -> Direction:
    import numpy as np

    if flow is None:
        columns = {name: assumed(name, settings, direction) for name in ("rate", "delay", "loss")}
        none = Traffic("nothing", 0.0, None, None, "this direction was not measured")
        return Direction.of(columns, none)
    rate = _placed(flow, np.array(flow.rate), step, rows, 0.0)
    loss = assumed("loss", settings, direction)
    delay = assumed("delay", settings, direction)
    if not np.isnan(flow.loss).all():
        loss = Column(
            "measured" if flow.udp else "estimated",
            "lost datagrams"
            if flow.udp
            else "retransmitted segments, which TCP may have sent in vain",
            values=rounded("loss", _placed(flow, np.array(flow.loss), step, rows, 0.0)),
        )
    queueing = None
    if not np.isnan(flow.trip).all():
        trips = _placed(flow, np.array(flow.trip), step, rows, None)
        values = rounded("delay", trips / 2)
        delay = Column("estimated", "half the smoothed RTT of the TCP that measured", values=values)
        queueing = queueing_share(values, None)
    saturated = _saturated(flow)
    by = f"{flow.streams} {'UDP' if flow.udp else 'TCP'} stream{'s' * (flow.streams > 1)}"
    by += f" at {flow.target / 1e6:g} Mbit/s" if flow.target else ""
    effect = (
        f"{100 * saturated:.0f} % of the intervals lost datagrams and show the path's rate; the "
        "others show a lower bound, and losses are those of the full queue"
        if flow.udp
        else "the rate is what this TCP reached on this path, a lower bound; delay and losses "
        "contain the queue that it filled"
    )
    offered = flow.target or float(rate.mean())
    traffic = Traffic(by, offered, 1.0, queueing, effect)
    rate_by = "payload received in each interval"
    if flow.sender:
        rate_by = "payload sent in each interval, as the sender counts it"
    column = Column("estimated", rate_by + ", a lower bound", values=rounded("rate", rate))
    if flow.udp and saturated == 1:
        column = Column("measured", rate_by, values=rounded("rate", rate))
    return Direction(rate=column, delay=delay, loss=loss, traffic=traffic)


def _saturated(flow: _Flow) -> float:
    """Return the share of intervals in which the path was full, known by lost datagrams."""
    return sum(loss > 0 for loss in flow.loss) / len(flow.loss)


def _placed(
    flow: _Flow, values: "Floats", step: float, rows: int, missing: float | None
) -> "Floats":
    """Return the value of each row: the mean of the intervals whose middle is in it."""
    import numpy as np
    import pandas as pd

    middle = np.array(flow.at) + np.array(flow.length) / 2
    place = np.minimum((middle / step).astype(np.int64), rows - 1)
    means = pd.Series(values).groupby(place).mean().reindex(np.arange(rows))
    filled = means.ffill().bfill()
    return np.asarray(filled.fillna(missing or 0.0), dtype=np.float64)


def _notes(flows: dict[str, _Flow]) -> list[str]:
    return [
        f"{direction}: {len(flow.at)} intervals, mean {sum(flow.rate) / len(flow.rate) / 1e6:.4g} "
        "Mbit/s"
        for direction, flow in flows.items()
    ]
