"""Positions of satellites by interpolation between samples."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from farlink import orbit
from farlink.errors import ScenarioError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Array = npt.NDArray[np.float64]

__all__ = ["Ephemeris", "Track"]

_NOON = datetime(2000, 1, 1, 12, tzinfo=UTC)


@dataclass(frozen=True)
class Track:
    """Samples of a satellite's position."""

    name: str
    begin: datetime
    times: "Array"
    """Seconds from `begin`, increasing."""
    table: "Array"
    """Position at each time (km)."""
    degree: int
    """Degree of the interpolation."""
    inertial: bool
    """The frame is that of the stars (ICRF); otherwise it turns with the Earth."""


class Ephemeris:
    """Positions of satellites in km, in a frame that turns with the Earth.

    Attributes
    ----------
    names
        Names of the satellites.
    begin
        Time 0.
    """

    def __init__(self, tracks: Sequence[Track]) -> None:
        self.names = [track.name for track in tracks]
        self.begin = tracks[0].begin
        self._tracks = tracks

    def starting(self, start: datetime | None) -> "Ephemeris":
        """Return the positions with another time 0."""
        if start is None:
            return self
        if start.tzinfo is None:
            raise ScenarioError(f"start {start} has no time zone; write for example tzinfo=UTC")
        moved = Ephemeris(self._tracks)
        moved.begin = start
        return moved

    def positions(self, which: Sequence[int] | None, seconds: "Array") -> "Array":
        """Return positions by satellite, time and axis; NaN outside of the samples."""
        import numpy as np

        chosen = range(len(self._tracks)) if which is None else which
        out = np.empty((len(chosen), len(seconds), 3), dtype=np.float64)
        for row, number in enumerate(chosen):
            track = self._tracks[number]
            ahead = (self.begin - track.begin).total_seconds()
            out[row] = interpolated(track, seconds + ahead)
            if track.inertial:
                days = (self.begin - _NOON) / timedelta(days=1) + seconds / 86400
                out[row] = turned(out[row], days)
        return out


def interpolated(track: Track, when: "Array") -> "Array":
    """Return positions by Lagrange's polynomial through the nearest samples."""
    import numpy as np

    times, degree = track.times, min(track.degree, len(track.times) - 1)
    middle = np.searchsorted(times, when) - (degree + 1) // 2
    first = np.clip(middle, 0, len(times) - degree - 1)
    places = first[:, None] + np.arange(degree + 1)
    nodes = times[places]
    weights = np.ones_like(nodes)
    for own in range(degree + 1):
        for other in range(degree + 1):
            if own != other:
                ratio = (when - nodes[:, other]) / (nodes[:, own] - nodes[:, other])
                weights[:, own] *= ratio
    out: Array = np.einsum("td,tdx->tx", weights, track.table[places])
    out[(when < times[0] - 1e-9) | (when > times[-1] + 1e-9)] = np.nan
    return out


def turned(positions: "Array", days: "Array") -> "Array":
    """Turn positions of the frame of the stars into the frame of the Earth.

    The precession is that of Lieske and others 1977; nutation (at most 0.005 degrees) is left out.
    """
    import numpy as np

    century = float(days[0]) / 36525 if len(days) else 0.0
    arc = math.pi / 180 / 3600
    zeta = arc * century * (2306.2181 + century * (0.30188 + 0.017998 * century))
    z = arc * century * (2306.2181 + century * (1.09468 + 0.018203 * century))
    theta = arc * century * (2004.3109 - century * (0.42665 + 0.041833 * century))
    axes = _about_z(-z) @ _about_y(theta) @ _about_z(-zeta)
    mean = positions @ axes.T
    angle = orbit.sidereal(days)
    cos, sin = np.cos(angle), np.sin(angle)
    x, y = mean[..., 0].copy(), mean[..., 1].copy()
    mean[..., 0] = cos * x + sin * y
    mean[..., 1] = cos * y - sin * x
    return np.asarray(mean)


def _about_z(angle: float) -> Any:  # noqa: ANN401 (a matrix)
    import numpy as np

    cos, sin = math.cos(angle), math.sin(angle)
    return np.array([[cos, sin, 0], [-sin, cos, 0], [0, 0, 1]])


def _about_y(angle: float) -> Any:  # noqa: ANN401 (a matrix)
    import numpy as np

    cos, sin = math.cos(angle), math.sin(angle)
    return np.array([[cos, 0, -sin], [0, 1, 0], [sin, 0, cos]])
