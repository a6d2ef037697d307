"""Bottleneck of a scenario, and variants of the scenario with ARQ, proxies or traffic."""

import copy
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from farlink import _farlink, source, units
from farlink.advice import moving
from farlink.errors import ScenarioError

__all__ = [
    "Bottleneck",
    "Size",
    "anywhere",
    "bottleneck",
    "call_rate",
    "sizes",
    "with_arq",
    "with_call",
    "with_proxy",
    "with_traffic",
]

_PACKET = 1500

_CALL = {"app": "cbr", "packet": "200 B"}
"""Keys of a flow that resembles a telephone call; its rate is that of `call_rate`."""

_CALL_BIT_S, _CALL_SHARE = 64_000.0, 0.1
"""Rate of the call, and its greatest share of the slowest link."""

_AT_LEAST_S = 60.0
_ROUND_TRIPS = 100
"""Shortest duration of the call, in round trips."""

_FRAMES = {"lapb": 127, "mdlp": 63}
"""Window of each link protocol (frames); the sequence numbers are modulo 128."""


@dataclass(frozen=True)
class Bottleneck:
    """Slowest link in the direction of the first flow's data, with the whole path's delay."""

    place: int
    name: str
    direction: str
    rate_bit_s: float | None
    delay_s: float
    """One-way delay over all links of the path (s)."""
    queue: int | None
    """Queue of the link (bytes); None without a limit."""
    channel: Mapping[str, Any]
    between: tuple[str, str]
    """Node on the sender's side of the link, and node on the receiver's side."""
    bounds: tuple[float, float] | None = None
    """Lowest and highest rate (bit/s) of a rate trace; `rate_bit_s` is then its mean."""

    @property
    def bdp(self) -> int:
        """Bandwidth-delay product of the path at the link's rate (bytes)."""
        return round((self.rate_bit_s or 0.0) / 8 * 2 * self.delay_s)

    @property
    def holds(self) -> int:
        """Capacity of path and queue (bytes): BDP + min(queue, 2 BDP), at least 64 KiB."""
        queue = self.bdp if self.queue is None else min(self.queue, 2 * self.bdp)
        return max(self.bdp + queue, 64 * 1024)

    @property
    def is_lossy(self) -> bool:
        """Whether the link has a channel that loses or alters packets."""
        return bool(self.channel)


def bottleneck(tree: Mapping[str, Any]) -> Bottleneck:
    """Find the slowest link on the path of the first TCP flow.

    Raises
    ------
    ScenarioError
        If there is no path, none of its links has a rate, or one of them has contacts.
    """
    flow = next(item for item in tree["flows"] if item.get("app") not in ("cbr", "onoff", "xtp"))
    begin, end = source.ends(flow)
    way = _way(tree["links"], begin.replace("{}", "0"), end.replace("{}", "0"))
    entries: list[tuple[float, int, str, tuple[float, float] | None]] = []
    delay = 0.0
    for place, direction in way:
        item = tree["links"][place][direction]
        if item.get("contacts") is not None:
            name = tree["links"][place].get("name") or "-".join(tree["links"][place]["between"])
            raise ScenarioError(
                f"link {name}, {direction}: advise needs one rate and delay, and this link has "
                "contacts; compare TCPs with `farlink run` and --tcp linux-cubic,linux-bbr,quic"
            )
        delay += units.parse_time(item.get("delay")) or 0.0
        delay += moving.extra_delay(tree, place, direction)
        rate, bounds = units.parse_rate(item.get("rate")), None
        if item.get("rate_trace") is not None:
            rate, *ends = _traced(tree, place, direction)
            bounds = (ends[0], ends[1])
        if rate is not None:
            entries.append((rate, place, direction, bounds))
    if not entries:
        raise ScenarioError("no link on the way of the first flow has a rate")
    rate, place, direction, bounds = min(entries, key=lambda row: row[0])
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
        bounds,
    )


def _traced(tree: Mapping[str, Any], place: int, direction: str) -> list[float]:
    """Return the mean, lowest and highest rate (bit/s) of a link with a rate trace."""
    link = tree["links"][place]
    name = str(link.get("name") or "-".join(link["between"])).replace("{}", "0")
    text = json.dumps(tree)
    sample = _farlink.sample_channel(text, name, direction, 1, 1500, None, 0)
    return [float(item) for item in json.loads(sample["told"])["rate"]]


def anywhere(tree: Mapping[str, Any]) -> dict[str, str]:
    """Return overrides that start each run at a random position of every trace.

    Without a random offset, all runs would begin at the first row, and meet the same rain storm.
    Traces of delay and loss that do not repeat keep their times if the rate is constant.
    """
    table: dict[str, str] = {}
    for place, link in enumerate(tree["links"]):
        for direction in ("down", "up"):
            item = link.get(direction) or {}
            moved = _moved(item.get("rate_trace"), f"links.{place}.{direction}.rate_trace")
            table |= moved
            channel = item.get("channel") or {}
            base = f"links.{place}.{direction}.channel"
            stages = enumerate(channel) if isinstance(channel, list) else [(None, channel)]
            for number, stage in stages:
                where = base if number is None else f"{base}.{number}"
                for key in ("delay_trace", "loss_trace"):
                    # Rate, delay and loss of a moment stay together.
                    if moved or (stage.get(key) or {}).get("repeat"):
                        table |= _moved(stage.get(key), f"{where}.{key}")
    return table


def _moved(trace: object, path: str) -> dict[str, str]:
    """Return overrides that start a run at a random position of a trace."""
    if not isinstance(trace, Mapping) or trace.get("random_offset") or trace.get("offset"):
        return {}
    table = {f"{path}.random_offset": "true"}
    if "," in str(trace.get("data", "")).splitlines()[0]:
        table[f"{path}.repeat"] = "true"
    return table


@dataclass(frozen=True)
class Size:
    """Transfer size to try; with `bytes` None, the scenario's own flows."""

    label: str
    bytes: int | None
    tree: Mapping[str, Any]

    def __str__(self) -> str:
        return self.label if self.bytes is None else f"{self.label}: {size_text(self.bytes)}"


def size_text(count: float) -> str:
    """Format a size as scenarios do: "20 MB"."""
    factor, unit = units.prefixed(count, "B")
    return f"{count / factor:.3g} {unit}"


_SHORT, _MIDDLE, _LONG, _LEAST_LONG = 0.1, 3.0, 100.0, 10.0
"""Sizes of the three transfers in bandwidth-delay products, and the smallest size of the long one.
"""

_LEAST = (15_000, 150_000, 1_500_000)
"""Smallest sizes of the three transfers (bytes): 10, 100 and 1,000 segments."""

_ENOUGH = 20_000_000
"""Maximum size (bytes) of the long transfer, unless 10 bandwidth-delay products are more."""

_ALIKE = 2.5
"""Ratio below which two sizes count as equal."""


def sizes(
    tree: Mapping[str, Any], path: Bottleneck, asked: Sequence[str]
) -> tuple[list[Size], list[Size]]:
    """Return the sizes that decide the choice, and the sizes that are only reported.

    For a single transfer the deciding sizes are a short, a middle and a long one, and the
    scenario's own. Sizes given by the user decide instead. If several flows share the path, only
    the scenario itself is tried.
    """
    rows = [
        (place, item)
        for place, item in enumerate(tree["flows"])
        if item.get("app") not in ("cbr", "onoff", "xtp")
    ]
    place, flow = rows[0]
    app = flow.get("app", "file")
    alone = len(rows) == 1 and int(flow.get("count", 1)) == 1 and app in ("file", "bulk")
    if asked and not (alone and app == "file"):
        raise ScenarioError("--size is for a scenario with one transfer of a file")
    if not alone:
        return [Size("as the scenario has it", None, tree)], []

    def of(label: str, count: int) -> Size:
        changed = copy.deepcopy(dict(tree))
        row = changed["flows"][place]
        row.pop("duration", None)
        row.pop("reverse", None)
        row |= {"app": "file", "size": f"{count} B"}
        return Size(label, count, changed)

    own = units.whole_size(flow["size"]) if app == "file" and "size" in flow else None
    wanted = []
    for text in asked:
        count = units.whole_size(text)
        if count is None or not 1 <= count <= 2**50:
            raise ScenarioError(f"--size {text}: write a size such as 50MB")
        wanted.append(of("asked", count))
    bdp = path.bdp
    longest = max(min(_LONG * bdp, _ENOUGH), _LEAST_LONG * bdp)
    counts = [
        max(float(f"{count:.1g}"), least)
        for count, least in zip((_SHORT * bdp, _MIDDLE * bdp, longest), _LEAST, strict=True)
    ]
    taken = [request.bytes for request in wanted if request.bytes] or ([own] if own else [])
    derived = [
        of(label, int(count))
        for label, count in zip(("short", "middle", "long"), counts, strict=True)
        if not any(1 / _ALIKE < count / item < _ALIKE for item in taken)
    ]
    if wanted:
        return wanted, derived
    here = Size("the scenario's", own, tree)
    return sorted([here, *derived], key=lambda item: item.bytes or 2**60), []


def _way(links: Any, begin: str, end: str) -> list[tuple[int, str]]:  # noqa: ANN401 (of JSON)
    """Return the links of a shortest path (fewest links) between two nodes."""
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


def _queue(value: Any, rate: float, delay: float) -> int | None:  # noqa: ANN401 (of JSON)
    if isinstance(value, str) and value != "unlimited":
        value = {"time": value}
    if not isinstance(value, Mapping):
        return None
    if "packets" in value:
        return int(value["packets"]) * _PACKET
    if "bytes" in value:
        return units.whole_size(value["bytes"])
    if "bdp" in value:
        return round(float(value["bdp"]) * rate / 8 * 2 * delay)
    if "time" in value:
        return round((units.parse_time(value["time"]) or 0.0) * rate / 8)
    return None


def with_arq(tree: Mapping[str, Any], path: Bottleneck) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the scenario with link ARQ (LAPB, MDLP), if the link is lossy and has no ARQ.

    Each variant comes with its name for the page.
    """
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
        text = f"link ARQ: {protocol.upper()}, {window} frames"
        if path.rate_bit_s and ceiling < path.rate_bit_s:
            text += f" (its numbers allow {ceiling / 1e6:.3g} Mbit/s here)"
        yield text, changed


def with_proxy(tree: Mapping[str, Any], path: Bottleneck) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the scenario with an agent before the link: PEPsal, spoofing or snoop.

    PEPsal splits connections and uses Hybla on the link. Spoofing sends ACKs on behalf of the far
    host. Snoop caches packets that the link has not delivered yet, and retransmits those that the
    link lost; connections stay whole. Snoop is only tried on a lossy link.
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
    # The buffers of all connections together hold twice what path and queue hold.
    flows = sum(int(flow.get("count", 1)) for flow in tree["flows"])
    room = f"{1 << max(16, (2 * path.holds // flows - 1).bit_length())} B"
    yield (
        "spoofing before the link (acknowledges in the far end's name)",
        {**changed, "agents": [{**agent, "kind": "spoof", "buffer": room}]},
    )
    if path.is_lossy:
        yield (
            "snoop before the link (repairs losses, splits nothing)",
            {**changed, "agents": [{**agent, "kind": "snoop"}]},
        )


def _before(tree: Mapping[str, Any], path: Bottleneck) -> "tuple[dict[str, Any], str] | None":
    """Return a copy of the scenario with a non-host node before the link, and that node's name."""
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


def _lasts(path: Bottleneck) -> str:
    """Return the duration for which flows share the link: a minute, or less on a fast link."""
    round_trip = 2 * path.delay_s
    most = max(_MOST_DATA * 8 / (path.rate_bit_s or 1.0), _FEW_ROUND_TRIPS * round_trip, 1.0)
    return f"{min(max(_AT_LEAST_S, _ROUND_TRIPS * round_trip), most):.3g} s"


_MOST_DATA = 100_000_000
_FEW_ROUND_TRIPS = 20


def with_traffic(
    tree: Mapping[str, Any],
    path: Bottleneck,
    names: tuple[str, str],
    tcp: tuple[str, Mapping[str, str | int]],
    other: str,
) -> dict[str, Any]:
    """Return the scenario with two endless transfers: one with `tcp`, one with `other`."""
    begin, end = (
        node.replace("{}", "0")
        for node in source.ends(
            next(flow for flow in tree["flows"] if flow.get("app") not in ("cbr", "onoff", "xtp"))
        )
    )
    changed = copy.deepcopy(dict(tree))
    keys = {key.removeprefix("tcp."): value for key, value in tcp[1].items()}
    base = {"from": begin, "to": end, "app": "bulk", "duration": _lasts(path), "opens": "receiver"}
    changed["flows"] = [
        {**base, "name": names[0], "tcp": {**source.table_of(tcp[0]), **keys}},
        {**base, "name": names[1], "tcp": source.table_of(other)},
    ]
    changed.pop("tcp", None)
    changed.pop("duration", None)
    return changed


def call_rate(path: Bottleneck) -> float:
    """Return the rate of the call (bit/s): 64 kbit/s, and at most a tenth of the link's rate."""
    return min(_CALL_BIT_S, _CALL_SHARE * (path.rate_bit_s or _CALL_BIT_S / _CALL_SHARE))


def with_call(
    tree: Mapping[str, Any], path: Bottleneck, name: str
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return two scenarios: a call beside an endless transfer, and the call alone."""
    lasts = _lasts(path)
    beside = copy.deepcopy(dict(tree))
    first = next(flow for flow in tree["flows"] if flow.get("app") not in ("cbr", "onoff", "xtp"))
    begin, end = source.ends(first)
    call = {
        "name": name,
        "from": begin.replace("{}", "0"),
        "to": end.replace("{}", "0"),
        **_CALL,
        "rate": f"{call_rate(path):g} bit/s",
        "duration": lasts,
    }
    flows = []
    for flow in tree["flows"]:
        row = dict(flow)
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
