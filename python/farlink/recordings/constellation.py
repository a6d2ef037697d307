"""Computed paths: those of Hypatia (`networkx_rtt_A_to_B.txt`, `networkx_path_A_to_B.txt`)."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from farlink.recordings import phases as search
from farlink.recordings.build import Settings, Source, assumed
from farlink.recordings.document import Column, Direction, Recording, Traffic, rounded
from farlink.recordings.reading import Input, fault, lines, number, whole

if TYPE_CHECKING:
    from farlink.recordings.document import Floats

__all__ = ["computed", "load_hypatia"]

_LAST_NS = 10**18
_MOST_NS = 3_600_000_000_000.0
_NAME = re.compile(r"networkx_(rtt|path)_(\d+)_to_(\d+)")
_PATH = re.compile(r"\d+(?:-\d+)+")
_UNREACHABLE = "Unreachable"


def load_hypatia(sources: Sequence[Input], settings: Settings) -> Recording:
    """Read one file of round trips, and the file of its paths."""
    sorts = [_NAME.search(source.name) for source in sources]
    trips = [item for item, sort in zip(sources, sorts, strict=True) if sort and sort[1] == "rtt"]
    paths = [item for item, sort in zip(sources, sorts, strict=True) if sort and sort[1] == "path"]
    if len(trips) != 1 or len(paths) > 1 or len(trips) + len(paths) != len(sources):
        raise fault(
            sources[0],
            None,
            "give one file named networkx_rtt_A_to_B.txt and, for the paths, networkx_path_A_to_B"
            ".txt",
        )
    step, delay, reachable = _trips(trips[0])
    if not reachable.any():
        raise fault(trips[0], None, "there is no path at any time")
    names = _paths(paths[0], step, len(delay)) if paths else None
    by = "half of Hypatia's round trip"
    pair = _NAME.search(trips[0].name)
    ends = f" from node {pair[2]} to {pair[3]}" if pair else ""
    source = f"Hypatia (Kassing and others, IMC 2020): computed path{ends}"
    return computed("hypatia", sources, settings, Source(source), step, delay, reachable, by, names)


def _trips(source: Input) -> "tuple[float, Floats, Floats]":
    """Return the length of a row, the one-way delays and 1 where there is a path."""
    import numpy as np

    times: list[int] = []
    values: list[float] = []
    for line, text in lines(source):
        cells = text.split(",")
        if len(cells) != 2:
            raise fault(source, line, f"{len(cells)} values; a row has time and round trip (ns)")
        times.append(whole(source, line, "time", cells[0].strip(), 0, _LAST_NS))
        values.append(number(source, line, "round trip", cells[1].strip(), 0, _MOST_NS))
    gaps = np.diff(np.array(times, dtype=np.int64))
    if len(gaps) == 0:
        raise fault(source, None, "has one row; the length of a row is unknown")
    if bool((gaps != gaps[0]).any()) or gaps[0] < 1_000_000:
        where = int(np.argmax(gaps != gaps[0])) + 2
        raise fault(source, where, "the times do not rise by equal steps of 1 ms or more")
    trips = np.array(values)
    return float(gaps[0]) / 1e9, trips / 2e9, (trips > 0).astype(np.float64)


def _paths(source: Input, step: float, rows: int) -> list[str]:
    """Return the path of each row."""
    names = [""] * rows
    last = -1
    for line, text in lines(source):
        cells = text.split(",")
        if len(cells) != 2:
            raise fault(source, line, f"{len(cells)} values; a row has time (ns) and path")
        time = whole(source, line, "time", cells[0].strip(), 0, _LAST_NS)
        path = cells[1].strip()
        if path != _UNREACHABLE and not _PATH.fullmatch(path):
            raise fault(source, line, f"{path[:60]!r} is no path; it has the form 3-1-2")
        row = round(time / (step * 1e9))
        if row <= last:
            raise fault(source, line, f"time {time} is not later than the line before")
        last = row
        if row < rows:
            names[row:] = [path] * (rows - row)
    if not names[0]:
        raise fault(source, None, "has no path at time 0")
    return names


def computed(
    kind: str,
    sources: Sequence[Input],
    settings: Settings,
    origin: Source,
    step: float,
    delay: "Floats",
    reachable: "Floats",
    by: str,
    names: list[str] | None,
) -> Recording:
    """Return the recording of a computed path; without a path all packets are lost."""
    import numpy as np
    import pandas as pd

    held = pd.Series(np.where(reachable > 0, delay, np.nan)).ffill().bfill().to_numpy()
    late = Column("computed", by, values=rounded("delay", np.asarray(held, dtype=np.float64)))
    lost = assumed("loss", settings, "down")
    if not reachable.all():
        values = rounded("loss", np.where(reachable > 0, settings.loss, 1.0))
        lost = Column("computed", "1 without a path, otherwise the assumed loss", values=values)
    none = Traffic("nothing", 0.0, 0.0, None, "the path is computed from orbits")
    made = {
        direction: Direction(
            rate=assumed("rate", settings, direction), delay=late, loss=lost, traffic=none
        )
        for direction in ("down", "up")
    }
    missing = int((reachable == 0).sum())
    notes = [f"{missing} of {len(delay)} rows have no path"] if missing else []
    return Recording(
        name=settings.name,
        kind=kind,
        source=settings.source or origin.source,
        licence=settings.licence or origin.licence,
        step=step,
        rows=len(delay),
        down=made["down"],
        up=made["up"],
        phases=search.of_paths(names) if names is not None else None,
        files=tuple(source.description() for source in sources),
        notes=tuple(notes),
    )
