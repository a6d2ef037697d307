"""Wrong changes to the core, one at a time, that a test must notice: `make mutants`.

Runs cargo-mutants (.cargo/mutants.toml) over the named files: each mutant first with the tests
of its own crate, and what those let pass with the tests of the simulator, which run whole
scenarios. Prints what was caught by folder, with the interval of a sample, and the survivors.

    tools/core_mutants.py --sample 1/40 recovery congestion
"""

import argparse
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from scipy.stats import binomtest

ROOT = Path(__file__).resolve().parents[1]
OUT = ROOT / "target" / "core-mutants"
ESCAPED = re.compile(r"[.^$*+?()\[\]{}|\\]")


def main() -> int:
    """Run both stages; the exit code is 1 if a mutant survived them."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("places", nargs="*", help="folders or files of crates/*/src; default: all")
    parser.add_argument("--sample", default="0/1", metavar="K/N", help="every N-th, from the K-th")
    asked = parser.parse_args()
    shutil.rmtree(OUT, ignore_errors=True)
    sample = ["--shard", asked.sample, "--sharding", "round-robin"]
    first = run("own", [*files(asked.places), *sample], [])
    missed = first["missed"]
    if missed:
        names = "|".join(ESCAPED.sub(lambda m: "\\" + m[0], name) for name in missed)
        missed = run("sim", ["--re", f"^({names})$"], ["--test-package", "farlink-sim"])["missed"]
    report(first["caught"] + first["timeout"] + first["missed"], missed)
    return 1 if missed else 0


def files(places: Sequence[str]) -> list[str]:
    """Name the options that choose these places."""
    found = []
    for place in places:
        name = place.removesuffix(".rs")
        found += ["-f", f"crates/*/src/{name}.rs", "-f", f"crates/*/src/{name}/**/*.rs"]
    return found


def run(stage: str, chosen: Sequence[str], tested_with: Sequence[str]) -> dict[str, list[str]]:
    """Run cargo-mutants; return its mutants by outcome."""
    command = ["cargo", "mutants", "--no-shuffle", "--output", str(OUT / stage)]
    done = subprocess.run([*command, *chosen, *tested_with], cwd=ROOT, check=False)  # noqa: S603
    if done.returncode not in {0, 2, 3}:  # 2: some were missed, 3: some took too long
        sys.exit(
            f"cargo-mutants ended with {done.returncode}; install it: cargo install cargo-mutants"
        )
    folder = OUT / stage / "mutants.out"
    outcomes = ("caught", "missed", "timeout")
    return {name: (folder / f"{name}.txt").read_text("utf-8").splitlines() for name in outcomes}


def report(viable: Sequence[str], missed: Sequence[str]) -> None:
    """Print the share caught by folder, with its 95 % interval, and the survivors."""
    folders = Counter(folder(name) for name in viable)
    survivors = Counter(folder(name) for name in missed)
    for place, of in [*sorted(folders.items()), ("all", folders.total())]:
        caught = of - (survivors.total() if place == "all" else survivors[place])
        interval = binomtest(caught, of).proportion_ci() if of else None
        span = f"{interval.low:.1%} to {interval.high:.1%}" if interval else "none"
        sys.stdout.write(f"{place:32} {caught:5} of {of:5} caught ({span})\n")
    for name in missed:
        sys.stdout.write(f"survived: {name}\n")


def folder(mutant: str) -> str:
    """Where a mutant is: the part of its path below `src`, up to the first folder or file."""
    crate, _, inside = mutant.split(":", maxsplit=1)[0].partition("/src/")
    return f"{Path(crate).name} {inside.split('/', maxsplit=1)[0].removesuffix('.rs')}"


if __name__ == "__main__":
    sys.exit(main())
