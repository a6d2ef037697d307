"""Tables 4.2 to 5.4, printed and made again side by side."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from farlink.studies.leung1998.registry import REGISTRY
from farlink.studies.leung1998.words import throughput
from farlink.studies.model import Model
from farlink.studies.quantity import Quantity, Verdict
from farlink.studies.study import Table

__all__: list[str] = []


def _of_cells(id: str) -> Callable[[Model], Table]:  # noqa: A002
    def make(model: Model) -> Table:
        rows, agrees = [], []
        for cell in model.plan.constants["CELLS"][id]:
            ours = throughput(model, cell["scene"], cell["tcp"], **cell["over"])
            printed, share = cell["printed"], cell["share"]
            setting = ", ".join(f"{name} {value:g}" for name, value in cell["over"].items())
            rows.append([cell["of"], setting, f"{printed:g}", ours.text])
            near = ours.within(printed * (1 - share), printed * (1 + share))
            agrees.append(near.verdict is Verdict.REPRODUCED)
        return Table(["", "setting", "published", "ours"], rows, agrees)

    return make


for _id in ("table4.2", "table4.3", "table4.5", "table4.6", "table5.1", "table5.2", "table5.3"):
    REGISTRY.table(_id)(_of_cells(_id))


_SATELLITE = {"mtws": [16, 64, 80, 128], "mad": [0.5, 2, 10], "mss": [512, 1458]}
_MOBILE = {"mtws": [2, 4, 8, 32], "mad": [1, 3], "mss": [512, 896, 1024]}


def _joint(
    model: Model, scene: str, tcp: str, grid: Mapping[str, Sequence[float]], over: dict[str, Any]
) -> tuple[dict[str, float], Quantity]:
    """Return the setting of a grid with the highest mean throughput."""
    found = [
        (
            {"mtws": w, "mad": m, "mss": z},
            throughput(model, scene, tcp, mtws=w, mad=m, mss=z, **over),
        )
        for w in grid["mtws"]
        for m in grid["mad"]
        for z in grid["mss"]
    ]
    return max(found, key=lambda one: one[1].mean if one[1].mean == one[1].mean else 0.0)


def _rows(
    model: Model, scene: str, tcps: Mapping[str, str], grid: Mapping[str, Any], over: dict[str, Any]
) -> Table:
    rows = []
    for tcp, printed in tcps.items():
        setting, ours = _joint(model, scene, tcp, grid, over)
        at = throughput(model, scene, tcp, **over)
        best = f"{setting['mtws']:g} KB, {setting['mad']:g} ms, {setting['mss']:g} bytes"
        rows.append([tcp, printed, at.text, best, ours.text])
    return Table(["TCP", "published", "with that", "best of a grid here", "with that"], rows)


@REGISTRY.table("table4.4")
def _table44(model: Model) -> Table:
    printed = {"vegas": "128 KB, 10 ms, 1458", "reno": "80 KB, 2 ms, 1458"}
    return _rows(model, "4.7", {**printed, "rfc": "16 KB, 0.5 ms, 1458"}, _SATELLITE, {"plr": 0.02})


@REGISTRY.table("table5.4")
def _table54(model: Model) -> Table:
    printed = {"vegas": "8 KB, 1 ms, 896 to 1024", "reno": "4 KB, 1 ms, 896 to 1024"}
    return _rows(model, "5.7", printed, _MOBILE, {"a": 140})
