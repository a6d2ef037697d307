"""Options that several commands share."""

from pathlib import Path
from typing import Annotated, Any

import typer

from farlink.cli import complete

__all__ = [
    "AsJson",
    "Attach",
    "Changes",
    "Cluster",
    "Endpoint",
    "FigureSize",
    "Fonts",
    "Force",
    "Jobs",
    "JsonFile",
    "KernelTcp",
    "PcapDir",
    "Plain",
    "Quiet",
    "QuietTable",
    "Realtime",
    "Scenario",
    "Seed",
    "Snaplen",
    "Store",
    "declare",
    "out",
    "runs",
    "scenario",
    "tcp",
]


def declare(name: str, text: str, metavar: str | None = None) -> Any:  # noqa: ANN401 (of typer's own)
    """Declare an option."""
    return typer.Option(name, help=text, metavar=metavar)


def out(text: str, metavar: str = "DIR") -> Any:  # noqa: ANN401 (of typer's own)
    """Declare --out: the file or folder to write."""
    return declare("--out", text, metavar)


def runs(text: str) -> Any:  # noqa: ANN401 (of typer's own)
    """Declare --runs: the number of runs of each setting."""
    return declare("--runs", text, "N")


def scenario(text: str, **more: Any) -> Any:  # noqa: ANN401 (of typer's own)
    """Declare the argument SCENARIO, which the shell completes."""
    return typer.Argument(help=text, metavar="SCENARIO", autocompletion=complete.scenarios, **more)


def tcp(text: str, metavar: str = "A,B") -> Any:  # noqa: ANN401 (of typer's own)
    """Declare --tcp, which the shell completes."""
    return typer.Option("--tcp", help=text, metavar=metavar, autocompletion=complete.tcps)


Scenario = Annotated[str, scenario("Name of the library, or .toml file.")]
Changes = Annotated[list[str], declare("--set", "Replace a value, with its unit.", "PATH=VALUE")]
Seed = Annotated[int | None, declare("--seed", "Replace the seed.", "N")]
AsJson = Annotated[bool, declare("--json", "Print JSON instead of a table.")]
Quiet = Annotated[bool, declare("--quiet", "No progress.")]
QuietTable = Annotated[bool, declare("--quiet", "No progress and no table.")]

# Options that select what is simulated, and with how many threads.
Jobs = Annotated[int | None, declare("--jobs", "Threads; by default one per processor.", "N")]
Store = Annotated[
    Path | None, declare("--store", "Keep simulated runs here, and reuse those kept.", "DIR")
]
Cluster = Annotated[
    str, declare("--cluster", "Simulate on a Dask cluster instead: tcp://host:8786.", "URL")
]

# Options of figures.
FigureSize = Annotated[
    str | None,
    declare("--figure-size", "Size of figures: page, column, slide, or inches as 3.4x2.5.", "SIZE"),
]
Fonts = Annotated[
    str | None, declare("--fonts", "Fonts of figures: sans, or tex (Computer Modern).", "NAME")
]

# Options of the emulator.
KernelTcp = Annotated[list[str], tcp("TCP of the hosts' kernels.", "NAME")]
Endpoint = Annotated[
    list[str],
    declare(
        "--endpoint",
        "Host whose TCP is this program, in user space, instead of a kernel.",
        "HOST=TCP",
    ),
]
Attach = Annotated[
    list[str],
    declare(
        "--attach",
        "Existing device or namespace that serves as a host: an interface (the machine behind "
        "it), bridge:NAME, netns:NAME or container:NAME.",
        "HOST=WHAT",
    ),
]
Force = Annotated[
    bool, declare("--force", "Attach even the interface of the machine's own connection.")
]
Plain = Annotated[bool, declare("--plain", "Read and write one packet per system call.")]
Realtime = Annotated[
    bool | None,
    declare(
        "--realtime/--no-realtime",
        "Least lateness, at the cost of processor time; or normal priority. "
        "Default: real-time priority where it is allowed.",
    ),
]
PcapDir = Annotated[
    Path | None, declare("--pcap", "Capture at each host, and the lost packets.", "DIR")
]
Snaplen = Annotated[int, declare("--snaplen", "Bytes captured of a packet; 0 is all.", "N")]
JsonFile = Annotated[
    Path | None, declare("--json", "Write what happened here; - is standard output.", "FILE")
]
