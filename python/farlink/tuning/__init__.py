"""Search for the best setting of a scenario for a goal, confirmed on fresh runs."""

import json
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from farlink.checks import whole
from farlink.errors import ScenarioError
from farlink.experiment import Experiment, Point
from farlink.extras import lacking
from farlink.stats import Estimate, mean_ci95, paired_difference
from farlink.tuning.goals import Objective, goal, objective
from farlink.tuning.space import TCP, Knob, Level, knobs

if TYPE_CHECKING:
    import optuna
    import pandas as pd
    from matplotlib.figure import Figure

__all__ = ["Trial", "Tuned", "tune"]

_FINALISTS = 5
"""Number of best settings that get twice as many runs before one is chosen."""

_BATCH = 2
"""Runs of a trial between two tests for pruning."""

_PRUNE_AT = 0.1
"""Significance level at which a trial worse than the best is pruned (paired Wilcoxon test)."""

Tell = Callable[[str], None]


@dataclass(frozen=True)
class Trial:
    """Tried setting: its levels, its value in each run, and whether it was pruned."""

    levels: Mapping[str, Level]
    point: Point
    values: tuple[float, ...]
    pruned: bool = False

    @property
    def mean(self) -> float:
        """Mean value over the runs."""
        return float(np.mean(self.values))


@dataclass(frozen=True)
class Tuned:
    """Result of a search: all trials, and the best trial with its gain over the default."""

    scenario: str
    seed: int
    objective: Objective
    knobs: tuple[Knob, ...]
    trials: tuple[Trial, ...]
    best: Trial
    default: Mapping[str, Level]
    runs: int
    best_value: Estimate
    """Value of the best setting over fresh runs, which were not used to choose it."""
    default_value: Estimate
    gain: Estimate
    """Best minus default, paired over common fresh runs."""
    front: tuple[Trial, ...] = ()
    """With several goals: the Pareto front, settings that no other beats in all goals."""
    front_values: tuple[tuple[Estimate, ...], ...] = ()
    goals: tuple[str, ...] = ()
    _parts: Mapping[str, Any] = field(default_factory=dict, repr=False)

    def __repr__(self) -> str:
        text = ", ".join(f"{path} {level}" for path, level in self.best.levels.items())
        return f"<farlink.Tuned {self.scenario}, {self.objective.name}: {text}>"

    def _repr_html_(self) -> str:
        """Return the HTML that notebooks show: the table that the command prints."""
        from farlink.views import page
        from farlink.views.tune import show

        return page.as_html(lambda out: show(self, out))

    @property
    def overrides(self) -> dict[str, Level]:
        """Best setting, as `overrides` of `farlink.run`; its TCP is `tcp`."""
        return {path: level for path, level in self.best.levels.items() if path != TCP}

    @property
    def tcp(self) -> str | None:
        """Best TCP, if several were tried; else None."""
        return str(self.best.levels[TCP]) if TCP in self.best.levels else None

    @property
    def verdict(self) -> str:
        """Verdict on the best setting against the default: "better", "worse" or "undecided"."""
        low, high = self.gain.low, self.gain.high
        if low is None or high is None:
            return "undecided"
        if not self.objective.more:
            low, high = -high, -low
        return "better" if low > 0 else "worse" if high < 0 else "undecided"

    @cached_property
    def table(self) -> "pd.DataFrame":
        """Trials as a data frame: levels, mean value, number of runs, and whether pruned."""
        import pandas as pd

        return pd.DataFrame(
            [
                {
                    **trial.levels,
                    "value": trial.mean,
                    "runs": len(trial.values),
                    "pruned": trial.pruned,
                }
                for trial in self.trials
            ]
        )

    @property
    def data(self) -> dict[str, Any]:
        """Return the result as JSON-compatible values."""

        def estimate(item: Estimate) -> dict[str, Any]:
            return {"mean": item.mean, "ci95": [item.low, item.high], "n": item.n}

        return {
            "format": "farlink-tuned/1",
            "scenario": self.scenario,
            "seed": self.seed,
            "objective": self.objective.name,
            "unit": self.objective.unit,
            "best": dict(self.best.levels),
            "default": dict(self.default),
            "verdict": self.verdict,
            "best_value": estimate(self.best_value),
            "default_value": estimate(self.default_value),
            "gain": estimate(self.gain),
            "runs_to_choose": self.runs,
            "runs_to_confirm": self.gain.n,
            "front": [
                {
                    "levels": dict(item.levels),
                    **{
                        name: estimate(value)
                        for name, value in zip(self.goals, values, strict=True)
                    },
                }
                for item, values in zip(self.front, self.front_values, strict=True)
            ],
            "trials": [
                {
                    "levels": dict(trial.levels),
                    "mean": trial.mean if np.isfinite(trial.mean) else None,
                    "runs": len(trial.values),
                    "pruned": trial.pruned,
                }
                for trial in self.trials
            ],
        }

    def plot(self) -> "Figure":
        """Draw all trials over each varied key, and over the two most influential keys together."""
        from farlink.plot.tune import draw_tuned

        return draw_tuned(self)


def tune(
    scenario: str | Path | Mapping[str, object],
    vary: Mapping[str, object] | None = None,
    *,
    tcp: Sequence[str] | str | None = None,
    objective: str = "goodput",
    pareto: Sequence[str] = (),
    trials: int = 60,
    runs: int = 10,
    confirm: int = 30,
    overrides: Mapping[str, object] | None = None,
    seed: int | None = None,
    lab: Experiment | None = None,
    tell: Tell | None = None,
) -> Tuned:
    """Search for the best setting for a goal, and confirm it on fresh runs.

    Optuna proposes settings. Run k of each setting has the same losses. A setting is pruned when
    its runs are significantly worse than those of the best so far (paired Wilcoxon test). The best
    five get twice as many runs. The best of many settings is partly lucky, so the reported values
    come from runs that did not take part in the choice.

    Parameters
    ----------
    scenario, overrides, seed
        Scenario and settings as for `run`; they define the default setting.
    vary
        Ranges by path, as in `--set`: ``{"tcp.receive_window": "64 kB..4 MB", "tcp.initial_window":
        "2..64", "tcp.mss": "512 B|1460 B"}``.
    tcp
        A TCP; or several TCPs, among which the search chooses too.
    objective
        Goal of `goals.GOALS`, "max:MEASURE" or "min:MEASURE", or a weighted sum
        ("goodput=1,delay=0.5") of values relative to the default's.
    pareto
        Two or three goals in place of `objective`; the search then returns their Pareto front.
    trials, runs, confirm
        Number of settings to try, runs of each, and fresh runs of the best and of the default.
    lab
        Experiment that simulates and keeps the numbers.
    tell
        Callback that gets a line of text after each trial.

    Raises
    ------
    ScenarioError
        If a range or goal is wrong, or Optuna is not installed.

    Examples
    --------
    >>> found = fl.tune("geo-bursts", {"tcp.initial_window": "2..64"})  # doctest: +SKIP
    >>> found.gain  # doctest: +SKIP
    """
    for name, value, most in (("trials", trials, 100_000), ("runs", runs, 10_000)):
        whole(name, value, most, least=2)
    whole("confirm", confirm, 100_000, least=2)
    names = [tcp] if isinstance(tcp, str) else None if tcp is None else list(tcp)
    search = _Search(
        scenario,
        tuple(knobs(vary or {}, names)),
        None if names is None else names[0],
        dict(overrides or {}),
        seed,
        lab or Experiment(),
        runs,
        tell,
    )
    if pareto:
        return search.front([*pareto], trials, confirm)
    return search.best(_objective(objective), trials, confirm)


_objective = objective


@dataclass
class _Search:
    scenario: str | Path | Mapping[str, object]
    knobs: tuple[Knob, ...]
    tcp: str | None
    overrides: dict[str, object]
    seed: int | None
    lab: Experiment
    runs: int
    tell: Tell | None
    done: dict[str, Trial] = field(default_factory=dict)

    @cached_property
    def base(self) -> Point:
        return self.point({})

    def point(self, levels: Mapping[str, Level]) -> Point:
        changes = {path: level for path, level in levels.items() if path != TCP}
        name = levels.get(TCP, self.tcp)
        return Point.of(
            self.scenario,
            tcp=None if name is None else str(name),
            overrides={**self.overrides, **changes},
            seed=self.seed,
            factors=dict(levels),
        )

    def check(self) -> None:
        """Raise `ScenarioError` unless both ends of each range are valid settings."""
        for knob in self.knobs:
            for share in (0.0, 1.0):
                self.point({knob.path: knob.at(share)})

    def best(self, wanted: Objective, trials: int, confirm: int) -> Tuned:
        optuna = _optuna()
        self.check()
        sampler = optuna.samplers.TPESampler(
            seed=self.base.scenario["seed"] % 2**32,
            multivariate=True,
            group=False,
            n_startup_trials=max(10, trials // 4),
        )
        direction = "maximize" if wanted.more else "minimize"
        pruner = optuna.pruners.WilcoxonPruner(
            p_threshold=_PRUNE_AT, n_startup_steps=min(4, self.runs)
        )
        study = optuna.create_study(sampler=sampler, pruner=pruner, direction=direction)
        for number in range(trials):
            asked = study.ask()
            levels = {knob.path: _suggest(asked, knob) for knob in self.knobs}
            trial = self._try(levels, wanted, asked)
            if trial.pruned:
                study.tell(asked, state=optuna.trial.TrialState.PRUNED)
            else:
                study.tell(asked, float(np.clip(trial.mean, -1e300, 1e300)))
            self._say(number, trials, wanted)
        return self._confirm(wanted, confirm)

    def _try(
        self, levels: Mapping[str, Level], wanted: Objective, asked: "optuna.trial.Trial"
    ) -> Trial:
        point = self.point(levels)
        known = self.done.get(point.key)
        if known is not None:
            return known
        pruned, count = False, 0
        while count < self.runs and not pruned:
            step = min(count + _BATCH, self.runs)
            values = wanted.values(self.lab, point, self.base, step)
            for place in range(count, step):
                asked.report(float(np.clip(values[place], -1e300, 1e300)), place)
            count = step
            pruned = count < self.runs and asked.should_prune()
        trial = Trial(dict(levels), point, tuple(values.tolist()), pruned)
        self.done[point.key] = trial
        return trial

    def _say(self, number: int, trials: int, wanted: Objective) -> None:
        if self.tell:
            whole_ones = [part for part in self.done.values() if not part.pruned]
            best = max(whole_ones, key=lambda item: _worth(item.mean, wanted), default=None)
            text = "" if best is None else f": best {best.mean:.5g} {wanted.unit}, {_text(best)}"
            self.tell(f"trial {number + 1} of {trials}{text}")

    def _confirm(self, wanted: Objective, confirm: int) -> Tuned:
        ranked = sorted(
            (part for part in self.done.values() if not part.pruned),
            key=lambda item: -_worth(item.mean, wanted),
        )
        finalists = ranked[:_FINALISTS]
        twice, total = 2 * self.runs, 2 * self.runs + confirm
        self.lab.simulate([(finalist.point, twice) for finalist in finalists])

        def over_all(trial: Trial) -> float:
            return _worth(
                float(np.mean(wanted.values(self.lab, trial.point, self.base, twice))), wanted
            )

        best = max(finalists, key=over_all)
        self.lab.simulate([(best.point, total), (self.base, total)])
        ours, usual = (
            _present(wanted.values(self.lab, point, self.base, total)[twice:])
            for point in (best.point, self.base)
        )
        return Tuned(
            self._name(),
            int(self.base.scenario["seed"]),
            wanted,
            self.knobs,
            tuple(self.done.values()),
            best,
            self._default(),
            self.runs,
            mean_ci95(ours),
            mean_ci95(usual),
            paired_difference(ours, usual),
        )

    def front(self, names: list[str], trials: int, confirm: int) -> Tuned:
        if not 2 <= len(names) <= 3:
            raise ScenarioError(f"--pareto {','.join(names)}: write two or three goals")
        goals = [goal(name) for name in names]
        optuna = _optuna()
        self.check()
        study = optuna.create_study(
            sampler=optuna.samplers.NSGAIISampler(
                seed=self.base.scenario["seed"] % 2**32, population_size=max(8, trials // 8)
            ),
            directions=["maximize" if item.more else "minimize" for item in goals],
        )
        singles = [Objective(((item, 1.0),)) for item in goals]
        means: dict[str, list[float]] = {}
        for number in range(trials):
            asked = study.ask()
            levels = {knob.path: _suggest(asked, knob) for knob in self.knobs}
            point = self.point(levels)
            each = [single.values(self.lab, point, self.base, self.runs) for single in singles]
            means[point.key] = [float(np.clip(np.mean(item), -1e300, 1e300)) for item in each]
            self.done[point.key] = Trial(levels, point, tuple(each[0].tolist()))
            study.tell(asked, means[point.key])
            if self.tell:
                self.tell(f"trial {number + 1} of {trials}")
        signs = np.array([item.sign for item in goals])
        rows = {key: signs * np.array(mean) for key, mean in means.items()}
        keys = undominated(rows)
        keys.sort(key=lambda key: -rows[key][0])
        total = self.runs + confirm
        front = [self.done[key] for key in keys]
        self.lab.simulate(
            [(point, total) for point in [self.base, *(item.point for item in front)]]
        )
        fresh = [
            tuple(
                mean_ci95(
                    _present(single.values(self.lab, trial.point, self.base, total)[self.runs :])
                )
                for single in singles
            )
            for trial in front
        ]
        ours, usual = (
            _present(singles[0].values(self.lab, point, self.base, total)[self.runs :])
            for point in (front[0].point, self.base)
        )
        return Tuned(
            self._name(),
            int(self.base.scenario["seed"]),
            singles[0],
            self.knobs,
            tuple(self.done.values()),
            front[0],
            self._default(),
            self.runs,
            mean_ci95(ours),
            mean_ci95(usual),
            paired_difference(ours, usual),
            tuple(front),
            tuple(fresh),
            tuple(names),
        )

    def _name(self) -> str:
        return str(self.base.scenario.get("name") or "scenario")

    def _default(self) -> dict[str, Level]:
        """Return the scenario's resolved value of each varied key."""
        tree = self.base.scenario
        table: dict[str, Level] = {}
        for knob in self.knobs:
            if knob.path == TCP:
                table[TCP] = self.tcp or str(tree["resolved_tcp"][0]["variant"])
                continue
            at: Any = tree
            parts = knob.path.split(".")
            if parts[0] == "tcp":
                at, parts = tree["resolved_tcp"][0], parts[1:]
            for part in parts:
                if isinstance(at, str | int | float):
                    break  # A queue can be "unlimited" instead of a number of packets.
                if isinstance(at, Mapping) and 0 < len(at) <= _FEW_KEYS and part not in at:
                    at = _inline(at)
                    break
                if isinstance(at, list):
                    named = [row for row in at if row.get("name") == part]
                    at = named[0] if named else at[int(part)] if part.isdigit() else None
                else:
                    at = at.get(part) if isinstance(at, Mapping) else None
            if isinstance(at, Mapping) and at:
                at = _inline(at)
            table[knob.path] = at if isinstance(at, str | int | float | bool) else "-"
        return table


_FEW_KEYS = 2
"""Largest number of keys of a table that can be another form of the varied key, as queue.bytes of
queue.packets.
"""


def _inline(table: Mapping[str, Any]) -> str:
    """Format a table of a scenario as an inline table of TOML."""
    pairs = (
        f"{key} = {_inline(value) if isinstance(value, Mapping) else json.dumps(value)}"
        for key, value in table.items()
    )
    return f"{{ {', '.join(pairs)} }}"


def undominated(rows: "Mapping[str, np.ndarray[Any, Any]]") -> list[str]:
    """Return the keys of rows on the Pareto front; in all columns more is better."""
    return [
        key
        for key, row in rows.items()
        if not any((other >= row).all() and (other > row).any() for other in rows.values())
    ]


def _present(values: Any) -> list[float | None]:  # noqa: ANN401 (an array)
    return [float(value) if np.isfinite(value) else None for value in values]


def _worth(value: float, wanted: Objective) -> float:
    return value if wanted.more else -value


def _text(trial: Trial) -> str:
    return ", ".join(f"{path} {level}" for path, level in trial.levels.items())


def _suggest(asked: "optuna.trial.Trial", knob: Knob) -> Level:
    if not knob.is_range:
        place = asked.suggest_categorical(knob.path, list(range(len(knob.levels))))
        return knob.levels[int(place)]
    if knob.whole:
        return knob.write(
            asked.suggest_int(knob.path, int(knob.low), int(knob.high), log=knob.is_log)
        )
    return knob.write(asked.suggest_float(knob.path, knob.low, knob.high, log=knob.is_log))


def _optuna() -> Any:  # noqa: ANN401 (a module)
    try:
        import optuna
    except ImportError as error:
        raise lacking("tune", "tune") from error
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.filterwarnings("ignore", category=optuna.exceptions.ExperimentalWarning)
    return optuna


def sensitivity(
    scenario: str | Path | Mapping[str, object],
    vary: Mapping[str, object],
    *,
    tcp: str | None = None,
    objective: str = "goodput",
    method: str = "morris",
    samples: int = 8,
    runs: int = 5,
    overrides: Mapping[str, object] | None = None,
    seed: int | None = None,
    lab: Experiment | None = None,
    tell: Tell | None = None,
) -> "pd.DataFrame":
    """Rank the varied keys by their influence over their whole ranges.

    "morris": `mu_star` is the mean absolute elementary effect, in the unit of the goal, and `sigma`
    its deviation. A sigma above mu_star shows that the effect depends on other keys. "sobol":
    shares of the variance, `first` for a key alone and `total` with its interactions. Both give 95
    % half widths (bootstrap). All points use the same random numbers.

    Parameters
    ----------
    samples
        Morris: trajectories of keys + 1 points. Sobol: a power of two, times keys + 2 points.

    Raises
    ------
    ScenarioError
        If a range or goal is wrong, or SALib is not installed.
    """
    import pandas as pd

    analysis = _analysis(method, samples)
    search = _Search(
        scenario, tuple(knobs(vary, None)), tcp, dict(overrides or {}), seed,
        lab or Experiment(), runs, tell,
    )  # fmt: skip
    search.check()
    wanted = _objective(objective)
    names = [knob.path for knob in search.knobs]
    problem = {"num_vars": len(names), "names": names, "bounds": [[0.0, 1.0]] * len(names)}
    number = int(search.base.scenario["seed"]) % 2**31
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        shares = analysis.sample(problem, samples, number)
        points = [
            search.point(
                {knob.path: knob.at(float(x)) for knob, x in zip(search.knobs, row, strict=True)}
            )
            for row in shares
        ]
        if tell:
            tell(f"{len(points):,} points of {runs} runs")
        lab = search.lab
        lab.simulate([(point, runs) for point in points])
        values = np.array([wanted.values(lab, point, search.base, runs).mean() for point in points])
        if not np.isfinite(values).all():
            raise ScenarioError(
                f"objective {wanted.name} has no value at some settings (a run that does not end); "
                "narrow the ranges, or take goodput"
            )
        result = analysis.analyze(problem, shares, values, number)
    table = pd.DataFrame(
        {name: np.asarray(result[key], dtype=np.float64) for name, key in analysis.columns.items()},
        index=pd.Index(names, name="knob"),
    )
    table.attrs["points"] = len(points)
    return table.sort_values(analysis.rank_by, ascending=False)


@dataclass(frozen=True)
class _Analysis:
    """Method of SALib: its sampler, its analysis, and its column names here and in SALib."""

    sample: Callable[..., Any]
    analyze: Callable[..., Any]
    columns: Mapping[str, str]
    rank_by: str


def _analysis(method: str, samples: int) -> _Analysis:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from SALib.analyze import morris, sobol
            from SALib.sample import morris as morris_points
            from SALib.sample import sobol as sobol_points
    except ImportError as error:
        raise lacking("--sensitivity", "tune") from error
    if method not in ("morris", "sobol"):
        raise ScenarioError(f"sensitivity {method!r}: write morris or sobol")
    if samples < 2 or (method == "sobol" and samples & (samples - 1)):
        raise ScenarioError(
            f"samples is {samples}; write 2 or more, for Sobol a power of two such as 64"
        )
    if method == "morris":
        return _Analysis(
            lambda problem, count, seed: morris_points.sample(problem, count, seed=seed),
            lambda problem, shares, values, seed: morris.analyze(
                problem, shares, values, seed=seed
            ),
            {name: name for name in ("mu_star", "mu_star_conf", "sigma")},
            "mu_star",
        )
    return _Analysis(
        lambda problem, count, seed: sobol_points.sample(
            problem, count, calc_second_order=False, seed=seed
        ),
        lambda problem, _shares, values, seed: sobol.analyze(
            problem, values, calc_second_order=False, seed=seed
        ),
        {"first": "S1", "first_conf": "S1_conf", "total": "ST", "total_conf": "ST_conf"},
        "total",
    )
