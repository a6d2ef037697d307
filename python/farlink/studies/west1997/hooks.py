"""Changes of scenarios that readings and wrong models need, and values by path cannot say."""

from collections.abc import Callable
from typing import Any

from farlink.studies.west1997.registry import REGISTRY

__all__: list[str] = []

SETTLED_RTO_S = {True: 1.0, False: 3.0}
"""The time-out that a transfer without errors settles at: on the LAN, on the slow link."""

_FAST = 1e6


def _rate(scenario: dict[str, Any]) -> float:
    number, _, unit = scenario["links"][1]["down"]["rate"].partition(" ")
    return float(number) * {"kbit/s": 1e3, "Mbit/s": 1e6}[unit]


def _is_constant(scenario: dict[str, Any]) -> bool:
    return bool(scenario["tcp"].get("ackp") == "constant")


@REGISTRY.hook("ackp_timer")
def _ackp_timer(scenario: dict[str, Any]) -> None:
    """Give the sender about twice its time-out after a partial acknowledgment (4.2)."""
    if _is_constant(scenario):
        scenario["tcp"]["ackp_timer"] = f"{2 * SETTLED_RTO_S[_rate(scenario) > _FAST]:g} s"


@REGISTRY.hook("ackp_first_rto")
def _ackp_first_rto(scenario: dict[str, Any]) -> None:
    """Give it twice the time-out that a connection begins with."""
    if _is_constant(scenario):
        scenario["tcp"]["ackp_timer"] = "12 s"


def _agents(**keys: Any) -> Callable[[dict[str, Any]], None]:  # noqa: ANN401 (any value of TOML)
    """Return a hook that sets keys of snoop and of what stands on it."""

    def change(scenario: dict[str, Any]) -> None:
        for agent in scenario.get("agents", []):
            if agent["kind"] in ("snoop", "ackp", "ebsn"):
                agent.update(keys)

    return change


REGISTRY.hook("repairs_ahead")(_agents(ahead=True))
REGISTRY.hook("tick_20ms")(_agents(tick="20 ms"))
REGISTRY.hook("tick_400ms")(_agents(tick="400 ms"))
REGISTRY.hook("tick_2s")(_agents(tick="2 s"))
REGISTRY.hook("one_try")(_agents(tries=1))
REGISTRY.hook("no_room")(_agents(cache=1))
REGISTRY.hook("agents_off")(_agents(enabled=False))


@REGISTRY.hook("no_ackp")
def _no_ackp(scenario: dict[str, Any]) -> None:
    """Make snoop of every agent with partial acknowledgments."""
    for agent in scenario.get("agents", []):
        if agent["kind"] == "ackp":
            agent["kind"] = "snoop"
            agent.pop("protocol", None)
            for key in ("ackp", "ackp_timer"):
                scenario["tcp"].pop(key, None)


@REGISTRY.hook("ackp_restart")
def _ackp_restart(scenario: dict[str, Any]) -> None:
    """Start the timer anew with the time-out in force, instead of a constant."""
    if _is_constant(scenario):
        scenario["tcp"]["ackp"] = "restart"
        scenario["tcp"].pop("ackp_timer", None)


def _errors(change: Callable[[dict[str, Any]], None]) -> Callable[[dict[str, Any]], None]:
    """Return a hook that changes the error model of both directions."""

    def both(scenario: dict[str, Any]) -> None:
        for direction in ("down", "up"):
            channel = scenario["links"][1][direction].get("channel", {})
            if "byte_errors" in channel:
                change(channel["byte_errors"])

    return both


def _twice_as_far(errors: dict[str, Any]) -> None:
    errors["distance"] = f"{2 * int(errors['distance'].partition(' ')[0])} KiB"


def _five(errors: dict[str, Any]) -> None:
    if errors.get("burst") == 6:  # noqa: PLR2004 (that of the report)
        errors["burst"] = 5


REGISTRY.hook("half_the_errors")(_errors(_twice_as_far))
REGISTRY.hook("bursts_of_five")(_errors(_five))
