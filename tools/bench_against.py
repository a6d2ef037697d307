"""Compare two builds of `make bench`'s cases: `make bench-against BASE=commit`.

The commit is built in its own folder under `target/bench-against` with the bench file of this tree,
so that both builds run the same cases. Each case then runs in turns, with either build. A line per
case has the median of seven runs of each build and their ratio, which is below 1 if this tree is
faster. With `--instructions` valgrind counts each case once, which is exact even on a busy machine.
"""

import argparse
import json
import math
import os
import re
import shutil
import statistics
import subprocess
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
BENCH = Path("crates/farlink-sim/benches/workloads.rs")


def run(command: list[str], cwd: Path = ROOT, env: dict[str, str] | None = None) -> str:
    """Return the output of a command, which must not fail."""
    done = subprocess.run(command, cwd=cwd, env=env, check=False, text=True, stdout=subprocess.PIPE)  # noqa: S603
    if done.returncode:
        raise SystemExit(f"bench-against: {' '.join(command)} failed")
    return done.stdout


def build(tree: Path) -> Path:
    """Build the bench of a tree and return the program."""
    cargo = os.environ.get("CARGO", "cargo")
    command = [cargo, "bench", "--no-run", "--locked", "-p", "farlink-sim", "--bench", "workloads"]
    output = run([*command, "--message-format=json"], cwd=tree)
    programs = [json.loads(line).get("executable") for line in output.splitlines()]
    return Path(next(p for p in reversed(programs) if p))


def of_commit(commit: str) -> Path:
    """Build this tree's bench file with the sources of a commit."""
    full = run(["git", "rev-parse", "--verify", f"{commit}^{{commit}}"]).strip()
    tree = ROOT / "target" / "bench-against" / full[:12]
    if not tree.exists():
        run(["git", "worktree", "add", "--detach", "--force", str(tree), full])
    shutil.copy(ROOT / BENCH, tree / BENCH)
    return build(tree)


def once(program: Path, case: str, runs: int | None) -> dict[str, Any]:
    """Run a case in its own process."""
    output = run([str(program)], env=asking(case, runs))
    try:
        data: dict[str, Any] = json.loads(output)
    except ValueError:
        raise SystemExit(
            f"bench-against: {program}: {output.strip() or f'no case {case}'}"
        ) from None
    return data


def asking(case: str, runs: int | None) -> dict[str, str]:
    """Return the environment that selects a case."""
    return (
        os.environ
        | {"FARLINK_BENCH_ONE": case}
        | ({"FARLINK_BENCH_RUNS": str(runs)} if runs else {})
    )


def instructions(program: Path, case: str) -> int:
    """Count the instructions of one run of a case."""
    valgrind = shutil.which("valgrind")
    if valgrind is None:
        raise SystemExit("bench-against: counting instructions needs valgrind")
    how = ["--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]
    counted = subprocess.run(  # noqa: S603
        [valgrind, *how, str(program)],
        env=asking(case, 1),
        capture_output=True,
        text=True,
        check=True,
    )
    match = re.search(r"refs:\s+([\d,]+)", counted.stderr)
    if match is None:
        raise SystemExit("bench-against: valgrind counted nothing")
    return int(match[1].replace(",", ""))


def main() -> None:
    """Build both trees, run them in turns, and print a line for each case."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("base", help="a commit, or the program that was built of one")
    parser.add_argument("cases", nargs="*", help="parts of names; all cases without")
    parser.add_argument("--head", type=Path, help="a program that was built, not this tree")
    parser.add_argument("--turns", type=int, default=7, help="runs with each (default 7)")
    parser.add_argument("--runs", type=int, help="in each process, of which the fastest counts")
    parser.add_argument("--instructions", action="store_true", help="count instead of timing")
    options = parser.parse_intermixed_args()
    base = Path(options.base)
    if not (base.is_file() and os.access(base, os.X_OK)):
        base = of_commit(options.base)
    head = options.head or build(ROOT)
    names = run([str(head), "--list", *options.cases]).split()
    unit = "instr/seg" if options.instructions else "us/seg"
    columns = f"{'base ' + unit:>15} {'head ' + unit:>15} {'ratio':>7} {'of least':>9} {'MB':>13}"
    say(f"{'case':<29} {columns}")
    turns, runs = (1, 1) if options.instructions else (options.turns, options.runs)
    for name in names:
        table: dict[Path, list[dict[str, Any]]] = {base: [], head: []}
        for turn in range(turns):
            # The order alternates, because a warm cache or a hot processor favours one of the two.
            for program in (base, head) if turn % 2 else (head, base):
                table[program].append(once(program, name, runs))
        if len({t["segments"] for each in table.values() for t in each}) != 1:
            say(f"{name}: NOT the same segments, so not the same results")
        segments = table[head][0]["segments"]
        if options.instructions:
            cost = {p: [instructions(p, name) / segments] for p in table}
        else:
            cost = {p: [1e6 * t["seconds"] / segments for t in table[p]] for p in table}
        a, b = (statistics.median(cost[p]) for p in (base, head))
        least = min(cost[head]) / min(cost[base])
        peaks = "/".join(f"{table[p][0]['peak_mb'] or math.nan:.1f}" for p in (base, head))
        say(f"{name:<29} {a:>15.4g} {b:>15.4g} {b / a:>7.3f} {least:>9.3f} {peaks:>13}")


def say(line: str) -> None:
    """Print a line at once."""
    print(line, flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
