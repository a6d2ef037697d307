"""Plan of a sweep: reads and checks the sweep file, and builds its points."""

import os
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from farlink import files, resultfile, source
from farlink.errors import ScenarioError
from farlink.experiment import plancache
from farlink.experiment.design import Combination, grid, sampled
from farlink.experiment.factors import Factor, read_factor, settings
from farlink.experiment.points import Point
from farlink.experiment.reading import Reading
from farlink.experiment.sequential import Precision, Rule, read_precision

__all__ = ["Against", "Plan", "Plot", "read"]

RUNS = 30
"""Default number of runs of each point."""

_KEYS = ("name", "description", "scenario", "runs", "seed", "precision", "measures", "set",
         "factors", "design", "against", "plots")  # fmt: skip
_DESIGN = ("kind", "points", "seed", "zip")
_KINDS = ("grid", "random", "sobol")
_PLOT = ("x", "y", "colour", "panels", "log_x", "log_y", "title")
_MOST_POINTS = 1_000_000

_AHEAD = 1000
"""Number of points that threads resolve at a time; an error stops those that follow."""


@dataclass(frozen=True)
class Plot:
    """Figure that the file declares: its axes, colours and panels."""

    x: str
    y: str
    colour: str = ""
    panels: str = ""
    log_x: bool = False
    log_y: bool = False
    title: str = ""


@dataclass(frozen=True)
class Against:
    """Comparison of all levels of a factor with one level, run by run."""

    factor: str
    level: str


@dataclass(frozen=True)
class Plan:
    """Sweep that is ready to run.

    Attributes
    ----------
    factors
        Factors that are varied; a drawn design has the drawn levels.
    combinations, points
        For each point, the level of each factor, and the resolved scenario.
    runs
        Number of runs per point; with `precision`, the largest number that `rule` allows.
    measures
        Measures of the tables; empty for the default ones.
    text
        Text of the sweep file, if there is one.
    digest
        Hash under which the points are to be stored; None if they are, or may not be.
    """

    name: str
    description: str
    factors: Sequence[Factor]
    combinations: Sequence[Combination]
    points: Sequence[Point]
    runs: int
    seed: int
    precision: Sequence[Precision]
    rule: Rule | None
    measures: Sequence[str]
    plots: Sequence[Plot]
    against: Sequence[Against]
    design: str = "grid"
    text: str = ""
    digest: str | None = None
    factor: Mapping[str, Factor] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "factor", {factor.name: factor for factor in self.factors})


def read(
    what: str | Path | Mapping[str, Any],
    *,
    runs: int | None = None,
    precision: Mapping[str, Any] | None = None,
    seed: int | None = None,
    stored: Callable[[str], Path] | None = None,
) -> Plan:
    """Read a sweep from a file or a mapping; arguments override the values of the file.

    `stored` returns the folder of the sweep's numbers by its name, which may have its points.

    Raises
    ------
    ScenarioError
        If the file or any of its points is invalid.
    """
    tree, origin, directory, text = _tree(what)
    at = Reading(origin)
    at.known(tree, _KEYS)
    if "factors" not in tree:
        at.wrong('factors is missing; write [factors] and below it tcp = ["sack", "cubic"]')
    if runs is not None and precision is not None:
        raise ScenarioError("runs and precision; give one of them")
    asked = dict(tree)
    if runs is not None or precision is not None:
        asked.pop("runs", None)
        asked.pop("precision", None)
        asked |= {"runs": runs} if precision is None else {"precision": dict(precision)}
    wanted, rule, count = _effort(asked, at)
    factors = [read_factor(str(name), item, at) for name, item in at.table(tree, "factors").items()]
    if not factors:
        at.at("factors").wrong('nothing is varied; write tcp = ["sack", "cubic"]')
    kind, drawn, combinations = _design(tree, factors, at)
    own_seed = at.whole(tree, "seed", 0, 2**64 - 1)
    chosen = seed if seed is not None else own_seed
    common = settings(tree.get("set", {}), at.at("set"))
    name = files.as_name(at.text(tree, "name", default=_stem(what)))
    store = None if stored is None else stored(name)
    points, digest = _points(tree, drawn, combinations, common, chosen, directory, at, store)
    if kind == "grid":
        _all_differ(points, at)
    names = [factor.name for factor in factors]
    plan = Plan(
        name=name,
        description=at.text(tree, "description", default=""),
        factors=drawn,
        combinations=combinations,
        points=points,
        runs=count,
        seed=int(points[0].scenario["seed"]),
        precision=wanted,
        rule=rule,
        measures=_names(tree, "measures", at),
        plots=_plots(tree, names, at),
        against=_against(tree, factors, at),
        design=kind,
        text=text,
        digest=digest,
    )
    if plan.against and kind != "grid":
        at.at("against").wrong("a drawn design has no pairs; leave it out, or make it a grid")
    return plan


def _tree(what: str | Path | Mapping[str, Any]) -> tuple[Mapping[str, Any], str, Path, str]:
    if isinstance(what, Mapping):
        return what, "sweep", Path(), ""
    path = Path(what)
    text = files.read_text(path)
    if path.suffix == ".json":
        return resultfile.parse(text, path), str(path), path.parent, text
    try:
        return tomllib.loads(text), str(path), path.parent, text
    except tomllib.TOMLDecodeError as error:
        description = str(error)
        raise ScenarioError(
            f"{path}: not TOML: {description[:1].lower()}{description[1:]}"
        ) from error
    except RecursionError as error:
        raise ScenarioError(f"{path}: not usable: nested too deep") from error


def _stem(what: object) -> str:
    return Path(what).stem if isinstance(what, str | Path) else "sweep"


def _effort(tree: Mapping[str, Any], at: Reading) -> tuple[list[Precision], Rule | None, int]:
    if "precision" in tree:
        if "runs" in tree:
            at.wrong("runs and precision; write one of them (precision has least and most)")
        wanted, rule = read_precision(tree["precision"], at.at("precision"))
        return wanted, rule, rule.most
    return [], None, at.whole(tree, "runs", 1, resultfile.MOST_RUNS) or RUNS


def _design(
    tree: Mapping[str, Any], factors: Sequence[Factor], at: Reading
) -> tuple[str, Sequence[Factor], Sequence[Combination]]:
    spec, here = at.table(tree, "design"), at.at("design")
    here.known(spec, _DESIGN)
    kind = here.text(spec, "kind", default="grid", of=_KINDS)
    if kind != "grid":
        if "zip" in spec:
            here.wrong("zip has no effect on a drawn design; leave it out")
        count = here.whole(spec, "points", 2, _MOST_POINTS)
        if count is None:
            here.wrong("points is missing; write how many are drawn, such as points = 64")
        drawn = sampled(factors, kind, count, here.whole(spec, "seed", 0, 2**63) or 1)
        return kind, *drawn
    for key in ("points", "seed"):
        if key in spec:
            here.wrong(f'{key} has no effect on a grid; leave it out, or write kind = "sobol"')
    ranged = next((factor.name for factor in factors if factor.range is not None), None)
    if ranged is not None:
        at.at("factors", ranged).wrong(
            'from and to are for drawn designs; write values, or [design] kind = "sobol" and points'
        )
    zipped = spec.get("zip", [])
    if zipped and isinstance(zipped, list) and all(isinstance(level, str) for level in zipped):
        zipped = [zipped]
    _check_zips(zipped, {factor.name: factor for factor in factors}, here.at("zip"))
    combinations = grid(factors, zipped)
    if len(combinations) > _MOST_POINTS:
        here.wrong(f"{len(combinations):,} points; {_MOST_POINTS:,} are the most")
    return kind, factors, combinations


def _check_zips(zipped: object, factors: Mapping[str, Factor], at: Reading) -> None:
    if not isinstance(zipped, list):
        at.wrong(f'{zipped!r} is no list; write zip = ["rate", "buffer"]')
    seen: list[str] = []
    for group in zipped:
        if not isinstance(group, list) or len(group) < 2:
            at.wrong(f'{group!r} is no list of factors; write zip = ["rate", "buffer"]')
        for name in group:
            if name not in factors:
                at.wrong(f"factor {name!r} is not there; there are {', '.join(factors)}")
            if name in seen:
                at.wrong(f"factor {name!r} is there twice; name it once")
            seen.append(name)
        counts = {name: len(factors[name].levels) for name in group}
        if len(set(counts.values())) > 1:
            text = ", ".join(f"{name} has {count}" for name, count in counts.items())
            at.wrong(f"factors that go together need as many levels: {text}")


def _points(
    tree: Mapping[str, Any],
    factors: Sequence[Factor],
    combinations: Sequence[Combination],
    common: Mapping[str, Any],
    seed: int | None,
    directory: Path,
    at: Reading,
    store: Path | None,
) -> tuple[list[Point], str | None]:
    """Return the points, and the hash under which they are to be stored."""
    scenario = tree.get("scenario")
    if not isinstance(scenario, str | Mapping):
        at.wrong('scenario is missing; write a name of the library ("geo-lossy") or a file')
    where = source.find(_beside(scenario, directory))
    by_name = {factor.name: factor for factor in factors}
    values = [_sets(common, combination) for combination in combinations]
    digest = plancache.digest(where, values, seed) if len(values) >= plancache.LEAST else None
    known = plancache.load(store, digest) if store is not None and digest is not None else None
    shown = [
        {name: by_name[name].shown(level) for name, level in combination.items()}
        for combination in combinations
    ]
    if known is not None:
        for point, levels in zip(known, shown, strict=True):
            object.__setattr__(point, "factors", levels)
        return known, None
    points = []
    for text, combination, levels in zip(
        _resolved(where, values, seed), combinations, shown, strict=True
    ):
        if isinstance(text, ScenarioError):
            label = ", ".join(f"{name} {level.label}" for name, level in combination.items())
            at.wrong(f"point {label}: {text}")
        points.append(Point(text, levels))
    return points, None if where.reads else digest


def _resolved(
    where: source.Source, values: Sequence[Mapping[str, Any]], seed: int | None
) -> Iterator[str | ScenarioError]:
    """Yield the resolved scenario of each point, or its error; all processors share the points."""
    threads = os.cpu_count() or 1
    for first in range(0, len(values), _AHEAD):
        results: list[str | ScenarioError] = []
        usable = []
        for own in values[first : first + _AHEAD]:
            sets = dict(own)
            tcp = sets.pop("tcp", None)
            try:
                usable.append((tcp, source.changes(sets, seed)))
                results.append("")
            except ScenarioError as error:
                results.append(error)
        texts = iter(source.resolve_many(where, usable, threads))
        yield from (item or next(texts) for item in results)


def _sets(common: Mapping[str, Any], combination: Combination) -> dict[str, Any]:
    """Return the values of a point, by path."""
    sets = dict(common)
    for level in combination.values():
        sets |= level.sets
    return sets


def _beside(scenario: str | Mapping[str, Any], directory: Path) -> str | Path | Mapping[str, Any]:
    """Return the scenario's path beside the sweep file if it exists, else `scenario` itself."""
    if isinstance(scenario, str) and files.is_file(directory / scenario):
        return directory / scenario
    return scenario


def _all_differ(points: Sequence[Point], at: Reading) -> None:
    seen: dict[str, Point] = {}
    for point in points:
        same = seen.setdefault(point.key, point)
        if same is not point:
            at.at("factors").wrong(
                f"points {same.label} and {point.label} are the same scenario: what differs "
                f"between "
                "them changes nothing; leave one out"
            )


def _names(tree: Mapping[str, Any], key: str, at: Reading) -> list[str]:
    value = tree.get(key, [])
    if not isinstance(value, list) or not all(isinstance(item, str) and item for item in value):
        at.at(key).wrong(f'{value!r} is no list of names; write {key} = ["goodput"]')
    return list(value)


def _plots(tree: Mapping[str, Any], factors: Sequence[str], at: Reading) -> list[Plot]:
    entry = tree.get("plots", [])
    if not isinstance(entry, list):
        at.at("plots").wrong("no list; write [[plots]] before each plot")
    entries = []
    for number, spec in enumerate(entry):
        here = at.at(f"plots[{number}]")
        if not isinstance(spec, Mapping):
            here.wrong('no table; write [[plots]] and below it x = "loss", y = "goodput"')
        here.known(spec, _PLOT)
        for key in ("x", "y"):
            if key not in spec:
                here.wrong(f'{key} is missing; write x = "{factors[0]}", y = "goodput"')
        texts = {key: here.text(spec, key, default="") for key in _PLOT if key[:4] != "log_"}
        for key in ("x", "colour", "panels"):
            if texts[key] and texts[key] not in factors:
                here.wrong(f"{key} = {texts[key]!r} is no factor; there are {', '.join(factors)}")
        flags = {}
        for key in ("log_x", "log_y"):
            flags[key] = spec.get(key, False)
            if not isinstance(flags[key], bool):
                here.at(key).wrong(f"{flags[key]!r} is not usable; write true or false")
        entries.append(Plot(**texts, log_x=flags["log_x"], log_y=flags["log_y"]))
    return entries


def _against(tree: Mapping[str, Any], factors: Sequence[Factor], at: Reading) -> list[Against]:
    spec, here = at.table(tree, "against"), at.at("against")
    by_name = {factor.name: factor for factor in factors}
    entries = []
    for name, level in spec.items():
        if name not in by_name:
            here.wrong(f"factor {name!r} is not there; there are {', '.join(by_name)}")
        labels = [item.label for item in by_name[name].levels]
        wanted = (
            level
            if isinstance(level, str)
            else f"{level:g}"
            if isinstance(level, float)
            else str(level)
        )
        if wanted not in labels:
            here.at(name).wrong(f"{level!r} is no level; there are {', '.join(labels)}")
        entries.append(Against(name, wanted))
    return entries
