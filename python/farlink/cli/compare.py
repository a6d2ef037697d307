"""`farlink compare`: compares the simulator's TCP with the kernel's on one path."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from farlink import files
from farlink.cli import options, text
from farlink.cli.options import declare
from farlink.errors import ScenarioError
from farlink.views.compare import show, show_overlay

if TYPE_CHECKING:
    from farlink import comparison
    from farlink import overlay as overlays

__all__ = ["compare"]


_Capture = Annotated[
    Path | None,
    declare(
        "--capture",
        "Compare this .pcap or .pcapng with simulations of the path that explains it.",
        "FILE",
    ),
]
_Connection = Annotated[
    int | None, declare("--connection", "Connection of the capture; by default the biggest.", "N")
]
_Direction = Annotated[
    str | None,
    declare("--direction", "Direction of the capture: a2b or b2a; by default the bigger.", "NAME"),
]
_Transfer = Annotated[
    str, declare("--transfer", "Bytes to transfer; by default the size of the first flow.", "SIZE")
]
_Offloads = Annotated[
    bool,
    declare(
        "--offloads",
        "Let the kernel send and receive several segments at once; quicker, but unlike the "
        "simulation.",
    ),
]


def compare(
    scenario: Annotated[
        str,
        options.scenario(
            "Name of the library, or .toml file; none with --capture.", show_default=False
        ),
    ] = "",
    tcp: Annotated[list[str], options.tcp("TCPs that both sides have.")] = [],
    capture: _Capture = None,
    connection: _Connection = None,
    direction: _Direction = None,
    transfer: _Transfer = "",
    runs: Annotated[
        int | None,
        options.runs("Runs of each TCP on each side; by default 1, beside a capture 10."),
    ] = None,
    changes: options.Changes = [],
    seed: options.Seed = None,
    realtime: options.Realtime = None,
    offloads: _Offloads = False,
    out: Annotated[
        Path | None, options.out("Write comparison.json and the sequence plots here.")
    ] = None,
    quiet: options.Quiet = False,
) -> None:
    """Compare a simulated with an emulated transfer (Linux, root).

    Both sides have the same buffers, no segmentation offload, and the scenario's host jitter. Exit
    code 1 means that packets were too late on this machine, so some results are not judged.

    With --capture: compare a captured connection with simulations of the path fitted to it.
    """
    names = text.names(tcp)
    if out is not None:
        files.check_directory(out)
    common: dict[str, Any] = {
        "overrides": dict(text.assignments(changes)),
        "seed": seed,
        "tell": None if quiet else text.progress_line,
    }
    if capture is not None:
        given = {
            "SCENARIO": scenario,
            "--transfer": transfer,
            "--realtime": realtime is not None,
            "--offloads": offloads,
        }
        _refuse(given, "beside --capture, which has it all")
        common |= {"connection": connection, "direction": direction}
        _overlay(capture, names or ["cubic"], 10 if runs is None else runs, out, common)
        return
    _refuse({"--connection": connection is not None, "--direction": direction}, "without --capture")
    if not scenario:
        raise ScenarioError("name a scenario, or a capture with --capture FILE")
    if not names:
        raise ScenarioError("--tcp: name at least one, for example --tcp cubic,reno")
    from farlink import comparison

    size, count = transfer or None, 1 if runs is None else runs
    result = comparison.compare(
        scenario, names, size=size, runs=count, realtime=realtime, offloads=offloads, **common
    )
    show(result, text.console(sys.stdout))
    _save(result, out)
    if not result.is_judged:
        raise typer.Exit(1)


def _overlay(
    capture: Path, tcps: list[str], runs: int, out: Path | None, settings: dict[str, Any]
) -> None:
    from farlink import overlay as overlays

    overlay = overlays.overlay(capture, tcps, runs=runs, **settings)
    show_overlay(overlay, text.console(sys.stdout))
    _save(overlay, out)


def _refuse(given: Mapping[str, object], where: str) -> None:
    for option, value in given.items():
        if value:
            raise ScenarioError(f"{option} has no effect {where}; leave it out")


def _save(comparison: "comparison.Comparison | overlays.Overlay", out: Path | None) -> None:
    if out is not None:
        for path in comparison.save(out):
            text.line(f"wrote {path}")
