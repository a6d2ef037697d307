"""Hooks that edit scenarios, for the model itself, interpretations and negative controls."""

from collections.abc import Callable
from typing import Any

from farlink.studies.west1997.registry import REGISTRY

__all__: list[str] = []

SETTLED_RTO_S = {True: 1.0, False: 3.0}
"""RTO (s) that a transfer without errors reaches on the LAN (True) and on the slow link (False)."""

_FAST_MS = 10


def _is_lan(scenario: dict[str, Any]) -> bool:
    service = scenario["links"][1]["down"]["service_time"].removesuffix(" ms")
    return float(service) < _FAST_MS


def _is_constant(scenario: dict[str, Any]) -> bool:
    return bool(scenario["tcp"].get("ackp") == "constant")


def _agents(**keys: Any) -> Callable[[dict[str, Any]], None]:  # noqa: ANN401 (any value of TOML)
    """Return a hook that sets keys of snoop and of the agents based on it (ackp, ebsn)."""

    def change(scenario: dict[str, Any]) -> None:
        for agent in scenario.get("agents", []):
            if agent["kind"] in ("snoop", "ackp", "ebsn"):
                agent.update(keys)

    return change


@REGISTRY.hook("as_measured")
def _as_measured(scenario: dict[str, Any]) -> None:
    """Set the sender's timer after a partial acknowledgment, and the start of the local timer.

    The former is twice the usual RTO (4.2). The local timer starts when a packet is cached (3.3).
    On the slow link, packets wait in front of the code that caches, delays and forwards (5.3).
    """
    if _is_lan(scenario):
        _agents(timer_from="arrival")(scenario)
    if scenario["tcp"]["variant"] == "tahoe":
        # Tahoe always restarts its timer at a retransmission, so the key has no effect.
        scenario["tcp"].pop("restart_on_retransmit")
    if _is_constant(scenario):
        scenario["tcp"]["ackp_timer"] = f"{2 * SETTLED_RTO_S[_is_lan(scenario)]:g} s"


@REGISTRY.hook("ackp_first_rto")
def _ackp_first_rto(scenario: dict[str, Any]) -> None:
    """Set the sender's timer after a partial acknowledgment to twice the initial RTO."""
    if _is_constant(scenario):
        scenario["tcp"]["ackp_timer"] = "12 s"


REGISTRY.hook("timer_from_caching")(_agents(timer_from="arrival"))
REGISTRY.hook("timer_from_departure")(_agents(timer_from="departure"))
REGISTRY.hook("repairs_ahead")(_agents(ahead=True))
REGISTRY.hook("tick_20ms")(_agents(tick="20 ms"))
REGISTRY.hook("tick_2s")(_agents(tick="2 s"))
REGISTRY.hook("one_try")(_agents(tries=1))
REGISTRY.hook("no_room")(_agents(cache=1))
REGISTRY.hook("agents_off")(_agents(enabled=False))


@REGISTRY.hook("window_17520")
def _window_17520(scenario: dict[str, Any]) -> None:
    """Round a receive window of 16 KiB up to whole segments."""
    if (scenario["tcp"]["receive_window"], scenario["tcp"]["mss"]) == ("16 KiB", "1460 B"):
        scenario["tcp"]["receive_window"] = "17520 B"


@REGISTRY.editor("local_timer")
def _local_timer(scenario: dict[str, Any], tick: str) -> None:
    """Set the least local timer of snoop and of the agents based on it."""
    _agents(tick=tick)(scenario)


@REGISTRY.hook("ack_ends_backoff")
def _ack_ends_backoff(scenario: dict[str, Any]) -> None:
    """End the doubling of time-outs at any ACK of new data."""
    scenario["tcp"]["ack_ends_backoff"] = True


@REGISTRY.hook("acks_pass")
def _acks_pass(scenario: dict[str, Any]) -> None:
    """Damage no ACKs on the wireless link."""
    if scenario["flows"][0]["to"] == "chopin":
        scenario["links"][1]["up"].pop("channel", None)


@REGISTRY.hook("standard_sender")
def _standard_sender(scenario: dict[str, Any]) -> None:
    """Halve the data in flight after a loss, and grow the window only while it is full."""
    scenario["tcp"] |= {"reduce_from": "flight", "cwnd_validation": True, "cwnd_limit": "none"}


@REGISTRY.hook("slow_timer")
def _slow_timer(scenario: dict[str, Any]) -> None:
    if not _is_lan(scenario):
        _agents(tick="400 ms")(scenario)


@REGISTRY.hook("tick_1s_slow")
def _tick_1s_slow(scenario: dict[str, Any]) -> None:
    if not _is_lan(scenario):
        _agents(tick="1 s")(scenario)


@REGISTRY.hook("slow_reno")
def _slow_reno(scenario: dict[str, Any]) -> None:
    down = scenario["links"][1]["down"]
    if not _is_lan(scenario) and not scenario.get("agents") and "channel" in down:
        down["service_time"] = "167 ms"


def _other_packets(scenario: dict[str, Any], bits_per_s: int) -> None:
    """Send packets of 100 bytes of other traffic to the mobile host."""
    if bits_per_s and scenario["flows"][0]["to"] == "chopin":
        other = {"from": "ravel", "to": "chopin", "app": "cbr", "packet": "100 B"}
        other |= {"name": "other", "rate": f"{bits_per_s} bit/s", "duration": "3000 s"}
        scenario["flows"].append(other)


@REGISTRY.hook("other_traffic")
def _other_traffic(scenario: dict[str, Any]) -> None:
    """Add a rare packet of other traffic to the mobile host, and slow packets without an agent."""
    _other_packets(scenario, 60 if _is_lan(scenario) else 40)
    _slow_reno(scenario)


OTHER_BITS_PER_S = {"none": 0, "25 s": 32, "20 s": 40, "16 s": 50, "10 s": 80}
"""Rate of other traffic, by the time between its packets of 100 bytes."""


@REGISTRY.editor("other_every")
def _other_every(scenario: dict[str, Any], period: str) -> None:
    """Add a packet of other traffic to the mobile host each `period`."""
    _other_packets(scenario, OTHER_BITS_PER_S[period])


@REGISTRY.hook("free_medium")
def _free_medium(scenario: dict[str, Any]) -> None:
    """Delay packets on the slow link without holding the medium: ACKs pass meanwhile."""
    if not _is_lan(scenario):
        scenario["links"][1].pop("half_duplex")
        scenario["links"][1]["down"]["service_time"] = "94.6 ms"


@REGISTRY.hook("slow_timer_free")
def _slow_timer_free(scenario: dict[str, Any]) -> None:
    """Free the medium during the added delay, with a local timer of at least 380 ms there."""
    if not _is_lan(scenario):
        _free_medium(scenario)
        _agents(tick="380 ms")(scenario)


@REGISTRY.hook("full_duplex")
def _full_duplex(scenario: dict[str, Any]) -> None:
    """Make the wireless link full duplex, with the rate that then fits Tables 1 and 3."""
    link, slow = scenario["links"][1], not _is_lan(scenario)
    link.pop("half_duplex")
    for direction in ("down", "up"):
        link[direction].pop("service_time")
        link[direction]["rate"] = "1.717 Mbit/s"
    if slow:
        link["down"]["rate"] = "119.3 kbit/s"


@REGISTRY.hook("drops_in_rows")
def _drops_in_rows(scenario: dict[str, Any]) -> None:
    """Drop the same share of packets in congestion periods of 0.1 s, about ten WAN packets each."""
    down = scenario["links"][2]["down"]
    loss = down.get("channel", {}).get("loss")
    if loss:
        periods = loss / 0.1
        down["channel"] = {"congestion": {"duration": "100 ms", "periods": periods}}


@REGISTRY.hook("newreno")
def _newreno(scenario: dict[str, Any]) -> None:
    if scenario["tcp"]["variant"] == "reno":
        scenario["tcp"].update(variant="newreno", newreno_exit="ssthresh", byte_counting="off")


@REGISTRY.hook("newreno_exit")
def _newreno_exit(scenario: dict[str, Any]) -> None:
    if scenario["tcp"]["variant"] == "newreno":
        scenario["tcp"]["newreno_exit"] = "flight-rfc3782"


@REGISTRY.hook("no_ackp")
def _no_ackp(scenario: dict[str, Any]) -> None:
    """Replace every agent with partial acknowledgments by snoop."""
    for agent in scenario.get("agents", []):
        if agent["kind"] == "ackp":
            agent["kind"] = "snoop"
            agent.pop("protocol", None)
            for key in ("ackp", "ackp_timer"):
                scenario["tcp"].pop(key, None)


@REGISTRY.hook("ackp_restart")
def _ackp_restart(scenario: dict[str, Any]) -> None:
    """Let a partial acknowledgment restart the timer with the current RTO instead of a constant."""
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
    if errors.get("burst") == 6:
        errors["burst"] = 5


@REGISTRY.hook("errors_of_table_1")
def _errors_of_table_1(scenario: dict[str, Any]) -> None:
    """Damage as many packets as the goodput of 97.2 % in Table 1 counts."""
    if scenario.get("agents"):
        _errors(_more_often)(scenario)


def _more_often(errors: dict[str, Any]) -> None:
    if "burst" not in errors and errors["distance"] == "64 KiB":
        errors["distance"] = "52736 B"


REGISTRY.hook("half_the_errors")(_errors(_twice_as_far))
REGISTRY.hook("bursts_of_five")(_errors(_five))
