"""Summary of one direction of a captured connection."""

import math
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from farlink.captures import Connection

__all__ = ["measures"]


def measures(connection: "Connection", name: str) -> dict[str, Any]:
    """Return the columns of `Capture.summary` for a direction."""
    direction = connection.directions[name]
    elapsed = direction.until - direction.since
    rtt = direction.rtt["rtt"]
    some = len(rtt) > 0
    return {
        "from": direction.sender,
        "to": direction.receiver,
        "captured_at": direction.place,
        "bytes": direction.bytes,
        "duration": elapsed,
        "goodput": 8 * direction.bytes / elapsed if elapsed > 0 else math.nan,
        "segments": len(direction.segments["time"]),
        "sent_again": direction.sent_again,
        "overtaken": direction.overtaken,
        "rtt_min": direction.least_rtt if direction.least_rtt is not None else math.nan,
        "rtt_median": float(np.median(rtt)) if some else math.nan,
        "rtt_p95": float(np.quantile(rtt, 0.95)) if some else math.nan,
        "flight_max": float(direction.flight["flight"].max(initial=0)),
    }
