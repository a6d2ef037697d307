"""Differences between two results or two scenarios, with confidence intervals."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from farlink import api, registry
from farlink.errors import ScenarioError
from farlink.result import Result
from farlink.stats import Estimate, mean_ci95, paired_difference, t_quantile

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Diff", "Row", "diff", "side"]

RUNS = 30
"""Default number of runs of a scenario that is compared with another scenario."""

_USUAL = ("goodput", "duration", "segments_retransmitted", "timeouts", "rtt_mean")
_UNNAMED = ("name", "description", "source", "resolved_tcp")


@dataclass(frozen=True)
class Row:
    """Means of a measure in A and B over all flows, and B - A with its 95 % interval."""

    tcp: str
    measure: str
    a: Estimate
    b: Estimate
    difference: Estimate

    @property
    def percent(self) -> tuple[float, float, float]:
        """Difference and its bounds, in percent of the mean of A."""
        share = 100 / abs(self.a.mean) if self.a.mean else math.nan
        item = self.difference
        mean, low, high = (
            math.nan if part is None else part * share for part in (item.mean, item.low, item.high)
        )
        return mean, low, high


class Diff:
    """Differences between two results."""

    def __init__(self, a: Result, b: Result, measures: Sequence[str] | None = None) -> None:
        self.a = a
        self.b = b
        self.paired = a.seed == b.seed
        self.runs = min(a.runs, b.runs)
        self._measures = measures

    def __repr__(self) -> str:
        return f"<farlink.Diff {self.a.name} and {self.b.name}: {len(self.rows)} rows>"

    def _repr_html_(self) -> str:
        """Return the HTML that notebooks show: the table that the command prints."""
        from farlink.views import page
        from farlink.views.diff import show

        return page.as_html(lambda out: show(self, out))

    @cached_property
    def pairs(self) -> list[tuple[str, str]]:
        """Pairs of TCPs to compare: equal names, or the only TCP of A and the only TCP of B."""
        common = [(name, name) for name in self.a.tcp if name in self.b.tcp]
        if common:
            return common
        if len(self.a.tcp) == len(self.b.tcp) == 1:
            return [(self.a.tcp[0], self.b.tcp[0])]
        raise ScenarioError(
            f"no TCP is on both sides: A has {', '.join(self.a.tcp)} and B {', '.join(self.b.tcp)}"
        )

    @cached_property
    def rows(self) -> list[Row]:
        """Rows of the comparison, one for each TCP and measure.

        Raises
        ------
        ScenarioError
            If a result lacks a measure, or no TCP is on both sides.
        """
        several = self.a.goodput_to_add
        wanted = self._measures or [several if entry == "goodput" else entry for entry in _USUAL]
        return [self._row(a, b, request) for a, b in self.pairs for request in wanted]

    @cached_property
    def settings(self) -> list[tuple[str, str, str]]:
        """Keys that differ between the resolved scenarios: (path, value in A, value in B)."""
        entries = []
        for a, b in self.pairs:
            sides = [_flat(item.scenario(name)) for item, name in ((self.a, a), (self.b, b))]
            for path in dict.fromkeys([*sides[0], *sides[1]]):
                values = [_shown(item.get(path)) for item in sides]
                if values[0] != values[1]:
                    entries.append((path, *values))
        return list(dict.fromkeys((path, a, b) for path, a, b in entries))

    @cached_property
    def frame(self) -> "pd.DataFrame":
        """Rows as a data frame: tcp, measure, unit, a, b, difference, bounds, percent, n."""
        import pandas as pd

        rows = [
            {
                "tcp": row.tcp,
                "measure": row.measure,
                "unit": registry.unit("flow", row.measure),
                "a": row.a.mean,
                "b": row.b.mean,
                "difference": row.difference.mean,
                "ci95_low": row.difference.low,
                "ci95_high": row.difference.high,
                **dict(zip(("percent", "percent_low", "percent_high"), row.percent, strict=True)),
                "n": row.difference.n,
            }
            for row in self.rows
        ]
        return pd.DataFrame(rows)

    def _row(self, a: str, b: str, measure: str) -> Row:
        ours, theirs = (
            side.per_run(measure, name)[: self.runs] for side, name in ((self.a, a), (self.b, b))
        )
        means = mean_ci95(ours), mean_ci95(theirs)
        apart = paired_difference(theirs, ours) if self.paired else _welch(theirs, ours)
        name = a if a == b else f"{a}, {b}"
        return Row(name, measure, *means, apart)


def diff(
    a: str | Path | Mapping[str, object] | Result,
    b: str | Path | Mapping[str, object] | Result,
    *,
    tcp: Sequence[str] | str | None = None,
    overrides_a: Mapping[str, object] | None = None,
    overrides_b: Mapping[str, object] | None = None,
    runs: int | None = None,
    seed: int | None = None,
    jobs: int | None = None,
    measures: Sequence[str] | None = None,
    progress: api.Progress | None = None,
) -> Diff:
    """Compare two results, or two scenarios, run by run.

    A scenario that is compared with a result is simulated with the result's number of runs and
    seed. Two scenarios are simulated with 30 runs and the seed of A. Run k of both sides uses the
    same random numbers, so the interval is that of paired differences. Results with different seeds
    are compared by Welch's interval.

    Parameters
    ----------
    a, b
        A `Result`, a saved result (its .json file or folder), or a scenario.
    tcp, runs, seed, jobs, progress
        As for `run`, for the sides that are simulated.
    overrides_a, overrides_b
        Values by path for side A or side B.
    measures
        Flow metrics, combined over all flows; by default the metrics of the command's table.

    Raises
    ------
    ScenarioError
        If an argument is wrong, or the two sides have no TCP in common.
    """
    sides = [side(item) for item in (a, b)]
    known = next((item for item in sides if isinstance(item, Result)), None)
    for item, sets, name in zip(sides, (overrides_a, overrides_b), "AB", strict=True):
        if isinstance(item, Result) and sets:
            raise ScenarioError(f"{name} is a saved result, which nothing can be set in")
    if known is not None and all(isinstance(item, Result) for item in sides):
        for key, value in (("tcp", tcp), ("runs", runs), ("seed", seed)):
            if value is not None:
                raise ScenarioError(f"{key} has no effect on two saved results; leave it out")
    if known is not None:
        runs = known.runs if runs is None else runs
        seed = known.seed if seed is None else seed
        tcp = known.tcp if tcp is None and len(known.tcp) > 1 else tcp
    made: list[Result] = []
    for item, sets in zip(sides, (overrides_a, overrides_b), strict=True):
        if isinstance(item, Result):
            made.append(item)
            continue
        new = api.run(item, tcp=tcp, overrides=sets, seed=seed, runs=runs or RUNS, jobs=jobs,
                        progress=progress)  # fmt: skip
        seed = new.seed if seed is None else seed
        made.append(new)
    difference = Diff(made[0], made[1], measures)
    difference.rows  # noqa: B018 (what is wrong with a measure is said now)
    return difference


def side(given: str | Path | Mapping[str, object] | Result) -> Any:  # noqa: ANN401
    """Load `given` if it is a result or a saved result; otherwise return it unchanged."""
    if isinstance(given, Result | Mapping):
        return given
    path = Path(given)
    if (path / "result.json").is_file():
        return Result.load(path / "result.json")
    if path.suffix == ".json" and path.is_file():
        from farlink import files, resultfile

        if "format" in resultfile.parse(files.read_text(path), path):
            return Result.load(path)
    return given


def _welch(a: Sequence[float | None], b: Sequence[float | None]) -> Estimate:
    """Estimate mean(a) - mean(b) of independent runs with Welch's interval (Welch 1947)."""
    ours, theirs = ([part for part in side if part is not None] for side in (a, b))
    n = min(len(ours), len(theirs))
    if not n:
        return Estimate(None, None, None, 0)
    means = [math.fsum(item) / len(item) for item in (ours, theirs)]
    mean = means[0] - means[1]
    if n == 1:
        return Estimate(mean, None, None, 1)
    shares = [
        math.fsum((x - m) ** 2 for x in item) / (len(item) - 1) / len(item)
        for item, m in zip((ours, theirs), means, strict=True)
    ]
    total = sum(shares)
    if total == 0:
        return Estimate(mean, mean, mean, n)
    degrees = total**2 / sum(
        v**2 / (len(item) - 1) for v, item in zip(shares, (ours, theirs), strict=True)
    )
    half = t_quantile(0.975, degrees) * math.sqrt(total)
    return Estimate(mean, mean - half, mean + half, n)


def _flat(tree: object, path: str = "") -> dict[str, Any]:
    """Return the values of a scenario by dotted path, with links and flows under their names."""
    if isinstance(tree, Mapping):
        table: dict[str, Any] = {}
        for key, node in tree.items():
            if path or key not in _UNNAMED:
                table |= _flat(node, f"{path}.{key}" if path else str(key))
        return table
    if isinstance(tree, list) and tree and all(isinstance(node, Mapping) for node in tree):
        table = {}
        for place, node in enumerate(tree):
            table |= _flat(node, f"{path}.{node.get('name', place)}")
        return table
    return {path: tree}


def _shown(value: object) -> str:
    if value is None:
        return "-"
    text = value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
