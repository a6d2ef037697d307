"""Lists of scenarios, presets, TCPs and metrics, and the schema."""

import json
import sys
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any

import typer

from farlink import _farlink, files, pictures, registry, source, units
from farlink.cli import options, text
from farlink.cli.options import declare
from farlink.errors import ScenarioError
from farlink.paper import check_picture

__all__ = ["EXAMPLES", "app"]

EXAMPLES = {
    "scenarios": "farlink list scenarios geo-lossy",
    "presets": "farlink list presets geo",
    "tcp": "farlink list tcp hybla",
    "metrics": "farlink list metrics goodput",
    "schema": "farlink list schema",
    "show": "farlink list show geo-lossy --tcp linux-cubic",
}

app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    no_args_is_help=True,
    help="List scenarios, presets, TCPs and metrics; print a scenario or its schema in full.",
)

_Words = Annotated[
    list[str],
    typer.Argument(
        help="Print every column of the rows with this in their name.",
        metavar="[NAME]...",
        show_default=False,
    ),
]


def scenarios(words: _Words = [], as_json: options.AsJson = False) -> None:
    """List the scenarios of the library, each with its source."""
    rows = []
    for name, toml in _farlink.scenarios():
        tree = tomllib.loads(toml)
        keys = ("description", "source")
        rows.append({"name": name, **{key: tree.get(key, "") for key in keys}})
    _print(rows, words, as_json, short=("name", "description"))


def presets(
    words: _Words = [],
    as_json: options.AsJson = False,
    plot: Annotated[bool, declare("--plot", "Draw them on one map, as PNG and SVG.")] = False,
    out: Annotated[Path | None, options.out("Write the map here; by default farlink-out.")] = None,
) -> None:
    """List the link presets, each with its source."""
    if out is not None and not plot:
        raise ScenarioError("--out has no effect without --plot; add --plot or leave it out")
    known = json.loads(_farlink.presets())
    if not plot:
        rows = known if as_json else [_preset(entry) for entry in known]
        _print(rows, words, as_json, short=_PRESET)
        return
    directory = out or Path("farlink-out")
    files.check_directory(directory)
    from farlink.channels import preset_map
    from farlink.plot.style import save

    with pictures.optional("presets"):
        for path in save(preset_map(), directory / "presets"):
            text.line(f"figure: {path}")


def tcp(words: _Words = [], as_json: options.AsJson = False) -> None:
    """List the TCPs by name."""
    order = ("name", "summary", "source", "status")
    rows = json.loads(_farlink.variants())
    shown = [{key: row[key] for key in order} for row in rows]
    _print(shown, words, as_json, short=("name", "summary"))
    if not as_json and not words:
        console = text.console(sys.stdout, plain_width=_WHOLE_LINES)
        for name, profile in source.profiles().items():
            if name != "rfc":
                names = ", ".join(profile["tcp"])
                console.print(f"{name}-NAME: {profile['summary']}; NAME is {names}")


def metrics(words: _Words = [], as_json: options.AsJson = False) -> None:
    """List the metrics of a result, with unit and definition."""
    scopes = ("flow", "link", "run", "agent")
    known = [measure for scope in scopes for measure in registry.measures(scope).values()]
    order = ("name", "unit", "scope", "kind", "combine", "definition")
    rows = [{key: getattr(entry, key) for key in order} for entry in known]
    _print(rows, words, as_json, short=("name", "unit", "definition"))


def schema() -> None:
    """Print the JSON Schema of a scenario, for editors."""
    text.line(json.dumps(json.loads(_farlink.schema()), indent=2))


def show(
    scenario: Annotated[str, options.scenario("Name of the library, .toml or .json file.")],
    tcp: Annotated[list[str], options.tcp("The TCP to resolve it for.", "NAME")] = [],
    changes: options.Changes = [],
    plot: Annotated[
        Path | None,
        declare("--plot", "Draw its network here instead, as .png or .svg.", "FILE"),
    ] = None,
) -> None:
    """Print a scenario with all presets, defaults and units resolved, or draw its network."""
    if plot is not None:
        check_picture(plot)
        files.check_file(plot)
    where = source.find(scenario)
    name = text.one_name(tcp)
    resolved = where.resolve([name] if name else None, text.assignments(changes))
    tree = json.loads(next(iter(resolved.values())))
    if plot is None:
        text.line(json.dumps(tree, indent=2))
        return
    from farlink.plot.network import draw_network
    from farlink.plot.style import save_as

    save_as(draw_network(tree), plot)
    text.line(f"figure: {plot}")


for _function in (scenarios, presets, tcp, metrics, schema, show):
    _name = _function.__name__
    app.command(_name, epilog=text.example(EXAMPLES[_name]))(_function)


_PRESET = ("name", "rate down, up", "delay", "BDP", "buffer")


def _preset(item: Mapping[str, Any]) -> dict[str, str]:
    """Format a preset for the table: its own keys, and the buffer with the RTT behind its size."""
    factor, unit = units.prefixed(item["bdp_bytes"], "B")
    buffer = item["buffer_bdp"]
    down, up = str(item["down"]["rate"]), str(item["up"]["rate"])
    if down.partition(" ")[2] == up.partition(" ")[2]:
        down = down.partition(" ")[0]
    return {
        "name": item["name"],
        "rate down, up": f"{down}, {up}",
        "delay": f"{1000 * item['one_way_delay_s']:g} ms",
        "BDP": f"{item['bdp_bytes'] / factor:.4g} {unit}",
        "buffer": "unlimited" if buffer is None else f"{buffer:.3g} BDP",
        "description": item["description"],
        "source": item["source"],
    }


def _print(
    rows: Iterable[Mapping[str, Any]], words: Sequence[str], as_json: bool, *, short: Sequence[str]
) -> None:
    """Print rows: as JSON, in full if `words` select them, otherwise a line of `short` columns."""
    rows = _named(list(rows), words or [])
    if as_json:
        text.line(json.dumps(rows, indent=2))
    elif words:
        _print_whole(rows)
    else:
        _print_short(rows, short)


def _named(rows: list[Mapping[str, Any]], words: Sequence[str]) -> list[Mapping[str, Any]]:
    """Return the rows with a word as name; a word without such a row matches parts of names."""
    if not words:
        return rows
    chosen = []
    for word in words:
        exact = [row for row in rows if row["name"] == word]
        result = exact or [row for row in rows if word in row["name"]]
        if not result:
            near = get_close_matches(word, [str(row["name"]) for row in rows], n=1)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise ScenarioError(f"{word}: no name in this list has that in it{hint}")
        chosen += [row for row in result if row not in chosen]
    return chosen


def _print_short(rows: Sequence[Mapping[str, Any]], short: Sequence[str]) -> None:
    from rich import box
    from rich.table import Table

    cells = [[_cell(row.get(column)) for column in short] for row in rows]
    longest = [max(map(len, column)) for column in zip(short, *cells, strict=True)]
    # Output to a file or pipe is not truncated, unless COLUMNS sets a width.
    console = text.console(sys.stdout, plain_width=_WHOLE_LINES)
    # Only the last column is shortened, because users copy the names.
    room = max(console.width - sum(longest[:-1]) - 2 * len(short), _LEAST_ROOM)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True, show_edge=False)
    for column in short:
        table.add_column(column, no_wrap=True)
    for row in cells:
        table.add_row(*row[:-1], _cut(row[-1], room))
    console.print(table)
    text.line("All of one: the same command with its name, or a part of it, behind.")


def _cut(line: str, room: int) -> str:
    """Shorten a line at a word boundary, because a truncated number would be wrong."""
    if len(line) <= room:
        return line
    return line[: room - 1].rpartition(" ")[0] + " …"


_LEAST_ROOM = 20
"""Smallest width of the last column (characters)."""
_WHOLE_LINES = 2000
"""Width (characters) for output that is not a terminal, so large that no line is truncated."""


def _print_whole(rows: Sequence[Mapping[str, Any]]) -> None:
    from rich.table import Table

    console = text.console(sys.stdout)
    for row in rows:
        console.print(row["name"], style="bold")
        table = Table.grid(padding=(0, 2, 0, 0))
        table.add_column(no_wrap=True)
        table.add_column(overflow="fold")
        for key, value in row.items():
            if key != "name" and value not in (None, ""):
                table.add_row(f"  {key.replace('_', ' ')}", _cell(value))
        console.print(table)


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, Mapping):
        return "\n".join(f"{key}: {_cell(item)}" for key, item in value.items())
    if isinstance(value, list):
        return ", ".join(_cell(item) for item in value)
    return str(value)
