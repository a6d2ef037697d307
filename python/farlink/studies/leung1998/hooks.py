"""Hooks that edit scenarios, for the model itself, interpretations and negative controls."""

from typing import Any

from farlink.studies.leung1998.registry import REGISTRY

__all__ = ["HEADERS"]

HEADERS = 42
"""Bytes of IP and TCP headers on the satellite path, with 2 bytes of options (Table 4.1)."""


_TIMED_EACH = 256
"""Largest segment (bytes) for which 5.6.3 calls Vegas slow, because Vegas computes RTT and RTO for
every segment.
"""


def _link(scenario: dict[str, Any], name: str) -> dict[str, Any]:
    result: dict[str, Any] = next(link for link in scenario["links"] if link["name"] == name)
    return result


def _mss(scenario: dict[str, Any]) -> int:
    return int(str(scenario["tcp"]["mss"]).split()[0])


def _is_mobile(scenario: dict[str, Any]) -> bool:
    return any("mobile" in link["down"].get("channel", {}) for link in scenario["links"])


@REGISTRY.hook("as_read")
def _as_read(scenario: dict[str, Any]) -> None:
    """Complete the scenario of a point on the satellite or mobile path."""
    if _is_mobile(scenario):
        _mobile(scenario)
    else:
        _satellite(scenario)


def _satellite(scenario: dict[str, Any]) -> None:
    """Add the mean queueing delay to the satellite's delay, and apply the rain to ACKs as well."""
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
    """Use the mobile link, with the bit error rate of data also for ACKs.

    A handoff stops data and ACKs at the same time ("the end-to-end communications", 3.2.1).
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
    """Apply the rain's loss ratio to each IP packet of any length."""
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
    """Exchange the transition rates b and g, without a change of the rain's bit error rate."""
    if _is_mobile(scenario):
        return
    link = _link(scenario, "satellite")
    for direction in ("down", "up"):
        rain = link[direction].get("channel", {}).get("satellite")
        if rain:
            rain["b"], rain["g"] = rain["g"], rain["b"]


@REGISTRY.hook("delay_by_draws")
def _delay_by_draws(scenario: dict[str, Any]) -> None:
    """Draw the satellite's queueing delay for each packet from an exponential distribution."""
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
    """Apply the satellite's mean queueing delay also to ACKs."""
    if not _is_mobile(scenario):
        link = _link(scenario, "satellite")
        link["up"]["delay"] = link["down"]["delay"]


@REGISTRY.hook("delay_ignored")
def _delay_ignored(scenario: dict[str, Any]) -> None:
    if not _is_mobile(scenario):
        _link(scenario, "satellite")["down"]["delay"] = "270 ms"


@REGISTRY.hook("merging")
def _merging(scenario: dict[str, Any]) -> None:
    """Delay ACKs by MAD, independent of the segments that arrive meanwhile."""
    scenario["tcp"]["ack_every"] = 1000


@REGISTRY.hook("each_at_once")
def _each_at_once(scenario: dict[str, Any]) -> None:
    """Acknowledge each segment immediately, without the delay MAD."""
    for key in ("delayed_ack", "ack_every", "dup_acks", "ack_gap_fill"):
        scenario["tcp"].pop(key, None)
    scenario["tcp"]["delayed_ack"] = "off"


@REGISTRY.hook("duplicates_at_once")
def _duplicates_at_once(scenario: dict[str, Any]) -> None:
    scenario["tcp"]["dup_acks"] = "immediate"
    scenario["tcp"].pop("ack_gap_fill", None)


@REGISTRY.hook("one_window")
def _one_window(scenario: dict[str, Any]) -> None:
    """Set the receive window to 64 KiB over the satellite and 8 KiB over the mobile link."""
    scenario["tcp"]["receive_window"] = "8 KiB" if _is_mobile(scenario) else "64 KiB"


@REGISTRY.hook("one_segment")
def _one_segment(scenario: dict[str, Any]) -> None:
    """Set the segment size to 512 bytes, to which the loss ratio PLR then applies."""
    scenario["tcp"]["mss"] = "512 B"
    for link in scenario["links"]:
        for direction in ("down", "up"):
            rain = link.get(direction, {}).get("channel", {}).get("satellite", {})
            if "loss_size" in rain:
                rain["loss_size"] = "552 B"


@REGISTRY.hook("no_eighth")
def _no_eighth(scenario: dict[str, Any]) -> None:
    """Omit the increment of MSS/8 from equation 1 (congestion avoidance)."""
    if _variant(scenario) in ("reno", "tcp-rfc", "newreno"):
        scenario["tcp"].setdefault("control", {}).setdefault("reno", {})["mss_over_8"] = False


@REGISTRY.hook("brakmo")
def _brakmo(scenario: dict[str, Any]) -> None:
    """Use Brakmo's Vegas: a loss cuts cwnd by a quarter, and cwnd grows by a segment per RTT."""
    if _variant(scenario) == "vegas":
        scenario["tcp"]["control"]["vegas"].update(loss_cut="quarter", increase="segment")


@REGISTRY.hook("linear_vegas")
def _linear_vegas(scenario: dict[str, Any]) -> None:
    """Let cwnd of Vegas grow by one segment per RTT."""
    if _variant(scenario) in ("vegas", "p-tcp"):
        control = scenario["tcp"].setdefault("control", {}).setdefault("vegas", {})
        control["increase"] = "segment"


@REGISTRY.hook("halving_vegas")
def _halving_vegas(scenario: dict[str, Any]) -> None:
    if _variant(scenario) == "vegas":
        scenario["tcp"]["control"]["vegas"]["loss_cut"] = "half"


@REGISTRY.hook("rfc_drops")
def _rfc_drops(scenario: dict[str, Any]) -> None:
    """Let the receiver of the study's TCP-RFC drop out-of-order segments."""
    if _variant(scenario) == "tcp-rfc":
        scenario["tcp"]["reassembly"] = False
        # Without reassembly no arrival fills a gap, so `ack_gap_fill` is not allowed.
        scenario["tcp"].pop("ack_gap_fill", None)


@REGISTRY.hook("selective_repeat")
def _selective_repeat(scenario: dict[str, Any]) -> None:
    """Let a time-out of Reno and Vegas send one segment, and keep their RTT samples exact.

    Each further lost segment then waits for a time-out, or for a check of Vegas. The timer is still
    checked every 500 ms.
    """
    if _variant(scenario) in ("reno", "vegas"):
        scenario["tcp"] |= {"repeat_first": True, "rto_exact_samples": True}


@REGISTRY.hook("selective_repeat_500_ms")
def _selective_repeat_500_ms(scenario: dict[str, Any]) -> None:
    """Apply `selective_repeat` with a least RTO of one tick."""
    _selective_repeat(scenario)
    _least_rto(scenario, "500 ms")


@REGISTRY.hook("karn_backoff")
def _karn_backoff(scenario: dict[str, Any]) -> None:
    """Keep the backoff of Reno and Vegas until a segment that was sent once is acknowledged."""
    if _variant(scenario) in ("reno", "vegas"):
        scenario["tcp"].pop("ack_ends_backoff", None)


@REGISTRY.hook("reno_karn_backoff")
def _reno_karn_backoff(scenario: dict[str, Any]) -> None:
    """Apply `karn_backoff` to Reno alone."""
    if _variant(scenario) == "reno":
        _karn_backoff(scenario)


@REGISTRY.hook("vegas_karn_backoff")
def _vegas_karn_backoff(scenario: dict[str, Any]) -> None:
    """Apply `karn_backoff` to Vegas alone."""
    if _variant(scenario) == "vegas":
        _karn_backoff(scenario)


@REGISTRY.hook("rfc_repeats_missing")
def _rfc_repeats_missing(scenario: dict[str, Any]) -> None:
    """Let TCP-RFC repeat within cwnd what no ACK covers, and time one segment per round trip.

    Duplicate ACKs have no effect.
    """
    if _variant(scenario) == "tcp-rfc":
        for key in ("repeat_all", "dup_acks_halve", "sampling"):
            scenario["tcp"].pop(key, None)


@REGISTRY.hook("vegas_unbound")
def _vegas_unbound(scenario: dict[str, Any]) -> None:
    """Make alpha, beta and gamma of Vegas too large to have an effect."""
    if _variant(scenario) == "vegas":
        scenario["tcp"]["control"]["vegas"].update(alpha=1000, beta=3000, gamma=1000)


@REGISTRY.hook("vegas_per_second")
def _vegas_per_second(scenario: dict[str, Any]) -> None:
    """Use alpha = 1 and beta = 3 segments per second, so BaseRTT and 3 BaseRTT segments."""
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
    """Limit Vegas with segments of at most 256 bytes to one segment in flight."""
    if _variant(scenario) == "vegas" and _mss(scenario) <= _TIMED_EACH:
        scenario["tcp"]["receive_window"] = f"{_mss(scenario)} B"


@REGISTRY.hook("rfc_karn")
def _rfc_karn(scenario: dict[str, Any]) -> None:
    """Apply Karn's rule to TCP-RFC: no RTT samples of retransmitted segments."""
    if _variant(scenario) == "tcp-rfc":
        scenario["tcp"]["karn"] = True


@REGISTRY.hook("rfc_equation_1")
def _rfc_equation_1(scenario: dict[str, Any]) -> None:
    """Let cwnd of TCP-RFC grow by the MSS/8 of equation 1, too."""
    if _variant(scenario) == "tcp-rfc":
        scenario["tcp"].setdefault("control", {}).setdefault("reno", {})["mss_over_8"] = True


@REGISTRY.hook("rfc_eighth")
def _rfc_eighth(scenario: dict[str, Any]) -> None:
    """Apply `rfc_equation_1`, and acknowledge every second segment of TCP-RFC."""
    _rfc_equation_1(scenario)
    if _variant(scenario) == "tcp-rfc":
        scenario["tcp"]["ack_every"] = 2


@REGISTRY.hook("bounded_cwnd")
def _bounded_cwnd(scenario: dict[str, Any]) -> None:
    """Bound cwnd by the receiver's window."""
    scenario["tcp"]["cwnd_limit"] = "receive-window"


@REGISTRY.hook("vegas_as_reno")
def _vegas_as_reno(scenario: dict[str, Any]) -> None:
    """Give Vegas the coarse samples of Reno's timer, and one segment at the start and restart."""
    if _variant(scenario) == "vegas":
        scenario["tcp"]["initial_window"] = 1
        scenario["tcp"].pop("rto_exact_samples", None)
        scenario["tcp"]["control"]["vegas"]["timeout_window"] = 1


@REGISTRY.hook("as_chosen_before")
def _as_chosen_before(scenario: dict[str, Any]) -> None:
    """Apply the model as chosen until 28 November 2026."""
    _bounded_cwnd(scenario)
    _vegas_as_reno(scenario)
    _rfc_eighth(scenario)


@REGISTRY.hook("rfc_go_back_n")
def _rfc_go_back_n(scenario: dict[str, Any]) -> None:
    """Make TCP-RFC go-back-N, with an RTO of 3 to 4.5 s, in an Internet that keeps the order.

    ACKs leave after MAD alone, equation 1 has no eighth, and the Internet loses 0.0018.
    """
    if _variant(scenario) != "tcp-rfc":
        return
    _bounded_cwnd(scenario)
    _rfc_drops(scenario)
    _rfc_repeats_missing(scenario)
    _keep_order(scenario)
    scenario["tcp"] |= {"rto_min": "3 s", "rto_max": "4.5 s"}
    if not _is_mobile(scenario):
        _link(scenario, "internet")["down"]["channel"]["loss"] = 0.0018


@REGISTRY.hook("merging_but_vegas")
def _merging_but_vegas(scenario: dict[str, Any]) -> None:
    """Delay ACKs by MAD alone for TCP-RFC, as `rfc_go_back_n`, and for Reno."""
    if _variant(scenario) == "reno":
        _merging(scenario)
    _rfc_go_back_n(scenario)


@REGISTRY.hook("vegas_no_backoff")
def _vegas_no_backoff(scenario: dict[str, Any]) -> None:
    """Omit the doubling of Vegas's RTO, and wait with no duplicate.

    RTT samples are exact, and the RTO is at least one tick. A time-out leaves two segments.
    """
    if _variant(scenario) == "vegas":
        _bounded_cwnd(scenario)
        _duplicates_at_once(scenario)
        _karn_backoff(scenario)
        scenario["tcp"] |= {"backoff": "none", "rto_min": "500 ms", "rto_exact_samples": True}
        scenario["tcp"]["control"]["vegas"]["timeout_window"] = 2


@REGISTRY.hook("vegas_128_kb")
def _vegas_128_kb(scenario: dict[str, Any]) -> None:
    """Raise a window of 64 KiB of Vegas to 128 KiB, and apply `vegas_no_backoff`."""
    if _variant(scenario) == "vegas" and scenario["tcp"]["receive_window"] == "64 KiB":
        scenario["tcp"]["receive_window"] = "128 KiB"
    _vegas_no_backoff(scenario)


@REGISTRY.hook("reno_short_rto")
def _reno_short_rto(scenario: dict[str, Any]) -> None:
    """Set Reno's RTO to 2.5 to 5 s, and the Internet's loss of its data to 0.0003."""
    if _variant(scenario) == "reno":
        _bounded_cwnd(scenario)
        _karn_backoff(scenario)
        scenario["tcp"] |= {"rto_min": "2.5 s", "rto_max": "5 s"}
        if not _is_mobile(scenario):
            _link(scenario, "internet")["down"]["channel"]["loss"] = 0.0003


@REGISTRY.hook("inferred")
def _inferred(scenario: dict[str, Any]) -> None:
    """Apply the inferred timers and losses of all three TCPs."""
    _rfc_go_back_n(scenario)
    _vegas_no_backoff(scenario)
    _reno_short_rto(scenario)


def _delays(scenario: dict[str, Any], delay: str, **keys: Any) -> None:  # noqa: ANN401
    """Set the constant part of the Internet's delay, and keys of its distribution."""
    link = _link(scenario, "internet")
    for direction in ("down", "up"):
        link[direction]["delay"] = delay
        link[direction]["channel"]["internet_delay"].update(keys)


@REGISTRY.hook("keep_order")
def _keep_order(scenario: dict[str, Any]) -> None:
    """Keep the order of datagrams in the Internet."""
    for direction in ("down", "up"):
        _link(scenario, "internet")[direction]["channel"]["internet_delay"]["keep_order"] = True


@REGISTRY.editor("least_rto")
def _least_rto(scenario: dict[str, Any], time: str) -> None:
    """Set the least RTO of Reno and Vegas."""
    if _variant(scenario) in ("reno", "vegas"):
        scenario["tcp"]["rto_min"] = time


@REGISTRY.hook("raised_4_percent")
def _raised_4_percent(scenario: dict[str, Any]) -> None:
    """Raise the delay of 4 % of the packets; the mean is 18 ms as printed."""
    _delays(scenario, "5.7 ms", raised_share=0.04)


@REGISTRY.hook("in_order_4_percent")
def _in_order_4_percent(scenario: dict[str, Any]) -> None:
    """Raise the delay of 4 % of the packets and keep their order, which adds 3.5 ms on average."""
    _delays(scenario, "2.2 ms", raised_share=0.04, keep_order=True)


@REGISTRY.hook("rfc_go_back_n_4_percent")
def _rfc_go_back_n_4_percent(scenario: dict[str, Any]) -> None:
    """Apply `rfc_go_back_n` in an Internet that keeps the order and raises 4 % of the delays."""
    _in_order_4_percent(scenario)
    _rfc_go_back_n(scenario)


@REGISTRY.hook("acks_lost")
def _acks_lost(scenario: dict[str, Any]) -> None:
    """Let the Internet lose ACKs as it loses data."""
    link = _link(scenario, "internet")
    link["up"]["channel"]["loss"] = link["down"]["channel"]["loss"]


@REGISTRY.hook("quiet_internet")
def _quiet_internet(scenario: dict[str, Any]) -> None:
    """Remove losses in the Internet."""
    _link(scenario, "internet")["down"]["channel"].pop("loss", None)


@REGISTRY.hook("delay_280")
def _delay_280(scenario: dict[str, Any]) -> None:
    """Raise the satellite's one-way delay by 10 ms: 0.28 s then exclude the transmission."""
    if not _is_mobile(scenario):
        for direction in ("down", "up"):
            way = _link(scenario, "satellite")[direction]
            way["delay"] = f"{int(str(way['delay']).split()[0]) + 10} ms"


@REGISTRY.hook("sack_for_reno")
def _sack_for_reno(scenario: dict[str, Any]) -> None:
    """Replace Reno by SACK."""
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
    """Let the base station forward the packets that a handoff would lose."""
    if _is_mobile(scenario):
        link = _link(scenario, "radio")
        for direction in ("down", "up"):
            state = link[direction]["channel"]["mobile"]
            if {"handoff_interval", "cell_radius"} & state.keys():
                state["handoff"] = "forward"


@REGISTRY.hook("no_fades")
def _no_fades(scenario: dict[str, Any]) -> None:
    """Set the bit error rate in fades to 0."""
    if _is_mobile(scenario):
        link = _link(scenario, "radio")
        for direction in ("down", "up"):
            link[direction]["channel"]["mobile"]["ber_bad"] = 0.0


@REGISTRY.hook("one_speed")
def _one_speed(scenario: dict[str, Any]) -> None:
    """Set the speed of the mobile host to 75 km/h."""
    if _is_mobile(scenario):
        link = _link(scenario, "radio")
        for direction in ("down", "up"):
            link[direction]["channel"]["mobile"]["speed"] = "75 km/h"


@REGISTRY.hook("separate_handoffs")
def _separate_handoffs(scenario: dict[str, Any]) -> None:
    """Make the handoffs of the two directions independent."""
    if _is_mobile(scenario):
        link = _link(scenario, "radio")
        for direction in ("down", "up"):
            link[direction]["channel"]["mobile"].pop("shared", None)
