"""Wrong changes to what judges results, one at a time, that a test must notice.

Each is made in a copy of the package, and the tests that are named for its file run with that
copy. Prints what was caught and what survived; the exit code is 1 if less than 95 % were caught
or a change no longer fits the source.

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
"""Share that must be caught."""

STATS, JUDGE = "stats.py", "studies/judge.py"
TESTS = {STATS: ["test_stats.py"], JUDGE: ["test_judge.py"]}


@dataclass(frozen=True)
class Mutant:
    """A change of `old`, which stands once in `file`, into `new`; `why` it is wrong."""

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
    Mutant(STATS, "t_quantile(0.975, n - 1)", "t_quantile(0.95, n - 1)", "90 % interval of a mean"),
    Mutant(
        STATS, "t_quantile(0.975, n - 1)", "t_quantile(0.995, n - 1)", "99 % interval of a mean"
    ),
    Mutant(
        STATS, "t_quantile(0.975, n - 1)", "t_quantile(0.975, n)", "a degree of freedom too many"
    ),
    Mutant(STATS, "t_quantile(0.975, n - 1)", "1.96", "normal instead of Student's t"),
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
        STATS, "bdtr(k, n, 0.5) <= 0.025", "bdtr(k, n, 0.5) <= 0.05", "90 % interval of a median"
    ),
    Mutant(
        STATS, "bdtr(k, n, 0.5) <= 0.025", "bdtr(k, n, 0.5) <= 0.005", "99 % interval of a median"
    ),
    Mutant(
        STATS,
        "bdtr(k, n, 0.5) <= 0.025",
        "bdtr(k - 1, n, 0.5) <= 0.025",
        "one order statistic further in",
    ),
    Mutant(
        STATS,
        "bdtr(k, n, 0.5) <= 0.025",
        "bdtr(k + 1, n, 0.5) <= 0.025",
        "one order statistic further out",
    ),
    Mutant(
        STATS,
        "bdtr(k, n, 0.5) <= 0.025",
        "bdtr(k, n, 0.6) <= 0.025",
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
        "betaincinv(successes + 1, n - successes, 0.975)",
        "betaincinv(successes, n - successes, 0.975)",
        "upper end of another law",
    ),
    Mutant(
        STATS,
        "betaincinv(successes + 1, n - successes, 0.975)",
        "betaincinv(successes + 1, n - successes, 0.95)",
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
        "stdtrit(degrees, probability)",
        "stdtrit(degrees + 1, probability)",
        "quantile of more degrees",
    ),
    Mutant(
        JUDGE,
        "        if self.failure:\n            return FAILED",
        "        if False:\n            return FAILED",
        "a failure is untested",
    ),
    Mutant(
        JUDGE,
        "if self.first is not None else UNTESTED",
        "if self.first is not None else Verdict.UNDECIDED.value",
        "untested is undecided",
    ),
    Mutant(
        JUDGE,
        "next(iter(self.evidence.values()), None)",
        "next(reversed(self.evidence.values()), None)",
        "the last setting counts",
    ),
    Mutant(
        JUDGE,
        "        if self.failure:\n            return self.failure",
        "        if False:\n            return self.failure",
        "a failure has no reason",
    ),
    Mutant(
        JUDGE,
        "return self.first.key if self.first is not None else self.claim.untested",
        "return self.first.key if self.first is not None else ''",
        "untested without its reason",
    ),
    Mutant(
        JUDGE,
        "self.first.key if self.first",
        "self.first.details[0] if self.first",
        "the first comparison for the one that decides",
    ),
    Mutant(
        JUDGE,
        "self.claim.cause if self.status == Verdict.NOT_REPRODUCED.value else",
        "self.claim.cause if self.status != Verdict.REPRODUCED.value else",
        "a cause for what is undecided",
    ),
    Mutant(
        JUDGE,
        "self.claim.cause if self.status == Verdict.NOT_REPRODUCED.value else",
        "self.claim.cause if True else",
        "a cause for what is reproduced",
    ),
    Mutant(
        JUDGE, "    if claim.untested:\n", "    if not judges:\n", "an untested claim is judged"
    ),
    Mutant(
        JUDGE,
        "{label: one() for label, one in judges.items()}",
        "{label: one() for label, one in list(judges.items())[:1]}",
        "other settings are not judged",
    ),
    Mutant(
        JUDGE,
        "except Exception as error:",
        "except ValueError as error:",
        "an error of one claim ends all",
    ),
    Mutant(JUDGE, 'f"{type(error).__name__}: {error}"', "str(error)", "an error without its kind"),
    Mutant(
        JUDGE,
        "for one in told if not one.claim.calibration)",
        "for one in told)",
        "checks count as evidence",
    ),
    Mutant(
        JUDGE,
        "for one in told if one.claim.calibration)",
        "for one in told)",
        "evidence counts as checks",
    ),
    Mutant(
        JUDGE,
        "for word in (UNTESTED, FAILED) if free[word]",
        "for word in (FAILED,) if free[word]",
        "untested is not told",
    ),
    Mutant(
        JUDGE,
        "for word in (UNTESTED, FAILED) if free[word]",
        "for word in (UNTESTED,) if free[word]",
        "failures are not told",
    ),
    Mutant(
        JUDGE,
        "for verdict in Verdict]",
        "for verdict in Verdict if verdict is not Verdict.UNDECIDED]",
        "undecided is not told",
    ),
    Mutant(JUDGE, "    if checks:\n", "    if False:\n", "checks are not told"),
]


def main() -> int:
    """Try each; print and count what survives."""
    words = sys.argv[1:]
    chosen = [
        one for one in MUTANTS if not words or any(w in one.file or w in one.why for w in words)
    ]
    stale = [one for one in chosen if (PACKAGE / one.file).read_text().count(one.old) != 1]
    for one in stale:
        print(f"does not fit once: {one.file}: {one.why}: {one.old!r}")  # noqa: T201
    with tempfile.TemporaryDirectory() as place:
        for file in sorted({one.file for one in chosen}):
            if failures := failing(Path(place), file):
                print(f"{file}: its tests fail without any change:\n{failures}")  # noqa: T201
                return 1
        tried = [one for one in chosen if one not in stale]
        survivors = list(surviving(Path(place), tried))
    caught = len(tried) - len(survivors)
    print(f"{caught} of {len(tried)} caught")  # noqa: T201
    return int(bool(stale) or caught < LEAST * len(tried))


def surviving(place: Path, mutants: list[Mutant]) -> Iterator[Mutant]:
    """Yield those that no test notices."""
    for one in mutants:
        path = place / "farlink" / one.file
        right = path.read_text(encoding="utf-8")
        path.write_text(right.replace(one.old, one.new), encoding="utf-8")
        noticed = failing(place, one.file)
        path.write_text(right, encoding="utf-8")
        if not noticed:
            print(f"survived: {one.file}: {one.why}")  # noqa: T201
            yield one


def failing(place: Path, file: str) -> str:
    """Run the tests of a file with the copy of the package in `place`; return what fails."""
    copy = place / "farlink"
    if not copy.exists():
        shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    tests = [str(ROOT / "tests" / "python" / name) for name in TESTS[file]]
    found = "import farlink, sys; sys.exit(farlink.__file__ != sys.argv[1])"
    env = {**os.environ, "PYTHONPATH": str(place), "PYTHONDONTWRITEBYTECODE": "1"}
    subprocess.run([sys.executable, "-c", found, str(copy / "__init__.py")], check=True, env=env)  # noqa: S603
    command = [sys.executable, "-m", "pytest", "-qx", "-p", "no:cacheprovider", *tests]
    done = subprocess.run(command, cwd=ROOT, env=env, check=False, capture_output=True, text=True)  # noqa: S603
    return done.stdout if done.returncode else ""


if __name__ == "__main__":
    sys.exit(main())
