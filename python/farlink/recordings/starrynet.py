"""StarryNet: delays between all nodes as a matrix, or lists of links between satellites and ground.

Earlier versions write a matrix in milliseconds for each second (`delay/N.txt`); 0 is no link.
Later ones write the links of satellites (`isl/N.txt`) and of ground stations (`gsl/N.txt`), each
line with all links of a node or with those deleted, updated and added since the file before.
"""

import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

from farlink.recordings.build import Settings, Source
from farlink.recordings.constellation import computed
from farlink.recordings.document import Recording
from farlink.recordings.reading import Input, fault, lines, number, whole

if TYPE_CHECKING:
    from farlink.recordings.document import Floats

__all__ = ["load_starrynet"]

_MOST_MS = 3.6e6
_MOST_NODES = 5000
_MOST_NUMBER = 10**6
_UNREACHABLE = "Unreachable"


def load_starrynet(sources: Sequence[Input], settings: Settings) -> Recording:
    """Read matrices of delays, and compute the path of least delay between two nodes."""
    import numpy as np

    if settings.between is None:
        raise fault(sources[0], None, "has all nodes; name two of them with --between A,B (from 1)")
    listed = [source for source in sources if source.path.parent.name in ("isl", "gsl")]
    if listed:
        return _load_lists(sources, settings, settings.between)
    numbers = [_second(source) for source in sources]
    order = sorted(range(len(sources)), key=lambda at: numbers[at])
    step = settings.step or _spacing(sources, sorted(numbers))
    delays, names = [], []
    for at in order:
        matrix = _matrix(sources[at])
        delay, path = _least(sources[at], matrix, settings.between)
        delays.append(delay)
        names.append(path)
    values = np.array(delays)
    reachable = np.isfinite(values).astype(np.float64)
    if not reachable.any():
        raise fault(sources[0], None, "there is no path between the nodes at any time")
    one_way = np.where(np.isfinite(values), values, 0.0)
    first, second = settings.between
    source = f"StarryNet (Lai and others, NSDI 2023): path from node {first} to {second}"
    by = "the path of least delay in StarryNet's matrix of each second"
    return computed(
        "starrynet",
        [sources[at] for at in order],
        settings,
        Source(source),
        step,
        one_way,
        reachable,
        by,
        names,
    )


def _second(source: Input) -> int:
    stem = source.path.name.removesuffix(".gz").removesuffix(".txt")
    if not (stem.isascii() and stem.isdigit() and len(stem) < 10):
        raise fault(source, None, "is not named by its second, such as 17.txt")
    return int(stem)


def _spacing(sources: Sequence[Input], numbers: list[int]) -> float:
    gaps = {after - before for before, after in pairwise(numbers)} or {1}
    if len(gaps) > 1 or 0 in gaps:
        raise fault(sources[0], None, "the seconds in the names do not rise by equal steps")
    return float(gaps.pop())


def _matrix(source: Input) -> "Floats":
    import numpy as np

    rows: list[list[float]] = []
    for line, text in lines(source):
        cells = text.strip().split(",")
        if rows and len(cells) != len(rows[0]):
            raise fault(source, line, f"{len(cells)} values; the first row has {len(rows[0])}")
        rows.append([number(source, line, "delay", cell, 0, _MOST_MS) for cell in cells])
        if len(rows) > min(len(rows[0]), _MOST_NODES):
            raise fault(source, line, f"more rows than its {len(rows[0])} columns")
    if len(rows) != len(rows[0]):
        raise fault(source, None, f"{len(rows)} rows and {len(rows[0])} columns are no matrix")
    return np.array(rows) / 1e3


def _least(source: Input, matrix: "Floats", between: tuple[int, int]) -> tuple[float, str]:
    """Return the least delay between two nodes (numbered from 1) and its path."""
    import numpy as np

    count = len(matrix)
    for node in between:
        if not 1 <= node <= count:
            raise fault(source, None, f"--between {node}: the matrix has nodes 1 to {count}")
    start, goal = between[0] - 1, between[1] - 1
    distance = np.full(count, np.inf)
    before = np.full(count, -1)
    open_: np.ndarray[tuple[int], np.dtype[np.bool_]] = np.ones(count, dtype=np.bool_)
    distance[start] = 0.0
    for _ in range(count):
        node = int(np.argmin(np.where(open_, distance, np.inf)))
        if not open_[node] or not np.isfinite(distance[node]) or node == goal:
            break
        open_[node] = False
        links = np.where(matrix[node] > 0, matrix[node], np.inf) + distance[node]
        better = links < distance
        distance[better] = links[better]
        before[better] = node
    if not np.isfinite(distance[goal]):
        return float("inf"), _UNREACHABLE
    path = [goal]
    while path[-1] != start:
        path.append(int(before[path[-1]]))
    return float(distance[goal]), "-".join(str(node + 1) for node in reversed(path))


@dataclass
class _Links:
    """Links of each node by their number, as far as the files were read."""

    nodes: dict[str, dict[int, tuple[str, float]]] = field(default_factory=dict)

    def read(self, source: Input) -> None:
        """Read the lines of a file, which name a node and its links."""
        ground = source.path.parent.name == "gsl"
        for line, text in lines(source):
            whole_list = ":" in text
            parts = text.split(":" if whole_list else "|")
            if len(parts) != (2 if whole_list else 4):
                raise fault(source, line, "is no 'node: links' and no 'node|deleted|updated|added'")
            node = _node(source, line, parts[0].split(","), ground=ground)
            links = {} if whole_list else self.nodes.setdefault(node, {})
            if not whole_list:
                for item in parts[1].split():
                    links.pop(_link(source, line, item, ground=ground)[0], None)
            for part in parts[1:] if whole_list else parts[2:]:
                for item in part.split():
                    key, other, delay = _link(source, line, item, ground=ground)
                    links[key] = (other, delay)
            self.nodes[node] = links

    def least(self, first: str, second: str) -> tuple[float, str]:
        """Return the least delay between two nodes in seconds, and its path."""
        near: dict[str, list[tuple[str, float]]] = {}
        for node, links in self.nodes.items():
            for other, delay in links.values():
                near.setdefault(node, []).append((other, delay))
                near.setdefault(other, []).append((node, delay))
        queue: list[tuple[float, str, str]] = [(0.0, first, "")]
        before: dict[str, str] = {}
        while queue:
            delay, node, came = heapq.heappop(queue)
            if node in before:
                continue
            before[node] = came
            if node == second:
                path = [node]
                while before[path[-1]]:
                    path.append(before[path[-1]])
                return delay, "-".join(reversed(path))
            for other, link in near.get(node, []):
                if other not in before:
                    heapq.heappush(queue, (delay + link, other, node))
        return math.inf, _UNREACHABLE


def _load_lists(
    sources: Sequence[Input], settings: Settings, between: tuple[int, int]
) -> Recording:
    """Read files of links, and compute the path between two ground stations (from 1)."""
    import numpy as np

    files: dict[int, dict[str, Input]] = {}
    for source in sources:
        kind = source.path.parent.name
        if kind not in ("isl", "gsl"):
            raise fault(source, None, "is in neither a folder isl nor gsl, as the other files are")
        both = files.setdefault(_second(source), {})
        if kind in both:
            raise fault(source, None, f"is a second file of {kind}; only one shell is read")
        both[kind] = source
    for both in files.values():
        if len(both) < 2:
            (source,) = both.values()
            raise fault(source, None, "has no file of the same time in the other folder")
    times = sorted(files)
    step = settings.step or _spacing(sources, times)
    first, second = (f"G{number_}" for number_ in between)
    links = _Links()
    delays, names = [], []
    for time in times:
        for kind in ("isl", "gsl"):
            links.read(files[time][kind])
        for end in (first, second):
            if end not in links.nodes:
                raise fault(files[time]["gsl"], None, f"has no ground station {end[1:]} (from 1)")
        delay, path = links.least(first, second)
        delays.append(delay)
        names.append(path)
    values = np.array(delays)
    reachable = np.isfinite(values).astype(np.float64)
    if not reachable.any():
        raise fault(sources[0], None, "there is no path between the stations at any time")
    return computed(
        "starrynet",
        [files[time][kind] for time in times for kind in ("isl", "gsl")],
        settings,
        Source(f"StarryNet (Lai and others, NSDI 2023): path from station {first} to {second}"),
        step,
        np.where(np.isfinite(values), values, 0.0),
        reachable,
        "the path of least delay over StarryNet's links",
        names,
    )


def _node(source: Input, line: int, cells: list[str], *, ground: bool) -> str:
    """Return the name of a node: G1 is the first ground station, 3.7 a satellite."""
    if len(cells) != (1 if ground else 2):
        raise fault(source, line, "does not begin with a node")
    numbers = [whole(source, line, "node", cell.strip(), 0, _MOST_NUMBER) for cell in cells]
    return f"G{numbers[0] + 1}" if ground else f"{numbers[0]}.{numbers[1]}"


def _link(source: Input, line: int, item: str, *, ground: bool) -> tuple[int, str, float]:
    """Return number, other satellite and delay (s) of a link."""
    cells = item.split(",")
    if len(cells) != (5 if ground else 4):
        raise fault(source, line, f"a link has {len(cells)} values, not {5 if ground else 4}")
    numbers = [whole(source, line, "link", cell, 0, _MOST_NUMBER) for cell in cells[:-1]]
    if ground and numbers[1] != 0:
        raise fault(source, line, f"a link to shell {numbers[1]}; only one shell is read")
    delay = number(source, line, "delay", cells[-1], 0, _MOST_MS) / 1e3
    return numbers[0], f"{numbers[-2]}.{numbers[-1]}", delay
