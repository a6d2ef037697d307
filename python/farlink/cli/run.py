"""`farlink run`: simulate, show a table, write what was asked for."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from farlink import api, files, folder, source
from farlink.cli import complete, progress, text
from farlink.errors import Interrupted, ScenarioError
from farlink.result import MOST_SNAPLEN
from farlink.trace import FORMATS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from farlink.result import Result

__all__ = ["run"]


def run(
    scenario: str = typer.Argument(
        help="Name of the library, .toml file, or saved result .json to repeat.",
        metavar="SCENARIO",
        autocompletion=complete.scenarios,
    ),
    tcp: list[str] = typer.Option(
        [], "--tcp", help="TCPs to compare.", metavar="A,B,C", autocompletion=complete.tcps
    ),
    changes: list[str] = typer.Option(
        [], "--set", help="Replace a value, with its unit.", metavar="PATH=VALUE"
    ),
    seed: int | None = typer.Option(None, "--seed", help="Replace the seed.", metavar="N"),
    runs: int | None = typer.Option(
        None, "--runs", help="Independent runs per TCP; 2 and more give intervals.", metavar="N"
    ),
    jobs: int | None = typer.Option(
        None, "--jobs", help="Threads; by default one per processor.", metavar="N"
    ),
    json_file: Path | None = typer.Option(
        None, "--json", help="Write the result here; - is standard output.", metavar="FILE"
    ),
    out: Path | None = typer.Option(
        None, "--out", help="Write the result and the traces of run 0 here.", metavar="DIR"
    ),
    pcap: bool = typer.Option(False, "--pcap", help="Write run 0 as pcapng per capture point."),
    snaplen: int | None = typer.Option(
        None, "--snaplen", help="Bytes kept of each packet; 0 is all.", metavar="N"
    ),
    plot: bool = typer.Option(False, "--plot", help="Draw run 0 as PNG and SVG."),
    table_format: str = typer.Option(
        "parquet", "--format", help="Format of traces: parquet or csv.", metavar="NAME"
    ),
    quiet: bool = typer.Option(False, "--quiet", help="No progress and no table."),
) -> None:
    """Simulate a scenario and print a table of the results."""
    if table_format not in FORMATS:
        raise ScenarioError(f"--format {table_format}: write {' or '.join(FORMATS)}")
    if snaplen is not None and not pcap:
        raise ScenarioError("--snaplen has no effect without --pcap; add --pcap or leave it out")
    if snaplen is not None and not 0 <= snaplen <= MOST_SNAPLEN:
        raise ScenarioError(f"--snaplen {snaplen}: write 0 (whole packets) to {MOST_SNAPLEN}")
    captured = (snaplen or 0) if pcap else None
    where = source.find(scenario)
    directory = out
    if directory is None and (plot or pcap):
        directory = files.inside(Path("farlink-out"), files.as_name(where.name))
    # Everything that can be refused is refused before the first run starts.
    if json_file is not None and not text.is_standard_output(json_file):
        files.check_file(json_file)
    if directory is not None:
        files.check_directory(directory)
    stopped: Interrupted | None = None
    try:
        with progress.simulating(quiet) as watch:
            result = api.run(
                scenario,
                tcp=text.names(tcp),
                overrides=dict(text.assignments(changes)),
                seed=seed,
                runs=runs,
                jobs=jobs,
                progress=watch,
            )
    except Interrupted as stop:
        result, stopped = stop.result, stop
    # What reads the table may go away; the files are written all the same.
    with text.told_at_the_end(quiet or text.is_standard_output(json_file)) as tell:
        tell(lambda: _table(result))
        if json_file is not None:
            text.write_json(json_file, result.pieces())
            tell(lambda: text.line(f"result: {json_file}"))
        if directory is not None and stopped is None:
            with progress.simulating(quiet) as watch:
                for name in result.tcp:
                    result.probe(name, snaplen=captured, progress=watch)
            with progress.writing(quiet) as say:
                if out is not None:
                    result.save(
                        out, table_format=table_format, plots=plot, snaplen=captured, tell=say
                    )
                else:
                    with folder.filling(directory, last="result.json") as stage:
                        result.save_run(stage, plots=plot, snaplen=captured, tell=say)
            tell(lambda: text.line(f"files: {directory}/"))
        elif out is not None:
            with folder.filling(out, last="result.json") as stage:
                result.to_json(stage / "result.json")
    if stopped is not None:
        kept = [str(json_file)] if json_file is not None else []
        kept += [str(out / "result.json")] if out is not None else []
        where_kept = f"; {' and '.join(kept)} has them, without traces" if kept else ""
        raise text.Stopped(f"{stopped}{where_kept}")


def _table(result: "Result") -> None:
    from farlink.cli.table import show

    show(result, text.console(sys.stdout))
    for name in result.tcp:
        _own_keys(name, result.scenario(name)["tcp"])


def _own_keys(name: str, tcp: "Mapping[str, object]") -> None:
    """Say which keys of the scenario stand before those of the profile."""
    profile = str(tcp["profile"])
    own = [key for key in source.profiles()[profile]["keys"] if key in tcp]
    if own:
        text.line(f"{name}: the scenario's own {', '.join(own)}, not those of profile {profile}")
