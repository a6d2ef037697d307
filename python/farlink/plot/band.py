"""Band below the plot of cwnd that shows the limits of the sender."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.patches import Patch

from farlink.limits import KINDS
from farlink.plot.data import Array, Columns

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

__all__ = ["HEIGHT", "draw_band", "ordered", "shares"]

HEIGHT = 0.16
"""Height of the band and the gap above it, as a share of the axis above zero."""

_SOLID = 0.75
"""Share of `HEIGHT` that is the band itself."""

_COLUMNS = 350

_LOOKS = {
    "handshake": ("#BDBDBD", ""),
    "application": ("#EDEDED", ""),
    "send_buffer": ("#C7A6DB", "...."),
    "receive_window": ("#F0C35A", "////"),
    "congestion_window": ("#9CC9EA", ""),
    "pacing": ("#7FCBA4", "||||"),
    "recovery": ("#E07B54", ""),
    "timeouts": ("#3A3A3A", ""),
}
"""Colour and hatch of each limit. Colours of similar lightness differ in their hatch."""


def draw_band(
    axes: "Axes", flows: Sequence[Columns], limits: tuple[float, float], top: float
) -> "dict[str, Artist]":
    """Draw the share of each limit in each column of time, below zero.

    `top` is the top of the axis above zero. Returns handles of the legend by label.
    """
    at, table = shares(flows, limits, _COLUMNS)
    legend: dict[str, Artist] = {}
    tall = HEIGHT * _SOLID * top
    low = np.full(len(at) - 1, -HEIGHT * top)
    for kind, (shade, strokes) in _LOOKS.items():
        part = tall * table[kind]
        if part.any():
            # Equal adjacent columns are merged, because limits rarely change.
            steps = np.abs(np.diff([low, part], prepend=np.inf)).max(axis=0)
            begins = steps > 1e-6 * top
            axes.fill_between(
                np.repeat(np.append(at[:-1][begins], at[-1]), 2)[1:-1],
                np.repeat(low[begins], 2),
                np.repeat((low + part)[begins], 2),
                facecolor=shade,
                edgecolor="white" if strokes else shade,
                hatch=strokes,
                lw=0,
            )
            legend[f"limit: {KINDS[kind]}"] = Patch(
                facecolor=shade, edgecolor="white", hatch=strokes, lw=0
            )
        low = low + part
    axes.axhline(0, color="#1A1A1A", lw=0.5)  # The band does not belong to the scale.
    return legend


def ordered(legend: "Mapping[str, Artist]") -> list[str]:
    """Return the band's labels in a legend, in the order of the band from its bottom."""
    return [name for name in (f"limit: {words}" for words in KINDS.values()) if name in legend]


def shares(
    flows: Sequence[Columns], limits: tuple[float, float], columns: int
) -> tuple[Array, Mapping[str, Array]]:
    """Return the edges of columns of time, and the share of each limit in each column.

    The limit of a row is valid until the flow's next row. Several flows are averaged over those
    that have started.
    """
    edges = np.linspace(*limits, columns + 1)
    table = {kind: np.zeros(columns) for kind in KINDS}
    known = np.zeros(columns)
    for flow in flows:
        time, limit = flow["time"], flow["limit"]
        ends = np.append(time[1:], limits[1]) if len(time) else time
        for kind in KINDS:
            chosen = limit == kind
            spent = _time_before(time[chosen], ends[chosen], edges)
            table[kind] += np.diff(spent)
        known += np.diff(_time_before(time[:1], np.array([limits[1]])[: len(time)], edges))
    known[known == 0] = 1.0
    return edges, {kind: spent / known for kind, spent in table.items()}


def _time_before(start: Array, end: Array, at: Array) -> Array:
    """Return the total length of sorted, disjoint intervals before each of the times `at`."""
    if not len(start):
        return np.zeros(len(at))
    whole = np.concatenate([[0.0], np.cumsum(end - start)])
    begun = np.searchsorted(start, at, side="right")
    last = np.maximum(begun - 1, 0)
    ahead = np.clip(end[last] - at, 0.0, None) * (begun > 0)
    return np.asarray(whole[begun] - ahead)
