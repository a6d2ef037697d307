"""The command `farlink sweep`: simulates a grid of settings; writes tables, plots and a page."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from farlink import files
from farlink.cli import options, text
from farlink.cli.options import declare
from farlink.errors import ScenarioError
from farlink.views.sweep import _table, show

if TYPE_CHECKING:
    from farlink.experiment.sweep import State, SweepResult

__all__ = ["sweep"]


_Precision = Annotated[
    list[str],
    declare(
        "--precision",
        "Run until the relative error of a mean is this small: goodput=2%.",
        "MEASURE=X",
    ),
]
_SweepStore = Annotated[
    Path | None, declare("--store", "Numbers of all runs; by default OUT/store.", "DIR")
]
_Shard = Annotated[
    str,
    declare(
        "--shard",
        "Simulate part K of N only, into the store; for many machines at once.",
        "K/N",
    ),
]
_Join = Annotated[
    list[Path],
    declare("--join", "Add the runs of this store first; of another machine, for example.", "DIR"),
]
_Csv = Annotated[
    Path | None, declare("--csv", "Write the table here, too; - is standard output.", "FILE")
]
_List = Annotated[bool, declare("--list", "List the points, and run nothing.")]


def sweep(
    file: Annotated[Path, typer.Argument(help="The sweep, a .toml file.", metavar="FILE")],
    runs: Annotated[
        int | None, options.runs("Runs of each point; by default those of the file.")
    ] = None,
    precision: _Precision = [],
    seed: options.Seed = None,
    jobs: options.Jobs = None,
    cluster: options.Cluster = "",
    out: Annotated[
        Path | None, options.out("Page, plots and results.csv; by default farlink-out/NAME.")
    ] = None,
    store: _SweepStore = None,
    shard: _Shard = "",
    join: _Join = [],
    csv: _Csv = None,
    listing: _List = False,
    quiet: options.QuietTable = False,
) -> None:
    """Simulate every combination of settings that a file names.

    For example, this file compares two TCPs and three initial windows at two loss rates:

    \b
        scenario = "geo-lossy"            # of the library, or a file
        runs = 30                         # or: precision = { goodput = "2 %" }
        [set]                             # for all points
        "flows.0.size" = "2 MB"
        [factors]
        tcp = ["sack", "linux-cubic"]
        loss = { path = "links.satellite.down.channel.ber", values = [1e-7, 1e-6] }
        window = { path = "tcp.initial_window", values = [2, 10, 30] }
        [[plots]]
        x = "loss"
        y = "goodput"
        colour = "tcp"
        panels = "window"

    Run k of every point has the same losses, so settings are compared run by run. A store keeps all
    runs. After Ctrl-C, or with more points or runs, the same command simulates only the missing
    runs. docs/sweeps.md has all keys of a file, docs/scale.md the way to many machines.
    """  # noqa: D301 (a backspace keeps the lines of what follows as they are)
    from farlink.experiment import plan as plans
    from farlink.experiment import plancache, shards
    from farlink.experiment.execute import on_cluster
    from farlink.experiment.sweep import SweepStopped, sweep_plan

    wanted = _precision(precision)
    stored = partial(_store_of, out, store)
    plan = plans.read(file, runs=runs, precision=wanted, seed=seed, stored=stored)
    if listing:
        _list(plan)
        return
    if csv is not None and not text.is_standard_output(csv):
        files.check_file(csv)
    directory = _directory(out, plan.name)
    files.check_directory(directory)
    where = stored(plan.name)
    if join:
        _join_stores(plan, where, join)
    if shard:
        _simulate_shard(plan, shards.parse(shard), where, jobs, cluster, quiet)
        return
    with on_cluster(cluster) as executor, _progress(quiet) as progress:
        try:
            result = sweep_plan(plan, store=where, jobs=jobs, executor=executor, progress=progress)
        except SweepStopped as stop:
            raise text.Stopped(f"{stop}; the same command goes on from there") from stop
    plancache.save(where, plan.digest, plan.points)
    _write(result, directory, csv, quiet)


def _join_stores(plan: Any, where: Path, stores: list[Path]) -> None:  # noqa: ANN401 (Plan)
    from farlink.experiment import shards

    count = shards.join(plan, where, stores)
    text.progress_line(f"joined: {count:,} runs of {len(stores)} stores into {where}")


def _directory(out: Path | None, name: str) -> Path:
    return out if out is not None else files.inside(Path("farlink-out"), name)


def _store_of(out: Path | None, store: Path | None, name: str) -> Path:
    return store if store is not None else _directory(out, name) / "store"


def _write(result: "SweepResult", directory: Path, csv: Path | None, quiet: bool) -> None:
    to_stdout = text.is_standard_output(csv)
    with text.deferring_errors(quiet or to_stdout) as tell:
        tell(lambda: show(result, text.console(sys.stdout)))
        if csv is not None:
            if to_stdout:
                sys.stdout.write(result.frame.to_csv(index=False))
            else:
                result.to_csv(csv)
        result.save(directory)
        tell(lambda: text.line(f"page: {directory / 'index.html'}"))


def _simulate_shard(
    plan: Any,  # noqa: ANN401 (Plan, imported when it is needed)
    shard: tuple[int, int],
    store: Path,
    jobs: int | None,
    cluster: str,
    quiet: bool,
) -> None:
    from farlink.experiment import shards
    from farlink.experiment.execute import on_cluster
    from farlink.experiment.sweep import SweepStopped

    with on_cluster(cluster) as executor, _progress(quiet) as progress:
        try:
            state = shards.simulate_shard(
                plan, shard, store=store, jobs=jobs, executor=executor, progress=progress
            )
        except SweepStopped as stop:
            raise text.Stopped(f"{stop}; the same command goes on from there") from stop
    new = state.runs - state.stored
    text.line(
        f"part {shard[0]} of {shard[1]}: {state.points:,} of {len(plan.points):,} points, "
        f"{state.runs:,} runs, {new:,} of them simulated now"
    )
    text.line(f"store: {store}")


def _precision(options: list[str]) -> dict[str, Any] | None:
    if not options:
        return None
    table: dict[str, Any] = {}
    for option in options:
        name, equals, value = (item.strip() for item in option.partition("="))
        if not equals or not name or not value:
            raise ScenarioError(f"--precision {option}: write for example --precision goodput=2%")
        try:
            table[name] = int(value) if name in ("least", "most") else float(value)
        except ValueError:
            table[name] = value
    return table


def _list(plan: Any) -> None:  # noqa: ANN401 (Plan, imported when it is needed)
    table = _table([*(factor.name for factor in plan.factors), "key"], len(plan.factors) + 1)
    for combination, point in zip(plan.combinations, plan.points, strict=True):
        table.add_row(*(setting.label for setting in combination.values()), point.key[:12])
    text.console(sys.stdout).print(table)
    count = len(plan.points)
    each = (
        f"{plan.runs:,} runs each"
        if plan.rule is None
        else (f"{plan.rule.least:,} to {plan.rule.most:,} runs each")
    )
    text.line(f"{count:,} points, {each}; seed {plan.seed}")


@contextmanager
def _progress(quiet: bool) -> "Iterator[Callable[[State], None] | None]":
    """Show points, runs and remaining time: a bar on a terminal, otherwise progress lines."""
    if quiet:
        yield None
        return
    left = _Left()
    if not sys.stderr.isatty():
        from farlink.cli.progress import line_printer

        tell = line_printer()
        yield lambda state: tell(f"{_said(state)}, {left.text(state)}")
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    columns = (TextColumn("sweeping"), BarColumn(bar_width=None), TextColumn("{task.fields[said]}"))
    with Progress(*columns, console=Console(stderr=True), transient=True) as shown:
        task = shown.add_task("", total=None, said="reading the store")

        def update(state: "State") -> None:
            text = f"{_said(state)}, {left.text(state)}"
            shown.update(task, total=max(state.runs_total, 1), completed=state.runs, said=text)

        yield update
    sys.stderr.flush()


def _said(state: "State") -> str:
    return (
        f"{state.points:,} of {state.points_total:,} points, "
        f"{state.runs:,} of {state.runs_total:,} runs done"
    )


class _Left:
    """Estimate of the remaining time from the elapsed time; stored points took no time."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._started = clock()
        self._before: int | None = None

    def text(self, state: "State") -> str:
        if self._before is None:
            self._before, self._started = state.runs, self._clock()
        done = state.runs - self._before
        if done <= 0:
            return "time left unknown"
        seconds = (self._clock() - self._started) / done * (state.runs_total - state.runs)
        if seconds < 90:
            return f"{seconds:.0f} s left"
        if seconds < 5400:
            return f"{seconds / 60:.0f} min left"
        return f"{seconds / 3600:.1f} h left"
