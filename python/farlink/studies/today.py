"""Simulates the main questions of the studies with recent TCPs.

`python -m farlink.studies.today --out DIR` simulates the questions in today.toml. It writes a table
(Markdown and CSV, with 95 % intervals) and a figure for each question.
docs/studies/what-we-learned.md contains these tables and figures.
"""

import argparse
import copy
import csv
import io
import json
import math
import os
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from farlink import files, pictures
from farlink.errors import FarlinkError, ScenarioError
from farlink.stats import Estimate, mean_ci95
from farlink.studies import find
from farlink.studies.cache import Cell, SimulationCache
from farlink.studies.model import put
from farlink.studies.quantity import Quantity, short

__all__ = ["Answer", "Gain", "Question", "answer", "main", "questions"]

_AXES = ("place", "mechanism", "stack")


@dataclass(frozen=True)
class Question:
    """Question: a measure over places, mechanisms of the network, and TCP stacks.

    Attributes
    ----------
    id, asks
        Name and text of the question.
    study
        Study that provides the scenario; empty if `model` does.
    measure, unit, scale
        Metric of flow 0, its printed unit, and the factor of printed values.
    model
        Scenario of the question, unless a study provides it.
    place, mechanism, stack
        Settings by name: `point` gives factors of the study, `sets` gives values by path, and
        `drops` gives paths to delete. `tcp` of a stack replaces the scenario's table [tcp] except
        `mss`.
    gains
        Pairs of names on one axis whose ratio is computed.
    """

    id: str
    asks: str
    measure: str
    unit: str
    model: Mapping[str, Any] = field(default_factory=dict)
    study: str = ""
    scale: float = 1.0
    place: Mapping[str, Any] = field(default_factory=lambda: {"": {}})
    mechanism: Mapping[str, Any] = field(default_factory=lambda: {"": {}})
    stack: Mapping[str, Any] = field(default_factory=dict)
    gains: Sequence[Sequence[str]] = ()

    def cell(self, place: str, mechanism: str, stack: str) -> Cell:
        """Return the scenario of a place, a mechanism and a stack."""
        lines = [self.place[place], self.mechanism[mechanism], self.stack[stack]]
        if self.study:
            model = find(self.study).model(SimulationCache())
            point = {
                key: value for message in lines for key, value in message.get("point", {}).items()
            }
            # Positional factors of the study come first, so that the others override their
            # settings.
            point = {
                key: point[key] for key in sorted(point, key=lambda key: key not in model.plan.args)
            }
            tree = copy.deepcopy(dict(model.cell(**point).scenario))
        else:
            tree = copy.deepcopy(dict(self.model))
        for message in lines:
            if "tcp" in message:
                tree["tcp"] = {"mss": tree["tcp"]["mss"], **message["tcp"]}
            for path, value in message.get("sets", {}).items():
                put(tree, path, value)
            for path in message.get("drops", ()):
                put(tree, path, None)
        name = ", ".join(part for part in (self.id, place, mechanism, stack) if part)
        return Cell(name, tree)


@dataclass(frozen=True)
class Gain:
    """Ratio of two cases in the same place, over the same runs."""

    where: tuple[str, str]
    of: str
    over: str
    ratio: Estimate


@dataclass(frozen=True)
class Answer:
    """Quantities of a question by place, mechanism and stack, and their ratios."""

    question: Question
    values: Mapping[tuple[str, str, str], Quantity]
    gains: Sequence[Gain]


def questions() -> Mapping[str, Question]:
    """Return all questions by their ids."""
    text = resources.files(__package__).joinpath("today.toml").read_text(encoding="utf-8")
    tree = tomllib.loads(text)
    kernels = tree.get("stack", {})
    table = {}
    for row in tree["question"]:
        stacks = {name: {"tcp": kernels[name]} for name in row.pop("kernels", [])}
        row["stack"] = {**row.get("stack", {}), **stacks}
        table[row["id"]] = Question(**row)
    return table


def _cells(question: Question) -> Iterator[tuple[tuple[str, str, str], Cell]]:
    for place in question.place:
        for mechanism in question.mechanism:
            for stack in question.stack:
                yield (place, mechanism, stack), question.cell(place, mechanism, stack)


def answer(question: Question, cache: SimulationCache) -> Answer:
    """Simulate all cases of a question."""
    cells = dict(_cells(question))
    cache.prefetch(cells.values())
    values = {}
    for key, cell in cells.items():
        quantity = cache.flow(cell, question.measure)
        values[key] = Quantity(quantity.values * question.scale, cell.label, question.unit)
    gains = [gain for of, over in question.gains for gain in _gains(values, of, over)]
    return Answer(question, values, gains)


def _gains(values: Mapping[tuple[str, str, str], Quantity], of: str, over: str) -> Iterator[Gain]:
    for key, value in values.items():
        for axis in range(len(_AXES)):
            a, b, c = (over if place == axis else name for place, name in enumerate(key))
            other = (a, b, c)
            if key[axis] == of and other in values:
                left = [name for place, name in enumerate(key) if place != axis]
                yield Gain((left[0], left[1]), of, over, _ratio(value, values[other]))


def _ratio(a: Quantity, b: Quantity) -> Estimate:
    """Return the geometric mean of the runs' ratios, with the interval from their logarithms."""
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(a.values / b.values)
    estimate = mean_ci95([float(log) if math.isfinite(log) else None for log in logs])
    mean, low, high = (
        None if item is None else math.exp(item)
        for item in (estimate.mean, estimate.low, estimate.high)
    )
    return Estimate(mean, low, high, estimate.n)


# --- Output


def _text(quantity: Quantity) -> str:
    estimate = quantity.estimate
    if estimate.mean is None:
        return "none came through"
    missing = len(quantity.values) - estimate.n
    half = f" ± {short(estimate.half_width, 2)}" if estimate.half_width else ""
    return f"{short(estimate.mean, 3)}{half}" + (f" ({missing} runs failed)" if missing else "")


def _ratio_text(ratio: Estimate) -> str:
    if ratio.mean is None or ratio.low is None or ratio.high is None:
        return "-"
    return f"{short(ratio.mean, 3)} ({short(ratio.low, 3)} to {short(ratio.high, 3)})"


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |\n"


def _markdown(answer: Answer) -> str:
    question, stacks = answer.question, list(answer.question.stack)
    text = (
        f"## {question.id}\n\n{question.asks}\n\n{question.measure} in {question.unit}, 95 %:\n\n"
    )
    text += _row(["", *stacks]) + _row(["---"] * (1 + len(stacks)))
    for place in question.place:
        for mechanism in question.mechanism:
            name = ", ".join(part for part in (place, mechanism) if part)
            cells = [_text(answer.values[place, mechanism, stack]) for stack in stacks]
            text += _row([name, *cells])
    text += "\n"
    for of, over in question.gains:
        rows = [gain for gain in answer.gains if (gain.of, gain.over) == (of, over)]
        text += f"{of} over {over}:\n\n" + _row(["", "ratio"]) + _row(["---"] * 2)
        for row in rows:
            where = ", ".join(part for part in row.where if part)
            text += _row([where, _ratio_text(row.ratio)])
        text += "\n"
    return text


def _csv(answer: Answer) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([*_AXES, "measure", "unit", "mean", "ci95_low", "ci95_high", "n"])
    question = answer.question
    for key, quantity in answer.values.items():
        item = quantity.estimate
        writer.writerow(
            [*key, question.measure, question.unit, item.mean, item.low, item.high, item.n]
        )
    return out.getvalue()


def _draw(answer: Answer, path: Path) -> None:
    """Draw a panel per place, with mean and 95 % interval per mechanism and stack."""
    from farlink.plot.sheet import points, sheet, styled
    from farlink.plot.style import PALETTE

    @styled
    def make() -> Any:  # noqa: ANN401 (a figure)
        question = answer.question
        places, mechanisms = list(question.place), list(question.mechanism)
        rows = len(question.stack)
        # The marks of a row use at most 0.8 of its height, which separates them from the next row's
        # marks.
        step = min(0.22, 0.8 / len(mechanisms))
        each = max(0.30, 0.13 * len(mechanisms))
        height = 0.8 + each * rows * math.ceil(len(places) / 3) + 0.5 * math.ceil(len(places) / 3)
        figure = sheet(height)
        columns = min(3, len(places))
        grid = figure.subplots(
            math.ceil(len(places) / columns), columns, sharey=True, squeeze=False
        )
        for axes in grid.flat[len(places) :]:
            axes.set_axis_off()
        for axes, place in zip(grid.flat, places, strict=False):
            for i, mechanism in enumerate(mechanisms):
                shift = (i - (len(mechanisms) - 1) / 2) * step
                for j, stack in enumerate(question.stack):
                    item = answer.values[place, mechanism, stack].estimate
                    if item.mean is None:
                        continue
                    axes.errorbar(
                        item.mean,
                        j + shift,
                        xerr=item.half_width,
                        color=PALETTE[i],
                        marker="os^Dv"[i],
                        ms=4,
                        capsize=2,
                        label=mechanism if not j else None,
                    )
            axes.set_title(place, fontsize=points(9))
            axes.set_yticks(range(rows), list(question.stack))
            axes.set_ylim(rows - 0.5, -0.5)
            axes.set_xlim(0, 1.06 * axes.dataLim.x1)
        figure.supxlabel(f"{question.measure} ({question.unit})", fontsize=points(9))
        if len(mechanisms) > 1:
            handles, labels = grid.flat[0].get_legend_handles_labels()
            figure.legend(handles, labels, loc="outside upper right", ncols=len(mechanisms))
        return figure

    make().savefig(path, dpi=130)


def main(args: Sequence[str] | None = None) -> int:
    """Run the command line described in the docstring of the module."""
    parser = argparse.ArgumentParser(prog="python -m farlink.studies.today", description=__doc__)
    parser.add_argument("--only", default="", help="ids of questions, or how they begin: A,B")
    parser.add_argument("--runs", type=int, default=30, help="runs of each point (default 30)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--store", help="keep numbers here; what is there is not run again")
    parser.add_argument("--out", default="farlink-out/today", help="where the files go")
    options = parser.parse_args(args)
    try:
        return _main(options)
    except FarlinkError as error:
        sys.stderr.write(f"farlink: {error}\n")
        return 2


def _main(options: argparse.Namespace) -> int:
    if options.runs < 2:
        raise ScenarioError("--runs must be 2 or more: one run has no interval")
    words = [word for word in options.only.split(",") if word]
    known = questions()
    for word in words:
        if not any(id.startswith(word) for id in known):  # noqa: A001
            raise ScenarioError(f"--only {word}: there are {', '.join(known)}")
    asked = [q for q in known.values() if not words or any(q.id.startswith(w) for w in words)]
    cache = SimulationCache(
        runs=options.runs, seed=options.seed, jobs=options.jobs, store=options.store
    )
    out = Path(options.out)
    pages = []
    code = 0
    for question in asked:
        answered = answer(question, cache)
        pages.append(_markdown(answered))
        files.write_text(out / f"{question.id}.csv", _csv(answered))
        scenarios = {cell.label: json.loads(cache.text(cell)) for _, cell in _cells(question)}
        files.write_text(out / f"{question.id}.json", json.dumps(scenarios, indent=1))
        try:
            _draw(answered, out / f"{question.id}.png")
        except Exception as error:
            reason = pictures.failure(error)
            sys.stderr.write(f"farlink: figure {question.id} is missing: {reason}\n")
            code = 3
        sys.stdout.write(f"{pages[-1]}\n")
        sys.stdout.flush()
    files.write_text(out / "today.md", "\n".join(pages))
    return code


if __name__ == "__main__":
    sys.exit(main())
