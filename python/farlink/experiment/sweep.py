"""Sweeps: simulate a plan, and return the result as tables, arrays and figures."""

import hashlib
import json
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from farlink import _farlink, files, registry
from farlink.errors import ScenarioError
from farlink.experiment import document
from farlink.experiment import plan as plans
from farlink.experiment.execute import Executor
from farlink.experiment.experiment import Experiment
from farlink.experiment.numbers import Numbers, columns_of, of_run
from farlink.experiment.plan import Plan
from farlink.experiment.points import Factor as Value
from farlink.experiment.points import Point
from farlink.experiment.sequential import Precision
from farlink.experiment.store import Store
from farlink.extras import lacking
from farlink.stats import Estimate, mean_ci95, paired_difference

if TYPE_CHECKING:
    import duckdb
    import pandas as pd
    import xarray as xr
    from matplotlib.figure import Figure

__all__ = ["State", "SweepResult", "SweepStopped", "asked_of", "sweep", "sweep_plan"]

_GOODPUT = ("flow", "goodput")
_USUAL = ("goodput", "duration", "segments_retransmitted", "timeouts", "rtt_mean")
"""Default measures of a sweep's table, without those that its runs lack."""


@dataclass(frozen=True)
class State:
    """Progress of a sweep: finished points and runs, and their totals.

    With a precision, `runs_total` is the number of runs that is known to be needed so far.
    """

    points: int
    points_total: int
    runs: int
    runs_total: int
    stored: int
    """Finished runs that were already in the store."""


class SweepStopped(KeyboardInterrupt):
    """Raised on Ctrl-C during a sweep with a store; `state` counts the stored runs."""

    def __init__(self, state: State, store: Path | None) -> None:
        kept = f"; they are in {store}" if store is not None else ""
        super().__init__(
            f"interrupted when {state.runs:,} of {state.runs_total:,} runs were done{kept}"
        )
        self.state = state
        self.store = store


@dataclass(frozen=True)
class SweepResult:
    """Result of a sweep.

    Attributes
    ----------
    plan
        The simulated plan.
    runs
        Number of runs of each point.
    reached
        Whether each point has reached the plan's precision; all true without a precision.
    simulated_runs, wall_s, worked_s
        Runs that were not in the store before, the elapsed time, and the time of all workers (s).
    """

    plan: Plan
    experiment: Experiment
    runs: Sequence[int]
    reached: Sequence[bool]
    simulated_runs: int
    wall_s: float
    version: str = field(default_factory=_farlink.version)
    _numbers: Mapping[str, Numbers] = field(default_factory=dict, repr=False)

    def __repr__(self) -> str:
        return (
            f"<farlink.SweepResult {self.plan.name}: {len(self.plan.points):,} points, "
            f"{sum(self.runs):,} runs>"
        )

    def _repr_html_(self) -> str:
        """Return the HTML that notebooks show: the table that the command prints."""
        from farlink.views import page
        from farlink.views.sweep import show

        return page.as_html(lambda out: show(self, out))

    @property
    def factors(self) -> list[str]:
        """Names of the factors."""
        return [factor.name for factor in self.plan.factors]

    @cached_property
    def measures(self) -> list[str]:
        """Names of the measures of `frame`."""
        if asked := asked_of(self.plan):
            return asked
        numbers = self._numbers[self.plan.points[0].key]
        layout = numbers.layout
        # Further subflows of a connection have no goodput.
        goodputs = [i for i, (scope, _, name) in enumerate(layout) if (scope, name) == _GOODPUT]
        several = sum(bool(np.isfinite(numbers.values[:, i]).any()) for i in goodputs) > 1  # noqa: PD011
        usual = [
            "goodput_over_run" if entry == "goodput" and several else entry for entry in _USUAL
        ]
        known = {name for _, _, name in layout}
        return [entry for entry in usual if entry in known]

    def unit(self, measure: str) -> str:
        """Return the unit of a measure."""
        numbers = self._numbers[self.plan.points[0].key]
        scope, _, name = numbers.layout[columns_of(numbers.layout, measure)[0]]
        return registry.unit(scope, name) or {"simulated_s": "s"}.get(name, "")

    def values_of(self, point: Point, measure: str) -> NDArray[np.float64]:
        """Return a measure of a point, one value per run; NaN for a run without a value."""
        place = self._places[point.key]
        return of_run(self._numbers[point.key], measure)[: self.runs[place]]

    def estimate(self, point: Point, measure: str) -> Estimate:
        """Estimate the mean of a measure of a point.

        With a precision the interval is wider, so that it covers the mean with 95 % despite the
        interim analyses (see `sequential`).
        """
        return mean_ci95(_listed(self.values_of(point, measure)), self.probability)

    @cached_property
    def frame(self) -> "pd.DataFrame":
        """Means, with one row per point and measure.

        The columns are the factors, measure, unit, mean, ci95_low, ci95_high and n.

        Levels with a unit are numbers in the base unit given in `attrs["units"]`.
        """
        import pandas as pd

        rows = []
        for measure in self.measures:
            unit = self.unit(measure)
            for point in self.plan.points:
                item = self.estimate(point, measure)
                rows.append((*point.factors.values(), measure, unit, *_bounds(item)))
        columns = [*self.factors, "measure", "unit", "mean", "ci95_low", "ci95_high", "n"]
        table = pd.DataFrame(rows, columns=pd.Index(columns))
        table[columns[-4:-1]] = table[columns[-4:-1]].astype("float64")
        table.attrs["units"] = {
            factor.name: factor.unit for factor in self.plan.factors if factor.unit
        }
        return table

    @cached_property
    def values(self) -> "pd.DataFrame":
        """Values of all runs, one row per run: factors, run, and a column for each measure."""
        import pandas as pd

        parts = []
        for point, runs in zip(self.plan.points, self.runs, strict=True):
            part: dict[str, Any] = {**point.factors, "run": np.arange(runs)}
            part |= {measure: self.values_of(point, measure) for measure in self.measures}
            parts.append(pd.DataFrame(part))
        table = pd.concat(parts, ignore_index=True)
        table.attrs["units"] = {measure: self.unit(measure) for measure in self.measures}
        return table

    def differences(
        self, factor: str, level: Value, measures: Sequence[str] | None = None
    ) -> "pd.DataFrame":
        """Return the differences of all other levels of a factor from `level`, other factors equal.

        Run k of both levels has the same losses, so the interval is that of paired differences.
        `percent` and its bounds are relative to the mean at `level`.

        Raises
        ------
        ScenarioError
            If the factor or level does not exist, or the design was drawn.
        """
        import pandas as pd

        if self.plan.design != "grid":
            raise ScenarioError("a drawn design has no pairs of points; make it a grid")
        if factor not in self.plan.factor:
            names = ", ".join(self.factors)
            raise ScenarioError(f"factor {factor!r} is not there; there are {names}")
        chosen = self.plan.factor[factor]
        levels = {item.label: item for item in chosen.levels}
        shown = {chosen.shown(item): item.label for item in chosen.levels}
        base = shown.get(level, str(level))
        if base not in levels:
            raise ScenarioError(f"{factor}: {level!r} is no level; there are {', '.join(levels)}")
        others = [name for name in self.factors if name != factor]
        by_rest: dict[tuple[str, ...], dict[str, Point]] = {}
        for combination, point in zip(self.plan.combinations, self.plan.points, strict=True):
            rest = tuple(combination[name].label for name in others)
            by_rest.setdefault(rest, {})[combination[factor].label] = point
        rows = []
        for measure in measures or self.measures:
            for group in by_rest.values():
                if base not in group:
                    continue
                for label, point in group.items():
                    if label != base:
                        result = self._difference(point, group[base], measure)
                        rows.append((*point.factors.values(), base, measure, *result))
        columns = [*self.factors, "against", "measure", "difference", "ci95_low", "ci95_high",
                   "percent", "percent_low", "percent_high", "n"]  # fmt: skip
        table = pd.DataFrame(rows, columns=pd.Index(columns))
        table[columns[-7:-1]] = table[columns[-7:-1]].astype("float64")
        return table

    def _difference(self, point: Point, base: Point, measure: str) -> tuple[float, ...]:
        ours, theirs = (self.values_of(item, measure) for item in (point, base))
        count = min(len(ours), len(theirs))
        a, b = _listed(ours[:count]), _listed(theirs[:count])
        difference = paired_difference(a, b, self.probability)
        mean = mean_ci95(b).mean
        share = 100 / abs(mean) if mean else math.nan
        bounds = _bounds(difference)
        return (*bounds[:3], *(share * bound for bound in bounds[:3]), bounds[3])

    def to_csv(self, path: str | Path) -> None:
        """Write `frame` to a CSV file, atomically."""
        files.write_text(Path(path), self.frame.to_csv(index=False))

    def to_xarray(self) -> "xr.Dataset":
        """Return means and bounds as arrays whose axes are the factors (needs xarray).

        Each measure is a variable over the factors and `stat` ("mean", "ci95_low", "ci95_high",
        "n"). Combinations that the design lacks are NaN.

        Raises
        ------
        ScenarioError
            If xarray is not installed.
        """
        try:
            import xarray  # noqa: F401 (what pandas needs)
        except ImportError as error:
            raise lacking("to_xarray", "xarray") from error
        table = self.frame.drop(columns="unit")
        stats = ["mean", "ci95_low", "ci95_high", "n"]
        long = table.melt([*self.factors, "measure"], stats, var_name="stat")
        wide = long.pivot_table("value", [*self.factors, "stat"], "measure", dropna=False)
        array: xr.Dataset = wide.to_xarray()
        for name in array.data_vars:
            array[name].attrs["units"] = self.unit(str(name))
        for factor in self.plan.factors:
            if factor.unit:
                array[factor.name].attrs["units"] = factor.unit
        return array

    def query(self, sql: str) -> "pd.DataFrame":
        """Run an SQL query in DuckDB over the table `runs`.

        Its columns are the factors, run, scope, name, measure and value.

        Raises
        ------
        ScenarioError
            If the sweep has no store.
        """
        import pandas as pd

        if not isinstance(self.experiment.store, Store):
            raise ScenarioError("the sweep kept no store; give store= to sweep()")
        points = pd.DataFrame(
            [{"point": point.key, **point.factors} for point in self.plan.points]
        ).drop_duplicates("point")

        def answer(duck: "duckdb.DuckDBPyConnection") -> "pd.DataFrame":
            duck.register("design", points)
            duck.execute("create view runs as select * exclude (point) from results "
                         "join design using (point)")  # fmt: skip
            return duck.execute(sql).df()

        return self.experiment.store.ask(answer)

    @cached_property
    def figures(self) -> "dict[str, Figure]":
        """Figures that the plan declares, by name."""
        return {name: make() for name, make in self.figure_makers.items()}

    @property
    def figure_makers(self) -> "dict[str, Callable[[], Figure]]":
        """Functions that draw the figures, by name, so that a failure affects one figure only."""
        from farlink.experiment.draw import draw

        return {
            f"{number:02}-{files.as_name(plot.y)}": partial(draw, self, plot)
            for number, plot in enumerate(self.plan.plots, 1)
        }

    def save(self, directory: str | Path) -> list[Path]:
        """Write the page (a self-contained index.html), its numbers, sweep.json and the plots.

        Either all files are put in the directory or none, and files of an earlier call are removed
        (see `Result.save`). The page is not rewritten if the numbers have not changed.

        Raises
        ------
        OutputError
            If a file cannot be written.
        """
        from farlink import folder

        base = Path(directory)
        if folder.holds(base, "index.html", self.digest):
            return [base / "index.html"]
        from farlink.experiment.page import write

        with folder.filling(base, last="index.html") as stage:
            written = [item.relative_to(stage) for item in write(self, stage, base)]
        return [base / entry for entry in written]

    @cached_property
    def digest(self) -> str:
        """Hash of the page's content: the plan and all estimates."""
        rows = [
            [point.key, runs, *(repr(self.estimate(point, measure)) for measure in self.measures)]
            for point, runs in zip(self.plan.points, self.runs, strict=True)
        ]
        plan = [self.plan.name, self.plan.description, self.plan.text, repr(self.plan.plots),
                repr(self.plan.against), [factor.name for factor in self.plan.factors]]  # fmt: skip
        text = json.dumps([document.FORMAT, _farlink.engine(), plan, self.measures, rows])
        return hashlib.sha256(text.encode()).hexdigest()

    @cached_property
    def _places(self) -> dict[str, int]:
        return {point.key: place for place, point in enumerate(self.plan.points)}

    @property
    def probability(self) -> float:
        """Probability below the interval's upper bound: 0.975, or more with a precision."""
        rule = self.plan.rule
        return 0.975 if rule is None else (1 + rule.level) / 2


def sweep(
    what: str | Path | Mapping[str, Any],
    *,
    factors: Mapping[str, Any] | None = None,
    runs: int | None = None,
    precision: Mapping[str, Any] | None = None,
    measures: Sequence[str] | None = None,
    design: Mapping[str, Any] | None = None,
    overrides: Mapping[str, Any] | None = None,
    seed: int | None = None,
    store: str | Path | Store | None = None,
    jobs: int | None = None,
    executor: Executor | None = None,
    progress: Callable[[State], None] | None = None,
) -> SweepResult:
    """Simulate a grid, or a drawn design, of settings of a scenario.

    Run k of every point has the same losses (common random numbers).

    Parameters
    ----------
    what
        Sweep file, or a mapping of the same form (docs/sweeps.md); with `factors`, a scenario.
    factors
        Keys and their values, as in the table [factors] of the file: ``{"tcp": ["cubic", "hybla"],
        "links.0.down.delay": ["100 ms", "250 ms"]}``.
    runs, precision
        Runs of each point, by default 30. Or the relative error of means, as ``{"goodput": "2
        %"}``, with ``least`` and ``most`` runs.
    measures
        Measures in tables: "goodput", "satellite.down.utilisation", "download.goodput".
    design
        ``{"kind": "sobol", "points": 64}``, ``{"zip": ["rate", "buffer"]}``.
    overrides, seed
        Value for all points, as for `run`.
    store
        Folder that keeps the numbers of all runs; runs in it are not simulated again.
    jobs, executor
        Threads; or an executor with the interface of `concurrent.futures`, such as
        ``client.get_executor()`` of Dask.
    progress
        Called with a `State` now and then.

    Raises
    ------
    ScenarioError
        If an argument or a point is wrong; raised before the first run.
    RunError
        If a run failed.
    SweepStopped
        On Ctrl-C: a `KeyboardInterrupt`. Finished runs are in the store.

    Examples
    --------
    >>> import farlink as fl
    >>> grid = fl.sweep("geo-lossy", factors={"tcp": ["sack", "hybla"]}, runs=10)  # doctest: +SKIP
    >>> grid.differences("tcp", "sack")  # doctest: +SKIP
    """
    if factors is not None:
        what = {"scenario": str(what) if isinstance(what, Path) else what, "factors": factors}
    given = {"measures": measures and list(measures), "design": design, "set": overrides}
    given = {key: setting for key, setting in given.items() if setting is not None}
    if given and factors is None:
        raise ScenarioError(
            f"{', '.join(given)}: the sweep file says that; give factors and a scenario instead"
        )
    if given and isinstance(what, dict):
        what |= given
    plan = plans.read(what, runs=runs, precision=precision, seed=seed)
    return sweep_plan(plan, store=store, jobs=jobs, executor=executor, progress=progress)


def sweep_plan(
    plan: Plan,
    *,
    store: str | Path | Store | None = None,
    jobs: int | None = None,
    executor: Executor | None = None,
    progress: Callable[[State], None] | None = None,
) -> SweepResult:
    """Simulate a plan; see `sweep`."""
    started = time.perf_counter()
    lab = Experiment(store, plan.name, jobs, executor)
    runs, reached, _ = _run(plan, lab, progress)
    numbers = lab.read(plan.points, asked_of(plan) or [*_USUAL, "goodput_over_run"])
    wall = time.perf_counter() - started
    return SweepResult(plan, lab, runs, reached, lab.simulated_runs, wall, _numbers=numbers)


def simulate_plan(plan: Plan, lab: Experiment, progress: Callable[[State], None] | None) -> State:
    """Simulate a plan without a result. Returns how much there is then."""
    return _run(plan, lab, progress)[2]


def _run(
    plan: Plan, lab: Experiment, progress: Callable[[State], None] | None
) -> tuple[list[int], list[bool], State]:
    field_of = _Field(plan, lab, progress)
    try:
        runs, reached = field_of.run()
    except KeyboardInterrupt as stop:
        kept = lab.store.path if isinstance(lab.store, Store) else None
        raise SweepStopped(field_of.state, kept) from stop
    return runs, reached, field_of.state


def asked_of(plan: Plan) -> list[str]:
    """Return the measures that a plan names."""
    asked = [*plan.measures, *(plot.y for plot in plan.plots)]
    return list(dict.fromkeys([*asked, *(goal.measure for goal in plan.precision)]))


class _Field:
    """Executor of a plan: simulates its points, with more runs if the precision requires them."""

    def __init__(
        self, plan: Plan, lab: Experiment, progress: Callable[[State], None] | None
    ) -> None:
        self._plan = plan
        self._lab = lab
        self._progress = progress
        self.state = State(0, len(plan.points), 0, 0, 0)

    def run(self) -> tuple[list[int], list[bool]]:
        plan, rule = self._plan, self._plan.rule
        self._check()
        runs = [plan.runs if rule is None else rule.analyses[0]] * len(plan.points)
        reached = [rule is None] * len(plan.points)
        active = list(range(len(plan.points)))
        while active:
            self._simulate(active, runs, len(plan.points) - len(active))
            if rule is None:
                break
            measures = [goal.measure for goal in plan.precision]
            values = self._lab.read([plan.points[entry] for entry in active], measures)
            waiting = []
            for place in active:
                numbers = values[plan.points[place].key]
                reached[place] = all(
                    self._enough(of_run(numbers, goal.measure)[: runs[place]], goal)
                    for goal in plan.precision
                )
                later = rule.next_analysis(runs[place])
                if not reached[place] and later is not None:
                    runs[place] = later
                    waiting.append(place)
            active = waiting
        self._tell(self.state.runs_total, len(plan.points))
        return runs, reached

    def _check(self) -> None:
        """Simulate one run of the first point, and raise an error for measures that it lacks."""
        first = self._plan.points[0]
        self._lab.simulate([(first, 1)])
        layout = self._lab.numbers(first).layout
        for measure in asked_of(self._plan):
            columns_of(layout, measure)

    def _simulate(self, active: Sequence[int], runs: Sequence[int], over: int) -> None:
        wanted = [(self._plan.points[entry], runs[entry]) for entry in active]
        lacking = {entry.point: len(entry.runs) for entry in self._lab.missing(wanted)}
        total, lacks = sum(runs), sum(lacking.values())
        before = total - lacks
        self.state = State(over, len(runs), before, total, before - self._lab.simulated_runs)
        ready = over + sum(point.key not in lacking for point, _ in wanted)

        def tell(done: int, _missing: int) -> None:
            # Points progress together, so finished points are estimated from the share of finished
            # runs.
            points = ready + int((len(active) + over - ready) * done / max(lacks, 1))
            self._tell(before + done, min(points, len(runs)))

        self._lab.tell = tell
        self._lab.simulate(wanted)

    def _enough(self, values: NDArray[np.float64], wanted: Precision) -> bool:
        rule = self._plan.rule
        assert rule is not None
        present = values[~np.isnan(values)]
        if len(present) < 2:
            return False
        half = rule.half_width(float(np.std(present, ddof=1)), len(present))
        return bool(wanted.reached(float(np.mean(present)), half))

    def _tell(self, runs: int, points: int) -> None:
        before = self.state
        self.state = State(points, before.points_total, runs, before.runs_total, before.stored)
        if self._progress is not None:
            self._progress(self.state)


def _listed(values: NDArray[np.float64]) -> list[float | None]:
    return [None if math.isnan(value) else value for value in values.tolist()]


def _bounds(estimate: Estimate) -> tuple[float, float, float, int]:
    parts = (
        math.nan if part is None else part for part in (estimate.mean, estimate.low, estimate.high)
    )
    mean, low, high = parts
    return mean, low, high, estimate.n
