"""Time-sequence graphs of a simulated and an emulated transfer, side by side."""

from typing import TYPE_CHECKING

from matplotlib.figure import Figure

from farlink import units
from farlink.plot.data import Array, Columns
from farlink.plot.sheet import sheet, styled
from farlink.plot.style import ACK, DATA, LOSS, scale_axis, time_axis, title
from farlink.plot.view import View

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from farlink.comparison import Comparison

__all__ = ["draw_pair"]

_CROWDED = 40


@styled
def draw_pair(comparison: "Comparison") -> Figure:
    """Draw a row per TCP, with farlink's TCP on the left and the kernel's on the right.

    Both panels of a row have equal axes. Time starts at the first segment with data.
    """
    result = comparison.result
    tcp = result.tcp
    figure = sheet(0.9 + 1.9 * len(tcp))
    axes = figure.subplots(len(tcp), 2, sharex=True, sharey=True, squeeze=False)
    ends, tops = [], []
    for (left, right), row in zip(axes, comparison.rows, strict=True):
        view = View(result, 0)
        ours = (view.end_of(row.tcp, "segments"), view.end_of(row.tcp, "acks"))
        tables = comparison.sequences[row.tcp]
        theirs = (Columns.of(tables["segments"]), Columns.of(tables["acks"]))
        for item, side, (segments, acks), goodput in (
            (left, "simulated", ours, row.simulated[0]),
            (right, "emulated", theirs, row.emulated[0]),
        ):
            end, top = _draw(item, segments, acks)
            ends.append(end)
            tops.append(top)
            factor, unit = units.prefixed(goodput, "bit/s")
            again = int(segments["retransmission"].sum())
            item.set_title(f"{row.tcp} {side}: {goodput / factor:.3g} {unit}, {again:,} sent again")
    top = max(tops)
    axes[0][0].set_ylim(0, 1.12 * top)
    for number, line in enumerate(axes):
        for point in line:
            time_axis(point, (0, 1.02 * max(ends)))
            scale_axis(point, "sequence number", "B", top)
            if point is not line[0]:
                point.set_ylabel("")
            if number < len(tcp) - 1:
                point.set_xlabel("")
    title(
        figure,
        f"Simulated, and emulated with the kernel's TCP: {result.name} (seed {result.seed}, run 0)",
    )
    handles = {h.get_label(): h for ax in axes.ravel() for h in ax.get_legend_handles_labels()[0]}
    axes[0][0].legend(
        list(handles.values()), [str(label) for label in handles], loc="best", frameon=False
    )
    return figure


def _draw(axes: "Axes", segments: Columns, acks: Columns) -> tuple[float, float]:
    """Draw one panel; return its largest time (s) and sequence number."""
    zero = float(segments["time"][0]) if len(segments) else 0.0
    again = segments["retransmission"] == 1
    new = segments.where(~again)
    sent: Array = new["seq"] + new["len"]
    axes.plot(new["time"] - zero, sent, color=DATA, lw=1.1, label="sent", drawstyle="steps-post")
    after = acks.where(acks["time"] >= zero)
    axes.plot(
        after["time"] - zero,
        after["ack"],
        color=ACK,
        lw=1.1,
        label="acknowledged",
        drawstyle="steps-post",
    )
    if again.any():
        times = segments["time"][again] - zero
        few = len(times) <= _CROWDED
        axes.plot(
            times,
            segments["seq"][again],
            "x" if few else ".",
            color=LOSS,
            ms=4 if few else 2,
            mew=1.0 if few else 0,
            ls="",
            label="retransmission",
            zorder=3,
        )
    last = max(float(item["time"][-1]) for item in (segments, acks) if len(item))
    return last - zero, float(sent.max(initial=1))
