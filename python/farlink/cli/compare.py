"""`farlink compare`: the simulator's TCP beside the kernel's, over the same path."""

import sys
from pathlib import Path

import typer

from farlink import comparison, emulation, files, units
from farlink.cli import text
from farlink.errors import ScenarioError
from farlink.stats import Estimate, mean_ci95

__all__ = ["compare"]


def compare(
    scenario: str = typer.Argument(help="Name of the library, or .toml file.", metavar="SCENARIO"),
    tcp: str = typer.Option(..., "--tcp", help="TCPs that both sides have.", metavar="A,B"),
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
    realtime: bool = typer.Option(
        False, "--realtime", help="Emulate before all threads of normal priority."
    ),
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
    _show(found)
    if out is not None:
        for path in found.save(out):
            text.line(f"wrote {path}")


def _tell(line: str) -> None:
    sys.stderr.write(line + "\n")


def _show(found: comparison.Comparison) -> None:
    from rich import box
    from rich.table import Table

    console = text.console(sys.stdout)
    largest = max(value for row in found.rows for value in row.simulated + row.emulated)
    factor, unit = units.prefixed(largest, "bit/s")
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    table.add_column("tcp", no_wrap=True)
    for title in (f"simulated ({unit})", f"emulated ({unit})", "emulated / simulated"):
        table.add_column(title, justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    for row in found.rows:
        table.add_row(
            row.tcp,
            _cell(mean_ci95(row.simulated), factor),
            _cell(mean_ci95(row.emulated), factor),
            _cell(row.ratio, 1.0),
            row.verdict,
        )
    console.print(table)
    count = len(found.rows[0].simulated)
    console.print(
        f"{found.result.name}, seed {found.result.seed}, {count} run{'s' if count > 1 else ''} of "
        "each TCP on each side"
        + ("; mean ±half of the 95 % confidence interval (Student's t)" if count > 1 else ""),
        soft_wrap=True,
    )
    if found.late_p99_s > emulation.BEHIND_S:
        console.print(
            "WARNING: in an emulated run one packet in a hundred left "
            f"{1e3 * found.late_p99_s:.1f} ms late or more",
            soft_wrap=True,
        )


def _cell(estimate: Estimate, factor: float) -> str:
    assert estimate.mean is not None
    mean = f"{estimate.mean / factor:.4g}"
    if estimate.half_width is None:
        return mean
    return f"{mean} ±{estimate.half_width / factor:.2g}"
