"""Table of several flows: a row per flow, or quantiles if there are many."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from farlink import registry, units

if TYPE_CHECKING:
    from rich.table import Table

    from farlink.result import Result

__all__ = ["Column", "table"]

_MOST_ROWS = 24
"""Number of flows (over all TCPs) above which the table has a row per TCP with quantiles."""


@dataclass(frozen=True)
class Column:
    """Column of a terminal table: a measure of a flow."""

    title: str
    metric: str
    factor: float = 1.0
    """Size of the displayed unit in the measure's unit: 0.001 displays seconds as ms."""

    @property
    def unit(self) -> str:
        """Displayed unit, without the prefix chosen for large values."""
        prefix = "m" if self.factor == 1e-3 else ""
        return prefix + registry.unit("flow", self.metric)


_COLUMNS = (
    Column("goodput", "goodput"),
    Column("transfer\ntime", "duration"),
    Column("retrans-\nmissions", "segments_retransmitted"),
    Column("time-\nouts", "timeouts"),
    Column("mean\nRTT", "rtt_mean", 1e-3),
)

_QUARTERS = (("least", 0), ("quarter", 25), ("median", 50), ("3 quarters", 75), ("most", 100))


def table(result: "Result") -> "Table":
    """Return a row for each TCP and its flow, or the quantiles of the goodput for each TCP."""
    datagrams = set(result.udp_flows())
    rows = [row for row in result.rows("results") if row["flow"] not in datagrams]
    return _each(rows) if len(rows) <= _MOST_ROWS else _spread(result.tcp, rows)


def _each(rows: Sequence[Mapping[str, Any]]) -> "Table":
    shown = _empty("tcp", "flow")
    cells = [[str(row["tcp"]), str(row["flow"])] for row in rows]
    for column in _COLUMNS:
        means = [row["metrics"][column.metric]["mean"] for row in rows]
        divisor, prefixed = column.factor, column.unit
        if divisor == 1.0:
            divisor, prefixed = units.prefixed(max((mean or 0) for mean in means), column.unit)
        _add(shown, column.title, prefixed)
        for row, mean in zip(cells, means, strict=True):
            row.append("-" if mean is None else units.rounded(mean / divisor))
    for row in cells:
        shown.add_row(*row)
    return shown


def _spread(tcp: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> "Table":
    shown = _empty("tcp", "flows")
    values = {
        name: [
            row["metrics"]["goodput"]["mean"]
            for row in rows
            if row["tcp"] == name and row["metrics"]["goodput"]["mean"] is not None
        ]
        for name in tcp
    }
    divisor, unit = units.prefixed(max(max(ones, default=0.0) for ones in values.values()), "bit/s")
    for title, _ in _QUARTERS:
        _add(shown, "goodput,\n" + title.replace(" ", "\n"), unit)
    for name, ones in values.items():
        points = [_percentile(sorted(ones), share) for _, share in _QUARTERS] if ones else []
        shown.add_row(name, f"{len(ones):,}", *(units.rounded(point / divisor) for point in points))
    return shown


def _percentile(ordered: Sequence[float], share: int) -> float:
    """Return a percentile of sorted values, with linear interpolation."""
    whole, rest = divmod((len(ordered) - 1) * share, 100)
    above = ordered[min(whole + 1, len(ordered) - 1)]
    return ordered[whole] + (above - ordered[whole]) * rest / 100


def _empty(*titles: str) -> "Table":
    from rich import box
    from rich.table import Table

    shown = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    for title in titles:
        shown.add_column(title, no_wrap=True)
    return shown


def _add(shown: "Table", title: str, unit: str) -> None:
    shown.add_column(f"{title}\n({unit})" if unit else title, justify="right", no_wrap=True)
