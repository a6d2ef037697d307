"""Tables of the study, with published values of the record and values of the model."""

import json
import tomllib
from collections.abc import Callable, Mapping
from functools import cache
from importlib import resources
from typing import Any

from farlink.studies.model import Model
from farlink.studies.omueti2007.fairness import jain
from farlink.studies.omueti2007.registry import REGISTRY
from farlink.studies.quantity import short
from farlink.studies.study import Table

__all__: list[str] = []

_NAMES = {
    "adalr_sack": "TCP-ADaLR SACK",
    "adalr_newreno": "TCP-ADaLR NewReno",
    "sack": "TCP SACK",
    "newreno": "TCP NewReno",
}


@cache
def _entry(id: str) -> Mapping[str, Any]:  # noqa: A002
    text = resources.files(__package__).joinpath("record.toml").read_text(encoding="utf-8")
    return next(row for row in tomllib.loads(text)["table"] if row["id"] == id)


def _times(id: str) -> Callable[[Model], Table]:  # noqa: A002
    entry = _entry(id)

    def make(model: Model) -> Table:
        rows = []
        for tcp, cells in entry["published"].items():
            for ack in ("d", "n"):
                congested = bool(entry.get("congested"))
                ours = model.measure(entry["measure"], tcp, ack, congested=congested).mean
                ratio = f"{ours / cells[ack]:.3f}"
                rows.append([_NAMES[tcp], ack, f"{cells[ack]:g}", short(ours, 5), ratio])
        return Table(["TCP", "delayed ACK", "published", "ours", "ratio"], rows)

    return make


for _id in ("table4", "table5", "table6", "table7"):
    REGISTRY.table(_id)(_times(_id))


def _indices(id: str) -> Callable[[Model], Table]:  # noqa: A002
    def make(model: Model) -> Table:
        rows = [
            [kind, f"{value:.4f}", f"{jain(model, kind).mean:.4f}"]
            for kind, value in _entry(id)["published"].items()
        ]
        return Table(["connections", "published", "ours"], rows)

    return make


for _id in ("table8", "table9"):
    REGISTRY.table(_id)(_indices(_id))


def _resolved(model: Model, ack: str = "n", **factors: Any) -> dict[str, Any]:  # noqa: ANN401
    cell = model.cell("sack", ack, **factors)
    scenario: dict[str, Any] = json.loads(model.cache.text(cell))
    return scenario


def _side_by_side(id: str, ours: list[str], note: str = "") -> Table:  # noqa: A002
    published = _entry(id)["published"]
    rows = [
        [name, text, value] for (name, text), value in zip(published.items(), ours, strict=True)
    ]
    return Table(["", "published", "ours"], rows, note=note)


@REGISTRY.table("table1")
def _tcp(model: Model) -> Table:
    tcp, delayed = (_resolved(model, ack)["resolved_tcp"][0] for ack in ("n", "d"))
    ours = [tcp[key] for key in ("mss", "initial_window", "receive_window", "rto_tick")]
    ours.append(f"{tcp['delayed_ack']} ({delayed['delayed_ack']})")
    ours += [f"1 ({delayed['ack_every']})", tcp["dupack_threshold"]]
    return _side_by_side("table1", [str(value) for value in ours])


@REGISTRY.table("table2")
def _pages(model: Model) -> Table:
    flow = _resolved(model, app="http")["flows"][0]
    keys = ("page_interval", "main_object", "inline_objects", "inline_object", "duration")
    return _side_by_side("table2", [str(flow[key]) for key in keys])


@REGISTRY.table("table3")
def _file(model: Model) -> Table:
    scenario = _resolved(model)
    ours = [scenario["flows"][0]["size"], scenario["max_duration"]]
    return _side_by_side("table3", [str(value) for value in ours])


@REGISTRY.hook("both_ways")
def _both_ways(tree: dict[str, Any]) -> None:
    """Copy delay and bit error rate of the satellite's downlink to its uplink."""
    for link in tree["links"]:
        if link["name"] == "satellite":
            there = link["down"]
            link["up"]["delay"] = there["delay"]
            if "ber" in there.get("channel", {}):
                link["up"]["channel"] = {"ber": there["channel"]["ber"]}


@REGISTRY.hook("buffer_for_files")
def _buffer_for_files(tree: dict[str, Any]) -> None:
    """Remove the limit of the gateway's buffer for web pages, but not its rate."""
    for link in tree["links"]:
        if link["name"] == "service" and tree["flows"][0]["app"] == "http":
            link["down"]["queue"] = "unlimited"


def _buffer(limit: dict[str, Any]) -> Callable[[dict[str, Any]], None]:
    """Return a hook that replaces the gateway's buffer limit of 37500 B."""

    def change(tree: dict[str, Any]) -> None:
        for link in tree["links"]:
            if link["name"] == "service" and link["down"]["queue"] == {"bytes": "37500 B"}:
                link["down"]["queue"] = limit

    return change


REGISTRY.hook("buffer_50")(_buffer({"bytes": "50 kB"}))
REGISTRY.hook("buffer_4")(_buffer({"packets": 4}))


@REGISTRY.hook("file_50e6")
def _file_50e6(tree: dict[str, Any]) -> None:
    """Change the file's size from 50 MiB to 50 * 10^6 bytes."""
    for flow in tree["flows"]:
        if flow.get("size") == "50 MiB":
            flow["size"] = "50 MB"


@REGISTRY.hook("half_gateway")
def _half_gateway(tree: dict[str, Any]) -> None:
    """Halve the gateway's rate if it is limited to 360 kbit/s."""
    for link in tree["links"]:
        if link["name"] == "service" and link["down"]["rate"] == "360 kbit/s":
            link["down"]["rate"] = "180 kbit/s"
