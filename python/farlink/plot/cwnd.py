"""Plot of cwnd, ssthresh and loss events over time."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from farlink import units
from farlink.plot.band import HEIGHT, draw_band, ordered
from farlink.plot.curves import Curve, draw_curves, look
from farlink.plot.data import Array, Columns, step_at, thinned
from farlink.plot.sheet import strokes, styled
from farlink.plot.style import (
    DATA,
    LOSS,
    MUTED,
    PALETTE,
    SECOND,
    AtLeastZero,
    crowd,
    headline,
    legend_above,
    own_scales,
    panels,
    remark,
    scale_axis,
    time_axis,
    title,
)
from farlink.plot.view import View

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

__all__ = ["draw_cwnd"]

_CROWDED = 150
"""Number of loss events in a panel above which lines are thinner."""

_MOST_LINES = 8
"""Number of flows above which flows are thin lines of one colour, with their median."""

_LANES = (
    ("timeout", "time-out", DATA, 0.955),
    ("fast_retransmit", "fast retransmit", LOSS, 0.885),
)

_LEGEND = ("cwnd", "ssthresh", "offered window", "time-out", "fast retransmit")
"""Order of the legend. Other entries come first."""


@dataclass
class _Panel:
    """Data of a TCP's panel, by flow: cwnd, ssthresh, loss events, and limits of the sender."""

    name: str
    cwnd: Mapping[str, Columns]
    threshold: Mapping[str, Columns]
    marks: Mapping[str, Columns]
    limited: Mapping[str, Columns]
    offered: float
    """Largest window that a receiver advertised (bytes)."""

    @classmethod
    def of(cls, view: View, name: str, limits: tuple[float, float]) -> "_Panel":
        cwnd, threshold, marks = (
            view.each_end_of(name, trace) for trace in ("cwnd", "ssthresh", "marks")
        )
        windows = view.each_end_of(name, "acks").values()
        limited = view.each_end_of(name, "limits") if view.has_trace("limits") else {}
        ends = view.ends_of_flows(name)
        return cls(
            name,
            {flow: _until(rows, ends[flow]).around(limits) for flow, rows in cwnd.items()},
            {flow: _until(rows, ends[flow]).around(limits) for flow, rows in threshold.items()},
            {flow: rows.between(limits) for flow, rows in marks.items()},
            limited,
            max((_greatest(rows["window"]) for rows in windows), default=0.0),
        )

    @property
    def greatest(self) -> float:
        return max((_greatest(rows["cwnd"]) for rows in self.cwnd.values()), default=0.0)

    @property
    def top(self) -> float:
        """Top of the y axis (bytes).

        If cwnd exceeds four times the advertised window, the axis ends at twice that window,
        because a larger cwnd has no effect.
        """
        if self.greatest > 4 * self.offered > 0:
            return 2 * self.offered
        return max(self.greatest, 1.0)


@styled
def draw_cwnd(view: View, tcp: Sequence[str]) -> Figure:
    """Draw a panel per TCP, with loss events as ticks in two lanes above the curves.

    A panel shows all flows of its TCP. If cwnd grows far beyond the advertised window, the axis
    ends at twice that window and the caption has the largest cwnd. The band below the curves shows
    the limits of the sender.
    """
    figure, axes = panels(len(tcp), 3.6 if len(tcp) == 1 else 0.9 + 1.35 * len(tcp))
    flows = len(view.need_flows(tcp[0]))
    limits = view.limits(tcp)
    drawn = [_Panel.of(view, name, limits) for name in tcp]
    tops = own_scales([panel.top for panel in drawn])
    legend: dict[str, Artist] = {}
    bands: dict[str, Artist] = {}
    notes = []
    for ax, panel, top in zip(axes, drawn, tops, strict=True):
        caption, note = _draw_panel(ax, panel, limits, legend)
        if panel.greatest > top:
            factor, unit = units.prefixed(panel.greatest, "B")
            caption.append(f"cwnd grows to {panel.greatest / factor:.1f} {unit}")
        if ending := view.ending(panel.name, limits):
            caption.append(ending)
        lead = f"{panel.name}: " if len(tcp) > 1 else ""
        ax.set_title(lead + ", ".join(caption))
        if note:
            notes.append(lead + note)
        if 0 < panel.offered <= top:
            legend["offered window"] = ax.axhline(
                panel.offered, color=MUTED, ls=(0, (5, 3)), lw=0.9, zorder=1
            )
        shown = 1.25 * top
        ax.set_ylim(0, shown)
        scale_axis(ax, "cwnd", "B", top)
        if panel.limited:
            ax.set_ylim(-HEIGHT * shown, shown)
            ax.yaxis.set_major_locator(AtLeastZero())
            until = max(min(limits[1], view.end(panel.name)), limits[0] + 1e-6)
            bands |= draw_band(ax, list(panel.limited.values()), (limits[0], until), shown)
        time_axis(ax, limits)
        if ax is not axes[-1]:
            ax.set_xlabel("")
    what = "Congestion window" if flows == 1 else f"Congestion windows of {flows:,} flows"
    scales = "; scales differ" if len(set(tops)) > 1 else ""
    title(figure, headline(view, what, tcp, of_flow=flows == 1) + scales)
    remark(figure, "; ".join(notes))
    names = [name for name in legend if name not in _LEGEND]
    names += [name for name in _LEGEND if name in legend]
    names += ordered(bands)
    legend |= bands
    legend_above(axes[0], [legend[name] for name in names], names)
    return figure


def _draw_panel(
    axes: "Axes", panel: _Panel, limits: tuple[float, float], legend: "dict[str, Artist]"
) -> tuple[list[str], str]:
    """Draw the curves and lanes of one TCP; return parts of its caption, and a note."""
    events = {
        kind: np.sort(
            np.concatenate([rows.equal(kind=kind)["time"] for rows in panel.marks.values()])
        )
        for kind, *_ in _LANES
    }
    thin = 1.1 if sum(map(len, events.values())) < _CROWDED else 0.6
    known = {flow: rows.where(np.isfinite(rows["cwnd"])) for flow, rows in panel.cwnd.items()}
    windows = [flow for flow, rows in known.items() if len(rows)]
    note = ""
    if len(panel.cwnd) == 1:
        _window(axes, panel, limits, thin, legend)
    elif len(windows) > _MOST_LINES:
        _fan(axes, known, limits, legend)
    else:
        curves = [
            Curve(flow, flow, *_steps(known[flow], limits), look(place))
            for place, flow in enumerate(windows)
        ]
        handles, labels, note = draw_curves(axes, curves, limits, thin)
        legend.update(zip(labels, handles, strict=True))
    counts = [] if windows else ["no congestion window"]
    for kind, text, shade, height in _LANES:
        times = events[kind]
        count = f"{len(times):,} {text}{'' if len(times) == 1 else 's'}"
        crowded = crowd(axes, times, limits, height, shade)
        if crowded is not None:
            legend.setdefault(text, crowded[0])
            count += f" ({crowded[1]})"
        elif len(times):
            (line,) = axes.plot(
                times,
                np.full(len(times), height),
                "|",
                color=shade,
                ms=4.5,
                mew=thin,
                transform=axes.get_xaxis_transform(),
            )
            legend.setdefault(text, line)
        counts.append(count)
    return counts, note


def _window(
    axes: "Axes",
    panel: _Panel,
    limits: tuple[float, float],
    thin: float,
    legend: "dict[str, Artist]",
) -> None:
    """Draw cwnd and ssthresh of a single flow."""
    (cwnd,), (threshold,) = panel.cwnd.values(), panel.threshold.values()
    for rows, name, shade, dashes in (
        (cwnd, "cwnd", PALETTE[0], "-"),
        (threshold, "ssthresh", SECOND, (0, (5, 1))),
    ):
        finite = np.isfinite(rows[name])
        if finite.any():
            values = np.where(finite, rows[name], np.nan)
            seen = thinned(rows["time"], values, limits, strokes())
            (line,) = axes.plot(
                rows["time"][seen],
                values[seen],
                color=shade,
                drawstyle="steps-post",
                lw=thin,
                ls=dashes,
            )
            legend.setdefault(name, line)


def _fan(
    axes: "Axes",
    known: Mapping[str, Columns],
    limits: tuple[float, float],
    legend: "dict[str, Artist]",
) -> None:
    """Draw many flows as thin lines, and the median of the active flows as a thick line."""
    at = np.linspace(*limits, 400)
    rows = []
    for columns in known.values():
        time, cwnd = _steps(columns, limits)
        axes.plot(time, cwnd, color=PALETTE[0], lw=0.4, alpha=0.35)
        if len(columns):
            on = (at >= columns["time"][0]) & (at <= columns["time"][-1])
            rows.append(np.where(on, step_at(columns["time"], columns["cwnd"], at), np.nan))
    table = np.array(rows)
    some = np.isfinite(table).any(axis=0)
    median = np.nanmedian(table[:, some], axis=0)
    legend["cwnd of a flow"] = Line2D([], [], color=PALETTE[0], lw=0.8, alpha=0.7)
    (legend["median"],) = axes.plot(at[some], median, color=DATA, lw=1.4)


def _steps(columns: Columns, limits: tuple[float, float]) -> tuple[Array, Array]:
    """Return times and values of the corners of a step function."""
    columns = columns.where(thinned(columns["time"], columns["cwnd"], limits, strokes()))
    return np.repeat(columns["time"], 2)[1:], np.repeat(columns["cwnd"], 2)[:-1]


def _until(columns: Columns, end: float) -> Columns:
    """Return the columns with the last row repeated at the flow's end, up to which it is valid."""
    if not len(columns) or columns["time"][-1] >= end:
        return columns
    return columns.then(end)


def _greatest(values: Array) -> float:
    return float(values[np.isfinite(values)].max(initial=0))
