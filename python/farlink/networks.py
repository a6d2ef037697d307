"""Pictures of the networks of scenarios."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from farlink import source

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["network"]


def network(
    scenario: str | Path | Mapping[str, object],
    *,
    tcp: str | None = None,
    overrides: Mapping[str, object] | None = None,
) -> "Figure":
    """Draw the network of a scenario: nodes, links, agents and flows, left to right.

    Each link has its rate, delay, losses and queue per direction; each flow is an arrow with its
    TCP. Above 20 nodes, hosts at the same router are drawn as one group.

    Parameters
    ----------
    scenario
        Scenario, as for `run`.
    tcp
        Name of the TCP; by default that of the scenario.
    overrides
        Values by path, as for `run`.

    Raises
    ------
    ScenarioError
        If the scenario is wrong, or has more than 200 nodes beside groups of hosts.
    """
    where = source.find(scenario)
    texts = where.resolve([tcp] if tcp else None, source.changes(overrides, None))
    from farlink.plot.network import draw_network

    return draw_network(json.loads(next(iter(texts.values()))))
