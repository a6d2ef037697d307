"""Posterior ranges of unknowns, excluded levels, and importance of each unknown.

The trials of a search give the simulated value of each fitted cell at some points. A Gaussian
process per cell (squared exponential, one length for all unknowns) interpolates the logarithm of
the value. Its leave-one-out error is part of the standard error. Metropolis chains draw from the
posterior of the interpolated values with a uniform prior; a step changes one unknown. A level of an
unknown is excluded if the best trial with it is 100 times less likely than the best of all.
"""

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from farlink.extras import lacking
from farlink.studies.inference.likelihood import DISCREPANCIES, log_likelihood, log_mean_exp
from farlink.studies.inference.unknowns import Unknown
from farlink.tuning.space import Level

__all__ = ["EXCLUDED", "Interpolation", "Posterior", "coordinates", "excluded", "posterior"]

Array = NDArray[np.float64]

EXCLUDED = math.log(100)
"""Difference of log likelihoods from which a level counts as excluded."""

_CHAINS, _STEPS, _WARM = 8, 1500, 300
"""Chains, their steps, and the first steps, which are left out."""

_STARTS = 50
"""Draws from the prior, the best of which starts a chain."""

_STRIDE = 0.2
"""Standard deviation of a step in an unknown with a range, as a share of the range."""

_LENGTHS = (0.25, 0.5, 1.0, 2.0, 4.0)
"""Lengths of the Gaussian process that are tried, in units of the whole range."""

_NUGGET = 1e-2
"""Variance of a simulated value relative to that of the process."""

_FEWEST = 3
"""Smallest number of trials with a level that may exclude it."""

_SOBOL = 256
"""Base samples of the Sobol analysis."""


@dataclass(frozen=True)
class Posterior:
    """Posterior of the unknowns.

    Attributes
    ----------
    ranges
        5, 50 and 95 % quantiles of each unknown with a range.
    shares
        Probability of each level, for each unknown with levels.
    effective
        Number of independent draws with the same information, by the autocorrelation of the
        likelihood.
    importance
        First-order and total Sobol index of each unknown, for the typical factor over the fitted
        cells.
    """

    ranges: Mapping[str, tuple[float, float, float]]
    shares: Mapping[str, Mapping[str, float]]
    effective: float
    importance: Mapping[str, tuple[float, float]]


def coordinates(members: Sequence[Unknown], levels: Mapping[str, Level]) -> Array:
    """Return a point of the unknowns as coordinates: 0 to 1 for a range, one-hot for levels.

    One-hot coordinates are scaled so that two levels are a distance of 1 apart.
    """
    parts: list[float] = []
    for item in members:
        number = item.knob.number(levels[item.id])
        if item.knob.is_range:
            low, high = item.knob.low, item.knob.high
            if item.knob.is_log:
                number, low, high = math.log(number), math.log(low), math.log(high)
            parts.append((number - low) / (high - low))
        else:
            place = int(number)
            parts += [float(k == place) / 2**0.5 for k in range(len(item.knob.levels))]
    return np.array(parts)


class Interpolation:
    """Gaussian process through the values of one cell.

    Parameters
    ----------
    points
        Coordinates of the trials, one row each.
    values
        Value of the cell in each trial.
    """

    def __init__(self, points: Array, values: Array) -> None:
        self._points = points
        self._mean = float(np.mean(values))
        rest = values - self._mean
        squares = _squares(points, points)
        fits = [(*_fit(squares, rest, length), length) for length in _LENGTHS]
        self.error, self._weights, self._length = min(fits, key=lambda fit: fit[0])

    def at(self, points: Array) -> Array:
        """Return the interpolated values at coordinates, one row each."""
        kernel = np.exp(-_squares(points, self._points) / (2 * self._length**2))
        values: Array = self._mean + kernel @ self._weights
        return values


def _squares(a: Array, b: Array) -> Array:
    distance: Array = np.maximum(
        np.sum(a**2, axis=1)[:, None] + np.sum(b**2, axis=1)[None, :] - 2 * a @ b.T, 0.0
    )
    return distance


def _fit(squares: Array, rest: Array, length: float) -> tuple[float, Array]:
    """Return the leave-one-out error and the weights of a process of one length."""
    kernel = np.exp(-squares / (2 * length**2)) + _NUGGET * np.eye(len(rest))
    inverse = np.linalg.inv(kernel)
    weights = inverse @ rest
    # Error of each value from all others (Sundararajan and Keerthi 2001, eq. 10).
    errors = weights / np.diag(inverse)
    return float(np.sqrt(np.mean(errors**2))), weights


@dataclass(frozen=True)
class CellValues:
    """Printed interval of a fitted cell, and its values in the trials (NaN where pruned)."""

    value: float
    low: float
    high: float
    means: Array
    error: float


def posterior(
    members: Sequence[Unknown],
    points: Array,
    cells: Sequence[CellValues],
    seed: int,
) -> Posterior:
    """Return the posterior of the unknowns from the trials of a search.

    Parameters
    ----------
    members
        Unknowns.
    points
        Coordinates of the trials, one row each.
    cells
        Fitted cells with a positive printed value.
    seed
        Seed of the draws.
    """
    processes = [_process(points, cell) for cell in cells]
    draws, effective = _chains(members, cells, processes, seed)
    levels = [_levels(members, row) for row in draws]
    ranges, shares = {}, {}
    for item in members:
        numbers = [item.knob.number(level[item.id]) for level in levels]
        if item.knob.is_range:
            low, middle, high = np.quantile(numbers, (0.05, 0.5, 0.95)).tolist()
            ranges[item.id] = (low, middle, high)
        else:
            shares[item.id] = {
                str(name): float(np.mean(np.array(numbers) == index))
                for index, name in enumerate(item.knob.levels)
            }
    return Posterior(ranges, shares, effective, _importance(members, cells, processes, seed))


def _process(points: Array, cell: CellValues) -> Interpolation:
    known = np.isfinite(cell.means) & (cell.means > 0)
    return Interpolation(points[known], np.log(cell.means[known]))


def _chains(
    members: Sequence[Unknown],
    cells: Sequence[CellValues],
    processes: Sequence[Interpolation],
    seed: int,
) -> tuple[Array, float]:
    """Return draws of all chains (shares of the ranges), and their effective number."""
    random = np.random.default_rng(seed)

    def worth(shares: Array) -> float:
        place = coordinates(members, _levels(members, shares))[None, :]
        means = [math.exp(float(process.at(place)[0])) for process in processes]
        return log_mean_exp(
            [_log_likelihood(cells, processes, means, share) for share in DISCREPANCIES]
        )

    draws, worths = [], []
    for _ in range(_CHAINS):
        starts = random.random((_STARTS, len(members)))
        logs = [worth(start) for start in starts]
        here, now = starts[int(np.argmax(logs))], max(logs)
        for step in range(_STEPS):
            there = _stepped(members, here, random)
            then = worth(there)
            if math.log(random.random()) < then - now:
                here, now = there, then
            if step >= _WARM:
                draws.append(here)
                worths.append(now)
    return np.array(draws), _effective(np.array(worths).reshape(_CHAINS, -1))


def _stepped(members: Sequence[Unknown], shares: Array, random: np.random.Generator) -> Array:
    """Return shares after a step in one unknown: a reflected normal step, or any level."""
    there = shares.copy()
    place = int(random.integers(len(members)))
    if members[place].knob.is_range:
        moved = abs(there[place] + _STRIDE * random.standard_normal()) % 2
        there[place] = min(moved, 2 - moved)
    else:
        there[place] = random.random()
    return there


def _effective(chains: Array) -> float:
    """Return the effective number of draws of chains, from the autocorrelation of their values.

    The sum ends at the first correlation that is not positive.
    """
    away = chains - chains.mean()
    variance = float(np.mean(away**2))
    if variance == 0:
        return 1.0
    steps, total = chains.shape[1], 0.0
    for lag in range(1, steps):
        correlation = float(np.mean(away[:, lag:] * away[:, :-lag])) / variance
        if correlation <= 0:
            break
        total += correlation
    return chains.size / (1 + 2 * total)


def _log_likelihood(
    cells: Sequence[CellValues],
    processes: Sequence[Interpolation],
    means: Sequence[float],
    share: float,
) -> float:
    terms = []
    for cell, process, mean in zip(cells, processes, means, strict=True):
        error = math.hypot(cell.error, process.error * mean)
        terms.append(log_likelihood(cell.value, cell.low, cell.high, mean, error, share))
    return math.fsum(terms)


def _levels(members: Sequence[Unknown], shares: Sequence[float] | Array) -> dict[str, Level]:
    return {
        item.id: item.knob.at(float(share)) for item, share in zip(members, shares, strict=True)
    }


def _importance(
    members: Sequence[Unknown],
    cells: Sequence[CellValues],
    processes: Sequence[Interpolation],
    seed: int,
) -> dict[str, tuple[float, float]]:
    """Return the Sobol indices of the typical factor between both values, by unknown."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from SALib.analyze import sobol
            from SALib.sample import sobol as samples
    except ImportError as error:
        raise lacking("--infer", "tune") from error
    names = [item.id for item in members]
    problem: dict[str, Any] = {"num_vars": len(names), "names": names}
    problem["bounds"] = [[0.0, 1.0]] * len(names)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        shares = samples.sample(problem, _SOBOL, calc_second_order=False, seed=seed)
        places = np.array([coordinates(members, _levels(members, row)) for row in shares])
        factors = [
            np.abs(process.at(places) - math.log(cell.value))
            for cell, process in zip(cells, processes, strict=True)
        ]
        indices = sobol.analyze(
            problem, np.mean(factors, axis=0), calc_second_order=False, seed=seed
        )
    pairs = zip(names, indices["S1"], indices["ST"], strict=True)
    return {name: (float(first), float(total)) for name, first, total in pairs}


def excluded(
    members: Sequence[Unknown], trials: Sequence[tuple[Mapping[str, Level], float]]
) -> dict[str, list[str]]:
    """Return the levels that the fitted numbers exclude, by unknown.

    `trials` has the levels and the log likelihood of each trial that was not pruned.
    """
    results = {}
    for item in members:
        if item.knob.is_range:
            continue
        best: dict[str, float] = {}
        counts: dict[str, int] = {}
        for levels, worth in trials:
            name = str(levels[item.id])
            best[name] = max(best.get(name, -math.inf), worth)
            counts[name] = counts.get(name, 0) + 1
        top = max(best.values(), default=-math.inf)
        results[item.id] = [
            name
            for name, worth in best.items()
            if top - worth > EXCLUDED and counts[name] >= _FEWEST
        ]
    return results
