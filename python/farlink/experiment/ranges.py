"""Sets of run numbers, stored as ranges so that a million consecutive runs are one entry."""

from collections.abc import Iterable, Iterator, Sequence

__all__ = ["Ranges"]


class Ranges:
    """Set of integers as disjoint ascending half-open ranges [first, end)."""

    def __init__(self, pairs: Iterable[Sequence[int]] = ()) -> None:
        self._pairs: list[tuple[int, int]] = []
        self.add((int(low), int(past)) for low, past in pairs)

    def __iter__(self) -> Iterator[tuple[int, int]]:
        return iter(self._pairs)

    def __bool__(self) -> bool:
        return bool(self._pairs)

    def __len__(self) -> int:
        return sum(past - low for low, past in self._pairs)

    def __repr__(self) -> str:
        return f"Ranges({self._pairs})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Ranges) and self._pairs == other._pairs

    __hash__ = None  # type: ignore[assignment]

    def add(self, others: Iterable[tuple[int, int]]) -> None:
        """Add ranges."""
        joined: list[tuple[int, int]] = []
        for low, past in sorted([*self._pairs, *others]):
            if joined and low <= joined[-1][1]:
                joined[-1] = (joined[-1][0], max(past, joined[-1][1]))
            elif low < past:
                joined.append((low, past))
        self._pairs = joined

    def add_each(self, numbers: Iterable[int]) -> None:
        """Add several numbers."""
        pairs: list[tuple[int, int]] = []
        for number in numbers:
            if pairs and pairs[-1][1] == number:
                pairs[-1] = (pairs[-1][0], number + 1)
            else:
                pairs.append((number, number + 1))
        self.add(pairs)

    def common(self, other: "Ranges") -> "Ranges":
        """Return the intersection with another set."""
        pairs = (
            (max(a, c), min(b, d))
            for a, b in self._pairs
            for c, d in other._pairs
            if a < d and c < b
        )
        return Ranges(pairs)

    def missing(self, count: int) -> list[int]:
        """Return the numbers in 0..count-1 that are not in the set."""
        lacks: list[int] = []
        at = 0
        for low, past in self._pairs:
            lacks += range(at, min(low, count))
            at = max(at, past)
        return lacks + list(range(at, count))
