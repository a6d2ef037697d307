"""The table of several flows: a row for each, or how many flows are spread."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from farlink import units
from farlink.result import Result

if TYPE_CHECKING:
    from rich.table import Table

__all__ = ["table"]

_MOST_ROWS = 24
"""With more flows than this over all TCPs, a row is a TCP and tells of how its flows differ."""

_COLUMNS = (
    ("goodput", "goodput", "bit/s", 1.0),
    ("transfer\ntime", "duration", "s", 1.0),
    ("retrans-\nmissions", "segments_retransmitted", "", 1.0),
    ("time-\nouts", "timeouts", "", 1.0),
    ("mean\nRTT", "rtt_mean", "ms", 1e-3),
)
"""Title, metric, unit and by what the metric is divided."""

_QUARTERS = (("least", 0), ("quarter", 25), ("median", 50), ("3 quarters", 75), ("most", 100))


def table(result: Result) -> "Table":
    """Return a row per TCP and flow over TCP, or per TCP the spread of its flows' goodputs."""
    datagrams = set(result.udp_flows())
    rows = [row for row in result.data["results"] if row["flow"] not in datagrams]
    return _each(rows) if len(rows) <= _MOST_ROWS else _spread(result.tcp, rows)


def _each(rows: Sequence[Mapping[str, Any]]) -> "Table":
    shown = _empty("tcp", "flow")
    cells = [[str(row["tcp"]), str(row["flow"])] for row in rows]
    for title, metric, unit, factor in _COLUMNS:
        means = [row["metrics"][metric]["mean"] for row in rows]
        divisor, prefixed = (factor, unit)
        if factor == 1.0:
            divisor, prefixed = units.prefixed(max((mean or 0) for mean in means), unit)
        _add(shown, title, prefixed)
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
        _add(shown, f"goodput,\n{title}", unit)
    for name, ones in values.items():
        points = np.percentile(ones, [share for _, share in _QUARTERS]) if ones else []
        shown.add_row(
            name, f"{len(ones):,}", *(units.rounded(float(one) / divisor) for one in points)
        )
    return shown


def _empty(*titles: str) -> "Table":
    from rich import box
    from rich.table import Table

    shown = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    for title in titles:
        shown.add_column(title, no_wrap=True)
    return shown


def _add(shown: "Table", title: str, unit: str) -> None:
    shown.add_column(f"{title} ({unit})" if unit else title, justify="right", no_wrap=True)
