"""The command `farlink channels orbit`: the delay over satellites as a trace."""

from pathlib import Path

import typer

from farlink import files
from farlink import orbit as orbits
from farlink.cli import text
from farlink.errors import ScenarioError

__all__ = ["orbit"]


def orbit(
    elements: str = typer.Argument(
        help="File of two-line elements, or `example`.", metavar="ELEMENTS"
    ),
    at: str = typer.Option(
        ..., "--at", help="The user: degrees north and east.", metavar="LATITUDE,LONGITUDE"
    ),
    gateway: str = typer.Option(
        "", "--gateway", help="The ground station; beside the user.", metavar="LATITUDE,LONGITUDE"
    ),
    duration: float = typer.Option(600.0, help="Length of the trace in seconds."),
    step: float = typer.Option(0.5, help="Time between its rows in seconds."),
    min_elevation: float = typer.Option(25.0, help="In degrees."),
    interval: float = typer.Option(15.0, help="Seconds between choices of the satellite."),
    handover_time: float = typer.Option(0.0, help="Seconds of loss after a change of it."),
    out: Path = typer.Option(..., "--out", help="The CSV file to write.", metavar="FILE"),
) -> None:
    """Write the one-way delay over satellites as a CSV that `delay_trace` takes."""
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
