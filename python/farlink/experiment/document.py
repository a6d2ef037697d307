"""The file sweep.json: all points of a sweep, with everything needed to repeat its runs.

The first point is stored in full. Every other point stores only the values that differ from the
first.
"""

import copy
import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from farlink import _farlink
from farlink.errors import ScenarioError
from farlink.experiment.points import Point
from farlink.resultfile import MOST_RUNS

if TYPE_CHECKING:
    from farlink.experiment.sweep import SweepResult

__all__ = ["FORMAT", "of_result", "points"]

FORMAT = "farlink-sweep/1"

_Path = tuple[str | int, ...]


def of_result(result: "SweepResult") -> str:
    """Return the text of sweep.json for a sweep."""
    first = result.plan.points[0].scenario
    head = {
        "format": FORMAT,
        "version": _farlink.version(),
        "name": result.plan.name,
        "measures": result.measures,
        "probability": result.probability,
        "scenario": first,
    }
    rows = (
        {"factors": point.factors, "runs": runs, "changes": list(_changes(first, point.scenario))}
        for point, runs in zip(result.plan.points, result.runs, strict=True)
    )
    lines = ",\n  ".join(map(json.dumps, rows))
    return f'{json.dumps(head, indent=1)[:-2]},\n "points": [\n  {lines}\n ]\n}}\n'


def points(document: Mapping[str, Any]) -> list[tuple[Point, int]]:
    """Return the points of a parsed sweep.json, each with its number of runs.

    Raises
    ------
    ScenarioError
        If the document is not a sweep.json.
    """
    if document.get("format") != FORMAT:
        raise ScenarioError(f"format {document.get('format')!r} is not known; it is {FORMAT!r}")
    try:
        entries = [_point(document["scenario"], entry) for entry in document["points"]]
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        raise ScenarioError(f"sweep.json is damaged: {type(error).__name__} {error}") from error
    if not entries:
        raise ScenarioError("sweep.json is damaged: it has no points")
    return entries


def _point(first: Mapping[str, Any], entry: Mapping[str, Any]) -> tuple[Point, int]:
    scenario = copy.deepcopy(dict(first))
    for path, *value in entry["changes"]:
        *parents, last = path
        place: Any = scenario
        for key in parents:
            place = place[key]
        if value:
            place[last] = value[0]
        else:
            del place[last]
    runs = entry["runs"]
    if not isinstance(runs, int) or not 1 <= runs <= MOST_RUNS:
        raise ValueError(f"runs = {runs!r}")
    return Point(json.dumps(scenario), dict(entry["factors"])), runs


def _changes(a: Any, b: Any, path: _Path = ()) -> Iterator[list[Any]]:  # noqa: ANN401 (JSON)
    """Yield [path, value] for each changed value of `b`, and [path] for each one missing in `b`."""
    if isinstance(a, dict) and isinstance(b, dict):
        for key in {**a, **b}:
            if key not in b:
                yield [[*path, key]]
            elif key not in a:
                yield [[*path, key], b[key]]
            elif not _is_equal_leaf(a[key], b[key]):
                yield from _changes(a[key], b[key], (*path, key))
    elif isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        for place, (left, right) in enumerate(zip(a, b, strict=True)):
            if not _is_equal_leaf(left, right):
                yield from _changes(left, right, (*path, place))
    elif a != b or type(a) is not type(b):
        yield [list(path), b]


def _is_equal_leaf(a: object, b: object) -> bool:
    """Return whether both are the same text, number or flag; most values of two points are."""
    return type(a) is type(b) and not isinstance(a, dict | list) and a == b
