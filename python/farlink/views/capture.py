"""Captured connections as a table."""

import math
from typing import TYPE_CHECKING

from farlink import units

if TYPE_CHECKING:
    from farlink.captures import Capture
    from farlink.views.page import Sink

__all__ = ["show"]


_MOST_ROWS = 20


def show(capture: "Capture", out: "Sink") -> None:
    """Print a row per connection and direction with data."""
    from rich import box
    from rich.table import Table

    from farlink.captures.counted import measures

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    for name in ("", "from", "to"):
        table.add_column(name, no_wrap=True)
    for name in (
        "data",
        "time\n(s)",
        "goodput",
        "segments",
        "sent\nagain",
        "over-\ntaken",
        "least\nRTT (ms)",
        "median\nRTT (ms)",
        "largest\nflight",
    ):
        table.add_column(name, justify="right", no_wrap=True)
    for connection in capture.connections[:_MOST_ROWS]:
        for name, way in connection.directions.items():
            if not way.bytes:
                continue
            row = measures(connection, name)
            table.add_row(
                f"{connection.number} {name}",
                row["from"],
                row["to"],
                _with_unit(row["bytes"], "B"),
                f"{row['duration']:.4g}",
                _with_unit(row["goodput"], "bit/s"),
                f"{row['segments']:,}",
                f"{row['sent_again']:,}",
                f"{row['overtaken']:,}",
                _ms(row["rtt_min"]),
                _ms(row["rtt_median"]),
                _with_unit(row["flight_max"], "B"),
            )
    out.print(table)
    hidden = len(capture.connections) - _MOST_ROWS
    if hidden > 0:
        out.print(f"and {hidden:,} smaller connections", soft_wrap=True)
    first = capture.connections[0]
    places = {
        "sender": "at its sender",
        "receiver": "at its receiver",
        "between": "between its ends",
    }
    place = first.directions[first.main].place
    if place:
        out.print(f"connection {first.number} was captured {places[place]}", soft_wrap=True)
    for note in [*first.notes, *capture.notes]:
        out.print(note, soft_wrap=True)


def _with_unit(value: float, unit: str) -> str:
    if math.isnan(value):
        return "-"
    factor, shown = units.prefixed(value, unit)
    return f"{units.rounded(value / factor)} {shown}"


def _ms(value: float) -> str:
    return "-" if math.isnan(value) else f"{1e3 * value:.4g}"
