"""The command `farlink channels rain`: rain fades from place, elevation and frequency."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from farlink import files
from farlink.cli import options, text
from farlink.cli.options import declare
from farlink.errors import ScenarioError
from farlink.views.rain import show

if TYPE_CHECKING:
    import pandas as pd

    from farlink.rainfade import Rain

__all__ = ["rain"]


_At = Annotated[
    str,
    declare("--at", "Latitude and longitude in degrees; south and west are negative.", "LAT,LON"),
]
_Frequency = Annotated[str, declare("--frequency", "With its unit: 20GHz.", "F")]
_Elevation = Annotated[float | None, declare("--elevation", "Of the satellite, in degrees.", "DEG")]
_Satellite = Annotated[
    float | None, declare("--satellite", "Longitude of a geostationary satellite instead.", "DEG")
]
_Margin = Annotated[
    float | None,
    declare("--margin", "Print the share of time with more attenuation than this.", "DB"),
]
_Availability = Annotated[
    float | None, declare("--availability", "Print the margin for this, in percent.", "PERCENT")
]
_Duration = Annotated[
    str | None, declare("--duration", "Mean fade; with --margin, print a channel.", "TIME")
]
_ClearSky = Annotated[
    float | None, declare("--clear-sky", "Es/N0 without rain; --out writes it over time.", "DB")
]
_Storm = Annotated[
    float | None,
    declare(
        "--storm",
        "With --clear-sky: peak in the middle, the attenuation exceeded for this share of time.",
        "PERCENT",
    ),
]
_Length = Annotated[
    str | None,
    declare("--length", "With --clear-sky: length of the series; by default 1 h.", "TIME"),
]
_Step = Annotated[
    str | None, declare("--step", "With --clear-sky: time between rows; by default 1 s.", "TIME")
]
_Seed = Annotated[
    int | None, declare("--seed", "With --clear-sky: seed of the series; by default 1.", "N")
]


def rain(
    at: _At,
    frequency: _Frequency,
    elevation: _Elevation = None,
    satellite: _Satellite = None,
    margin: _Margin = None,
    availability: _Availability = None,
    duration: _Duration = None,
    clear_sky: _ClearSky = None,
    storm: _Storm = None,
    length: _Length = None,
    step: _Step = None,
    seed: _Seed = None,
    out: Annotated[
        Path | None, options.out("Write Es/N0 over time here, for rate_trace.", "FILE.csv")
    ] = None,
    as_json: options.AsJson = False,
) -> None:
    """Print the rain fades of a satellite link by the ITU-R models (package itur).

    With --clear-sky and --out, write Es/N0 over time for `rate_trace` of a scenario.
    """
    _check_series(
        clear_sky, out, {"--storm": storm, "--length": length, "--step": step, "--seed": seed}
    )
    if duration is not None and margin is None:
        raise ScenarioError("--duration has no effect without --margin; add it or leave it out")
    if availability is not None and not 95 <= availability <= 99.999:
        raise ScenarioError(f"--availability {availability:g}: write 95 to 99.999 percent")
    place = _place(at)
    from farlink.rainfade import rain as describe

    rain = describe(*place, frequency, elevation=elevation, satellite=satellite)
    description = _describe(rain, margin, availability, duration)
    if clear_sky is not None and out is not None:
        table = rain.series(
            clear_sky,
            length=length or "1 h",
            step=step or "1 s",
            storm=storm,
            seed=1 if seed is None else seed,
        )
        description["series"] = _write_series(table, out)
    if as_json:
        text.line(json.dumps(description, indent=2))
    else:
        show(rain, description, text.console(sys.stdout))


def _check_series(clear_sky: float | None, out: Path | None, settings: dict[str, object]) -> None:
    for option, value in {**settings, "--out": out}.items():
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


def _write_series(table: "pd.DataFrame", out: Path) -> dict[str, object]:
    """Write Es/N0 over time as CSV, and return its summary."""
    names = {name: f"{name} ({unit})" for name, unit in table.attrs["units"].items()}
    files.write_text(out, table.rename(columns=names).to_csv(index=False, float_format="%.6g"))
    return {
        "file": str(out),
        "rows": len(table),
        "esno_least_db": float(table["esno"].min()),
        "esno_mean_db": float(table["esno"].mean()),
    }


def _place(at: str) -> tuple[float, float]:
    try:
        latitude, longitude = (float(part) for part in at.split(","))
    except ValueError:
        raise ScenarioError(f"--at {at}: write latitude,longitude, such as 59.3,18.1") from None
    return latitude, longitude


def _describe(
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
