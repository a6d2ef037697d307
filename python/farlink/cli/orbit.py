"""The command `farlink channels orbit`: the delay over satellites as a trace."""

from pathlib import Path
from typing import Annotated

import typer

from farlink import files
from farlink import orbit as orbits
from farlink.cli import options, text
from farlink.errors import ScenarioError

__all__ = ["orbit"]


def orbit(
    elements: Annotated[
        str, typer.Argument(help="File of two-line elements, or `example`.", metavar="ELEMENTS")
    ],
    at: Annotated[
        str, typer.Option(help="The user: degrees north and east.", metavar="LATITUDE,LONGITUDE")
    ],
    out: Annotated[Path, options.out("The CSV file to write.", "FILE")],
    gateway: Annotated[
        str,
        typer.Option(
            help="The ground station; by default beside the user.", metavar="LATITUDE,LONGITUDE"
        ),
    ] = "",
    duration: Annotated[float, typer.Option(help="Length of the trace in seconds.")] = 600.0,
    step: Annotated[float, typer.Option(help="Time between its rows in seconds.")] = 0.5,
    min_elevation: Annotated[
        float, typer.Option(help="Least elevation of a usable satellite, in degrees.")
    ] = 25.0,
    interval: Annotated[
        float, typer.Option(help="Seconds between choices of the satellite.")
    ] = 15.0,
    handover_time: Annotated[
        float, typer.Option(help="Seconds of loss after a change of satellite.")
    ] = 0.0,
) -> None:
    """Write the one-way delay over satellites as a CSV for `delay_trace`."""
    files.check_file(out)
    table = orbits.delay_trace(
        orbits.example() if elements == "example" else Path(elements),
        _place(at, "--at"),
        gateway=_place(gateway, "--gateway") if gateway else None,
        duration=duration,
        step=step,
        min_elevation=min_elevation,
        interval=interval,
        handover_time=handover_time,
    )
    files.write_text(out, table.to_csv(index=False))
    delay, loss = table["delay (ms)"], table["loss"].mean()
    satellites = table.loc[table["satellite"] != "", "satellite"].nunique()
    text.line(
        f"{out}: {len(table)} rows, {satellites} satellites, one-way delay {delay.min():.2f} to "
        f"{delay.max():.2f} ms, lost {100 * loss:.2f} % of the rows"
    )


def _place(written: str, option: str) -> orbits.Place:
    try:
        north, east = (float(part) for part in written.split(","))
    except ValueError as error:
        raise ScenarioError(
            f"{option} {written!r}; write degrees north and east, for example 48.14,11.58"
        ) from error
    return orbits.Place(north, east)
