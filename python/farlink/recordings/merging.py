"""Rate of one recording with delay and loss of another that was made at the same time."""

from dataclasses import replace
from typing import TYPE_CHECKING

from farlink.errors import ScenarioError
from farlink.recordings.document import Column, Direction, Recording

if TYPE_CHECKING:
    from farlink.recordings.document import Whole

__all__ = ["merged"]


def merged(first: Recording, second: Recording) -> Recording:
    """Return the time that both have, with the rate of the first and the rest of the second."""
    import numpy as np

    if first.start is None or second.start is None:
        lacking = first if first.start is None else second
        raise ScenarioError(f"{lacking.kind}: has no clock, so --with cannot place it in time")
    lead = (second.start - first.start).total_seconds()
    begin = max(0.0, lead)
    end = min(first.length, lead + second.length)
    step = second.step
    rows = int((end - begin) / step + 1e-9)
    if rows < 1:
        raise ScenarioError(
            f"{first.kind} begins at {first.start:%H:%M:%S}, {second.kind} at "
            f"{second.start:%H:%M:%S} UTC, and they have no row in common"
        )
    skipped = round((begin - lead) / step)
    ours = np.arange(rows) + skipped
    ours = np.minimum(ours, second.rows - 1)
    theirs = ((begin + step * np.arange(rows)) / first.step + 1e-9).astype(np.int64)
    theirs = np.minimum(theirs, first.rows - 1)
    made = {
        name: _direction(before, other, theirs, ours)
        for (name, before), (_, other) in zip(first.directions, second.directions, strict=True)
    }
    phases = second.phases
    if phases is not None:
        starts = phases.starts - skipped
        phases = replace(phases, starts=starts[(starts > 0) & (starts < rows)])
    return replace(
        second,
        name=first.name,
        kind=f"{first.kind}+{second.kind}",
        source=first.source
        if first.source == second.source
        else f"{first.source}; {second.source}",
        rows=rows,
        down=made["down"],
        up=made["up"],
        start=first.start if lead <= 0 else second.start,
        phases=phases,
        files=first.files + second.files,
        notes=first.notes + second.notes,
    )


def _direction(before: Direction, other: Direction, theirs: "Whole", ours: "Whole") -> Direction:
    effect = before.traffic.effect
    if before.rate.origin != "assumed":
        effect += "; delay and loss were measured beside this traffic, and contain its queue"
    return Direction(
        rate=_taken(before.rate, theirs),
        delay=_taken(other.delay, ours),
        loss=_taken(other.loss, ours),
        traffic=replace(
            before.traffic,
            by=f"{before.traffic.by}, and {other.traffic.by}",
            queueing=other.traffic.queueing,
            effect=effect,
        ),
    )


def _taken(column: Column, rows: "Whole") -> Column:
    return column if column.values is None else replace(column, values=column.values[rows])
