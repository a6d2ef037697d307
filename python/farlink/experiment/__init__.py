"""Experiments: simulate design points, and keep their numbers in a store.

A `Point` is a resolved scenario with named factors. An `Experiment` simulates points on threads or
on a `concurrent.futures` executor. It keeps their numbers in memory or in a `Store`, a folder of
Parquet files that DuckDB queries.

>>> from farlink.experiment import Experiment, Point
>>> lab = Experiment("results", jobs=2)  # doctest: +SKIP
>>> cubic, hybla = (Point.of("geo-lossy", tcp=one) for one in ("cubic", "hybla"))  # doctest: +SKIP
>>> lab.simulate([(cubic, 30), (hybla, 30)])  # doctest: +SKIP
>>> lab.values(hybla, "goodput") - lab.values(cubic, "goodput")  # doctest: +SKIP
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from farlink.experiment.experiment import Experiment
    from farlink.experiment.points import Point
    from farlink.experiment.store import Store

__all__ = ["Experiment", "Point", "Store"]

# Imported on first use because `farlink run` needs only the executor and must not load NumPy.
_LATER = {
    "Experiment": "farlink.experiment.experiment",
    "Point": "farlink.experiment.points",
    "Store": "farlink.experiment.store",
}


def __getattr__(name: str) -> Any:  # noqa: ANN401 (whatever is asked for)
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_LATER[name]), name)
