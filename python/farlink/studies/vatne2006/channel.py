"""Radio channel: table 5, Gilbert chain, positions and angles, and their interpretations."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from farlink.api import trajectory
from farlink.channels import channel
from farlink.studies.agreement import GridCell
from farlink.studies.cache import Cell
from farlink.studies.grid import Grid, published
from farlink.studies.model import Model
from farlink.studies.quantity import Evidence, Quantity, fact
from farlink.studies.vatne2006.registry import REGISTRY

__all__ = ["rayleigh"]

_STEP_S = 0.00192
_STEPS = 1_000_000

_COLUMNS = ("F (dB)", "P_GG", "P_BB", "alpha", "beta", "1/beta")

_MISPRINTS = {(2, "beta"), (2, "1/beta"), (4, "beta"), (5, "P_GG"), (5, "alpha")}
_MISPRINTS |= {(7, "1/beta"), (8, "P_GG"), (8, "alpha")}
"""Cells (row, column) of table 5 that do not follow from f_d T and P_E."""


def rayleigh(cell: Cell) -> Mapping[str, Any]:
    """Return the fading parameters in a cell's scenario."""
    result: Mapping[str, Any] = cell.scenario["links"][0]["down"]["channel"]["rayleigh"]
    return result


def _published() -> Mapping[str, list[Any]]:
    rows: Mapping[str, list[Any]] = published(str(__package__), "table5")
    return rows


def _computed(doppler: float, loss: float) -> dict[str, float]:
    """Return the columns of a row of table 5 that the engine computes."""
    fading = {"doppler": doppler / _STEP_S, "loss": loss, "step": f"{_STEP_S * 1e3:g} ms"}
    derived = channel({"rayleigh": fading}, packets=1000).derived
    of = {row["name"]: row["value"] for row in derived}
    alpha, beta = of["alpha"], of["beta"]
    values = (of["fade_margin"], 1 - alpha, 1 - beta, alpha, beta, 1 / beta)
    return dict(zip(_COLUMNS, values, strict=True))


def _cells() -> list[tuple[int, str, str, float]]:
    """Return row, column, printed text and computed value of each cell of table 5."""
    entries = []
    for row, (doppler, loss, *printed) in _published().items():
        computed = _computed(doppler, loss)
        for column, text in zip(_COLUMNS, printed, strict=True):
            entries.append((int(row), column, text, computed[column]))
    return entries


def _agrees(text: str, value: float) -> bool:
    return abs(float(text) - value) <= 0.55 * _digit(text)


def _digit(text: str) -> float:
    """Return the value of one in the last printed digit."""
    return float(10.0 ** -len(text.partition(".")[2]))


@REGISTRY.table("table5")
def _table5(_: Model) -> Grid:
    cells = {}
    for row, column, text, value in _cells():
        half = 0.55 * _digit(text)
        printed, ours = float(text), Quantity([value] * 2, "computed")
        cells[str(row), column] = GridCell(
            str(row), column, text, printed, printed - half, printed + half, ours
        )
    rows = list(_published())
    return Grid(_COLUMNS, rows, cells, kind="computed")


@REGISTRY.function("misprints")
def _misprints(_: Model) -> int:
    """Count the cells of table 5 that do not follow from f_d T and P_E."""
    return sum(not _agrees(text, value) for _, _, text, value in _cells())


@REGISTRY.function("cells_agree")
def _cells_agree(_: Model) -> Evidence:
    """Return the fact that exactly the cells in `_MISPRINTS` do not follow from f_d T and P_E."""
    off = {(row, column) for row, column, text, value in _cells() if not _agrees(text, value)}
    return fact(off == _MISPRINTS, f"{54 - len(off)} of 54 cells agree")


def _chain(model: Model) -> Any:  # noqa: ANN401 (a sample)
    alone = {k: v for k, v in rayleigh(model.cell("newreno", "example")).items() if k != "shared"}
    return channel(
        {"rayleigh": alone},
        packets=_STEPS,
        spacing="1 ms",
        bytes=60,
    )


@REGISTRY.function("chain_bad")
def _chain_bad(model: Model) -> float:
    """Return the share of bad steps of the example's Gilbert chain, over a million steps."""
    return float(_chain(model).rows[0].sampled.mean)


@REGISTRY.function("chain_run")
def _chain_run(model: Model) -> float:
    """Return the mean number of consecutive bad steps of the example's Gilbert chain."""
    return float(_chain(model).rows[1].sampled.mean)


@REGISTRY.function("dropped")
def _dropped(_: Model, metres: float) -> float:
    """Return the theoretical loss of packets of 60 bytes over the radio at a distance (m)."""
    radio = {"band": "2400 MHz", "noise": "vatne2006", "distance": f"{metres:g} m"}
    theory = channel({"radio": radio}, packets=1000, bytes=60).rows[0].theory
    return math.nan if theory is None else float(theory)


def _turns(model: Model, turning: float) -> list[NDArray[np.float64]]:
    """Return the angles (rad) between the legs of a moving node far from any border, by run."""
    if model.change.hook == "variance" and turning:
        turning = math.sqrt(turning)
    if model.change.hook == "any_angle":
        turning = 0.0
    mobility: dict[str, Any] = {
        "model": "vatne2006",
        "area": ["1000 km", "1000 km"],
        "speed": ["1 m/s", "1 m/s"],
        "step": "1 s",
        "leg": ["1 s", "1 s"],
        "moves": "one",
    }
    if turning:
        mobility["turning"] = turning
    down = {
        "rate": "250 kbit/s",
        "delay": "1 ms",
        "queue": "unlimited",
        "channel": {"radio": {"band": "2400 MHz", "mobility": mobility}},
    }
    link = {"name": "radio", "between": ["a", "b"], "down": down}
    flow = {"from": "a", "to": "b", "app": "file", "size": "1 kB"}
    rows = []
    for run in range(model.cache.runs):
        scenario = {"links": [link], "flows": [flow], "seed": model.cache.seed}
        path = trajectory(scenario, run=run, duration=4000)
        heading = np.arctan2(path["y1"].diff()[1:], path["x1"].diff()[1:])
        turn = np.diff(heading)
        rows.append(np.abs((turn + np.pi) % (2 * np.pi) - np.pi))
    return rows


@REGISTRY.function("sharp")
def _sharp(model: Model, turning: float) -> Quantity:
    """Return the share of turns by more than 2.5 rad; `turning` 0 means uniform angles."""
    shares = [float(np.mean(row > 2.5)) for row in _turns(model, turning)]
    return Quantity(shares, f"turns beyond 2.5 rad(deviation {turning:g})", "share")


@REGISTRY.function("behind")
def _behind(model: Model, turning: float) -> Quantity:
    """Return the share of turns by more than pi/2; `turning` 0 means uniform angles."""
    shares = [float(np.mean(row > np.pi / 2)) for row in _turns(model, turning)]
    return Quantity(shares, f"turns beyond a right angle(deviation {turning:g})", "share")


def _of(tree: dict[str, Any]) -> dict[str, Any] | None:
    result: dict[str, Any] | None = tree["links"][0]["down"].get("channel", {}).get("rayleigh")
    return result


@REGISTRY.hook("both_ways")
def _both_ways(tree: dict[str, Any]) -> None:
    """Copy the downlink's delay to the uplink, and let both directions share the fades."""
    (link,) = tree["links"]
    link["up"]["delay"] = link["down"]["delay"]
    if (fading := _of(tree)) is not None:
        fading["shared"] = True
        link["up"]["channel"] = {"rayleigh": fading}


@REGISTRY.hook("same_delay")
def _same_delay(tree: dict[str, Any]) -> None:
    """Copy the downlink's delay to the uplink."""
    (link,) = tree["links"]
    link["up"]["delay"] = link["down"]["delay"]


@REGISTRY.hook("row_8_printed")
def _row_8_printed(tree: dict[str, Any]) -> None:
    if (fading := _of(tree)) is not None and fading["beta"] == 0.9881659:
        fading.update(alpha=0.059646, beta=0.988166)


@REGISTRY.hook("interval")
def _interval(tree: dict[str, Any]) -> None:
    if (fading := _of(tree)) is not None:
        fading["exposure"] = tree["links"][0]["down"]["delay"]


@REGISTRY.hook("tenth")
def _tenth(tree: dict[str, Any]) -> None:
    if (fading := _of(tree)) is not None:
        fading["alpha"] /= 10


@REGISTRY.hook("exchanged")
def _exchanged(tree: dict[str, Any]) -> None:
    if (fading := _of(tree)) is not None:
        fading["alpha"], fading["beta"] = fading["beta"], fading["alpha"]


@REGISTRY.hook("variance")
def _variance(_: dict[str, Any]) -> None:
    """Leave the scenario unchanged; `_turns` reads the angle's parameter as a variance."""


@REGISTRY.hook("any_angle")
def _any_angle(_: dict[str, Any]) -> None:
    """Leave the scenario unchanged; `_turns` draws uniform angles."""
