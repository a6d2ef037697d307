"""HTML page of a sweep, and the files with its numbers."""

import base64
import math
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from farlink import files, units
from farlink.experiment.document import of_result
from farlink.experiment.store import Store
from farlink.pictures import optional

if TYPE_CHECKING:
    import pandas as pd

    from farlink.experiment.sweep import SweepResult

__all__ = ["cell", "cells", "changes", "verdict", "write"]

_MOST_ROWS = 2000
"""Largest number of rows of a table on the page; the CSV file has all rows."""


def write(result: "SweepResult", directory: Path, final: Path) -> list[Path]:
    """Write all files of a sweep's result; see `SweepResult.save`."""
    # Imported late because Matplotlib loads slowly and the command's table does not need it.
    from farlink.plot.style import save

    written: list[Path] = []
    embedded: dict[str, str] = {}
    for name, make in result.figure_makers.items():
        with optional(name):
            png, svg = save(make(), directory / "plots" / name)
            written += [png, svg]
            embedded[name] = _embedded(svg)
    files.write_text(directory / "results.csv", result.frame.to_csv(index=False))
    files.write_text(directory / "sweep.json", of_result(result))
    written += [directory / "results.csv", directory / "sweep.json"]
    against = {}
    for factor in result.plan.against:
        table = result.differences(factor.factor, factor.level)
        against[f"{factor.factor} against {factor.level}"] = changes(result, table)
        path = directory / f"against-{files.as_name(factor.factor)}.csv"
        files.write_text(path, table.to_csv(index=False))
        written.append(path)
    files.write_text(directory / "index.html", _render(result, embedded, against, final))
    return [*written, directory / "index.html"]


def _render(
    result: "SweepResult",
    pictures: Mapping[str, str],
    against: Mapping[str, Any],
    final: Path,
) -> str:
    from jinja2 import Environment, PackageLoader

    environment = Environment(
        loader=PackageLoader("farlink.experiment"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    head, rows = cells(result)
    store = result.experiment.store
    return environment.get_template("sweep.html").render(
        result=result,
        plan=result.plan,
        head=head,
        rows=rows[:_MOST_ROWS],
        left_out=max(0, len(rows) - _MOST_ROWS),
        pictures=pictures,
        missing=[name for name in result.figure_makers if name not in pictures],
        against=against,
        random=is_random(result),
        missed=result.reached.count(False) if isinstance(result.reached, list) else 0,
        command=f"farlink sweep {shlex.quote(result.plan.name)}.toml",
        store=store.path.name if isinstance(store, Store) else "",
        scenario=result.plan.points[0].scenario,
        folder=final.name,
    )


def cells(result: "SweepResult") -> tuple[list[str], list[list[str]]]:
    """Return the header and rows of the table of means: one row per point, mean ± half interval."""
    scales = {}
    for measure in result.measures:
        means = [result.estimate(item, measure).mean or 0.0 for item in result.plan.points]
        scales[measure] = units.prefixed(max(means, key=abs), result.unit(measure))
    units_of = {name: f"{name.replace('_', ' ')} ({u})" if u else name.replace("_", " ")
                for name, (_, u) in scales.items()}  # fmt: skip
    uneven = len(set(result.runs)) > 1
    head = [*result.factors, *units_of.values(), *(["runs"] if uneven else [])]
    rows = []
    for combination, point, runs in zip(
        result.plan.combinations, result.plan.points, result.runs, strict=True
    ):
        row = [setting.label for setting in combination.values()]
        for measure, (factor, _) in scales.items():
            item = result.estimate(point, measure)
            row.append(cell(item.mean, item.half_width, factor))
        rows.append([*row, *([f"{runs:,}"] if uneven else [])])
    return head, rows


def changes(result: "SweepResult", table: "pd.DataFrame") -> tuple[list[str], list[list[str]]]:
    """Return the header and rows of a table of differences, with a verdict for each."""
    head = [*result.factors, "measure", "difference", "%", "95 % interval (%)", ""]
    rows = []
    labels = [
        {item.shown(level): level.label for level in item.levels} for item in result.plan.factors
    ]
    for row in table.to_dict("records"):
        unit = result.unit(row["measure"])
        factor, shown = units.prefixed(row["difference"], unit)
        half = (row["ci95_high"] - row["ci95_low"]) / 2
        apart = cell(row["difference"], half, factor)
        named = [
            texts.get(row[name], str(row[name]))
            for name, texts in zip(result.factors, labels, strict=True)
        ]
        rows.append(
            [
                *named,
                row["measure"].replace("_", " "),
                f"{apart} {shown}".strip(),
                _signed(row["percent"]),
                f"{_signed(row['percent_low'])} to {_signed(row['percent_high'])}",
                verdict(row["ci95_low"], row["ci95_high"]),
            ]
        )
    return head, rows


def is_random(result: "SweepResult") -> bool:
    """Return whether any measure of the table varies between runs; true for a single run."""
    return max(result.runs) < 2 or any(
        result.estimate(point, measure).has_spread
        for point in result.plan.points
        for measure in result.measures
    )


def verdict(low: float, high: float) -> str:
    """Return the verdict that a difference's 95 % interval allows."""
    if math.isnan(low):
        return "one run: no interval"
    if low > 0:
        return "higher"
    return "lower" if high < 0 else "no difference shown"


def _signed(value: float) -> str:
    return "" if math.isnan(value) else f"{value:+.3g}"


def cell(mean: float | None, half: float | None, factor: float) -> str:
    """Format a mean ± half its interval, both divided by `factor`, to the significant digits."""
    if mean is None or math.isnan(mean):
        return "-"
    if not half or math.isnan(half):  # A single run, or equal runs.
        return units.rounded(mean / factor)
    half /= factor
    return f"{units.rounded(mean / factor, half)} ± {units.rounded(half, half)}"


def _embedded(path: Path) -> str:
    return f"data:image/svg+xml;base64,{base64.b64encode(path.read_bytes()).decode()}"
