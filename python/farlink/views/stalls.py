"""Warnings about flows that transfer no more data until the end of the run."""

from typing import TYPE_CHECKING

from farlink.measures import Row, values_of

if TYPE_CHECKING:
    from farlink.result import Result

__all__ = ["lines"]

_MOST_LINES = 8
"""Largest number of flows with a line of their own; one more line counts the others."""


def lines(result: "Result") -> list[str]:
    """Return a warning for each starved flow: its last arrival, and the fullest queue."""
    rows = [row for row in result.rows("results") if _times(row)]
    if not rows:
        return []
    sentences = [_line(row, result) for row in rows[:_MOST_LINES]]
    if rest := rows[_MOST_LINES:]:
        sentences.append(f"WARNING: {len(rest):,} more flows starved")
    return sentences


def _times(row: Row) -> list[float]:
    if "stalled_since" not in row["metrics"]:
        return []
    return [time for time in values_of(row, "stalled_since") if time is not None]


def _line(row: Row, result: "Result") -> str:
    times = _times(row)
    runs = len(values_of(row, "stalled_since"))
    of = f"{row['flow']} beside {row['tcp']}" if len(result.tcp) > 1 else row["flow"]
    how_often = f" in {len(times):,} of {runs:,} runs" if runs > 1 else ""
    where = _places(result, row["tcp"])
    waits = f"most waits at {', '.join(where)}" if where else "none of it waits in a queue"
    return (
        f"WARNING: {of} starved{how_often}: nothing arrived after {min(times):,.1f} s, "
        f"with data under way to the end; {waits}"
    )


def _places(result: "Result", tcp: str) -> list[str]:
    """Return the link directions whose queues hold the data of starved flows."""
    places = []
    for row in result.rows("links"):
        if row["tcp"] != tcp or "stalled_flows" not in row["metrics"]:
            continue
        if any(value for value in values_of(row, "stalled_flows")):
            places.append(f"{row['link']}, {row['direction']}")
    return places
