"""Parts of a sweep for many machines, and stores of other machines joined into one."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np

from farlink.errors import ScenarioError
from farlink.experiment.execute import Executor
from farlink.experiment.experiment import Experiment
from farlink.experiment.numbers import Numbers
from farlink.experiment.plan import Plan
from farlink.experiment.ranges import Ranges
from farlink.experiment.store import Store
from farlink.experiment.sweep import State, simulate_plan

__all__ = ["join", "parse", "simulate_shard"]


def parse(text: str) -> tuple[int, int]:
    """Parse "3/100": the third of a hundred parts.

    Raises
    ------
    ScenarioError
        If the text is no such pair.
    """
    number, slash, count = text.partition("/")
    if slash and number.isdecimal() and count.isdecimal() and 1 <= int(number) <= int(count):
        return int(number), int(count)
    raise ScenarioError(f"--shard {text}: write for example --shard 3/100, the third of 100 parts")


def simulate_shard(
    plan: Plan,
    shard: tuple[int, int],
    *,
    store: str | Path,
    jobs: int | None = None,
    executor: Executor | None = None,
    progress: Callable[[State], None] | None = None,
) -> State:
    """Simulate every n-th point of a plan, from the k-th on, for `shard` = (k, n).

    Each point belongs to one part, whatever the number of runs. Neighbouring points, which often
    take as long, are in different parts.

    Raises
    ------
    ScenarioError
        If there are more parts than points.
    """
    number, count = shard
    if count > len(plan.points):
        raise ScenarioError(
            f"--shard {number}/{count}: the sweep has {len(plan.points)} points; "
            "write at most as many parts"
        )
    chosen = slice(number - 1, None, count)
    part = replace(plan, points=plan.points[chosen], combinations=plan.combinations[chosen])
    lab = Experiment(store, plan.name, jobs, executor)
    return simulate_plan(part, lab, progress)


def join(plan: Plan, store: str | Path, others: Iterable[str | Path]) -> int:
    """Add the plan's runs of other stores to a store. Returns the number of added runs.

    Runs that the store has already are skipped.

    Raises
    ------
    ScenarioError
        If one of `others` is no store, or a file in it is damaged.
    """
    opened = [Store.there(path) for path in others]
    target = Store(Path(store))
    keys = {point.key for point in plan.points}
    target.describe(plan.name, plan.points)
    count = 0
    for other in opened:
        known = target.covered()
        lacking = []
        for numbers in other.numbers(keys & other.covered().keys()):
            stored = {run for pair in known.get(numbers.point, Ranges()) for run in range(*pair)}
            new = np.array([run not in stored for run in numbers.runs.tolist()], dtype=bool)
            if new.any():
                lacking.append(
                    Numbers(numbers.point, numbers.layout, numbers.runs[new], numbers.values[new])
                )
        target.add(lacking)
        count += sum(len(numbers.runs) for numbers in lacking)
    return count
