"""Advice as data: options, transfer sizes, and the goodput of each option at each size."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from farlink.advice.path import Bottleneck
from farlink.advice.queues import QueueChoice
from farlink.stats import Estimate

if TYPE_CHECKING:
    from matplotlib.figure import Figure


__all__ = ["Advice", "Beside", "Option", "SizeResult", "data"]


@dataclass(frozen=True)
class Option:
    """Possible option: its name, its goodput, and the gain over the present settings."""

    what: str
    tcp: str
    overrides: Mapping[str, str | int]
    goodput: Estimate
    gain: Estimate
    """Gain over the present setting, from paired runs."""
    round_trip: Estimate
    """Mean RTT of each run, averaged over the runs."""
    retransmitted: Estimate
    command: str = ""

    @property
    def verdict(self) -> str:
        """Verdict that the gain's 95 % interval allows."""
        if self.gain.low is None or self.gain.high is None:
            return ""
        return "more" if self.gain.low > 0 else "less" if self.gain.high < 0 else "not told apart"


@dataclass(frozen=True)
class SizeResult:
    """Transfer size with the results of all options."""

    label: str
    bytes: int | None
    decides: bool
    """Whether this size counts in the choice of the setting. If not, it is only reported."""
    options: tuple[Option, ...]
    """Results of the options; gains are relative to the present setting at this size."""
    tried: Mapping[str, Estimate] = field(default_factory=dict)
    """Goodput of each TCP with default settings, over the runs used for the choice."""


@dataclass(frozen=True)
class Beside:
    """Goodput of a transfer, and of the endless transfer that shares its path."""

    what: str
    ours: Estimate
    other: Estimate
    change: Estimate
    """Change of the other transfer's goodput, relative to its goodput beside the present setting.
    """


@dataclass(frozen=True)
class Advice:
    """Content of the page of advice; `markdown` and `html` format it."""

    name: str
    scenario: Mapping[str, Any]
    seed: int
    runs: int
    path: Bottleneck
    present: Option
    limited: tuple[str, ...]
    tcps: tuple[Option, ...]
    best: Option
    remedies: tuple[Option, ...]
    """Link ARQ, proxy and spoofing with the advised setting; empty if the hosts are fixed."""
    fixed: tuple[Option, ...]
    """The remedies with the hosts' present settings; gains are over the present setting."""
    sizes: tuple[SizeResult, ...]
    beside: tuple[Beside, ...]
    other: str
    """TCP of the transfer that shares the path."""
    delays: Mapping[str, tuple[Estimate, Estimate]]
    """Mean and 99 % delay of a call beside each transfer; the key "nothing else" is an idle link.
    """
    queues: tuple[QueueChoice, ...]
    """The same call under queue disciplines at the slowest link; the first is the present queue."""
    window: int
    """Advised receive window (bytes)."""
    initial_window: int
    notes: tuple[str, ...]
    commands: tuple[str, ...]
    extra: Mapping[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"<farlink.Advice {self.name}: {self.best.what}>"

    def _repr_html_(self) -> str:
        """Return the page as HTML for notebooks."""
        from farlink.advice.page import body

        return body(self)

    def plot(self) -> "Figure":
        """Draw the goodput at each size, and both goodputs beside an endless transfer."""
        from farlink.advice.figure import draw

        return draw(self)

    def save_pdf(self, path: str | Path) -> None:
        """Write the page to a PDF file."""
        from farlink.advice.pdf import write

        write(self, Path(path))

    @property
    def markdown(self) -> str:
        """Return the page in Markdown."""
        from farlink.advice.page import markdown

        return markdown(self)

    @property
    def html(self) -> str:
        """Return the page as self-contained HTML."""
        from farlink.advice.page import html

        return html(self)


def data(advice: Advice) -> dict[str, Any]:
    """Return the numbers of the page as JSON-compatible values."""

    def option(item: Option) -> dict[str, Any]:
        return {
            "what": item.what,
            "tcp": item.tcp,
            "overrides": dict(item.overrides),
            "goodput": _estimate(item.goodput),
            "gain": _estimate(item.gain),
            "verdict": item.verdict,
            "round_trip": _estimate(item.round_trip),
            "retransmitted_share": _estimate(item.retransmitted),
            "command": item.command,
        }

    entry: dict[str, Any] = json.loads(
        json.dumps(
            {
                "format": "farlink-advice/2",
                "scenario": advice.name,
                "seed": advice.seed,
                "runs": advice.runs,
                "now": option(advice.present),
                "limits": list(advice.limited),
                "tcps": [option(item) for item in advice.tcps],
                "best": option(advice.best),
                "remedies": [option(remedy) for remedy in advice.remedies],
                "fixed_ends": [option(item) for item in advice.fixed],
                "sizes": [
                    {
                        "size": size.label,
                        "bytes": size.bytes,
                        "decides": size.decides,
                        "options": [option(row) for row in size.options],
                        "tried": {tcp: _estimate(entry) for tcp, entry in size.tried.items()},
                    }
                    for size in advice.sizes
                ],
                "beside": [
                    {
                        "what": item.what,
                        "goodput": _estimate(item.ours),
                        "other": advice.other,
                        "other_goodput": _estimate(item.other),
                        "other_change": _estimate(item.change),
                    }
                    for item in advice.beside
                ],
                "call": {
                    what: {"mean": _estimate(mean), "p99": _estimate(p99)}
                    for what, (mean, p99) in advice.delays.items()
                },
                "queues": [_queue(row) for row in advice.queues],
                "window": advice.window,
                "initial_window": advice.initial_window,
                "notes": list(advice.notes),
                "commands": list(advice.commands),
            }
        )
    )
    return entry


def _estimate(item: Estimate) -> list[float | None]:
    return [item.mean, item.low, item.high]


def _queue(row: QueueChoice) -> dict[str, Any]:
    """Return the numbers of one queue discipline."""
    return {
        "discipline": row.what,
        "mean": _estimate(row.delay_mean),
        "p99": _estimate(row.delay_p99),
        "goodput": _estimate(row.goodput),
        "delay_change": _estimate(row.delay_change),
        "goodput_change": _estimate(row.goodput_change),
    }
