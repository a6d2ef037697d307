"""Tables that compare a simulation with an emulation or a capture."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from farlink import units
from farlink.stats import Estimate, mean_ci95

if TYPE_CHECKING:
    from farlink import comparison
    from farlink import overlay as overlays
    from farlink.views.page import Sink

__all__ = ["goodputs", "show", "show_overlay"]


def show(comparison: "comparison.Comparison", out: "Sink") -> None:
    """Print a row per TCP: both goodputs and their ratio."""
    from rich import box
    from rich.table import Table

    largest = max(value for row in comparison.rows for value in row.simulated + row.emulated)
    factor, unit = units.prefixed(largest, "bit/s")
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    table.add_column("tcp", no_wrap=True)
    for title in (f"simulated\n({unit})", f"emulated\n({unit})", "emulated /\nsimulated"):
        table.add_column(title, justify="right", no_wrap=True)
    table.add_column("late (ms):\nhalf, 99 %", justify="right", no_wrap=True)
    table.add_column("")
    for row in comparison.rows:
        table.add_row(
            row.tcp,
            goodputs(row.simulated, factor),
            goodputs(row.emulated, factor),
            _cell(row.ratio, 1.0),
            ", ".join(f"{1e3 * late_:.2f}" for late_ in row.late_s),
            row.verdict,
        )
    out.print(table)
    count = len(comparison.rows[0].simulated)
    out.print(
        f"{comparison.result.name}, seed {comparison.result.seed}, "
        f"{count} run{'s' if count > 1 else ''} of "
        f"each TCP on each side{_MEANING.get(count, _INTERVAL)}",
        soft_wrap=True,
    )
    out.print(_sides(comparison), soft_wrap=True)
    if not comparison.is_judged:
        bearable = comparison.rows[0].bearable_s
        out.print(
            "NOT JUDGED: on this path one packet in a hundred may be "
            f"{1e3 * bearable:.3g} ms late; "
            "leave the machine alone, add --realtime or --offloads, or take a slower path",
            soft_wrap=True,
        )


def _sides(comparison: "comparison.Comparison") -> str:
    """Return one line with the settings of both sides."""
    sides = comparison.sides
    ours = ", ".join(f"{key.removeprefix('tcp.')} {item}" for key, item in sides.simulated.items())
    theirs = ", ".join(f"{key} {item}" for key, item in sides.emulated.items())
    segments = "several at once in the kernel" if sides.offloads else "one by one"
    jitter = ", ".join(
        f"{host} " + " ".join(str(value) for value in item.values())
        for host, item in sides.jitter.items()
    )
    return (
        f"both sides: {ours} (the kernel: {theirs}); segments {segments}; jitter of hosts: "
        f"{jitter or 'none'}"
    )


def show_overlay(overlay: "overlays.Overlay", out: "Sink") -> None:
    """Print the fitted path, and measures of the capture and of the simulation side by side."""
    from rich import box
    from rich.table import Table

    path = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_header=False)
    path.add_column("what", no_wrap=True)
    path.add_column("value")
    for name, value in overlay.path.rows:
        path.add_row(name, value)
    out.print("the path that explains the capture:", soft_wrap=True)
    out.print(path)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    table.add_column("tcp", no_wrap=True)
    table.add_column("", no_wrap=True)
    for title in ("captured", "simulated\n(mean)", "one run in\n95 of 100"):
        table.add_column(title, justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    before = ""
    for verdict in overlay.verdicts:
        name, unit = verdict.title
        factor, shown = units.prefixed(max(verdict.captured, verdict.mean, 1e-12), unit)
        low, high = verdict.range
        apart = verdict.captured / verdict.mean if verdict.mean else 0.0
        table.add_row(
            verdict.tcp if verdict.tcp != before else "",
            f"{name} ({shown})",
            f"{verdict.captured / factor:.4g}",
            f"{verdict.mean / factor:.4g}",
            f"{max(low, 0) / factor:.4g} to {high / factor:.4g}",
            "fits" if verdict.fits else f"differs: captured {apart:.3g} times the mean",
        )
        before = verdict.tcp
    out.print(table)
    rows = [verdict for verdict in overlay.verdicts if verdict.tcp == overlay.closest]
    fitting = sum(row.fits for row in rows)
    count = len(next(iter(overlay.simulated.values())))
    out.print(
        f"closest is {overlay.closest}: {fitting} of {len(rows)} measures fit; {count} "
        f"run{'s' if count > 1 else ''} of each, seed {overlay.result.seed}",
        soft_wrap=True,
    )
    if count < 3:
        out.print("fewer than three runs have no range: what is within 5 % fits", soft_wrap=True)
    for note in overlay.path.notes:
        out.print(note, soft_wrap=True)


_MEANING = {1: "", 2: "; mean (the two runs: too few for an interval)"}


_INTERVAL = "; mean ±half of the 95 % confidence interval (Student's t)"


def goodputs(values: Sequence[float], factor: float) -> str:
    """Format goodputs of runs, divided by `factor`.

    Mean and interval, or both values of two runs.

    The 95 % interval of two runs is useless, because half its width is 12.7 times half their
    difference.
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
