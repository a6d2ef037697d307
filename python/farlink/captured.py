"""Segments, ACKs and SACK blocks of a TCP connection in a capture of an emulation."""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

    from farlink.captures.direction import Direction

__all__ = ["COLUMNS", "HEADERS", "tables"]

COLUMNS = {
    "segments": ("time", "seq", "len", "retransmission"),
    "acks": ("time", "ack", "window"),
    "sacks": ("time", "left", "right"),
}
"""Traces that can be read from a capture, with their columns."""

HEADERS = 120
"""Bytes of a packet that hold its longest IPv4 and TCP headers."""

_START_NS = 86_400 * 10**9
"""Capture time (ns since 1970) at which a run starts."""


def tables(
    path: Path, sender: str, connection: tuple[int, str, int] | None = None
) -> "dict[str, pd.DataFrame]":
    """Return the traces `segments`, `acks` and `sacks` of the packets that a host sent.

    `sender` is the host's address. The connection is given as (port of this host, address and port
    of the other host); the default is the connection with the most data. Columns and units are
    those of a simulated run. Times are on the clock of the capturing host.

    Raises
    ------
    ScenarioError
        If the file is not a capture.
    """
    import pandas as pd

    from farlink import captures

    capture = captures.capture(path)
    ways = [
        (item.start_ns, way)
        for item in capture.connections
        for way in item.directions.values()
        if way.sender.rpartition(":")[0] == sender
    ]
    if connection is not None:
        near, there, far = connection
        wanted = (f"{sender}:{near}", f"{there}:{far}")
        ways = [item for item in ways if (item[1].sender, item[1].receiver) == wanted]
    if not ways:
        return {name: pd.DataFrame(columns=list(columns)) for name, columns in COLUMNS.items()}
    start_ns, way = max(ways, key=lambda item: item[1].bytes)
    return _tables(way, (start_ns - _START_NS) / 1e9)


def _tables(way: "Direction", start: float) -> "dict[str, pd.DataFrame]":
    import numpy as np
    import pandas as pd

    from farlink.captures.direction import Kind

    again = np.isin(way.segments["kind"], (Kind.AGAIN, Kind.FILLED))
    rows = {
        "segments": {**way.segments, "retransmission": again},
        "acks": way.acks,
        "sacks": way.sacks,
    }
    return {
        name: pd.DataFrame(
            {column: rows[name][column] + (start if column == "time" else 0) for column in columns}
        )
        for name, columns in COLUMNS.items()
    }
