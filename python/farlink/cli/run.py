"""Options of `farlink run`; the module `simulate` has the function that runs it."""

from pathlib import Path
from typing import Annotated

from farlink.cli import options
from farlink.cli.options import declare
from farlink.cli.simulate import simulate

__all__ = ["run"]

_Snaplen = Annotated[int | None, declare("--snaplen", "Bytes kept of each packet; 0 is all.", "N")]
_Format = Annotated[str, declare("--format", "Format of traces: parquet or csv.", "NAME")]
_Plot = Annotated[bool, declare("--plot", "Draw run 0 as PNG and SVG.")]
_Figure = Annotated[
    str | None, declare("--figure", "Draw one figure of run 0, such as ladder.", "NAME")
]
_Story = Annotated[
    int | None, declare("--story", "Print the first N sentences of run 0's story; 0 is all.", "N")
]
_Phases = Annotated[
    str | None,
    declare(
        "--phases",
        'Print run 0 by phase of its path: "path", or an interval such as "15 s" or "15 s,12 s".',
        "WHEN",
    ),
]


def run(
    scenario: Annotated[
        str, options.scenario("Name of the library, .toml file, or saved result .json to repeat.")
    ],
    tcp: Annotated[list[str], options.tcp("TCPs to compare.", "A,B,C")] = [],
    changes: options.Changes = [],
    seed: options.Seed = None,
    runs: Annotated[
        int | None, options.runs("Independent runs per TCP; 2 and more give intervals.")
    ] = None,
    jobs: Annotated[
        int | None,
        declare("--jobs", "Threads, and processes that draw; by default one per processor.", "N"),
    ] = None,
    threads: Annotated[
        int, declare("--threads", "Threads of one run of a large network; by default 1.", "N")
    ] = 1,
    json_file: Annotated[
        Path | None, declare("--json", "Write the result here; - is standard output.", "FILE")
    ] = None,
    out: Annotated[
        Path | None, options.out("Write the result and the traces of run 0 here.")
    ] = None,
    packets: Annotated[
        bool, declare("--packets", "With --out also write the trace of packets.")
    ] = False,
    pcap: Annotated[bool, declare("--pcap", "Write run 0 as pcapng per capture point.")] = False,
    snaplen: _Snaplen = None,
    plot: _Plot = False,
    figure: _Figure = None,
    story: _Story = None,
    phases: _Phases = None,
    figure_size: options.FigureSize = None,
    fonts: options.Fonts = None,
    table_format: _Format = "parquet",
    quiet: options.QuietTable = False,
) -> None:
    """Simulate a scenario and print a table of the results."""
    simulate(
        scenario,
        tcp=tcp,
        changes=changes,
        seed=seed,
        runs=runs,
        jobs=jobs,
        threads=threads,
        json_file=json_file,
        out=out,
        packets=packets,
        pcap=pcap,
        snaplen=snaplen,
        plot=plot,
        figure=figure,
        story=story,
        phases=phases,
        figure_size=figure_size,
        fonts=fonts,
        table_format=table_format,
        quiet=quiet,
    )
