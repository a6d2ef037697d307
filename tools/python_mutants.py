"""Makes wrong changes to the code that judges results, one at a time, that tests must detect.

Each change is made in a copy of the package, and the tests of the changed file run with that copy.
The output has the detected changes and the survivors. The exit code is 1 if less than 95 % were
detected, or if a change no longer fits the source.

    tools/python_mutants.py [WORD ...]        only those whose file or reason has one of the words
"""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "python" / "farlink"
LEAST = 0.95
"""Share of changes that must be detected."""

STATS, JUDGE = "stats.py", "studies/judge.py"
OUTCOME, AGREEMENT = "studies/outcome.py", "studies/agreement.py"
LIKELIHOOD, TARGETS = "studies/inference/likelihood.py", "studies/inference/targets.py"
RECORD = "studies/inference/record.py"
SIGNIFICANCE, EXPRESSION = "studies/significance.py", "studies/expression.py"
TESTS = {
    STATS: ["test_stats.py"],
    JUDGE: ["test_judge.py"],
    OUTCOME: ["test_study_outcome.py"],
    AGREEMENT: ["test_study_grid.py"],
    LIKELIHOOD: ["test_study_inference.py"],
    TARGETS: ["test_study_inference.py"],
    RECORD: ["test_study_inference.py"],
    SIGNIFICANCE: ["test_significance.py"],
    EXPRESSION: ["test_expression.py"],
}


@dataclass(frozen=True)
class Mutant:
    """Change of `old`, which occurs once in `file`, to `new`; `why` is the reason it is wrong."""

    file: str
    old: str
    new: str
    why: str


MUTANTS = [
    Mutant(STATS, "(self.high - self.low) / 2", "self.high - self.low", "half width is whole"),
    Mutant(
        STATS, "self.low is None or self.high is None", "self.low is None", "an open end is closed"
    ),
    Mutant(
        STATS,
        "for value in values if value is not None]\n    n = len(present)",
        "for value in values if value]\n    n = len(present)",
        "a value of 0 is left out of a mean",
    ),
    Mutant(
        STATS,
        "present = [float(value) for value in values if value is not None]",
        "present = [float(value or 0) for value in values]",
        "a missing value counts as 0",
    ),
    Mutant(
        STATS,
        "return Estimate(None, None, None, 0)\n    mean",
        "return Estimate(0.0, None, None, 0)\n    mean",
        "nothing has a mean of 0",
    ),
    Mutant(STATS, "mean = math.fsum(present) / n", "mean = sum(present) / n", "sums are not exact"),
    Mutant(
        STATS, "mean = math.fsum(present) / n", "mean = sorted(present)[n // 2]", "mean is a median"
    ),
    Mutant(
        STATS,
        "mean = math.fsum(present) / n",
        "mean = math.fsum(present) / (n - 1 or 1)",
        "mean over n - 1",
    ),
    Mutant(
        STATS,
        "    if n == 1:\n        return Estimate(mean, None, None, 1)",
        "    if n == 1:\n        return Estimate(mean, mean, mean, 1)",
        "one value has an interval",
    ),
    Mutant(
        STATS,
        "(value - mean) ** 2 for value in present) / (n - 1)",
        "(value - mean) ** 2 for value in present) / n",
        "variance over n",
    ),
    Mutant(
        STATS,
        "variance = math.fsum((value",
        "variance = sum((value",
        "the variance depends on the order",
    ),
    Mutant(STATS, "(value - mean) ** 2", "abs(value - mean)", "deviation is absolute"),
    Mutant(
        STATS,
        "t_quantile(probability, n - 1)",
        "t_quantile(0.95, n - 1)",
        "90 % interval of a mean",
    ),
    Mutant(
        STATS,
        "t_quantile(probability, n - 1)",
        "t_quantile(0.995, n - 1)",
        "99 % interval of a mean",
    ),
    Mutant(
        STATS,
        "t_quantile(probability, n - 1)",
        "t_quantile(0.975, n)",
        "a degree of freedom too many",
    ),
    Mutant(STATS, "t_quantile(probability, n - 1)", "1.96", "normal instead of Student's t"),
    Mutant(
        STATS,
        "math.sqrt(variance / n)",
        "math.sqrt(variance)",
        "spread of values, not of their mean",
    ),
    Mutant(
        STATS,
        "math.sqrt(variance / n)",
        "math.sqrt(variance / (n - 1))",
        "standard error over n - 1",
    ),
    Mutant(
        STATS, "mean - half, mean + half, n)", "mean + half, mean - half, n)", "ends are exchanged"
    ),
    Mutant(STATS, "mean - half, mean + half, n)", "mean - half, mean, n)", "no upper half"),
    Mutant(STATS, "mean + half, n)", "mean + half, len(values))", "n counts missing values"),
    Mutant(
        STATS,
        "present = sorted(float(value) for value in values if value is not None)",
        "present = [float(value) for value in values if value is not None]",
        "a median is not sorted",
    ),
    Mutant(
        STATS,
        "present = sorted(float(value) for value in values if value is not None)",
        "present = sorted(float(value) for value in values if value)",
        "a median leaves 0 out",
    ),
    Mutant(
        STATS,
        "(present[(n - 1) // 2] + present[n // 2]) / 2",
        "present[n // 2]",
        "median of an even number",
    ),
    Mutant(
        STATS,
        "(present[(n - 1) // 2] + present[n // 2]) / 2",
        "present[(n - 1) // 2]",
        "lower median",
    ),
    Mutant(
        STATS,
        "binomial_cdf(k, n, 0.5) <= 0.025",
        "binomial_cdf(k, n, 0.5) <= 0.05",
        "90 % interval of a median",
    ),
    Mutant(
        STATS,
        "binomial_cdf(k, n, 0.5) <= 0.025",
        "binomial_cdf(k, n, 0.5) <= 0.005",
        "99 % interval of a median",
    ),
    Mutant(
        STATS,
        "binomial_cdf(k, n, 0.5) <= 0.025",
        "binomial_cdf(k - 1, n, 0.5) <= 0.025",
        "one order statistic further in",
    ),
    Mutant(
        STATS,
        "binomial_cdf(k, n, 0.5) <= 0.025",
        "binomial_cdf(k + 1, n, 0.5) <= 0.025",
        "one order statistic further out",
    ),
    Mutant(
        STATS,
        "binomial_cdf(k, n, 0.5) <= 0.025",
        "binomial_cdf(k, n, 0.6) <= 0.025",
        "not the median but a quantile",
    ),
    Mutant(
        STATS, "    if k == 0:\n", "    if k < 0:\n", "too few values have an interval of a median"
    ),
    Mutant(
        STATS,
        "present[k - 1], present[n - k], n)",
        "present[k], present[n - k], n)",
        "lower end one in",
    ),
    Mutant(
        STATS,
        "present[k - 1], present[n - k], n)",
        "present[k - 1], present[n - k - 1], n)",
        "upper end one in",
    ),
    Mutant(STATS, "if len(a) != len(b):", "if False:", "pairs of different lengths"),
    Mutant(
        STATS,
        "[x - y for x, y in pairs",
        "[y - x for x, y in pairs",
        "difference the other way round",
    ),
    Mutant(
        STATS,
        "[x - y for x, y in pairs",
        "[abs(x - y) for x, y in pairs",
        "difference without a sign",
    ),
    Mutant(
        STATS, "if x is not None and y is not None]", "if x and y]", "pairs with a 0 are left out"
    ),
    Mutant(
        STATS,
        "pairs = zip(a, b, strict=True)",
        "pairs = zip(sorted(a), sorted(b), strict=True)",
        "pairs by rank and not by run",
    ),
    Mutant(
        STATS, "low = 0.0 if successes == 0", "low = 0.01 if successes == 0", "none of n is above 0"
    ),
    Mutant(STATS, "n - successes + 1, 0.025)", "n - successes, 0.025)", "lower end of another law"),
    Mutant(STATS, "n - successes + 1, 0.025)", "n - successes + 1, 0.05)", "lower end of 90 %"),
    Mutant(
        STATS,
        "beta_quantile(successes + 1, n - successes, 0.975)",
        "beta_quantile(successes, n - successes, 0.975)",
        "upper end of another law",
    ),
    Mutant(
        STATS,
        "beta_quantile(successes + 1, n - successes, 0.975)",
        "beta_quantile(successes + 1, n - successes, 0.95)",
        "upper end of 90 %",
    ),
    Mutant(
        STATS,
        "high = 1.0 if successes == n",
        "high = 0.99 if successes == n",
        "all of n is below 1",
    ),
    Mutant(STATS, "return low, high", "return high, low", "ends are exchanged"),
    Mutant(
        STATS,
        "student_quantile(degrees, probability)",
        "student_quantile(degrees + 1, probability)",
        "quantile of more degrees",
    ),
    Mutant(
        JUDGE,
        "            return FAILED\n",
        "            return UNTESTED\n",
        "a failure is untested",
    ),
    Mutant(
        JUDGE,
        "next(iter(self.findings.values()), None)",
        "next(reversed(self.findings.values()), None)",
        "the last reading counts",
    ),
    Mutant(
        JUDGE,
        "if min(statement.p_for, statement.p_against) >= SETTLED",
        "if max(statement.p_for, statement.p_against) >= SETTLED",
        "what is refuted stays open",
    ),
    Mutant(
        JUDGE,
        "if min(statement.p_for, statement.p_against) >= SETTLED",
        "if min(statement.p_for, statement.p_against) >= LEVEL",
        "settled at the level of all analyses together",
    ),
    Mutant(
        JUDGE,
        "if min(statement.p_for, statement.p_against) >= SETTLED",
        "if True",
        "what is settled stays open",
    ),
    Mutant(
        JUDGE,
        "for item in (self.order, self.number) if item is not None]\n        open_",
        "for item in (self.order,) if item is not None]\n        open_",
        "a number asks for no more runs",
    ),
    Mutant(
        JUDGE,
        "order is Verdict.REPRODUCED and number is Verdict.NOT_REPRODUCED",
        "order is Verdict.REPRODUCED and number is not Verdict.REPRODUCED",
        "an undecided number is order only",
    ),
    Mutant(
        JUDGE,
        "item.at(self.level) for item in",
        "item.verdict for item in",
        "an analysis is judged at the level of all",
    ),
    Mutant(
        JUDGE,
        "return LEVEL / 2 if place == 0 else LEVEL / 2 / (analyses - 1)",
        "return LEVEL / 2 if place == 0 else LEVEL / 2",
        "later analyses have the level of the first",
    ),
    Mutant(
        JUDGE,
        "return LEVEL / 2 if place == 0",
        "return LEVEL if place == 0",
        "first analysis at LEVEL",
    ),
    Mutant(
        JUDGE,
        "max(item.ratio, 1 / item.ratio)",
        "item.ratio",
        "a number that is too small is never the farthest off",
    ),
    Mutant(
        JUDGE,
        "self.more |= dict.fromkeys(self.open - {NO_CELL}, runs)",
        "self.more |= dict.fromkeys(self.more.keys() | (self.open - {NO_CELL}), runs)",
        "cells that were settled get more runs",
    ),
    Mutant(
        JUDGE,
        "if not self.runs or NO_CELL in self.open:",
        "if not self.runs:",
        "what is made of traces gets no more runs",
    ),
    Mutant(
        JUDGE, "                    break\n", "                    pass\n", "analyses do not end"
    ),
    Mutant(
        JUDGE, "    if claim.untested:\n", "    if not readings:\n", "an untested claim is judged"
    ),
    Mutant(
        JUDGE,
        "except Exception as error:",
        "except ValueError as error:",
        "an error of one claim ends all",
    ),
    Mutant(JUDGE, 'f"{type(error).__name__}: {error}"', "str(error)", "an error without its kind"),
    Mutant(
        OUTCOME,
        "free = [item for item in members if not item.claim.calibration]",
        "free = list(members)",
        "checks count as evidence",
    ),
    Mutant(
        OUTCOME,
        "checks = [item for item in members if item.claim.calibration]",
        "checks = list(members)",
        "evidence counts as checks",
    ),
    Mutant(
        OUTCOME,
        "CALIBRATION if claim.calibration else claim.strength",
        "claim.strength",
        "checks are counted by strength",
    ),
    Mutant(
        OUTCOME,
        "    if judgement.status == FAILED:\n        return Outcome.FAILED\n",
        "",
        "failures are untested",
    ),
    Mutant(
        OUTCOME,
        "Ground.AXIS: Outcome.AXIS",
        "Ground.AXIS: Outcome.NUMBER",
        "an end of an axis is a number",
    ),
    Mutant(
        AGREEMENT,
        "self.high - self.value if difference > 0 else self.value - self.low",
        "self.high - self.value",
        "the upper limit holds on both sides",
    ),
    Mutant(
        AGREEMENT,
        "math.hypot(limit, half) * (1 + 1e-9)",
        "(limit + half) * (1 + 1e-9)",
        "limits are added",
    ),
    Mutant(
        AGREEMENT,
        "math.hypot(limit, half) * (1 + 1e-9)",
        "limit * (1 + 1e-9)",
        "our own interval does not count",
    ),
    Mutant(
        AGREEMENT,
        "_exp_mean([abs(item) for item in logs])",
        "_exp_mean(logs)",
        "factors cancel",
    ),
    Mutant(
        AGREEMENT,
        "sum(bool(cell.agrees) for cell in measured)",
        "sum(bool(cell.agrees) for cell in members)",
        "texts count as measured",
    ),
    Mutant(
        AGREEMENT,
        "if factor <= limit",
        "if factor < limit",
        "a factor at a limit has the next colour",
    ),
    Mutant(
        AGREEMENT,
        "used=sum(cell.used for cell in measured)",
        "used=0",
        "cells that chose the model are not counted",
    ),
    Mutant(
        LIKELIHOOD,
        "math.hypot(error, share * scale, thin)",
        "math.hypot(share * scale, thin)",
        "the error of the mean does not count",
    ),
    Mutant(
        LIKELIHOOD,
        "density = inside * scale / (high - low)",
        "density = inside",
        "a probability is no density",
    ),
    Mutant(
        LIKELIHOOD,
        "(1 - OUTLIER) * density + outlier",
        "density + outlier",
        "outliers are for free",
    ),
    Mutant(
        LIKELIHOOD,
        "return math.log(outlier)",
        "return 0.0",
        "a cell without a value fits",
    ),
    Mutant(
        LIKELIHOOD,
        "top + math.log(math.fsum(math.exp(item - top) for item in logs) / len(logs))",
        "top",
        "the best discrepancy counts alone",
    ),
    Mutant(
        LIKELIHOOD,
        "/ len(values) ** 0.5 if",
        "if",
        "a deviation is an error of the mean",
    ),
    Mutant(
        TARGETS,
        "order.sort(key=lambda target: not target.used)",
        "order.sort(key=lambda target: target.used)",
        "used cells are held out first",
    ),
    Mutant(
        TARGETS,
        "max(half, sum(t.used for t in members))",
        "half",
        "used cells may judge",
    ),
    Mutant(
        TARGETS,
        'random.Random(f"{seed}:{table}")',
        "random.Random(table)",
        "the seed draws nothing",
    ),
    Mutant(
        TARGETS,
        "draw.random() < 0.5 if len(members) % 2 else 0",
        "0",
        "odd cells are always held out",
    ),
    Mutant(
        TARGETS,
        'line.get("derived") or "none" in line',
        '"none" in line',
        "derived rows are targets",
    ),
    Mutant(
        TARGETS,
        'len(line["printed"]) > 1 and line["printed"] in before',
        "False",
        "repeated rows are targets",
    ),
    Mutant(
        RECORD,
        "range(max(0, agree - of_fitted), held + 1)",
        "range(max(0, agree - of_fitted), held)",
        "as many as there are do not count",
    ),
    Mutant(
        RECORD,
        "math.comb(of_fitted, agree - k)",
        "math.comb(of_held, agree - k)",
        "both halves have one size",
    ),
    Mutant(
        JUDGE, "self.claim.cause if self.fails", "self.claim.cause if True", "a cause of success"
    ),
    Mutant(
        JUDGE,
        "if not any(statement.sampled for statement in stated):",
        "if not all(statement.sampled for statement in stated):",
        "a measured number beside a fact is a fact",
    ),
    Mutant(JUDGE, "if finding.number is None:", "if finding.order is not None:", "all are orders"),
    Mutant(
        JUDGE,
        '"tick": Ground.AXIS',
        '"tick": Ground.PRINTED',
        "an end of an axis is a printed number",
    ),
    Mutant(
        SIGNIFICANCE,
        "poisson_sf(total - 1,",
        "poisson_sf(total,",
        "as many as seen are no evidence",
    ),
    Mutant(SIGNIFICANCE, "binomial_sf(total - 1,", "binomial_sf(total,", "the same of pairs"),
    Mutant(
        SIGNIFICANCE,
        "poisson_cdf(total, len(x) * y)",
        "poisson_cdf(total - 1, len(x) * y)",
        "fewer than seen",
    ),
    Mutant(
        SIGNIFICANCE,
        "binomial_cdf(total, int(both), 0.5)",
        "binomial_cdf(total, int(both), 0.4)",
        "not fair",
    ),
    Mutant(
        SIGNIFICANCE,
        "poisson_sf(total - 1, len(x) * y)",
        "poisson_sf(total - 1, y)",
        "mean of one run",
    ),
    Mutant(
        SIGNIFICANCE,
        "return max(test for test, _ in tests), max(test for _, test in tests)",
        "return min(test for test, _ in tests), max(test for _, test in tests)",
        "the surest test speaks for",
    ),
    Mutant(
        SIGNIFICANCE,
        "return max(test for test, _ in tests), max(test for _, test in tests)",
        "return max(test for test, _ in tests), min(test for _, test in tests)",
        "the surest test speaks against",
    ),
    Mutant(SIGNIFICANCE, "_FEWEST = 2", "_FEWEST = 1", "one run decides"),
    Mutant(
        SIGNIFICANCE,
        "known = ~(np.isnan(a) | np.isnan(other))",
        "known = ~np.isnan(a)",
        "a run that one side lacks counts",
    ),
    Mutant(
        SIGNIFICANCE,
        "student_cdf(n - 1, -t), student_cdf(n - 1, t)",
        "student_cdf(n, -t), student_cdf(n, t)",
        "a degree of freedom too many",
    ),
    Mutant(
        SIGNIFICANCE, "(spread / math.sqrt(n))", "spread", "spread of values, not of their mean"
    ),
    Mutant(SIGNIFICANCE, "ddof=1))\n    if spread", "ddof=0))\n    if spread", "variance over n"),
    Mutant(SIGNIFICANCE, "(or_equal and abs(mean) <= rounding)", "False", "equal is not at least"),
    Mutant(SIGNIFICANCE, "(0.5**n, 1.0) if holds", "(0.0, 1.0) if holds", "equal runs are certain"),
    Mutant(
        SIGNIFICANCE, "mean[0] + var[0] / 2 <= math.log(y)", "mean[0] <= math.log(y)", "a median"
    ),
    Mutant(
        SIGNIFICANCE, "<= mean[1] + var[1] / 2", "<= mean[1] + var[0] / 2", "one spread for both"
    ),
    Mutant(SIGNIFICANCE, "np.any(x == 0))", "np.all(x == 0))", "rare are only those of none"),
    Mutant(
        SIGNIFICANCE,
        "if float(np.mean(away**3)) < -(spread**3):\n        return 0.0",
        "if False:\n        return 0.0",
        "a tail below counts as one above",
    ),
    Mutant(
        SIGNIFICANCE,
        "return share, 1 - share\n    mean, var",
        "return 1 - share, share\n    mean, var",
        "turned round",
    ),
    Mutant(
        EXPRESSION,
        "return every(self.of >= -bound, self.of <= bound)",
        "return every(self.of <= bound)",
        "far below is near",
    ),
    Mutant(
        EXPRESSION,
        "return some(self.of > bound, self.of < -bound)",
        "return some(self.of > bound)",
        "far below is not far",
    ),
    Mutant(
        EXPRESSION,
        '(sign in ("<", "<=")) == self.largest',
        'sign in ("<", "<=")',
        "the least of several as the largest",
    ),
    Mutant(
        EXPRESSION,
        "every(evidence) if conjunction else some(evidence)",
        "every(evidence)",
        "or means and",
    ),
    Mutant(
        EXPRESSION,
        "zip(pairwise(values), ops, strict=True)",
        "zip(list(pairwise(values))[:1], ops, strict=False)",
        "a chain has one link",
    ),
    Mutant(EXPRESSION, '"<": ">", "<=": ">="', '"<": "<", "<=": "<="', "a number on the left"),
    Mutant(
        EXPRESSION,
        "return evidence if isinstance(op, ast.In) else ~evidence",
        "return evidence",
        "not in is in",
    ),
    Mutant(
        EXPRESSION,
        "return ~equal if isinstance(equal, Evidence) else not equal",
        "return equal",
        "different is equal",
    ),
    Mutant(
        EXPRESSION, "(0.5 ** len(known), 1.0) if same", "(0.0, 1.0) if same", "equal is certain"
    ),
    Mutant(
        EXPRESSION,
        "if all(_evaluate(condition, bound) for condition in first.ifs):",
        "if any(_evaluate(condition, bound) for condition in first.ifs) or not first.ifs:",
        "one of several conditions of a loop is enough",
    ),
    Mutant(EXPRESSION, "[(a, b) if up else (b, a)", "[(a, b) if True else (b, a)", "falling rises"),
    Mutant(EXPRESSION, 'a, "<", b), "a step")', 'a, "<=", b), "a step")', "equal is a step"),
    Mutant(
        EXPRESSION,
        "/ (y0 - y1)\n                break",
        "/ (y0 - y1)",
        "the last crossing counts",
    ),
    Mutant(EXPRESSION, "x0 + (x1 - x0) * y0 / (y0 - y1)", "x0", "a crossing is at a point"),
    Mutant(EXPRESSION, "away @ rows / (away @ away)", "away @ rows", "a slope without its scale"),
    Mutant(EXPRESSION, "max(runs - 1, 1))", "max(runs, 1))", "deviation over n"),
    Mutant(EXPRESSION, "n * whole - (n - 1) * without", "n * whole - n * without", "jackknife"),
    Mutant(EXPRESSION, "(over - ours) / (under - theirs)", "(over - ours) / under", "ratio"),
    Mutant(
        EXPRESSION,
        "(q.values >= low) & (q.values <= high)",
        "(q.values > low) & (q.values < high)",
        "the ends of a range are outside",
    ),
    Mutant(
        EXPRESSION,
        "np.where(np.isnan(q.values), np.nan, (q.values",
        "np.where(np.isnan(q.values), 0.0, (q.values",
        "a run without a value is outside",
    ),
    Mutant(
        EXPRESSION, "return a.close_to(b, share)", "return a.close_to(b, 2 * share)", "a wide tie"
    ),
]


def main() -> int:
    """Try each change; print and count the survivors."""
    words = sys.argv[1:]
    chosen = [
        mutant
        for mutant in MUTANTS
        if not words or any(w in mutant.file or w in mutant.why for w in words)
    ]
    stale = [
        choice for choice in chosen if (PACKAGE / choice.file).read_text().count(choice.old) != 1
    ]
    for item in stale:
        print(f"does not fit once: {item.file}: {item.why}: {item.old!r}")  # noqa: T201
    with tempfile.TemporaryDirectory() as place:
        for file in sorted({choice.file for choice in chosen}):
            if failures := failing(Path(place), file):
                print(f"{file}: its tests fail without any change:\n{failures}")  # noqa: T201
                return 1
        tried = [choice for choice in chosen if choice not in stale]
        survivors = list(surviving(Path(place), tried))
    caught = len(tried) - len(survivors)
    print(f"{caught} of {len(tried)} caught")  # noqa: T201
    return int(bool(stale) or caught < LEAST * len(tried))


def surviving(place: Path, mutants: list[Mutant]) -> Iterator[Mutant]:
    """Yield the changes that no test detects."""
    for mutant in mutants:
        path = place / "farlink" / mutant.file
        right = path.read_text(encoding="utf-8")
        path.write_text(right.replace(mutant.old, mutant.new), encoding="utf-8")
        noticed = failing(place, mutant.file)
        path.write_text(right, encoding="utf-8")
        if not noticed:
            print(f"survived: {mutant.file}: {mutant.why}")  # noqa: T201
            yield mutant


def failing(place: Path, file: str) -> str:
    """Run the tests of a file with the package copy in `place`; return the failed tests."""
    copy = place / "farlink"
    if not copy.exists():
        shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    tests = [str(ROOT / "tests" / "python" / name) for name in TESTS[file]]
    text = "import farlink, sys; sys.exit(farlink.__file__ != sys.argv[1])"
    env = {**os.environ, "PYTHONPATH": str(place), "PYTHONDONTWRITEBYTECODE": "1"}
    subprocess.run([sys.executable, "-c", text, str(copy / "__init__.py")], check=True, env=env)  # noqa: S603
    command = [sys.executable, "-m", "pytest", "-qx", "-p", "no:cacheprovider", *tests]
    done = subprocess.run(command, cwd=ROOT, env=env, check=False, capture_output=True, text=True)  # noqa: S603
    return done.stdout if done.returncode else ""


if __name__ == "__main__":
    sys.exit(main())
