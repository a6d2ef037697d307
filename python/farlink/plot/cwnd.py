"""The congestion window over time, with the slow-start threshold and loss events."""

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from farlink.plot.style import (
    DATA,
    LOSS,
    PALETTE,
    SECOND,
    View,
    headline,
    legend_above,
    panels,
    scale_axis,
    styled,
    time_axis,
    title,
)

__all__ = ["draw_cwnd"]

_CROWDED = 150
"""With more loss events than this in a panel, lines are thinner."""

_LANES = (
    ("timeout", "time-out", LOSS, 0.955),
    ("fast_retransmit", "fast retransmit", DATA, 0.885),
)


@styled
def draw_cwnd(view: View, tcp: Sequence[str]) -> Figure:
    """Draw a panel per TCP; loss events are ticks in two lanes above the curves."""
    figure, axes = panels(len(tcp), 3.6 if len(tcp) == 1 else 0.9 + 1.35 * len(tcp))
    limits = view.limits(view.last(tcp))
    largest = 1.0
    for one, name in zip(axes, tcp, strict=True):
        cwnd = view.end_of(name, "cwnd").around(limits)
        threshold = view.end_of(name, "ssthresh").around(limits)
        largest = max(largest, float(cwnd["cwnd"].max(initial=0)))
        marks = view.end_of(name, "marks").between(limits)
        thin = 1.1 if len(marks) < _CROWDED else 0.6
        one.plot(
            cwnd["time"],
            cwnd["cwnd"],
            color=PALETTE[0],
            drawstyle="steps-post",
            lw=thin,
            label="cwnd",
        )
        one.plot(
            threshold["time"],
            np.where(np.isfinite(threshold["ssthresh"]), threshold["ssthresh"], np.nan),
            color=SECOND,
            drawstyle="steps-post",
            lw=thin,
            label="ssthresh",
        )
        counts = []
        for kind, text, shade, height in _LANES:
            times = marks.equal(kind=kind)["time"]
            counts.append(f"{len(times):,} {text}{'' if len(times) == 1 else 's'}")
            one.plot(
                times,
                np.full(len(times), height),
                "|",
                color=shade,
                ms=4.5,
                mew=thin,
                transform=one.get_xaxis_transform(),
                label=text,
            )
        lead = f"{name}: " if len(tcp) > 1 else ""
        one.set_title(lead + ", ".join(counts))
    axes[0].set_ylim(0, 1.25 * largest)
    for one in axes:
        scale_axis(one, "cwnd", "B", largest)
        time_axis(one, limits)
        if one is not axes[-1]:
            one.set_xlabel("")
    title(figure, headline(view, "Congestion window", tcp))
    legend_above(axes[0], *axes[0].get_legend_handles_labels())
    return figure
