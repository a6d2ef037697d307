"""Wrong changes to the core, one at a time, that a test must notice: `make mutants`.

Runs cargo-mutants (.cargo/mutants.toml) over the named files: each mutant first with the tests
of its own crate, and what those let pass with the tests of the simulator, which run whole
scenarios. What follows `--` names tests that are quick, as `cargo test` has it: these run before
all others, and only what they let pass meets the rest. Prints what was caught by folder, with
the interval of a sample, and the survivors.

    tools/core_mutants.py --sample 1/40 recovery congestion
    tools/core_mutants.py --sample 3/20 channel -- --lib -- channel::
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from scipy.stats import binomtest

ROOT = Path(__file__).resolve().parents[1]
OUT = ROOT / "target" / "core-mutants"
SETTINGS = tomllib.loads((ROOT / ".cargo" / "mutants.toml").read_text("utf-8"))
ESCAPED = re.compile(r"[.^$*+?()\[\]{}|\\]")


def main() -> int:
    """Run the stages; the exit code is 1 if a mutant survived them."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("places", nargs="*", help="folders or files of crates/*/src; default: all")
    parser.add_argument("--sample", default="0/1", metavar="K/N", help="every N-th, from the K-th")
    given, _, quick = " ".join(sys.argv[1:]).partition(" -- ")
    asked = parser.parse_args(given.split())
    shutil.rmtree(OUT, ignore_errors=True)
    stages = {"quick": brief(quick.split())} if quick else {}
    stages |= {"own": [], "sim": ["--test-package", "farlink-sim"]}
    chosen = files(asked.places)
    drawn = ["--shard", asked.sample, "--sharding", "round-robin"]
    viable: list[str] = []
    missed: list[str] = []
    for stage, tested_with in stages.items():
        found = run(stage, chosen, [*drawn, *tested_with])
        if viable:
            # A deleted field of a struct is tried whatever `--re` says (cargo-mutants 27.1).
            missed = [name for name in found["missed"] if name in missed]
        else:
            viable = found["caught"] + found["timeout"] + found["missed"]
            missed = found["missed"]
        if not missed:
            break
        chosen = sorted({name.split(":", maxsplit=1)[0] for name in missed})
        names = "|".join(ESCAPED.sub(lambda m: "\\" + m[0], name) for name in missed)
        drawn = ["--re", f"^({names})$"]
    report(viable, missed)
    return 1 if missed else 0


def brief(tests: Sequence[str]) -> list[str]:
    """Name the options that build and run these tests alone, and wait less long for their end."""
    targets, _, names = " ".join(tests).partition(" -- ")
    chosen = [f"--cargo-arg={word}" for word in targets.split()]
    limits = ["--minimum-test-timeout", "15", "--timeout-multiplier", "5"]
    return [*limits, *chosen, *(["--", "--", *names.split()] if names else [])]


def files(places: Sequence[str]) -> list[str]:
    """Of the core's files, those in these places."""
    core = {
        path.relative_to(ROOT).as_posix()
        for pattern in SETTINGS["examine_globs"]
        for path in ROOT.glob(pattern)
    }
    names = "|".join(re.escape(place.removesuffix(".rs")) for place in places)
    inside = re.compile(rf"crates/[^/]+/src/({names})(\.rs|/.*)" if places else ".*")
    found = sorted(filter(inside.fullmatch, core))
    if not found:
        sys.exit(f"no file of the core is in {' '.join(places)}")
    return found


def run(stage: str, chosen: Sequence[str], options: Sequence[str]) -> dict[str, list[str]]:
    """Run cargo-mutants over these files; return its mutants by outcome."""
    folder = OUT / stage
    folder.mkdir(parents=True)
    # On the command line files would be added to those of the settings.
    settings = folder / "settings.toml"
    values = SETTINGS | {"examine_globs": chosen}
    settings.write_text("".join(f"{k} = {json.dumps(v)}\n" for k, v in values.items()), "utf-8")
    command = ["cargo", "mutants", "--config", str(settings), "--output", str(folder)]
    # One folder of builds: third-party crates are built once, not for each stage. A case that
    # fails is not to be made smaller, which takes longer than all the rest: nobody reads it.
    folders = {"CARGO_TARGET_DIR": str(ROOT / "target"), "PROPTEST_MAX_SHRINK_ITERS": "0"}
    surroundings = os.environ | folders
    done = subprocess.run([*command, *options], cwd=ROOT, env=surroundings, check=False)  # noqa: S603
    if done.returncode not in {0, 2, 3}:  # 2: some were missed, 3: some took too long
        sys.exit(
            f"cargo-mutants ended with {done.returncode}; install it: cargo install cargo-mutants"
        )
    outcomes = ("caught", "missed", "timeout")
    return {
        name: (folder / "mutants.out" / f"{name}.txt").read_text("utf-8").splitlines()
        for name in outcomes
    }


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
