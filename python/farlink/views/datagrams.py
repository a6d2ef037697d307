"""Balance of datagrams, for each flow with datagrams in flight at the end of the run."""

from typing import TYPE_CHECKING

from farlink.measures import Row, values_of

if TYPE_CHECKING:
    from farlink.result import Result

__all__ = ["balances"]

_MOST_LINES = 8
"""Largest number of flows with a line of their own; one more line has the sum of the others."""

_CAUSE = "lost_"


def balances(result: "Result") -> list[str]:
    """Return the datagrams sent, received, lost by cause and in flight, summed over all runs."""
    flows = set(result.udp_flows())
    rows = [row for row in result.rows("results") if row["flow"] in flows]
    cut = [row for row in rows if _sum(row, "datagrams_under_way")]
    lines = [_balance(row, beside=len(result.tcp) > 1) for row in cut[:_MOST_LINES]]
    if rest := cut[_MOST_LINES:]:
        under_way = sum(_sum(row, "datagrams_under_way") for row in rest)
        lines.append(f"{len(rest)} more flows: {under_way:,} datagrams under way at the end")
    return lines


def _balance(row: Row, *, beside: bool) -> str:
    sent, received, lost, under_way = (
        _sum(row, f"datagrams_{part}") for part in ("sent", "received", "lost", "under_way")
    )
    causes = {
        name.removeprefix(_CAUSE).replace("_", " "): _sum(row, name)
        for name in row["metrics"]
        if name.startswith(_CAUSE)
    }
    counted = ", ".join(f"{count:,} {cause}" for cause, count in causes.items() if count)
    why = f" ({counted})" if lost and counted else ""
    of = f"{row['flow']} beside {row['tcp']}" if beside else row["flow"]
    return (
        f"{of}: {sent:,} datagrams sent = {received:,} received + {lost:,} lost{why} + "
        f"{under_way:,} under way when the run ended"
    )


def _sum(row: Row, name: str) -> int:
    """Sum a count over the runs; 0 if the result is from a version without this count."""
    if name not in row["metrics"]:
        return 0
    return round(sum(value or 0 for value in values_of(row, name)))
