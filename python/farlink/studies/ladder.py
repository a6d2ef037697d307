"""Time-sequence ladders: hosts as vertical lines, time downwards, messages as arrows."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from farlink.plot import style
from farlink.plot.sheet import bold, points, sheet, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["Arrow", "Note", "Panel", "draw", "draw_panels"]

_INCHES_PER_LINE = 0.17
_MARGINS, _TALLEST = 0.9, 8.5
_LOST_AT = 0.62
"""Position of a lost message's cross, as a share of the arrow's length."""


@dataclass(frozen=True)
class Arrow:
    """Arrow of a message between two adjacent hosts.

    Attributes
    ----------
    start, end
        Times of transmission and arrival (s). A lost message has the time at which it would have
        arrived as `end`.
    source, target
        Numbers of the hosts, from 0.
    label
        Text at the start of the arrow.
    lost
        Whether the message was lost. Its arrow ends in a cross on the way.
    again
        Whether the message is a retransmission, drawn dashed and in another colour.
    faint
        Whether the arrow is thin and grey, as for ACKs.
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
    """Line of text next to the line of a host (by number) at a time (s)."""

    time: float
    host: int
    text: str


@dataclass(frozen=True)
class _Text:
    time: float
    text: str
    colour: str


@dataclass(frozen=True)
class Panel:
    """One ladder: title, names of the hosts from left to right, arrows and notes."""

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
    """Draw a ladder with one panel.

    Parameters
    ----------
    hosts
        Names of the hosts from left to right.
    arrows, notes
        Messages and texts. Labels and notes stand outside the lines of the hosts. Texts of the same
        instant share a line.
    height
        Height of the figure (inches), by default as the labels need.
    """
    return draw_panels([Panel("", hosts, arrows, notes)], height=height)


@styled
def draw_panels(panels: Sequence[Panel], *, height: float | None = None) -> "Figure":
    """Draw ladders side by side on one time axis (see `draw`)."""
    arrows = [a for panel in panels for a in panel.arrows]
    times = [t for a in arrows for t in (a.start, a.end)]
    times += [n.time for panel in panels for n in panel.notes]
    first, last = min(times), max(times)
    finest = _INCHES_PER_LINE * (last - first) / (_TALLEST - _MARGINS)
    texts = [
        [
            _merged(_texts(host, panel.arrows, panel.notes), finest)
            for host in range(len(panel.hosts))
        ]
        for panel in panels
    ]
    tall = height or max(_height(text, last - first) for text in texts)
    line = _INCHES_PER_LINE * (last - first) / (tall - _MARGINS)
    figure = sheet(tall)
    row = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
    for axes, panel, notes in zip(row, panels, texts, strict=True):
        _fill(axes, panel, notes, line, margin=0.75 if len(panels) == 1 else 1.6)
    row[0].set_ylim(last + line, first - line)
    row[0].set_ylabel("time (s)")
    row[0].ticklabel_format(axis="y", useOffset=False, style="plain")
    return figure


def _fill(
    axes: "Axes", panel: Panel, texts: Sequence[Sequence[_Text]], line: float, margin: float
) -> None:
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
            fontweight=bold(),
        )
    for arrow in panel.arrows:
        _draw_arrow(axes, arrow)
    for host in range(count):
        _draw_texts(axes, host, texts[host], line, left=host < count / 2)
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


def _texts(host: int, arrows: Sequence[Arrow], notes: Sequence[Note]) -> list[_Text]:
    """Return the labels and notes of a host, sorted by time."""
    texts = [_Text(a.start, a.label, _colour(a)) for a in arrows if a.source == host and a.label]
    texts += [_Text(n.time, n.text, style.PALETTE[0]) for n in notes if n.host == host]
    return sorted(texts, key=lambda item: item.time)


def _merged(texts: Sequence[_Text], within: float) -> list[_Text]:
    """Join texts in one line if they are less than `within` (s) after the line's first text."""
    lines: list[_Text] = []
    for text in texts:
        if lines and text.time - lines[-1].time < within:
            before = lines[-1]
            colour = text.colour if before.colour == style.DATA else before.colour
            lines[-1] = _Text(before.time, f"{before.text}, {text.text}", colour)
        else:
            lines.append(text)
    return lines


def _height(texts: Sequence[Sequence[_Text]], span: float) -> float:
    """Return the height of the figure (inches) at which no two lines of text overlap."""
    gaps = [b.time - a.time for lines in texts for a, b in pairwise(lines)]
    needed = _MARGINS + _INCHES_PER_LINE * span / min(gaps, default=span)
    return min(_TALLEST, max(3.5, needed))


def _draw_texts(
    axes: "Axes", host: int, texts: Sequence[_Text], line: float, *, left: bool
) -> None:
    """Write the lines from top to bottom, each moved down if it would overlap the previous one."""
    below = float("-inf")
    for text in texts:
        y = max(text.time, below)
        below = y + line
        axes.text(
            host + (-0.03 if left else 0.03),
            y,
            text.text,
            color=text.colour,
            fontsize=points(7),
            ha="right" if left else "left",
            va="center",
        )
