"""Paths that change during a run: their delay, and remedies at the link."""

import copy
import json
from collections.abc import Iterator, Mapping
from typing import Any

from farlink import _farlink, columns, phases
from farlink.errors import ScenarioError

__all__ = ["extra_delay", "note", "with_path"]

_MOVES = ("orbit", "reconfiguration", "delay_trace")
"""Processes that add a delay which changes over time."""

_GAPS = (
    ("orbit", "handover_time", "handover"),
    ("reconfiguration", "interruption_time", "interruption"),
)
"""Processes with an interruption: the keys of its duration, and of the fate of packets."""

_SAMPLES, _SPACING_NS = 600, 500_000_000
"""Packets by which a mean delay is sampled, and the time between two of them (ns)."""


def extra_delay(tree: Mapping[str, Any], place: int, direction: str) -> float:
    """Return the mean delay (s) that the channel of a moving link adds over five minutes."""
    link = tree["links"][place]
    item = link.get(direction) or {}
    if not any(key in stage for stage in _stages(item) for key in _MOVES):
        return 0.0
    name = str(link.get("name") or "-".join(link["between"])).replace("{}", "0")
    sample = _farlink.sample_channel(
        json.dumps(tree), name, direction, _SAMPLES, 1500, _SPACING_NS, 0
    )
    delays = columns.numbers(sample["columns"], "delay")  # In nanoseconds.
    return float(delays.mean()) * 1e-9 if len(delays) else 0.0


def with_path(tree: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the scenario with what a moving link could do: hold packets, or keep their order.

    Each variant comes with its name for the page.
    """
    held = copy.deepcopy(dict(tree))
    if _hold(held):
        yield "packets held, not lost, while the path changes", held
    ordered = copy.deepcopy(dict(tree))
    if _order(ordered):
        yield "packets kept in order where the delay falls", ordered


def note(tree: Mapping[str, Any]) -> str | None:
    """Return a sentence about the changes of the path; None without known changes."""
    try:
        changes = phases.boundaries(tree, 60.0)
    except ScenarioError:
        return None
    return (
        f"The path changes {len(changes):,} times in the first minute: `farlink run ... --phases "
        "path` has goodput, losses and needless retransmissions of each phase."
    )


def _stages(item: Mapping[str, Any]) -> list[Any]:
    """Return the stages of the channel of a direction, which can be changed in place."""
    channel = item.get("channel") or {}
    return channel if isinstance(channel, list) else [channel]


def _directions(tree: Mapping[str, Any]) -> Iterator[Any]:
    for link in tree["links"]:
        for direction in ("down", "up"):
            if link.get(direction):
                yield from _stages(link[direction])


def _hold(tree: Mapping[str, Any]) -> bool:
    """Hold packets during every interruption, and return whether there is one that drops them."""
    changed = False
    for stage in _directions(tree):
        for name, time, fate in _GAPS:
            table = stage.get(name)
            if table and table.get(time) not in (None, "0 s") and table.get(fate, "drop") == "drop":
                table[fate] = "hold"
                changed = True
    return changed


def _order(tree: Mapping[str, Any]) -> bool:
    """Keep the order on every moving link, and return whether one did not."""
    changed = False
    for stage in _directions(tree):
        for name in _MOVES:
            table = stage.get(name)
            if table and table.get("keep_order", True) is False:
                table["keep_order"] = True
                changed = True
    return changed
