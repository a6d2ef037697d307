"""LENS: the data set of Zhao and Pan (MMSys 2024), raw (irtt JSON, ping text) or as CSV."""

from collections.abc import Iterator, Sequence

from farlink.recordings import irtt, ping
from farlink.recordings.build import Settings, Source, from_probes
from farlink.recordings.document import Recording
from farlink.recordings.probes import DOWN, LOST, NOT_LOST, UP, Probes, one_way
from farlink.recordings.reading import Input, fault, lines, number, whole

__all__ = ["load"]

LENS = Source(
    source="Zhao and Pan, LENS: A LEO satellite network measurement dataset, MMSys 2024",
    licence="CC BY-SA 4.0",
)

_IRTT_HEAD = "timestamp,rtt,uplink,downlink"
_PING_HEAD = "timestamp,rtt"
_MOST_MS = 3_600_000.0
_LATEST_NS = 2**63 - 1
_PAYLOAD, _HEADERS = 60, 28
"""Bytes of LENS's irtt packets, and of the headers of UDP and IPv4."""


def load(sources: Sequence[Input], settings: Settings) -> Recording:
    """Read files of LENS, all of one sort."""
    sorts = [_sort(source) for source in sources]
    for source, sort in zip(sources, sorts, strict=True):
        if sort != sorts[0]:
            raise fault(source, None, f"is {sort}, and the first file is {sorts[0]}")
    match sorts[0]:
        case "irtt JSON":
            return irtt.recording("lens", sources, settings, LENS)
        case "ping text":
            return ping.recording("lens", sources, settings, LENS)
        case "irtt CSV":
            return _irtt(sources, settings)
        case _:
            return _ping(sources, settings)


def _sort(source: Input) -> str:
    first = source.text.lstrip().split("\n", 1)[0].strip()
    if first.startswith("{"):
        return "irtt JSON"
    if first == _IRTT_HEAD:
        return "irtt CSV"
    if first == _PING_HEAD:
        return "ping CSV"
    if "icmp_seq" in first or first.startswith("PING"):
        return "ping text"
    raise fault(
        source,
        1,
        f"no file of LENS; it begins with {_IRTT_HEAD!r}, {_PING_HEAD!r}, a line of ping or '{{'",
    )


def _irtt(sources: Sequence[Input], settings: Settings) -> Recording:
    import numpy as np

    rows: list[tuple[int, int, float, float]] = []
    for source in sources:
        for line, cells in _cells(source, 4):
            sent = whole(source, line, "timestamp", cells[0], 0, _LATEST_NS)
            trip, up, down = (
                number(source, line, name, cell, -1e12, 1e12) / 1e3
                for name, cell in zip(("rtt", "uplink", "downlink"), cells[1:], strict=True)
            )
            fate = _fate(trip, up, down)
            if fate == NOT_LOST and not 0 <= trip <= _MOST_MS / 1e3:
                raise fault(source, line, f"rtt {cells[1]!r} is not between 0 and {_MOST_MS:g}")
            if fate == NOT_LOST and not 0 <= up + down <= _MOST_MS / 1e3:
                raise fault(source, line, f"uplink and downlink have the sum {1e3 * (up + down):g}")
            rows.append((sent, fate, up, down))
    if not rows:
        raise fault(sources[0], None, "no rows in it")
    fates = np.array([row[1] for row in rows], dtype=np.int64)
    probes = Probes(
        np.array([row[0] for row in rows], dtype=np.int64),
        np.where(fates == NOT_LOST, [row[2] for row in rows], np.nan),
        np.where(fates == NOT_LOST, [row[3] for row in rows], np.nan),
        fates,
    )
    probes.up, probes.down, _ = one_way(probes.sent, probes.up, probes.down)
    method = (
        "estimated",
        "irtt's time stamps, less the offset of the clocks: at the smallest round trip of each "
        "minute both directions are taken as equal",
    )
    return from_probes(
        "lens",
        probes,
        sources,
        settings,
        LENS,
        clock=True,
        delays={"down": method, "up": method},
        bytes_=_PAYLOAD + _HEADERS,
        what=f"packets of {_PAYLOAD + _HEADERS} bytes",
    )


def _fate(trip: float, up: float, down: float) -> int:
    """Return the fate by LENS's code: -1 ms marks the direction of the loss, others are 0."""
    lost = -1e-3
    if (trip, up, down) == (lost, 0, 0):
        return LOST
    if (trip, up, down) == (0, lost, 0):
        return UP
    if (trip, up, down) == (0, 0, lost):
        return DOWN
    return NOT_LOST


def _ping(sources: Sequence[Input], settings: Settings) -> Recording:
    import numpy as np

    rows: list[tuple[float, float]] = []
    for source in sources:
        for line, cells in _cells(source, 2):
            at = number(source, line, "timestamp", cells[0], 0, 9e9)
            trip = number(source, line, "rtt", cells[1], 0, _MOST_MS) / 1e3
            rows.append((at - trip, trip))
    if not rows:
        raise fault(sources[0], None, "no rows in it")
    half = np.array([trip / 2 for _, trip in rows])
    sent = np.round(np.array([at for at, _ in rows]) * 1e9).astype(np.int64)
    probes = Probes(sent, half, half.copy(), np.zeros(len(rows), dtype=np.int64), losses=False)
    method = ("estimated", "half the round trip")
    return from_probes(
        "lens",
        probes,
        sources,
        settings,
        LENS,
        clock=True,
        delays={"down": method, "up": method},
        bytes_=84,
        what="ICMP packets of 84 bytes",
    )


def _cells(source: Input, count: int) -> Iterator[tuple[int, list[str]]]:
    """Iterate over the rows behind the head, with their line numbers."""
    rows = lines(source)
    next(rows)
    for line, text in rows:
        cells = [cell.strip() for cell in text.split(",")]
        if len(cells) != count:
            raise fault(source, line, f"{len(cells)} values; a row has {count}")
        yield line, cells
