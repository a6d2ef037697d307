"""Delay over satellites on real orbits, from two-line elements.

The module needs the package `sgp4` (extra `orbits`). It returns a table for the keys `delay_trace`
and `loss_trace` of a link; see docs/channels/orbit.md.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from farlink.errors import ScenarioError
from farlink.extras import lacking

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pandas as pd

    Array = npt.NDArray[np.float64]

__all__ = ["EXAMPLE", "Place", "delay_trace", "example", "read_tle", "walker"]

EXAMPLE = "walker-66-780km.tle"
"""Constellation in the package: 66 satellites in 6 polar planes at 780 km."""

LIGHT = 299_792.458  # km/s
_EQUATOR = 6378.137  # km, WGS 84
_FLATTENING = 1 / 298.257_223_563
_MU = 398_600.8  # km^3/s^2, WGS 72, as in SGP4
_EQUATOR_72 = 6378.135  # km
_MOST_ROWS = 10_000_000
_CHUNK = 256


@dataclass(frozen=True)
class Place:
    """Place on the ground: degrees north and east, and metres above the ellipsoid."""

    latitude: float
    longitude: float
    altitude: float = 0.0

    def __post_init__(self) -> None:
        if not -90 <= self.latitude <= 90:
            raise ScenarioError(f"latitude {self.latitude}; write -90 to 90 (degrees north)")
        if not -360 <= self.longitude <= 360:
            raise ScenarioError(f"longitude {self.longitude}; write -180 to 180 (degrees east)")
        if not -1000 <= self.altitude <= 20_000:
            raise ScenarioError(f"altitude {self.altitude}; write -1000 to 20000 (metres)")


@dataclass(frozen=True)
class Elements:
    """Name and two-line elements of a satellite."""

    name: str
    first: str
    second: str


def example() -> str:
    """Return the two-line elements of the package (`EXAMPLE`)."""
    return resources.files("farlink").joinpath("data", EXAMPLE).read_text(encoding="ascii")


def read_tle(text: str, origin: str = "elements") -> list[Elements]:
    """Read two-line elements, with or without lines of names; lines that begin with # are skipped.

    Raises
    ------
    ScenarioError
        If a line is missing, too short or has a wrong checksum.
    """
    lines = [
        (number, line.rstrip())
        for number, line in enumerate(text.splitlines(), 1)
        if line.strip() and not line.startswith("#")
    ]
    entries: list[Elements] = []
    name = ""
    place = 0
    while place < len(lines):
        number, line = lines[place]
        if not line.startswith("1 "):
            name = line.removeprefix("0 ").strip()
            place += 1
            continue
        if place + 1 == len(lines) or not lines[place + 1][1].startswith("2 "):
            raise ScenarioError(f"{origin}:{number}: a first line without the second one")
        second = lines[place + 1][1]
        for at, item in ((number, line), (lines[place + 1][0], second)):
            if len(item) < 69 or _checksum(item) != item[68]:
                raise ScenarioError(f"{origin}:{at}: not 69 characters with a right checksum")
        entries.append(Elements(name or line[2:7], line, second))
        name = ""
        place += 2
    if not entries:
        raise ScenarioError(f"{origin}: no two-line elements in it")
    return entries


def walker(
    *,
    altitude: float,
    inclination: float,
    planes: int,
    per_plane: int,
    spread: float = 360.0,
    phasing: float = 0.0,
    epoch: datetime | None = None,
    name: str = "SAT",
) -> str:
    """Write the two-line elements of a Walker constellation of circular orbits.

    Parameters
    ----------
    altitude
        Height over the equator in km.
    inclination
        Inclination of the orbits in degrees.
    planes, per_plane
        Number of evenly spaced planes, and number of satellites in each plane.
    spread
        Degrees over which the ascending nodes are spread: 360 for a delta, about
        180 for a star (polar) constellation.
    phasing
        Walker's F: each satellite is F / (planes x per_plane) of a turn ahead of its neighbour in
        the previous plane.
    epoch
        Time of the elements; by default 2026-01-01.
    name
        First part of the names, before plane and satellite: SAT-00-00.
    """
    if not (100 <= altitude <= 50_000 and 0 <= inclination <= 180):
        raise ScenarioError("altitude and inclination: write 100 to 50000 km and 0 to 180 degrees")
    if not (planes >= 1 and per_plane >= 1 and planes * per_plane <= 99_999):
        raise ScenarioError("planes and per_plane: write 1 or more, up to 99999 satellites in all")
    when = epoch or datetime(2026, 1, 1, tzinfo=UTC)
    motion = math.sqrt(_MU / (_EQUATOR_72 + altitude) ** 3) * 86400 / math.tau
    start = datetime(when.year, 1, 1, tzinfo=UTC)
    day = 1 + (when - start) / timedelta(days=1)
    lines = []
    for plane in range(planes):
        node = plane * spread / planes % 360
        for place in range(per_plane):
            turn = place / per_plane + phasing * plane / (planes * per_plane)
            number = plane * per_plane + place + 1
            lines.append(f"{name}-{plane:02d}-{place:02d}")
            lines.append(
                _summed(
                    f"1 {number:05d}U 26001A   {when.year % 100:02d}{day:012.8f}"
                    "  .00000000  00000-0  00000-0 0  999"
                )
            )
            lines.append(
                _summed(
                    f"2 {number:05d} {inclination:8.4f} {node:8.4f} 0000000   0.0000 "
                    f"{360 * turn % 360:8.4f} {motion:11.8f}    0"
                )
            )
    return "\n".join(lines) + "\n"


def delay_trace(
    tle: str | Path,
    user: Place,
    *,
    gateway: Place | None = None,
    start: datetime | None = None,
    duration: float = 600.0,
    step: float = 0.5,
    min_elevation: float = 25.0,
    interval: float = 15.0,
    handover_time: float = 0.0,
) -> "pd.DataFrame":
    """Return the one-way delay over satellites over time, from two-line elements.

    Every `interval` seconds the satellite in use is chosen anew. Of the satellites that user and
    gateway both see above `min_elevation`, it is the one with the highest elevation for the user.
    Packets go up to this satellite and down to the gateway.

    Parameters
    ----------
    tle
        A file of two-line elements, or their text.
    user, gateway
        Positions of the two ends on the ground; by default the gateway stands beside the user.
    start
        Time 0; by default the epoch of the first elements. Elements are valid for some days around
        their epoch.
    duration, step
        Length of the trace and time between its rows, in seconds.
    min_elevation
        Least elevation in degrees at which a satellite can be used.
    interval
        Seconds between two choices of a satellite.
    handover_time
        Seconds after a change of satellite during which all packets are lost.

    Returns
    -------
    pandas.DataFrame
        Columns ``time (s)``, ``delay (ms)``, ``loss`` (1 without a satellite and during a
        handover), ``satellite`` and ``elevation (deg)``.

    Raises
    ------
    ScenarioError
        If `sgp4` is missing, or an argument is wrong.
    """
    import numpy as np

    _check(duration, step, min_elevation, interval, handover_time)
    satellites = Satellites(_elements(tle), start)
    other = gateway or user
    times = np.arange(round(duration / step) + 1, dtype=np.float64) * np.float64(step)
    count = math.floor(duration / interval + 1e-9) + 1
    epochs = np.arange(count, dtype=np.float64) * np.float64(interval)
    chosen = _choose(satellites, user, other, epochs, min_elevation)
    period = np.minimum((times / interval + 1e-9).astype(int), len(epochs) - 1)
    table = _rows(satellites, chosen[period], times, user, other)
    if table["delay (ms)"].isna().all():
        raise ScenarioError(
            f"no satellite is above {min_elevation} degrees in all this time; lower min_elevation, "
            "or choose another place or start"
        )
    if handover_time > 0:
        changes = epochs[1:][(chosen[1:] != chosen[:-1]) & (chosen[1:] >= 0)]
        table = _interrupted(table, changes[changes < duration], handover_time)
    return table


def _rows(
    satellites: "Satellites",
    of_row: "npt.NDArray[np.int64]",
    times: "Array",
    user: Place,
    gateway: Place,
) -> "pd.DataFrame":
    """Return a row for each time.

    `of_row` has the index of the satellite at each time, -1 for none.
    """
    import numpy as np
    import pandas as pd

    delay = np.full(len(times), np.nan)
    elevation = np.full(len(times), np.nan)
    for satellite in np.unique(of_row[of_row >= 0]):
        rows = np.flatnonzero(of_row == satellite)
        positions = satellites.positions([satellite], times[rows])[0]
        up, elevation[rows] = range_and_elevation(positions, user)
        down, _ = range_and_elevation(positions, gateway)
        delay[rows] = (up + down) / LIGHT * 1e3
    return pd.DataFrame(
        {
            "time (s)": times,
            # Without a satellite all packets are lost, and the delay keeps its last value.
            "delay (ms)": pd.Series(delay).ffill().bfill().to_numpy(),
            "loss": (of_row < 0).astype(int),
            "satellite": [satellites.names[i] if i >= 0 else "" for i in of_row],
            "elevation (deg)": elevation,
        }
    )


def _check(
    duration: float, step: float, min_elevation: float, interval: float, handover_time: float
) -> None:
    if not (0 < step <= duration and duration / step <= _MOST_ROWS):
        raise ScenarioError(
            f"step {step} and duration {duration}; write seconds that make 1 to {_MOST_ROWS} rows"
        )
    if not 0 <= min_elevation < 90:
        raise ScenarioError(f"min_elevation {min_elevation}; write 0 to below 90 (degrees)")
    if not step <= interval:
        raise ScenarioError(f"interval {interval}; write at least the step, {step} s")
    if not 0 <= handover_time < interval:
        raise ScenarioError(f"handover_time {handover_time}; write 0 to below {interval} s")


def _elements(tle: str | Path) -> list[Elements]:
    if isinstance(tle, str) and "\n" in tle:
        return read_tle(tle)
    path = Path(tle)
    try:
        return read_tle(path.read_text(encoding="ascii"), str(path))
    except OSError as error:
        raise ScenarioError(f"{path}: {(error.strerror or str(error)).lower()}") from error
    except UnicodeDecodeError as error:
        raise ScenarioError(f"{path}: byte {error.start} is not ASCII text") from error


class Satellites:
    """Positions of satellites in km, in a frame that turns with the Earth."""

    def __init__(self, elements: Sequence[Elements], start: datetime | None) -> None:
        try:
            from sgp4.api import Satrec
        except ImportError as error:
            raise lacking("orbit", "orbits") from error
        self.names = [element.name for element in elements]
        self._records: list[Any] = [
            Satrec.twoline2rv(element.first, element.second) for element in elements
        ]
        first = self._records[0]
        self._day, self._fraction = float(first.jdsatepoch), float(first.jdsatepochF)
        if start is not None:
            if start.tzinfo is None:
                raise ScenarioError(f"start {start} has no time zone; write for example tzinfo=UTC")
            since = (start - datetime(2000, 1, 1, 12, tzinfo=UTC)) / timedelta(days=1)
            self._day = 2_451_545.0 + math.floor(since)
            self._fraction = since - math.floor(since)

    @property
    def begin(self) -> datetime:
        """Time 0."""
        days = timedelta(days=self._day - 2_451_545.0) + timedelta(days=self._fraction)
        return datetime(2000, 1, 1, 12, tzinfo=UTC) + days

    def positions(self, which: Sequence[int] | None, seconds: "Array") -> "Array":
        """Return positions in km by satellite, time and axis; NaN where SGP4 has no solution."""
        import numpy as np
        from sgp4.api import SatrecArray

        records = self._records if which is None else [self._records[i] for i in which]
        fraction = self._fraction + seconds / 86400
        day = np.full(len(seconds), self._day)
        errors, teme, _ = SatrecArray(records).sgp4(day, fraction)
        teme[errors != 0] = np.nan
        angle = sidereal(self._day - 2_451_545.0 + fraction)
        cos, sin = np.cos(angle), np.sin(angle)
        out: Array = np.empty(teme.shape, dtype=np.float64)
        out[..., 0] = cos * teme[..., 0] + sin * teme[..., 1]
        out[..., 1] = cos * teme[..., 1] - sin * teme[..., 0]
        out[..., 2] = teme[..., 2]
        return out


def sidereal(days: "Array") -> "Array":
    """Return Greenwich mean sidereal time in radians (Aoki and others 1982).

    `days` are days after J2000.
    """
    centuries = days / 36525
    seconds = (
        67310.54841
        + (876_600 * 3600 + 8_640_184.812_866) * centuries
        + 0.093_104 * centuries**2
        - 6.2e-6 * centuries**3
    )
    return seconds % 86400 * (math.tau / 86400)


def _choose(
    satellites: Satellites, user: Place, gateway: Place, epochs: "Array", min_elevation: float
) -> "npt.NDArray[np.int64]":
    """Return the index of the satellite in use at each epoch, -1 for none."""
    import numpy as np

    chosen = np.full(len(epochs), -1)
    for begin in range(0, len(epochs), _CHUNK):
        positions = satellites.positions(None, epochs[begin : begin + _CHUNK])
        _, high = range_and_elevation(positions, user)
        _, other = range_and_elevation(positions, gateway)
        seen = (high >= min_elevation) & (other >= min_elevation)
        high = np.where(seen, high, -np.inf)
        best = high.argmax(axis=0)
        chosen[begin : begin + _CHUNK] = np.where(seen.any(axis=0), best, -1)
    return chosen


def frame(place: Place) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return position (km) and vertical of a place, in the frame of the satellites."""
    north, east = math.radians(place.latitude), math.radians(place.longitude)
    squash = (1 - _FLATTENING) ** 2
    radius = _EQUATOR / math.sqrt(math.cos(north) ** 2 + squash * math.sin(north) ** 2)
    height = place.altitude / 1000
    flat = (radius + height) * math.cos(north)
    here = (
        flat * math.cos(east),
        flat * math.sin(east),
        (squash * radius + height) * math.sin(north),
    )
    up = (math.cos(north) * math.cos(east), math.cos(north) * math.sin(east), math.sin(north))
    return here, up


def range_and_elevation(positions: "Array", place: Place) -> tuple["Array", "Array"]:
    """Return distance (km) and elevation (degrees) of positions, seen from a place."""
    import numpy as np

    here, up = (np.array(vector) for vector in frame(place))
    way = positions - here
    distance: Array = np.sqrt((way**2).sum(axis=-1))
    with np.errstate(invalid="ignore"):
        elevation: Array = np.degrees(np.arcsin((way * up).sum(axis=-1) / distance))
    return distance, np.asarray(elevation, dtype=np.float64)


def _interrupted(table: "pd.DataFrame", changes: "Array", time: float) -> "pd.DataFrame":
    """Mark the handover time after each change of satellite as lost, with a row at its end."""
    import numpy as np
    import pandas as pd

    times = table["time (s)"].to_numpy()
    ends = changes + time
    before = np.clip(np.searchsorted(times, ends, side="right") - 1, 0, len(times) - 1)
    extra = table.iloc[before].assign(**{"time (s)": ends})
    exact = np.isin(ends, times)
    both = pd.concat([table, extra[~exact]]).sort_values("time (s)", kind="stable")
    at = both["time (s)"].to_numpy()
    last = np.searchsorted(changes, at + 1e-9) - 1
    since = np.where(last >= 0, at - changes[np.maximum(last, 0)], np.inf)
    lost = (since >= -1e-9) & (since < time - 1e-9)
    both["loss"] = np.where(lost, 1, both["loss"])
    return both.reset_index(drop=True)


def _checksum(line: str) -> str:
    total = sum(int(c) if c.isdigit() else c == "-" for c in line[:68])
    return str(total % 10)


def _summed(line: str) -> str:
    return line + _checksum(line)
