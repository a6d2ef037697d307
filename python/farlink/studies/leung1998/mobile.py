"""Hooks that edit the mobile path of a scenario (chapter 5), beside those of `hooks`."""

from typing import Any

from farlink.studies.leung1998.registry import REGISTRY

__all__: list[str] = []


def _radio(scenario: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the channels of the mobile link, both directions; none on the satellite path."""
    links = [link for link in scenario["links"] if link["name"] == "radio"]
    return [link[way]["channel"]["mobile"] for link in links for way in ("down", "up")]


def _together(*names: str) -> Any:  # noqa: ANN401 (a hook)
    """Return a hook that applies several hooks."""

    def change(scenario: dict[str, Any]) -> None:
        for name in names:
            REGISTRY.hooks[name](scenario)

    return change


def _fade_margin(margin: float, *names: str) -> Any:  # noqa: ANN401 (a hook)
    """Return a hook that sets the depth of fades in dB below the rms, and applies other hooks."""
    others = _together(*names)

    def change(scenario: dict[str, Any]) -> None:
        for channel in _radio(scenario):
            channel["fade_margin"] = margin
        others(scenario)

    return change


@REGISTRY.hook("kilobytes_of_1000")
def _kilobytes_of_1000(scenario: dict[str, Any]) -> None:
    """Let a KB of the mobile path's window have 1000 bytes."""
    size, unit = str(scenario["tcp"]["receive_window"]).split()
    if _radio(scenario) and unit == "KiB":
        scenario["tcp"]["receive_window"] = f"{1000 * float(size):g} B"


REGISTRY.hook("unbound_1000")(_together("kilobytes_of_1000", "vegas_unbound"))


@REGISTRY.hook("instant_no_backoff")
def _instant_no_backoff(scenario: dict[str, Any]) -> None:
    """Apply `fades_at_instants`, and do not double the RTO of Vegas."""
    _together("fades_at_instants")(scenario)
    if scenario["tcp"]["variant"] == "vegas":
        scenario["tcp"].pop("ack_ends_backoff", None)
        scenario["tcp"]["backoff"] = "none"


@REGISTRY.hook("vegas_down_to_one")
def _vegas_down_to_one(scenario: dict[str, Any]) -> None:
    """Apply `vegas_per_second`, and let Vegas reduce cwnd to one segment."""
    _together("vegas_per_second")(scenario)
    if scenario["tcp"]["variant"] == "vegas":
        scenario["tcp"]["control"]["vegas"]["min_window"] = 1


@REGISTRY.hook("vegas_of_cwnd")
def _vegas_of_cwnd(scenario: dict[str, Any]) -> None:
    """Apply `vegas_down_to_one`, and divide cwnd by BaseRTT for the expected throughput."""
    _vegas_down_to_one(scenario)
    if scenario["tcp"]["variant"] == "vegas":
        scenario["tcp"]["control"]["vegas"]["expected"] = "cwnd"


@REGISTRY.hook("reno_fills_window")
def _reno_fills_window(scenario: dict[str, Any]) -> None:
    """Let Reno fill its window to the byte with partial segments, and apply Karn's algorithm."""
    _together("reno_karn_backoff")(scenario)
    if scenario["tcp"]["variant"] == "reno":
        scenario["tcp"]["nagle"] = "fill"


REGISTRY.hook("deeper_fades_no_eighth")(_fade_margin(36, "no_eighth"))
REGISTRY.hook("rare_fades_quiet")(_fade_margin(45, "quiet_internet"))
REGISTRY.hook("times_each_karn")(_together("vegas_times_each", "karn_backoff"))
