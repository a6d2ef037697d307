"""Rows of the result of a simulation, built from the engine's columns when they are read."""

import json
from collections.abc import Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from farlink import registry
from farlink.stats import mean_ci95

if TYPE_CHECKING:
    from farlink._farlink import Measures

__all__ = ["AGENT", "PARTS", "Row", "rows_of", "text_of", "unit_of", "values_of"]

AGENT = ["agent", "at", "wireless"]
"""Keys of an agent: its kind, its node and its wireless link."""

PARTS = {
    "results": "flow",
    "links": "link",
    "fairness": "run",
    "agents": "agent",
    "handoffs": "handoff",
}
"""Scope of the rows of each part of a result."""

_LABELS = {
    "flow": ["flow"],
    "link": ["link", "direction"],
    "run": [],
    "agent": AGENT,
    "handoff": ["host"],
}

_OF_RUNS = ("events", "simulated_s")
"""Columns of a run that are not measures."""

Row = Mapping[str, Any]
"""Row of a part of a result: "tcp", keys that identify the row, and "metrics"."""


def rows_of(runs: "Mapping[str, Measures]", part: str) -> list[Row]:
    """Return the rows of a part of a result, by TCP and in the order of the scenario."""
    scope = PARTS[part]
    rows: list[Row] = []
    for tcp, measures in runs.items():
        at = 0
        derived = json.loads(measures.derived) if scope == "link" else []
        for group_scope, items, names in measures.groups:
            if group_scope == scope:
                shown = [name for name in names if name not in _OF_RUNS]
                places = {name: place for place, name in enumerate(shown)}
                for i, item in enumerate(items):
                    row: dict[str, Any] = {"tcp": tcp}
                    row |= zip(_LABELS[scope], item, strict=True)
                    if derived:
                        row["derived"] = derived[i]
                    row["metrics"] = _Metrics(measures, scope, places, at + i * len(names))
                    rows.append(row)
            at += len(items) * len(names)
    return rows


def values_of(row: Row, name: str) -> list[float | None]:
    """Return a metric of a row, run by run."""
    metrics = row["metrics"]
    if isinstance(metrics, _Metrics):
        return metrics.by_run(name)
    values: list[float | None] = metrics[name]["values"]
    return values


def unit_of(row: Row, name: str) -> str:
    """Return the unit of a metric of a row; empty if it has none."""
    metrics = row["metrics"]
    return str(metrics.unit(name) if isinstance(metrics, _Metrics) else metrics[name]["unit"])


def _metric(values: list[float | None], unit: str) -> dict[str, Any]:
    """Return a metric in the form of the result file."""
    estimate = mean_ci95(values)
    return {
        "mean": estimate.mean,
        "ci95": [estimate.low, estimate.high],
        "n": estimate.n,
        "unit": unit,
        "values": values,
    }


class _Metrics(Mapping[str, dict[str, Any]]):
    """Metrics of a row; each is built when it is first read."""

    __slots__ = ("_at", "_measures", "_places", "_scope")

    def __init__(
        self, measures: "Measures", scope: str, places: Mapping[str, int], at: int
    ) -> None:
        self._measures = measures
        self._scope = scope
        self._places = places
        self._at = at

    def __getitem__(self, name: str) -> dict[str, Any]:
        return _metric(self.by_run(name), self.unit(name))

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def __contains__(self, name: object) -> bool:
        return name in self._places

    def unit(self, name: str) -> str:
        return registry.unit(self._scope, name)

    def by_run(self, name: str) -> list[float | None]:
        return self._measures.column(self._at + self._places[name])

    def text(self) -> Iterator[str]:
        """Yield each metric as JSON, indented as in the result file."""
        if len(self._measures) > 1:
            for name in self._places:
                yield _of_many(name, self[name])
            return
        values = self._measures.row(0, self._at, self._at + len(self._places))
        for name, value in zip(self._places, values, strict=True):
            template = _of_one(name, self.unit(name))
            # Adding 0.0 turns a negative zero into zero, as the sum behind a mean does.
            yield template % (
                ("null", 0, "null") if value is None else (repr(value + 0.0), 1, repr(value))
            )


def text_of(row: Row) -> str:
    """Return a row as JSON, indented as in the result file."""
    labels = json.dumps({key: row[key] for key in row if key != "metrics"}, indent=1)
    metrics = ",\n".join(row["metrics"].text())
    shown = f"{{\n{metrics}\n   }}" if metrics else "{}"
    return "  " + labels[:-2].replace("\n", "\n  ") + f',\n   "metrics": {shown}\n  }}'


_METRIC = """\
    %s: {
     "mean": %s,
     "ci95": [
      %s,
      %s
     ],
     "n": %s,
     "unit": %s,
     "values": [
      %s
     ]
    }"""


@cache
def _of_one(name: str, unit: str) -> str:
    """Return the text of a metric of one run, with placeholders for mean, n and value."""
    fixed = (json.dumps(item).replace("%", "%%") for item in (name, unit))
    return _METRIC % (next(fixed), "%s", "null", "null", "%s", next(fixed), "%s")


def _of_many(name: str, metric: Mapping[str, Any]) -> str:
    values = ",\n      ".join(map(_number, metric["values"]))
    numbers = map(_number, (metric["mean"], *metric["ci95"], metric["n"]))
    return _METRIC % (json.dumps(name), *numbers, json.dumps(metric["unit"]), values)


def _number(value: float | None) -> str:
    return "null" if value is None else repr(value)
