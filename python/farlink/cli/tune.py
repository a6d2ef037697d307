"""`farlink tune`: the best setting, and how sure that is."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from farlink import files, folder, pictures, units
from farlink.cli import complete, text
from farlink.errors import ScenarioError
from farlink.stats import Estimate

if TYPE_CHECKING:
    import pandas as pd

    from farlink.cli.page import Sink
    from farlink.tuning import Tuned

__all__ = ["show", "show_sensitivity", "tune"]


def tune(
    scenario: str = typer.Argument(
        help="Name of the library, or .toml file.",
        metavar="SCENARIO",
        autocompletion=complete.scenarios,
    ),
    vary: list[str] = typer.Option(
        [],
        "--vary",
        help="What may be set: a range (16kB..128kB) or a list (512B|1460B).",
        metavar="PATH=RANGE",
    ),
    tcp: list[str] = typer.Option(
        [],
        "--tcp",
        help="TCPs to choose among; the first is the default.",
        metavar="A,B",
        autocompletion=complete.tcps,
    ),
    objective: str = typer.Option(
        "goodput",
        "--objective",
        help="goodput, time, delay, fairness, retransmitted, max:MEASURE, min:MEASURE, "
        "or a weighted sum: goodput=1,delay=0.5.",
        metavar="GOAL",
    ),
    pareto: str = typer.Option(
        "",
        "--pareto",
        help="Two or three goals: what none beats in all of them.",
        metavar="GOAL,GOAL",
    ),
    sensitive: str = typer.Option(
        "",
        "--sensitivity",
        help="Tell which of the ranges matter instead: morris or sobol.",
        metavar="METHOD",
    ),
    trials: int | None = typer.Option(
        None, "--trials", help="Settings to try; by default 60.", metavar="N"
    ),
    samples: int = typer.Option(
        8, "--samples", help="Of --sensitivity: trajectories; Sobol: a power of two.", metavar="N"
    ),
    runs: int = typer.Option(10, "--runs", help="Runs of each setting.", metavar="N"),
    confirm: int = typer.Option(
        30, "--confirm", help="Fresh runs of the best and the default.", metavar="N"
    ),
    changes: list[str] = typer.Option(
        [], "--set", help="Replace a value, with its unit.", metavar="PATH=VALUE"
    ),
    seed: int | None = typer.Option(None, "--seed", help="Replace the seed.", metavar="N"),
    jobs: int | None = typer.Option(
        None, "--jobs", help="Threads; by default one per processor.", metavar="N"
    ),
    store: Path | None = typer.Option(
        None, "--store", help="Keep what was simulated here, and find it again.", metavar="DIR"
    ),
    cluster: str = typer.Option(
        "", "--cluster", help="Simulate on a Dask cluster instead: tcp://host:8786.", metavar="URL"
    ),
    out: Path | None = typer.Option(
        None, "--out", help="Write tuned.json, the trials and the figure here.", metavar="DIR"
    ),
    quiet: bool = typer.Option(False, "--quiet", help="No progress."),
) -> None:
    """Find the setting that serves a goal best, with its interval against the default."""
    from farlink import tuning
    from farlink.experiment import Experiment
    from farlink.experiment.execute import on_cluster

    if out is not None:
        files.check_directory(out)
    names = text.names(tcp)
    tell = None if quiet else _tell
    ranges: dict[str, object] = dict(_pairs(vary))
    overrides: dict[str, object] = dict(text.assignments(changes))
    console = text.console(sys.stdout)
    if sensitive:
        if pareto or trials is not None or (names and len(names) > 1):
            raise ScenarioError(
                "--pareto, --trials and several TCPs have no effect beside --sensitivity"
            )
        with on_cluster(cluster) as executor:
            table = tuning.sensitivity(
                scenario,
                ranges,
                tcp=names[0] if names else None,
                objective=objective,
                method=sensitive,
                samples=samples,
                runs=runs,
                overrides=overrides,
                seed=seed,
                lab=Experiment(store, "tune", jobs, executor),
                tell=tell,
            )
        show_sensitivity(table, console)
        if out is not None:
            with folder.filling(out, last="sensitivity.csv") as stage:
                files.write_text(stage / "sensitivity.csv", table.to_csv())
            text.line(f"wrote {out / 'sensitivity.csv'}")
        return
    with on_cluster(cluster) as executor:
        tuned = tuning.tune(
            scenario,
            ranges,
            tcp=names,
            objective=objective,
            pareto=[word.strip() for word in pareto.split(",")] if pareto else (),
            trials=60 if trials is None else trials,
            runs=runs,
            confirm=confirm,
            overrides=overrides,
            seed=seed,
            lab=Experiment(store, "tune", jobs, executor),
            tell=tell,
        )
    show(tuned, console)
    text.line(f"to run it: {command(scenario, tuned)}")
    if out is not None:
        from farlink.plot.style import save

        with folder.filling(out, last="tuned.json") as stage:
            files.write_text(stage / "trials.csv", tuned.table.to_csv(index=False))
            files.write_text(stage / "tuned.json", json.dumps(tuned.data, indent=1) + "\n")
            written = ["tuned.json", "trials.csv"]
            with pictures.optional("response"):
                written += [item.name for item in save(tuned.plot(), stage / "response")]
        for name in written:
            text.line(f"wrote {out / name}")


def _pairs(vary: list[str]) -> list[tuple[str, str]]:
    pairs = []
    for variation in vary:
        path, equals, name = variation.partition("=")
        if not equals or not path.strip() or not name.strip():
            raise ScenarioError(
                f"--vary {variation}: not PATH=RANGE; write for example --vary "
                "tcp.receive_window=64kB..4MB"
            )
        pairs.append((path.strip(), name.strip()))
    return pairs


def _tell(line: str) -> None:
    sys.stderr.write(text.printable(line) + "\n")
    sys.stderr.flush()


def command(scenario: str, tuned: "Tuned") -> str:
    """Return the command that runs the best setting."""
    import shlex

    parts = ["farlink", "run", scenario]
    if tuned.tcp is not None:
        parts += ["--tcp", tuned.tcp]
    for path, level in tuned.overrides.items():
        parts += ["--set", f"{path}={_level(level)}"]
    return shlex.join(parts)


def _level(level: object) -> str:
    return str(level).lower() if isinstance(level, bool) else str(level)


def show(tuned: "Tuned", out: "Sink") -> None:
    """Print the best setting beside the default, and the gain with its interval."""
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
    """Write an estimate with half of its interval."""
    if estimate.mean is None:
        return "-"
    half = estimate.half_width
    if half is None:
        return f"{estimate.mean / factor:.4g}"
    half /= factor
    return f"{units.rounded(estimate.mean / factor, half)} ±{units.rounded(half, half)}"


def show_sensitivity(table: "pd.DataFrame", out: "Sink") -> None:
    """Print the knobs, the one that matters most first."""
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
