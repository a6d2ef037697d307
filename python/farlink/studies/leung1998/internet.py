"""Simulates the Internet by its cross traffic: tcplib conversations and a router with 30 KB."""

from typing import Any

from farlink.studies.cache import Cell
from farlink.studies.leung1998.registry import REGISTRY
from farlink.studies.leung1998.words import said
from farlink.studies.model import Model
from farlink.studies.quantity import Quantity
from farlink.studies.study import Table

__all__: list[str] = []

_SECONDS = 40
_RATES = {"ftp": 42.3, "nntp": 5.76, "smtp": 3.27, "telnet": 32.7, "rlogin": 30.7}
"""Conversations per second at ten in the morning, by application."""

_USERS = {"nntp": 58, "smtp": 33, "telnet": 100, "rlogin": 100}
"""Number of users of each application, which the study does not print. The number of FTP users
varies, because their traffic fills the router.
"""


def _with_conversations(model: Model, users: int, tcp: str, over: dict[str, Any]) -> Cell:
    """Return section 4.7's file transfer with cross traffic of all applications."""
    alone = model.cell(tcp, **said(model, "4.7", tcp, {"plr": 0.0, **over}))
    tree: dict[str, Any] = dict(alone.scenario)
    links = [dict(link) for link in tree["links"]]
    router = next(link for link in links if link["name"] == "internet")
    fast = {"rate": "1 Gbit/s", "delay": "10 ms", "queue": "unlimited"}
    # The delay of section 3.3.2 applies to one connection, so it has its own link. A shared link
    # keeps packets in order. Each of 10,000 packets per second would then wait for the slowest
    # packet of the last second.
    delays: dict[str, Any] = {"name": "delays", "between": ["core", "gateway"]}
    for direction in ("down", "up"):
        channel = {k: v for k, v in router[direction]["channel"].items() if k != "loss"}
        delays[direction] = {**fast, "delay": "0 s", "channel": channel}
        router[direction] = {
            key: "0 s" if key == "delay" else item
            for key, item in router[direction].items()
            if key != "channel"
        }
    router["between"] = ["router", "core"]
    links.append(delays)
    for name, ends in {"servers": ["hosts", "router"], "clients": ["core", "users"]}.items():
        links.append({"name": name, "between": ends, "down": dict(fast), "up": dict(fast)})
    (file,) = tree["flows"]
    flows: list[dict[str, Any]] = [
        {
            "name": app,
            "from": "hosts",
            "to": "users",
            "app": app,
            "count": count,
            "duration": f"{_SECONDS} s",
            "arrivals": {"distribution": "exponential", "mean": f"{count / _RATES[app]:.6f} s"},
        }
        for app, count in {"ftp": users, **_USERS}.items()
    ]
    bulk = {key: entry for key, entry in file.items() if key != "size"}
    # This flow is first, so that its index does not depend on the number of other flows.
    flows.insert(0, {**bulk, "app": "bulk", "duration": f"{_SECONDS} s", "tcp": tree["tcp"]})
    # The study does not print the TCP of the cross traffic.
    others = {"variant": "reno", "mss": "512 B", "receive_window": "16 KiB"}
    tree.update(links=links, flows=flows, tcp=others, duration=f"{_SECONDS} s")
    tree.pop("max_duration", None)
    return Cell(f"{tcp}, {users} users of FTP", tree)


@REGISTRY.function("conversations")
def _conversations(
    model: Model,
    what: str,
    users: int,
    tcp: str = "reno",
    **over: Any,  # noqa: ANN401
) -> Quantity:
    """Return a measure of the router or of the file transfer with cross traffic.

    `what` is "loss" (share of packets that the router drops), "busy" (utilisation of its link),
    "file" (throughput of the file, KB/s) or "lost" (share of the file's segments that the router
    drops).
    """
    cell = _with_conversations(model, users, tcp, over)
    cache = model.cache
    if what == "loss":
        drops = cache.link(cell, "internet", "down", "drops_congestion")
        result = drops / cache.link(cell, "internet", "down", "packets")
    elif what == "busy":
        result = cache.link(cell, "internet", "down", "utilisation")
    elif what == "file":
        result = cache.flow(cell, "goodput") / 8000
    else:
        result = cache.flow(cell, "lost_congestion") / cache.flow(cell, "segments_sent")
    unit = "KB/s" if what == "file" else ""
    return result.named(f"{what}({cell.label})", unit)


@REGISTRY.table("internet")
def _internet(model: Model) -> Table:
    rows = []
    for users in model.plan.constants["USERS"]:
        measured = [_conversations(model, what, users) for what in ("loss", "busy", "lost", "file")]
        rows.append([str(users), *(measurement.text for measurement in measured)])
    columns = ["users of FTP", "loss at the router", "busy", "lost of the file", "the file (KB/s)"]
    return Table(columns, rows, note="Printed: a congestion probability of 0.05, and 138.56 KB/s.")
