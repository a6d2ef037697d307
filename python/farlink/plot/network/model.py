"""Nodes, links, agents and flows of a resolved scenario, with hosts in groups if there are many."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, Literal

from farlink.plot.network import words
from farlink.plot.network.paths import flows_of

__all__ = ["AgentMark", "Lane", "Link", "Network", "Node", "read_network"]

Medium = Literal["wired", "radio", "satellite"]
Kind = Literal["host", "router", "station", "dish", "satellite"]

MOST_NODES = 20
"""Number of nodes above which hosts at the same router become a group."""
_MOST_COUNTED = 8
"""Number of links of a `count` above which their nodes stay a group."""
_MOST_LANES = 12

_SPLIT = ("split", "pep", "pepsal")
_SATELLITE = re.compile(r"sat|geo\b|leo\b|starlink|oneweb", re.IGNORECASE)
_RADIO = re.compile(r"radio|wavelan|wlan|wifi|wireless|cell|mobile|cdpd|5g|lte", re.IGNORECASE)
_RADIO_STAGES = {"mobile", "rayleigh", "radio", "mobility", "byte_errors"}
_SATELLITE_STAGES = {"satellite", "orbit", "reconfiguration"}


@dataclass(frozen=True)
class AgentMark:
    """Agent at a node: its kind, the link that it serves, and the TCPs of its two halves."""

    kind: str
    link: str
    tcp: str
    other_tcp: str
    enabled: bool


@dataclass(frozen=True)
class Node:
    """Node or group of `count` nodes."""

    name: str
    kind: Kind
    count: int = 1
    agents: tuple[AgentMark, ...] = ()


@dataclass(frozen=True)
class Link:
    """Link or group of links between two nodes; `down` and `up` are texts of the directions."""

    name: str
    ends: tuple[str, str]
    medium: Medium
    down: tuple[str, ...]
    up: tuple[str, ...]
    count: int = 1
    standby: bool = False

    @property
    def spec(self) -> tuple[object, ...]:
        """Return what a label says, without the names."""
        return self.medium, self.down, self.up, self.standby

    def turned(self) -> "Link":
        """Return the same link with its ends exchanged."""
        return replace(self, ends=self.ends[::-1], down=self.up, up=self.down)


@dataclass(frozen=True)
class Lane:
    """Arrow of one or several flows: its label, and the TCP of each part between `stops`.

    `ends` names all hosts at which such flows begin and end.
    """

    label: str
    ends: tuple[str, str]
    stops: tuple[str, ...]
    tcps: tuple[str, ...]


@dataclass
class Network:
    """Everything that a picture of a network shows."""

    nodes: dict[str, Node] = field(default_factory=dict)
    links: list[Link] = field(default_factory=list)
    lanes: list[Lane] = field(default_factory=list)
    sources: set[str] = field(default_factory=set)
    sinks: set[str] = field(default_factory=set)
    notes: list[str] = field(default_factory=list)

    def neighbours(self, name: str) -> list[str]:
        """Return the nodes at the other ends of a node's links, in the order of the links."""
        ends = (link.ends for link in self.links if name in link.ends)
        return list(dict.fromkeys(b if a == name else a for a, b in ends))

    def path(self, start: str, end: str) -> list[str]:
        """Return the nodes of the path with the fewest links, or only the two ends without one."""
        before: dict[str, str] = {start: start}
        queue = [start]
        for name in queue:
            for other in self.neighbours(name):
                if other not in before:
                    before[other] = name
                    queue.append(other)
        if end not in before:
            return [start, end]
        nodes = [end]
        while nodes[-1] != start:
            nodes.append(before[nodes[-1]])
        return nodes[::-1]


def read_network(scenario: Mapping[str, Any]) -> Network:
    """Return the network of a resolved scenario."""
    network = Network()
    moving = [name for move in scenario.get("handoffs", []) for name in move["links"]]
    standby = {name for move in scenario.get("handoffs", []) for name in move["links"][1:]}
    expand = _expands(scenario["links"])
    for item in scenario["links"]:
        network.links += _links(item, moving, standby, expand=expand)
    names = list(dict.fromkeys(end for link in network.links for end in link.ends))
    counts = {end: link.count for link in network.links for end in link.ends if "{}" in end}
    hosts = {flow[key] for flow, _ in flows_of(scenario) for key in ("from", "to")}
    ends = {name for name in names if name in hosts or _pattern(name) in hosts}
    for name in names:
        kind = _kind(name, network, ends)
        network.nodes[name] = Node(name, kind, counts.get(name, 1), _agents(scenario, name))
    group_leaves(network)
    network.lanes = _lanes(scenario, network)
    network.notes = words.notes(scenario)
    return network


def _expands(links: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether counted links are drawn one by one."""
    names: set[str] = set()
    for link in links:
        for number in range(min(link["count"], MOST_NODES + 1)):
            names |= {end.replace("{}", str(number)) for end in link["between"]}
    return len(names) <= MOST_NODES and all(link["count"] <= _MOST_COUNTED for link in links)


def _links(
    item: Mapping[str, Any], moving: Sequence[str], standby: set[str], *, expand: bool
) -> list[Link]:
    medium = _medium(item)
    if item["name"] in moving and medium == "wired":
        medium = "radio"
    shared = words.shared(item)
    base = Link(
        item["name"],
        (item["between"][0], item["between"][1]),
        medium,
        (*words.direction(item["down"]), *shared),
        (*words.direction(item["up"]), *shared),
        item["count"],
        item["name"] in standby,
    )
    if item["count"] == 1:
        # With a count of 1 the number 0 replaces the braces.
        numbers: Sequence[int] = (0,)
    elif expand:
        numbers = range(item["count"])
    else:
        return [base]
    return [_numbered(base, number) for number in numbers]


def _numbered(link: Link, number: int) -> Link:
    a, b = (end.replace("{}", str(number)) for end in link.ends)
    return replace(link, name=link.name.replace("{}", str(number)), ends=(a, b), count=1)


def _medium(item: Mapping[str, Any]) -> Medium:
    stages = {name for way in ("down", "up") for name in words.stages(item[way])}
    name = f"{item['name']} {item.get('source', '')[:40]}"
    if stages & _SATELLITE_STAGES or _SATELLITE.search(name):
        return "satellite"
    is_radio = stages & _RADIO_STAGES or item.get("half_duplex") or _RADIO.search(name)
    return "radio" if is_radio else "wired"


def _kind(name: str, network: Network, hosts: set[str]) -> Kind:
    if re.match(r"sat", name, re.IGNORECASE):
        return "satellite"
    media = {link.medium for link in network.links if name in link.ends}
    if name in hosts:
        return "host"
    if "radio" in media:
        return "station"
    return "dish" if "satellite" in media else "router"


def _agents(scenario: Mapping[str, Any], name: str) -> tuple[AgentMark, ...]:
    marks = []
    for agent in scenario.get("agents", []):
        if agent["at"] == name:
            served = agent.get("satellite_tcp") or agent.get("wireless_tcp") or {}
            half = words.tcp_name({**scenario["tcp"], **served})
            other = words.tcp_name({**scenario["tcp"], **(agent.get("wired_tcp") or {})})
            mark = AgentMark(agent["kind"], agent["wireless"], half, other, agent["enabled"])
            marks.append(mark)
    return tuple(marks)


def _pattern(name: str) -> str:
    return re.sub(r"\d+", "{}", name, count=1)


def group_leaves(network: Network) -> None:
    """Join the hosts at the same router to a group, while there are too many nodes."""
    for same_spec in (True, False):
        if len(network.nodes) <= MOST_NODES:
            return
        groups: dict[tuple[object, ...], list[Link]] = {}
        for link in network.links:
            for leaf, hub in (link.ends, link.ends[::-1]):
                node = network.nodes[leaf]
                if len(network.neighbours(leaf)) == 1 and not node.agents and node.count == 1:
                    turned = link if link.ends[0] == leaf else link.turned()
                    spec = turned.spec if same_spec else ()
                    key = (hub, node.kind, link.ends[0] == leaf, _pattern(leaf), *spec)
                    groups.setdefault(key, []).append(turned)
                    break
        for key, members in groups.items():
            if len(members) > 1:
                _join(network, str(key[0]), members)


def _join(network: Network, hub: str, members: list[Link]) -> None:
    leaves = [link.ends[0] for link in members]
    name = f"{leaves[0]} … {leaves[-1]}"
    specs = {link.spec for link in members}
    first = members[0]
    texts = (first.down, first.up) if len(specs) == 1 else (("values differ",),) * 2
    joined = Link(
        f"{first.name} … {members[-1].name}", (name, hub), first.medium, *texts, count=len(members)
    )
    order = [link for link in network.links if not set(link.ends) & set(leaves)]
    at = min(n for n, link in enumerate(network.links) if set(link.ends) & set(leaves))
    order.insert(min(at, len(order)), joined)
    network.links = order
    kind = network.nodes[leaves[0]].kind
    nodes: dict[str, Node] = {}
    for old, node in network.nodes.items():
        if old == leaves[0]:
            nodes[name] = Node(name, kind, len(leaves))
        elif old not in leaves:
            nodes[old] = node
    network.nodes = nodes


def _lanes(scenario: Mapping[str, Any], network: Network) -> list[Lane]:
    place = _places(scenario, network)
    grouped: dict[tuple[str, str, str, str], list[Mapping[str, Any]]] = {}
    for flow, config in flows_of(scenario):
        name = words.flow_tcp(flow, config)
        start, end = place(flow["from"]), place(flow["to"])
        key = (words.app(flow), name, start, end)
        grouped.setdefault(key, []).append(flow)
    lanes = []
    for (app, tcp, start, end), flows in grouped.items():
        label = f"{words.flow_names(flows)}: {app}"
        network.sources |= _hosts(network, flows, "from") | {start}
        network.sinks |= _hosts(network, flows, "to") | {end}
        ends = words.host_names(flows, "from"), words.host_names(flows, "to")
        lanes.append(_lane(network, label, ends, (start, end), tcp))
    if len(lanes) > _MOST_LANES:
        more = len(lanes) - _MOST_LANES
        network.notes.append(f"{more} more kinds of flows are not drawn")
    return lanes[:_MOST_LANES]


def _hosts(network: Network, flows: Sequence[Mapping[str, Any]], key: str) -> set[str]:
    """Return the nodes that the braces of flows' ends stand for."""
    names = {str(flow[key]) for flow in flows}
    return {node for node in network.nodes if node in names or _pattern(node) in names}


def _places(scenario: Mapping[str, Any], network: Network) -> Any:  # noqa: ANN401 (a function)
    """Return a function from the name of a flow's end to the node that stands for it."""
    ranges = [name for name in network.nodes if " … " in name]
    links = scenario["links"]
    counts = {end: link["count"] for link in links for end in link["between"] if "{}" in end}

    def place(name: str) -> str:
        if name in network.nodes:
            return name
        first = name.replace("{}", "0")
        if first in network.nodes:
            return first
        pattern = _pattern(first)
        if pattern in network.nodes or pattern in counts:
            return pattern
        return next((item for item in ranges if _pattern(item.split(" … ")[0]) == pattern), name)

    return place


def _lane(
    network: Network, label: str, ends: tuple[str, str], places: tuple[str, str], tcp: str
) -> Lane:
    """Return the lane of a flow, cut at the agents that end its connections."""
    start, end = places
    path = network.path(start, end) if tcp != "UDP" else [start, end]
    stops, tcps = [start], [tcp]
    for name, after in pairwise(path[1:]):
        marks = (item for item in network.nodes[name].agents if item.kind in _SPLIT)
        mark = next((item for item in marks if item.enabled), None)
        if mark is not None:
            served = next((link.ends for link in network.links if link.name == mark.link), ())
            stops.append(name)
            tcps.append(mark.tcp if after in served else mark.other_tcp)
    return Lane(label, ends, (*stops, end), tuple(tcps))
