"""Figures of a result as matplotlib Figures, with one module per kind of figure.

The box plot shows all runs. All other figures show one run, which is simulated again with traces
when a figure first needs them.
"""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from farlink import files, pictures
from farlink.errors import ScenarioError
from farlink.figures import FIGURES
from farlink.paper import Fonts, Size
from farlink.plot.agent import draw_agent
from farlink.plot.box import draw_box
from farlink.plot.cwnd import draw_cwnd
from farlink.plot.delay import draw_delay
from farlink.plot.ladder import draw_ladder
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

    `tcp` selects TCPs (by default all), and `run` is the number of the run. `flow` is by default
    all flows, or the first flow in figures of one flow. `t0` and `t1` bound the time axis (s).
    `size` is "page" (7 in wide, the default), "column" (3.4 in), "slide" (10 by 5.625 in) or
    (width, height) in inches. `fonts` is "sans" or "tex" (Computer Modern of matplotlib). `savefig`
    of a figure saves it, and `save` saves all figures.
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
        """Draw sequence numbers over time, like tcptrace.

        Segments are vertical bars; retransmissions are red with an R. The line below the segments
        is the cumulative ACK, and the line above them is the offered window. SACK blocks are purple
        bars at the arrival of their ACK. For several TCPs, or several flows of one TCP, the figure
        shows the acknowledged bytes.
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

    def ladder(
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
        """Draw the packets of a flow as a ladder: time downwards, a vertical line for each node.

        A cross is a lost packet. Sentences of `Result.story` are beside the ladder. By default the
        figure shows the first loss and its repair.
        """
        with sheet_of(size, fonts):
            return draw_ladder(View(self._result, run, flow, t0, t1), tcp or self._result.tcp[0])

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

        `agent` is the index of the agent in the scenario. The time is by default around the agent's
        first retransmission.
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
        """Draw cwnd, ssthresh and loss events, with a panel per TCP.

        Without `flow`, each panel shows all flows of a TCP.
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
        """Draw the throughput of a link direction (by default the most used), with a line per TCP.

        More than six TCPs get a panel each.
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
        """Draw the queue of a link direction (by default the most used), with a panel per TCP."""
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
        """Draw one-way delay and losses of datagrams, with a panel per TCP.

        `flow` is by default all flows of datagrams.
        """
        with sheet_of(size, fonts):
            return draw_delay(View(self._result, run, flow, t0, t1), self._names(tcp))

    def box(
        self, metric: str = "goodput", *, size: Size | None = None, fonts: Fonts | None = None
    ) -> "Figure":
        """Draw a metric of all runs as a box plot per TCP, with paired differences.

        The differences are those to the first TCP in the same run. If the values differ by much,
        ratios replace the differences.
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

        A figure that cannot be drawn gives a `FigureWarning`; the others are written. On Linux up
        to `jobs` forked processes draw. A program with threads should use `jobs=1` (no fork).
        `tell` is called with the name of each figure before this process draws it.
        """
        tasks = self.tasks(Path(directory), run=run, size=size, fonts=fonts)
        if jobs > 1:
            self._result.probe_all(run, jobs=jobs)  # Once here, not in each process.
        return write_all(tasks, jobs, tell)

    def tasks(
        self,
        directory: Path,
        *,
        run: int = 0,
        only: str | None = None,
        size: Size | None = None,
        fonts: Fonts | None = None,
    ) -> list[FileTask]:
        """Return the tasks that write the figures of `save`, the longest first.

        With `only` the tasks write the figures of one kind, such as ladder, which `save` leaves
        out.
        """
        if only not in (None, *FIGURES):
            raise ScenarioError(f"figure {only!r} is not known; there are {', '.join(FIGURES)}")
        for tcp in self._result.tcp:
            files.check_name(tcp)  # The name of the TCP is part of file names.
        with sheet_of(size, fonts):
            pass  # An impossible size causes one error here instead of one per figure.
        return [
            (f"figure {name}", partial(_write, draw, directory / name, size, fonts))
            for name, draw in (self._all(run) if only is None else self._only(only, run))
        ]

    def _only(self, kind: str, run: int) -> "Iterator[tuple[str, Callable[[], Figure | None]]]":
        if kind == "ladder":
            flows = View(self._result, run).flows_shown(self._result.tcp[0])
            for tcp in self._result.tcp if flows else []:
                yield f"ladder-{tcp}", partial(self.ladder, tcp, run=run)
            return
        yield from ((name, draw) for name, draw in self._all(run) if name.startswith(kind))

    def _all(self, run: int) -> "Iterator[tuple[str, Callable[[], Figure | None]]]":
        # Figures with a panel per TCP take longest, so they are drawn first.
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
        """Draw the sequence diagram of an agent; None if no packet crosses the agent."""
        view = View(self._result, run)
        passages = view.result.arrays("passages", tcp, run)["time"]
        return draw_agent(view, tcp, number) if len(passages) else None

    def _names(self, tcp: str | None) -> list[str]:
        return self._result.tcp if tcp is None else [tcp]


def _write(
    draw: "Callable[[], Figure | None]", stem: Path, size: Size | None, fonts: Fonts | None
) -> list[Path] | str:
    """Draw and save a figure; return its files, or a message if it cannot be drawn."""
    try:
        with sheet_of(size, fonts, DPI):
            figure = draw()
            return [] if figure is None else save(figure, stem)
    except Exception as error:
        return pictures.failure(error)
