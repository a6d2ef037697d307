"""Rain fades as tables."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from farlink.rainfade import Rain
    from farlink.views.page import Sink

__all__ = ["show"]


def show(rain: "Rain", mapping: dict[str, object], out: "Sink") -> None:
    """Print the attenuation by rain, and the parameters of the request."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("exceeded in a year (%)", justify="right")
    table.add_column("time in a year", justify="right")
    table.add_column("rain attenuation (dB)", justify="right")
    for share, value in rain.table["attenuation"].items():
        part = float(str(share))
        table.add_row(f"{100 * part:g}", _hours(part), f"{value:.2f}")
    out.print(table)
    out.print(
        f"{rain.latitude:g}, {rain.longitude:g}, {rain.height_km:.3f} km above the sea; "
        f"elevation {rain.elevation:.1f} degrees, {rain.frequency_ghz:g} GHz; ITU-R P.618",
        soft_wrap=True,
    )
    if "fade_probability" in mapping:
        share = float(str(mapping["fade_probability"]))
        out.print(f"more than {mapping['margin_db']:g} dB: {100 * share:.3g} % of the year")
    if "availability" in mapping:
        out.print(
            f"available {100 * float(str(mapping['availability'])):g} % of the year: a margin of "
            f"{mapping['margin_for_availability_db']:.2f} dB"
        )
    if "channel" in mapping:
        from farlink.estimate import in_toml

        out.print(f"channel = {in_toml(mapping['channel'])}", soft_wrap=True)
    if isinstance(series := mapping.get("series"), dict):
        out.print(
            f"wrote {series['file']}: {series['rows']:,} rows; Es/N0 "
            f"{series['esno_mean_db']:.2f} dB in the mean, "
            f"{series['esno_least_db']:.2f} dB at least",
            soft_wrap=True,
        )
        out.print(
            f'rate_trace = {{ file = "{series["file"]}", symbol_rate = "30 MBd", margin = 1 }}',
            soft_wrap=True,
        )


def _hours(share: float) -> str:
    hours = 8766 * share
    return f"{hours:.0f} h" if hours >= 10 else f"{60 * hours:.0f} min"
