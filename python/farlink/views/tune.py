"""Tables of the results of `farlink tune`."""

from types import MappingProxyType
from typing import TYPE_CHECKING

from farlink import units
from farlink.stats import Estimate

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd

    from farlink.tuning import Tuned
    from farlink.views.page import Sink

__all__ = ["command", "show", "show_sensitivity"]

_NONE: "Mapping[str, object]" = MappingProxyType({})


def command(
    scenario: str, tuned: "Tuned", tcp: str | None = None, changes: "Mapping[str, object]" = _NONE
) -> str:
    """Return the command that runs the best setting.

    `tcp` and `changes` are the TCP and the overrides of all settings of the search.
    """
    import shlex

    parts = ["farlink", "run", scenario]
    if (name := tuned.tcp or tcp) is not None:
        parts += ["--tcp", name]
    for path, level in {**changes, **tuned.overrides}.items():
        parts += ["--set", f"{path}={_level(level)}"]
    return shlex.join(parts)


def _level(level: object) -> str:
    return str(level).lower() if isinstance(level, bool) else str(level)


def show(tuned: "Tuned", out: "Sink") -> None:
    """Print the best setting next to the default, and the gain with its interval."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in ("setting", "default", "best", "searched"):
        table.add_column(name, justify="left" if name == "setting" else "right", no_wrap=True)
    for knob in tuned.knobs:
        searched = "|".join(map(str, knob.levels))
        if knob.is_range:
            searched = f"{knob.low:g}..{knob.high:g} {knob.unit}".rstrip()
        table.add_row(
            knob.path,
            _level(tuned.default[knob.path]),
            _level(tuned.best.levels[knob.path]),
            searched,
        )
    out.print(table)
    means = [item.mean for item in (tuned.best_value, tuned.default_value) if item.mean is not None]
    factor, unit = units.prefixed(max(map(abs, means), default=1.0), tuned.objective.unit)
    shown = f" {unit}" if unit else ""
    what = tuned.objective.name
    out.print(
        f"{what}: best {cell(tuned.best_value, factor)}{shown}, default "
        f"{cell(tuned.default_value, factor)}{shown}",
        soft_wrap=True,
    )
    mapping = {
        "better": "the best is better",
        "worse": "the best is worse: its runs in the search were lucky",
        "undecided": "no difference is shown; more --confirm runs would tell",
    }[tuned.verdict]
    share = ""
    if tuned.gain.mean is not None and tuned.default_value.mean:
        share = f" ({100 * tuned.gain.mean / abs(tuned.default_value.mean):+.3g} %)"
    out.print(
        f"run by run it is {cell(tuned.gain, factor)}{shown}{share} apart: {mapping}",
        soft_wrap=True,
    )
    cut = sum(trial.pruned for trial in tuned.trials)
    out.print(
        f"{len(tuned.trials)} settings tried with up to {tuned.runs} runs each, {cut} cut short; "
        f"these numbers are from {tuned.gain.n} fresh runs that had no part in the choice; "
        f"95 % intervals (Student's t), seed {tuned.seed}",
        soft_wrap=True,
    )
    if tuned.gain.n > 1 and not (tuned.best_value.has_spread or tuned.default_value.has_spread):
        out.print("nothing random happened: the runs of a setting are the same", soft_wrap=True)
    failed = tuned.best_value.n < tuned.default_value.n or tuned.gain.n < tuned.default_value.n
    if failed:
        out.print("some runs had no value (not ended): they are left out here", soft_wrap=True)
    if tuned.front:
        _front(tuned, out)


def _front(tuned: "Tuned", out: "Sink") -> None:
    from rich import box
    from rich.table import Table

    from farlink.tuning.goals import goal

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for knob in tuned.knobs:
        table.add_column(knob.path, justify="right", no_wrap=True)
    factors = []
    for place, name in enumerate(tuned.goals):
        means = [abs(front_value[place].mean or 0.0) for front_value in tuned.front_values]
        factors.append(units.prefixed(max([*means, 1e-12]), goal(name).unit))
        unit = f"\n({factors[-1][1]})" if factors[-1][1] else ""
        table.add_column(f"{name}{unit}", justify="right", no_wrap=True)
    for trial, values in zip(tuned.front, tuned.front_values, strict=True):
        cells = [cell(value, factor[0]) for value, factor in zip(values, factors, strict=True)]
        table.add_row(*(_level(trial.levels[item.path]) for item in tuned.knobs), *cells)
    out.print(table)
    out.print(
        f"the settings that none beats in {' and '.join(tuned.goals)}, by fresh runs; above, the "
        f"one with the best {tuned.goals[0]}",
        soft_wrap=True,
    )


def cell(estimate: Estimate, factor: float) -> str:
    """Format an estimate ± half its interval."""
    if estimate.mean is None:
        return "-"
    half = estimate.half_width
    if not half:  # a single run, or equal runs
        return units.rounded(estimate.mean / factor)
    half /= factor
    return f"{units.rounded(estimate.mean / factor, half)} ±{units.rounded(half, half)}"


def show_sensitivity(table: "pd.DataFrame", out: "Sink") -> None:
    """Print the sensitivity to each parameter, the most influential first."""
    from rich import box
    from rich.table import Table

    shown = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    shown.add_column("setting", no_wrap=True)
    pairs = (
        [("mu_star", "mu_star_conf"), ("sigma", "")]
        if "mu_star" in table
        else [("first", "first_conf"), ("total", "total_conf")]
    )
    for name, _ in pairs:
        shown.add_column(name, justify="right", no_wrap=True)
    for path, row in table.iterrows():
        cells = [
            f"{row[name]:.4g}" + (f" ±{row[half]:.2g}" if half else "") for name, half in pairs
        ]
        shown.add_row(str(path), *cells)
    out.print(shown)
    points = table.attrs["points"]
    if "mu_star" in table:
        text = (
            f"Morris, {points:,} points: mu_star is how much the goal changes over a knob's whole "
            "range, sigma how much that depends on the other knobs"
        )
    else:
        text = (
            f"Sobol, {points:,} points: the share of the goal's variance that a knob explains "
            "alone (first) and with the others (total)"
        )
    out.print(text, soft_wrap=True)
