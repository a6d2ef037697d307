"""Effects of the levels of what the study leaves open (unknowns.toml)."""

import tomllib
from functools import cache
from importlib import resources
from typing import Any

from farlink.studies.model import put
from farlink.studies.vatne2006.registry import REGISTRY

__all__: list[str] = []

_SATELLITE_WINDOW = "62500 B"
"""Receive window of transfers over the satellite; those over the radio have 8000 bytes."""


def _channel(tree: dict[str, Any], process: str) -> dict[str, Any]:
    """Return a process of the satellite's channel; empty if the scenario has none."""
    settings: dict[str, Any] = tree["links"][0]["down"].get("channel", {}).get(process, {})
    return settings


@REGISTRY.editor("delay_variation")
def _delay_variation(tree: dict[str, Any], mean: str) -> None:
    if jitter := _channel(tree, "jitter"):
        jitter["mean"] = mean


@REGISTRY.editor("loss_factor")
def _loss_factor(tree: dict[str, Any], factor: float) -> None:
    channel = tree["links"][0]["down"].get("channel", {})
    if "loss" in channel:
        channel["loss"] *= factor


@REGISTRY.editor("silence_length")
def _silence_length(tree: dict[str, Any], length: str) -> None:
    if silences := _channel(tree, "mobile"):
        silences["handoff_duration"] = length


@REGISTRY.editor("satellite_window")
def _satellite_window(tree: dict[str, Any], window: str) -> None:
    if tree["tcp"]["receive_window"] == _SATELLITE_WINDOW:
        tree["tcp"]["receive_window"] = window


@REGISTRY.editor("satellite_queue")
def _satellite_queue(tree: dict[str, Any], size: str) -> None:
    down = tree["links"][0]["down"]
    if down["queue"] != "unlimited":
        down["queue"] = {"bytes": size}


@REGISTRY.editor("jiffies")
def _jiffies(tree: dict[str, Any], per_second: str) -> None:
    if tree["tcp"]["variant"] == "westwood+":
        tree["tcp"]["control"]["westwood_plus"]["hz"] = int(per_second)


@cache
def _tcps() -> dict[str, dict[str, Any]]:
    """Return the settings of the values of factor `tcp`."""
    text = resources.files(str(__package__)).joinpath("model.toml").read_text(encoding="utf-8")
    values: dict[str, dict[str, Any]] = tomllib.loads(text)["factors"]["tcp"]["values"]
    return values


def _exchange(tree: dict[str, Any], variant: str, value: str) -> None:
    """Give a TCP the settings of another value of factor `tcp`."""
    if tree["tcp"]["variant"] == variant:
        for path, setting in _tcps()[value].items():
            put(tree, path, setting)


@REGISTRY.hook("vegas_of_the_kernel")
def _vegas_of_the_kernel(tree: dict[str, Any]) -> None:
    _exchange(tree, "vegas", "vegas_linux")


@REGISTRY.hook("hybla_of_the_kernel")
def _hybla_of_the_kernel(tree: dict[str, Any]) -> None:
    _exchange(tree, "hybla", "hybla_linux")


@REGISTRY.hook("hybla_with_rho_1")
def _hybla_with_rho_1(tree: dict[str, Any]) -> None:
    _exchange(tree, "hybla", "hybla_rho_1")
