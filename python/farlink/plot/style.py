"""What all figures share: fonts, colours, what part of a run they show, and saving."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import AutoMinorLocator, Formatter

from farlink import files, units
from farlink.errors import ScenarioError
from farlink.plot.data import Columns

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

    from farlink.result import Result

__all__ = [
    "ACK",
    "DATA",
    "LOSS",
    "MUTED",
    "PALETTE",
    "RASTER_ABOVE",
    "SACK",
    "SECOND",
    "WIDTH",
    "WINDOW",
    "Scaled",
    "View",
    "colour",
    "headline",
    "legend_above",
    "panels",
    "save",
    "scale_axis",
    "styled",
    "time_axis",
    "title",
]

WIDTH = 7.0
"""Width of a figure in inches: the text width of a two-column page."""

# Okabe & Ito 2008: told apart with any kind of colour vision. Yellow is left
# out (too pale for lines).
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
DATA = "#1A1A1A"
LOSS = "#C1272D"
ACK = "#009E73"
WINDOW = "#E69F00"
SACK = "#8E4FB0"
SECOND = "#E69F00"
MUTED = "#7A7A7A"

RASTER_ABOVE = 4000
"""More bars or ticks than this are drawn as pixels in an SVG too, to keep it small."""

_STYLE: Any = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "mathtext.fontset": "dejavusans",
    "font.size": 8.5,
    "axes.titlesize": 8,
    "axes.titlelocation": "left",
    "axes.titlepad": 3,
    "axes.labelsize": 8.5,
    "axes.linewidth": 0.7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#E4E4E4",
    "grid.linewidth": 0.6,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "xtick.major.width": 0.7,
    "ytick.major.width": 0.7,
    "lines.linewidth": 1.1,
    "lines.solid_capstyle": "butt",
    "legend.fontsize": 8,
    "legend.frameon": False,
    "legend.handlelength": 1.5,
    "legend.columnspacing": 1.4,
    "legend.borderaxespad": 0.2,
    "figure.constrained_layout.h_pad": 0.06,
    "figure.constrained_layout.w_pad": 0.06,
    "figure.facecolor": "white",
}

# The same figure gives the same file: no date, ids from a fixed salt.
_SAVE: Any = {"svg.hashsalt": "farlink", "savefig.facecolor": "white"}

_Arguments = ParamSpec("_Arguments")
_Returned = TypeVar("_Returned")


@dataclass(frozen=True)
class View:
    """Which run of a result, which flow and which part of its time a figure shows."""

    result: "Result"
    run: int
    flow: str | None = None
    t0: float | None = None
    t1: float | None = None

    def __post_init__(self) -> None:
        if self.t0 is not None and self.t1 is not None and self.t0 >= self.t1:
            raise ScenarioError(f"t0 is {self.t0} s and t1 is {self.t1} s; t1 must be later")

    def end_of(self, tcp: str, name: str) -> Columns:
        """Return a trace of the sending end of the flow."""
        return self._rows(tcp, name, flow=self.flow_name(tcp), side="from")

    def drops_of(self, tcp: str) -> Columns:
        """Return the packets with data that the flow lost on its way.

        None for a flow with data both ways: a drop does not say which way it went.
        """
        drops = self._rows(tcp, "drops", flow=self.flow_name(tcp))
        both_ways = len(self._rows(tcp, "segments", flow=self.flow_name(tcp), side="to")) > 0
        return drops.where(np.isfinite(drops["seq"]) & (not both_ways))

    def link_of(self, tcp: str, name: str, link: str, direction: str) -> Columns:
        """Return a trace of a link direction."""
        return self._rows(tcp, name, link=link, direction=direction)

    def flow_name(self, tcp: str) -> str:
        """Return the flow shown: the one asked for, or the first, over TCP if any is."""
        flows = self.flows(tcp)
        if self.flow is None:
            datagrams = set(self.result.udp_flows())
            return next((name for name in flows if name not in datagrams), flows[0])
        if self.flow not in flows:
            raise ScenarioError(f"flow {self.flow!r} is not there; there are {', '.join(flows)}")
        return self.flow

    def datagrams_of(self, tcp: str, flow: str) -> tuple[Columns, Columns]:
        """Return the datagrams of a flow that arrived, and those that were dropped."""
        return self._rows(tcp, "datagrams", flow=flow), self._rows(tcp, "drops", flow=flow)

    def _rows(self, tcp: str, name: str, **values: str) -> Columns:
        table = self.result.trace(name, tcp, self.run)
        for column, value in values.items():
            table = table[table[column] == value]
        return Columns.of(table)

    def flows(self, tcp: str) -> list[str]:
        """Return the names of all flows."""
        return [str(row["flow"]) for row in self.result.data["results"] if row["tcp"] == tcp]

    def direction_of(self, tcp: str, chosen: tuple[str | None, str | None]) -> tuple[str, str]:
        """Return the link and direction shown: those asked for, or the most used."""
        rows = [row for row in self.result.data["links"] if row["tcp"] == tcp]
        rows = [row for row in rows if chosen[0] in (None, row["link"])]
        rows = [row for row in rows if chosen[1] in (None, row["direction"])]
        if not rows:
            wanted = " ".join(part for part in chosen if part is not None)
            raise ScenarioError(f"link {wanted!r} is not in this result")
        used = max(rows, key=lambda row: row["metrics"]["utilisation"]["mean"] or 0)
        return str(used["link"]), str(used["direction"])

    def link(self, name: str, direction: str) -> dict[str, Any]:
        """Return what the scenario says of a link direction; nothing if it has none such."""
        for one in self.result.scenario()["links"]:
            template = one.get("name") or "-".join(one["between"])
            if re.fullmatch(re.escape(template).replace(r"\{\}", r"\d+"), name):
                return dict(one.get(direction) or one.get("down") or {})
        return {}

    def limits(self, tcp: Sequence[str]) -> tuple[float, float]:
        """Return the time shown: t0 to t1, by default all of the run.

        Beside three or more TCPs, one that takes more than five times as long
        as the next would squeeze all others into a corner, so the figure ends
        with those; `ending` says how far it goes.
        """
        ends = sorted(self.end(name) for name in tcp)
        last = ends[-1]
        if len(ends) > 2 and last > 5 * ends[-2]:
            last = 1.25 * ends[-2]
        start = 0.0 if self.t0 is None else self.t0
        end = last if self.t1 is None else self.t1
        return start, max(end, start + 1e-6)

    def ending(self, tcp: str, limits: tuple[float, float]) -> str:
        """Say how far a run goes on beyond a figure that does not show its end."""
        end = self.end(tcp)
        return f"to {end:,.0f} s" if self.t1 is None and end > limits[1] else ""

    def end(self, tcp: str) -> float:
        """Return the simulated time of a TCP, in seconds."""
        return self.result.probe(tcp, self.run).simulated_s


def styled(draw: Callable[_Arguments, _Returned]) -> Callable[_Arguments, _Returned]:
    """Draw with the style of this package, and leave the caller's as it was."""

    @wraps(draw)
    def with_style(*args: _Arguments.args, **kwargs: _Arguments.kwargs) -> _Returned:
        with mpl.rc_context():
            mpl.rcdefaults()
            mpl.rcParams.update(_STYLE)
            return draw(*args, **kwargs)

    return with_style


def panels(count: int, height: float) -> "tuple[Figure, list[Axes]]":
    """Make a figure with panels below each other that share both axes."""
    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    axes = figure.subplots(count, 1, sharex=True, sharey=True, squeeze=False)
    return figure, list(axes[:, 0])


def colour(result: "Result", tcp: str) -> str:
    """Return the colour of a TCP: the same in all figures of a result."""
    return PALETTE[result.tcp.index(tcp) % len(PALETTE)]


def headline(view: View, what: str, tcp: Sequence[str], *, of_flow: bool = False) -> str:
    """Return a title that says what is shown of which scenario, TCP, seed and run.

    A figure `of_flow` names the flow too, if there are several.
    """
    names = f", {tcp[0]}" if len(tcp) == 1 else ""
    if of_flow and len(view.flows(tcp[0])) > 1:
        names += f", flow {view.flow_name(tcp[0])}"
    return f"{what}: {view.result.name}{names} (seed {view.result.seed}, run {view.run})"


class Scaled(Formatter):
    """Ticks divided by a factor, all with the decimals that the finest needs."""

    def __init__(self, factor: float) -> None:
        self._factor = factor
        self._decimals = 0

    def __call__(self, x: float, pos: int | None = None) -> str:
        """Return the label of the tick at `x`."""
        return f"{x / self._factor:.{self._decimals}f}"

    def set_locs(self, locs: Any) -> None:  # noqa: ANN401 (as matplotlib has it)
        """Find the decimals that all ticks need."""
        values = [value / self._factor for value in locs]
        finest = min((b - a for a, b in pairwise(values)), default=1.0)
        self._decimals = next(
            (n for n in range(9) if all(abs(v - round(v, n)) < finest / 100 for v in values)), 9
        )


def scale_axis(axes: "Axes", label: str, unit: str, largest: float) -> None:
    """Label the y axis with a unit that suits `largest`; the data stay as they are."""
    factor, text = units.prefixed(largest, unit)
    axes.yaxis.set_major_formatter(Scaled(factor))
    axes.set_ylabel(f"{label} ({text})")


def time_axis(axes: "Axes", limits: tuple[float, float]) -> None:
    """Label the x axis and set what it shows."""
    axes.set_xlim(*limits)
    axes.set_xlabel("time (s)")
    axes.xaxis.set_minor_locator(AutoMinorLocator())
    axes.ticklabel_format(axis="x", useOffset=False, style="plain")


def legend_above(axes: "Axes", handles: Sequence["Artist"], labels: Sequence[str]) -> None:
    """Put a legend above a panel and its caption, where it hides no data."""
    caption = axes.get_title(loc="left")
    axes.legend(
        handles,
        labels,
        loc="lower left",
        bbox_to_anchor=(0, 1),
        ncols=max(len(labels), 1),
        borderpad=0.2,
        borderaxespad=1.7 if caption else 0.2,
    )


def title(figure: Figure, text: str) -> None:
    """Put a title at the upper left, above legends."""
    figure.suptitle(text, x=0.012, ha="left", fontsize=9.5)


def save(figure: Figure, stem: Path) -> list[Path]:
    """Write a figure as stem.png (200 dpi) and stem.svg, each whole or not at all."""
    written = []
    for suffix in (".png", ".svg"):
        path = stem.with_name(stem.name + suffix)
        metadata = {"Date": None} if suffix == ".svg" else {"Software": None}
        with mpl.rc_context(_SAVE), files.replacing(path) as temporary:
            figure.savefig(temporary, dpi=200, metadata=metadata)
        written.append(path)
    return written
