"""Limits of a transfer: their shares of time, and a sentence that names the main limit."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from farlink import registry, units

if TYPE_CHECKING:
    from rich.table import Table

    from farlink.result import Result

__all__ = ["KINDS", "sentences", "table"]

KINDS = {
    name: name.replace("_", " ").replace("timeouts", "time-outs") for name in registry.limits()
}
"""Limits of a transfer in words, by their name in metrics and traces."""

_SHOWN = 0.005
"""Share of time below which a limit gets no column."""
_MOST = 0.5
"""Share of time above which a limit is the main one."""
_FULL = 0.95
"""Utilisation above which a link counts as full."""

_ALL = {
    2: "both",
    3: "all three",
    4: "all four",
    5: "all five",
    6: "all six",
    7: "all seven",
    8: "all eight",
    9: "all nine",
}

_SAYS = {
    "application": "the application limits {who} ({share}): all that it wrote is sent",
    "pacing": "pacing limits {who} ({share})",
    "recovery": "the repair of losses limits {who} ({share})",
    "timeouts": "waiting for time-outs limits {who} ({share})",
}
"""Sentences for limits that do not have the form "NAME limits WHO (SHARE)"."""


@dataclass(frozen=True)
class _Shares:
    """Shares of one TCP: the mean of each share over flows and runs, and the rows for it."""

    tcp: str
    shares: Mapping[str, float]
    windows: Sequence[float]
    """Largest receive window that was advertised to each flow, in bytes."""
    round_trips: Sequence[float]
    """Mean round trip of each flow, in seconds."""

    @classmethod
    def of(cls, result: "Result", tcp: str) -> "_Shares | None":
        rows = [
            row["metrics"]
            for row in result.rows("results")
            if row["tcp"] == tcp and _mean(row["metrics"], "limited_receive_window") is not None
        ]
        if not rows:
            return None
        shares = {
            kind: sum(_mean(row, f"limited_{kind}") or 0.0 for row in rows) / len(rows)
            for kind in KINDS
        }
        windows = [_mean(row, "receive_window_max") or 0.0 for row in rows]
        round_trips = [_mean(row, "rtt_mean") or 0.0 for row in rows]
        return cls(tcp, shares, windows, round_trips)

    @property
    def greatest(self) -> str:
        return max(self.shares, key=lambda kind: self.shares[kind])

    @property
    def kind(self) -> str | None:
        """Limit that applies for most of the time, or None."""
        return self.greatest if self.shares[self.greatest] > _MOST else None


def table(result: "Result") -> "Table | None":
    """Return the shares in percent, one row per TCP, or None if no flow has shares."""
    from rich import box
    from rich.table import Table

    rows = _all(result)
    kinds = [kind for kind in KINDS if any(row.shares[kind] > _SHOWN for row in rows)]
    if not rows or not kinds:
        return None
    shown = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    shown.add_column("share of time\nlimited by (%)", no_wrap=True)
    for kind in kinds:
        shown.add_column(KINDS[kind].replace(" ", "\n"), justify="right", no_wrap=True)
    for row in rows:
        shown.add_row(row.tcp, *(f"{100 * row.shares[kind]:.1f}" for kind in kinds))
    return shown


def sentences(result: "Result", busiest: str, used: Mapping[str, float]) -> list[str]:
    """Return sentences on the limits of the TCPs; TCPs with the same limit share a sentence.

    `busiest` names the most used link direction, and `used` is its utilisation under each TCP.
    """
    rows = _all(result)
    groups: dict[tuple[str | None, bool], list[_Shares]] = {}
    for row in rows:
        groups.setdefault((row.kind, used.get(row.tcp, 0.0) >= _FULL), []).append(row)
    lines_said = []
    for (kind, full), group in groups.items():
        if kind is None:
            lines = [_mixed(row) for row in group]
        else:
            who = _who([row.tcp for row in group], len(rows))
            usual = f"the {KINDS[kind]} limits {{who}} ({{share}})"
            text = _SAYS.get(kind, usual).format(who=who, share=_share(group, kind))
            # In the queue of a full link, flows also wait for their windows, but the link limits
            # their rates.
            bound = kind == "receive_window" and not full
            lines = [text + (_bound(group) if bound else "")]
        end = f"; {busiest}, is full" if full else ""
        lines_said += [line[0].upper() + line[1:] + end for line in lines]
    return lines_said


def _all(result: "Result") -> list[_Shares]:
    rows = [_Shares.of(result, tcp) for tcp in result.tcp]
    return [row for row in rows if row is not None]


def _mean(metrics: Mapping[str, Any], name: str) -> float | None:
    value = metrics.get(name, {}).get("mean")
    return None if value is None else float(value)


def _who(names: Sequence[str], of: int) -> str:
    if len(names) == of > 1:
        return _ALL.get(of, f"all {of}")
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _share(group: Sequence[_Shares], kind: str) -> str:
    low, high = (f"{100 * end([row.shares[kind] for row in group]):.0f}" for end in (min, max))
    flows = max(len(row.windows) for row in group)
    mean = f", mean of {flows:,} flows" if flows > 1 else ""
    return f"{low} % of the time{mean}" if low == high else f"{low} to {high} % of the time{mean}"


def _bound(group: Sequence[_Shares]) -> str:
    """Return the rate of a flow (bit/s) that follows from its window and round trip."""
    windows = [window for row in group for window in row.windows]
    trips = [float(f"{trip:.3g}") for row in group for trip in row.round_trips if trip > 0]
    if not trips or min(windows) != max(windows):
        return ""
    window, fast, slow = windows[0], min(trips), max(trips)
    factor, unit = units.prefixed(8 * window / fast, "bit/s")
    trip, rate = _digits(1e3 * fast), _digits(8 * window / fast / factor)
    if slow > fast:
        trip = f"{trip} to {_digits(1e3 * slow)}"
        rate = f"{_digits(8 * window / slow / factor)} to {rate}"
    flow = " a flow" if any(len(row.windows) > 1 for row in group) else ""
    return f": {window:,.0f} B per {trip} ms is {rate} {unit}{flow}"


def _digits(value: float) -> str:
    """Return a number with three significant digits, and all digits before the decimal point."""
    return f"{float(f'{value:.3g}'):,.10g}"


def _mixed(row: _Shares) -> str:
    """Return a sentence with the largest shares of a TCP without a main limit."""
    kinds = sorted(KINDS, key=lambda kind: -row.shares[kind])[:3]
    shares = [f"{KINDS[kind]} {100 * row.shares[kind]:.0f} %" for kind in kinds]
    return f"no one thing limits {row.tcp} for most of the time: {', '.join(shares)}"
