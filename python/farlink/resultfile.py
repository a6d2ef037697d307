"""Reading of result files, with checks that reject damaged or dangerous files."""

import json
import math
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NoReturn, TypeGuard

from farlink import files
from farlink.errors import ScenarioError

__all__ = ["FORMAT", "MOST_RUNS", "check", "parse", "read"]

FORMAT = "farlink-result/1"
"""Version of the result file; files of other versions are refused."""

MOST_RUNS = 1_000_000
"""Largest number of runs of a TCP in one result."""

_MOST_SEED = 2**64 - 1
_TAKEN = ("plots",)
"""Names of folders beside those of the TCPs, which a TCP must not have."""


def read(path: Path) -> dict[str, Any]:
    """Read a result file and check all of it.

    Raises
    ------
    ScenarioError
        If the file cannot be read or is not a result.
    """
    document = parse(files.read_text(path), path)
    if "format" not in document:
        raise ScenarioError(f"{path}: not a result: it has no key 'format'")
    check(document, path)
    return document


def parse(text: str, path: Path) -> dict[str, Any]:
    """Read a JSON object from any text.

    Raises
    ------
    ScenarioError
        If the text is not a result, or has a value that a result cannot have: NaN, half a surrogate
        pair.
    """
    try:
        document = json.loads(text, parse_constant=_no_constant)
        if _SURROGATE.search(text):
            json.dumps(document, ensure_ascii=False).encode()
    except json.JSONDecodeError as error:
        place = f"{path}:{error.lineno}:{error.colno}"
        raise ScenarioError(f"{place}: not JSON: {error.msg.lower()}") from error
    except RecursionError as error:
        raise ScenarioError(f"{path}: not usable: lists or objects within each other are too many "
                            "to be read") from error  # fmt: skip
    except UnicodeEncodeError as error:
        raise ScenarioError(f"{path}: not usable: half of a surrogate pair is no text") from error
    except ValueError as error:
        raise ScenarioError(f"{path}: not usable: {_number_fault(error)}") from error
    if not isinstance(document, dict):
        raise ScenarioError(f"{path}: holds no JSON object, so it is neither scenario nor result")
    return document


def check(document: Mapping[str, Any], path: Path) -> None:
    """Raise `ScenarioError` unless a document is a complete result with safe names.

    Names in the document become names of folders and files, so no name may lead out of the folder
    that the user named.
    """
    if document["format"] != FORMAT:
        raise ScenarioError(
            f"{path}: format {_shown(document['format'])} is not known; "
            f"this version reads {FORMAT!r}"
        )
    _Check(path).document(document)


class _Check:
    """Checks of the parts of a result; the first fault is reported."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.runs = 0

    def document(self, document: Mapping[str, Any]) -> None:
        scenarios = self.part(document, "scenarios", _is_table, "scenario by TCP")
        for name, scenario in scenarios.items():
            self.name(name, "scenarios")
            if name.casefold() in _TAKEN:
                self.wrong(f"scenarios: {name!r} is no name of a TCP")
            self.scenario(scenario, f"scenarios.{name}")
        folded = [name.casefold() for name in scenarios]
        if len(set(folded)) < len(folded):
            self.wrong("scenarios: two names differ by capital letters alone")
        tcp = self.part(document, "tcp", _is_list, "list of names")
        if tcp != list(scenarios):
            self.wrong("tcp is not the list of names of scenarios")
        self.scenario(self.part(document, "scenario", _is_table, "scenario"), "scenario")
        self.part(document, "version", _is_text, "text")
        self.part(document, "seed", _whole(0, _MOST_SEED), "whole number from 0")
        runs = _whole(1, MOST_RUNS)
        self.runs = self.part(document, "runs", runs, f"whole number from 1 to {MOST_RUNS}")
        self.part(document, "events", _whole(0, math.inf), "whole number from 0")
        self.part(document, "wall_s", _is_number, "number")
        others = [("agents", ["agent", "at", "wireless"]), ("handoffs", ["host"])]
        there = [other for other in others if other[0] in document]
        for key, labels in [("results", ["flow"]), ("links", ["link", "direction"]),
                            ("fairness", []), *there]:  # fmt: skip
            rows = self.part(document, key, _is_list, "list of rows")
            self.rows(rows, key, labels, tcp)

    def rows(self, rows: list[Any], key: str, labels: list[str], tcp: list[str]) -> None:
        known: dict[object, set[str]] = {}
        seen = set()
        for i, row in enumerate(rows):
            at = f"{key}[{i}]"
            if not _is_table(row):
                self.wrong(f"{at} is no table")
            if row.get("tcp") not in tcp:
                self.wrong(f"{at}.tcp is none of {', '.join(tcp)}")
            for label in labels:
                self.name(row.get(label), f"{at}.{label}")
            named = (row["tcp"], *(row[label] for label in labels))
            if named in seen:
                self.wrong(f"{at} has the same {', '.join(['tcp', *labels])} as a row before it")
            seen.add(named)
            metrics = row.get("metrics")
            if not _is_table(metrics):
                self.wrong(f"{at}.metrics is no table")
            # Agents of one kind must have equal counters.
            if set(metrics) != known.setdefault(row.get("agent"), set(metrics)) or not metrics:
                self.wrong(f"{at}.metrics has other metrics than the first row")
            for name, metric in metrics.items():
                self.metric(metric, f"{at}.metrics.{name}")
        if {row["tcp"] for row in rows} != set(tcp):
            self.wrong(f"{key} has no row for a TCP of the list")

    def metric(self, metric: object, at: str) -> None:
        def fits(value: object) -> bool:
            return value is None or _is_number(value)

        if not _is_table(metric):
            self.wrong(f"{at} is no table")
        values, interval = metric.get("values"), metric.get("ci95")
        if not (_is_list(values) and len(values) == self.runs and all(map(fits, values))):
            self.wrong(f"{at}.values is no list of {self.runs} numbers or nulls, one for each run")
        if not (_is_list(interval) and len(interval) == 2 and all(map(fits, interval))):
            self.wrong(f"{at}.ci95 is no list of two numbers or nulls")
        if "mean" not in metric or not fits(metric["mean"]):
            self.wrong(f"{at}.mean is no number or null")
        if metric.get("n") != sum(value is not None for value in values):
            self.wrong(f"{at}.n is not the number of its values")
        if not _is_text(metric.get("unit")):
            self.wrong(f"{at}.unit is no text")

    def scenario(self, item: object, at: str) -> None:
        if not _is_table(item):
            self.wrong(f"{at} is no table")
        if item.get("name") is not None:
            self.name(item["name"], f"{at}.name")

    def name(self, name: object, at: str) -> None:
        if not isinstance(name, str):
            self.wrong(f"{at} is no text")
        try:
            files.check_name(name)
        except ScenarioError as error:
            self.wrong(f"{at}: {error}")

    def part(
        self, document: Mapping[str, Any], key: str, good: Callable[[object], bool], what: str
    ) -> Any:  # noqa: ANN401 (whatever JSON has)
        if key not in document:
            self.wrong(f"no usable {key!r}")
        if not good(document[key]) or document[key] == {} or document[key] == []:
            self.wrong(f"{key} = {_shown(document[key])} is no {what}")
        return document[key]

    def wrong(self, message: str) -> NoReturn:
        raise ScenarioError(f"{self.path}: a damaged result: {message}")


_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number of JSON")


def _number_fault(error: ValueError) -> str:
    # Python limits the number of digits, because the parsing time grows with its square.
    return "a number has thousands of digits" if "digits" in str(error) else str(error)


def _is_table(value: object) -> TypeGuard[dict[str, Any]]:
    return isinstance(value, dict)


def _is_list(value: object) -> TypeGuard[list[Any]]:
    return isinstance(value, list)


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_number(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number beyond every float
        return False


def _whole(least: float, most: float) -> Callable[[object], bool]:
    def fits(value: object) -> bool:
        return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most

    return fits


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
