"""Body of `farlink run`: simulate, show a table, write the requested files."""

import importlib
import json
import os
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

from farlink import api, files, folder, paper, source, tracedrun, units
from farlink.cli import progress, text
from farlink.errors import Interrupted, ScenarioError
from farlink.figures import FIGURES
from farlink.phases import check
from farlink.result import MOST_SNAPLEN
from farlink.trace import FORMATS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from farlink.result import Result

__all__ = ["simulate"]


def simulate(
    scenario: str,
    *,
    tcp: Sequence[str] = (),
    changes: Sequence[str] = (),
    seed: int | None = None,
    runs: int | None = None,
    jobs: int | None = None,
    threads: int = 1,
    json_file: Path | None = None,
    out: Path | None = None,
    packets: bool = False,
    pcap: bool = False,
    snaplen: int | None = None,
    plot: bool = False,
    figure: str | None = None,
    story: int | None = None,
    phases: str | None = None,
    figure_size: str | None = None,
    fonts: str | None = None,
    table_format: str = "parquet",
    quiet: bool = False,
) -> None:
    """Simulate, print a table and write the files that the options of `farlink run` request."""
    draws = plot or figure is not None
    _check(table_format, pcap=pcap, snaplen=snaplen, plot=draws, size=figure_size, fonts=fonts)
    _check_packets(out, packets=packets, figure=figure, story=story)
    json_to_stdout = _check_printed(quiet, json_file, out, story, phases)
    when = _interval(phases, scenario, tcp, changes)
    contents: _Contents = {
        "phases": when if out is not None else None,
        "size": None if figure_size is None else paper.written_size(figure_size),
        "fonts": None if fonts is None else paper.read_fonts(fonts),
        "plots": plot,
        "figure": figure,
        "packets": packets,
        "snaplen": (snaplen or 0) if pcap else None,
        "jobs": jobs if jobs is not None else (os.cpu_count() or 1),
    }
    directory = _directory(scenario, out, needed=draws or pcap)
    imports = _import_plots() if draws and contents["jobs"] > 1 else None
    stopped: Interrupted | None = None
    arguments: _Arguments = {
        "tcp": text.names(tcp),
        "overrides": dict(text.assignments(changes)),
        "seed": seed,
        "runs": runs,
    }
    try:
        with progress.simulating(quiet) as watch:
            result, is_written = _simulated(
                scenario, arguments, out, table_format, contents, threads, watch
            )
    except Interrupted as stop:
        result, stopped, is_written = stop.result, stop, False
    # Files are written even if the reader of the table closes the pipe.
    with text.deferring_errors(quiet or json_to_stdout) as tell:
        tell(lambda: _table(result))
        tell(lambda: None if stopped else _details(result, story, when))
        if json_file is not None:
            text.write_json(json_file, result.pieces())
            tell(lambda: text.line(f"result: {json_file}"))
        if stopped is None and directory is not None:
            if not is_written:
                _write(result, out, directory, table_format, contents, imports, quiet=quiet)
            tell(lambda: text.line(f"files: {directory}/"))
        elif out is not None:
            _write_finished(result, out)
    if stopped is not None:
        raise _stopped(stopped, json_file, out)


class _Contents(TypedDict):
    """Optional output files of a run besides its result and traces, and drawing processes."""

    plots: bool
    figure: str | None
    phases: tuple[float | None, float] | None
    packets: bool
    snaplen: int | None
    jobs: int
    size: "paper.Size | None"
    fonts: "paper.Fonts | None"


def _simulated(
    scenario: str,
    arguments: "_Arguments",
    out: Path | None,
    table_format: str,
    contents: _Contents,
    threads: int,
    watch: "api.Progress | None",
) -> "tuple[Result, bool]":
    """Simulate, and return the result, and whether it and its traces are written already."""
    jobs = contents["jobs"]
    if out is not None and _streams(table_format, contents) and jobs > 0 and threads == 1:
        snaplen = contents["snaplen"]
        try:
            single = tracedrun.write(scenario, out, **arguments, snaplen=snaplen, progress=watch)
        except OSError:
            # The table is printed all the same. Writing again gives the error after the table.
            single = None
        if single is not None:
            return single, True
    result = api.run(scenario, **arguments, jobs=jobs, threads=threads, progress=watch)
    return result, False


class _Arguments(TypedDict):
    """Arguments that determine the runs."""

    tcp: Sequence[str] | None
    overrides: dict[str, object]
    seed: int | None
    runs: int | None


def _is_json_to_stdout(json_file: Path | None) -> bool:
    """Return whether the result goes to standard output, and check any other file."""
    if json_file is None:
        return False
    if not text.is_standard_output(json_file):
        files.check_file(json_file)
        return False
    return True


def _write_finished(result: "Result", out: Path) -> None:
    """Write the finished runs of an interrupted command, without traces."""
    with folder.filling(out, last="result.json") as stage:
        result.to_json(stage / "result.json")


def _check(
    table_format: str,
    *,
    pcap: bool,
    snaplen: int | None,
    plot: bool,
    size: str | None,
    fonts: str | None,
) -> None:
    if table_format not in FORMATS:
        raise ScenarioError(f"--format {table_format}: write {' or '.join(FORMATS)}")
    if snaplen is not None and not pcap:
        raise ScenarioError("--snaplen has no effect without --pcap; add --pcap or leave it out")
    if snaplen is not None and not 0 <= snaplen <= MOST_SNAPLEN:
        raise ScenarioError(f"--snaplen {snaplen}: write 0 (whole packets) to {MOST_SNAPLEN}")
    for option, value in (("--figure-size", size), ("--fonts", fonts)):
        if value is not None and not plot:
            raise ScenarioError(
                f"{option} has no effect without --plot or --figure; add one of them"
            )


def _stopped(stopped: Interrupted, json_file: Path | None, out: Path | None) -> text.Stopped:
    """Return the error of an interrupted run, with the files that have its finished part."""
    kept = [str(json_file)] if json_file is not None else []
    kept += [str(out / "result.json")] if out is not None else []
    where_kept = f"; {' and '.join(kept)} has them, without traces" if kept else ""
    return text.Stopped(f"{stopped}{where_kept}")


def _directory(scenario: str, out: Path | None, *, needed: bool) -> Path | None:
    """Return the directory for files: `out`, or if `needed` one with the name of the scenario."""
    name = source.find(scenario).name
    directory = out
    if directory is None and needed:
        directory = files.inside(Path("farlink-out"), files.as_name(name))
    if directory is not None:
        files.check_directory(directory)
    return directory


def _check_packets(
    out: Path | None, *, packets: bool, figure: str | None, story: int | None
) -> None:
    if packets and out is None:
        raise ScenarioError("--packets has no effect without --out; add --out DIR or leave it out")
    if figure not in (None, *FIGURES):
        raise ScenarioError(f"--figure {figure}: write one of {', '.join(FIGURES)}")
    if story is not None and story < 0:
        raise ScenarioError(f"--story {story}: write 0 (all sentences) or more")


def _check_printed(
    quiet: bool,
    json_file: Path | None,
    out: Path | None,
    story: int | None,
    phases: str | None,
) -> bool:
    """Return whether the result goes to standard output, and check the options that print."""
    json_to_stdout = _is_json_to_stdout(json_file)
    if not quiet and not json_to_stdout:
        return False
    other = "--quiet" if quiet else "--json -"
    if story is not None:
        raise ScenarioError(f"--story prints nothing beside {other}; leave one of them out")
    if phases is not None and out is None:
        raise ScenarioError(f"--phases has no effect beside {other}; add --out DIR")
    return json_to_stdout


def _write(
    result: "Result",
    out: Path | None,
    directory: Path,
    table_format: str,
    contents: _Contents,
    imports: threading.Thread | None,
    *,
    quiet: bool,
) -> None:
    """Write captures and plots to the directory; with --out also the result and its traces."""
    if out is not None and _streams(table_format, contents):
        # The traces are written while the run is repeated.
        with progress.simulating(quiet) as watch:
            result.save(out, table_format=table_format, progress=watch, **contents)
        return
    with progress.simulating(quiet) as watch:
        snaplen, jobs = contents["snaplen"], contents["jobs"]
        packets = contents["packets"] or contents["figure"] == "ladder"
        result.probe_all(snaplen=snaplen, packets=packets, progress=watch, jobs=jobs)
    if imports is not None:
        imports.join()
    with progress.writing(quiet) as tell:
        if out is not None:
            result.save(out, table_format=table_format, tell=tell, **contents)
            return
        with folder.filling(directory, last="result.json") as stage:
            result.save_run(stage, tell=tell, **contents)


def _streams(table_format: str, contents: _Contents) -> bool:
    """Return whether traces can be written while a run goes on; other files need whole tables."""
    whole = contents["figure"] is not None or contents["phases"] is not None
    return table_format == "parquet" and not (contents["plots"] or contents["packets"] or whole)


def _import_plots() -> threading.Thread:
    """Import the plotting modules in a thread while the engine simulates without the GIL."""

    def imported() -> None:
        # The import error appears again when a figure is drawn, and is reported there.
        with suppress(Exception):
            importlib.import_module("farlink.plot")

    thread = threading.Thread(target=imported, daemon=True)
    thread.start()
    return thread


def _table(result: "Result") -> None:
    from farlink.views.table import show

    show(result, text.console(sys.stdout))
    for name in result.tcp:
        _own_keys(name, result.scenario(name)["tcp"])
    for name, note in result.notes.items():
        text.line(f"threads of {name}: {note}")


def _story(result: "Result", most: int) -> None:
    """Print the first sentences about run 0 of each TCP, with time and end; 0 is all."""
    for name in result.tcp:
        text.line(f"story of {name}")
        lines = result.story(name)
        shown = lines.head(most) if most else lines
        flows = lines["flow"].nunique() > 1
        for time, flow, side, sentence in zip(
            *(shown[column] for column in ("time", "flow", "side", "text")), strict=True
        ):
            who = f"{flow} {side}" if flows else side
            text.line(f"{time:12.6f} s  {who:<5} {sentence}")
        if len(lines) > len(shown):
            text.line(f"{len(lines) - len(shown):,} more sentences; --story 0 prints all")


def _interval(
    phases: str | None, scenario: str, tcp: Sequence[str], changes: Sequence[str]
) -> tuple[float | None, float] | None:
    """Return interval and first change (s) of `--phases`; no interval stands for the scenario."""
    if phases is None:
        return None
    if phases == "path":
        overrides = source.changes(dict(text.assignments(changes)), None)
        for resolved in source.find(scenario).resolve(text.names(tcp), overrides).values():
            check(json.loads(resolved))
        return None, 0.0
    first, second, *more = [*phases.split(","), "0 s"]
    interval, begin = units.parse_time(first), units.parse_time(second)
    if interval is None or interval <= 0 or begin is None or len(more) > 1:
        raise ScenarioError(
            f'--phases {phases}: write path, an interval such as "15 s", or an interval and the '
            'first change such as "15 s,12 s"'
        )
    return interval, begin


def _details(result: "Result", story: int | None, when: tuple[float | None, float] | None) -> None:
    """Print the story and the phases of run 0."""
    if story is not None:
        _story(result, story)
    if when is not None:
        from farlink.views import phase

        interval, first = when
        phase.show(result.phases(interval=interval, first=first), text.console(sys.stdout))


def _own_keys(name: str, tcp: "Mapping[str, object]") -> None:
    """Print the keys of the scenario that override keys of the TCP profile."""
    profile = str(tcp["profile"])
    own = [key for key in source.profiles()[profile]["keys"] if key in tcp]
    if own:
        text.line(f"{name}: the scenario's own {', '.join(own)}, not those of profile {profile}")
