"""`farlink channels rain`: rain fades from place, elevation and frequency."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from farlink import files
from farlink.cli import text
from farlink.errors import ScenarioError
from farlink.views.rain import show

if TYPE_CHECKING:
    from farlink.rainfade import Rain

__all__ = ["rain"]


def rain(
    at: str = typer.Option(
        help="Latitude and longitude in degrees; south and west are negative.", metavar="LAT,LON"
    ),
    frequency: str = typer.Option(help="With its unit: 20GHz.", metavar="F"),
    elevation: float | None = typer.Option(
        None, "--elevation", help="Of the satellite, in degrees.", metavar="DEG"
    ),
    satellite: float | None = typer.Option(
        None, "--satellite", help="Longitude of a geostationary one instead.", metavar="DEG"
    ),
    margin: float | None = typer.Option(
        None, "--margin", help="Tell how often rain takes more than this.", metavar="DB"
    ),
    availability: float | None = typer.Option(
        None, "--availability", help="Tell the margin for this, in percent.", metavar="PERCENT"
    ),
    duration: str | None = typer.Option(
        None, "--duration", help="Mean fade; with --margin, write a channel.", metavar="TIME"
    ),
    clear_sky: float | None = typer.Option(
        None,
        "--clear-sky",
        help="Es/N0 without rain; with --out, write it over time.",
        metavar="DB",
    ),
    storm: float | None = typer.Option(
        None,
        "--storm",
        help="With --clear-sky: in the middle, the attenuation exceeded so often.",
        metavar="PERCENT",
    ),
    length: str | None = typer.Option(
        None, "--length", help="With --clear-sky: of the series; 1 h without it.", metavar="TIME"
    ),
    step: str | None = typer.Option(
        None, "--step", help="With --clear-sky: from row to row; 1 s without it.", metavar="TIME"
    ),
    seed: int | None = typer.Option(
        None, "--seed", help="With --clear-sky: of the random numbers; 1 without it.", metavar="N"
    ),
    out: Path | None = typer.Option(
        None, "--out", help="Write Es/N0 over time here, for rate_trace.", metavar="FILE.csv"
    ),
    as_json: bool = typer.Option(False, "--json", help="Print JSON instead of a table."),
) -> None:
    """Tell the rain fades of a satellite link by the ITU-R models (package itur).

    With --clear-sky and --out: write Es/N0 over time, which `rate_trace` of a scenario reads.
    """
    series = {"--storm": storm, "--length": length, "--step": step, "--seed": seed, "--out": out}
    for option, value in series.items():
        if value is not None and clear_sky is None:
            raise ScenarioError(
                f"{option} has no effect without --clear-sky; add it or leave it out"
            )
    if clear_sky is not None:
        if out is None:
            raise ScenarioError("--clear-sky has no effect without --out; add it or leave it out")
        if out.suffix != ".csv":
            raise ScenarioError(f"--out {out}: write a name that ends in .csv")
        files.check_file(out)
    if duration is not None and margin is None:
        raise ScenarioError("--duration has no effect without --margin; add it or leave it out")
    if availability is not None and not 95 <= availability <= 99.999:
        raise ScenarioError(f"--availability {availability:g}: write 95 to 99.999 percent")
    place = _place(at)
    from farlink.rainfade import rain as describe

    rain = describe(*place, frequency, elevation=elevation, satellite=satellite)
    description = _told(rain, margin, availability, duration)
    if clear_sky is not None and out is not None:
        table = rain.series(
            clear_sky,
            length=length or "1 h",
            step=step or "1 s",
            storm=storm,
            seed=1 if seed is None else seed,
        )
        names = {name: f"{name} ({unit})" for name, unit in table.attrs["units"].items()}
        written = table.rename(columns=names).to_csv(index=False, float_format="%.6g")
        files.write_text(out, written)
        description["series"] = {
            "file": str(out),
            "rows": len(table),
            "esno_least_db": float(table["esno"].min()),
            "esno_mean_db": float(table["esno"].mean()),
        }
    if as_json:
        text.line(json.dumps(description, indent=2))
    else:
        show(rain, description, text.console(sys.stdout))


def _place(at: str) -> tuple[float, float]:
    try:
        latitude, longitude = (float(part) for part in at.split(","))
    except ValueError:
        raise ScenarioError(f"--at {at}: write latitude,longitude, such as 59.3,18.1") from None
    return latitude, longitude


def _told(
    rain: "Rain", margin: float | None, availability: float | None, duration: str | None
) -> dict[str, object]:
    table: dict[str, object] = {
        "elevation": rain.elevation,
        "height_km": rain.height_km,
        "frequency_ghz": rain.frequency_ghz,
        "exceeded": [[share, value] for share, value in rain.table["attenuation"].items()],
    }
    if margin is not None:
        table["margin_db"] = margin
        table["fade_probability"] = rain.probability(margin)
    if availability is not None:
        table["availability"] = availability / 100
        table["margin_for_availability_db"] = rain.margin(availability / 100)
    if margin is not None and duration is not None:
        table["channel"] = rain.channel(margin, duration)
    return table
