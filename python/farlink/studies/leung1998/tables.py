"""Tables 4.2 to 5.4 with printed and simulated values side by side."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from farlink.studies.leung1998.registry import REGISTRY
from farlink.studies.leung1998.words import said, throughput
from farlink.studies.model import Model
from farlink.studies.quantity import Verdict
from farlink.studies.study import Table
from farlink.tuning import tune

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


_WINDOW = "tcp.receive_window"
_DELAY = "tcp.delayed_ack"
_SEGMENT = "tcp.mss"
_SATELLITE = {
    _WINDOW: "16 KiB..256 KiB",
    _DELAY: "0.5 ms|1 ms|2 ms|10 ms|20 ms",
    _SEGMENT: "512 B|896 B|1024 B|1458 B",
}
_MOBILE = {
    _WINDOW: "2 KiB..32 KiB",
    _DELAY: "1 ms|2 ms|3 ms|10 ms",
    _SEGMENT: "256 B|512 B|896 B|1024 B|1460 B",
}


def _search(
    model: Model, scene: str, tcps: Mapping[str, str], vary: Mapping[str, str], over: dict[str, Any]
) -> Table:
    """Search for the best receive window, ACK delay and segment size, from the printed values.

    The bit error rate follows from the loss of segments of the printed size, so shorter segments
    are lost less often.
    """
    rows = []
    for tcp, printed in tcps.items():
        at = throughput(model, scene, tcp, **over)
        if np.isnan(at.values).all():
            continue
        tree: Any = model.cell(tcp, **said(model, scene, tcp, over)).scenario
        trials, runs, confirm = (8, 2, 3) if model.cache.quick else (30, 4, 12)
        tuned = tune(
            {**tree, "seed": model.cache.seed}, vary, trials=trials, runs=runs, confirm=confirm
        )
        level = tuned.best.levels
        gain = tuned.gain
        above = "" if gain.mean is None else f"{gain.mean / 8000:.3g}"
        half = "" if gain.half_width is None else f" ± {gain.half_width / 8000:.2g}"
        best = ", ".join(str(level[name]) for name in (_WINDOW, _DELAY, _SEGMENT))
        rows.append([tcp, printed, at.text, best, f"{above}{half} KB/s"])
    columns = [
        "TCP",
        "published",
        "throughput with that",
        "found",
        "above the published, fresh runs",
    ]
    return Table(columns, rows)


@REGISTRY.table("table4.4")
def _table44(model: Model) -> Table:
    printed = {"vegas": "128 KB, 10 ms, 1458", "reno": "80 KB, 2 ms, 1458"}
    return _search(
        model, "4.7", {**printed, "rfc": "16 KB, 0.5 ms, 1458"}, _SATELLITE, {"plr": 0.02}
    )


@REGISTRY.table("table5.4")
def _table54(model: Model) -> Table:
    printed = {"vegas": "8 KB, 1 ms, 896 to 1024", "reno": "4 KB, 1 ms, 896 to 1024"}
    return _search(model, "5.7", printed, _MOBILE, {"a": 140})
