"""Read the lessons of web/lessons, and check their questions and figures with the engine.

`python tools/lessons.py [FILE ...]` with the installed package: checks the named files, or all. It
prints a line for each lesson, and one for each mistake. `docs/lessons.md` describes the format.
"""

import ast
import copy
import math
import operator
import re
import statistics
import sys
import tomllib
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import farlink as fl
from farlink.stats import mean_ci95
from farlink.units import parse_rate, parse_size, parse_time

LESSONS = Path(__file__).resolve().parents[1] / "web" / "lessons"

#: Sections of a lesson, in this order.
SECTIONS = ("Lesson", "Question", "Hint", "Answer", "For the teacher", "Exercise sheet")

#: Settings that are no paths of the scenario.
TCPS, RUNS = "tcps", "runs"

#: Units of the texts of facts: factor from the base unit.
UNITS = {
    "": 1.0, "%": 0.01, "s": 1.0, "ms": 1e-3, "bit/s": 1.0, "kbit/s": 1e3, "Mbit/s": 1e6,
    "B": 1.0, "kB": 1e3, "MB": 1e6, "KiB": 1024.0, "MiB": 1048576.0,
}  # fmt: skip

Value = float | str | bool


class LessonError(Exception):
    """A lesson is wrong. The message names the file, the mistake and the right form."""


@dataclass(frozen=True)
class Lesson:
    """Lesson as its file has it."""

    name: str
    head: dict[str, Any]
    sections: dict[str, str]
    scenario: dict[str, Any] = field(hash=False)

    @property
    def tcps(self) -> list[str]:
        """TCPs that run side by side at the start."""
        return list(self.head["tcps"])


def read(path: Path) -> Lesson:
    """Read a lesson: TOML between two lines `+++`, then the sections in Markdown."""
    text = path.read_text(encoding="utf-8")
    match = re.fullmatch(r"\+\+\+\n(.*?)\n\+\+\+\n(.*)", text, re.DOTALL)
    if match is None:
        raise LessonError(f"{path.name}: write TOML between two lines '+++', then Markdown")
    head = tomllib.loads(match[1])
    if "-" not in path.stem:
        raise LessonError(f"{path.name}: write a name such as 13-{path.stem}.md")
    parts = re.split(r"^## (.+)\n", match[2], flags=re.MULTILINE)
    pairs = zip(parts[1::2], parts[2::2], strict=True)
    sections = {title.strip(): body.strip() for title, body in pairs}
    if tuple(sections) != SECTIONS:
        raise LessonError(f"{path.name}: sections {list(sections)}; write {list(SECTIONS)}")
    scenario = head["scenario"]
    tree = tomllib.loads(scenario) if "\n" in scenario else library(scenario)
    return Lesson(path.stem.split("-", 1)[1], head, sections, tree)


def library(name: str) -> dict[str, Any]:
    """Return a scenario of the library."""
    path = Path(__file__).resolve().parents[1] / "scenarios" / f"{name}.toml"
    return tomllib.loads(path.read_text(encoding="utf-8"))


class State:
    """Results of a lesson at some settings, the input of its expressions."""

    def __init__(self, lesson: Lesson, settings: dict[str, Any] | None = None) -> None:
        """Run the lesson with these changes to its start."""
        settings = dict(settings or {})
        self.lesson = lesson
        self.tcps = str(settings.pop(TCPS, ",".join(lesson.tcps))).split(",")
        self.runs = int(settings.pop(RUNS, lesson.head.get(RUNS, 1)))
        self.overrides = {
            path: value for key, value in settings.items() for path in self._paths(key)
        }
        overrides = tuple(sorted(self.overrides.items()))
        self.data = simulate(lesson, overrides, tuple(self.tcps), self.runs)

    def _paths(self, key: str) -> list[str]:
        """Return the paths that a control sets beside its own."""
        controls = [c for c in self.lesson.head["controls"] if c["path"] == key]
        return [key, *(path for control in controls for path in control.get("also", []))]

    def evaluate(self, text: str, run: int = 0) -> Value:
        """Return the value of an expression, for a run."""
        return evaluate(parse(text), self, run)

    def setting(self, path: str) -> Value:
        """Return a setting in its base unit: s, B, bit/s; texts as they are."""
        if path in self.overrides:
            return quantity(self.overrides[path])
        node: object = self.lesson.scenario
        for step in path.split("."):
            node = child(node, step)
        return quantity(node)

    def metric(self, name: str, places: list[str], run: int) -> float:
        """Return a metric of a run; NaN if there was nothing to measure."""
        tcp = next((place for place in places if place in self.tcps), self.tcps[0])
        place = next((place for place in places if place not in self.tcps), None)
        for key in ("results", "links", "fairness", "agents"):
            for row in self.data.get(key, []):
                if row["tcp"] != tcp or name not in row["metrics"]:
                    continue
                if place in (None, row.get("flow"), f"{row.get('link')}.{row.get('direction')}"):
                    value = row["metrics"][name]["values"][run]
                    return math.nan if value is None else float(value)
        raise LessonError(f"no metric {name} of {places}")


@cache
def _simulate(lesson: str, overrides: tuple[tuple[str, Any], ...], tcps: tuple[str, ...],
              runs: int) -> dict[str, Any]:  # fmt: skip
    scenario = _SCENARIOS[lesson]
    result = fl.run(copy.deepcopy(scenario), tcp=list(tcps), overrides=dict(overrides), runs=runs)
    return dict(result.data)


_SCENARIOS: dict[str, dict[str, Any]] = {}


def simulate(
    lesson: Lesson, overrides: tuple[tuple[str, Any], ...], tcps: tuple[str, ...], runs: int
) -> dict[str, Any]:
    """Run a lesson once for each setting, and return its result file."""
    _SCENARIOS[lesson.name] = lesson.scenario
    return _simulate(lesson.name, overrides, tcps, runs)


def child(node: object, step: str) -> object:
    """Return an element of a table by its key, of a list by its number or name."""
    if isinstance(node, list):
        if step.isdigit():
            return node[int(step)]
        return next(element for element in node if element.get("name") == step)
    assert isinstance(node, dict)
    return node[step]


def quantity(value: object) -> Value:
    """Return a value of a scenario in its base unit."""
    if isinstance(value, bool | int | float):
        return value if isinstance(value, bool) else float(value)
    text = str(value)
    share = re.fullmatch(r"([0-9.eE+-]+)\s*%", text)
    if share:
        return float(share[1]) / 100
    for reader in (parse_time, parse_size, parse_rate):
        number = reader(text)
        if number is not None:
            return number
    try:
        return float(text)
    except ValueError:
        return text


OPERATORS: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge,
    ast.Eq: operator.eq, ast.NotEq: operator.ne,
}  # fmt: skip


FUNCTIONS: dict[str, Callable[[list[float]], float]] = {
    "min": min,
    "max": max,
    "abs": lambda values: abs(values[0]),
}


def parse(text: str) -> ast.expr:
    """Read an expression: the operators, names and calls of Python that lessons have."""
    return ast.parse(text.strip(), mode="eval").body


def evaluate(node: ast.expr, state: State, run: int) -> Value:
    """Return the value of a parsed expression."""
    match node:
        case ast.Constant(value=str() as text):
            return text
        case ast.Constant(value=(int() | float()) as number):
            return float(number)
        case ast.BoolOp(op=ast.And()):
            return all(evaluate(value, state, run) for value in node.values)
        case ast.BoolOp(op=ast.Or()):
            return any(evaluate(value, state, run) for value in node.values)
        case ast.UnaryOp(op=ast.Not()):
            return not evaluate(node.operand, state, run)
        case ast.UnaryOp(op=ast.USub()):
            return -float(evaluate(node.operand, state, run))
        case ast.BinOp():
            left, right = (evaluate(side, state, run) for side in (node.left, node.right))
            return float(OPERATORS[type(node.op)](left, right))
        case ast.Compare():
            values = [evaluate(side, state, run) for side in (node.left, *node.comparators)]
            pairs = zip(node.ops, values, values[1:], strict=False)
            return all(OPERATORS[type(op)](a, b) for op, a, b in pairs)
        case ast.Name(id=name):
            if name in (TCPS, RUNS):
                return ",".join(state.tcps) if name == TCPS else float(state.runs)
            return state.metric(name, [], run)
        case ast.Call(func=ast.Name(id=name)):
            return call(name, node.args, state, run)
    raise LessonError(f"{ast.unparse(node)} is no part of an expression")


def call(name: str, arguments: list[ast.expr], state: State, run: int) -> Value:
    """Return the value of a function of expressions, or of a metric of places."""
    if name in ("mean", "half_width"):
        every = [float(evaluate(arguments[0], state, k)) for k in range(state.runs)]
        return statistics.fmean(every) if name == "mean" else half_width(every)
    values = [evaluate(argument, state, run) for argument in arguments]
    if name == "setting":
        return state.setting(str(values[0]))
    if name in FUNCTIONS:
        return FUNCTIONS[name]([float(value) for value in values])
    return state.metric(name, [str(value) for value in values], run)


def half_width(values: list[float]) -> float:
    """Return the half width of Student's 95 % interval of the mean; NaN for one value."""
    half = mean_ci95(values).half_width
    return math.nan if half is None else half


def number_and_tolerance(text: str) -> tuple[float, float]:
    """Return the number that a fact writes, in its base unit, and half a unit of its last digit."""
    match = re.fullmatch(r"([\d,]+(?:\.(\d+))?)\s*(\S*)(?: .*)?", text)
    if match is None:
        raise LessonError(f"a fact is a number and a unit, not {text!r}")
    factor = UNITS.get(match[3], 1.0)
    return float(match[1].replace(",", "")) * factor, 0.5 * factor * 0.1 ** len(match[2] or "")


def mistakes(lesson: Lesson) -> list[str]:
    """Return what is wrong with a lesson: its question, its hints, its figures."""
    head = lesson.head
    check = head["check"]
    start, solved = State(lesson), State(lesson, head["solution"])
    errors = []
    if start.evaluate(check["pass"]):
        errors.append("the question is answered at the start")
    if not solved.evaluate(check["pass"]):
        errors.append("the solution does not answer the question")
    if "if" in check["hints"][-1]:
        errors.append("the last hint has a condition: a wrong answer may have none")
    for wrong in check.get("wrong", []):
        state = State(lesson, wrong["set"])
        if state.evaluate(check["pass"]):
            errors.append(f"the wrong answer {wrong['set']} is right")
        hint = next(
            k for k, h in enumerate(check["hints"]) if "if" not in h or state.evaluate(h["if"])
        )
        if hint != wrong["hint"]:
            errors.append(f"the wrong answer {wrong['set']} has hint {hint}")
    body = " ".join(" ".join(lesson.sections.values()).split())
    for fact in head["facts"]:
        state = State(lesson, fact.get("set"))
        value = float(state.evaluate(fact["value"]))
        number, tolerance = number_and_tolerance(fact["text"])
        if not abs(value - number) <= tolerance * 1.000001:
            errors.append(f"{fact['text']} is {value:.7g} ({fact['value']}, {fact.get('set', {})})")
        if fact["text"] not in body:
            errors.append(f"the text does not have {fact['text']!r}")
    return errors


def checked(path: Path) -> list[str]:
    """Return the mistakes of a file, each in one line; one that prevents a run is the last."""
    try:
        return mistakes(read(path))
    except KeyError as error:
        return [f"the key {error} is missing"]
    except OSError as error:
        return [f"the file cannot be read: {error.strerror}"]
    except (LessonError, fl.FarlinkError) as error:
        return [" ".join(str(error).split())]
    except (
        TypeError,
        ValueError,
        LookupError,
        ArithmeticError,
        SyntaxError,
        StopIteration,
    ) as error:
        return [f"{type(error).__name__}: {' '.join(str(error).split())}"]


def main(names: list[str]) -> int:
    """Check the files, print a line for each, and return the number of mistakes."""
    count = 0
    for path in [Path(name) for name in names] or sorted(LESSONS.glob("[0-9]*.md")):
        errors = checked(path)
        count += len(errors)
        print(f"{path.name}: {len(errors) or 'no'} mistakes")  # noqa: T201
        for error in errors:
            print(f"    {error}")  # noqa: T201
    return count


if __name__ == "__main__":
    sys.exit(1 if main(sys.argv[1:]) else 0)
