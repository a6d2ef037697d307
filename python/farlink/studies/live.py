"""Emulates some points of a study with real packets and compares them with simulations.

`[live]` of a record lists the points. At each point the sender is a TCP of the kernel, or farlink's
TCP in user space if no kernel has the publication's TCP. Claims are judged on emulated values only,
and claims that need other values are omitted.
"""

import copy
import itertools
import platform
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

from farlink import emulation, registry
from farlink.comparison import PROFILE, Row
from farlink.errors import ScenarioError
from farlink.studies.cache import Cell, SimulationCache
from farlink.studies.judge import Finding, Judgement, judge
from farlink.studies.live_run import Job, Run, check_allowed, run_all
from farlink.studies.model import Model
from farlink.studies.quantity import Quantity, paired, short
from farlink.studies.study import Claim, Study, Table
from farlink.trace import Trace

__all__ = [
    "TOGETHER",
    "Live",
    "LiveCache",
    "LiveRow",
    "NotLiveError",
    "Plan",
    "Point",
    "emulate",
    "judged",
]

TOGETHER = 4
"""Default of `together`: number of runs that are emulated at the same time."""

RUNS = 3
"""Default number of emulated runs of each point."""

_RUNS_QUICK = 2

_ROWS = {"westwood": "westwood+"}
"""farlink's names of congestion controls that have another name in the kernel."""

_LINK_METRICS = ("packets", "bytes")
"""Link metrics with the same meaning in simulator and emulator. Other metrics differ, because the
emulator passes damaged packets to the kernel, does not track connections, and runs longer than the
transfer.
"""

_KEYS = {"doc", "runs", "together", "late_s", "measures", "points"}
_POINT = {"says", "kernel", "extra", "published"}


class NotLiveError(Exception):
    """Error for an expression that needs a value without an emulation."""


@dataclass(frozen=True)
class Point:
    """Point of a study that is emulated.

    Attributes
    ----------
    settings
        Factors and their values.
    kernel
        Congestion control of the sending kernel; empty for farlink's TCP in user space.
    extra
        Whether the publication lacks this point (for example a recent TCP). Extra points are in the
        table, but no claim is judged on them.
    published
        Published value of each measure.
    """

    settings: Mapping[str, Any]
    kernel: str = ""
    extra: bool = False
    published: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Plan:
    """Parsed table `[live]` of a record; docs/studies.md lists its keys."""

    doc: str
    runs: int
    together: int
    late_s: float
    measures: Sequence[str]
    points: Sequence[Point]

    @classmethod
    def of(cls, study: Study) -> "Plan":
        """Parse the table `[live]` of a study.

        Raises
        ------
        ScenarioError
            If the record has no table `[live]`.
        ValueError
            If a key, factor or measure is unknown, or the number of published values is wrong.
        """
        table = study.record.get("live")
        if table is None:
            raise ScenarioError(f"--live: {study.id} has no points with real packets")
        _known(table, _KEYS, "live")
        if "doc" not in table:
            raise ValueError("live: it lacks 'doc'")
        measures = table.get("measures", [])
        for name in measures:
            if name not in study.plan.measures:
                raise ValueError(f"live: no measure {name!r}")
        points = [
            point for row in table.get("points", []) for point in _points(row, study, measures)
        ]
        if not points:
            raise ValueError("live: there are no points")
        runs, together = table.get("runs", RUNS), table.get("together", TOGETHER)
        late_s = table.get("late_s", emulation.BEHIND_S)
        return cls(table["doc"], runs, together, late_s, measures, points)


def _points(row: Mapping[str, Any], study: Study, measures: Sequence[str]) -> list[Point]:
    _known(row, _POINT, "live point")
    settings = row.get("says", {})
    if unknown := settings.keys() - study.plan.factors.keys():
        raise ValueError(f"live point: no factor {', '.join(sorted(unknown))}")
    lists = [value if isinstance(value, list) else [value] for value in settings.values()]
    combined = list(itertools.product(*lists))
    published = row.get("published", {})
    for name, values in published.items():
        if name not in measures:
            raise ValueError(f"live point: {name!r} is none of the measures {', '.join(measures)}")
        if len(values) != len(combined):
            raise ValueError(
                f"live point: {len(values)} published values of {name} for {len(combined)} points"
            )
    return [
        Point(
            dict(zip(settings, values, strict=True)),
            row.get("kernel", ""),
            row.get("extra", False),
            {name: float(of[place]) for name, of in published.items()},
        )
        for place, values in enumerate(combined)
    ]


def _known(row: Mapping[str, Any], keys: set[str], what: str) -> None:
    if unknown := row.keys() - keys:
        raise ValueError(f"{what}: {', '.join(sorted(unknown))} is no key of it")


@dataclass(frozen=True)
class LiveRow:
    """One measure of one emulated point, as a row of the table.

    `published` is the printed value, `study` the simulation of the point, `matched` the simulation
    with the sender of the emulation, and `live` the emulation. `study` is None at extra points.
    """

    label: str
    sender: str
    measure: str
    published: float | None
    study: Quantity | None
    matched: Quantity
    live: Quantity
    late_p99_s: float

    @cached_property
    def verdict(self) -> str:
        """Emulated / simulated, and the verdict of `farlink compare`; empty without events."""
        simulated, live = (tuple(item.tolist()) for item in paired(self.matched, self.live))
        if not any(simulated):
            return ""
        row = Row("", simulated, live)
        return f"{row.ratio.mean:.3g}{_half(row)}, {row.verdict}"


def _half(row: Row) -> str:
    half = row.ratio.half_width
    return "" if half is None else f" ± {short(half, 2)}"


@dataclass(frozen=True)
class Live:
    """Result of the emulated points of a study."""

    doc: str
    kernel: str
    runs: int
    late_s: float
    rows: Sequence[LiveRow]
    judgements: Sequence[Judgement]
    notes: Sequence[str]
    wall_s: float

    @property
    def late_p99_s(self) -> float:
        """Largest 99th percentile of the packets' lateness (s) over all runs."""
        return max(row.late_p99_s for row in self.rows)

    @property
    def behind(self) -> bool:
        """Return whether the lateness of any run exceeds the record's limit `late_s`."""
        return self.late_p99_s > self.late_s

    @property
    def table(self) -> Table:
        """Table with a row for each measure of each point."""
        columns = ["point", "sender", "measure", "published", "simulated, as in the study"]
        columns += ["simulated, this sender", "live", "live / simulated, this sender"]
        rows = [
            [
                row.label,
                row.sender,
                row.measure,
                "" if row.published is None else short(row.published, 4),
                "" if row.study is None else row.study.text,
                row.matched.text,
                row.live.text,
                row.verdict,
            ]
            for row in self.rows
        ]
        return Table(columns, rows)


class LiveCache(SimulationCache):
    """Cache with emulated values only. A request for any other value raises `NotLiveError`."""

    def __init__(self, runs: int, seed: int, measured: Mapping[str, Sequence[Run]]) -> None:
        super().__init__(runs=runs, seed=seed)
        self._measured = measured
        self.reads = 0

    def count(self, cell: Cell) -> int:
        """Return the number of runs of a cell."""
        return len(self._measured.get(cell.key, ())) or self.runs

    def _quantity(self, cell: Cell, name: tuple[str | int, ...]) -> Quantity:
        runs = self._measured.get(cell.key)
        if runs is None:
            raise NotLiveError(cell.label)
        metric = str(name[-1])
        values = []
        for run in runs:
            of = run.flow if name[0] == "flow" else run.links[".".join(map(str, name[1:-1]))]
            value = of.get(metric)
            known = name[1] == 0 if name[0] == "flow" else metric in _LINK_METRICS
            if value is None or not known:
                raise NotLiveError(f"{metric} of {cell.label}")
            values.append(float(value))
        self.reads += 1
        label, unit = f"{metric}({cell.label})", registry.unit(str(name[0]), metric)
        return Quantity(np.array(values), label, unit, [cell.key])

    def _simulate(self, cell: Cell, run: int) -> Trace:
        raise NotLiveError(f"a trace of {cell.label}, run {run}")


def judged(study: Study, claims: Sequence[Claim], cache: LiveCache) -> list[Judgement]:
    """Judge claims that use emulated values only, in one analysis without interim analyses."""
    entries = []
    names = study.model(cache).names

    def finding(claim: Claim) -> Finding:
        order, number = (
            None if item is None else item.evidence(names) for item in (claim.order, claim.number)
        )
        return Finding(order, number)

    for claim in claims:
        if claim.untested:
            continue
        before = cache.reads
        try:
            first = finding(claim)
        except NotLiveError:
            continue
        except Exception as error:
            # Errors count only for claims that have read an emulated value.
            if cache.reads > before:
                entries.append(Judgement(claim, failure=f"{type(error).__name__}: {error}"))
            continue
        if cache.reads > before:
            entries.append(judge(claim, {"live": partial(_given, first)}, [cache.runs]))
    return entries


def _given(finding: Finding, _runs: int) -> Finding:
    return finding


def emulate(
    study: Study,
    cache: SimulationCache,
    claims: Sequence[Claim],
    *,
    runs: int | None = None,
    store: Path | None = None,
    tell: Callable[[str], None] | None = None,
) -> Live:
    """Emulate the live points of a study, simulate them in `cache`, and judge claims on them.

    Raises
    ------
    ScenarioError
        If the study has no live half, or this system cannot emulate.
    RunError
        If a transfer fails.
    """
    started = time.perf_counter()
    plan = Plan.of(study)
    count = runs if runs is not None else (_RUNS_QUICK if cache.quick else plan.runs)
    if not 2 <= count <= 1000:
        raise ScenarioError(f"--live-runs is {count}; write 2 to 1000: one run decides nothing")
    model = study.model(cache)
    requests = [_Request(point, model, cache.seed) for point in plan.points]
    check_allowed(requests[0].scenario)
    jobs = [
        Job(request.label, request.scenario, run, request.kernel, plan.late_s)
        for request in requests
        for run in range(count)
    ]
    results = run_all(jobs, plan.together, store, tell)
    runs_of = [results[count * place : count * (place + 1)] for place in range(len(requests))]
    measured = {
        request.cell.key: emulated
        for request, emulated in zip(requests, runs_of, strict=True)
        if not request.point.extra
    }
    rows = [
        row
        for request, emulated in zip(requests, runs_of, strict=True)
        for row in request.rows(plan.measures, cache, study, emulated)
    ]
    live = LiveCache(count, cache.seed, measured)
    return Live(
        plan.doc,
        f"{platform.system()} {platform.release()}",
        count,
        plan.late_s,
        rows,
        judged(study, claims, live),
        list(dict.fromkeys(request.note for request in requests if request.note)),
        time.perf_counter() - started,
    )


class _Request:
    """Scenarios of a point for the emulator and the simulator."""

    def __init__(self, point: Point, model: Model, seed: int) -> None:
        self.point = point
        self.cell = model.cell(**point.settings)
        self.label = self.cell.label
        self.kernel, self.note = point.kernel, ""
        if self.kernel and not _has(self.kernel):
            self.note = (
                f"this kernel has no {self.kernel}: its points are sent by this program's TCP "
                "in user space"
            )
            self.kernel = ""
        tree = _transfer(self.cell.scenario)
        if self.kernel:
            tree["tcp"] = {"profile": PROFILE, "variant": _ROWS.get(self.kernel, self.kernel)}
        self.matched = Cell(f"{self.label}, {self.sender}", tree, self.cell.runs)
        self.scenario = {**tree, "seed": seed}

    @property
    def sender(self) -> str:
        """Name of the sender in the table."""
        return f"kernel, {self.kernel}" if self.kernel else "farlink"

    def rows(
        self, measures: Sequence[str], cache: SimulationCache, study: Study, runs: Sequence[Run]
    ) -> list[LiveRow]:
        """Return a row for each measure, with its emulated and simulated values."""
        live = study.model(LiveCache(len(runs), cache.seed, {self.matched.key: runs}))
        ours = study.model(cache)
        late = max(run.late_p99_s for run in runs)
        rows = []
        for name in measures:
            printed = self.point.published.get(name)
            as_study = None if self.point.extra else ours.measure(name, **self.point.settings)
            rows.append(
                LiveRow(
                    self.label,
                    self.sender,
                    name,
                    printed,
                    as_study,
                    ours.of_cell(name, self.matched),
                    live.of_cell(name, self.matched),
                    late,
                )
            )
        return rows


def _has(kernel: str) -> bool:
    try:
        emulation.check_kernel(kernel)
    except ScenarioError:
        return False
    return True


def _transfer(scenario: Mapping[str, Any]) -> dict[str, Any]:
    """Return a scenario with only its first flow, as a file transfer that the receiver opens."""
    tree = copy.deepcopy(dict(scenario))
    flow = {**tree["flows"][0], "app": "file", "opens": "receiver"}
    tree["flows"] = [flow]
    return tree
