"""What there is: scenarios, presets, TCPs, metrics, the schema."""

import json
import sys
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import typer

from farlink import _farlink, files, source, units
from farlink.cli import text
from farlink.errors import ScenarioError

__all__ = ["metrics", "presets", "scenarios", "schema", "show", "tcp"]

_AS_JSON = typer.Option(False, "--json", help="Print JSON instead of a table.")


def scenarios(as_json: bool = _AS_JSON) -> None:
    """List the scenarios of the library, each with its source."""
    rows = []
    for name, toml in _farlink.scenarios():
        tree = tomllib.loads(toml)
        keys = ("description", "source")
        rows.append({"name": name, **{key: tree.get(key, "") for key in keys}})
    _print(rows, as_json)


def presets(
    as_json: bool = _AS_JSON,
    plot: bool = typer.Option(False, "--plot", help="Draw them on one map, as PNG and SVG."),
    out: Path | None = typer.Option(
        None, "--out", help="Write the map here; by default farlink-out.", metavar="DIR"
    ),
) -> None:
    """List the link presets, each with its source."""
    if out is not None and not plot:
        raise ScenarioError("--out has no effect without --plot; add --plot or leave it out")
    known = json.loads(_farlink.presets())
    if not plot:
        _print(known if as_json else [_preset(one) for one in known], as_json)
        return
    directory = out or Path("farlink-out")
    files.check_directory(directory)
    from farlink.channels import preset_map
    from farlink.plot.style import save

    for path in save(preset_map(), directory / "presets"):
        text.line(f"figure: {path}")


def tcp(as_json: bool = _AS_JSON) -> None:
    """List the TCPs by name."""
    order = ("name", "summary", "source", "status")
    rows = json.loads(_farlink.variants())
    _print([{key: row[key] for key in order} for row in rows], as_json)


def metrics(as_json: bool = _AS_JSON) -> None:
    """List the metrics of a result, with unit and definition."""
    _print(json.loads(_farlink.metrics()), as_json)


def schema() -> None:
    """Print the JSON Schema of a scenario, for editors."""
    text.line(json.dumps(json.loads(_farlink.schema()), indent=2))


def show(
    scenario: str = typer.Argument(
        help="Name of the library, .toml or .json file.", metavar="SCENARIO"
    ),
    tcp: str = typer.Option("", "--tcp", help="The TCP to resolve it for.", metavar="NAME"),
    changes: list[str] = typer.Option(
        [], "--set", help="Replace a value, with its unit.", metavar="PATH=VALUE"
    ),
) -> None:
    """Print a scenario with all presets, defaults and units resolved."""
    where = source.find(scenario)
    resolved = where.resolve([tcp] if tcp else None, text.assignments(changes))
    text.line(json.dumps(json.loads(next(iter(resolved.values()))), indent=2))


def _preset(one: Mapping[str, Any]) -> dict[str, str]:
    """Lay out a preset: what is written, and the buffer beside the path it is for."""
    factor, unit = units.prefixed(one["bdp_bytes"], "B")
    buffer = one["buffer_bdp"]
    return {
        "name": one["name"],
        "rate down, up": f"{one['down']['rate']}, {one['up']['rate']}",
        "one-way delay": f"{1000 * one['one_way_delay_s']:g} ms",
        "BDP": f"{one['bdp_bytes'] / factor:.4g} {unit}",
        "buffer": "unlimited" if buffer is None else f"{buffer:.3g} BDP",
        "description": one["description"],
        "source": one["source"],
    }


def _print(rows: Iterable[Mapping[str, Any]], as_json: bool) -> None:
    rows = list(rows)
    if as_json:
        text.line(json.dumps(rows, indent=2))
        return
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    columns = list(dict.fromkeys(key for row in rows for key in row))
    for number, column in enumerate(columns):
        # The name is what people copy, so it is never cut.
        table.add_column(column.replace("_", " "), no_wrap=number == 0, overflow="fold")
    for row in rows:
        table.add_row(*(_cell(row.get(column)) for column in columns))
    text.console(sys.stdout, plain_width=160).print(table)


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, Mapping):
        return "\n".join(f"{key}: {_cell(one)}" for key, one in value.items())
    if isinstance(value, list):
        return ", ".join(_cell(one) for one in value)
    return str(value)
