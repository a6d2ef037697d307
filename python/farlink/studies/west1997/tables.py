"""Tables 1 to 4 with simulated values, and tables for the report's future work (7.0)."""

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from farlink.probability import chi_square_quantile
from farlink.studies.cache import Cell
from farlink.studies.expression import FUNCTIONS
from farlink.studies.model import Model
from farlink.studies.quantity import Quantity
from farlink.studies.study import Table
from farlink.studies.west1997.registry import REGISTRY

__all__ = ["bands"]

RUNS = 20
"""Number of the report's runs of a test scenario (5.2)."""

T975 = 2.093
"""Quantile of Student's t with 19 degrees of freedom, for 95 %."""

_GOODPUT = {"bit64k": 0.24, "burst6": 1.0, "none": 0.05}
"""Half width of the 95 % interval of the mean goodput of 20 runs (percentage points). The standard
deviation of a run is 0.40 with single errors and 2.0 with bursts of six, from 1500 draws of the
channel alone; rounding adds 0.05.
"""

ROWS: Sequence[tuple[str, str, str]] = (
    ("time", "mean", "transfer time (s)"),
    ("time", "spread", "its deviation (s)"),
    ("thr", "mean", "throughput (KB/s)"),
    ("thr", "spread", "its deviation (KB/s)"),
    ("wired", "mean", "wired goodput (%)"),
    ("wireless", "mean", "wireless goodput (%)"),
    ("timeouts", "mean", "timer expirations"),
)


def bands(row: str, kind: str, printed: float, deviation: float, err: str) -> tuple[float, float]:
    """Return the 95 % confidence interval of a printed number, from the report's 20 runs.

    Parameters
    ----------
    row, kind
        Name of the measure, and "mean" or "spread" (standard deviation).
    printed
        Printed number.
    deviation
        Printed standard deviation of a mean.
    err
        Error model of the setting: "none", "bit64k" or "burst6".
    """
    if kind == "spread":
        low, high = (np.sqrt((RUNS - 1) / chi_square_quantile(RUNS - 1, p)) for p in (0.975, 0.025))
        return float(low * printed), float(high * printed)
    if row in ("time", "thr"):
        half = T975 * deviation / RUNS**0.5
    elif row == "timeouts":
        events = round(printed * RUNS)
        low = chi_square_quantile(2 * events, 0.025) / 2 if events else 0.0
        return float(low / RUNS), float(chi_square_quantile(2 * events + 2, 0.975) / 2 / RUNS)
    else:
        half = _GOODPUT[err]
    return printed - half, printed + half


def _table(data: Mapping[str, Any]) -> Callable[[Model], Table]:
    def make(model: Model) -> Table:
        rows, agrees = [], []
        for measure, kind, name in ROWS:
            for case, (scheme, err) in data["columns"].items():
                printed = data[measure if kind == "mean" else f"{measure}_deviation"][case]
                deviation = data.get(f"{measure}_deviation", {}).get(case, 0.0)
                ours = model.measure(measure, scheme, err, net=data["net"])
                if kind == "spread":
                    ours = FUNCTIONS["spread"](ours)
                low, high = bands(measure, kind, printed, deviation, err)
                ratio = f"{ours.mean / printed:.3f}" if printed else ""
                rows.append([name, case, f"{printed:g}", ours.named("", "").text, ratio])
                agrees.append(_overlap(ours, low, high))
        return Table(
            columns=["", "case", "published", "ours", "ratio"],
            rows=rows,
            agrees=agrees,
            note="Agreement: our 95 % interval meets what 20 runs of the report leave open "
            "(Student's t by the printed deviation, chi-square for deviations, Poisson for "
            "expirations, the scatter of the channel for goodputs).",
        )

    return make


def _overlap(ours: Quantity, low: float, high: float) -> bool:
    result = ours.estimate
    if result.mean is None:
        return False
    half = result.half_width or 0.0
    return bool(result.mean + half >= low and result.mean - half <= high)


def register(record: Mapping[str, Any]) -> None:
    """Register all tables of the record that have printed numbers in columns."""
    for data in record["table"]:
        if "columns" in data:
            REGISTRY.table(data["id"])(_table(data))


ERRORS = ("none", "bit64k", "bit16k", "burst6")


@REGISTRY.table("schemes")
def _schemes(model: Model) -> Table:
    """Make a table of all schemes in the report over both wireless links."""
    rows = []
    for scheme in model.plan.factors["scheme"].values:
        for net in ("lan", "low"):
            # The cells get no extra runs, because no claim rests on this table.
            cells = [replace(model.cell(scheme, err, net=net), runs=1) for err in ERRORS]
            results = [model.cache.flow(cell, "goodput") / 8192 for cell in cells]
            results.append(model.cache.flow(cells[-1], "timeouts"))
            rows.append([scheme, net, *(match.named("", "").text for match in results)])
    columns = ["scheme", "link", *(f"{err} (KB/s)" for err in ERRORS), "expirations, burst6"]
    return Table(
        columns=columns,
        rows=rows,
        note="A time-out of a half of a split connection is its agent's and is not counted here.",
    )


CONNECTIONS = 4


def connections(model: Model, scheme: str, err: str, lossy: int = CONNECTIONS) -> Cell:
    """Return the cell of four parallel transfers, `lossy` of them over the link with errors.

    The others use a second wireless link of the same base station, without errors.
    """
    cell = model.cell(scheme, err)
    tree = copy.deepcopy(dict(cell.scenario))
    clean = copy.deepcopy(tree["links"][1])
    clean.update({"name": "clean", "between": ["verdi", "neighbour"]})
    for direction in ("down", "up"):
        clean[direction].pop("channel", None)
    tree["links"].append(clean)
    flow = tree["flows"][0]
    tree["flows"] = [
        {**flow, "name": f"transfer-{k}", "to": "chopin" if k < lossy else "neighbour"}
        for k in range(CONNECTIONS)
    ]
    return Cell(f"{cell.label}, {lossy} of {CONNECTIONS}", tree)


def of_all(model: Model, cell: Cell, first: int, last: int) -> Quantity:
    """Return the sum of the goodputs of transfers `first` to `last` - 1 (KB/s)."""
    values = [model.cache.flow(cell, "goodput", flow=k) / 8192 for k in range(first, last)]
    return reduce(add, values).named("throughput", "KB/s")


@REGISTRY.table("connections")
def _connections(model: Model) -> Table:
    """Make a table of several parallel connections (future work, 7.0, item 4)."""
    rows = []
    for scheme in ("reno", "newreno", "sack", "eln", "seqcache", "split", "snoop", "ackp"):
        for err in ("none", "bit64k", "burst6"):
            all_lossy = connections(model, scheme, err)
            half = connections(model, scheme, err, CONNECTIONS // 2)
            shares = [model.cache.flow(all_lossy, "goodput", flow=k) for k in range(CONNECTIONS)]
            least = min(share.mean for share in shares) / max(share.mean for share in shares)
            rows.append(
                [
                    scheme,
                    err,
                    of_all(model, all_lossy, 0, CONNECTIONS).named("", "").text,
                    f"{least:.2f}",
                    of_all(model, half, 0, CONNECTIONS // 2).named("", "").text,
                    of_all(model, half, CONNECTIONS // 2, CONNECTIONS).named("", "").text,
                ]
            )
    return Table(
        columns=[
            "scheme",
            "errors",
            "four behind the errors, together (KB/s)",
            "least of them over greatest",
            "two behind the errors (KB/s)",
            "two beside them on a clean link (KB/s)",
        ],
        rows=rows,
        note="Four transfers of 2,000,000 bytes; the goodput of each is over its own duration.",
    )
