"""Exports of a recording: Mahimahi, LeoReplayer, and scripts for netem."""

from pathlib import Path
from typing import TYPE_CHECKING

from farlink import files, folder
from farlink.errors import ScenarioError
from farlink.recordings import netem
from farlink.recordings.document import Direction, Recording
from farlink.recordings.mahimahi import BITS

if TYPE_CHECKING:
    from farlink.recordings.document import Floats, Whole

__all__ = ["FORMATS", "export", "opportunities"]

FORMATS = ("mahimahi", "netem", "leoreplayer")
"""Formats of `farlink channels export`."""

_RUN = "run.sh"
_INTERVAL_MS = 10
"""Time between two delays of LeoReplayer in milliseconds."""
_MOST_OPPORTUNITIES = 50_000_000


def export(recording: Recording, format_: str, directory: Path) -> list[str]:
    """Write a recording in another format, and return a sentence for each loss of information.

    Raises
    ------
    ScenarioError
        If the format is unknown or cannot hold the recording.
    OutputError
        If the folder cannot be written.
    """
    if format_ not in FORMATS:
        raise ScenarioError(f"format {format_!r}; write {', '.join(FORMATS)}")
    if directory.exists() and not directory.is_dir():
        raise ScenarioError(f"--out {directory}: is a file; give a folder")
    pieces, notes = {
        "mahimahi": _mahimahi,
        "netem": _netem,
        "leoreplayer": _leoreplayer,
    }[format_](recording)
    last = _RUN if _RUN in pieces else next(iter(pieces))
    with folder.filling(directory, last=last) as stage:
        for name, text in pieces.items():
            files.write_text(stage / name, text)
    return notes


def _mahimahi(recording: Recording) -> tuple[dict[str, str], list[str]]:
    texts = {
        f"{name}.trace": _lines(opportunities(recording, name, direction))
        for name, direction in recording.directions
    }
    delay = round(1e3 * _one_way(recording))
    command = f"mm-delay {delay} \\\n  {_losses(recording)}mm-link up.trace down.trace"
    texts[_RUN] = _shell(recording, command)
    return texts, [
        f"mm-delay has one constant delay for both directions: the mean, {delay} ms",
        "mm-loss has a constant loss for each direction: the mean",
        "a rate is whole packets of 1500 bytes in whole milliseconds",
    ]


def _leoreplayer(recording: Recording) -> tuple[dict[str, str], list[str]]:
    import numpy as np

    texts = {
        f"bw_{name}.txt": _lines(opportunities(recording, name, direction))
        for name, direction in recording.directions
    }
    step_ms = round(1e3 * recording.step)
    times = np.arange(0, recording.rows * step_ms, _INTERVAL_MS) // step_ms
    delay = (_values(recording, recording.down) + _values(recording, recording.up)) / 2
    texts["delay.txt"] = _lines(np.round(1e3 * delay[times]).astype(np.int64))
    command = (
        f"mm-delay {_INTERVAL_MS} delay.txt \\\n  {_losses(recording)}mm-link bw_up.txt bw_down.txt"
    )
    texts[_RUN] = _shell(recording, command)
    return texts, [
        "LeoReplayer has one delay for both directions: the mean of up and down, in whole "
        "milliseconds every 10 ms",
        "mm-loss has a constant loss for each direction: the mean",
        "a rate is whole packets of 1500 bytes in whole milliseconds",
    ]


def _netem(recording: Recording) -> tuple[dict[str, str], list[str]]:
    if abs(recording.step * 1e3 - round(recording.step * 1e3)) > 1e-9:
        raise ScenarioError(f"netem: rows of {recording.step:g} s are no whole milliseconds")
    texts = {
        f"{name}.sh": "".join(netem.script(recording, name)) for name, _ in recording.directions
    }
    return texts, [
        "netem reorders packets where the delay falls, and has no queue before its rate",
        "tc takes some milliseconds for each row, so changes come late by that",
    ]


def _values(recording: Recording, direction: Direction) -> "Floats":
    import numpy as np

    values = direction.delay.values
    return np.full(recording.rows, direction.delay.mean) if values is None else values


def _one_way(recording: Recording) -> float:
    return (recording.down.delay.mean + recording.up.delay.mean) / 2


def _losses(recording: Recording) -> str:
    """Return the commands of mm-loss for directions with losses."""
    return "".join(
        f"mm-loss {name}link {direction.loss.mean:.6g} "
        for name, direction in (("up", recording.up), ("down", recording.down))
        if direction.loss.mean >= 1e-6
    )


def _shell(recording: Recording, command: str) -> str:
    source = "".join(c if c.isprintable() else "?" for c in recording.source)
    head = f"#!/bin/sh\n# {source}; licence: {recording.licence}\n"
    return f'{head}# Usage: sh {_RUN} [COMMAND], in this folder\nexec {command} -- "$@"\n'


def _lines(values: "Whole") -> str:
    return "".join(f"{value}\n" for value in values)


def opportunities(recording: Recording, name: str, direction: Direction) -> "Whole":
    """Return the milliseconds at which 1500 bytes can leave; the last is the length.

    A recorded packet-delivery trace is returned as it is. Otherwise opportunity k is at the
    millisecond at which the rate has carried k packets.
    """
    import numpy as np

    if direction.opportunities is not None:
        return direction.opportunities
    step_ms = round(1e3 * recording.step)
    values = direction.rate.values
    if values is None:
        values = np.full(recording.rows, direction.rate.mean)
    rates = np.round(values).astype(np.int64)
    # Sums in bit/s times ms are whole, so rounding does not accumulate.
    sums = np.concatenate([[0], np.cumsum(rates * step_ms)])
    packet = BITS * 1000
    count = int(sums[-1]) // packet
    if count == 0:
        raise ScenarioError(f"direction {name}: less than one packet of 1500 bytes in its length")
    if count > _MOST_OPPORTUNITIES:
        raise ScenarioError(f"direction {name}: {count:,} packets; shorten the recording")
    due = packet * np.arange(1, count + 1, dtype=np.int64)
    row = np.searchsorted(sums, due, side="left") - 1
    into = -(-(due - sums[row]) // rates[row])
    times = np.asarray(row * step_ms + into, dtype=np.int64)
    # The last time is the length of the trace, so the last packet waits for its end.
    times[-1] = recording.rows * step_ms
    return times
