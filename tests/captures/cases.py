"""Transfers whose captures contain every TCP, every option and every stage of a channel."""

import copy
from collections.abc import Callable
from typing import Any

Tree = dict[str, Any]

BASE: Tree = {
    "name": "captured",
    "seed": 11,
    "tcp": {"variant": "sack", "receive_window": "65535 B"},
    "links": [
        {
            "name": "lan",
            "between": ["server", "gateway"],
            "down": {"rate": "100 Mbit/s", "delay": "1 ms"},
        },
        {
            "name": "radio",
            "between": ["gateway", "client"],
            "down": {
                "rate": "4 Mbit/s",
                "delay": "60 ms",
                "queue": {"packets": 40},
                "channel": {"loss": 0.025},
            },
            "up": {"rate": "1 Mbit/s", "delay": "60 ms", "channel": {"loss": 0.01}},
        },
    ],
    "flows": [{"name": "file", "from": "server", "to": "client", "size": "1 MB"}],
}


def _tcp(**settings: object) -> Callable[[Tree], None]:
    def change(tree: Tree) -> None:
        tree["tcp"].update(settings)

    return change


def _flow(**settings: object) -> Callable[[Tree], None]:
    def change(tree: Tree) -> None:
        tree["flows"][0].update(settings)

    return change


def _channel(*, keep_loss: bool = False, **stages: object) -> Callable[[Tree], None]:
    """Put stages into both directions of the radio link."""

    def change(tree: Tree) -> None:
        radio = tree["links"][1]
        for direction in ("down", "up"):
            lost = radio[direction]["channel"] if keep_loss else {}
            radio[direction]["channel"] = {**lost, **stages}

    return change


def _two_flows(tree: Tree) -> None:
    tree["flows"].append({"name": "second", "from": "server", "to": "client", "size": "400 kB"})
    tree["flows"][1].update(start="300 ms", opens="receiver", tcp={"variant": "newreno"})


def _long_fat(tree: Tree) -> None:
    tree["tcp"].update(receive_window="1 MB")
    tree["links"][1]["down"].update(
        rate="20 Mbit/s", delay="250 ms", queue={"packets": 200}, channel={"loss": 0.001}
    )
    tree["links"][1]["up"].update(delay="250 ms", rate="2 Mbit/s", channel={"loss": 0.001})
    tree["flows"][0].update(size="4 MB")


def _small_queue(tree: Tree) -> None:
    for direction in ("down", "up"):
        tree["links"][1][direction].pop("channel")
    tree["links"][1]["down"]["queue"] = {"packets": 8}
    tree["tcp"].update(receive_window="200 kB")


_HELD = {"probability": 0.03, "delay": "20 ms"}

_CHANGES: dict[str, list[Callable[[Tree], None]]] = {
    **{
        name: [_tcp(variant=name)]
        for name in ("rfc793", "tahoe", "reno", "newreno", "sack", "cubic")
    },
    "newreno-timestamps": [_tcp(variant="newreno", timestamps=True)],
    "sack-timestamps": [_tcp(timestamps=True, sampling="every-segment")],
    "ack-at-once": [_tcp(delayed_ack="off")],
    "ack-heartbeat": [_tcp(delayed_ack="100 ms", ack_every=3, ack_heartbeat=True)],
    "window-1MB": [_long_fat],
    "window-1MB-timestamps": [_long_fat, _tcp(timestamps=True, variant="cubic")],
    "no-scaling": [_tcp(window_scale="off", variant="newreno")],
    "shift-of-7": [_tcp(window_scale=7)],
    "queue-of-8": [_small_queue],
    "corrupt": [_channel(corrupt=0.02)],
    "corrupt-timestamps": [_channel(corrupt=0.02), _tcp(timestamps=True)],
    "corrupt-newreno": [_channel(corrupt=0.02), _tcp(variant="newreno")],
    "duplicate": [_channel(keep_loss=True, duplicate=0.03)],
    "reorder": [_channel(keep_loss=True, reorder=_HELD)],
    "reorder-reno": [_channel(reorder=_HELD), _tcp(variant="reno")],
    "reorder-timestamps": [_channel(keep_loss=True, reorder=_HELD), _tcp(timestamps=True)],
    "all-stages": [
        _channel(keep_loss=True, corrupt=0.01, duplicate=0.02, reorder=_HELD),
        _flow(reverse="300 kB"),
        _tcp(timestamps=True),
    ],
    "both-ways": [_flow(reverse="700 kB")],
    "both-ways-newreno": [_flow(reverse="700 kB"), _tcp(variant="newreno")],
    "receiver-opens": [_flow(opens="receiver")],
    "receiver-opens-both-ways": [_flow(opens="receiver", reverse="300 kB"), _tcp(timestamps=True)],
    "two-flows": [_two_flows],
}

NAMES = tuple(_CHANGES)


def scenario(name: str) -> Tree:
    """Return the scenario of a case."""
    tree = copy.deepcopy(BASE)
    for change in _CHANGES[name]:
        change(tree)
    return tree
