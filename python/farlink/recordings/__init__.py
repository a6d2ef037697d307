"""Recordings of real links: import, the folder that keeps them, and export.

A recording keeps rate, delay and loss of each moment for both directions, with source and licence.
Each column says if it was measured, computed, estimated or assumed.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from farlink.errors import ScenarioError
from farlink.recordings import (
    constellation,
    iperf3,
    irtt,
    lens,
    mahimahi,
    merging,
    netem,
    ping,
    reading,
    starrynet,
)
from farlink.recordings.build import Settings
from farlink.recordings.document import Column, Direction, Phases, Recording, Traffic
from farlink.recordings.export import FORMATS, export
from farlink.recordings.reading import Input
from farlink.recordings.store import load, save

__all__ = [
    "FORMATS",
    "KINDS",
    "Column",
    "Direction",
    "Phases",
    "Recording",
    "Settings",
    "Traffic",
    "export",
    "load",
    "read",
    "save",
]

KINDS: dict[str, Callable[[Sequence[Input], Settings], Recording]] = {
    "lens": lens.load,
    "leoreplayer": mahimahi.load_leoreplayer,
    "irtt": irtt.load,
    "ping": ping.load,
    "iperf3": iperf3.load,
    "mahimahi": mahimahi.load,
    "hypatia": constellation.load_hypatia,
    "starrynet": starrynet.load_starrynet,
    "netem": netem.load,
}
"""Formats by their name on the command line, with their readers."""


def read(
    kind: str,
    paths: Sequence[str | Path],
    settings: Settings,
    also: tuple[str, Sequence[str | Path]] | None = None,
) -> Recording:
    """Read recorded files of one format.

    Parameters
    ----------
    kind
        Format: a key of `KINDS`.
    paths
        Files, of one link.
    settings
        Name of the recording, and values for what the files lack.
    also
        Another format with its files, recorded at the same time. Delay and loss are taken from
        these.

    Raises
    ------
    ScenarioError
        If a file is damaged or has no use; the message names file and line.
    """
    recording = _read(kind, paths, settings)
    if also is None:
        return recording
    return merging.merged(recording, _read(also[0], also[1], replace(settings, direction=None)))


def _read(kind: str, paths: Sequence[str | Path], settings: Settings) -> Recording:
    if kind not in KINDS:
        raise ScenarioError(f"format {kind!r} of a recording; write {', '.join(KINDS)}")
    if not paths:
        raise ScenarioError(f"{kind}: no file given")
    return KINDS[kind]([reading.read(Path(path)) for path in paths], settings)
