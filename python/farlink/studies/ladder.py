"""Time-sequence ladders: hosts as vertical lines, time downwards, messages as arrows."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from farlink.plot import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["Arrow", "Note", "Panel", "draw", "draw_panels"]

_INCHES_PER_LINE = 0.17
_LOST_AT = 0.62
"""Where on its way the cross of a lost message stands."""


@dataclass(frozen=True)
class Arrow:
    """A message between two hosts that stand side by side.

    Attributes
    ----------
    start, end
        When it left and when it came (s); the end of a lost one is when it would have come.
    source, target
        Numbers of the hosts, from 0.
    label
        What it is, written where it leaves.
    lost
        Whether it did not come: it ends with a cross on the way.
    again
        Whether it was sent before; drawn in another colour.
    faint
        Whether it is of less interest, such as an ACK: thinner and without emphasis.
    """

    start: float
    end: float
    source: int
    target: int
    label: str = ""
    lost: bool = False
    again: bool = False
    faint: bool = False


@dataclass(frozen=True)
class Note:
    """A line of text beside a host (its number) at a time (s)."""

    time: float
    host: int
    text: str


@dataclass(frozen=True)
class Panel:
    """A ladder: its title, the names of its hosts from left to right, and what is drawn."""

    title: str
    hosts: Sequence[str]
    arrows: Sequence[Arrow]
    notes: Sequence[Note] = ()


def draw(
    hosts: Sequence[str],
    arrows: Sequence[Arrow],
    notes: Sequence[Note] = (),
    *,
    height: float | None = None,
) -> "Figure":
    """Draw messages between hosts, with time running downwards.

    Parameters
    ----------
    hosts
        Their names, from left to right.
    arrows, notes
        What is drawn. Labels stand outside the lines of the outer hosts, and make room for
        each other: a label that would cover the one above moves down.
    height
        Height of the figure in inches; by default what the labels need.
    """
    return draw_panels([Panel("", hosts, arrows, notes)], height=height)


@style.styled
def draw_panels(panels: Sequence[Panel], *, height: float | None = None) -> "Figure":
    """Draw ladders side by side, over the same time (see `draw`)."""
    from matplotlib.figure import Figure

    tall = height or max(_height(panel) for panel in panels)
    figure = Figure(figsize=(style.WIDTH, tall), layout="constrained")
    row = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
    arrows = [a for panel in panels for a in panel.arrows]
    times = [t for a in arrows for t in (a.start, a.end)]
    times += [n.time for panel in panels for n in panel.notes]
    first, last = min(times), max(times)
    line = _INCHES_PER_LINE * (last - first) / (tall - 0.9)
    for axes, panel in zip(row, panels, strict=True):
        _fill(axes, panel, line, margin=0.75 if len(panels) == 1 else 1.1)
    row[0].set_ylim(last + line, first - line)
    row[0].set_ylabel("time (s)")
    row[0].ticklabel_format(axis="y", useOffset=False, style="plain")
    return figure


def _height(panel: Panel) -> float:
    edge = [
        sum(a.source == h for a in panel.arrows) + sum(n.host == h for n in panel.notes)
        for h in (0, len(panel.hosts) - 1)
    ]
    return min(9.0, max(3.5, 0.9 + _INCHES_PER_LINE * max(edge)))


def _fill(axes: "Axes", panel: Panel, line: float, margin: float) -> None:
    count = len(panel.hosts)
    for place, name in enumerate(panel.hosts):
        axes.axvline(place, color=style.DATA, lw=0.9)
        axes.annotate(
            name,
            (place, 1),
            (0, 4),
            xycoords=("data", "axes fraction"),
            textcoords="offset points",
            ha="center",
            va="bottom",
            fontweight="bold",
        )
    for arrow in panel.arrows:
        _draw_arrow(axes, arrow)
    for host in range(count):
        _draw_texts(axes, host, count, panel.arrows, panel.notes, line)
    if panel.title:
        axes.set_title(panel.title, pad=18)
    axes.set_xlim(-margin, count - 1 + margin)
    axes.set_xticks([])
    axes.grid(visible=False)
    axes.spines["bottom"].set_visible(False)


def _colour(arrow: Arrow) -> str:
    if arrow.lost or arrow.again:
        return style.LOSS
    return style.MUTED if arrow.faint else style.DATA


def _draw_arrow(axes: "Axes", arrow: Arrow) -> None:
    share = _LOST_AT if arrow.lost else 1.0
    x = arrow.source + share * (arrow.target - arrow.source)
    y = arrow.start + share * (arrow.end - arrow.start)
    axes.annotate(
        "",
        (x, y),
        (arrow.source, arrow.start),
        arrowprops={
            "arrowstyle": "-" if arrow.lost else "-|>",
            "color": _colour(arrow),
            "lw": 0.6 if arrow.faint else 0.9,
            "mutation_scale": 7,
            "shrinkA": 0,
            "shrinkB": 0,
            "ls": "--" if arrow.again else "-",
        },
    )
    if arrow.lost:
        axes.plot([x], [y], "x", color=style.LOSS, ms=6, mew=1.6)


def _draw_texts(
    axes: "Axes", host: int, count: int, arrows: Sequence[Arrow], notes: Sequence[Note], line: float
) -> None:
    """Write labels and notes of a host from above to below, none over the other."""
    texts = [(a.start, a.label, _colour(a), False) for a in arrows if a.source == host and a.label]
    texts += [(n.time, n.text, style.PALETTE[0], True) for n in notes if n.host == host]
    left = host < count / 2
    below = float("-inf")
    for time, text, colour, noted in sorted(texts, key=lambda one: one[0]):
        y = max(time, below)
        below = y + line
        axes.text(
            host + (-0.03 if left else 0.03),
            y,
            text,
            color=colour,
            fontsize=7,
            ha="right" if left else "left",
            va="center",
            fontstyle="italic" if noted else "normal",
        )
