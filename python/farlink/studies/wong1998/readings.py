"""Hooks that edit scenarios, for interpretations and negative controls."""

from typing import Any

from farlink.studies.grid import amount
from farlink.studies.wong1998.registry import REGISTRY

__all__: list[str] = []

FULL_FRAME_BITS = 8 * (128 + 6)
"""Length of the frame of a full fragment with its header (bits)."""


def _radio(scenario: dict[str, Any]) -> dict[str, Any]:
    radio: dict[str, Any] = scenario["links"][-1]
    return radio


@REGISTRY.hook("clean_reverse")
def _clean_reverse(scenario: dict[str, Any]) -> None:
    radio = _radio(scenario)
    radio["up"] = {key: value for key, value in radio["down"].items() if key != "channel"}


@REGISTRY.hook("by_bit")
def _by_bit(scenario: dict[str, Any]) -> None:
    down = _radio(scenario)["down"]
    if "loss" in down.get("channel", {}):
        loss = down["channel"]["loss"]
        down["channel"] = {"ber": 1 - (1 - loss) ** (1 / FULL_FRAME_BITS)}


@REGISTRY.hook("from_start")
def _from_start(scenario: dict[str, Any]) -> None:
    arq = _radio(scenario)["arq"]
    if arq["protocol"] == "rlp":
        frame = FULL_FRAME_BITS / amount(_radio(scenario)["down"]["rate"])
        left = amount(arq.get("min_interval", "300 ms")) - frame
        arq["min_interval"] = f"{1000 * max(left, 0.001):.1f} ms"


@REGISTRY.hook("by_bit_from_start")
def _by_bit_from_start(scenario: dict[str, Any]) -> None:
    _by_bit(scenario)
    _from_start(scenario)


@REGISTRY.hook("from_first")
def _from_first(scenario: dict[str, Any]) -> None:
    arq = _radio(scenario)["arq"]
    if arq["protocol"] in ("lapb", "mdlp"):
        arq["retry_from"] = "first-frame"


def _rlp_window(scenario: dict[str, Any], frames: int) -> None:
    arq = _radio(scenario)["arq"]
    if arq["protocol"] == "rlp":
        arq.setdefault("window", frames)


@REGISTRY.hook("rlp_window_20")
def _rlp_window_20(scenario: dict[str, Any]) -> None:
    _rlp_window(scenario, 20)


@REGISTRY.hook("rlp_window_31")
def _rlp_window_31(scenario: dict[str, Any]) -> None:
    _rlp_window(scenario, 31)


@REGISTRY.editor("errors")
def _errors(scenario: dict[str, Any], share: float) -> None:
    """Make a share of a full frame's loss independent of the frame's length.

    A full frame keeps its loss P. All frames have the loss 1 - (1 - P)^share, and bit errors give
    the rest.
    """
    down = _radio(scenario)["down"]
    channel = down.get("channel", {})
    if "ber" not in channel:
        return
    kept = (1 - channel["ber"]) ** FULL_FRAME_BITS
    by_frame, by_bit = 1 - kept**share, 1 - kept ** ((1 - share) / FULL_FRAME_BITS)
    stages = {"loss": by_frame, "ber": by_bit}
    down["channel"] = {key: value for key, value in stages.items() if value > 0}


@REGISTRY.hook("errors_half")
def _errors_half(scenario: dict[str, Any]) -> None:
    _errors(scenario, 0.5)


@REGISTRY.hook("errors_eighth")
def _errors_eighth(scenario: dict[str, Any]) -> None:
    _errors(scenario, 1 / 8)


@REGISTRY.hook("rlp_fast_timers")
def _rlp_fast_timers(scenario: dict[str, Any]) -> None:
    """Shorten RLP's status period and minimum interval, each by 0.1 s."""
    arq = _radio(scenario)["arq"]
    if arq["protocol"] == "rlp" and "status_period" not in arq:
        arq["status_period"] = "100 ms"
        arq["min_interval"] = f"{1000 * amount(arq['min_interval']) - 100:.1f} ms"


@REGISTRY.hook("backoff_until_sample")
def _backoff_until_sample(scenario: dict[str, Any]) -> None:
    scenario["tcp"]["ack_ends_backoff"] = False


@REGISTRY.hook("acks_at_once")
def _acks_at_once(scenario: dict[str, Any]) -> None:
    scenario["tcp"]["ack_every"] = 1


@REGISTRY.hook("each_segment")
def _each_segment(scenario: dict[str, Any]) -> None:
    scenario["tcp"]["sampling"] = "every-segment"


@REGISTRY.hook("repeat_first")
def _repeat_first(scenario: dict[str, Any]) -> None:
    scenario["tcp"]["repeat_first"] = True


@REGISTRY.hook("count_received")
def _count_received(scenario: dict[str, Any]) -> None:
    """Restart MDLP's count of time-outs only when the frame of the first poll was received."""
    arq = _radio(scenario)["arq"]
    if arq["protocol"] == "mdlp":
        arq["answer_ends_count"] = False


@REGISTRY.hook("n2_retransmissions")
def _n2_retransmissions(scenario: dict[str, Any]) -> None:
    """Allow N2 retransmissions, and re-establish the link at the next time-out."""
    arq = _radio(scenario)["arq"]
    if "n2" in arq:
        arq["n2"] += 1


@REGISTRY.hook("interval_from_end")
def _interval_from_end(scenario: dict[str, Any]) -> None:
    """Undo `from_start`: run RLP's minimum time between transmissions from the end of a frame."""
    arq = _radio(scenario)["arq"]
    if arq["protocol"] == "rlp":
        frame = FULL_FRAME_BITS / amount(_radio(scenario)["down"]["rate"])
        arq["min_interval"] = f"{1000 * (amount(arq['min_interval']) + frame):.1f} ms"


@REGISTRY.hook("half_loss")
def _half_loss(scenario: dict[str, Any]) -> None:
    channel = _radio(scenario)["down"].get("channel", {})
    if "ber" in channel:
        per = 1 - (1 - channel["ber"]) ** FULL_FRAME_BITS
        channel["ber"] = 1 - (1 - per / 2) ** (1 / FULL_FRAME_BITS)


@REGISTRY.hook("no_recovery")
def _no_recovery(scenario: dict[str, Any]) -> None:
    radio = _radio(scenario)
    radio["arq"] = {"protocol": "none", "mac": radio["arq"]["mac"]}


def _become(scenario: dict[str, Any], item: str, other: str) -> None:
    """Exchange two link protocols, and delete keys that only the original one has."""
    radio = _radio(scenario)
    names = {item: other, other: item}
    arq = radio["arq"]
    if arq["protocol"] in names:
        kept = {key: arq[key] for key in ("mac", "window") if key in arq}
        radio["arq"] = {"protocol": names[arq["protocol"]], **kept}


@REGISTRY.hook("swap_rlp_lapb")
def _swap_rlp_lapb(scenario: dict[str, Any]) -> None:
    _become(scenario, "rlp", "lapb")


@REGISTRY.hook("swap_rlp_mdlp")
def _swap_rlp_mdlp(scenario: dict[str, Any]) -> None:
    _become(scenario, "rlp", "mdlp")


@REGISTRY.hook("free_status")
def _free_status(scenario: dict[str, Any]) -> None:
    """Make RLP's status frames one byte long, without access delay on the reverse channel."""
    arq = _radio(scenario)["arq"]
    if arq["protocol"] == "rlp":
        arq["status"] = "1 B"
        arq["mac"] = {**arq["mac"], "direction": "down"}
