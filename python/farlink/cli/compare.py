"""`farlink compare`: the simulator's TCP beside the kernel's, over the same path."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from farlink import files
from farlink.cli import complete, text
from farlink.cli.emulate import REALTIME
from farlink.errors import ScenarioError
from farlink.views.compare import show, show_overlay

if TYPE_CHECKING:
    from farlink import comparison
    from farlink import overlay as overlays

__all__ = ["compare"]


def compare(
    scenario: str = typer.Argument(
        "",
        show_default=False,
        help="Name of the library, or .toml file; none with --capture.",
        metavar="SCENARIO",
        autocompletion=complete.scenarios,
    ),
    tcp: list[str] = typer.Option(
        [], "--tcp", help="TCPs that both sides have.", metavar="A,B", autocompletion=complete.tcps
    ),
    capture: Path | None = typer.Option(
        None,
        "--capture",
        help="Compare this .pcap or .pcapng with simulations of the path that explains it.",
        metavar="FILE",
    ),
    connection: int | None = typer.Option(
        None, "--connection", help="Of the capture; else the biggest.", metavar="N"
    ),
    direction: str | None = typer.Option(
        None, "--direction", help="Of the capture: a2b or b2a; else the bigger.", metavar="NAME"
    ),
    transfer: str = typer.Option(
        "",
        "--transfer",
        help="What is transferred; by default what the first flow is.",
        metavar="SIZE",
    ),
    runs: int | None = typer.Option(
        None,
        "--runs",
        help="Runs of each TCP on each side; by default 1, beside a capture 10.",
        metavar="N",
    ),
    changes: list[str] = typer.Option(
        [], "--set", help="Replace a value, with its unit.", metavar="PATH=VALUE"
    ),
    seed: int | None = typer.Option(None, "--seed", help="Replace the seed.", metavar="N"),
    realtime: bool | None = REALTIME,
    offloads: bool = typer.Option(
        False,
        "--offloads",
        help="The kernel sends and takes several segments at once; quicker, and unlike ours.",
    ),
    out: Path | None = typer.Option(
        None, "--out", help="Write comparison.json and the sequence plots here.", metavar="DIR"
    ),
    quiet: bool = typer.Option(False, "--quiet", help="No progress."),
) -> None:
    """Simulate and emulate the same transfer, side by side (Linux, root).

    Both sides have the same buffers, segments one by one, and the scenario's jitter of hosts.
    Exit code 1: the machine was too late for the path, and not all is judged.

    With --capture: lay simulations of the fitted path over a connection that was captured.
    """
    names = text.names(tcp)
    if out is not None:
        files.check_directory(out)
    if capture is not None:
        given = {
            "SCENARIO": scenario,
            "--transfer": transfer,
            "--realtime": realtime is not None,
            "--offloads": offloads,
        }
        _refuse(given, "beside --capture, which has it all")
        from farlink import overlay as overlays

        over = overlays.overlay(
            capture,
            names or ["cubic"],
            runs=10 if runs is None else runs,
            connection=connection,
            direction=direction,
            overrides=dict(text.assignments(changes)),
            seed=seed,
            tell=None if quiet else _tell,
        )
        show_overlay(over, text.console(sys.stdout))
        _save(over, out)
        return
    _refuse({"--connection": connection is not None, "--direction": direction}, "without --capture")
    if not scenario:
        raise ScenarioError("name a scenario, or a capture with --capture FILE")
    if not names:
        raise ScenarioError("--tcp: name at least one, for example --tcp cubic,reno")
    from farlink import comparison

    outcome = comparison.compare(
        scenario,
        names,
        size=transfer or None,
        runs=1 if runs is None else runs,
        overrides=dict(text.assignments(changes)),
        seed=seed,
        realtime=realtime,
        offloads=offloads,
        tell=None if quiet else _tell,
    )
    show(outcome, text.console(sys.stdout))
    _save(outcome, out)
    if not outcome.is_judged:
        raise typer.Exit(1)


def _refuse(given: Mapping[str, object], where: str) -> None:
    for option, value in given.items():
        if value:
            raise ScenarioError(f"{option} has no effect {where}; leave it out")


def _save(comparison: "comparison.Comparison | overlays.Overlay", out: Path | None) -> None:
    if out is not None:
        for path in comparison.save(out):
            text.line(f"wrote {path}")


def _tell(line: str) -> None:
    sys.stderr.write(text.printable(line) + "\n")
