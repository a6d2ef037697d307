"""`farlink run`: its options; what it does is in `simulate`."""

from pathlib import Path

import typer

from farlink.cli import complete
from farlink.cli.simulate import simulate

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
        None,
        "--jobs",
        help="Threads, and processes that draw; by default one per processor.",
        metavar="N",
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
    figure_size: str | None = typer.Option(
        None,
        "--figure-size",
        help="Size of figures: page, column, slide, or inches as 3.4x2.5.",
        metavar="SIZE",
    ),
    fonts: str | None = typer.Option(
        None, "--fonts", help="Fonts of figures: sans, or tex (Computer Modern).", metavar="NAME"
    ),
    table_format: str = typer.Option(
        "parquet", "--format", help="Format of traces: parquet or csv.", metavar="NAME"
    ),
    quiet: bool = typer.Option(False, "--quiet", help="No progress and no table."),
) -> None:
    """Simulate a scenario and print a table of the results."""
    simulate(
        scenario,
        tcp=tcp,
        changes=changes,
        seed=seed,
        runs=runs,
        jobs=jobs,
        json_file=json_file,
        out=out,
        pcap=pcap,
        snaplen=snaplen,
        plot=plot,
        figure_size=figure_size,
        fonts=fonts,
        table_format=table_format,
        quiet=quiet,
    )
