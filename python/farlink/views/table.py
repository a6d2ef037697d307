"""Main table of `farlink run`: a row per TCP."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich import box
from rich.table import Table

from farlink import limits, units
from farlink.measures import Row, values_of
from farlink.stats import Estimate, mean_ci95, median_ci95
from farlink.views import datagrams, flows, stalls
from farlink.views.flows import Column

if TYPE_CHECKING:
    from farlink.result import Result
    from farlink.views.page import Sink

__all__ = ["show"]

_ONE_LINE_WIDTH = 110
"""Terminal width below which intervals are printed under their means."""


_FEWEST_FOR_MEDIAN = 6
"""Least number of runs for which a median has a 95 % interval."""


_GOODPUT = Column("goodput", "goodput")

_COLUMNS = (
    _GOODPUT,
    Column("transfer\ntime", "duration"),
    Column("retrans-\nmissions", "segments_retransmitted"),
    Column("time-\nouts", "timeouts"),
    Column("fast re-\ntransmits", "fast_retransmits"),
    Column("mean\nRTT", "rtt_mean", 1e-3),
)

_DATAGRAMS = (
    Column("sent", "datagrams_sent"),
    _GOODPUT,
    Column("lost\n(%)", "loss_rate", factor=0.01),
    Column("mean\ndelay", "delay_mean", 1e-3),
    Column("99 %\nbelow", "delay_p99", 1e-3),
    Column("jitter", "jitter", 1e-3),
)
"""Columns for datagram flows, which have no TCP and therefore a separate table.

Each goodput is over the flow's own duration, which does not depend on TCP.
"""

_RESPONSE = Column("response\ntime", "response_time_mean")


def show(result: "Result", out: "Sink") -> None:
    """Print the tables of a result, and notes that explain their numbers."""
    between = " " if out.width >= _ONE_LINE_WIDTH else "\n"
    busiest = _busiest(result)
    used = [_utilisation(result, tcp, busiest) for tcp in result.tcp]
    if result.runs_are_alike:
        used = [_of_one_run(estimate) for estimate in used]
    utilisation = ("utilisa-\ntion (%)", used)
    over_udp = result.udp_flows()
    over_tcp = bool(result.tcp_flows())
    if over_tcp:
        out.print(_table(result, "tcp", _columns(result), utilisation, between, udp=False))
    if over_udp:
        # The table of TCP flows already has the utilisation.
        rest = None if over_tcp else utilisation
        out.print(_table(result, "datagrams", _DATAGRAMS, rest, between, udp=True))
    if len(result.tcp_flows()) > 1:
        out.print(flows.table(result))
    shares = limits.table(result)
    if shares is not None:
        out.print(shares)
        direction = ", ".join(busiest)
        utilisations = {tcp: item.mean or 0.0 for tcp, item in zip(result.tcp, used, strict=True)}
        for sentence in limits.sentences(result, direction, utilisations):
            out.print(sentence, soft_wrap=True)
    for note in _notes(result, busiest):
        out.print(note, soft_wrap=True)
    if over_tcp and result.runs >= _FEWEST_FOR_MEDIAN and not result.runs_are_alike:
        out.print(_medians(result))
        out.print(
            "median [95 % interval by order statistics]; differences run by run: the same losses",
            soft_wrap=True,
        )


def _table(
    result: "Result",
    title: str,
    columns: Sequence[Column],
    last: tuple[str, list[Estimate]] | None,
    between: str,
    *,
    udp: bool,
) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    table.add_column(title, no_wrap=True)
    cells = [[tcp] for tcp in result.tcp]
    for column in columns:
        metric = result.goodput_to_add if column is _GOODPUT and not udp else column.metric
        estimates = [result.total(metric, tcp, udp=udp) for tcp in result.tcp]
        if result.runs_are_alike:
            estimates = [_of_one_run(estimate) for estimate in estimates]
        factor, unit = column.factor, column.unit
        if column.factor == 1.0:
            factor, unit = units.prefixed(max((estimate.mean or 0) for estimate in estimates), unit)
        _add(table, cells, _title(column.title, unit), estimates, factor, between)
    if last is not None:
        _add(table, cells, last[0], last[1], 0.01, between)
    for row in cells:
        table.add_row(*row)
    return table


def _of_one_run(estimate: Estimate) -> Estimate:
    return Estimate(estimate.mean, None, None, 1 if estimate.n else 0)


def _medians(result: "Result") -> Table:
    """Return a table of each TCP's median goodput, and its difference from the first TCP.

    The goodput is that of the main table, over all TCP flows.
    """
    first = result.tcp[0]
    runs = {tcp: result.per_run(result.goodput_to_add, tcp, udp=False) for tcp in result.tcp}
    medians = {tcp: median_ci95(values) for tcp, values in runs.items()}
    factor, unit = units.prefixed(max(estimate.mean or 0 for estimate in medians.values()), "bit/s")
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("tcp", no_wrap=True)
    table.add_column(f"median goodput\n({unit})", no_wrap=True)
    if len(result.tcp) > 1:
        table.add_column(f"median difference\nto {first} ({unit})", no_wrap=True)
    for tcp, median in medians.items():
        row = [tcp, _bracketed(median, factor)]
        if tcp != first:
            pairs = zip(runs[tcp], runs[first], strict=True)
            gaps = [a - b for a, b in pairs if a is not None and b is not None]
            row.append(_bracketed(median_ci95(gaps), factor, sign="+"))
        table.add_row(*row)
    return table


def _bracketed(median: Estimate, factor: float, sign: str = "") -> str:
    if median.mean is None:
        return "-"
    half = (median.half_width or 0.0) / factor
    decimals = max(0, min(1 - math.floor(math.log10(half)), 6)) if half > 0 else 3
    number = f"{median.mean / factor:{sign}.{decimals}f}"
    if median.low is None or median.high is None:
        return number
    low, high = (f"{item / factor:{sign}.{decimals}f}" for item in (median.low, median.high))
    return f"{number} [{low} to {high}]"


def _columns(result: "Result") -> list[Column]:
    """Return the columns, with the response time instead of the transfer time for request flows."""
    answers = any(result.total(_RESPONSE.metric, tcp).mean is not None for tcp in result.tcp)
    return [_RESPONSE if answers and column.metric == "duration" else column for column in _COLUMNS]


def _notes(result: "Result", busiest: tuple[str, str]) -> list[str]:
    runs = f"{result.runs} runs" if result.runs > 1 else "1 run"
    speed = f"{result.events:,} events in {result.wall_s:.2f} s"
    notes = [f"{result.name}, seed {result.seed}, {runs} per TCP; {speed}"]
    if result.runs_are_alike:
        notes.append(
            f"nothing here is random: the {result.runs} runs are the same, so it is one run and "
            "there is no interval"
        )
    elif result.runs > 1:
        notes.append("mean ±half of the 95 % confidence interval (Student's t) over the runs")
    notes += _incomplete(result) + datagrams.balances(result) + stalls.lines(result)
    notes.append(f"utilisation of {busiest[0]}, {busiest[1]}: the most used link direction")
    return notes + _of_flows(result)


def _of_flows(result: "Result") -> list[str]:
    """Return a note on how the values of several flows are combined in a row."""
    over_udp, over_tcp = len(result.udp_flows()), len(result.connections())
    count = over_udp + over_tcp
    subflows = len(result.tcp_flows()) - over_tcp
    paths = [] if subflows == 0 else ["counts are summed over subflows, and RTTs averaged"]
    if count == 1:
        return paths
    which = f" ({over_udp} of datagrams)" if 0 < over_udp < count else ""
    lines = []
    if over_tcp > 1:
        lines.append(
            "in a row of a TCP goodput over the whole run and counts are summed over "
            f"{'those over TCP' if over_udp else 'them'}, time and RTT averaged"
        )
    if over_udp > 1:
        lines.append(
            "of datagrams what was sent and goodput, each over its flow's own time, are summed, "
            "lost is of all datagrams together, delays and jitter are means over the flows"
        )
    lines = [f"{count} flows{which}{': ' if lines else ''}{'; '.join(lines)}"]
    return lines + paths + (_fairness(result) if over_tcp > 1 else [])


def _fairness(result: "Result") -> list[str]:
    """Return a line with Jain's fairness index among the flows of each TCP."""
    index = {row["tcp"]: mean_ci95(values_of(row, "jain")) for row in result.rows("fairness")}
    if result.runs_are_alike:
        index = {tcp: _of_one_run(estimate) for tcp, estimate in index.items()}
    shown = ", ".join(
        f"{tcp} {_cell(entry, 1.0, entry.half_width, ' ')}" for tcp, entry in index.items()
    )
    whose = "the goodputs over TCP" if result.udp_flows() else "their goodputs"
    return [f"Jain's fairness index of {whose}: {shown}"]


def _incomplete(result: "Result") -> list[str]:
    """Return warnings about unfinished transfers; their times are not transfer times."""
    notes = []
    for tcp in result.tcp:
        values = [
            value
            for row in result.rows("results")
            if row["tcp"] == tcp
            for value in values_of(row, "completed")
        ]
        if failed := sum(value == 0 for value in values):
            cut = sum(
                value or 0
                for row in result.rows("fairness")
                if row["tcp"] == tcp and "unfinished" in row["metrics"]
                for value in values_of(row, "unfinished")
            )
            why = f"; max_duration cut {cut:,.0f} off: what had come counts" if cut else ""
            notes.append(
                f"WARNING: {tcp}: {failed:,} of {len(values):,} transfers did not complete{why}"
            )
    return notes


def _add(
    table: Table,
    cells: list[list[str]],
    title: str,
    estimates: list[Estimate],
    factor: float,
    between: str,
) -> None:
    table.add_column(title, justify="right", no_wrap=True)
    # All rows of a column have the decimals that the narrowest interval needs.
    narrowest = min((item.half_width for item in estimates if item.half_width), default=None)
    for row, estimate in zip(cells, estimates, strict=True):
        row.append(_cell(estimate, factor, narrowest, between))


def _cell(estimate: Estimate, factor: float, narrowest: float | None, between: str) -> str:
    if estimate.mean is None:
        return "-"
    digits = None if narrowest is None else narrowest / factor
    mean = units.rounded(estimate.mean / factor, digits)
    if estimate.half_width is None:
        return mean
    return f"{mean}{between}±{units.rounded(estimate.half_width / factor, digits)}"


def _title(title: str, unit: str) -> str:
    if not unit:
        return title
    return f"{title} ({unit})" if "\n" in title else f"{title}\n({unit})"


def _busiest(result: "Result") -> tuple[str, str]:
    def used(row: Row) -> float:
        return mean_ci95(values_of(row, "utilisation")).mean or 0.0

    row = max(result.rows("links"), key=used)
    return str(row["link"]), str(row["direction"])


def _utilisation(result: "Result", tcp: str, busiest: tuple[str, str]) -> Estimate:
    for row in result.rows("links"):
        if row["tcp"] == tcp and (row["link"], row["direction"]) == busiest:
            return mean_ci95(values_of(row, "utilisation"))
    return mean_ci95([])
