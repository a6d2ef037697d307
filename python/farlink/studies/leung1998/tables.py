"""Table 4.1, and searches for the parameters of tables 4.4 and 5.4."""

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from farlink.studies.grid import Grid, amount, inputs
from farlink.studies.leung1998.registry import REGISTRY
from farlink.studies.leung1998.words import said, throughput
from farlink.studies.model import Model
from farlink.studies.study import Table
from farlink.tuning import tune

__all__: list[str] = []


@REGISTRY.table("table4.1")
def _parameters(model: Model) -> Grid:
    scenario: dict[str, Any] = json.loads(model.cache.text(model.cell("reno", plr=0.001, mss=512)))
    lan, internet, satellite = (link["down"] for link in scenario["links"][:3])
    tcp, delay = scenario["resolved_tcp"][0], internet["channel"]["internet_delay"]
    # The timer of RFC 6298 has these gains, and no keys for them.
    gains = tcp.get("rto_gain", 1 / 8), tcp.get("rto_dev_gain", 1 / 4)
    means = ", ".join(f"{part['mean']}" for part in delay["raised"])
    rows: list[tuple[str, str, str, bool | None]] = [
        ("header of IP", "20 B", "20 B", True),
        ("header of TCP with the option for large windows", "22 B", "20 B", False),
        ("rate of the LANs", "10 Mbit/s", lan["rate"], None),
        ("rate of the Internet", "45 Mbit/s", internet["rate"], None),
        ("data of a run", "30 MB", scenario["flows"][0]["size"], None),
        ("gain of the smoothed RTT", "0.125", f"{gains[0]:g}", None),
        ("gain of its deviation", "0.25", f"{gains[1]:g}", None),
        ("rate of the satellite", "1.544 Mbit/s", satellite["rate"], None),
        (
            "delay of the satellite, one way",
            "0.28 s",
            f"{satellite['delay']} and transmission",
            True,
        ),
        ("congestion of the Internet", "0.04", f"loss {internet['channel']['loss']:g}", False),
        ("mean delay of the Internet", "0.018 s", f"{internet['delay']} and 11 ms", True),
        ("constant part of it", "0.01 s", delay["constant"], None),
        ("Erlang mean in state 0", "0.001 s", delay["mean"], None),
        ("Erlang means in state 1", "0.01 s, 0.1 s", means, True),
    ]
    compared = [
        (name, printed, ours, amount(printed) == amount(ours) if equal is None else equal)
        for name, printed, ours, equal in rows
    ]
    return inputs(compared, "The engine's TCP header has 20 bytes without options.")


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


@REGISTRY.table("search4.4")
def _table44(model: Model) -> Table:
    printed = {"vegas": "128 KB, 10 ms, 1458", "reno": "80 KB, 2 ms, 1458"}
    return _search(
        model, "4.7", {**printed, "rfc": "16 KB, 0.5 ms, 1458"}, _SATELLITE, {"plr": 0.02}
    )


@REGISTRY.table("search5.4")
def _table54(model: Model) -> Table:
    printed = {"vegas": "8 KB, 1 ms, 896 to 1024", "reno": "4 KB, 1 ms, 896 to 1024"}
    return _search(model, "5.7", printed, _MOBILE, {"a": 140})
