"""Figures 4.2, 4.4, 4.5, 4.6, 4.12 and 4.13 from traces of single runs.

Each published figure shows a part of one random run. The functions search the runs of the cache for
a similar part, which the figure's caption names.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from farlink.plot import style
from farlink.plot.sheet import halo, points, styled
from farlink.studies.cache import Cell
from farlink.studies.model import Model
from farlink.studies.study import Drawing
from farlink.studies.wong1998.registry import REGISTRY
from farlink.studies.wong1998.traced import (
    MSS,
    Run,
    grouped,
    high,
    lossy,
    most_recoveries,
    recovered,
    runs,
    value_before,
    within,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__: list[str] = []

# --- Figure 4.2: fast recoveries reduce cwnd, and a time-out follows


@REGISTRY.figure("fig4.2")
@styled
def _window_and_timeout(model: Model) -> Drawing:
    result = most_recoveries(model)
    if result is None:
        run = Run(model, lossy(model), 0)
        timeout, note = 20.0, "No run has a time-out after two fast recoveries; the first run."
    else:
        run, timeout, near = result
        cwnd = value_before(run.end("cwnd"), "cwnd", timeout)
        sent = run.end("segments")
        idle = timeout - float(sent[sent["time"] < timeout]["time"].iloc[-1])
        note = (
            f"{len(near)} fast retransmits, then cwnd {cwnd:.0f} B, {cwnd // MSS:.0f} segments; "
            f"time-out at {timeout:.1f} s after {idle:.1f} s of silence (published: 3, 1828 B, "
            "3 segments, 4.5 s)."
        )
    start, end = timeout - 16.6, timeout + 3.4
    figure, (axes,) = style.panels(1, 2.8)
    cwnd_rows = run.end("cwnd")
    axes.step(cwnd_rows["time"], cwnd_rows["cwnd"], where="post", color=style.PALETTE[0])
    _events(axes, run, start, end)
    _finish(axes, (start, end), "cwnd (B)")
    axes.set_ylim(0, 5000)
    tables = {"cwnd": within(cwnd_rows, start, end)}
    return Drawing(figure, tables, f"{run.caption(start, end)} {note}")


# --- Figure 4.4: two consecutive time-outs


@REGISTRY.figure("fig4.4")
@styled
def _two_timeouts(model: Model) -> Drawing:
    run, times = _fast_retransmit_and_timeouts(model)
    start, end = times[0] - 4.1, times[0] + 15.9
    figure, (axes,) = style.panels(1, 3.2)
    sent, came = within(run.end("segments"), start, end), within(run.arrivals, start, end)
    first, again = sent[~sent["retransmission"]], sent[sent["retransmission"]]
    axes.plot(first["time"], first["seq"], "_", color=style.DATA, label="sent")
    axes.plot(again["time"], again["seq"], "x", color=style.LOSS, ms=5, label="sent again")
    axes.plot(came["time"], came["seq"], "o", mfc="none", ms=4, color=style.ACK, label="received")
    _events(axes, run, start, end)
    _finish(axes, (start, end), "sequence number (B)")
    style.legend_above(axes, *axes.get_legend_handles_labels())
    note = (
        f"Fast retransmit at {times[0]:.1f} s, time-outs at {times[1]:.1f} and {times[2]:.1f} s: "
        f"{times[1] - times[0]:.1f} and {times[2] - times[1]:.1f} s (published: 210.1, 214.1 and "
        "222.1 s; 4 and 8 s)."
    )
    return Drawing(figure, {"sent": sent, "received": came}, f"{run.caption(start, end)} {note}")


def _fast_retransmit_and_timeouts(model: Model) -> tuple[Run, tuple[float, float, float]]:
    """Find a fast retransmit followed by two time-outs, the second after twice the time.

    If several fast retransmits fit, the one whose first time-out is closest to the published 4 s is
    returned.
    """
    entries = []
    for run in runs(model, lossy(model)):
        marks = run.end("marks")
        marks = marks[marks["kind"].isin(["fast_retransmit", "timeout"])]
        kinds, times = list(marks["kind"]), [float(t) for t in marks["time"]]
        for i in range(len(kinds) - 2):
            a, b, c = times[i : i + 3]
            if kinds[i : i + 3] == ["fast_retransmit", "timeout", "timeout"]:
                doubles = abs((c - b) - 2 * (b - a)) < 0.5
                entries.append((not doubles, abs(b - a - 4), run.run, (a, b, c), run))
    if not entries:
        return Run(model, lossy(model), 0), (10.0, 14.0, 22.0)
    best = min(entries, key=lambda item: item[:3])
    return best[4], best[3]


# --- Figures 4.5 and 4.6: with and without link layer recovery


@REGISTRY.figure("fig4.5")
@styled
def _windows(model: Model) -> Drawing:
    figure, panels = style.panels(2, 4.0)
    tables = {}
    for axes, cell, name in zip(
        panels, (recovered(model), lossy(model)), ("with recovery (RLP)", "without"), strict=True
    ):
        run = Run(model, cell, 0)
        rows = within(run.end("cwnd"), 0, 100)
        axes.step(rows["time"], rows["cwnd"], where="post", color=style.PALETTE[0])
        axes.set_title(name)
        _finish(axes, (0, 100), "cwnd (B)")
        axes.set_ylim(0, 5000)
        tables[f"cwnd {name}"] = rows
    panels[0].set_xlabel("")
    return Drawing(figure, tables, run.caption(0, 100))


@REGISTRY.figure("fig4.6")
@styled
def _progress(model: Model) -> Drawing:
    figure, (axes,) = style.panels(1, 3.4)
    tables = {}
    for cell, name, colour in (
        (recovered(model), "with link layer recovery (RLP)", style.PALETTE[0]),
        (lossy(model), "without link layer recovery", style.PALETTE[1]),
    ):
        run = Run(model, cell, 0)
        rows = within(run.arrivals, 0, 500)
        axes.plot(rows["time"], rows["seq"] / 1e3, ".", ms=1.5, color=colour, label=name)
        tables[name] = rows
    _finish(axes, (0, 500), "sequence number received (kB)")
    style.legend_above(axes, *axes.get_legend_handles_labels())
    return Drawing(figure, tables, run.caption(0, 500))


# --- Figures 4.12 and 4.13: in sequence or not


@REGISTRY.figure("fig4.12")
@styled
def _bursts(model: Model) -> Drawing:
    run, start = _liveliest(model, high(model, seq=True), _burst_sizes)
    rows = within(run.arrivals, start, start + 30)
    groups = grouped(rows)
    note = "Bursts of 3 segments and more within 0.1 s: " + ", ".join(
        f"{len(seqs)} at {time:.1f} s" for time, seqs in groups if len(seqs) >= 3
    )
    published = "published, protocol and PER not named: 5, 4, 4, 3 at 863.2, 869.8, 874.2, 874.8 s"
    drawing = _received(rows, start, [(t, s) for t, s in groups if len(s) >= 3])
    text = f"RLP at PER 50 %. {run.caption(start, start + 30)} {note} ({published})."
    return Drawing(drawing, {"received": rows}, text)


@REGISTRY.figure("fig4.13")
@styled
def _overtaken(model: Model) -> Drawing:
    run, start = _liveliest(
        model, high(model, seq=False), lambda rows: int(rows["out_of_order"].sum())
    )
    rows = within(run.arrivals, start, start + 30)
    text = (
        f"RLP at PER 50 %, out of sequence. {run.caption(start, start + 30)} "
        f"{int(rows['out_of_order'].sum())} of {len(rows)} segments came out of order (red)."
    )
    return Drawing(_received(rows, start, []), {"received": rows}, text)


def _burst_sizes(rows: "pd.DataFrame") -> int:
    return sum(len(seqs) for _, seqs in grouped(rows) if len(seqs) >= 3)


def _liveliest(
    model: Model, cell: Cell, count: "Callable[[pd.DataFrame], int]"
) -> tuple[Run, float]:
    """Find the 30 s of the first run, after its first 100 s, with the largest `count`."""
    run = Run(model, cell, 0)
    starts = np.arange(100.0, run.length - 30, 10)
    if not len(starts):
        return run, 0.0
    return run, float(max(starts, key=lambda t: count(within(run.arrivals, t, t + 30))))


def _received(
    rows: "pd.DataFrame", start: float, reports: list[tuple[float, list[int]]]
) -> "Figure":
    figure, (axes,) = style.panels(1, 3.2)
    late = rows["out_of_order"].to_numpy()
    axes.plot(rows["time"], rows["seq"] / 1e3, "o", ms=3, color=style.PALETTE[0])
    axes.plot(rows["time"][late], rows["seq"][late] / 1e3, "o", ms=3, color=style.LOSS)
    for time, seqs in reports:
        axes.annotate(
            f"{len(seqs)}", (time, max(seqs) / 1e3), (-4, 3), textcoords="offset points", ha="right"
        )
    _finish(axes, (start, start + 30), "sequence number received (kB)")
    return figure


# --- Drawing


def _events(axes: "Axes", run: Run, start: float, end: float) -> None:
    """Mark fast retransmits and time-outs above the curve."""
    marks = within(run.end("marks"), start, end)
    for kind, text in (("fast_retransmit", "fast retransmit"), ("timeout", "time-out")):
        for time in marks[marks["kind"] == kind]["time"]:
            axes.axvline(time, color=style.MUTED, lw=0.7, ls=":" if kind == "timeout" else "--")
            axes.annotate(
                text,
                (time, 1),
                (2, -3),
                xycoords=("data", "axes fraction"),
                textcoords="offset points",
                rotation=90,
                va="top",
                fontsize=points(6.5),
                color=style.MUTED,
                path_effects=halo(),
            )


def _finish(axes: "Axes", limits: tuple[float, float], label: str) -> None:
    style.time_axis(axes, limits)
    axes.set_ylabel(label)
