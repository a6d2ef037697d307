"""Goals of a search for settings."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from farlink.errors import ScenarioError
from farlink.experiment import Experiment, Point

__all__ = ["GOALS", "Goal", "Objective", "goal", "objective"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Goal:
    """Measure, and whether a larger value is better."""

    name: str
    measure: str
    unit: str
    more: bool = True

    @property
    def sign(self) -> int:
        """1 if more is better, else -1."""
        return 1 if self.more else -1


GOALS = {
    "goodput": Goal("goodput", "goodput", "bit/s"),
    "time": Goal("time", "duration", "s", more=False),
    "delay": Goal("delay", "rtt_mean", "s", more=False),
    "fairness": Goal("fairness", "jain", ""),
    "retransmitted": Goal("retransmitted", "retransmitted_share", "", more=False),
}
"""Goals by name.

goodput of all flows, completion time, mean RTT under load (with queues and delayed ACKs), Jain's
index over the flows, and share of retransmitted data.
"""


@dataclass(frozen=True)
class Objective:
    """Weighted sum of goals; with several, each is divided by the default setting's mean."""

    goals: tuple[tuple[Goal, float], ...]

    @property
    def name(self) -> str:
        """Goals and weights as the user writes them."""
        if len(self.goals) == 1:
            return self.goals[0][0].name
        return ",".join(f"{item.name}={weight:g}" for item, weight in self.goals)

    @property
    def unit(self) -> str:
        """Unit of the value: the unit of a single goal; empty for a sum."""
        return self.goals[0][0].unit if len(self.goals) == 1 else ""

    @property
    def more(self) -> bool:
        """Whether a larger value is better; always true for a sum."""
        return self.goals[0][0].more if len(self.goals) == 1 else True

    def values(self, lab: Experiment, point: Point, base: Point, runs: int) -> Array:
        """Return the value of each run of a point; infinitely bad if the run has no value.

        For example, an unfinished run has no completion time.
        """
        if len(self.goals) == 1:
            item = self.goals[0][0]
            values = lab.values(point, item.measure, runs)
            return np.where(np.isnan(values), -item.sign * np.inf, values)
        total = np.zeros(runs)
        for item, weight in self.goals:
            values = lab.values(point, item.measure, runs)
            usual = float(np.nanmean(lab.values(base, item.measure, runs)))
            if not np.isfinite(usual) or usual == 0:
                raise ScenarioError(
                    f"objective {item.name}: the default has no value above 0 to count in parts of"
                )
            part = weight * item.sign * values / usual
            total += np.where(np.isnan(values), -np.inf, part)
        return total


def goal(text: str) -> Goal:
    """Return a goal by its name; "max:MEASURE" and "min:MEASURE" accept any measure.

    Raises
    ------
    ScenarioError
        If the goal is unknown.
    """
    if text in GOALS:
        return GOALS[text]
    way, colon, measure = text.partition(":")
    if colon and way in ("max", "min") and measure:
        return Goal(text, measure, "", way == "max")
    raise ScenarioError(
        f"objective {text!r} is not known; write {', '.join(GOALS)}, max:MEASURE or min:MEASURE "
        "(`farlink list metrics` lists measures)"
    )


def objective(text: str) -> Objective:
    """Parse "goodput", or a weighted sum "goodput=1,delay=0.5".

    Raises
    ------
    ScenarioError
        If a goal is unknown or a weight is not a number above 0.
    """
    goals = []
    for part in text.split(","):
        name, equals, weight = part.strip().partition("=")
        try:
            number = float(weight) if equals else 1.0
        except ValueError:
            number = 0.0
        if not 0 < number < np.inf:
            raise ScenarioError(f"objective {part.strip()!r}: write a weight above 0")
        goals.append((goal(name), number))
    return Objective(tuple(goals))
