"""Tables of the study, with published values of the record and values of the model."""

import json
from collections.abc import Callable
from typing import Any

from farlink.studies.grid import Grid, amount, inputs, published
from farlink.studies.model import Model
from farlink.studies.omueti2007.registry import REGISTRY

__all__: list[str] = []


def _resolved(model: Model, ack: str = "n", **factors: Any) -> dict[str, Any]:  # noqa: ANN401
    cell = model.cell("sack", ack, **factors)
    scenario: dict[str, Any] = json.loads(model.cache.text(cell))
    return scenario


def _side_by_side(id: str, ours: list[str], note: str = "") -> Grid:  # noqa: A002
    pairs = zip(published(str(__package__), id).items(), ours, strict=True)
    return inputs([(name, text, value, _same(text, value)) for (name, text), value in pairs], note)


def _same(text: str, value: str) -> bool:
    """Return whether two texts have the same amounts."""
    try:
        return amount(text) == amount(value)
    except ValueError:
        return text == value


@REGISTRY.table("table1")
def _tcp(model: Model) -> Grid:
    tcp, delayed = (_resolved(model, ack)["resolved_tcp"][0] for ack in ("n", "d"))
    ours = [tcp[key] for key in ("mss", "initial_window", "receive_window", "rto_tick")]
    ours.append(f"{tcp['delayed_ack']} ({delayed['delayed_ack']})")
    ours += [f"1 ({delayed['ack_every']})", tcp["dupack_threshold"]]
    return _side_by_side("table1", [str(value) for value in ours])


@REGISTRY.table("table2")
def _pages(model: Model) -> Grid:
    flow = _resolved(model, app="http")["flows"][0]
    keys = ("page_interval", "main_object", "inline_objects", "inline_object", "duration")
    return _side_by_side("table2", ["1.1", *(str(flow[key]) for key in keys)])


@REGISTRY.table("table3")
def _file(model: Model) -> Grid:
    scenario = _resolved(model)
    ours = [scenario["max_duration"], scenario["flows"][0]["size"], scenario["max_duration"]]
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


@REGISTRY.hook("buffer_2")
def _buffer_2(tree: dict[str, Any]) -> None:
    """Limit the gateway's buffer to two packets for web pages, and leave it for files."""
    if tree["flows"][0]["app"] == "http":
        service(tree, "queue", {"packets": 2})


@REGISTRY.hook("file_50e6")
def _file_50e6(tree: dict[str, Any]) -> None:
    """Change the file's size from 50 MiB to 50 * 10^6 bytes."""
    for flow in tree["flows"]:
        if flow.get("size") == "50 MiB":
            flow["size"] = "50 MB"


@REGISTRY.hook("half_gateway")
def _half_gateway(tree: dict[str, Any]) -> None:
    """Halve the gateway's rate if the rate is limited to 360 kbit/s."""
    for link in tree["links"]:
        if link["name"] == "service" and link["down"]["rate"] == "360 kbit/s":
            link["down"]["rate"] = "180 kbit/s"


@REGISTRY.hook("rho_in_ticks")
def _rho_in_ticks(tree: dict[str, Any]) -> None:
    """Take rho from the round trip in ticks of the timer."""
    tree["tcp"].setdefault("control", {}).setdefault("adalr", {})["rho_clock"] = "timer"


@REGISTRY.editor("file")
def _file_size(tree: dict[str, Any], size: str) -> None:
    """Set the size of a file of 50 MiB; others are unit facts."""
    for flow in tree["flows"]:
        if flow.get("size") == "50 MiB":
            flow["size"] = size


def service(tree: dict[str, Any], key: str, limit: object) -> None:
    """Set a limit of the gateway's IP service if the service is limited."""
    for link in tree["links"]:
        if link["name"] == "service" and link["down"]["queue"] != "unlimited":
            link["down"][key] = limit


@REGISTRY.editor("gateway_rate")
def _gateway_rate(tree: dict[str, Any], rate: str) -> None:
    service(tree, "rate", rate)


@REGISTRY.editor("gateway_buffer")
def _gateway_buffer(tree: dict[str, Any], size: str) -> None:
    service(tree, "queue", {"bytes": size})
