"""`farlink compare`: the simulator's TCP beside the kernel's, over the same path."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from farlink import comparison, emulation, files, units
from farlink.cli import complete, text
from farlink.cli.emulate import REALTIME
from farlink.errors import ScenarioError
from farlink.stats import Estimate, mean_ci95

if TYPE_CHECKING:
    from farlink.cli.page import Sink

__all__ = ["compare", "goodputs", "show"]


def compare(
    scenario: str = typer.Argument(
        help="Name of the library, or .toml file.",
        metavar="SCENARIO",
        autocompletion=complete.scenarios,
    ),
    tcp: list[str] = typer.Option(
        ..., "--tcp", help="TCPs that both sides have.", metavar="A,B", autocompletion=complete.tcps
    ),
    transfer: str = typer.Option(
        "",
        "--transfer",
        help="What is transferred; by default what the first flow is.",
        metavar="SIZE",
    ),
    runs: int = typer.Option(1, "--runs", help="Runs of each TCP on each side.", metavar="N"),
    changes: list[str] = typer.Option(
        [], "--set", help="Replace a value, with its unit.", metavar="PATH=VALUE"
    ),
    seed: int | None = typer.Option(None, "--seed", help="Replace the seed.", metavar="N"),
    realtime: bool | None = REALTIME,
    out: Path | None = typer.Option(
        None, "--out", help="Write comparison.json and the sequence plots here.", metavar="DIR"
    ),
    quiet: bool = typer.Option(False, "--quiet", help="No progress."),
) -> None:
    """Simulate and emulate the same transfer, side by side (Linux, root)."""
    names = text.names(tcp)
    if not names:
        raise ScenarioError("--tcp: name at least one, for example --tcp cubic,reno")
    if out is not None:
        files.check_directory(out)
    found = comparison.compare(
        scenario,
        names,
        size=transfer or None,
        runs=runs,
        overrides=dict(text.assignments(changes)),
        seed=seed,
        realtime=realtime,
        tell=None if quiet else _tell,
    )
    show(found, text.console(sys.stdout))
    if out is not None:
        for path in found.save(out):
            text.line(f"wrote {path}")


def _tell(line: str) -> None:
    sys.stderr.write(line + "\n")


def show(found: comparison.Comparison, out: "Sink") -> None:
    """Print a row per TCP: both goodputs and their ratio."""
    from rich import box
    from rich.table import Table

    largest = max(value for row in found.rows for value in row.simulated + row.emulated)
    factor, unit = units.prefixed(largest, "bit/s")
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    table.add_column("tcp", no_wrap=True)
    for title in (f"simulated\n({unit})", f"emulated\n({unit})", "emulated /\nsimulated"):
        table.add_column(title, justify="right", no_wrap=True)
    table.add_column("")
    for row in found.rows:
        table.add_row(
            row.tcp,
            goodputs(row.simulated, factor),
            goodputs(row.emulated, factor),
            _cell(row.ratio, 1.0),
            row.verdict,
        )
    out.print(table)
    count = len(found.rows[0].simulated)
    out.print(
        f"{found.result.name}, seed {found.result.seed}, {count} run{'s' if count > 1 else ''} of "
        f"each TCP on each side{_MEANING.get(count, _INTERVAL)}",
        soft_wrap=True,
    )
    if found.late_p99_s > emulation.BEHIND_S:
        out.print(
            "WARNING: in an emulated run one packet in a hundred was "
            f"{1e3 * found.late_p99_s:.1f} ms late or more",
            soft_wrap=True,
        )


_MEANING = {1: "", 2: "; mean (the two runs: too few for an interval)"}
_INTERVAL = "; mean ±half of the 95 % confidence interval (Student's t)"


def goodputs(values: Sequence[float], factor: float) -> str:
    """Write goodputs of runs divided by `factor`: the mean and its interval, or both of two runs.

    The interval of two runs is 12.7 of their distances wide to each side, which tells nothing.
    """
    estimate = mean_ci95(values)
    if len(values) == 2:
        low, high = sorted(values)
        return f"{_cell(estimate, factor)} ({low / factor:.4g}, {high / factor:.4g})"
    return _cell(estimate, factor)


def _cell(estimate: Estimate, factor: float) -> str:
    assert estimate.mean is not None
    half = estimate.half_width
    if half is None or estimate.n <= 2:
        return f"{estimate.mean / factor:.4g}"
    digits = half / factor
    return f"{units.rounded(estimate.mean / factor, digits)} ±{units.rounded(digits, digits)}"
