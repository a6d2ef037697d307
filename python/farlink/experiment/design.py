"""Designs: combinations of the levels of factors."""

import itertools
from collections.abc import Mapping, Sequence

import numpy as np

from farlink.experiment.factors import Factor, Level
from farlink.extras import lacking

__all__ = ["Combination", "grid", "sampled"]

Combination = Mapping[str, Level]
"""Chosen level of each factor, by the factor's name."""


def grid(factors: Sequence[Factor], zipped: Sequence[Sequence[str]]) -> list[Combination]:
    """Return all combinations of levels; zipped factors step through their levels together.

    The last factor varies fastest. Zipped factors have the same number of levels.
    """
    together = {name: group[0] for group in zipped for name in group}
    axes: dict[str, list[Factor]] = {}
    for factor in factors:
        axes.setdefault(together.get(factor.name, factor.name), []).append(factor)
    steps = [
        [
            dict(zip((member.name for member in group), levels, strict=True))
            for levels in _lock(group)
        ]
        for group in axes.values()
    ]
    order = [item.name for item in factors]
    entries: list[Combination] = []
    for parts in itertools.product(*steps):
        merged = {name: level for part in parts for name, level in part.items()}
        entries.append({name: merged[name] for name in order})
    return entries


def _lock(group: Sequence[Factor]) -> list[tuple[Level, ...]]:
    return list(zip(*(member.levels for member in group), strict=True))


def sampled(
    factors: Sequence[Factor], kind: str, points: int, seed: int
) -> tuple[list[Factor], list[Combination]]:
    """Draw a level of each factor for each point; return the factors with the drawn levels.

    "random" draws each factor independently and uniformly over its levels or range. "sobol" takes
    points of a scrambled Sobol sequence, which cover the space more evenly (Owen 1998). Its balance
    is best if the number of points is a power of two.
    """
    if kind == "sobol":
        try:
            from scipy.stats import qmc
        except ImportError as error:
            raise lacking("a Sobol design", "design") from error

        bits = max(1, (points - 1).bit_length())
        engine = qmc.Sobol(len(factors), rng=np.random.default_rng(seed))
        shares = engine.random_base2(bits)[:points]
    else:
        shares = np.random.default_rng(seed).random((points, len(factors)))
    drawn = [factor.with_levels(shares[:, place]) for place, factor in enumerate(factors)]
    combinations: list[Combination] = [
        {draw.name: draw.levels[number] for draw in drawn} for number in range(points)
    ]
    return drawn, combinations
