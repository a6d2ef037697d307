"""Tables for the report's future work (7.0)."""

import copy
from dataclasses import replace
from functools import reduce
from operator import add

from farlink.studies.cache import Cell
from farlink.studies.model import Model
from farlink.studies.quantity import Quantity
from farlink.studies.study import Table
from farlink.studies.west1997.registry import REGISTRY

__all__: list[str] = []

ERRORS = ("none", "bit64k", "bit16k", "burst6")


@REGISTRY.table("schemes")
def _schemes(model: Model) -> Table:
    """Make a table of all schemes in the report over both wireless links."""
    rows = []
    for scheme in model.plan.factors["scheme"].values:
        for net in ("lan", "low"):
            # The cells get no extra runs, because no claim depends on this table.
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
