"""Directions of a recording from the columns that a format has."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from farlink.recordings import phases as search
from farlink.recordings.document import (
    Column,
    Direction,
    Phases,
    Recording,
    Traffic,
    rounded,
    utc,
)
from farlink.recordings.probes import NOT_LOST, Probes
from farlink.recordings.reading import Input

if TYPE_CHECKING:
    from farlink.recordings.document import Floats

__all__ = ["Settings", "Source", "assumed", "from_probes", "queueing_share"]

NOT_GIVEN = "not given"


@dataclass(frozen=True)
class Settings:
    """Values that a user gives for what a recording lacks."""

    name: str
    step: float | None = None
    rate: float = 100e6
    """Rate down in bit/s, where the recording has none."""
    up_rate: float = 20e6
    delay: float = 0.02
    """One-way delay in seconds, where the recording has none."""
    loss: float = 0.0
    period: float | None = search.PERIOD
    """Interval of the phases to look for in seconds; None looks for none."""
    interval: float = 1.0
    """Time between probes in seconds, for a log without times."""
    direction: str | None = None
    """Direction of all files; None lets the file say it."""
    between: tuple[int, int] | None = None
    """Numbers of two nodes, for files of a whole constellation."""
    source: str | None = None
    licence: str | None = None


@dataclass(frozen=True)
class Source:
    """Citation and licence that a format knows of itself."""

    source: str = NOT_GIVEN
    licence: str = NOT_GIVEN


def assumed(name: str, settings: Settings, direction: str) -> Column:
    """Return the constant column of a value that the recording lacks."""
    values = {
        "rate": settings.rate if direction == "down" else settings.up_rate,
        "delay": settings.delay,
        "loss": settings.loss,
    }
    value = float(rounded(name, values[name]))  # type: ignore[arg-type]
    return Column("assumed", "not in the recording; chosen at the import", constant=value)


def queueing_share(delay: "Floats", phase: Phases | None) -> float | None:
    """Return the share of the mean delay that is above the smallest delay of its phase."""
    import numpy as np

    mean = float(delay.mean())
    if mean <= 0:
        return None
    edges = np.concatenate([[0], phase.starts if phase is not None else []]).astype(np.int64)
    edges = np.unique(edges)
    lengths = np.diff(np.concatenate([edges, [len(delay)]]))
    least = np.repeat(np.minimum.reduceat(delay, edges), lengths)
    return round(1 - float(least.mean()) / mean, 4)


def from_probes(
    kind: str,
    probes: Probes,
    sources: Sequence[Input],
    settings: Settings,
    origin: Source,
    *,
    clock: bool,
    delays: Mapping[str, tuple[str, str]],
    bytes_: int | None,
    what: str,
) -> Recording:
    """Return the recording of probes.

    `delays` has the origin of the delay of each direction and its method. `bytes_` is the length
    of a probe with its headers.
    """
    step = probes.step(settings.step)
    rows = probes.rows(step)
    columns = {
        direction: probes.delay_column(direction, step, *delays[direction])
        for direction in ("down", "up")
    }
    trip = _values(columns["down"]) + _values(columns["up"])
    start = probes.start / 1e9 if clock else None
    grid = (
        search.periodic(trip, step, start, settings.period) if settings.period is not None else None
    )
    offered = None if bytes_ is None else 8 * bytes_ / probes.interval
    every = f"{what} every {1e3 * probes.interval:.4g} ms"
    made = {}
    for direction, delay in columns.items():
        loss = (
            probes.loss_column(direction, step)
            if probes.losses
            else assumed("loss", settings, direction)
        )
        rate = assumed("rate", settings, direction)
        traffic = Traffic(
            by=every,
            offered=offered,
            share=None,
            queueing=queueing_share(_values(delay), grid),
            effect=(
                "small: the probes fill no queue, so the delay has the queues of other traffic "
                "only, and the rate is unknown"
            ),
        )
        made[direction] = Direction(rate=rate, delay=delay, loss=loss, traffic=traffic)
    overtaken = probes.overtakes()
    return Recording(
        name=settings.name,
        kind=kind,
        source=settings.source or origin.source,
        licence=settings.licence or origin.licence,
        step=step,
        rows=rows,
        down=made["down"],
        up=made["up"],
        start=utc(probes.start) if clock else None,
        phases=grid,
        keep_order=overtaken == 0,
        files=tuple(source.description() for source in sources),
        notes=tuple(_notes(probes, step, rows, overtaken)),
    )


def _values(column: Column) -> "Floats":
    if column.values is None:
        raise AssertionError("a delay of probes has a value for each row")
    return column.values


def _notes(probes: Probes, step: float, rows: int, overtaken: int) -> list[str]:
    notes = [f"{len(probes.sent)} probes, {int((probes.fate != NOT_LOST).sum())} lost"]
    without = probes.unanswered(step)
    if without:
        notes.append(f"{without} of {rows} rows have no reply and keep the delay before")
    if probes.gaps() > 0:
        notes.append(f"{probes.gaps():.1f} s are in gaps without a probe")
    if not probes.losses:
        notes.append("the file has replies only, so losses are unknown")
    if overtaken:
        notes.append(f"{overtaken} probes overtook others, so packets may overtake")
    return notes
