"""irtt: the JSON that `irtt client -o FILE` writes (irtt-client(1), section OUTPUT)."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from farlink.recordings.build import Settings, Source, from_probes
from farlink.recordings.document import Recording
from farlink.recordings.probes import DOWN, LOST, NOT_LOST, UP, Probes, one_way
from farlink.recordings.reading import Input, fault, load_json, member, quoted, whole

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

__all__ = ["load", "parse", "recording"]

_FATES = {"false": NOT_LOST, "true": LOST, "true_up": UP, "true_down": DOWN}
_HEADERS = 28
"""Bytes of the headers of UDP and IPv4."""
_MOST_NS = 3_600_000_000_000
_LATEST_NS = 2**63 - 1


def load(sources: Sequence[Input], settings: Settings) -> Recording:
    """Read files of irtt."""
    return recording("irtt", sources, settings, Source())


def recording(kind: str, sources: Sequence[Input], settings: Settings, origin: Source) -> Recording:
    """Read files of irtt as those of a data set."""
    parts = [parse(source) for source in sources]
    probes = joined([probes for probes, _, _ in parts])
    stamped = all(item for _, _, item in parts)
    by = (
        "the server's time stamps, less the offset of the clocks: at the smallest round trip of "
        "each minute both directions are taken as equal"
    )
    method = ("estimated", by) if stamped else ("estimated", "half the round trip")
    return from_probes(
        kind,
        probes,
        sources,
        settings,
        origin,
        clock=True,
        delays={"down": method, "up": method},
        bytes_=parts[0][1] + _HEADERS,
        what=f"packets of {parts[0][1] + _HEADERS} bytes",
    )


def joined(parts: Sequence[Probes]) -> Probes:
    """Return the probes of several files as one."""
    import numpy as np

    return Probes(
        np.concatenate([part.sent for part in parts]),
        np.concatenate([part.up for part in parts]),
        np.concatenate([part.down for part in parts]),
        np.concatenate([part.fate for part in parts]),
        all(part.losses for part in parts),
    )


def parse(source: Input) -> tuple[Probes, int, bool]:
    """Return the probes, their payload in bytes, and whether one-way delays were stamped."""
    import numpy as np

    document = load_json(source, "irtt")
    whole(source, None, "json_format", member(source, document, "version.json_format", int), 1, 1)
    length = member(source, document, "config.params.length", int)
    length = whole(source, None, "length", length, 0, 65535)
    trips = member(source, document, "round_trips", list)
    if not trips:
        raise fault(source, None, "round_trips is empty")
    count = len(trips)
    sent = np.zeros(count, dtype=np.int64)
    trip, up, down = (np.full(count, np.nan) for _ in range(3))
    fate = np.zeros(count, dtype=np.int64)
    for at, item in enumerate(trips):
        fate[at], sent[at], delays = _trip(source, at, item)
        for values, delay in zip((trip, up, down), delays, strict=True):
            values[at] = np.nan if delay is None else delay / 1e9
    stamped = not bool(np.isnan((up + down)[fate == NOT_LOST]).any())
    if stamped and bool((fate == NOT_LOST).any()):
        # The round trip without the server's processing time is the sum of both ways.
        up, down, _ = one_way(sent, up, down)
        _check(source, up, down)
    else:
        up = down = trip / 2
    return Probes(sent, up, down, fate), length, stamped


def _check(source: Input, up: "npt.NDArray[np.float64]", down: "npt.NDArray[np.float64]") -> None:
    import numpy as np

    if bool((np.nan_to_num(up + down) < 0).any()):
        raise fault(source, None, "the delays of a round trip have a negative sum")


def _trip(source: Input, at: int, item: Any) -> tuple[int, int, list[int | None]]:  # noqa: ANN401 (whatever JSON has)
    """Return fate, sending time, and the delays rtt, up and down in nanoseconds."""
    where = f"round_trips[{at}]"
    lost = item.get("lost") if isinstance(item, dict) else None
    # irtt writes a word in quotes, and its manual shows JSON's true and false.
    fate = _FATES.get(str(lost).lower() if isinstance(lost, bool) else str(lost))
    if fate is None:
        raise fault(source, None, f"{where}.lost = {quoted(lost)} is no state of irtt")
    wall = _part(item, "timestamps", "client", "send", "wall")
    sent = whole(source, None, f"{where}.timestamps.client.send.wall", wall, 0, _LATEST_NS)
    if fate != NOT_LOST:
        return fate, sent, [None, None, None]
    delays: list[int | None] = []
    for name, low in (("rtt", 0), ("send", -_LATEST_NS), ("receive", -_LATEST_NS)):
        value = _part(item, "delay", name)
        if value is None and name != "rtt":
            delays.append(None)
            continue
        high = _MOST_NS if name == "rtt" else _LATEST_NS
        delays.append(whole(source, None, f"{where}.delay.{name}", value, low, high))
    return fate, sent, delays


def _part(item: Any, *names: str) -> Any:  # noqa: ANN401 (whatever JSON has)
    for name in names:
        item = item.get(name) if isinstance(item, dict) else None
    return item
