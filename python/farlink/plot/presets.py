"""All presets on one map: delay, rate and loss."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure

from farlink import units
from farlink.plot.style import MUTED, PALETTE, WIDTH, styled, title

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw_presets"]

_LEAST_MS = 0.02
"""Where a delay of 0 is drawn."""
_CLEAN = PALETTE[0]
_COLOURS = "YlOrRd"
_NORM = LogNorm(1e-3, 0.3)


@styled
def draw_presets(presets: Sequence[Mapping[str, Any]], losses: Mapping[str, float]) -> Figure:
    """Draw each preset down as a dot and up as a ring, coloured by the loss of full packets."""
    figure = Figure(figsize=(WIDTH, 4.3), layout="constrained")
    axes = figure.subplots()
    for one in presets:
        delay = max(1e3 * one["one_way_delay_s"], _LEAST_MS)
        down, up = (units.parse_rate(one[key]["rate"]) or 1.0 for key in ("down", "up"))
        axes.plot([delay, delay], [up, down], color=MUTED, lw=0.8, zorder=1)
        axes.plot(delay, up, "o", mfc="white", mec=MUTED, ms=4, zorder=2)
        # A lossy link is a smaller dot, on that of the same link without loss.
        loss = losses[one["name"]]
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
    """Write the names in a column at the right, in the order of their rates, each with a line."""

    def place(one: Mapping[str, Any]) -> tuple[float, float]:
        return units.parse_rate(one["down"]["rate"]) or 1.0, one["one_way_delay_s"]

    ordered = sorted(presets, key=place, reverse=True)
    heights = np.linspace(0.975, 0.025, len(ordered))
    low, high = (float(one) for one in np.log10(axes.get_ylim()))
    for one, height in zip(ordered, heights, strict=True):
        rate, delay = place(one)
        x, y = max(1e3 * delay, _LEAST_MS), 10 ** (low + height * (high - low))
        loss = losses[one["name"]]
        label = one["name"] + (f"  {100 * loss:.2g} %" if loss else "")
        axes.plot([x, 620, 800], [rate, y, y], color="#C8C8C8", lw=0.5, zorder=0.5)
        axes.text(850, y, label, va="center", fontsize=7)


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
