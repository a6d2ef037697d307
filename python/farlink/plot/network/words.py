"""Short texts for the parts of a resolved scenario."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

__all__ = [
    "TIMES",
    "app",
    "direction",
    "flow_names",
    "flow_tcp",
    "host_names",
    "notes",
    "shared",
    "stages",
    "tcp_name",
]

TIMES = "\N{MULTIPLICATION SIGN}"

_MOST_CHARACTERS = 40

_UDP = ("cbr", "onoff")

_PERCENT = ("loss", "share", "corrupt", "duplicate")


_DELAYS = {"delay_trace", "internet_delay", "orbit"}
"""Stages that have the delay of a direction, whose own delay may then be 0."""


def stages(way: Mapping[str, Any]) -> dict[str, Any]:
    """Return the stages of a direction's channel by name."""
    channel = way.get("channel", {})
    tables = channel if isinstance(channel, list) else [channel]
    return {name: value for table in tables for name, value in table.items()}


def direction(way: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the texts of a direction: rate and delay, then what follows from other keys."""
    if "contacts" in way:
        texts = ["rate and delay from contacts"]
    else:
        rate = "rate from a trace" if "rate_trace" in way else way["rate"]
        delay = way["delay"]
        is_elsewhere = delay == "0 s" and not _DELAYS.isdisjoint(stages(way))
        texts = [rate if is_elsewhere else f"{rate}, {delay}"]
    for name, value in stages(way).items():
        text = _stage(name, value)
        if text:
            texts.append(text)
    texts.append(_queue(way))
    if way.get("background"):
        texts.append("cross traffic")
    if "fec" in way:
        fec = way["fec"]
        texts.append(f"FEC ({fec['n']},{fec['k']})" if "n" in fec else "FEC")
    for key, name in (("service_time", "service"), ("mtu", "MTU"), ("overhead", "framing")):
        if way.get(key, "0 B") not in ("0 B", "0 s"):
            texts.append(f"{name} {way[key]}")
    return tuple(texts)


def _queue(way: Mapping[str, Any]) -> str:
    rule = way.get("discipline")
    if rule is not None:
        return str(rule if isinstance(rule, str) else rule["method"])
    queue = way["queue"]
    if queue == "unlimited":
        return "queue unlimited"
    if "packets" in queue:
        return f"queue {queue['packets']} packets"
    return f"queue {queue.get('bytes') or queue.get('time') or 'limited'}"


def _stage(name: str, value: Any) -> str:  # noqa: ANN401 (whatever a stage has)
    title = _NAMES.get(name, name.replace("_", " "))
    if not isinstance(value, Mapping):
        return f"{title} {_value(name, value)}" if value else ""
    parts: list[str] = []
    for key, item in value.items():
        if isinstance(item, str | int | float) and not isinstance(item, bool) and key != "data":
            part = f"{key.replace('_', ' ')} {_value(key, item)}"
            if len(", ".join([title, *parts, part])) > _MOST_CHARACTERS:
                break
            parts.append(part)
    return f"{title}: {', '.join(parts)}" if parts else title


_NAMES = {
    "ber": "BER",
    "gilbert": "bursts",
    "satellite": "rain fades",
    "mobile": "mobile fades",
    "byte_errors": "byte errors",
    "internet_delay": "Internet delay",
    "reconfiguration": "path changes",
    "rayleigh": "Rayleigh fades",
}
"""Titles of stages whose key is not a word of a picture."""


def _value(key: str, value: object) -> str:
    if isinstance(value, float) and key in _PERCENT:
        return f"{100 * value:.3g} %"
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def shared(link: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the texts that apply to both directions of a link."""
    texts = ["half duplex"] if link.get("half_duplex") else []
    if "arq" in link:
        arq = link["arq"]
        protocol = arq["protocol"]
        if protocol != "none":
            texts.append(f"retransmits ({protocol.upper()})")
        if "mac" in arq:
            access = arq["mac"]["access"]
            texts.append(f"{_ACCESS.get(access, access + ' access')}")
    if "header_compression" in link:
        texts.append("header compression")
    return tuple(texts)


_ACCESS = {"csma-ca": "CSMA/CA", "aloha": "slotted ALOHA", "dama": "DAMA"}


def tcp_name(tcp: Mapping[str, Any]) -> str:
    """Return the name of a TCP as options of commands have it."""
    profile, variant = tcp.get("profile", "rfc"), str(tcp["variant"])
    return variant if profile == "rfc" else f"{profile}-{variant}"


def flow_tcp(flow: Mapping[str, Any], tcp: Mapping[str, Any]) -> str:
    """Return the transport of a flow: the name of its TCP, "UDP" or "XTP"."""
    if flow["app"] in _UDP:
        return "UDP"
    return "XTP" if flow["app"] == "xtp" else tcp_name(tcp)


def app(flow: Mapping[str, Any]) -> str:
    """Return the traffic of a flow in some words."""
    if "role" in flow:
        return str(flow["role"])
    kind = flow["app"]
    size, rate = flow.get("size"), flow.get("rate")
    if isinstance(size, str) and kind in ("file", "repeat", "xtp"):
        return {"file": f"file of {size}", "repeat": f"files of {size}"}.get(kind, size)
    if isinstance(rate, str):
        return f"{kind} {rate}"
    return str(kind)


def flow_names(flows: Sequence[Mapping[str, Any]]) -> str:
    """Return the names of flows of one kind, with their number."""
    count = sum(int(flow["count"]) for flow in flows)
    name, last = str(flows[0]["name"]), str(flows[-1]["name"])
    if len(flows) > 1:
        name = f"{name} … {last}".replace("{}", "0")
    elif "{}" in name:
        name = name.replace("{}", f"0 … {count - 1:,}")
    return f"{name} ({TIMES} {count:,})" if count > 1 else name


def host_names(flows: Sequence[Mapping[str, Any]], key: str) -> str:
    """Return the names of the hosts at one end of flows."""
    names = list(dict.fromkeys(str(flow[key]) for flow in flows))
    if len(names) == 1:
        return names[0].replace("{}", f"0 … {int(flows[0]['count']) - 1:,}")
    return f"{names[0]} … {names[-1]}"


def notes(scenario: Mapping[str, Any]) -> list[str]:
    """Return sentences for what a picture has no sign for."""
    texts = []
    for move in scenario.get("handoffs", []):
        when = "as it moves" if "mobility" in move else f"at {', '.join(move['at'])}"
        links = ", ".join(move["links"])
        texts.append(f"{move['host']} changes its link {when}: {links}; gap {move['gap']}.")
    routes = scenario.get("routes", [])
    starts = {item["start"] for item in routes if item.get("start", "0 s") != "0 s"}
    if routes:
        shown = [f"{item['at']} to {item['to']} via {item['via']}" for item in routes[:3]]
        more = f" and {len(routes) - 3:,} more" if len(routes) > 3 else ""
        name = f"Routes that change {_times(len(starts))}" if starts else "Static routes"
        texts.append(f"{name}: {'; '.join(shown)}{more}.")
    for host in scenario.get("hosts", []):
        law = host["jitter"]["distribution"]
        who = (
            f"Hosts {host['name']} delay" if "{" in host["name"] else f"Host {host['name']} delays"
        )
        texts.append(f"{who} packets ({law}, mean {host['jitter']['mean']}).")
    return [re.sub(r"\s+", " ", text) for text in texts]


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count:,} times"
