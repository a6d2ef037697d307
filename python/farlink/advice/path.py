"""The slowest link of a scenario, and the scenario with something added to it."""

import copy
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from farlink import source, units
from farlink.errors import ScenarioError

__all__ = ["Bottleneck", "bottleneck", "with_arq", "with_call", "with_proxy"]

_PACKET = 1500

_CALL = {"app": "cbr", "rate": "64 kbit/s", "packet": "200 B"}
"""About a telephone call: fifty datagrams a second, rounded."""

_AT_LEAST_S = 60.0
_ROUND_TRIPS = 100
"""The call lasts so long, and as many round trips."""

_FRAMES = {"lapb": 127, "mdlp": 63}
"""Most frames that the link protocols can have on their way, by their numbers modulo 128."""


@dataclass(frozen=True)
class Bottleneck:
    """The slowest link on the way of the first flow's data, and the whole way's round trip."""

    place: int
    name: str
    direction: str
    rate_bit_s: float | None
    delay_s: float
    """One way, over all links of the path."""
    queue: int | None
    """Bytes, None without a limit."""
    channel: Mapping[str, Any]
    between: tuple[str, str]
    """Node on the side of the sender, and the other."""

    @property
    def bdp(self) -> int:
        """Bytes that a round trip holds at the rate of the link."""
        return round((self.rate_bit_s or 0.0) / 8 * 2 * self.delay_s)

    @property
    def holds(self) -> int:
        """Bytes that the path and the queue hold, at most three round trips."""
        queue = self.bdp if self.queue is None else min(self.queue, 2 * self.bdp)
        return max(self.bdp + queue, 64 * 1024)

    @property
    def is_lossy(self) -> bool:
        """Whether its channel does anything to packets."""
        return bool(self.channel)


def bottleneck(tree: Mapping[str, Any]) -> Bottleneck:
    """Find the slowest link on the first flow's way.

    Raises
    ------
    ScenarioError
        If there is no way, or no link has a rate.
    """
    flow = next(one for one in tree["flows"] if one.get("app") not in ("cbr", "onoff", "xtp"))
    begin, end = source.ends(flow)
    way = _way(tree["links"], begin.replace("{}", "0"), end.replace("{}", "0"))
    found: list[tuple[float, int, str]] = []
    delay = 0.0
    for place, direction in way:
        one = tree["links"][place][direction]
        delay += units.parse_time(one.get("delay")) or 0.0
        rate = units.parse_rate(one.get("rate"))
        if rate is not None:
            found.append((rate, place, direction))
    if not found:
        raise ScenarioError("no link on the way of the first flow has a fixed rate")
    rate, place, direction = min(found, key=lambda row: row[0])
    link = tree["links"][place]
    here = link[direction]
    nodes = tuple(link["between"])
    between = (nodes[0], nodes[1]) if direction == "down" else (nodes[1], nodes[0])
    return Bottleneck(
        place,
        str(link.get("name") or "-".join(nodes)),
        direction,
        rate,
        delay,
        _queue(here.get("queue"), rate, delay),
        here.get("channel") or {},
        between,
    )


def _way(links: Any, begin: str, end: str) -> list[tuple[int, str]]:  # noqa: ANN401 (of JSON)
    """Return the links from one node to another, by the fewest."""
    edges: dict[str, list[tuple[str, int, str]]] = {}
    for place, link in enumerate(links):
        a, b = (node.replace("{}", "0") for node in link["between"])
        edges.setdefault(a, []).append((b, place, "down"))
        edges.setdefault(b, []).append((a, place, "up"))
    known: dict[str, list[tuple[int, str]]] = {begin: []}
    waiting = [begin]
    while waiting:
        node = waiting.pop(0)
        if node == end:
            return known[node]
        for other, place, direction in edges.get(node, []):
            if other not in known:
                known[other] = [*known[node], (place, direction)]
                waiting.append(other)
    raise ScenarioError(f"there is no way from {begin} to {end}")


def _queue(says: Any, rate: float, delay: float) -> int | None:  # noqa: ANN401 (of JSON)
    if not isinstance(says, Mapping):
        return None
    if "packets" in says:
        return int(says["packets"]) * _PACKET
    if "bytes" in says:
        return units.whole_size(says["bytes"])
    if "bdp" in says:
        return round(float(says["bdp"]) * rate / 8 * 2 * delay)
    return None


def with_arq(tree: Mapping[str, Any], path: Bottleneck) -> Iterator[tuple[str, dict[str, Any]]]:
    """Give the link a protocol that repairs its losses, if it has losses and none repairs them."""
    link = tree["links"][path.place]
    if not path.is_lossy or link.get("arq") or "radio" in link:
        return
    down = units.parse_time(link["down"].get("delay")) or 0.0
    up = units.parse_time((link.get("up") or link["down"]).get("delay")) or 0.0
    patience = 1.5 * (down + up) + 0.1
    for protocol, window in _FRAMES.items():
        changed = copy.deepcopy(dict(tree))
        timers = {"lapb": ("t1", "t2"), "mdlp": ("t200", "t205")}[protocol]
        changed["links"][path.place]["arq"] = {
            "protocol": protocol,
            "window": window,
            timers[0]: f"{1e3 * patience:.0f} ms",
            timers[1]: "20 ms",
        }
        ceiling = window * _PACKET * 8 / max(down + up, 1e-6)
        says = f"link ARQ: {protocol.upper()}, {window} frames"
        if path.rate_bit_s and ceiling < path.rate_bit_s:
            says += f" (its numbers allow {ceiling / 1e6:.3g} Mbit/s here)"
        yield says, changed


def with_proxy(tree: Mapping[str, Any], path: Bottleneck) -> Iterator[tuple[str, dict[str, Any]]]:
    """Put something before the link: a proxy that splits connections, and snoop if it loses.

    The proxy is PEPsal, with Hybla on the link. Snoop leaves connections whole: it keeps what the
    link has not delivered yet, and sends again what the link lost.
    """
    if tree.get("agents"):
        return
    placed = _before(tree, path)
    if placed is None:
        return
    changed, at = placed
    agent = {"at": at, "wireless": path.name}
    yield (
        "a proxy before the link (PEPsal: Hybla on it)",
        {**changed, "agents": [{**agent, "kind": "pepsal"}]},
    )
    if path.is_lossy:
        yield (
            "snoop before the link (repairs losses, splits nothing)",
            {**changed, "agents": [{**agent, "kind": "snoop"}]},
        )


def _before(tree: Mapping[str, Any], path: Bottleneck) -> "tuple[dict[str, Any], str] | None":
    """Return the scenario with a node before the link that is no host, and its name."""
    near, _ = path.between
    changed = copy.deepcopy(dict(tree))
    hosts = {node for flow in tree["flows"] for node in source.ends(flow)}
    if near not in hosts:
        return changed, near
    if any("{}" in node for node in hosts):
        return None
    link = changed["links"][path.place]
    link["between"] = ["proxy" if node == near else node for node in link["between"]]
    link.setdefault("name", path.name)
    lan = {"rate": "1 Gbit/s", "delay": "0.1 ms"}
    changed["links"].append(
        {"name": "lan-proxy", "between": [near, "proxy"], "down": lan, "up": dict(lan)}
    )
    return changed, "proxy"


def with_call(
    tree: Mapping[str, Any], path: Bottleneck, name: str
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the scenario with a transfer that does not end and a call beside it; and the call."""
    lasts = f"{max(_AT_LEAST_S, _ROUND_TRIPS * 2 * path.delay_s):.0f} s"
    beside = copy.deepcopy(dict(tree))
    first = next(one for one in tree["flows"] if one.get("app") not in ("cbr", "onoff", "xtp"))
    begin, end = source.ends(first)
    call = {
        "name": name,
        "from": begin.replace("{}", "0"),
        "to": end.replace("{}", "0"),
        **_CALL,
        "duration": lasts,
    }
    flows = []
    for one in tree["flows"]:
        row = dict(one)
        if row.get("app") == "file":
            for key in ("size", "reverse"):
                row.pop(key, None)
            row |= {"app": "bulk", "duration": lasts}
        flows.append(row)
    beside["flows"] = [*flows, call]
    alone = copy.deepcopy(dict(tree))
    alone["flows"] = [call]
    alone.pop("tcp", None)
    alone.pop("agents", None)
    return beside, alone
