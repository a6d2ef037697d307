"""Figures of a channel without TCP: sample path, bursts and gaps, autocorrelation, delays."""

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from farlink.plot.sheet import sheet, styled, width
from farlink.plot.style import LOSS, MUTED, PALETTE, title

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from farlink.channels import ChannelSample

__all__ = ["draw_channel"]

_SHOWN = 20.0
"""Approximate number of bursts in the plot of a sample path."""
_SAMPLED = PALETTE[0]
_THEORY = PALETTE[1]
_LEAST, _MOST = 100, 4000


@styled
def draw_channel(sample: "ChannelSample") -> Figure:
    """Draw the panels of a channel, samples in blue and the closed form in orange."""
    has_loss, has_delay = bool(sample.lost.any()), sample.has_delays
    small = (["runs", "lags"] if has_loss else []) + (["delay"] if has_delay else [])
    figure = sheet(2.0 + 2.4 * bool(small))
    grid = figure.add_gridspec(
        2 if small else 1, max(len(small), 1), height_ratios=[1.0, 1.45] if small else [1.0]
    )
    _path(figure.add_subplot(grid[0, :]), sample)
    draw = {"runs": _runs, "lags": _lags, "delay": _delay}
    for place, kind in enumerate(small):
        draw[kind](figure.add_subplot(grid[1, place]), sample)
    spacing = _time(sample.spacing_s)
    title(
        figure,
        f"{sample.name}: {len(sample):,} packets of {sample.bytes} B, one each {spacing} "
        f"(seed {sample.scenario['seed']}, run {sample.run})",
    )
    return figure


def _path(axes: "Axes", sample: "ChannelSample") -> None:
    """Draw the sample path of the first packets, with losses as bars and delays as a line."""
    losses = np.flatnonzero(sample.lost)
    count = len(sample)
    if len(losses):
        per_burst = count / max(len(sample.bursts), 1)
        count = int(np.clip(_SHOWN * per_burst, _LEAST, _MOST))
    shown = min(count if len(losses) else _LEAST * 5, len(sample))
    start = 0
    if len(losses) and not sample.lost[:shown].any():
        start = int(max(losses[0] - shown // 4, 0))
    part = slice(start, min(start + shown, len(sample)))
    time = np.arange(part.start, part.stop) * sample.spacing_s
    lost = sample.lost[part]
    handles = []
    if lost.any():
        axes.vlines(time[lost], 0, 1, color=LOSS, lw=_bar(len(time)), transform=_height(axes))
        handles.append("lost")
    if sample.has_delays:
        factor, unit = _unit(float(np.nanmax(sample.delay[part], initial=1e-9)))
        axes.plot(time, sample.delay[part] / factor, color=_SAMPLED, lw=0.8)
        axes.set_ylabel(f"extra delay ({unit})")
        axes.set_ylim(bottom=0)
        caption = "extra delay" + (", lost packets in red" if handles else "")
    else:
        axes.set_yticks([])
        axes.set_ylim(0, 1)
        axes.grid(visible=False)
        caption = "lost packets in red" if handles else "no packet was lost"
    axes.set_title(f"sample path: {caption}")
    axes.set_xlabel("time (s)")
    axes.set_xlim(time[0], time[-1] + sample.spacing_s)


def _runs(axes: "Axes", sample: "ChannelSample") -> None:
    """Draw the distributions of the lengths of bursts and gaps, with their theoretical means."""
    for lengths, label, shade, mean in (
        (sample.bursts, "bursts", LOSS, sample.theory["burst"]),
        (sample.gaps, "gaps", _SAMPLED, sample.theory["gap"]),
    ):
        if not len(lengths):
            continue
        values, counts = np.unique(lengths, return_counts=True)
        above = 1.0 - np.cumsum(counts) / counts.sum() + counts / counts.sum()
        axes.step(values, above, where="post", color=shade, label=label)
        if mean is not None:
            axes.axvline(mean, color=shade, ls=(0, (4, 3)), lw=0.9)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_ylim(top=1.5)
    axes.set_xlabel("length (packets)")
    axes.set_ylabel("share at least as long")
    axes.set_title("bursts, gaps; means dashed" if sample.theory["burst"] else "bursts, gaps")
    axes.legend(loc="lower left", frameon=True, framealpha=1, edgecolor="none")


def _lags(axes: "Axes", sample: "ChannelSample") -> None:
    known = sample.theory["autocorrelation"]
    lags = 50
    if known is not None:
        memory = [lag for lag, value in enumerate(known, 1) if abs(value) > 0.01]
        lags = int(np.clip(1.3 * max(memory, default=0), 10, min(len(known), 100)))
    lags = min(lags, len(sample) - 1)
    numbers = np.arange(1, lags + 1)
    if known is not None:
        axes.plot(numbers, known[:lags], color=_THEORY, label="closed form", zorder=2)
    correlations = sample.autocorrelation(lags)
    axes.plot(numbers, correlations, ".", color=_SAMPLED, ms=4, label="sampled", zorder=3)
    # 95 % band of the autocorrelation of independent losses.
    band = 1.96 / np.sqrt(len(sample))
    axes.axhspan(-band, band, color=MUTED, alpha=0.2, lw=0)
    low = float(np.nanmin(correlations, initial=0.0))
    axes.set_ylim(min(1.15 * low, -0.05), max(1.1 * float(np.nanmax(correlations)), 0.1))
    axes.xaxis.set_major_locator(MaxNLocator(5, integer=True))
    axes.set_xlabel("lag (packets)")
    axes.set_title("autocorrelation of loss")
    axes.legend(loc="upper right")


def _delay(axes: "Axes", sample: "ChannelSample") -> None:
    delays = np.sort(sample.delay[~np.isnan(sample.delay)])
    factor, unit = _unit(float(delays[-1]) if len(delays) else 1.0)
    if len(delays):
        at = np.unique(np.linspace(0, len(delays) - 1, 2000).astype(int))
        tail = len(delays) - np.unique(np.geomspace(1, len(delays), 400).astype(int))
        at = np.union1d(at, tail)
        axes.step(
            delays[at] / factor, 1 - at / len(delays), where="post", color=_SAMPLED, label="sampled"
        )
    distribution = sample.theory["delay"]
    if distribution is not None and distribution["quantiles"]:
        levels, values = np.array(distribution["quantiles"]).T
        axes.plot(
            values / factor, 1 - levels, "o", mfc="none", color=_THEORY, ms=4, label="closed form"
        )
    axes.set_yscale("log")
    axes.set_ylim(1e-4, 1.5)
    axes.set_xlim(left=0)
    axes.set_xlabel(f"extra delay ({unit})")
    axes.set_ylabel("share above")
    axes.set_title("distribution of delay")
    axes.legend(loc="upper right")


def _height(axes: "Axes") -> Any:  # noqa: ANN401 (a transform, as matplotlib has it)
    return axes.get_xaxis_transform()


def _bar(packets: int) -> float:
    """Return the width (points) of a bar for a given number of packets on the axis."""
    return float(np.clip(72 * (width() - 1) / packets, 0.4, 3.0))


def _unit(largest: float) -> tuple[float, str]:
    for factor, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if largest >= factor:
            return factor, unit
    return 1e-9, "ns"


def _time(seconds: float) -> str:
    factor, unit = _unit(seconds)
    return f"{seconds / factor:.4g} {unit}"
