"""Mahimahi: packet-delivery traces, a millisecond a line (mm-link(1)), and LeoReplayer's pairs.

LeoReplayer (Lai and others, SIGCOMM 2025) adds a file of delays, one whole number of milliseconds
for each 10 ms.
"""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from farlink.recordings import phases as search
from farlink.recordings.build import Settings, Source, assumed, queueing_share
from farlink.recordings.document import MOST_ROWS, Column, Direction, Recording, Traffic, rounded
from farlink.recordings.reading import Input, fault, lines, whole

if TYPE_CHECKING:
    from farlink.recordings.document import Floats, Whole

__all__ = ["direction_of", "load", "load_leoreplayer", "rates"]

BITS = 12_000
"""Bits of an opportunity: 1500 bytes."""

_STEP = 0.1
_DELAY_STEP = 0.01
_LAST_MS = 2**32 - 1
_MOST_DELAY_MS = 3_600_000
_WORD = re.compile(r"[^a-z]+")

_LEOREPLAYER = Source(
    source="recorded for LeoReplayer (Lai and others, LeoCC, SIGCOMM 2025)", licence="not given"
)


def load(sources: Sequence[Input], settings: Settings) -> Recording:
    """Read one trace, or one for each direction."""
    traces = _directions(sources, settings)
    step = settings.step or _STEP
    times = {name: opportunities(source) for name, source in traces.items()}
    rows = max(_rows(time, step) for time in times.values())
    made = {
        direction: _direction(direction, times.get(direction), step, rows, settings, None)
        for direction in ("down", "up")
    }
    notes = [
        f"{direction}: {len(time)} opportunities in {int(time[-1]) / 1e3:g} s"
        for direction, time in times.items()
    ]
    return Recording(
        name=settings.name,
        kind="mahimahi",
        source=settings.source or Source().source,
        licence=settings.licence or Source().licence,
        step=step,
        rows=rows,
        down=made["down"],
        up=made["up"],
        files=tuple(source.description() for source in sources),
        notes=tuple(notes),
    )


def load_leoreplayer(sources: Sequence[Input], settings: Settings) -> Recording:
    """Read one or two files of opportunities and one of delays."""
    delays = [source for source in sources if source.name.lower().startswith("delay")]
    if len(delays) != 1:
        raise fault(
            sources[0],
            None,
            f"{len(delays)} of the files have names that begin with 'delay'; give one of them, "
            "with the bw file of one or both directions",
        )
    if len(sources) == 1:
        raise fault(sources[0], None, "is the delay alone; give a bw file with it")
    traces = _directions([item for item in sources if item is not delays[0]], settings)
    step = settings.step or _DELAY_STEP
    one_way = _delays(delays[0])
    times = {name: opportunities(source) for name, source in traces.items()}
    per = step / _DELAY_STEP
    if abs(per - round(per)) > 1e-9 or per < 1:
        raise fault(delays[0], None, f"--step {step:g} s is no multiple of the delay's 10 ms")
    rows = -(-len(one_way) // round(per))
    delay = _means(one_way, round(per))
    period = settings.period
    grid = None if period is None else search.periodic(delay, step, None, period)
    made = {
        direction: _direction(direction, times.get(direction), step, rows, settings, delay)
        for direction in ("down", "up")
    }
    return Recording(
        name=settings.name,
        kind="leoreplayer",
        source=settings.source or _LEOREPLAYER.source,
        licence=settings.licence or _LEOREPLAYER.licence,
        step=step,
        rows=rows,
        down=made["down"],
        up=made["up"],
        phases=grid,
        # LeoReplayer sends the packet that is due first, so packets overtake where the delay falls.
        keep_order=False,
        files=tuple(source.description() for source in sources),
        notes=(f"{len(one_way)} delays; the same delay is in both directions",),
    )


def direction_of(name: str) -> str | None:
    """Return the direction in the name of a file: its word up, down, uplink or downlink."""
    words = set(_WORD.split(name.lower()))
    up, down = bool(words & {"up", "uplink", "ul"}), bool(words & {"down", "downlink", "dl"})
    if up == down:
        return None
    return "up" if up else "down"


def opportunities(source: Input) -> "Whole":
    """Return the milliseconds of a packet-delivery trace."""
    import numpy as np

    times: list[int] = []
    for line, text in lines(source):
        time = whole(source, line, "time", text.strip(), 0, _LAST_MS)
        if times and time < times[-1]:
            raise fault(source, line, f"{time} ms is earlier than the line before")
        times.append(time)
    if times[-1] == 0:
        raise fault(source, None, "ends at 0 ms; the last time is the length of the trace")
    return np.array(times, dtype=np.int64)


def rates(times: "Whole", step: float, rows: int) -> "Floats":
    """Return the mean rate of each row in bit/s; an opportunity at the end of a row is in it.

    A trace that is shorter than the rows begins again.
    """
    import numpy as np

    step_ms = max(1, round(step * 1e3))
    length = int(times[-1])
    laps = -(-rows * step_ms // length)
    every = (times[None, :] + length * np.arange(laps)[:, None]).ravel()
    place = np.maximum(every - 1, 0) // step_ms
    counts = np.bincount(place[place < rows], minlength=rows)
    return rounded("rate", counts * BITS / (step_ms / 1e3))


def _rows(times: "Whole", step: float) -> int:
    rows = -(-int(times[-1]) // max(1, round(step * 1e3)))
    return min(rows, MOST_ROWS + 1)


def _directions(sources: Sequence[Input], settings: Settings) -> dict[str, Input]:
    """Return the file of each direction: by its name, otherwise the first is down."""
    if len(sources) > 2:
        raise fault(sources[2], None, "is a third trace; a link has two directions")
    if settings.direction is not None:
        if len(sources) > 1:
            raise fault(sources[1], None, "--direction is for one file")
        return {settings.direction: sources[0]}
    names = [direction_of(source.name) for source in sources]
    if len(sources) == 1:
        return {names[0] or "down": sources[0]}
    if set(names) == {"up", "down"}:
        return {str(name): source for name, source in zip(names, sources, strict=True)}
    if names == [None, None]:
        return {"down": sources[0], "up": sources[1]}
    raise fault(
        sources[1],
        None,
        "the names do not say the directions; let one have the word up and the other down",
    )


def _delays(source: Input) -> "Floats":
    import numpy as np

    values = [
        whole(source, line, "delay", text.strip(), 0, _MOST_DELAY_MS)
        for line, text in lines(source)
    ]
    return np.array(values, dtype=np.float64) / 1e3


def _means(values: "Floats", per: int) -> "Floats":
    """Return the mean of groups of values."""
    import numpy as np

    starts = np.arange(0, len(values), per)
    sums = np.add.reduceat(values, starts)
    counts = np.diff(np.concatenate([starts, [len(values)]]))
    return rounded("delay", sums / counts)


def _direction(
    direction: str,
    times: "Whole | None",
    step: float,
    rows: int,
    settings: Settings,
    delay: "Floats | None",
) -> Direction:
    late = assumed("delay", settings, direction)
    if delay is not None:
        late = Column("estimated", "half the round trip of ping, by the recorder", values=delay)
    if times is None:
        rate = assumed("rate", settings, direction)
        traffic = Traffic("nothing", 0.0, None, None, "the rate of this direction was not measured")
    else:
        by = "opportunities of 1500 bytes that the recorder saw"
        rate = Column("measured", by, values=rates(times, step, rows))
        traffic = Traffic(
            by="a flow that keeps the link full",
            offered=None,
            share=1.0,
            queueing=queueing_share(delay, None) if delay is not None else None,
            effect=(
                "the rate is what the link gave to a flow that was always full; a user with less "
                "to send may be scheduled otherwise"
            ),
        )
    return Direction(
        rate=rate,
        delay=late,
        loss=assumed("loss", settings, direction),
        traffic=traffic,
        opportunities=times,
    )
