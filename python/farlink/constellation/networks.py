"""Networks of satellites: a node for each satellite on a path, and routes that change.

A path as one link has light time alone. In a network, queues, losses and other flows are at each
link, and packets that are under way at a change of path go on over the old satellites.
"""

import itertools
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any

from farlink import files, orbit
from farlink.constellation.shells import Path, Shell
from farlink.errors import ScenarioError
from farlink.orbit import LIGHT, Place

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pandas as pd

    Floats = npt.NDArray[np.float64]

__all__ = ["LinkRates", "Weather", "network", "save"]

_MOST_NODES = 4000
_LEAST_ELEVATION = 5.0
"""Elevation in degrees below which the attenuation grows no more; P.618 ends there."""


@dataclass(frozen=True)
class LinkRates:
    """Rates and queues of the links of a network, as a scenario has them."""

    down: str = "100 Mbit/s"
    """Rate towards the second place, on its link to a satellite."""
    up: str = "20 Mbit/s"
    """Rate from the second place, on its link to a satellite."""
    others: str = "10 Gbit/s"
    """Rate between satellites, and at the first place."""
    queue: str = "100 ms"
    """Limit of the queue of each direction."""


@dataclass(frozen=True)
class Weather:
    """Rain at a place, and the modem of its links to satellites.

    The modem has adaptive coding: the rate follows Es/N0. The attenuation grows with the length of
    the path through the rain, as 1 / sin(elevation).
    """

    attenuation: "pd.DataFrame"
    """Columns ``time`` (s) and ``attenuation`` (dB), as `farlink.rainfade.Rain.series` returns."""
    elevation: float
    """Elevation in degrees for which the attenuation holds, as `Rain.elevation`."""
    clear_sky: float
    """Es/N0 without rain in dB."""
    symbol_rate: str
    """Symbol rate of both directions, "50 MBd"."""
    margin: float = 1.0
    """Margin of the modem in dB."""


def network(
    shell: Shell,
    paths: Sequence[Path],
    names: Mapping[Place, str],
    *,
    rates: LinkRates | None = None,
    gap: float = 0.0,
    weather: Mapping[Place, Weather] | None = None,
    start: datetime | None = None,
) -> dict[str, Any]:
    """Return the scenario of a network in which packets go from satellite to satellite.

    Parameters
    ----------
    shell, paths
        Satellites, and what `constellation.paths` returned for them. The first place of a path is
        the server, the second one the client.
    names
        Name of the node of each place.
    rates
        Rates and queues of the links.
    gap
        Seconds without a link after a place has changed its satellite: the link to the new
        satellite loses all packets.
    weather
        Rain at places. Their links to satellites have the rate of the modem, not those of `rates`.
    start
        Time 0 of the paths, as for `constellation.paths`.

    Returns
    -------
    dict
        Scenario with links, routes and one transfer of 30 s per path. Satellite 12 is the node
        ``sat12``.

    Raises
    ------
    ScenarioError
        If a path has no satellite at its first row, the paths have different steps, or an argument
        is wrong.
    """
    if gap < 0:
        raise ScenarioError(f"gap {gap:g}; write 0 or more (seconds)")
    if not paths or len({(path.step, len(path.delay)) for path in paths}) != 1:
        raise ScenarioError("paths of different steps or lengths; compute them together")
    for path in paths:
        if any(isinstance(end, str) or end not in names for end in path.ends):
            raise ScenarioError("an end has no name; write names = {place: name} for all places")
    builder = _Builder(shell, paths, dict(names), rates or LinkRates(), gap, start)
    builder.weather = {names[place]: item for place, item in (weather or {}).items()}
    return {
        "description": "Satellites as routers, with routes that follow the path of least delay.",
        "links": builder.links(),
        "routes": builder.routes(),
        "flows": [
            {
                "from": builder.names[path.ends[0]],
                "to": builder.names[path.ends[1]],
                "app": "bulk",
                "duration": "30 s",
            }
            for path in paths
        ],
    }


class _Builder:
    """Links and routes of a network."""

    def __init__(
        self,
        shell: Shell,
        paths: Sequence[Path],
        names: dict[Any, str],
        rates: LinkRates,
        gap: float,
        start: datetime | None,
    ) -> None:
        self.paths, self.names, self.rates, self.gap = paths, names, rates, gap
        self.step = paths[0].step
        self.satellites = shell.satellites(start)
        used = {int(n) for path in paths for nodes in path.satellites for n in nodes}
        self.used = sorted(used)
        if len(used) + len(names) > _MOST_NODES:
            raise ScenarioError(f"{len(used)} satellites are on the paths; shorten the duration")
        if not used:
            raise ScenarioError("there is no path at any time; lower the elevation, or add links")
        self.places = {name: place for place, name in names.items()}
        self.weather: dict[str, Weather] = {}

    def hops(self, path: Path, row: int) -> list[tuple[str, str]]:
        """Return the pairs of neighbours on a path at a row; none without a path."""
        if not path.satellites[row]:
            return []
        first, second = (self.names[end] for end in path.ends)
        nodes = [first, *(f"sat{n}" for n in path.satellites[row]), second]
        return list(itertools.pairwise(nodes))

    def links(self) -> list[dict[str, Any]]:
        """Return a link for each pair of neighbours, with its delay while it is used."""
        import numpy as np

        rows: dict[tuple[str, str], set[int]] = {}
        for path in self.paths:
            for row in range(len(path.satellites)):
                for hop in self.hops(path, row):
                    key = hop if hop in rows or hop[::-1] not in rows else hop[::-1]
                    rows.setdefault(key, set()).update((row, row + 1))
        times = self.step * np.arange(len(self.paths[0].delay) + 1, dtype=np.float64)
        positions = dict(zip(self.used, self.satellites.positions(self.used, times), strict=True))
        servers = {self.names[path.ends[0]] for path in self.paths}
        lost = self._gaps()
        links = []
        for (first, second), used in rows.items():
            at = np.array(sorted(used))
            delay = self._range(first, second, positions, at) / LIGHT
            # Times of a trace count from its first row.
            known = [(0.0, delay[0])] if at[0] else []
            known += zip(times[at], delay, strict=True)
            lines = "".join(f"{time:.9g},{seconds:.12g}\n" for time, seconds in known)
            trace = f"time (s),delay (s)\n{lines}"
            channel = {"delay_trace": {"data": trace, "interpolate": True}}
            gaps = lost.get((first, second)) or lost.get((second, first))
            stages: list[dict[str, Any]] = [channel]
            if gaps:
                stages.append({"loss_trace": {"data": gaps}})
            to_client = second if second in self.places else first
            ground = to_client in self.places and to_client not in servers
            down, up = self.rates.others, self.rates.others
            if ground:
                down, up = self.rates.down, self.rates.up
                if first == to_client:
                    down, up = up, down
            shared = {"delay": "0 ms", "queue": self.rates.queue, "channel": stages}
            rain = self._rain(first, second, positions, times, at)
            links.append(
                {
                    "name": f"{first}-{second}",
                    "between": [first, second],
                    "down": {**(rain or {"rate": down}), **shared},
                    "up": {**(rain or {"rate": up}), **shared},
                }
            )
        return links

    def _rain(
        self,
        first: str,
        second: str,
        positions: "Mapping[int, Floats]",
        times: "Floats",
        rows: "npt.NDArray[np.int64]",
    ) -> dict[str, Any] | None:
        """Return the rate trace of a link under rain; None without weather at its place."""
        import numpy as np

        place = first if first in self.weather else second
        weather = self.weather.get(place)
        if weather is None:
            return None
        other = second if place == first else first
        moves = positions[int(other.removeprefix("sat"))][rows]
        _, degrees = orbit.range_and_elevation(moves, self.places[place])
        sine = np.sin(np.radians(np.clip(degrees, _LEAST_ELEVATION, 90.0)))
        given = weather.attenuation["time"].to_numpy()
        used = (given >= times[rows[0]]) & (given <= times[rows[-1]])
        moments = np.union1d(given[used], times[rows])
        decibels = np.interp(moments, given, weather.attenuation["attenuation"].to_numpy())
        decibels *= math.sin(math.radians(weather.elevation)) / np.interp(
            moments, times[rows], sine
        )
        known = list(zip(moments, weather.clear_sky - decibels, strict=True))
        if moments[0] > 0:
            known.insert(0, (0.0, known[0][1]))
        lines = "".join(f"{time:.9g},{esno:.6g}\n" for time, esno in known)
        trace = {"data": f"time (s),esno (dB)\n{lines}", "symbol_rate": weather.symbol_rate}
        return {"rate_trace": {**trace, "margin": weather.margin}}

    def _range(
        self,
        first: str,
        second: str,
        positions: "Mapping[int, npt.NDArray[np.float64]]",
        rows: "npt.NDArray[np.int64]",
    ) -> "npt.NDArray[np.float64]":
        """Return the distance of two nodes in km at some rows."""
        import numpy as np

        ends = []
        for node in (first, second):
            if node in self.places:
                ends.append(np.array(orbit.frame(self.places[node])[0]))
            else:
                ends.append(positions[int(node.removeprefix("sat"))][rows])
        distance: npt.NDArray[np.float64] = np.sqrt(((ends[0] - ends[1]) ** 2).sum(axis=-1))
        return distance

    def _gaps(self) -> dict[tuple[str, str], str]:
        """Return the loss trace of each link of a place that the place changes to."""
        if not self.gap:
            return {}
        changes: dict[tuple[str, str], set[float]] = {}
        for path in self.paths:
            for row in range(1, len(path.satellites)):
                before, now = self.hops(path, row - 1), self.hops(path, row)
                if not now:
                    continue
                for place in (0, -1):
                    if not before or before[place] != now[place]:
                        changes.setdefault(now[place], set()).add(row * self.step)
        traces = {}
        for hop, times in changes.items():
            lines = ["0,0"]
            for time in sorted(times):
                lines += [f"{time:.9g},1", f"{time + self.gap:.9g},0"]
            traces[hop] = "time (s),loss\n" + "\n".join(lines) + "\n"
        return traces

    def routes(self) -> list[dict[str, str]]:
        """Return the routes at their times, without those that are already in force."""
        table: dict[tuple[str, str], str] = {}
        routes = []
        for row in range(len(self.paths[0].satellites)):
            for path in self.paths:
                hops = self.hops(path, row)
                if row and path.satellites[row] == path.satellites[row - 1]:
                    continue
                first, second = (self.names[end] for end in path.ends)
                ways = [(at, second, via) for at, via in hops]
                ways += [(at, first, via) for via, at in hops]
                for at, to, via in ways:
                    if table.get((at, to)) == via:
                        continue
                    table[at, to] = via
                    route = {"at": at, "to": to, "via": via}
                    if row:
                        route["start"] = f"{row * self.step:.9g} s"
                    routes.append(route)
        return routes


def save(scenario: Mapping[str, Any], directory: FilePath) -> FilePath:
    """Write a scenario of `network` and its traces into a folder, and return its file."""
    tree = json.loads(json.dumps(scenario))
    lines = [_line(key, tree[key]) for key in ("name", "description", "tcp") if key in tree]
    for link in tree["links"]:
        if "rate_trace" in link["down"]:
            trace = link["down"]["rate_trace"]
            name = f"{link['name']}-rain.csv"
            files.write_text(directory / name, trace.pop("data"))
            link["up"]["rate_trace"] = link["down"]["rate_trace"] = {"file": name, **trace}
        for number, stage in enumerate(link["down"]["channel"]):
            (kind,) = stage
            name = f"{link['name']}-{'delay' if number == 0 else 'loss'}.csv"
            files.write_text(directory / name, stage[kind].pop("data"))
            stage[kind] = {"file": name, **stage[kind]}
        link["up"]["channel"] = link["down"]["channel"]
        lines += ["", "[[links]]"]
        lines += [_line(key, value) for key, value in link.items()]
    for kind in ("routes", "flows"):
        for entry in tree[kind]:
            lines += ["", f"[[{kind}]]"]
            lines += [_line(key, value) for key, value in entry.items()]
    path = directory / "scenario.toml"
    files.write_text(path, "\n".join(lines) + "\n")
    return path


def _line(key: str, value: object) -> str:
    """Return a key of a scenario in one line."""
    from farlink.source import toml_text

    return f"{key} = " + re.sub(r'"([a-z_]+)" = ', r"\1 = ", toml_text(value))
