"""Times at which the paths of a scenario change."""

import csv
import io
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from farlink import units
from farlink.checks import text_of
from farlink.errors import ScenarioError

__all__ = ["boundaries", "check", "grid"]

_MOST = 100_000
"""Most phases of a run."""

_TRACES = ("rate_trace", "delay_trace", "loss_trace")

_INTERVAL, _FIRST = "15 s", "12 s"
"""Defaults of `reconfiguration`."""


def grid(interval: float, first: float, until: float) -> list[float]:
    """Return the times of changes every `interval` seconds, one of them at `first`.

    Raises
    ------
    ScenarioError
        If the interval is not positive, or makes too many phases.
    """
    if not 0 < interval < math.inf or not 0 <= first < math.inf:
        raise ScenarioError(
            f"phases every {text_of(interval)} s from {text_of(first)} s are not possible; write "
            "an interval above 0 s and a first change from 0 s"
        )
    if until / interval > _MOST:
        raise ScenarioError(
            f"phases of {text_of(interval)} s are more than {_MOST} in {until:g} s; write a longer "
            "interval"
        )
    begin = first % interval
    count = math.ceil((until - begin) / interval) if until > begin else 0
    times = [begin + step * interval for step in range(count)]
    return [time for time in times if 0 < time < until]


def boundaries(scenario: Mapping[str, Any], until: float) -> list[float]:
    """Return the times (s) before `until` at which a path of the scenario changes.

    Changes are those of `reconfiguration`, of routes with a start, and of the column `phase` in the
    text of a trace.

    Raises
    ------
    ScenarioError
        If no path changes, or if the times differ from run to run.
    """
    times: set[float] = set()
    for source in _sources(scenario):
        if isinstance(source, tuple):
            times |= set(grid(*source, until))
        else:
            times |= set(source.changes(until))
    if len(times) > _MOST:
        raise ScenarioError(f"the path has {len(times)} phases; at most {_MOST} are possible")
    return sorted(times)


def check(scenario: Mapping[str, Any]) -> None:
    """Check that the times at which the paths of a scenario change are known.

    Raises
    ------
    ScenarioError
        As `boundaries`.
    """
    _sources(scenario)


@dataclass(frozen=True)
class _Trace:
    """Changes of a trace.

    Attributes
    ----------
    starts
        Times of the changes of its phase, and of its end if it repeats (s).
    begin
        Time in the trace at which a run begins (s).
    length
        Length of a trace that repeats (s); otherwise None.
    """

    starts: list[float]
    begin: float
    length: float | None

    def changes(self, until: float) -> Iterator[float]:
        turns = 1
        if self.length is not None:
            turns = math.ceil((until + self.begin) / self.length) + 1
        for turn in range(turns):
            for start in self.starts:
                if 0 < (time := start - self.begin + turn * (self.length or 0.0)) < until:
                    yield time


def _sources(scenario: Mapping[str, Any]) -> list[_Trace | tuple[float, float]]:
    """Return the sources of changes: traces, routes, or interval and first of `reconfiguration`."""
    sources: list[_Trace | tuple[float, float]] = []
    for where, key, table in _stages(scenario):
        if key in _TRACES and isinstance(table, Mapping):
            sources += _of_trace(table, where)
        elif key == "reconfiguration":
            interval = _seconds(table.get("interval", _INTERVAL))
            sources.append((interval, _seconds(table.get("first", _FIRST))))
    starts = {_seconds(route.get("start", "0 s")) for route in scenario.get("routes") or ()}
    if starts - {0.0}:
        sources.append(_Trace(sorted(starts - {0.0}), 0.0, None))
    if not sources:
        raise ScenarioError(
            f"{scenario.get('name')}: no change of a path is known (a trace with the column phase, "
            'reconfiguration, or routes with start); write an interval, such as --phases "15 s"'
        )
    return sources


def _stages(scenario: Mapping[str, Any]) -> Iterator[tuple[str, str, Any]]:
    """Yield place, key and value of each key of a direction, and of each stage of its channel."""
    for link in scenario["links"]:
        for direction in ("down", "up"):
            part = link.get(direction) or {}
            channel = part.get("channel") or {}
            # The channel is a table, or a list of tables.
            tables = [part, *(channel if isinstance(channel, list) else [channel])]
            for table in tables:
                for key, value in table.items():
                    yield f"{link.get('name')}.{direction}.{key}", key, value


def _of_trace(trace: Mapping[str, Any], where: str) -> list[_Trace]:
    """Return the changes of the column `phase` of a trace, if there are any."""
    rows = _rows(str(trace.get("data") or ""))
    starts = [rows[at][0] for at in range(1, len(rows)) if rows[at][1] != rows[at - 1][1]]
    if not starts:
        return []
    if trace.get("random_offset"):
        raise ScenarioError(
            f"{where} starts at a random place of its trace, so its phases are not known; write an "
            'interval, such as --phases "15 s"'
        )
    begin = rows[0][0] + _seconds(trace.get("offset") or "0 s")
    if not trace.get("repeat"):
        return [_Trace(starts, begin, None)]
    # The last row ends a repeating trace, whose first row is another change.
    end = rows[-1][0]
    starts = [start for start in starts if start < end]
    return [_Trace([*starts, end], begin, end - rows[0][0])]


def _rows(text: str) -> list[tuple[float, str]]:
    """Return time (s) and phase of each row of a CSV trace; none without these columns."""
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    table = list(csv.reader(io.StringIO("\n".join(lines))))
    if not table:
        return []
    names = [re.sub(r"[\s(\[].*", "", name.strip()) for name in table[0]]
    if "time" not in names or "phase" not in names:
        return []
    time, phase = names.index("time"), names.index("phase")
    unit = re.search(r"[(\[]\s*(\w+)", table[0][time])
    suffix = f" {unit[1]}" if unit else ""
    return [(_seconds(row[time].strip() + suffix), row[phase].strip()) for row in table[1:]]


def _seconds(value: object) -> float:
    return units.parse_time(value) or 0.0
