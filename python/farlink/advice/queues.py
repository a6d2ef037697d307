"""Queue disciplines at the slowest link, as an answer to the delay of others."""

import copy
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from farlink.advice.path import Bottleneck
from farlink.stats import Estimate

__all__ = ["QueueChoice", "with_disciplines"]

_INTERVAL_S = 0.1
"""Interval of CoDel for paths of up to 100 ms (RFC 8289, 4.3)."""

_TARGET_SHARE = 0.05
"""Target of CoDel as a share of its interval (RFC 8289, 4.4: 5 to 10 %)."""

_METHODS = ("fq-codel", "cake", "codel", "fq-pie", "pie", "drr")
"""Disciplines to try. Each is a qdisc of Linux of the same name (with _ for -)."""

_WITH_INTERVAL = ("fq-codel", "cake", "codel")


@dataclass(frozen=True)
class QueueChoice:
    """Delay of a call and goodput of a transfer beside it, under one queue discipline."""

    what: str
    delay_mean: Estimate
    delay_p99: Estimate
    goodput: Estimate
    delay_change: Estimate
    """Change of the call's mean delay against the present queue, from paired runs (s)."""
    goodput_change: Estimate
    """Change of the transfer's goodput against the present queue, from paired runs (bit/s)."""

    @property
    def cost(self) -> float:
        """Share of the present queue's goodput that the discipline costs; below 0 for a gain."""
        change, mean = self.goodput_change.mean or 0.0, self.goodput.mean or 0.0
        return -change / (mean - change) if mean > change else 0.0


def with_disciplines(
    tree: Mapping[str, Any], path: Bottleneck
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the scenario with each queue discipline in front of the slowest link.

    CoDel's interval is the path's round trip if that is above 100 ms (RFC 8289, 4.3), because a
    shorter interval costs goodput. Each variant comes with its name for the page.
    """
    interval = max(_INTERVAL_S, math.ceil(2 * path.delay_s * 100) / 100)
    for method in _METHODS:
        changed = copy.deepcopy(dict(tree))
        link = changed["links"][path.place]
        direction = link[path.direction] = dict(link[path.direction])
        keys: dict[str, Any] = {"method": method}
        what = method
        if method in _WITH_INTERVAL and interval > _INTERVAL_S:
            keys["interval"] = f"{1e3 * interval:.0f} ms"
            keys["target"] = f"{1e3 * _TARGET_SHARE * interval:.3g} ms"
            what += f" (interval {keys['interval']}, target {keys['target']})"
        direction["discipline"] = keys
        yield what, changed
