"""Tables 4 and 6 of the study: parameters of the two networks, printed and chosen."""

import json
from typing import Any

from farlink.studies.grid import Grid, inputs, published
from farlink.studies.model import Model
from farlink.studies.vatne2006.registry import REGISTRY

__all__: list[str] = []


def _resolved(model: Model, tcp: str, **factors: Any) -> dict[str, Any]:  # noqa: ANN401
    scenario: dict[str, Any] = json.loads(model.cache.text(model.cell(tcp, 0, 0.03, **factors)))
    return scenario


def _grid(id: str, ours: dict[str, tuple[str, bool]]) -> Grid:  # noqa: A002
    printed = published(str(__package__), id)
    return inputs([(name, text, *ours[name]) for name, text in printed.items()])


@REGISTRY.table("table4")
def _satellite(model: Model) -> Grid:
    scenario = _resolved(model, "newreno", place="day1")
    size = int(str(scenario["flows"][0]["size"]).removesuffix(" B"))
    # Timestamps take 12 of the 1460 bytes of a segment.
    payload = f"{int(str(scenario['resolved_tcp'][0]['mss']).removesuffix(' B')) - 12} B"
    return _grid(
        "table4",
        {
            "TCPs": ("Hybla, NewReno with SACK, Vegas, Westwood+", True),
            "registered at": ("receiver, as in section 7", False),
            "packet": ("1500 B", True),
            "payload": (payload, payload == "1448 B"),
            "data of a transfer": (f"{size} B", size == 10_486_416),
            "length of a transfer": ("variable", True),
        },
    )


@REGISTRY.table("table6")
def _sensors(model: Model) -> Grid:
    scenario = _resolved(model, "newreno")
    tcp, down = scenario["resolved_tcp"][0], scenario["links"][0]["down"]
    delays = ", ".join(f"{1e3 * delay:g} ms" for delay in model.plan.constants["DELAYS"])
    return _grid(
        "table6",
        {
            "TCPs": ("NewReno, Westwood+", True),
            "rate": (f"{down['rate']} for packets of 80 B, the time of 60 B at 250 kbit/s", True),
            "maximum segment size": (f"{tcp['mss']} of data, packet of 60 B without IP", True),
            "TCP buffers": (f"window of {tcp['receive_window']}", True),
            "window": (tcp["receive_window"], tcp["receive_window"] == "8000 B"),
            "file": (str(scenario["flows"][0]["size"]), True),
            "delays": (delays, delays == "10 ms, 30 ms, 50 ms"),
        },
    )
