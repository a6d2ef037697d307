"""Entry points: run a scenario, load a result, list the library."""

import json
import math
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from farlink import _farlink, columns, resultfile, source
from farlink.checks import text_of, whole
from farlink.errors import Interrupted, ScenarioError
from farlink.result import Result

if TYPE_CHECKING:
    import pandas as pd

    from farlink._farlink import Measures
    from farlink.congestion import CongestionControl

__all__ = [
    "Progress",
    "load",
    "presets",
    "profiles",
    "run",
    "scenarios",
    "schema",
    "trajectory",
    "variants",
]

Progress = Callable[[float, float, int, int], None]
"""Progress callback: simulated seconds of the run that reported last, their total (NaN while
unknown), finished runs, total of runs.
"""

_MOST_JOBS = 1024
_MOST_THREADS = 256
_MOST_ROWS = 10_000_000


def run(
    scenario: str | Path | Mapping[str, object],
    *,
    tcp: "Sequence[str | type[CongestionControl]] | str | None" = None,
    overrides: Mapping[str, object] | None = None,
    seed: int | None = None,
    runs: int | None = None,
    jobs: int | None = None,
    threads: int = 1,
    progress: Progress | None = None,
) -> Result:
    """Simulate a scenario and return its result.

    Scenario, seed and `runs` determine the result exactly, on any machine and with any `jobs` and
    `threads`. In run k every TCP has the same channel (common random numbers), so TCPs can be
    compared run by run.

    Parameters
    ----------
    scenario
        Name of the library (`scenarios()`), path of a .toml or .json file, saved result, or the
        same tree as a mapping.
    tcp
        Names of TCPs (`variants()`), or classes derived from `CongestionControl`: the class itself,
        "mine.py:Mine", or "linux-cubic+mine.py:Mine". The whole scenario is run with each. A
        profile before the name (`profiles()`) sets the values of a kernel: "linux-cubic". By
        default the TCP of the scenario, or the TCPs of the saved result.
    overrides
        Values by path, with units: ``{"links.0.down.delay": "300 ms"}``.
    seed
        Replaces the scenario's seed.
    runs
        Independent runs per TCP; 2 and more give confidence intervals. By default 1, or the number
        of the saved result.
    jobs
        Threads for runs beside each other; by default one per processor.
    threads
        Threads of one run: the network is divided into as many parts where that pays. `notes` of
        the result has the parts, or the reason for one part.
    progress
        Called now and then during the runs.

    Raises
    ------
    ScenarioError
        If an argument or the scenario is wrong. No run has started then.
    RunError
        If a run could not be finished.
    Interrupted
        On Ctrl-C after some runs: a `KeyboardInterrupt` with these runs in `result`.

    Examples
    --------
    >>> import farlink as fl
    >>> r = fl.run("geo-omueti2007", tcp=["sack", "newreno"], runs=30)  # doctest: +SKIP
    >>> r.summary["goodput"]  # doctest: +SKIP
    """
    where = source.find(scenario)
    count = whole("runs", runs if runs is not None else (where.runs or 1), resultfile.MOST_RUNS)
    workers = whole("jobs", jobs if jobs is not None else (os.cpu_count() or 1), _MOST_JOBS)
    cores = whole("threads", threads, _MOST_THREADS)
    if progress is not None and not callable(progress):
        raise ScenarioError(f"progress is {text_of(progress)}; give a function or nothing")
    texts = where.resolve(_names(tcp), source.changes(overrides, seed))
    return _simulate(texts, count, (workers, cores), progress)


def _simulate(
    texts: Mapping[str, str], count: int, size: tuple[int, int], progress: Progress | None
) -> Result:
    """Simulate resolved scenarios by TCP, on threads for several runs and for one."""
    work = [(text, range(count)) for text in texts.values()]
    started = time.perf_counter()
    done: list[Measures] = []
    notes: list[str | None] = []
    workers, cores = size
    try:
        measures = _farlink.simulate(work, workers, progress, done, cores, notes)
    except KeyboardInterrupt as stop:
        if not done:
            raise
        raise Interrupted(_result(texts, done, started), count) from stop
    result = _result(texts, measures, started)
    if cores > 1:
        result.notes = {name: note for name, note in zip(texts, notes, strict=True) if note}
    return result


def _result(texts: Mapping[str, str], measures: "list[Measures]", started: float) -> Result:
    resolved = {name: cast("dict[str, Any]", json.loads(text)) for name, text in texts.items()}
    runs = dict(zip(texts, measures, strict=True))
    return Result.of_runs(resolved, runs, time.perf_counter() - started)


def trajectory(
    scenario: str | Path | Mapping[str, object],
    *,
    link: str | None = None,
    overrides: Mapping[str, object] | None = None,
    seed: int | None = None,
    run: int = 0,
    duration: float = 600.0,
    step: float = 1.0,
) -> "pd.DataFrame":
    """Return the positions of the nodes of a link's radio over time, as in a run.

    Parameters
    ----------
    scenario, overrides, seed
        As for `run`.
    link
        Name of a link with a `radio` that has `mobility`; by default the first such link.
    run
        Number of the run, from 0.
    duration, step
        Length and time between rows in seconds.

    Returns
    -------
    pandas.DataFrame
        Columns ``time`` (s), ``x1``, ``y1``, ``x2``, ``y2`` and ``distance`` (m).

    Raises
    ------
    ScenarioError
        If there is no such link, or its nodes do not move.

    Examples
    --------
    >>> walk = fl.trajectory("moving.toml", duration=600)  # doctest: +SKIP
    >>> walk.plot(x="x1", y="y1")  # doctest: +SKIP
    """
    try:
        fits = step > 0 and step <= duration < math.inf and duration / step <= _MOST_ROWS
    except TypeError:
        fits = False
    if not fits:
        raise ScenarioError(
            f"duration {text_of(duration)} and step {text_of(step)}; write seconds, step the "
            f"smaller, with {_MOST_ROWS} steps at most"
        )
    run = whole("run", run, 2**64 - 1, least=0)
    where = source.find(scenario)
    text = next(iter(where.resolve(None, source.changes(overrides, seed)).values()))
    name = link if link is not None else str(json.loads(text)["links"][0]["name"])
    return columns.frame(_farlink.trajectory(text, run, name, step, duration))


def load(path: str | Path) -> Result:
    """Read a saved result (see `Result.to_json`)."""
    return Result.load(path)


def scenarios() -> dict[str, str]:
    """Return the TOML text of each scenario of the library, by its name."""
    return dict(_farlink.scenarios())


def presets() -> "pd.DataFrame":
    """Return the link presets, one per row, each with its source."""
    return _table(_farlink.presets())


def variants() -> "pd.DataFrame":
    """Return the TCPs, one per row, with summary, source and check status."""
    return _table(_farlink.variants())


def profiles() -> "pd.DataFrame":
    """Return the profiles, one per row: summary, source, TCPs, and the keys that each sets."""
    return _table(_farlink.profiles())


def schema() -> dict[str, Any]:
    """Return the JSON Schema of a scenario, for editors."""
    return cast("dict[str, Any]", json.loads(_farlink.schema()))


def _names(
    tcp: "Sequence[str | type[CongestionControl]] | str | None",
) -> "list[str | type[CongestionControl]] | None":
    if tcp is None or isinstance(tcp, str):
        return None if tcp is None else [tcp]
    given: object = tcp
    names = list(given) if isinstance(given, Iterable) else [given]
    texts = [name for name in names if isinstance(name, str | type)]
    if len(texts) < len(names):
        raise ScenarioError(f"tcp is {text_of(tcp)}; write a name or a list of names")
    return texts


def _table(text: str) -> "pd.DataFrame":
    import pandas as pd

    return pd.DataFrame(json.loads(text)).set_index("name")
