"""Table of flows by phase of their path."""

from typing import TYPE_CHECKING, Any

from rich import box
from rich.table import Table

from farlink import units

if TYPE_CHECKING:
    from collections.abc import Hashable

    import pandas as pd

    from farlink.views.page import Sink

__all__ = ["show"]

_MOST = 60
"""Most rows of a printed table."""


def show(table: "pd.DataFrame", out: "Sink") -> None:
    """Print a row per TCP, flow and phase; the first ones of a long table."""
    factor, unit = units.prefixed(float(table["goodput"].max() if len(table) else 0), "bit/s")
    ends = table.groupby(["tcp", "flow"])["side"].nunique()
    of = len(set(table["flow"])) > 1 or bool((ends > 1).any())
    view = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    view.add_column("tcp", no_wrap=True)
    if of:
        view.add_column("flow")
    for title in _TITLES:
        view.add_column(title.format(unit=unit), justify="right")
    for row in table.head(_MOST).to_dict("records"):
        flow = [f"{row['flow']} {row['side']}"] if of else []
        view.add_row(str(row["tcp"]), *flow, *_cells(row, factor))
    out.print(view)
    if len(table) > _MOST:
        out.print(f"{len(table) - _MOST:,} more rows; Result.phases() and --out have all")


_TITLES = (
    "phase",
    "from\n(s)",
    "to\n(s)",
    "goodput\n({unit})",
    "mean RTT\n(ms)",
    "lost",
    "retrans-\nmissions",
    "spurious",
    "over-\ntaken",
    "extent",
    "time-\nouts",
    "undone",
)


def _cells(row: "dict[Hashable, Any]", factor: float) -> list[str]:
    import pandas as pd

    def cell(name: str, divisor: float = 1.0, digits: int = 0) -> str:
        value = row[name]
        return "-" if pd.isna(value) else f"{value / divisor:,.{digits}f}"

    return [
        cell("phase"),
        cell("start", digits=2),
        cell("end", digits=2),
        cell("goodput", factor, 2),
        cell("rtt_mean", 1e-3, 1),
        *(cell(name) for name in _COUNTS),
    ]


_COUNTS = ("lost", "retransmissions", "spurious", "reordered", "extent_max", "timeouts", "undone")
