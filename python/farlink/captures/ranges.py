"""Sets of byte ranges. The cost of a change depends only on the ranges that it affects."""

from bisect import bisect_left, bisect_right, insort
from typing import Generic, TypeVar

from farlink.errors import ScenarioError

__all__ = ["Covered", "Holes", "check_missing"]

Mark = TypeVar("Mark")

_MISSING, _EACH = 10_000, 10
"""Limit of missing segments in a capture: 10,000, or 10 for each captured segment if that is more.
"""


def check_missing(source: str, held: int, missing: float) -> None:
    """Raise an error if a capture lacks far more segments than it contains.

    A transfer that lost 90 % of its segments passes. Damaged sequence numbers, which skip up to 2
    GiB at once, and captures with a pause are refused.

    Raises
    ------
    ScenarioError
        If `missing` exceeds max(10,000, 10 * `held`).
    """
    if missing > max(_MISSING, _EACH * held):
        raise ScenarioError(
            f"{source}: its sequence numbers leave out {missing:,.0f} segments, and {held:,} are "
            "there: it is damaged, or it paused; cut it before and behind that with "
            "`editcap -A TIME -B TIME`"
        )


class Holes(Generic[Mark]):
    """Disjoint ranges, each with a mark of its origin."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._rows: dict[int, tuple[int, Mark]] = {}

    def append(self, start: int, end: int, mark: Mark) -> None:
        """Add a range above all others."""
        self._starts.append(start)
        self._rows[start] = end, mark

    def cut(self, start: int, end: int) -> Mark | None:
        """Remove a range; return the mark of the lowest hole that overlaps it, or None."""
        first = bisect_right(self._starts, start) - 1
        if first < 0 or self._rows[self._starts[first]][0] <= start:
            first += 1
        last = bisect_left(self._starts, end)
        if first >= last:
            return None
        touched = self._starts[first:last]
        rows = [(at, *self._rows.pop(at)) for at in touched]
        (low, _, mark), (_, high, behind) = rows[0], rows[-1]
        left = [(low, start, mark)] if low < start else []
        left += [(end, high, behind)] if end < high else []
        self._starts[first:last] = [at for at, _, _ in left]
        self._rows.update({at: (stop, own) for at, stop, own in left})
        return mark


class Covered:
    """Union of ranges above an offset, and the union's size. The offset never falls."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._ends: dict[int, int] = {}
        self.size = 0

    def add(self, start: int, end: int) -> None:
        """Add a range."""
        if end <= start:
            return
        first = bisect_left(self._starts, start)
        if first and self._ends[self._starts[first - 1]] >= start:
            first -= 1
        last = bisect_right(self._starts, end)
        for at in self._starts[first:last]:
            stop = self._ends.pop(at)
            self.size -= stop - at
            start, end = min(start, at), max(end, stop)
        del self._starts[first:last]
        insort(self._starts, start)
        self._ends[start] = end
        self.size += end - start

    def forget_below(self, offset: int) -> None:
        """Remove everything below an offset."""
        last = bisect_left(self._starts, offset)
        if not last:
            return
        for at in self._starts[:last]:
            stop = self._ends.pop(at)
            self.size -= stop - at
        del self._starts[:last]
        self.add(offset, stop)
