"""Figure of a page of advice: goodput at each size, and beside an endless transfer."""

from typing import TYPE_CHECKING

from farlink import units
from farlink.advice.path import size_text
from farlink.plot.sheet import sheet, styled
from farlink.plot.style import MUTED, PALETTE, title

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from farlink.advice.answer import Advice, SizeResult
    from farlink.stats import Estimate

__all__ = ["draw"]


@styled
def draw(advice: "Advice") -> "Figure":
    """Draw a panel for each size, and one for two transfers that share the path."""
    most = max(len(_rows(advice, size)) for size in advice.sizes)
    heights = [0.45 + 0.2 * most]
    if advice.beside:
        heights.append(0.5 + 0.26 * len(advice.beside))
    figure = sheet(sum(heights) + 0.5)
    parts = figure.add_gridspec(len(heights), 1, height_ratios=heights)
    panels = parts[0].subgridspec(1, len(advice.sizes))
    for place, size in enumerate(advice.sizes):
        _size(figure.add_subplot(panels[place]), advice, size, is_first=place == 0)
    if advice.beside:
        _beside(figure.add_subplot(parts[1]), advice)
    title(
        figure, f"{advice.name}: goodput by size of transfer (seed {advice.seed}, 95 % intervals)"
    )
    return figure


def _rows(advice: "Advice", size: "SizeResult") -> "list[tuple[str, Estimate, str]]":
    """Return the name, goodput and colour of each row of a panel, from top to bottom."""
    options = {option.what: option.goodput for option in size.options}
    rows = [("now: " + advice.present.tcp, options["now"], PALETTE[0])]
    if "advised" in options:
        rows.append(("advised: " + advice.best.tcp, options["advised"], PALETTE[1]))
    names = [tcp.tcp for tcp in advice.tcps if tcp.tcp != advice.present.tcp]
    for name in names:
        entry = size.tried.get(name) or options.get(f"{name}, as it is")
        if entry is not None:
            rows.append((name, entry, MUTED))
    for what, option in options.items():
        if what not in ("now", "advised") and not what.endswith("as it is"):
            rows.append((what.partition(", ")[2], option, PALETTE[2]))
    return rows


def _size(axes: "Axes", advice: "Advice", size: "SizeResult", *, is_first: bool) -> None:
    rows = _rows(advice, size)
    factor, unit = units.prefixed(max(row.mean or 0.0 for _, row, _ in rows) or 1.0, "bit/s")
    names = [name for name, _, _ in _longest(advice)]
    for name, entry, colour in rows:
        place = names.index(name)
        if entry.mean is None:
            continue
        half = (entry.half_width or 0.0) / factor
        axes.errorbar(
            entry.mean / factor, place, xerr=half, fmt="o", ms=4, color=colour, lw=1.2, capsize=2
        )
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.set_yticks(range(len(names)), names if is_first else [])
    most = max((row.high or row.mean or 0.0) for _, row, _ in rows) / factor
    axes.set_xlim(0, 1.08 * most or 1.0)
    axes.set_xlabel(unit)
    label = size.label if size.bytes is None else f"{size.label}: {size_text(size.bytes)}"
    axes.set_title(label)


def _longest(advice: "Advice") -> "list[tuple[str, Estimate, str]]":
    return max((_rows(advice, size) for size in advice.sizes), key=len)


def _beside(axes: "Axes", advice: "Advice") -> None:
    most = max((item.ours.mean or 0.0) + (item.other.mean or 0.0) for item in advice.beside)
    factor, unit = units.prefixed(most or 1.0, "bit/s")
    for place, item in enumerate(advice.beside):
        ours, other = ((entry.mean or 0.0) / factor for entry in (item.ours, item.other))
        first = place == 0
        axes.barh(
            place, ours, height=0.6, color=PALETTE[1], label="the transfer" if first else None
        )
        axes.barh(
            place,
            other,
            left=ours,
            height=0.6,
            color=PALETTE[5],
            label=f"{advice.other} beside it" if first else None,
        )
    axes.set_yticks(range(len(advice.beside)), [item.what for item in advice.beside])
    axes.set_ylim(len(advice.beside) - 0.5, -0.5)
    axes.set_xlabel(unit)
    axes.grid(visible=False, axis="y")
    axes.set_title("Two transfers that do not end share the path")
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
