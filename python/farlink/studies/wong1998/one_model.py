"""Search for one model of figures 4.8, 4.16, 5.2 and 5.7, over combinations of the unknowns.

    python -m farlink.studies.wong1998.one_model --runs 10
    python -m farlink.studies.wong1998.one_model --runs 10 --only time-out=first errors=0.5

Each combination of the levels in `LEVELS` is simulated, and a statement of each figure is judged.
A figure excludes a combination if the runs refute its statement at `LEVEL`. A combination that no
figure excludes would be one model for all four figures.
"""

import argparse
import itertools
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from farlink.studies.cache import SimulationCache
from farlink.studies.expression import Expression
from farlink.studies.inference.unknowns import change, unknowns
from farlink.studies.model import Change
from farlink.studies.quantity import Evidence, Verdict
from farlink.studies.study import Study
from farlink.tuning.space import Level

__all__ = ["FIGURES", "LEVELS", "Row", "combinations", "excluded_by", "search", "survivors"]

FIGURES = {
    "4.8": "0.075 <= crossing(lambda p: e2e('none', p), 5, (0.05, 0.075, 0.1, 0.125, 0.15))"
    " <= 0.125",
    "5.7": "increasing(rto_given_up(p, 5) for p in (0.4, 0.5, 0.6)) and rto_given_up(0.5, 5) <= 22"
    " and rto_given_up(0.6, 5) <= 22 and tie(rto_given_up(0.6, 2), rto_given_up(0.5, 2), 0.05)",
    "5.2": "abs(given_up(0.5, 3) / reset(0.5, 3) - 1.81) <= 0.05"
    " and abs(given_up(0.5, 5) / reset(0.5, 5) - 1.22) <= 0.03"
    " and abs(given_up(0.5, 7) / reset(0.5, 7) - 1.02) <= 0.02",
    "4.16": "thr('mdlp', p, seq=False) > thr('mdlp', p) for p in HIGH",
}
"""Statement of each figure, in the order in which they are judged, the quickest first.

A statement has parts of the figure's strong claim, at few points. Runs that refute a part refute
the claim.
"""

LEVELS: Mapping[str, Sequence[Level]] = {
    "time-out": ("all", "first"),
    "backoff": ("ACK of new data", "sample"),
    "errors": (0.0, 0.5, 1.0),
    "count": ("answer", "received"),
    "N2": ("time-outs", "retransmissions"),
    "T200": ("last frame", "first frame"),
}
"""Levels of the unknowns in the combinations; other unknowns have their chosen level."""

LEVEL = 0.001
"""One-sided significance level at which a figure excludes a combination.

Of 96 combinations and four figures, 0.4 false exclusions are expected.
"""

_MORE = 8
"""Factor of the runs for a combination that no figure excludes at first."""

*_QUICK, _LAST = FIGURES


@dataclass(frozen=True)
class Row:
    """Combination of levels with the evidence on the statement of each figure.

    A figure without evidence was not simulated, because an earlier one excludes the combination.
    """

    levels: Mapping[str, Level]
    evidence: Mapping[str, Evidence]

    @property
    def excluded(self) -> list[str]:
        """Figures whose claim the runs refute."""
        return excluded_by(self.evidence)


def excluded_by(evidence: Mapping[str, Evidence], level: float = LEVEL) -> list[str]:
    """Return the figures whose statement is refuted at a significance level, or is a tie."""
    against = (Verdict.NOT_REPRODUCED, Verdict.TIE)
    return [name for name, item in evidence.items() if item.at(level) in against]


def combinations(only: Mapping[str, str] | None = None) -> Iterator[dict[str, Level]]:
    """Yield every combination of `LEVELS`, or those with given levels, as texts."""
    fixed = (only or {}).items()
    for values in itertools.product(*LEVELS.values()):
        levels = dict(zip(LEVELS, values, strict=True))
        if all(str(levels[name]) == level for name, level in fixed):
            yield levels


def search(
    study: Study, caches: Sequence[SimulationCache], only: Mapping[str, str] | None = None
) -> Iterator[Row]:
    """Judge the statements of the four figures under every combination, or those with `only`.

    A combination that no figure excludes is judged again with the next cache, which has more runs.
    Figure 4.16 takes the longest, and is judged only at the end.
    """
    members = unknowns(study.record, study.registry.hooks, study.registry.editors)
    chosen = {item.id: item.chosen for item in members}
    for levels in combinations(only):
        changed = change(
            members, {**chosen, **levels}, study.registry.hooks, study.registry.editors
        )
        evidence: dict[str, Evidence] = {}
        for cache, names in [*((cache, _QUICK) for cache in caches), (caches[0], [_LAST])]:
            if not excluded_by(evidence):
                evidence |= _judge(study, changed, cache, names)
        yield Row(levels, evidence)


def _judge(
    study: Study, changed: Change, cache: SimulationCache, names: Sequence[str]
) -> dict[str, Evidence]:
    """Return the evidence on figures in order, up to the first one that excludes."""
    evidence: dict[str, Evidence] = {}
    for name in names:
        judge = partial(statement, study, Expression(FIGURES[name], name), changed)
        cache.prefetch(cache.planned(judge))
        evidence[name] = judge(cache)
        if excluded_by(evidence):
            break
    return evidence


def statement(study: Study, of: Expression, changed: Change, cache: SimulationCache) -> Evidence:
    """Return the evidence of runs on a statement under a change of the model."""
    return of.evidence(study.model(cache, changed).names)


def survivors(rows: Sequence[Row]) -> dict[tuple[str, ...], int]:
    """Count the combinations that the first figures do not exclude, for one, two, ... figures."""
    names = list(FIGURES)
    first = [tuple(names[: size + 1]) for size in range(len(names))]
    return {chosen: sum(not set(chosen) & set(row.excluded) for row in rows) for chosen in first}


def _line(row: Row) -> str:
    words = [f"{name} {level}" for name, level in row.levels.items()]
    result = [f"{name}: {item.at(LEVEL).value} ({item.key})" for name, item in row.evidence.items()]
    return "; ".join(words) + "\n    " + "\n    ".join(result)


def _tell(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def _fixed(text: str) -> tuple[str, str]:
    """Split NAME=LEVEL of the command line, after a check of both."""
    name, _, level = text.partition("=")
    if level not in map(str, LEVELS.get(name, ())):
        known = "; ".join(f"{key}={'|'.join(map(str, of))}" for key, of in LEVELS.items())
        raise argparse.ArgumentTypeError(f"{text!r} is none of {known}")
    return name, level


def _main() -> None:
    from farlink.studies.wong1998 import STUDY

    parser = argparse.ArgumentParser(description="Search for one model of four figures.")
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--store", default=None)
    parser.add_argument("--only", nargs="+", type=_fixed, default=[], metavar="NAME=LEVEL")
    given = parser.parse_args()
    caches = [
        SimulationCache(given.runs * factor, given.seed, given.jobs, store=given.store)
        for factor in (1, _MORE)
    ]
    rows = []
    for row in search(STUDY, caches, dict(given.only)):
        rows.append(row)
        _tell(_line(row))
    for names, count in survivors(rows).items():
        _tell(f"{', '.join(names)}: {count} of {len(rows)} combinations are not excluded")


if __name__ == "__main__":
    _main()
