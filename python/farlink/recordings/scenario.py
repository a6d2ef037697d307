"""Scenario that replays a recording in a simulation or in real time."""

import json

from farlink import units
from farlink.recordings.document import Direction, Recording

__all__ = ["scenario"]

_WIDTH = 96
_PACKET = 1500
_LEAST_QUEUE = 20
"""Smallest queue in packets."""
_LONGEST = 60.0
"""Longest flow in seconds."""


def scenario(recording: Recording) -> str:
    """Return the TOML of a scenario with one download over the recorded link."""
    duration = min(_LONGEST, recording.length)
    lines = [
        "# The traces are in down.csv and up.csv; recording.toml has their origin.",
        f"name = {_text(recording.name)}",
        f"description = {_text(f'A download over a recorded link ({recording.kind})')}",
        f"source = {_text(_source(recording))}",
        "",
        "[tcp]",
        'variant = "cubic"',
        'receive_window = "8 MiB"',
        "",
        "[[links]]",
        'name = "recorded"',
        'between = ["server", "client"]',
        "",
    ]
    for name, direction in recording.directions:
        lines += [*_direction(recording, name, direction), ""]
    lines += [
        "[[flows]]",
        'name = "download"',
        'from = "server"',
        'to = "client"',
        'app = "bulk"',
        f'duration = "{duration:.10g} s"',
    ]
    return "\n".join(lines) + "\n"


def _direction(recording: Recording, name: str, direction: Direction) -> list[str]:
    lines = [f"[links.{name}]"]
    if direction.opportunities is not None:
        lines.append(f'rate_trace = {{ file = "{name}.trace" }}')
    elif direction.rate.values is not None and direction.rate.mean > 0:
        lines.append(f'rate_trace = {{ file = "{name}.csv", repeat = true }}')
    else:
        rate = direction.rate.constant or 1e6
        lines.append(f"rate = {_text(_rate(rate))}")
    stages = []
    if direction.delay.values is not None:
        order = "" if recording.keep_order else ", keep_order = false"
        lines.append('delay = "0 s"')
        stages.append(f'delay_trace = {{ file = "{name}.csv", repeat = true{order} }}')
    else:
        lines.append(f'delay = "{1e3 * direction.delay.mean:.6g} ms"')
    lines.append(f'queue = {{ bytes = "{_queue(recording, direction)} B" }}')
    if direction.loss.values is not None:
        stages.insert(0, f'loss_trace = {{ file = "{name}.csv", repeat = true }}')
    elif direction.loss.mean > 0:
        stages.insert(0, f"loss = {direction.loss.mean:.6g}")
    if stages:
        lines += ["", f"[links.{name}.channel]", *stages]
    return lines


def _queue(recording: Recording, direction: Direction) -> int:
    """Return one product of mean rate and mean round trip in bytes, at least 20 packets."""
    trip = recording.down.delay.mean + recording.up.delay.mean
    return max(_LEAST_QUEUE * _PACKET, round(direction.rate.mean * trip / 8))


def _rate(rate: float) -> str:
    factor, unit = units.prefixed(rate, "bit/s")
    return f"{rate / factor:.10g} {unit}"


def _source(recording: Recording) -> str:
    """Return source, licence, and the columns that are not measured."""
    parts = [f"{recording.source}; licence: {recording.licence}."]
    for origin in ("computed", "estimated", "assumed"):
        names = [
            f"{column} {name}"
            for column in ("rate", "delay", "loss")
            for name, direction in recording.directions
            if direction.column(column).origin == origin
        ]
        if names:
            parts.append(f"{origin.capitalize()}: {', '.join(names)}.")
    parts.append("Ours: TCP, queues of one bandwidth-delay product, and the flow.")
    return " ".join(parts)


def _text(text: str) -> str:
    whole = "".join(c if c.isprintable() else "?" for c in text)
    return json.dumps(whole, ensure_ascii=False)
