"""Status line of an emulation's gateway."""

from collections.abc import Mapping
from typing import Any

__all__ = ["line"]


def line(row: Mapping[str, Any]) -> str:
    """Return a gateway's counters, and the delay that its tunnel adds to the scenario's."""
    own = row["gateway"]
    if not own["joined"]:
        return f"gateway {row['host']} never joined; {own['away']:,} packets for it were lost"
    path = "round trips unknown"
    if own["one_way_s"] is not None:
        left = max(own["one_way_s"] - own["taken_off_s"], 0.0)
        path = (
            f"the tunnel takes {1e3 * own['one_way_s']:.3f} ms each way "
            f"(jitter {1e3 * own['jitter_s']:.3f} ms), {1e3 * own['taken_off_s']:.3f} ms of that "
            f"taken off the scenario's delays, {1e3 * left:.3f} ms added"
        )
    lost = f"lost {own['lost']:,} times, {own['away']:,} packets meanwhile"
    bad = f"{own['missing']:,} datagrams missing, {own['forged']:,} forged, "
    place = own["place"]
    at = f"; at {place[0]:.1f} m, {place[1]:.1f} m" if place else ""
    return (
        f"gateway {row['host']} {own['address'] or '(away)'}: {path}; {lost}; "
        f"{bad}{own['replayed']:,} replayed{at}"
    )
