"""Paths over a constellation: the path of least delay between places on the ground, over time.

A shell has planes of satellites with links between neighbours (+Grid). At each interval the path of
least delay is chosen. Positions follow SGP4 (package `sgp4`, extra `orbits`).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, TypeAlias

from farlink import orbit
from farlink._farlink import least_paths
from farlink.constellation.ephemeris import Ephemeris
from farlink.errors import ScenarioError
from farlink.orbit import LIGHT, Place

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pandas as pd

    from farlink.recordings import Recording, Settings

    Floats: TypeAlias = npt.NDArray[np.float64]

__all__ = ["Path", "Search", "Shell", "end_text", "paths", "rows_of_choice", "walker"]

_EARTH = 6378.135
"""Radius of the Earth at the equator, WGS 72 (km)."""
_CHUNK = 64
"""Number of instants whose positions are computed at once."""
_MOST_ROWS = 5_000_000
_NO_PATH = "none"


@dataclass(frozen=True)
class Shell:
    """Satellites in planes of equal size."""

    elements: str
    """Two-line elements, plane by plane."""
    planes: int
    shift: int = 0
    """Places by which the link from the last plane to the first is ahead."""
    seam: bool = True
    """Links between the last plane and the first exist."""
    ephemeris: Ephemeris | None = None
    """Positions of the satellites; otherwise they follow from the elements."""

    def satellites(self, start: datetime | None) -> orbit.Satellites | Ephemeris:
        """Return the positions of the satellites, with another time 0 if `start` is given."""
        if self.ephemeris is not None:
            return self.ephemeris.starting(start)
        return orbit.Satellites(orbit.read_tle(self.elements), start)


def walker(
    *,
    altitude: float,
    inclination: float,
    planes: int,
    per_plane: int,
    phasing: int = 0,
    spread: float = 360.0,
    epoch: datetime | None = None,
) -> Shell:
    """Return a Walker shell.

    Parameters
    ----------
    altitude, inclination
        Height over the equator in km, and inclination in degrees.
    planes, per_plane
        Number of planes, and of satellites in each.
    phasing
        Walker's F.
    spread
        Degrees over which the planes are spread: 360 (delta), or about 180 (star). A star has no
        links between its last plane and its first, which move in opposite directions.
    epoch
        Time of the elements; by default 2026-01-01.
    """
    elements = orbit.walker(
        altitude=altitude,
        inclination=inclination,
        planes=planes,
        per_plane=per_plane,
        phasing=phasing,
        spread=spread,
        epoch=epoch,
    )
    delta = spread == 360.0
    return Shell(elements, planes, phasing % per_plane if delta else 0, delta)


@dataclass(frozen=True)
class Path:
    """Path of least delay between two places over time."""

    ends: tuple[Place | str, Place | str]
    """Places, or nodes of a graph."""
    step: float
    """Length of a row in seconds."""
    delay: "Floats"
    """One-way delay of each row in seconds; NaN without a path."""
    satellites: tuple[tuple[int | str, ...], ...]
    """Numbers of the satellites of each row from the first place to the second, from 0; for a path
    over a graph, the nodes between the ends.
    """

    def frame(self) -> "pd.DataFrame":
        """Return columns ``time (s)``, ``delay (ms)``, ``hops`` and ``path``."""
        import numpy as np
        import pandas as pd

        return pd.DataFrame(
            {
                "time (s)": self.step * np.arange(len(self.delay)),
                "delay (ms)": 1e3 * self.delay,
                "hops": [len(item) for item in self.satellites],
                "path": self._names(),
            }
        )

    def _names(self) -> list[str]:
        return ["-".join(map(str, item)) if item else _NO_PATH for item in self.satellites]

    def recording(self, settings: "Settings") -> "Recording":
        """Return the path as a recording, with its changes as phases."""
        import numpy as np

        from farlink.recordings.build import Source
        from farlink.recordings.constellation import computed

        reachable = np.isfinite(self.delay)
        if not reachable.any():
            raise ScenarioError("there is no path at any time; lower the elevation, or add links")
        first, second = self.ends
        source = Source(
            f"path of least delay from {end_text(first)} to {end_text(second)}, computed"
            f"{'' if isinstance(first, str) else ' from orbits'}"
        )
        return computed(
            "constellation",
            (),
            settings,
            source,
            self.step,
            np.where(reachable, self.delay, 0.0),
            reachable.astype(np.float64),
            "light time along the path of least delay",
            self._names(),
        )


def end_text(end: Place | str) -> str:
    """Return the coordinates of a place, or the name of a node."""
    return end if isinstance(end, str) else f"{end.latitude:g},{end.longitude:g}"


def paths(
    shell: Shell,
    pairs: Sequence[tuple[Place, Place]],
    *,
    duration: float = 600.0,
    step: float = 1.0,
    interval: float | None = None,
    min_elevation: float = 25.0,
    max_range: float | None = None,
    links: bool = True,
    clearance: float = 80.0,
    start: datetime | None = None,
) -> list[Path]:
    """Compute the paths of least delay between pairs of places.

    Parameters
    ----------
    shell
        Satellites.
    pairs
        Places on the ground.
    duration, step
        Length of the table, and time between its rows, in seconds.
    interval
        Seconds between two choices of a path, a multiple of `step`; by default `step`. In between
        the path stays, even below `min_elevation`, and its delay changes with the satellites.
    min_elevation
        Least elevation in degrees at which a place uses a satellite.
    max_range
        Largest distance in km at which a place uses a satellite, in addition.
    links
        Satellites have links to their neighbours. Otherwise a path has one satellite.
    clearance
        Least height of a link over the ground in km.
    start
        Time 0; by default the epoch of the first elements.

    Raises
    ------
    ScenarioError
        If an argument is wrong, or `sgp4` is missing.
    """
    if not pairs:
        raise ScenarioError("no pair of places")
    per = rows_of_choice(duration, step, interval)
    if clearance < 0:
        raise ScenarioError(f"clearance {clearance:g}; write 0 or more (km)")
    satellites = shell.satellites(start)
    search = Search(shell, len(satellites.names), pairs, min_elevation, max_range, links=links)
    rows = round(duration / step)
    search.clear(satellites, clearance)
    return search.run(satellites, rows, step, per)


def rows_of_choice(duration: float, step: float, interval: float | None) -> int:
    """Check the times of a table and return the number of rows between two choices."""
    if not (0 < step <= duration and duration / step <= _MOST_ROWS):
        raise ScenarioError(
            f"step {step:g} and duration {duration:g}; write seconds that make 1 to "
            f"{_MOST_ROWS:,} rows"
        )
    if interval is None:
        return 1
    per = round(interval / step)
    if per < 1 or abs(per * step - interval) > 1e-9:
        raise ScenarioError(f"interval {interval:g}; write a multiple of the step, {step:g} s")
    return per


class Search:
    """Search for paths at instants, and their delays in between."""

    def __init__(
        self,
        shell: Shell,
        count: int,
        pairs: Sequence[tuple[Place, Place]],
        min_elevation: float,
        max_range: float | None,
        *,
        links: bool,
    ) -> None:
        if not 0 <= min_elevation < 90:
            raise ScenarioError(f"min_elevation {min_elevation:g}; write 0 to below 90 (degrees)")
        if shell.planes < 1 or count % shell.planes:
            raise ScenarioError(f"{count} satellites are not {shell.planes} planes of equal size")
        if links and (shell.planes < 3 or count // shell.planes < 3):
            raise ScenarioError("links need at least 3 planes of 3 satellites")
        self.pairs = pairs
        places = list(dict.fromkeys(place for pair in pairs for place in pair))
        self.places = [orbit.frame(place) for place in places]
        self.numbers = [(places.index(first), places.index(second)) for first, second in pairs]
        self.shell = (shell.planes, shell.shift, shell.seam) if links else None
        self.sine = math.sin(math.radians(min_elevation))
        self.max_range = math.inf if max_range is None else max_range
        self.longest = math.inf

    def clear(self, satellites: orbit.Satellites | Ephemeris, clearance: float) -> None:
        """Set the longest link that keeps the clearance, for the mean height of the orbits."""
        import numpy as np

        positions = satellites.positions(None, np.zeros(1))[:, 0]
        radius = float(np.sqrt((positions**2).sum(axis=-1)).mean())
        low = _EARTH + clearance
        if radius <= low:
            raise ScenarioError(f"clearance {clearance:g} km is above the orbits")
        self.longest = 2 * math.sqrt(radius**2 - low**2)

    def run(
        self, satellites: orbit.Satellites | Ephemeris, rows: int, step: float, per: int
    ) -> list[Path]:
        """Return the paths of all pairs; `per` is the number of rows between two choices."""
        import numpy as np

        delays = np.full((len(self.pairs), rows), np.nan)
        hops: list[list[tuple[int, ...]]] = [[] for _ in self.pairs]
        # A chunk begins with a choice.
        chunk = per * max(1, _CHUNK // per)
        for begin in range(0, rows, chunk):
            end = min(rows, begin + chunk)
            times = step * np.arange(begin, end, dtype=np.float64)
            positions = satellites.positions(None, times)
            for row in range(begin, end, per):
                until = min(end, row + per)
                least, chosen = self.choose(positions[:, row - begin])
                if per == 1:
                    delays[:, row] = least / LIGHT
                else:
                    part = positions[:, row - begin : until - begin]
                    delays[:, row:until] = self.follow(chosen, part) / LIGHT
                for number, nodes in enumerate(chosen):
                    hops[number] += [nodes] * (until - row)
        return [
            Path(pair, step, delays[number], tuple(hops[number]))
            for number, pair in enumerate(self.pairs)
        ]

    def choose(self, positions: "Floats") -> "tuple[Floats, list[tuple[int, ...]]]":
        """Return the length of each pair's path (km; NaN for none) and its satellites."""
        import numpy as np

        rows = least_paths(
            np.ascontiguousarray(positions, dtype="<f8").tobytes(),
            self.places,
            self.numbers,
            self.shell,
            (self.sine, self.max_range, self.longest),
        )
        least = np.array([length for length, _ in rows])
        return np.where(np.isfinite(least), least, np.nan), [tuple(n) for _, n in rows]

    def follow(self, chosen: "Sequence[tuple[int, ...]]", positions: "Floats") -> "Floats":
        """Return the length of each chosen path at each instant (km); NaN without a path."""
        import numpy as np

        out = np.full((len(chosen), positions.shape[1]), np.nan)
        for number, nodes in enumerate(chosen):
            if not nodes:
                continue
            way = positions[list(nodes)]
            first, second = self.pairs[number]
            up, _ = orbit.range_and_elevation(way[0], first)
            down, _ = orbit.range_and_elevation(way[-1], second)
            between = np.sqrt((np.diff(way, axis=0) ** 2).sum(axis=-1)).sum(axis=0)
            out[number] = up + between + down
        return out
