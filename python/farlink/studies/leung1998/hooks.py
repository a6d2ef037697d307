"""Settings beyond values by path: one PLR for both directions, readings, wrong models."""

from typing import Any

from farlink.studies.leung1998.registry import REGISTRY

__all__ = ["HEADERS"]

HEADERS = 42
"""IP and TCP of the satellite path, with 2 bytes of option (Table 4.1)."""


_TIMED_EACH = 256
"""Bytes of a segment up to which 5.6.3 has Vegas slow, as it computes RTT and RTO for each."""


def _link(scenario: dict[str, Any], name: str) -> dict[str, Any]:
    result: dict[str, Any] = next(link for link in scenario["links"] if link["name"] == name)
    return result


def _mss(scenario: dict[str, Any]) -> int:
    return int(str(scenario["tcp"]["mss"]).split()[0])


def _is_mobile(scenario: dict[str, Any]) -> bool:
    return any("mobile" in link["down"].get("channel", {}) for link in scenario["links"])


@REGISTRY.hook("as_read")
def _as_read(scenario: dict[str, Any]) -> None:
    """Make of what a point says the scenario that it means."""
    if _is_mobile(scenario):
        _mobile(scenario)
    else:
        _satellite(scenario)


def _satellite(scenario: dict[str, Any]) -> None:
    """Add the queue's mean to the delay, and let ACKs meet the same rain as data."""
    scenario["links"] = [item for item in scenario["links"] if item["name"] != "radio"]
    link = _link(scenario, "satellite")
    channel = link["down"].get("channel", {})
    if "extra" in channel:
        extra = round(1000 * (channel.pop("extra") - 0.3))
        link["down"]["delay"] = f"{270 + extra} ms"
        if not channel:
            link["down"].pop("channel")
    rain = channel.get("satellite")
    if rain and "loss" in rain:
        rain["loss_size"] = f"{_mss(scenario) + 40} B"
        link["up"]["channel"] = {"satellite": dict(rain)}


def _mobile(scenario: dict[str, Any]) -> None:
    """Put a mobile at the end, and give ACKs the bit error rate that data of this length have.

    A handoff stops "the end-to-end communications" (3.2.1), data and ACKs at the same time.
    """
    scenario["links"] = [item for item in scenario["links"] if item["name"] != "satellite"]
    (flow,) = scenario["flows"]
    flow.update(to="mobile", size="10 MB")
    _link(scenario, "lan")["down"].pop("mtu")
    link = _link(scenario, "radio")
    state = link["down"]["channel"]["mobile"]
    state.update(carrier="850 MHz", fade_margin=30)
    if {"handoff_interval", "cell_radius"} & state.keys():
        state["shared"] = True
    loss = state.pop("loss_bad", None)
    if loss is not None:
        state["ber_bad"] = 1 - (1 - loss) ** (1 / (8 * (_mss(scenario) + 40)))
    link["up"]["channel"] = {"mobile": dict(state)}


def _variant(scenario: dict[str, Any]) -> str:
    return str(scenario["tcp"]["variant"])


@REGISTRY.hook("by_packet")
def _by_packet(scenario: dict[str, Any]) -> None:
    """Lose each IP packet in rain with the PLR of the rain, whatever its length."""
    if _is_mobile(scenario):
        return
    link = _link(scenario, "satellite")
    rain = link["down"].get("channel", {}).get("satellite")
    if rain and "loss" in rain:
        b, g = rain["b"], rain["g"]
        state = {"p": b, "r": g, "h": round(1 - rain["loss"] * (b + g) / b, 9)}
        for direction in ("down", "up"):
            link[direction]["channel"] = {"gilbert": state}


@REGISTRY.hook("swapped_rain")
def _swapped_rain(scenario: dict[str, Any]) -> None:
    """Exchange b and g, with the bit error rate of the rain as it was."""
    if _is_mobile(scenario):
        return
    link = _link(scenario, "satellite")
    for direction in ("down", "up"):
        rain = link[direction].get("channel", {}).get("satellite")
        if rain:
            rain["b"], rain["g"] = rain["g"], rain["b"]


@REGISTRY.hook("delay_by_draws")
def _delay_by_draws(scenario: dict[str, Any]) -> None:
    """Draw the queueing delay of the satellite's system for each packet, in order."""
    if _is_mobile(scenario):
        return
    down = _link(scenario, "satellite")["down"]
    extra = int(str(down["delay"]).split()[0]) - 270
    if extra > 0:
        down["delay"] = "270 ms"
        jitter = {"distribution": "exponential", "mean": f"{extra} ms"}
        down.setdefault("channel", {})["jitter"] = jitter


@REGISTRY.hook("delay_both_ways")
def _delay_both_ways(scenario: dict[str, Any]) -> None:
    """Let ACKs wait in that queue as long as data."""
    if not _is_mobile(scenario):
        link = _link(scenario, "satellite")
        link["up"]["delay"] = link["down"]["delay"]


@REGISTRY.hook("delay_ignored")
def _delay_ignored(scenario: dict[str, Any]) -> None:
    if not _is_mobile(scenario):
        _link(scenario, "satellite")["down"]["delay"] = "270 ms"


@REGISTRY.hook("merging")
def _merging(scenario: dict[str, Any]) -> None:
    """Acknowledge whatever came within MAD at once, however many segments."""
    scenario["tcp"]["ack_every"] = 1000


@REGISTRY.hook("each_at_once")
def _each_at_once(scenario: dict[str, Any]) -> None:
    """Acknowledge each segment at once, so that MAD says nothing."""
    for key in ("delayed_ack", "ack_every", "dup_acks", "ack_gap_fill"):
        scenario["tcp"].pop(key, None)
    scenario["tcp"]["delayed_ack"] = "off"


@REGISTRY.hook("duplicates_at_once")
def _duplicates_at_once(scenario: dict[str, Any]) -> None:
    scenario["tcp"]["dup_acks"] = "immediate"
    scenario["tcp"].pop("ack_gap_fill", None)


@REGISTRY.hook("one_window")
def _one_window(scenario: dict[str, Any]) -> None:
    """Give every connection over the satellite 64 KB, and over the mobile link 8."""
    scenario["tcp"]["receive_window"] = "8 KiB" if _is_mobile(scenario) else "64 KiB"


@REGISTRY.hook("one_segment")
def _one_segment(scenario: dict[str, Any]) -> None:
    """Give every connection segments of 512 bytes, of which PLR is then the loss."""
    scenario["tcp"]["mss"] = "512 B"
    for link in scenario["links"]:
        for direction in ("down", "up"):
            rain = link.get(direction, {}).get("channel", {}).get("satellite", {})
            if "loss_size" in rain:
                rain["loss_size"] = "552 B"


@REGISTRY.hook("no_eighth")
def _no_eighth(scenario: dict[str, Any]) -> None:
    """Leave the eighth of a segment out of equation 1."""
    if _variant(scenario) in ("reno", "tcp-rfc", "newreno"):
        scenario["tcp"].setdefault("control", {}).setdefault("reno", {})["mss_over_8"] = False


@REGISTRY.hook("brakmo")
def _brakmo(scenario: dict[str, Any]) -> None:
    """Make Vegas what its authors published: a quarter for a loss, a segment a round trip."""
    if _variant(scenario) == "vegas":
        scenario["tcp"]["control"]["vegas"].update(loss_cut="quarter", increase="segment")


@REGISTRY.hook("linear_vegas")
def _linear_vegas(scenario: dict[str, Any]) -> None:
    """Let Vegas grow by a segment a round trip, and cut one for a loss."""
    if _variant(scenario) in ("vegas", "p-tcp"):
        control = scenario["tcp"].setdefault("control", {}).setdefault("vegas", {})
        control["increase"] = "segment"


@REGISTRY.hook("halving_vegas")
def _halving_vegas(scenario: dict[str, Any]) -> None:
    if _variant(scenario) == "vegas":
        scenario["tcp"]["control"]["vegas"]["loss_cut"] = "half"


@REGISTRY.hook("rfc_drops")
def _rfc_drops(scenario: dict[str, Any]) -> None:
    """Let the receiver of RFC's TCP drop what is out of order."""
    if _variant(scenario) == "tcp-rfc":
        scenario["tcp"]["reassembly"] = False
        # Such a receiver keeps nothing that could fill a hole.
        scenario["tcp"].pop("ack_gap_fill", None)


@REGISTRY.hook("backoff_ends")
def _backoff_ends(scenario: dict[str, Any]) -> None:
    """End the backoff of RFC's TCP with any new ACK."""
    if _variant(scenario) == "tcp-rfc":
        scenario["tcp"]["ack_ends_backoff"] = True


@REGISTRY.hook("vegas_backoff_ends")
def _vegas_backoff_ends(scenario: dict[str, Any]) -> None:
    """End the backoff of Vegas with any new ACK."""
    if _variant(scenario) == "vegas":
        scenario["tcp"]["ack_ends_backoff"] = True


@REGISTRY.hook("reno_backoff_ends")
def _reno_backoff_ends(scenario: dict[str, Any]) -> None:
    """End the backoff of Reno and of Vegas with any new ACK."""
    if _variant(scenario) in ("reno", "vegas"):
        scenario["tcp"]["ack_ends_backoff"] = True


@REGISTRY.hook("vegas_unbound")
def _vegas_unbound(scenario: dict[str, Any]) -> None:
    """Let no threshold of Vegas bind."""
    if _variant(scenario) == "vegas":
        scenario["tcp"]["control"]["vegas"].update(alpha=1000, beta=3000, gamma=1000)


@REGISTRY.hook("vegas_per_second")
def _vegas_per_second(scenario: dict[str, Any]) -> None:
    """Let Vegas compare rates with 1 and 3 segments a second: as many BaseRTTs of segments."""
    if _variant(scenario) == "vegas":
        size = _mss(scenario) + 40
        if _is_mobile(scenario):
            base = 0.0274 + (size + 40) * 8 / 19_200
        else:
            way = _link(scenario, "satellite")
            out, back = (int(str(way[name]["delay"]).split()[0]) for name in ("down", "up"))
            base = 0.0254 + (out + back) / 1000 + (size + 40) * 8 / 1_544_000
        vegas = scenario["tcp"]["control"]["vegas"]
        vegas.update(alpha=round(base, 4), beta=round(3 * base, 4), gamma=round(base, 4))


@REGISTRY.hook("vegas_times_each")
def _vegas_times_each(scenario: dict[str, Any]) -> None:
    """Let Vegas send segments of 256 bytes or less one at a time."""
    if _variant(scenario) == "vegas" and _mss(scenario) <= _TIMED_EACH:
        scenario["tcp"]["receive_window"] = f"{_mss(scenario)} B"


@REGISTRY.hook("rfc_karn")
def _rfc_karn(scenario: dict[str, Any]) -> None:
    """Let RFC's TCP take no sample from a segment that was sent again."""
    if _variant(scenario) == "tcp-rfc":
        scenario["tcp"]["karn"] = True


@REGISTRY.hook("rfc_plain")
def _rfc_plain(scenario: dict[str, Any]) -> None:
    """Take from RFC's TCP the eighth of a segment and the count of its ACKs."""
    if _variant(scenario) == "tcp-rfc":
        _no_eighth(scenario)
        _merging(scenario)


def _delays(scenario: dict[str, Any], delay: str, **keys: Any) -> None:  # noqa: ANN401
    """Set the constant that is added to the Internet's delay, and keys of its distribution."""
    link = _link(scenario, "internet")
    for direction in ("down", "up"):
        link[direction]["delay"] = delay
        link[direction]["channel"]["internet_delay"].update(keys)


@REGISTRY.hook("raised_4_percent")
def _raised_4_percent(scenario: dict[str, Any]) -> None:
    """Raise the delay of 4 percent of packets, with the printed mean of 18 ms."""
    _delays(scenario, "5.7 ms", raised_share=0.04)


@REGISTRY.hook("in_order_4_percent")
def _in_order_4_percent(scenario: dict[str, Any]) -> None:
    """Do so with packets in order, which wait 3.5 ms on average for those before."""
    _delays(scenario, "2.2 ms", raised_share=0.04, keep_order=True)


@REGISTRY.hook("quiet_internet")
def _quiet_internet(scenario: dict[str, Any]) -> None:
    """Lose nothing in the Internet."""
    _link(scenario, "internet")["down"]["channel"].pop("loss", None)


@REGISTRY.hook("delay_280")
def _delay_280(scenario: dict[str, Any]) -> None:
    """Let the satellite take 0.28 s and the transmission time on top, each way."""
    if not _is_mobile(scenario):
        for direction in ("down", "up"):
            way = _link(scenario, "satellite")[direction]
            way["delay"] = f"{int(str(way['delay']).split()[0]) + 10} ms"


@REGISTRY.hook("sack_for_reno")
def _sack_for_reno(scenario: dict[str, Any]) -> None:
    """Repair with SACK where Reno is meant."""
    if _variant(scenario) == "reno":
        scenario["tcp"].update(variant="sack", byte_counting="off")
        scenario["tcp"].pop("dup_acks", None)


def _handoffs(**keys: str) -> Any:  # noqa: ANN401 (a hook)
    def change(scenario: dict[str, Any]) -> None:
        if not _is_mobile(scenario):
            return
        link = _link(scenario, "radio")
        for direction in ("down", "up"):
            state = link[direction]["channel"]["mobile"]
            for key in ("cell_radius", "handoff_region", "handoff_interval", "handoff_duration"):
                state.pop(key, None)
            state.update(keys)

    return change


REGISTRY.hook("no_handoffs")(_handoffs())


def _rule(rule: str) -> Any:  # noqa: ANN401 (a hook)
    def change(scenario: dict[str, Any]) -> None:
        if _is_mobile(scenario):
            link = _link(scenario, "radio")
            for direction in ("down", "up"):
                link[direction]["channel"]["mobile"]["fade_rule"] = rule

    return change


REGISTRY.hook("fades_at_instants")(_rule("instant"))
REGISTRY.hook("fades_overlap")(_rule("overlap"))


@REGISTRY.hook("held_in_handoffs")
def _held_in_handoffs(scenario: dict[str, Any]) -> None:
    """Let the base station keep what a handoff would lose."""
    if _is_mobile(scenario):
        link = _link(scenario, "radio")
        for direction in ("down", "up"):
            state = link[direction]["channel"]["mobile"]
            if {"handoff_interval", "cell_radius"} & state.keys():
                state["handoff"] = "forward"


@REGISTRY.hook("no_fades")
def _no_fades(scenario: dict[str, Any]) -> None:
    """Lose nothing in fades."""
    if _is_mobile(scenario):
        link = _link(scenario, "radio")
        for direction in ("down", "up"):
            link[direction]["channel"]["mobile"]["ber_bad"] = 0.0


@REGISTRY.hook("one_speed")
def _one_speed(scenario: dict[str, Any]) -> None:
    """Let every mobile go at 75 km/h."""
    if _is_mobile(scenario):
        link = _link(scenario, "radio")
        for direction in ("down", "up"):
            link[direction]["channel"]["mobile"]["speed"] = "75 km/h"


@REGISTRY.hook("separate_handoffs")
def _separate_handoffs(scenario: dict[str, Any]) -> None:
    """Let handoffs come at times of their own for data and ACKs."""
    if _is_mobile(scenario):
        link = _link(scenario, "radio")
        for direction in ("down", "up"):
            link[direction]["channel"]["mobile"].pop("shared", None)
