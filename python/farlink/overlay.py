"""Comparison of a captured connection with simulations of the path that was fitted to it."""

import json
import math
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from farlink import api, captures, files, folder, pictures, source
from farlink.captures import Connection
from farlink.captures.counted import measures
from farlink.captures.direction import Direction
from farlink.captures.path import FittedPath, fit_path
from farlink.errors import ScenarioError
from farlink.result import Result
from farlink.stats import mean_ci95, t_quantile

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["MEASURES", "Overlay", "Verdict", "overlay"]

PROFILE = "linux"
"""Default profile of TCPs, because most captures are of Linux hosts."""

MEASURES = {
    "goodput": ("goodput", "bit/s"),
    "duration": ("time", "s"),
    "sent_again": ("segments sent again", "segments"),
    "rtt_median": ("median round trip", "s"),
    "rtt_p95": ("95 % of the round trips below", "s"),
    "flight_max": ("largest flight", "B"),
}
"""Measures that are compared, defined as in `Capture.summary`: name and unit."""

_CLOSE = 0.05
"""Minimum half width of the range, as a share of the mean, for runs that hardly vary."""

_SNAPLEN = 120


@dataclass(frozen=True)
class Verdict:
    """Measure of one TCP: the captured value and the values of the runs."""

    tcp: str
    measure: str
    captured: float
    runs: tuple[float, ...]

    @property
    def title(self) -> tuple[str, str]:
        """Name of the measure in tables, and its unit."""
        return MEASURES[self.measure]

    @property
    def mean(self) -> float:
        """Mean of the runs."""
        return math.fsum(self.runs) / len(self.runs)

    @property
    def range(self) -> tuple[float, float]:
        """Range of a further run with a probability of 95 %, by Student's t over the runs.

        The range has at least 5 % of the mean to either side, in case the runs hardly differ.
        """
        n = len(self.runs)
        half = _CLOSE * abs(self.mean)
        estimate = mean_ci95(self.runs)
        if n > 2 and estimate.half_width is not None:
            spread = estimate.half_width / t_quantile(0.975, n - 1) * math.sqrt(n)
            half = max(half, t_quantile(0.975, n - 1) * spread * math.sqrt(1 + 1 / n))
        return self.mean - half, self.mean + half

    @property
    def fits(self) -> bool:
        """Whether the captured value lies in the range for a further run."""
        low, high = self.range
        return low <= self.captured <= high


class Overlay:
    """Result of a comparison with a capture.

    `save` writes the value of `data` as JSON.
    """

    def __init__(
        self,
        connection: Connection,
        direction: str,
        path: FittedPath,
        result: Result,
        verdicts: Sequence[Verdict],
        simulated: Mapping[str, Sequence[Direction]],
    ) -> None:
        self.connection = connection
        self.direction = direction
        self.path = path
        self.result = result
        self.verdicts = tuple(verdicts)
        self.simulated = simulated

    def __repr__(self) -> str:
        best = self.closest
        return f"<farlink.Overlay connection {self.connection.number}: closest {best}>"

    def _repr_html_(self) -> str:
        """Return the HTML that notebooks show, with the text that the command prints."""
        from farlink.views import page
        from farlink.views.compare import show_overlay

        return page.as_html(lambda out: show_overlay(self, out))

    @property
    def way(self) -> Direction:
        """The direction that was compared."""
        return self.connection.directions[self.direction]

    @property
    def closest(self) -> str:
        """TCP whose means are closest to the captured values, by ratios over all measures."""

        def apart(tcp: str) -> float:
            rows = [verdict for verdict in self.verdicts if verdict.tcp == tcp]
            pairs = [(max(row.captured, 1e-9), max(row.mean, 1e-9)) for row in rows]
            return sum(abs(math.log(a / b)) for a, b in pairs) / max(len(pairs), 1)

        return min(self.result.tcp, key=apart)

    @property
    def data(self) -> dict[str, Any]:
        """Fitted path, all measures of all runs, and which measures fit."""
        return {
            "format": "farlink-overlay/1",
            "connection": self.connection.name,
            "direction": self.direction,
            "captured_at": self.way.place,
            "scenario": self.path.scenario(),
            "path": dict(self.path.rows),
            "notes": list(self.path.notes),
            "closest": self.closest,
            "rows": [
                {
                    "tcp": verdict.tcp,
                    "measure": verdict.measure,
                    "unit": MEASURES[verdict.measure][1],
                    "captured": verdict.captured,
                    "simulated": list(verdict.runs),
                    "range95": list(verdict.range),
                    "fits": verdict.fits,
                }
                for verdict in self.verdicts
            ],
        }

    def plot(self) -> "Figure":
        """Draw the capture in black over the runs of each TCP."""
        from farlink.plot.overlay import draw_overlay

        return draw_overlay(self)

    def save(self, directory: Path) -> list[Path]:
        """Write overlay.json, the fitted path as path.toml, and overlay.png and .svg."""
        from farlink.plot.style import save

        name = "overlay.json"
        with folder.filling(directory, last=name) as stage:
            files.write_text(stage / "path.toml", self.path.toml())
            files.write_text(stage / name, json.dumps(self.data, indent=1) + "\n")
            plots: list[Path] = []
            with pictures.optional("overlay"):
                plots = save(self.plot(), stage / "overlay")
        return [directory / path.name for path in (stage / name, stage / "path.toml", *plots)]


def overlay(
    capture: str | Path,
    tcp: Sequence[str] = ("cubic",),
    *,
    runs: int = 10,
    connection: int | None = None,
    direction: str | None = None,
    overrides: Mapping[str, object] | None = None,
    seed: int | None = None,
    tell: Callable[[str], None] | None = None,
) -> Overlay:
    """Fit the path of a captured connection, simulate the transfer, and compare.

    The simulated transfer is captured at the corresponding end, and both captures are analysed in
    one way.

    Parameters
    ----------
    capture
        A pcap or pcapng file.
    tcp
        TCPs to try. A name without a profile means that of Linux ("cubic" is "linux-cubic"),
        except for a class in Python ("mine.py:Mine").
    runs
        Runs of each; three or more give ranges.
    connection, direction
        As for `Capture.plot`.
    overrides, seed
        Changes of the fitted scenario, as for `run`.
    tell
        Called with a line before each TCP.

    Raises
    ------
    ScenarioError
        If the capture has too little data, or an argument is wrong.
    """
    if not 1 <= runs <= 1000:
        raise ScenarioError(f"runs is {runs}; write 1 to 1000")
    chosen = captures.capture(capture).connection(connection)
    name = direction or chosen.main
    if name not in chosen.directions:
        raise ScenarioError(f"direction {name!r}: write a2b (from the opener) or b2a")
    path = fit_path(chosen, name)
    names = [
        item if ".py:" in item or source.split(item)[0] else f"{PROFILE}-{item}" for item in tcp
    ]
    result = api.run(
        path.scenario(Path(capture).stem or "fitted"),
        tcp=names,
        runs=runs,
        overrides=overrides,
        seed=seed,
    )
    real = measures(chosen, name)
    host = "sender" if chosen.directions[name].place == "sender" else "receiver"
    verdicts, simulated = [], {}
    for item in result.tcp:
        if tell:
            tell(f"reading {runs} runs of {item} as captures of the {host}")
        seen = [_captured(result, item, run, host) for run in range(runs)]
        simulated[item] = [conn.directions[conn.main] for conn in seen]
        counted = [measures(conn, conn.main) for conn in seen]
        for measure in MEASURES:
            values = tuple(float(row[measure]) for row in counted)
            if math.isfinite(real[measure]) and all(map(math.isfinite, values)):
                verdicts.append(Verdict(item, measure, float(real[measure]), values))
    return Overlay(chosen, name, path, result, verdicts, simulated)


def _captured(result: Result, tcp: str, run: int, host: str) -> Connection:
    data = result.probe(tcp, run, snaplen=_SNAPLEN).pcaps[host]
    with tempfile.TemporaryDirectory(prefix="farlink-") as where:
        path = Path(where) / "run.pcapng"
        path.write_bytes(data)
        return captures.capture(path).connection()
