"""The command `farlink study`: repeats a published study and judges its claims."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from farlink import files
from farlink.cli import options, text
from farlink.cli.options import declare
from farlink.views.study import _table, account_lines, show, show_tables

if TYPE_CHECKING:
    from farlink.api import Progress
    from farlink.studies.archive import StudyResult
    from farlink.studies.runner import Step
    from farlink.studies.study import Study

__all__ = ["study"]


_Name = Annotated[
    str, typer.Argument(help="Name of the study; without it, a list.", metavar="NAME")
]
_Only = Annotated[
    str | None,
    declare("--only", "Figures, tables and claims, by id or its beginning (fig4).", "A,B"),
]
_Quick = Annotated[
    bool, declare("--quick", "A first look: 6 runs, one analysis, every second point.")
]
_StudySeed = Annotated[int, declare("--seed", "Seed of all runs.", "N")]
_Reading = Annotated[
    str | None, declare("--reading", "Interpretation of the text to judge by (see --list).", "ID")
]
_Readings = Annotated[
    bool, declare("--readings", "Judge the claims under all other interpretations, too.")
]
_Causes = Annotated[
    bool,
    declare(
        "--causes",
        "Judge claims that do not reproduce under the interpretations that show why, too.",
    ),
]
_Mutants = Annotated[
    bool, declare("--mutants", "Judge the claims under the record's wrong models, too.")
]
_Tables = Annotated[
    bool, declare("--tables", "Print each printed table cell by cell, and run nothing else.")
]
_Infer = Annotated[
    bool,
    declare(
        "--infer", "Fit what the study leaves open to half of its printed numbers; judge the rest."
    ),
]
_Trials = Annotated[int | None, declare("--trials", "Trials of --infer; by default 100.", "N")]
_Confirm = Annotated[
    int | None, declare("--confirm", "Fresh runs of a point after --infer; by default 10.", "N")
]
_Live = Annotated[
    bool, declare("--live", "Run the record's live points with real packets, too (Linux, root).")
]
_LiveRuns = Annotated[
    int | None, declare("--live-runs", "Real runs of each point; by default 3.", "N")
]
_All = Annotated[bool, declare("--all", "Run all studies, and write an index page over them.")]
_List = Annotated[bool, declare("--list", "List figures, tables and claims, and run nothing.")]


def study(
    name: _Name = "",
    only: _Only = None,
    quick: _Quick = False,
    runs: Annotated[int | None, options.runs("Runs of each point; by default 10.")] = None,
    seed: _StudySeed = 1,
    jobs: options.Jobs = None,
    reading: _Reading = None,
    readings: _Readings = False,
    causes: _Causes = False,
    mutants: _Mutants = False,
    tables: _Tables = False,
    infer: _Infer = False,
    trials: _Trials = None,
    confirm: _Confirm = None,
    live: _Live = False,
    live_runs: _LiveRuns = None,
    out: Annotated[Path | None, options.out("Write page, verdicts and figures here.")] = None,
    store: options.Store = None,
    cluster: options.Cluster = "",
    every: _All = False,
    listing: _List = False,
    quiet: options.QuietTable = False,
) -> None:
    """Repeat a published study and judge its claims.

    A claim that is not reproduced is a result, not an error, so the exit code is 0. The exit code
    is 1 if a figure, table or claim failed.
    """
    from farlink import studies

    if not name and not every:
        _studies()
        return
    _check_all(name, only, reading, every=every, live=live)
    parts = _parts(only)
    names = [name] if name else studies.NAMES
    if listing:
        for item in names:
            _list(studies.find(item), parts)
        return
    base = out if out is not None else Path("farlink-out") / (name or "studies")
    files.check_directory(base)
    _check_infer(name, {"--trials": trials, "--confirm": confirm}, infer=infer)
    if infer:
        counts = {"trials": trials, "runs": runs, "confirm": confirm}
        _infer(name, counts, {"seed": seed, "jobs": jobs, "store": store}, base, quiet=quiet)
        return
    chosen: dict[str, Any] = {"only": parts, "tables": tables, "quick": quick, "runs": runs}
    chosen |= {
        "seed": seed,
        "jobs": jobs,
        "reading": reading,
        "readings": readings,
        "causes": causes,
    }
    chosen |= {"mutants": mutants, "live": live, "live_runs": live_runs, "store": store}
    results = []
    for item in names:
        result = _run(item, chosen, cluster, quiet=quiet)
        result.save(base / item if every else base)
        results.append(result)
        if not quiet:
            (show_tables if tables else show)(result, text.console(sys.stdout))
    _finish(results, base, every=every, quiet=quiet)


def _check_infer(name: str, counts: dict[str, int | None], *, infer: bool) -> None:
    from farlink.errors import ScenarioError

    if infer and not name:
        raise ScenarioError("--infer is of one study; name it instead of --all")
    for option, value in counts.items():
        if value is not None and not infer:
            raise ScenarioError(f"{option} has no effect without --infer; leave it out")


def _infer(
    name: str,
    counts: dict[str, int | None],
    chosen: dict[str, Any],
    base: Path,
    *,
    quiet: bool,
) -> None:
    """Infer the unknowns of a study, and write the result with its document."""
    from farlink import studies
    from farlink.studies.inference import infer
    from farlink.studies.inference.page import markdown
    from farlink.studies.inference.unknowns import unknowns
    from farlink.views.study import show_inferred

    given = {key: value for key, value in {**counts, **chosen}.items() if value is not None}
    result = infer(name, **given, tell=None if quiet else text.progress_line)
    study = studies.find(name)
    head = study.record["study"]
    members = unknowns(study.record, study.registry.hooks, study.registry.editors)
    base.mkdir(parents=True, exist_ok=True)
    result.save(base / "inferred.json")
    title = f"{head['author']} {head['year']}"
    files.write_text(base / "inferred.md", markdown(result, members, title))
    if not quiet:
        show_inferred(result, text.console(sys.stdout))
        text.line(f"document: {base / 'inferred.md'}")


def _run(name: str, chosen: dict[str, Any], cluster: str, *, quiet: bool) -> "StudyResult":
    """Run a study with the given options of `farlink.study`, and show its progress."""
    from farlink.experiment.execute import on_cluster
    from farlink.studies import runner

    tell = None if quiet else text.progress_line
    with on_cluster(cluster) as executor, _progress(quiet) as (progress, watch):
        return runner.study(
            name, **chosen, executor=executor, progress=progress, watch=watch, tell=tell
        )


def _finish(results: "list[StudyResult]", base: Path, *, every: bool, quiet: bool) -> None:
    """Write the index of all studies; exit with code 1 if a figure, table or claim failed."""
    if every:
        from farlink.studies import index

        index.write(results, base)
        if not quiet:
            _show_index(results)
    if not quiet:
        text.line(f"page: {base / 'index.html'}")
    failures = [line for result in results for line in result.failures]
    for line in failures:
        text.progress_line(f"farlink: failed: {line}")
    if failures:
        raise typer.Exit(1)


def _check_all(
    name: str, only: str | None, reading: str | None, *, every: bool, live: bool
) -> None:
    from farlink.errors import ScenarioError

    if every and name:
        raise ScenarioError(f"--all runs every study; leave it out, or {name!r}")
    for option, value in (("--only", only), ("--reading", reading), ("--live", live or None)):
        if every and value is not None:
            raise ScenarioError(f"{option} is of one study; name it instead of --all")


def _parts(only: str | None) -> list[str] | None:
    if only is None:
        return None
    from farlink.errors import ScenarioError

    words = [word.strip() for word in only.split(",")]
    if not all(words):
        raise ScenarioError(
            f"--only {only or repr(only)}: a name is empty; write --only fig4.17,table3.6"
        )
    return words


def _studies() -> None:
    from farlink import studies

    table = _table("study", "author", "year", "about")
    for name in studies.NAMES:
        head = studies.find(name).record["study"]
        table.add_row(name, head["author"], str(head["year"]), head["summary"])
    text.console(sys.stdout).print(table)


def _list(study: "Study", only: list[str] | None) -> None:
    from farlink.studies.select import select
    from farlink.studies.study import Claim

    table = _table("id", "kind", "strength", "what")
    for work in select(study, only):
        item = work.item
        strength = ""
        if isinstance(item, Claim):
            marks = ("calibration", item.calibration), ("untested", bool(item.untested))
            strength = ", ".join([item.strength, *(word for word, true in marks if true)])
        table.add_row(item.id, work.kind, strength, item.title)
    text.console(sys.stdout).print(table)
    if only is None:
        changes = _table("reading or wrong model", "kind", "what it changes")
        for kind, entry in (
            ("reading", study.plan.interpretations),
            ("mutant", study.plan.controls),
        ):
            for match in entry.values():
                changes.add_row(match.id, kind, match.doc)
        text.console(sys.stdout).print(changes)


def _show_index(results: "list[StudyResult]") -> None:
    """Print outcomes by study and strength, and a sentence on the strong claims of all studies."""
    from farlink.studies.outcome import count, headline

    table = _table("study", "strength", "claims", "outcomes")
    for result in results:
        for strength, row in count(result.judgements).items():
            outcomes = ", ".join(f"{number} {item.value}" for item, number in row.items())
            table.add_row(result.study.id, strength, str(sum(row.values())), outcomes)
    out = text.console(sys.stdout)
    out.print(table)
    every = [judgement for result in results for judgement in result.judgements]
    for line in (headline(count(every)), *account_lines(every)):
        out.print(line, soft_wrap=True)


@contextmanager
def _progress(quiet: bool) -> "Iterator[tuple[Progress | None, Any]]":
    """Show a bar on a terminal, otherwise a line every ten seconds."""
    if quiet:
        yield None, None
        return
    if not sys.stderr.isatty():
        yield _lines()
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.fields[what]}"),
        BarColumn(bar_width=None),
        TextColumn("{task.fields[runs]}"),
        TextColumn("ETA"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as shown:
        task = shown.add_task("", total=None, what="planning", runs="")
        before, total = 0, 0

        def watch(step: "Step") -> None:
            nonlocal before, total
            before, total = step.done, step.total
            more = f" and {len(step.ids) - 1} more" if len(step.ids) > 1 else ""
            shown.update(
                task,
                total=max(total, 1),
                completed=before,
                what=f"{step.ids[0]}{more}, {step.cells} scenarios",
                runs=_runs(before, total),
            )

        def progress(_simulated: float, _expected: float, done: int, _of: int) -> None:
            # Traces are simulated one at a time after their batch and are not counted.
            now = min(before + done, total)
            shown.update(task, completed=now, runs=_runs(now, total))

        yield progress, watch
    sys.stderr.flush()


def _lines() -> "tuple[Progress, Any]":
    from farlink.cli.progress import line_printer

    tell = line_printer()
    before, total, what = 0, 0, "planning"

    def watch(step: "Step") -> None:
        nonlocal before, total, what
        before, total, what = step.done, step.total, step.ids[0]

    def progress(_simulated: float, _expected: float, done: int, _of: int) -> None:
        tell(f"{what}: {_runs(min(before + done, total), total)}")

    return progress, watch


def _runs(done: int, total: int) -> str:
    return f"{done:,} of {total:,} runs done"
