"""CZML of a constellation: satellites, places and paths over time, which CesiumJS shows.

Format: CZML Structure and CZML Content, wiki of github.com/AnalyticalGraphicsInc/czml-writer.
Lengths are in metres, times in seconds from the `epoch` of a property.
"""

import itertools
import json
import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from farlink.constellation.ephemeris import Ephemeris, Track
from farlink.constellation.shells import Path, Shell
from farlink.errors import ScenarioError
from farlink.orbit import Place

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

__all__ = ["czml", "read_czml"]

_DEGREE = 5
"""Degree of the polynomials by which a viewer interpolates positions."""

_SPACING = 60.0
"""Time between two written positions in seconds. The error of interpolation is below a metre."""

_COLOURS = ([0, 114, 178, 255], [213, 94, 0, 255], [0, 158, 115, 255], [204, 121, 167, 255])

_MOST = 20_000_000
"""Most numbers of a file."""


def czml(
    shell: Shell,
    paths: Sequence[Path] = (),
    names: Mapping[Place, str] | None = None,
    *,
    duration: float = 600.0,
    start: datetime | None = None,
    name: str = "constellation",
) -> str:
    """Return a constellation, places and paths as CZML.

    Parameters
    ----------
    shell
        Satellites.
    paths
        Paths of `constellation.paths`, drawn as lines while they are in use.
    names
        Names of the places; by default their coordinates.
    duration
        Length in seconds; with paths at least that of the paths.
    start
        Time 0, as for `constellation.paths`.
    name
        Name of the document.

    Raises
    ------
    ScenarioError
        If the duration is not positive, too long, or `sgp4` is missing.
    """
    import numpy as np

    length = max([duration, *(path.step * len(path.delay) for path in paths)])
    satellites = shell.satellites(start)
    count = math.ceil(length / _SPACING) + 1 if 0 < length < math.inf else 0
    if not count or 4 * count * len(satellites.names) > _MOST:
        raise ScenarioError(
            f"duration {duration:g}; write seconds above 0 that make at most {_MOST:,} numbers"
        )
    begin = satellites.begin
    whole = _interval(begin, 0.0, length)
    packets: list[dict[str, Any]] = [
        {
            "id": "document",
            "name": name,
            "version": "1.0",
            "clock": {
                "interval": whole,
                "currentTime": _iso(begin),
                "multiplier": 10,
                "range": "LOOP_STOP",
                "step": "SYSTEM_CLOCK_MULTIPLIER",
            },
        }
    ]
    times = np.linspace(0.0, length, max(count, _DEGREE + 1))
    positions = 1e3 * satellites.positions(None, times)
    for number, label in enumerate(satellites.names):
        packets.append(_satellite(number, label, times, positions[number], begin, whole))
    ends = dict.fromkeys(end for path in paths for end in path.ends if isinstance(end, Place))
    places = {end: (names or {}).get(end) or f"{end.latitude:g},{end.longitude:g}" for end in ends}
    packets += [_place(place, label) for place, label in places.items()]
    for number, path in enumerate(paths):
        packets += _lines(path, number, places, begin)
    return json.dumps(packets, separators=(",", ":")) + "\n"


def _satellite(
    number: int,
    label: str,
    times: "npt.NDArray[np.float64]",
    positions: "npt.NDArray[np.float64]",
    begin: datetime,
    whole: str,
) -> dict[str, Any]:
    rows: list[float] = []
    for time, place in zip(times.tolist(), positions.tolist(), strict=True):
        if all(math.isfinite(value) for value in place):
            rows += [round(time, 6), *(round(value, 3) for value in place)]
    return {
        "id": f"sat{number}",
        "name": label,
        "availability": whole,
        "position": {
            "epoch": _iso(begin),
            "referenceFrame": "FIXED",
            "interpolationAlgorithm": "LAGRANGE",
            "interpolationDegree": _DEGREE,
            "cartesian": rows,
        },
        "point": {"pixelSize": 3, "color": {"rgba": [90, 90, 90, 255]}},
    }


def _place(place: Place, label: str) -> dict[str, Any]:
    return {
        "id": label,
        "name": label,
        "position": {"cartographicDegrees": [place.longitude, place.latitude, place.altitude]},
        "point": {"pixelSize": 8, "color": {"rgba": [0, 0, 0, 255]}},
        "label": {"text": label, "font": "12pt sans-serif", "pixelOffset": {"cartesian2": [10, 0]}},
    }


def _lines(
    path: Path, number: int, places: Mapping[Any, str], begin: datetime
) -> list[dict[str, Any]]:
    """Return a packet for each set of satellites of a path, shown while it is in use."""
    used: dict[tuple[int | str, ...], list[tuple[float, float]]] = {}
    row = 0
    for nodes, same in itertools.groupby(path.satellites):
        until = row + len(list(same))
        if nodes:
            used.setdefault(nodes, []).append((row * path.step, until * path.step))
        row = until
    first, second = path.ends
    if first not in places or second not in places:
        raise ScenarioError("a path of a graph has no places; write paths of constellation.paths")
    packets = []
    for turn, (nodes, spans) in enumerate(used.items()):
        ids = [places[first], *(f"sat{node}" for node in nodes), places[second]]
        whole = [_interval(begin, *span) for span in spans]
        packets.append(
            {
                "id": f"path{number}-{turn}",
                "name": f"{places[first]} to {places[second]}",
                "availability": whole,
                "polyline": {
                    "positions": {"references": [f"{_escaped(item)}#position" for item in ids]},
                    "arcType": "NONE",
                    "width": 2,
                    "material": {
                        "solidColor": {"color": {"rgba": _COLOURS[number % len(_COLOURS)]}}
                    },
                },
            }
        )
    return packets


def _escaped(identifier: str) -> str:
    """Return an identifier for a reference, in which a backslash escapes # and backslash."""
    return identifier.replace("\\", "\\\\").replace("#", "\\#")


def _iso(time: datetime) -> str:
    return time.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def _interval(begin: datetime, first: float, last: float) -> str:
    ends = (begin + timedelta(seconds=second) for second in (first, last))
    return "/".join(_iso(end) for end in ends)


def read_czml(text: str, planes: int, *, shift: int = 0, seam: bool = True) -> Shell:
    """Read the satellites of a CZML document: every packet whose position has samples over time.

    Parameters
    ----------
    text
        The document.
    planes
        Number of planes; the packets are plane by plane.
    shift, seam
        As in `Shell`.

    Raises
    ------
    ScenarioError
        If the document is damaged, or has no satellite.
    """
    try:
        packets = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ScenarioError(f"czml: no JSON: {error}") from error
    if not isinstance(packets, list) or not packets or not isinstance(packets[0], dict):
        raise ScenarioError("czml: no list of packets")
    if packets[0].get("id") != "document":
        raise ScenarioError('czml: the first packet has no id "document"')
    tracks = [
        track
        for packet in packets[1:]
        if isinstance(packet, dict) and (track := _track(packet)) is not None
    ]
    if not tracks:
        raise ScenarioError("czml: no packet has a position over time (cartesian with times)")
    return Shell("", planes, shift, seam, Ephemeris(tracks))


def _track(packet: Mapping[str, Any]) -> Track | None:
    """Return the positions of a packet; None for a place at rest, or without a position."""
    import numpy as np

    name = str(packet.get("name") or packet.get("id"))
    position = packet.get("position")
    if isinstance(position, list):
        raise ScenarioError(f"czml: {name}: position in intervals; write one interval")
    if not isinstance(position, dict) or "cartesian" not in position:
        return None
    rows = position["cartesian"]
    if not isinstance(rows, list) or len(rows) <= 3:
        return None
    if len(rows) % 4:
        raise ScenarioError(f"czml: {name}: {len(rows)} numbers; write time, x, y and z")
    stamps = rows[::4]
    epoch = position.get("epoch")
    try:
        if isinstance(stamps[0], str):
            begin = _time(stamps[0])
            seconds = [(_time(stamp) - begin).total_seconds() for stamp in stamps]
        else:
            begin, seconds = _time(epoch), [float(stamp) for stamp in stamps]
        table = np.array([rows[axis::4] for axis in (1, 2, 3)], dtype=np.float64).T / 1e3
        times = np.array(seconds, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ScenarioError(f"czml: {name}: {error}") from error
    if not (np.isfinite(table).all() and np.isfinite(times).all() and (np.diff(times) > 0).all()):
        raise ScenarioError(f"czml: {name}: times that do not increase, or no finite numbers")
    frame = position.get("referenceFrame", "FIXED")
    if frame not in ("FIXED", "INERTIAL"):
        raise ScenarioError(f"czml: {name}: referenceFrame {frame}; write FIXED or INERTIAL")
    return Track(name, begin, times, table, _degree(position), inertial=frame == "INERTIAL")


def _degree(position: Mapping[str, Any]) -> int:
    if position.get("interpolationAlgorithm", "LINEAR") == "LINEAR":
        return 1
    degree = position.get("interpolationDegree", 1)
    return min(max(degree, 1), 15) if isinstance(degree, int) else 1


def _time(text: object) -> datetime:
    if not isinstance(text, str):
        raise TypeError("no epoch; write a time such as 2026-01-01T00:00:00Z")
    time = datetime.fromisoformat(text)
    return time if time.tzinfo else time.replace(tzinfo=UTC)
