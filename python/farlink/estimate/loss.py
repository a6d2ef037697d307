"""Maximum-likelihood fits of loss processes, with 95 % intervals.

A loss sequence is an array of booleans: whether each packet, in the order sent, was lost.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from farlink.extras import lacking
from farlink.stats import Estimate, clopper_pearson

__all__ = ["LossFit", "fit_chain", "fit_full", "fit_independent", "fit_time"]

Array = np.ndarray[Any, np.dtype[Any]]

_Z = 1.959963984540054
"""0.975 quantile of the standard normal distribution."""


@dataclass(frozen=True)
class LossFit:
    """Fitted loss model: its parameters with intervals, and its likelihood.

    `stage` is the part of a scenario's channel, and `free` the number of fitted parameters.
    `log_likelihood` is conditional on the first packet.
    """

    model: str
    parameters: dict[str, Estimate]
    stage: dict[str, Any]
    log_likelihood: float
    free: int
    notes: list[str] = field(default_factory=list)

    @property
    def aic(self) -> float:
        """Akaike's criterion, 2 free - 2 log_likelihood; the smaller value is better."""
        return 2 * self.free - 2 * self.log_likelihood


def fit_independent(lost: Array) -> LossFit:
    """Fit independent losses; the interval is that of Clopper and Pearson."""
    n, losses = len(lost), int(lost.sum())
    rate = losses / n
    low, high = clopper_pearson(losses, n)
    after = int(lost[1:].sum())
    likelihood = _xlogy(after, rate) + _xlogy(n - 1 - after, 1 - rate)
    parameters = {"loss": Estimate(rate, low, high, n)}
    return LossFit("independent", parameters, {"loss": rate}, likelihood, 1)


def fit_chain(lost: Array) -> LossFit:
    """Fit the simple Gilbert chain: every packet is lost in the bad state, none in the good.

    With n_ij transitions from state i to state j, the likelihood is maximal at p = n_gb / (n_gg +
    n_gb) and r = n_bg / (n_bg + n_bb) (Billingsley 1961). The intervals of p and r are Clopper and
    Pearson's for those counts. The interval of the burst length 1/r follows from that of r. The
    interval of the loss uses its odds p / r, whose logarithm has the variance (1 - p) / n_gb + (1 -
    r) / n_bg.
    """
    now, after = lost[:-1], lost[1:]
    n_gb, n_bg = int((~now & after).sum()), int((now & ~after).sum())
    n_g, n_b = int((~now).sum()), int(now.sum())
    p, r = n_gb / n_g, n_bg / n_b
    loss = p / (p + r)
    deviation = math.sqrt((1 - p) / n_gb + (1 - r) / n_bg)
    odds = [p / r * math.exp(sign * _Z * deviation) for sign in (-1, 1)]
    p_low, p_high = clopper_pearson(n_gb, n_g)
    r_low, r_high = clopper_pearson(n_bg, n_b)
    likelihood = (
        _xlogy(n_gb, p) + _xlogy(n_g - n_gb, 1 - p) + _xlogy(n_bg, r) + _xlogy(n_b - n_bg, 1 - r)
    )
    parameters = {
        "loss": Estimate(loss, odds[0] / (1 + odds[0]), odds[1] / (1 + odds[1]), len(lost)),
        "burst": Estimate(1 / r, 1 / r_high, 1 / r_low, n_bg),
        "p": Estimate(p, p_low, p_high, n_g),
        "r": Estimate(r, r_low, r_high, n_b),
    }
    stage = {"gilbert": {"loss": loss, "burst": 1 / r}}
    return LossFit("gilbert", parameters, stage, likelihood, 2)


def fit_time(lost: Array, sent: Array) -> LossFit:
    """Fit the simple Gilbert process in continuous time, for arbitrary sending times.

    A packet sent t after another is in the bad state with probability L + (s - L) exp(-m t), where
    s is 1 if the earlier packet was lost, else 0. L and m are estimated by maximum likelihood, and
    the mean burst is 1 / (m (1 - L)). Intervals come from the curvature of the log-likelihood in
    log(L / (1 - L)) and log m.
    """
    now, after = lost[:-1], lost[1:]
    gaps = np.maximum(np.diff(sent), 1e-12)
    start_loss = float(lost.mean())
    chain = fit_chain(lost)
    burst = chain.parameters["burst"].mean or 1.0
    rate = 1 / (burst * float(np.median(gaps)) * (1 - start_loss))
    states = now.astype(np.float64)

    def cost(at: Array) -> float:
        loss, speed = _logistic(at[0]), math.exp(at[1])
        bad = loss + (states - loss) * np.exp(-speed * gaps)
        likelihood = np.where(after, bad, 1 - bad)
        return -float(np.log(np.maximum(likelihood, 1e-300)).sum())

    at, errors, likelihood = _maximise(cost, np.array([_logit(start_loss), math.log(rate)]))
    loss, speed = _logistic(at[0]), math.exp(at[1])
    # log burst = -log m - log(1 - L), so its variance needs the variances of both terms and their
    # covariance.
    slope = np.array([loss, -1.0])
    deviation = math.sqrt(max(float(slope @ errors @ slope), 0.0))
    length = 1 / (speed * (1 - loss))
    logit_error = math.sqrt(errors[0, 0])
    parameters = {
        "loss": Estimate(
            loss,
            _logistic(at[0] - _Z * logit_error),
            _logistic(at[0] + _Z * logit_error),
            len(lost),
        ),
        "burst_s": Estimate(
            length, length * math.exp(-_Z * deviation), length * math.exp(_Z * deviation), len(lost)
        ),
    }
    stage = {"gilbert": {"loss": loss, "burst": f"{_significant(1e3 * length)} ms"}}
    return LossFit("gilbert in time", parameters, stage, likelihood, 2)


def fit_full(lost: Array) -> LossFit:
    """Fit the four probabilities of the Gilbert-Elliott model by maximum likelihood.

    The state is hidden. The forward recursion gives the likelihood, with one matrix power for each
    run of equal outcomes. It is maximised directly; the maximum is the same as that of Baum and
    Welch. Intervals come from the curvature in the log odds. The bad state is the one with the
    smaller probability of delivery.
    """
    starts = np.concatenate([[0], np.flatnonzero(np.diff(lost.astype(np.int8))) + 1, [len(lost)]])
    lengths, kinds = np.diff(starts), lost[starts[:-1]]
    longest = int(lengths.max())
    chain = fit_chain(lost)
    p, r = chain.parameters["p"].mean or 0.1, chain.parameters["r"].mean or 0.1

    def cost(at: Array) -> float:
        to_bad, to_good, h, k = (_logistic(float(place)) for place in at)
        return -_forward(to_bad, to_good, h, k, lengths, kinds, longest)

    # Several starting points, because the likelihood may have more than one maximum.
    guesses = ((0.02, 0.999, 1.0), (0.3, 0.99, 0.3), (0.6, 0.995, 0.2))
    starts_at = [
        np.array([_logit(x) for x in (p * slower, min(r * slower, 0.9), h, k)])
        for h, k, slower in guesses
    ]
    at, errors, likelihood = _maximise(cost, *starts_at)
    if at[2] > at[3]:  # Exchange the names of the two states.
        order = [1, 0, 3, 2]
        at, errors = at[order], errors[np.ix_(order, order)]
    parameters, notes = {}, []
    for i, name in enumerate(("p", "r", "h", "k")):
        value, error = _logistic(float(at[i])), math.sqrt(max(float(errors[i, i]), 0.0))
        if not 0 < error < 10:
            notes.append(f"{name} is at the end of its range or not to be told: it has no interval")
            parameters[name] = Estimate(value, None, None, len(lost))
        else:
            ends = [_logistic(float(at[i]) + sign * _Z * error) for sign in (-1, 1)]
            parameters[name] = Estimate(value, ends[0], ends[1], len(lost))
    stage = {"gilbert": {name: parameter.mean for name, parameter in parameters.items()}}
    return LossFit("gilbert, four probabilities", parameters, stage, likelihood, 4, notes)


def _forward(
    p: float, r: float, h: float, k: float, lengths: Array, kinds: Array, longest: int
) -> float:
    """Return the log-likelihood of the outcomes, conditional on the first packet's outcome.

    `lengths` and `kinds` describe runs of equal outcomes. The state of the first packet has the
    stationary distribution.
    """
    move = np.array([[1 - p, p], [r, 1 - r]])
    powers = [_Powers(np.diag(out) @ move, longest) for out in ([k, h], [1 - k, 1 - h])]
    good, bad = r / (p + r), p / (p + r)
    total = 0.0
    for length, kind in zip(lengths.tolist(), kinds.tolist(), strict=True):
        a, b, c, d, scale = powers[kind].of(length)
        good, bad = good * a + bad * c, good * b + bad * d
        mass = good + bad
        if not mass > 0:
            return -1e300
        total += math.log(mass) + scale
        good, bad = good / mass, bad / mass
    # The other models are conditional on the first packet, so this likelihood is made conditional
    # too.
    first = h * p / (p + r) + k * r / (p + r)
    return total - math.log(max(1 - first if kinds[0] else first, 1e-300))


class _Powers:
    """Cached powers of a non-negative 2 x 2 matrix, with a logarithmic scale factor."""

    def __init__(self, matrix: Array, longest: int) -> None:
        self._known: dict[int, tuple[float, float, float, float, float]] = {}
        # matrix^(2^i), rescaled so that no element underflows.
        self._squares: list[tuple[Array, float]] = [(matrix, 0.0)]
        while (1 << len(self._squares)) <= longest:
            square, scale = self._squares[-1]
            self._squares.append(_scaled(square @ square, 2 * scale))

    def of(self, exponent: int) -> tuple[float, float, float, float, float]:
        known = self._known.get(exponent)
        if known is None:
            product, scale = np.eye(2), 0.0
            for bit, (square, own) in enumerate(self._squares):
                if exponent >> bit & 1:
                    product, scale = _scaled(product @ square, scale + own)
            (a, b), (c, d) = product.tolist()
            known = (a, b, c, d, scale)
            self._known[exponent] = known
        return known


def _scaled(matrix: Array, scale: float) -> tuple[Array, float]:
    largest = float(matrix.max())
    if not largest > 0:
        return matrix, scale
    return matrix / largest, scale + math.log(largest)


def _maximise(cost: Callable[[Array], float], *starts: Array) -> tuple[Array, Array, float]:
    """Return the minimum of a cost, and the covariance and log-likelihood at the minimum."""
    try:
        from scipy.optimize import minimize
    except ImportError as error:
        raise lacking("a fit of bursts", "fit") from error

    coarse: Any = {"xatol": 0.05, "fatol": 0.05, "maxiter": 200}
    rough = min(
        (minimize(cost, start, method="Nelder-Mead", options=coarse) for start in starts),
        key=lambda entry: float(entry.fun),
    )
    exact: Any = {"xatol": 1e-4, "fatol": 1e-5}
    fine = minimize(cost, rough.x, method="Nelder-Mead", options=exact)
    at = np.asarray(fine.x, dtype=np.float64)
    n = len(at)
    step = 1e-3
    curvature = np.zeros((n, n))
    offsets = np.eye(n) * step
    for i in range(n):
        for j in range(i, n):
            corners = [
                cost(at + item * offsets[i] + other * offsets[j])
                for item, other in ((1, 1), (1, -1), (-1, 1), (-1, -1))
            ]
            curvature[i, j] = curvature[j, i] = (
                corners[0] - corners[1] - corners[2] + corners[3]
            ) / (4 * step * step)
    try:
        errors = np.linalg.inv(curvature)
    except np.linalg.LinAlgError:
        errors = np.full((n, n), np.inf)
    return at, errors, -float(fine.fun)


def _logit(value: float) -> float:
    value = min(max(value, 1e-9), 1 - 1e-9)
    return math.log(value / (1 - value))


def _logistic(value: float) -> float:
    return 1 / (1 + math.exp(-max(min(value, 500.0), -500.0)))


def _xlogy(count: int, probability: float) -> float:
    return 0.0 if count == 0 else count * math.log(max(probability, 1e-300))


def _significant(value: float) -> str:
    return f"{value:.6g}"
