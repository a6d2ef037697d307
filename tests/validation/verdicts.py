"""Verdicts: the reference of each cell of a TCP, whether the cell agrees, and the TCP's word.

docs/validation.md describes these rules in words.
"""

import itertools
import math
import statistics
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property

from scipy.stats import t as student

import anchors
import recorded
from grid import WINDOWS, Cell, Measured, options
from models import cubic, mathis, padhye

__all__ = ["CHECKED", "UNVALIDATED", "VALIDATED", "Reference", "Rise", "Row", "reference"]

VALIDATED = "validated"
CHECKED = "checked against closed form"
UNVALIDATED = "unvalidated"

RENO = ("reno", "newreno", "sack", "linux-reno", "freebsd-newreno")
CUBIC = ("cubic", "linux-cubic", "freebsd-cubic")
HYBLA = ("hybla", "linux-hybla")
BBR = ("bbr", "linux-bbr")
BBR3 = ("bbr3", "linux-bbr3")
_PROBE_S, _PROBE_EVERY_S = 0.2, 10.0
"""ProbeRTT: seconds with four segments (at least a round trip), and seconds between probes."""
_PROBE3_WINDOW, _PROBE3_EVERY_S = 0.5, 5.0
"""ProbeRTT of BBRv3: share of the window in a probe, and seconds between probes."""
_RTT0 = 0.025
"""Round trip to which Hybla's window growth is normalised (Caini, Firrincieli 2004)."""

_FLOODS = "rfc793"
"""Row without a congestion window: it sends the receive window at once, and loses half of it."""

LOSSLESS_SHARE = 0.05
_LEAST_SHARE, _MOST_SHARE = 0.85, 1.10
"""Bounds of the band around the response functions: factors of the lower and the upper one."""
_RANDOM = 1.25
"""Factor above RFC 9438's periodic losses: independent losses give up to 1.23 of its window."""
_ROOM = 0.6
"""Share of the path's window up to which no queue builds and the receiver is no limit."""
_SPREAD = 0.7
"""Standard deviation of the goodput of a window that halves, times the root of the losses."""
_ERRORS = 3.0
_MOST_ERROR = 0.10
"""Greatest allowance for two standard errors of an anchor, even if its runs scatter more."""
_STEADY_LOSSES = 4
_STEADY_RTTS = 20
"""Losses per flow, and round trips in half a run, below which slow start still has an effect."""

_OUTSIDE = ("kernel", "published", "ns-3", "ns-3, changed", "response function")
_IMPLEMENTATIONS = ("kernel", "published", "ns-3")

RISE = 0.10
"""Greatest rise of goodput with loss, or fall with flows, that is not reported."""


@dataclass(frozen=True)
class Reference:
    """Band of the share of the link in which a cell must be."""

    source: str
    low: float
    high: float


@dataclass(frozen=True)
class Judged:
    """Cell or anchor with its verdict.

    `ratio` is farlink's share over the nearer end of the band.
    """

    where: str
    window: int
    source: str
    ratio: float
    agrees: bool
    lossy: bool = True


def reference(row: str, cell: Cell) -> Reference | None:
    """Return the reference of a cell, or None if it has none."""
    data = (1460 - options(row)) / 1500
    if cell.loss == 0:
        if cell.flows > 1 or row == _FLOODS:
            return None
        low = data * (1 - LOSSLESS_SHARE)
        rtt = cell.rtt_ms / 1e3
        probe = max(rtt, _PROBE_S) + rtt
        if row in BBR:
            low *= 1 - probe / _PROBE_EVERY_S
        elif row in BBR3:
            low *= 1 - (1 - _PROBE3_WINDOW) * probe / _PROBE3_EVERY_S
        return Reference("closed form", low, data * (1 + LOSSLESS_SHARE))
    if cell.burst or cell.loss > 0.05:
        return None
    rtt = cell.rtt_ms / 1e3 * (1 + 1 / cell.window)
    reno = mathis(cell.loss, rtt, 1)
    timeout = 1.0 if options(row) == 0 else rtt + (0.2 if row.startswith("linux") else 0.03)
    low, high = padhye(cell.loss, rtt, 1, max(timeout, rtt)), reno
    if row in CUBIC:
        periodic = cubic(cell.loss, rtt)
        high = _RANDOM * periodic
        if cell.loss <= 0.01:
            low = max(low, periodic if periodic > reno else 0)
    elif row in HYBLA:
        scale = max(rtt / _RTT0, 1)
        low, high = low * scale, high * scale
        if high * rtt * cell.loss > 0.5:
            # Several losses in a window cause one halving, so the square-root law does not hold.
            return None
    elif row not in RENO:
        return None
    if cell.flows * high * rtt > _ROOM * cell.window:
        return None
    scale = cell.flows * 12_000 / cell.rate * data
    return Reference("response function", low * _LEAST_SHARE * scale, high * _MOST_SHARE * scale)


def centre(result: Measured) -> float:
    """Return the share of the link: the mean, or the median from a loss of 10 % on."""
    return (
        statistics.median(result.shares)
        if result.cell.loss >= 0.1
        else statistics.fmean(result.shares)
    )


def _chance(result: Measured) -> float:
    """Return the relative deviation of the mean that chance allows, from the number of losses."""
    if result.cell.loss == 0:
        return 0.0
    losses = max(sum(result.delivered) / 1460 * result.cell.loss, 1)
    return _ERRORS * _SPREAD / math.sqrt(losses)


def is_steady(result: Measured) -> bool:
    """Return whether each flow had enough losses and time to be independent of its start."""
    cell = result.cell
    losses = sum(result.delivered) / len(result.delivered) / 1460 * cell.loss / cell.flows
    rtts = (result.end_ms - result.start_ms) / cell.rtt_ms
    return cell.loss == 0 or (losses >= _STEADY_LOSSES and rtts >= _STEADY_RTTS)


def judge(row: str, result: Measured) -> Judged | None:
    """Compare a cell with its reference."""
    held = reference(row, result.cell)
    if held is None or not is_steady(result):
        return None
    share, chance = centre(result), _chance(result)
    nearer = min(max(share, held.low), held.high)
    agrees = held.low * (1 - chance) <= share <= held.high * (1 + chance)
    return Judged(str(result.cell), result.cell.window, held.source, share / nearer, agrees)


@dataclass(frozen=True)
class Rise:
    """Pair of cells whose goodputs have the wrong order."""

    what: str
    better: Cell
    worse: Cell
    ratio: float


@dataclass(frozen=True)
class Row:
    """A TCP with its record."""

    name: str
    cells: Mapping[Cell, Measured]
    anchors: Mapping[str, "anchors.Ours"]

    @classmethod
    def of(cls, name: str) -> "Row":
        """Read the record of a TCP."""
        return cls(name, recorded.read(name), anchors.read())

    @cached_property
    def judged(self) -> list[Judged]:
        """All cells and anchors with a reference."""
        results = [judge(self.name, result) for result in self.cells.values()]
        return [result for result in results if result is not None] + list(self._anchored())

    def _anchored(self) -> Iterator[Judged]:
        for anchor in anchors.of(self.name):
            ours = self.anchors.get(anchor.name)
            if ours is not None:
                ratio, error = ours.ratio(anchor)
                agrees = abs(ratio - 1) <= anchor.share + min(2 * error, _MOST_ERROR)
                yield Judged(anchor.case, anchor.window, anchor.source, ratio, agrees, anchor.lossy)

    @property
    def word(self) -> str:
        """Word of the TCP, which is the word of its worst judged cell."""
        if not self.judged:
            return UNVALIDATED
        wrong = sum(not result.agrees for result in self.judged)
        if wrong:
            return f"differs at {wrong} of {len(self.judged)}"
        outside = {result.window for result in self.judged if result.source in _OUTSIDE}
        held = any(result.source in _IMPLEMENTATIONS and result.lossy for result in self.judged)
        return VALIDATED if held and outside == set(WINDOWS) else CHECKED

    @cached_property
    def rises(self) -> list[Rise]:
        """Pairs of cells where goodput rises with the loss, or falls with the number of flows."""
        results = []
        paths: dict[tuple[int, int], list[Measured]] = {}
        for result in self.cells.values():
            if is_steady(result):
                paths.setdefault((result.cell.window, result.cell.rtt_ms), []).append(result)
        for of_path in paths.values():
            for result, other in itertools.permutations(of_path, 2):
                cell, there = result.cell, other.cell
                kind = there.burst == cell.burst or cell.loss == 0
                if there.flows == cell.flows and kind and there.loss > cell.loss:
                    results += self._rise("rises with loss", result, other, 1)
                elif (there.burst, there.loss) == (cell.burst, cell.loss):
                    if (cell.flows, there.flows) == (8, 1):
                        results += self._rise("falls with more flows", result, other, 1)
                    if (cell.flows, there.flows) == (1, 8):
                        results += self._rise(
                            "of one flow falls with fewer flows", result, other, 8
                        )
        return results

    @staticmethod
    def _rise(what: str, better: Measured, worse: Measured, per: int) -> list[Rise]:
        """Return a pair in wrong order by more than `RISE` and chance in a thousand allow."""
        # Means are compared, because flows of a cell add up as means do, unlike medians.
        high, low = statistics.fmean(worse.shares) / per, statistics.fmean(better.shares)
        if high <= low * (1 + RISE):
            return []
        error = math.hypot(_error(worse) / per, _error(better))
        runs = min(len(worse.shares), len(better.shares))
        if high - low <= _limit(runs) * error:
            return []
        return [Rise(what, better.cell, worse.cell, high / low if low else math.inf)]


@cache
def _limit(runs: int) -> float:
    """Return the limit in standard errors that chance exceeds once in a thousand."""
    return float(student.ppf(0.9995, runs - 1)) if runs > 1 else _ERRORS


def _error(result: Measured) -> float:
    """Return the standard error of a cell's share: of its runs, at least of its losses."""
    by_losses = _chance(result) / _ERRORS * statistics.fmean(result.shares)
    if len(result.shares) < 2:
        return by_losses
    return max(statistics.stdev(result.shares) / math.sqrt(len(result.shares)), by_losses / 2)
