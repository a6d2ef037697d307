"""Makes wrong changes to the core, one at a time, that tests must detect: `make mutants`.

cargo-mutants lists the changes (mutants) of the files in .cargo/mutants.toml, and
mutant_switches.py puts all of them into one build. Each mutant runs the tests of its own crate, the
fastest first. If these pass, it runs the tests of the simulator, which run whole scenarios.
Arguments after `--` name tests, as for `cargo test`, that run before all others. A test that takes
five times its usual time counts as a detection. The output has the share of detected mutants by
folder, with the interval of a sample, and the survivors. target/core-mutants/outcomes.json has the
detecting test of each mutant.

    tools/core_mutants.py --last own recovery congestion
    tools/core_mutants.py --again
    tools/core_mutants.py --sample 3/20 channel -- --lib -- channel::
"""

import argparse
import json
import math
import os
import resource
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

from mutant_switches import CHOSEN, NONE, CompileError, Copy, Mutant, catalogue
from scipy.stats import binomtest

ROOT = Path(__file__).resolve().parents[1]
OUT = ROOT / "target" / "core-mutants"
OUTCOMES = OUT / "outcomes.json"
SETTINGS = ROOT / ".cargo" / "mutants.toml"
SIMULATOR = "farlink-sim"
STAGES = ["quick", "own", "simulator"]
UNVIABLE = "does not compile"

TIMES, SECONDS = 5, 1
"""Limit of a test: this multiple of its processor time without a change, plus these seconds."""
WAITS = 20
"""Multiple of that limit in clock time; it is large, because the machine may be busy."""
MEMORY = 4_000_000
"""Memory limit in kB."""
# Failing cases are neither shrunk nor stored, and all mutants run equal cases.
PROPTEST = {
    "PROPTEST_MAX_SHRINK_ITERS": "0",
    "PROPTEST_DISABLE_FAILURE_PERSISTENCE": "1",
    "PROPTEST_RNG_SEED": "1",
}


def main() -> int:
    """Try the mutants; the exit code is 1 if one survived."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("places", nargs="*", help="folders or files of crates/*/src; default: all")
    parser.add_argument("--sample", default="0/1", metavar="K/N", help="every N-th, from the K-th")
    parser.add_argument("--last", choices=STAGES, default=STAGES[-1], help="tests to end with")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="tests at a time")
    parser.add_argument("--again", action="store_true", help="only what survived the last time")
    given, _, quick = " ".join(sys.argv[1:]).partition(" -- ")
    asked = parser.parse_args(given.split())
    OUT.mkdir(parents=True, exist_ok=True)
    outcomes: dict[str, str | None] = json.loads(OUTCOMES.read_text()) if asked.again else {}
    chosen = [m for m in catalogue(ROOT, SETTINGS) if inside(m.file, asked.places)]
    first, every = map(int, asked.sample.split("/"))
    chosen = [m for m in chosen[first::every] if outcomes.get(m.name) is None]
    if not chosen:
        sys.exit(f"nothing to change in {' '.join(asked.places) or 'the core'}")
    copy = Copy(ROOT, OUT / "tree")
    try:
        stages = STAGES[: STAGES.index(asked.last) + 1]
        trial = Trial(copy, chosen, stages, quick.split(), asked.jobs)
        for name, caught in trial.outcomes():
            outcomes[name] = caught
            sys.stderr.write(f"{caught or 'SURVIVED'}: {name}\n")
    finally:
        OUTCOMES.write_text(json.dumps(outcomes, indent=1))
    report(outcomes)
    return int(None in outcomes.values())


def inside(file: str, places: Sequence[str]) -> bool:
    """Return whether a file is in one of these places; True if no places are given."""
    below = file.partition("/src/")[2].removesuffix(".rs")
    named = [place.removesuffix(".rs") for place in places]
    return not named or any(below == name or below.startswith(f"{name}/") for name in named)


@dataclass(frozen=True)
class Test:
    """Test program with its processor time in seconds without a change."""

    program: Path
    names: Sequence[str]
    folder: Path
    takes: float = 20

    def notices(self, number: int, limit: int | None = None) -> bool:
        """Run the test with a mutant; return whether it failed or took too long."""
        bound = limit or math.ceil(TIMES * self.takes) + SECONDS
        limited = f'ulimit -c 0 -v {MEMORY} -t {bound}; exec "$0" "$@"'
        command = ["sh", "-c", limited, str(self.program), "--test-threads=1", *self.names]
        surroundings = os.environ | PROPTEST | {CHOSEN: str(number)}
        try:
            done = subprocess.run(  # noqa: S603
                command,
                cwd=self.folder,
                env=surroundings,
                check=False,
                capture_output=True,
                timeout=WAITS * bound,
            )
        except subprocess.TimeoutExpired:
            return True
        return done.returncode != 0

    def measured(self) -> "Test":
        """Run the test without a mutant."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        if self.notices(NONE, limit=600):
            sys.exit(f"{self.program.name} fails with no change made")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        takes = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return Test(self.program, self.names, self.folder, takes)


@dataclass(frozen=True)
class Trial:
    """The mutants, and the tests that they run."""

    copy: Copy
    mutants: Sequence[Mutant]
    stages: Sequence[str]
    quick: Sequence[str]
    jobs: int

    def outcomes(self) -> Iterator[tuple[str, str | None]]:
        """Try each mutant; yield its name with the detecting test, if any."""
        broken, alone = self.copy.switched(self.mutants)
        yield from ((m.name, UNVIABLE) for m in self.mutants if m.number in broken)
        yield from self.switched([m for m in self.mutants if m.number not in broken | alone])
        yield from self.one_by_one([m for m in self.mutants if m.number in alone])

    def switched(self, mutants: Sequence[Mutant]) -> Iterator[tuple[str, str | None]]:
        """Try the mutants of a common build, in parallel on all processors."""
        tests: dict[str, list[Test]] = {}
        for package in {m.package: 0 for m in mutants}:
            suites = [[test.measured() for test in suite] for suite in self.suites(package)]
            tests[package] = [t for s in suites for t in sorted(s, key=lambda test: test.takes)]
        with ThreadPoolExecutor(self.jobs) as pool:
            running = {pool.submit(first, tests[m.package], m.number): m.name for m in mutants}
            try:
                for done in as_completed(running):
                    yield running[done], done.result()
            finally:
                pool.shutdown(cancel_futures=True)

    def one_by_one(self, mutants: Sequence[Mutant]) -> Iterator[tuple[str, str | None]]:
        """Try the mutants that need their own build."""
        self.copy.write_switches([], ())
        for mutant in mutants:
            text = (ROOT / mutant.file).read_text("utf-8")
            self.copy.write(mutant.file, mutant.applied(text, (0, len(text))))
            try:
                caught = (first(suite, NONE) for suite in self.suites(mutant.package))
                yield mutant.name, next(filter(None, caught), None)
            except CompileError:
                yield mutant.name, UNVIABLE
            self.copy.restore(mutant.file)

    def suites(self, package: str) -> Iterator[list[Test]]:
        """Build the tests for changes of a package, first the tests that run first."""
        targets, _, names = " ".join(self.quick).partition(" -- ")
        if self.quick:
            yield self.built(package, targets.split(), names.split())
        if "own" in self.stages:
            yield self.built(package, [], [])
        if "simulator" in self.stages and package != SIMULATOR:
            yield self.built(SIMULATOR, [], [])

    def built(self, package: str, targets: Sequence[str], names: Sequence[str]) -> list[Test]:
        """Build these tests of a package."""
        folder = self.copy.folder / "crates" / package
        return [Test(program, names, folder) for program in self.copy.tests(package, targets)]


def first(tests: Iterable[Test], number: int) -> str | None:
    """Return the name of the first test that detects a mutant."""
    return next((test.program.name for test in tests if test.notices(number)), None)


def report(outcomes: Mapping[str, str | None]) -> None:
    """Print the detected share by folder, with its 95 % interval, and the survivors."""
    viable = {name: caught for name, caught in outcomes.items() if caught != UNVIABLE}
    survivors = sorted(name for name, caught in viable.items() if caught is None)
    of, missed = Counter(map(folder, viable)), Counter(map(folder, survivors))
    for place in [*sorted(of), "all"]:
        n = of.total() if place == "all" else of[place]
        caught = n - (missed.total() if place == "all" else missed[place])
        interval = binomtest(caught, n).proportion_ci() if n else None
        span = f"{interval.low:.1%} to {interval.high:.1%}" if interval else "none"
        sys.stdout.write(f"{place:32} {caught:5} of {n:5} caught ({span})\n")
    sys.stdout.write(f"{len(outcomes) - len(viable)} more do not compile\n")
    for name in survivors:
        sys.stdout.write(f"survived: {name}\n")


def folder(mutant: str) -> str:
    """Folder of a mutant: the part of its path below `src`, up to the first folder or file."""
    crate, _, inside = mutant.split(":", maxsplit=1)[0].partition("/src/")
    return f"{Path(crate).name} {inside.split('/', maxsplit=1)[0].removesuffix('.rs')}"


if __name__ == "__main__":
    sys.exit(main())
