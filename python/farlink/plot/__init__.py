"""Figures of a result, one file per kind; each is a matplotlib Figure.

Every figure but the box plot, which is of all runs, is of one run, repeated with
its probes on when first needed.
"""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from farlink import files, pictures
from farlink.paper import Fonts, Size
from farlink.plot.agent import draw_agent
from farlink.plot.box import draw_box
from farlink.plot.cwnd import draw_cwnd
from farlink.plot.delay import draw_delay
from farlink.plot.queue import draw_queue
from farlink.plot.sequence import draw_comparison, draw_first_loss, draw_sequence
from farlink.plot.sheet import DPI, Picture, sheet_of
from farlink.plot.style import save
from farlink.plot.throughput import draw_throughput
from farlink.plot.view import View
from farlink.processes import FileTask, write_all

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from farlink.result import Result

__all__ = ["Picture", "Plots"]


class Plots:
    """The figures of a result: `result.plot.cwnd()` and so on.

    `tcp` is by default all TCPs of the result, `run` the number of the run,
    `flow` by default all flows, or the first where a figure is of one, and `t0`
    and `t1` the time shown in seconds. `size` is "page" (7 in wide, the default), "column"
    (3.4 in), "slide" (10 by 5.625 in) or a width and a height in inches; `fonts` is "sans" or
    "tex" (Computer Modern, which comes with matplotlib). A figure is saved with its own
    `savefig`, or all with `save`.
    """

    def __init__(self, result: "Result") -> None:
        self._result = result

    def sequence(
        self,
        tcp: str | None = None,
        *,
        run: int = 0,
        flow: str | None = None,
        t0: float | None = None,
        t1: float | None = None,
        size: Size | None = None,
        fonts: Fonts | None = None,
    ) -> "Figure":
        """Draw sequence numbers over time in the manner of tcptrace.

        Segments are vertical bars, retransmissions red and marked R; below them
        is the line of the ACKs, above them that of the offered window; SACK
        blocks are purple bars at the time their ACK came. Without `tcp`, several
        TCPs are compared by what each had acknowledged, and without `flow` so are
        the flows of one TCP.
        """
        with sheet_of(size, fonts):
            view = View(self._result, run, flow, t0, t1)
            if tcp is None and len(self._result.tcp) > 1:
                return draw_comparison(view, self._result.tcp)
            name = tcp or self._result.tcp[0]
            if tcp is None and len(view.flows_shown(name)) > 1:
                return draw_comparison(view, [name])
            return draw_sequence(view, name)

    def first_loss(
        self,
        tcp: str | None = None,
        *,
        run: int = 0,
        flow: str | None = None,
        size: Size | None = None,
        fonts: Fonts | None = None,
    ) -> "Figure | None":
        """Draw the time-sequence graph around the first retransmission; None if there is none."""
        with sheet_of(size, fonts):
            view = View(self._result, run, flow)
            return draw_first_loss(view, tcp or self._result.tcp[0])

    def agent(
        self,
        tcp: str | None = None,
        *,
        agent: int = 0,
        run: int = 0,
        flow: str | None = None,
        t0: float | None = None,
        t1: float | None = None,
        size: Size | None = None,
        fonts: Fonts | None = None,
    ) -> "Figure":
        """Draw a sequence diagram: sender, agent and receiver are time lines, packets arrows.

        `agent` is its place in the scenario. Without `t0` and `t1` it is the time around the
        first packet that the agent sent again.
        """
        with sheet_of(size, fonts):
            view = View(self._result, run, flow, t0, t1)
            return draw_agent(view, tcp or self._result.tcp[0], agent)

    def cwnd(
        self,
        tcp: str | None = None,
        *,
        run: int = 0,
        flow: str | None = None,
        t0: float | None = None,
        t1: float | None = None,
        size: Size | None = None,
        fonts: Fonts | None = None,
    ) -> "Figure":
        """Draw cwnd, ssthresh and the loss events, a panel per TCP.

        Without `flow`, the windows of all flows of a TCP are in its panel.
        """
        with sheet_of(size, fonts):
            return draw_cwnd(View(self._result, run, flow, t0, t1), self._names(tcp))

    def throughput(
        self,
        tcp: str | None = None,
        *,
        run: int = 0,
        link: str | None = None,
        direction: str | None = None,
        bin_s: float | None = None,
        t0: float | None = None,
        t1: float | None = None,
        size: Size | None = None,
        fonts: Fonts | None = None,
    ) -> "Figure":
        """Draw the throughput of a link direction (by default the most used), a line per TCP.

        More than six TCPs have a panel each.
        """
        with sheet_of(size, fonts):
            view = View(self._result, run, None, t0, t1)
            return draw_throughput(view, self._names(tcp), (link, direction), bin_s)

    def queue(
        self,
        tcp: str | None = None,
        *,
        run: int = 0,
        link: str | None = None,
        direction: str | None = None,
        t0: float | None = None,
        t1: float | None = None,
        size: Size | None = None,
        fonts: Fonts | None = None,
    ) -> "Figure":
        """Draw the queue of a link direction (by default the most used), a panel per TCP."""
        with sheet_of(size, fonts):
            view = View(self._result, run, None, t0, t1)
            return draw_queue(view, self._names(tcp), (link, direction))

    def delay(
        self,
        tcp: str | None = None,
        *,
        run: int = 0,
        flow: str | None = None,
        t0: float | None = None,
        t1: float | None = None,
        size: Size | None = None,
        fonts: Fonts | None = None,
    ) -> "Figure":
        """Draw the one-way delay of datagrams and their losses, a panel per TCP.

        `flow` is by default all flows of datagrams.
        """
        with sheet_of(size, fonts):
            return draw_delay(View(self._result, run, flow, t0, t1), self._names(tcp))

    def box(
        self, metric: str = "goodput", *, size: Size | None = None, fonts: Fonts | None = None
    ) -> "Figure":
        """Draw a metric over all runs: a box and the runs of each TCP, and paired differences.

        The differences are to the first TCP, run by run; of values far apart it is
        how many times that of the first they are.
        """
        with sheet_of(size, fonts):
            return draw_box(self._result, metric)

    def save(
        self,
        directory: str | Path,
        *,
        run: int = 0,
        jobs: int = 1,
        size: Size | None = None,
        fonts: Fonts | None = None,
        tell: "Callable[[str], None] | None" = None,
    ) -> list[Path]:
        """Write all figures as PNG (200 dpi) and SVG; return their paths.

        A figure that cannot be drawn is a `FigureWarning`, and the others are written.

        On Linux up to `jobs` processes draw, copies of this one (fork): one, this one, suits a
        program with threads of its own. `tell` is called with the name of each figure before
        this process draws it.
        """
        tasks = self.tasks(Path(directory), run=run, size=size, fonts=fonts)
        if jobs > 1:
            self._result.probe_all(run, jobs=jobs)  # once, not in each process
        return write_all(tasks, jobs, tell)

    def tasks(
        self,
        directory: Path,
        *,
        run: int = 0,
        size: Size | None = None,
        fonts: Fonts | None = None,
    ) -> list[FileTask]:
        """Return the writers of the figures of `save`, those that take longest first."""
        for tcp in self._result.tcp:
            files.check_name(tcp)  # it is part of names of files
        with sheet_of(size, fonts):
            pass  # a size that cannot be is an error here, and not in each figure
        return [
            (f"figure {name}", partial(_write, draw, directory / name, size, fonts))
            for name, draw in self._all(run)
        ]

    def _all(self, run: int) -> "Iterator[tuple[str, Callable[[], Figure | None]]]":
        # Those with a panel for each TCP take longest: begun first, they are no long end.
        datagrams = self._result.udp_flows()
        view = View(self._result, run)
        over_tcp = bool(view.flows_shown(self._result.tcp[0]))
        several = len(view.flows_shown(self._result.tcp[0])) > 1
        yield "queue", partial(self.queue, run=run)
        if over_tcp:
            yield "cwnd", partial(self.cwnd, run=run)
        if datagrams:
            yield "delay", partial(self.delay, run=run)
        yield "throughput", partial(self.throughput, run=run)
        if over_tcp and (len(self._result.tcp) > 1 or several):
            yield "sequence", partial(self.sequence, run=run)
        for tcp in self._result.tcp if over_tcp else []:
            yield f"sequence-{tcp}", partial(self.sequence, tcp, run=run)
            yield f"first-loss-{tcp}", partial(self.first_loss, tcp, run=run)
        for tcp in self._result.tcp if over_tcp else []:
            for number in range(len(self._result.scenario(tcp).get("agents") or [])):
                yield f"agent-{number}-{tcp}", partial(self._agent, tcp, number, run)
        if over_tcp and self._result.runs > 1:
            yield "goodput", self.box

    def _agent(self, tcp: str, number: int, run: int) -> "Figure | None":
        """Draw a sequence diagram, if there is a packet to draw."""
        view = View(self._result, run)
        passages = view.result.arrays("passages", tcp, run)["time"]
        return draw_agent(view, tcp, number) if len(passages) else None

    def _names(self, tcp: str | None) -> list[str]:
        return self._result.tcp if tcp is None else [tcp]


def _write(
    draw: "Callable[[], Figure | None]", stem: Path, size: Size | None, fonts: Fonts | None
) -> list[Path] | str:
    """Draw a figure and return its files, or why there are none."""
    try:
        with sheet_of(size, fonts, DPI):
            figure = draw()
            return [] if figure is None else save(figure, stem)
    except Exception as error:
        return pictures.failure(error)
