"""Functions of this study for the expressions of its claims."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from farlink.studies.leung1998.registry import REGISTRY
from farlink.studies.model import Model
from farlink.studies.quantity import Evidence, Quantity, best, every

__all__ = ["said", "throughput"]

_SIZES = {"cell", "region"}
_TIMES = {"a", "b"}


def said(model: Model, scene: str, tcp: str, over: Mapping[str, Any]) -> dict[str, Any]:
    """Return the factors of a section's setting for a TCP, overridden by `over`.

    Handoffs are given by sizes (`cell`, `region`) or by times (`a`, `b`). Giving one kind removes
    the other.
    """
    factors = dict(model.plan.constants["SCENES"][scene])
    if over.keys() & _SIZES:
        factors = {name: factor for name, factor in factors.items() if name not in _TIMES}
    if over.keys() & _TIMES:
        factors = {name: factor for name, factor in factors.items() if name not in _SIZES}
        if "a" not in factors:
            factors |= {"a": 140, "b": 3.5}
    factors |= over
    return {
        name: value[tcp] if isinstance(value, dict) else value for name, value in factors.items()
    }


@REGISTRY.function("T")
def throughput(model: Model, scene: str, tcp: str, **over: Any) -> Quantity:  # noqa: ANN401
    """Return the throughput in a section's setting: KB/s in chapter 4, bytes/s in chapter 5."""
    measure = "thr" if scene.startswith("4") else "rate"
    return model.measure(measure, tcp, **said(model, scene, tcp, over))


@REGISTRY.function("M")
def _measure(model: Model, name: str, scene: str, tcp: str, **over: Any) -> Quantity:  # noqa: ANN401
    """Return a measure in a section's setting."""
    return model.measure(name, tcp, **said(model, scene, tcp, over))


def _over(
    model: Model, scene: str, tcp: str, factor: str, grid: Sequence[float], over: Mapping[str, Any]
) -> dict[float, Quantity]:
    """Return the throughput at each value of a factor."""
    return {point: throughput(model, scene, tcp, **{**over, factor: point}) for point in grid}


@REGISTRY.function("near")
def _near(
    model: Model,
    scene: str,
    tcp: str,
    factor: str,
    value: float,
    grid: Sequence[float],
    slack: float,
    **over: Any,  # noqa: ANN401
) -> Evidence:
    """Return evidence that a value gives at least (1 - slack) of the grid's highest throughput."""
    result = _over(model, scene, tcp, factor, grid, over)
    ours = throughput(model, scene, tcp, **{**over, factor: value})
    return every(ours >= (1 - slack) * match for key, match in result.items() if key != value)


@REGISTRY.function("best_is")
def _best_is(
    model: Model,
    scene: str,
    tcp: str,
    factor: str,
    grid: Sequence[float],
    value: float,
    **over: Any,  # noqa: ANN401
) -> Evidence:
    """Return evidence that a value has the highest throughput of a grid."""
    return best(_over(model, scene, tcp, factor, grid, over), (value,))


def _rows(values: Mapping[float, Quantity]) -> tuple[Any, Any, frozenset[str]]:
    """Return the points, a row of their values for each, and the keys of their cells."""
    runs = min(len(match.values) for match in values.values())
    rows = np.array([match.values[:runs] for match in values.values()])
    cells = frozenset[str]().union(*(match.cells for match in values.values()))
    return np.array(list(values)), rows, cells


@REGISTRY.function("best")
def _best(
    model: Model,
    scene: str,
    tcp: str,
    factor: str,
    grid: Sequence[float],
    **over: Any,  # noqa: ANN401
) -> Quantity:
    """Return the value of a factor with the highest throughput, for each run."""
    points, rows, cells = _rows(_over(model, scene, tcp, factor, grid, over))
    chosen = points[np.argmax(np.nan_to_num(rows), axis=0)].astype(np.float64)
    chosen[np.isnan(rows).any(axis=0)] = math.nan
    return Quantity(chosen, f"best {factor}({scene}, {tcp})", "", cells)


@REGISTRY.function("least")
def _least(
    model: Model,
    scene: str,
    tcp: str,
    factor: str,
    grid: Sequence[float],
    slack: float,
    **over: Any,  # noqa: ANN401
) -> Quantity:
    """Return the least value with a mean >= (1 - slack) of the best (leave one run out)."""
    points, rows, cells = _rows(_over(model, scene, tcp, factor, grid, over))
    chosen = []
    for run in range(rows.shape[1]):
        means = np.delete(rows, run, axis=1).mean(axis=1)
        good = np.flatnonzero(means >= (1 - slack) * np.max(means))
        chosen.append(float(points[good[0]]) if len(good) else math.nan)
    return Quantity(chosen, f"least good {factor}({scene}, {tcp})", "", cells)


@REGISTRY.function("optimum")
def _optimum(
    model: Model,
    scene: str,
    tcp: str,
    factor: str,
    printed: float,
    grid: Sequence[float],
    slack: float,
    **over: Any,  # noqa: ANN401
) -> Quantity:
    """Return the best value of a factor: the printed value if the optimum is that flat.

    The printed value is the best if its mean throughput is at least (1 - slack) of the grid's
    highest. Otherwise the value with the highest mean is returned, with one value per run.
    """
    points, rows, cells = _rows(_over(model, scene, tcp, factor, grid, over))
    means = rows.mean(axis=1)
    if np.isnan(means).any():
        chosen = math.nan
    else:
        flat = means[points == printed].max(initial=-math.inf) >= (1 - slack) * means.max()
        chosen = printed if flat else float(points[np.argmax(means)])
    return Quantity([chosen] * rows.shape[1], f"best {factor}({scene}, {tcp})", "", cells)


@REGISTRY.function("top")
def _top(
    model: Model,
    scene: str,
    tcp: str,
    factor: str,
    grid: Sequence[float],
    **over: Any,  # noqa: ANN401
) -> Quantity:
    """Return the throughput at the value of a factor with the highest mean."""
    return _highest(list(_over(model, scene, tcp, factor, grid, over).values()))


def _highest(given: Sequence[Quantity]) -> Quantity:
    return max(given, key=lambda item: np.nan_to_num(item.mean))


@REGISTRY.function("spread_of")
def _spread_of(_: Model, given: Sequence[Quantity]) -> Quantity:
    """Return (highest - lowest) / highest of the means, which noise biases upwards."""
    high = _highest(given)
    low = min(given, key=lambda item: np.nan_to_num(item.mean))
    return ((high - low) / high).named(f"spread({high.label} ...)")


@REGISTRY.function("gm")
def _gm(_: Model, given: Sequence[Quantity]) -> Quantity:
    """Return the geometric mean of the quantities' means, with one value for each run."""
    runs = min(len(setting.values) for setting in given)
    rows = np.array([setting.values[:runs] for setting in given])
    cells = frozenset[str]().union(*(setting.cells for setting in given))
    with np.errstate(invalid="ignore", divide="ignore"):
        # The result is linear in the deviations, so that the mean over the runs is exact and the
        # spread is of first order.
        means = rows.mean(axis=1, keepdims=True)
        values = np.exp(np.log(means).mean()) * (1 + (rows / means - 1).mean(axis=0))
    return Quantity(values, f"mean({given[0].label} ...)", "", cells)


@REGISTRY.function("zip")
def _zip(_: Model, *given: Sequence[Any]) -> list[Any]:
    return list(zip(*given, strict=True))


# --- Arithmetic of the study


@REGISTRY.function("sat_loss")
def _sat_loss(_: Model, b: float, g: float, clear: float, rain: float, data: int, ack: int) -> Any:  # noqa: ANN401
    """Compute equations 1 to 3: mean loss ratio of data, of ACKs, and of either."""

    def mean(bits: int) -> float:
        return (g * (1 - (1 - clear) ** bits) + b * (1 - (1 - rain) ** bits)) / (b + g)

    forward, back = mean(data), mean(ack)
    return forward, back, forward + (1 - forward) * back


@REGISTRY.function("handoff_mean")
def _handoff_mean(_: Model, half: float, speed: float) -> float:
    """Compute equations 6 to 8: mean stay (s) in a region of 2 `half` m at `speed` km/h."""
    return half / (math.log(2) * speed / 3.6)


@REGISTRY.function("packet_error_rate")
def _packet_error_rate(_: Model, ber: float, size: int) -> float:
    """Compute equation 10: packet error rate, with `size` in bytes."""
    return 1 - (1 - ber) ** (8 * size)


@REGISTRY.function("derived")
def _derived(model: Model, name: str, scene: str, tcp: str, **over: Any) -> float:  # noqa: ANN401
    """Return a value that the engine derives for the mobile channel, such as mean_fade. ... ..."""
    return _of_channel(model, "radio", "mobile", name)(scene, tcp, over)


@REGISTRY.function("internet")
def _internet(model: Model, name: str) -> float:
    """Return a derived value, or a key, of the engine's Internet delay."""
    return _of_channel(model, "internet", "internet_delay", name)("4.4", "reno", {})


def _of_channel(
    model: Model, link: str, kind: str, name: str
) -> Callable[[str, str, Mapping[str, Any]], float]:
    from farlink.channels import channel

    def find(scene: str, tcp: str, over: Mapping[str, Any]) -> float:
        cell = model.cell(tcp, **said(model, scene, tcp, over))
        links: Any = cell.scenario["links"]
        down = next(item for item in links if item["name"] == link)["down"]
        # A channel for one direction does not accept `shared`.
        stage = {k: v for k, v in down["channel"].get(kind, {}).items() if k != "shared"}
        if name in stage:
            return float(stage[name])
        derived = channel({kind: stage}, packets=1000).derived
        return next((float(row["value"]) for row in derived if row["name"] == name), math.nan)

    return find


@REGISTRY.function("fragments")
def _fragments(model: Model, mss: int, header: int) -> float:
    """Return the number of IP fragments of a segment on the satellite link.

    `header` is the size of the TCP header (bytes). The engine's header has 20 bytes, so the excess
    is subtracted from the MTU.
    """
    cell = model.cell("reno", mss=mss, mtws=16, mad=1)
    links: Any = cell.scenario["links"]
    lan = next(link for link in links if link["name"] == "lan")["down"]
    longest = int(str(lan["mtu"]).split()[0]) + 22 - header
    data = mss + 20
    return 1 if data + 20 <= longest else math.ceil(data / (8 * ((longest - 20) // 8)))
