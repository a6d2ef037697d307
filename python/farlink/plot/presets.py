"""Map of all link presets over delay and rate, coloured by loss."""

import math
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure

from farlink import units
from farlink.plot.data import Array
from farlink.plot.sheet import points, sheet, styled
from farlink.plot.style import MUTED, PALETTE, title

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw_presets", "without_crossings"]

_LEAST_MS = 0.02
"""Position of a delay of 0 on the x axis (ms)."""
_BEND_MS = 620
"""Position of the bend of the lines to the names on the x axis (ms)."""
_ASPECT = 1.7
"""Ratio of width to height of the axes."""
_CLEAN = PALETTE[0]
_COLOURS = "YlOrRd"
_NORM = LogNorm(1e-3, 0.3)


@styled
def draw_presets(presets: Sequence[Mapping[str, Any]], losses: Mapping[str, float]) -> Figure:
    """Draw a dot for each preset's downlink and a ring for its uplink, coloured by packet loss."""
    figure = sheet(4.3)
    axes = figure.subplots()
    for preset in presets:
        delay = max(1e3 * preset["one_way_delay_s"], _LEAST_MS)
        down, up = (units.parse_rate(preset[key]["rate"]) or 1.0 for key in ("down", "up"))
        axes.plot([delay, delay], [up, down], color=MUTED, lw=0.8, zorder=1)
        axes.plot(delay, up, "o", mfc="white", mec=MUTED, ms=4, zorder=2)
        # Dots of lossy links are smaller, so that a lossless link at the same place remains
        # visible.
        loss = losses[preset["name"]]
        size = 5 if loss else 8
        axes.plot(
            delay,
            down,
            "o",
            color=_colour(loss),
            mec="black",
            mew=0.5,
            ms=size,
            zorder=4 - size / 8,
        )
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(0.013, 6e4)
    axes.set_xticks([_LEAST_MS, 0.1, 1, 10, 100], ["0", "0.1", "1", "10", "100"])
    axes.minorticks_off()
    axes.set_xlabel("one-way delay down (ms)")
    axes.set_ylim(6e3, 4e9)
    ticks = [10.0**power for power in range(4, 10)]
    axes.set_yticks(ticks, [_rate(tick) for tick in ticks])
    axes.set_ylabel("rate: dot down, ring up")
    _names(axes, presets, losses)
    _legend(axes)
    title(figure, "Link presets: delay, rate, and loss of packets of 1500 B")
    return figure


def _names(axes: "Axes", presets: Sequence[Mapping[str, Any]], losses: Mapping[str, float]) -> None:
    """Write the names in a column on the right, each with a line to its dot."""
    small = points(7)

    def place(item: Mapping[str, Any]) -> tuple[float, float]:
        return units.parse_rate(item["down"]["rate"]) or 1.0, item["one_way_delay_s"]

    low, high = (float(item) for item in np.log10(axes.get_ylim()))
    left, right = (float(item) for item in np.log10(axes.get_xlim()))
    heights = np.linspace(0.975, 0.025, len(presets))
    # Positions in units of the height of the axes.
    places = [
        (
            _ASPECT * (np.log10(max(1e3 * delay, _LEAST_MS)) - left) / (right - left),
            (np.log10(rate) - low) / (high - low),
        )
        for rate, delay in map(place, presets)
    ]
    bend = _ASPECT * (np.log10(_BEND_MS) - left) / (right - left)
    for preset, number in zip(presets, without_crossings(places, bend, heights), strict=True):
        rate, delay = place(preset)
        x, y = max(1e3 * delay, _LEAST_MS), 10 ** (low + heights[number] * (high - low))
        loss = losses[preset["name"]]
        label = preset["name"] + (f"  {100 * loss:.2g} %" if loss else "")
        axes.plot([x, _BEND_MS, 800], [rate, y, y], color="#B4B4B4", lw=0.5, zorder=0.5)
        axes.text(850, y, label, va="center", fontsize=small)


def without_crossings(
    points: Sequence[tuple[float, float]], bend: float, heights: Sequence[float] | Array
) -> list[int]:
    """Return the index of the height of each point such that no lines from points to heights cross.

    `bend` is the x coordinate of all heights. Two crossing lines become shorter if their ends are
    exchanged, so ends are exchanged until no exchange shortens the lines.
    """
    lengths = [[math.hypot(bend - x, height - y) for height in heights] for x, y in points]
    chosen = list(range(len(points)))
    is_shorter = True
    while is_shorter:
        is_shorter = False
        for a, b in combinations(range(len(points)), 2):
            i, j = chosen[a], chosen[b]
            if lengths[a][j] + lengths[b][i] < lengths[a][i] + lengths[b][j] - 1e-9:
                chosen[a], chosen[b] = j, i
                is_shorter = True
    return chosen


def _colour(loss: float) -> Any:  # noqa: ANN401 (whatever matplotlib takes)
    import matplotlib as mpl

    return mpl.colormaps[_COLOURS](_NORM(loss)) if loss > 0 else _CLEAN


def _legend(axes: "Axes") -> None:
    handles = [
        axes.plot([], [], "o", color=_colour(loss), mec="black", mew=0.5, ms=6, ls="")[0]
        for loss in (0.0, 0.001, 0.01, 0.1)
    ]
    axes.legend(
        handles,
        ["no loss", "0.1 %", "1 %", "10 %"],
        loc="lower left",
        bbox_to_anchor=(0.12, 0.02),
        title="lost",
    )


def _rate(bits: float) -> str:
    factor, unit = units.prefixed(bits, "bit/s")
    return f"{bits / factor:g} {unit}"
