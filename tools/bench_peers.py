"""Compares this tree's times with those of other simulators: `make bench-peers`.

The other simulators are not run. `tools/peers.toml` has their times, and farlink's time on the same
machine. Another machine changes all times, so the last columns are only as exact as the two
machines are similar.
"""

import math
import tomllib
from pathlib import Path

from bench_against import build, once, say

ROOT = Path(__file__).resolve().parents[1]
TURNS = 7


def main() -> None:
    """Run the cases of the file, take the least of seven times, and print a line for each."""
    peers = tomllib.loads((ROOT / "tools" / "peers.toml").read_text())
    program = build(ROOT)
    columns = f"{'ns-3':>7} {'htsim':>7} {'farlink':>8} {'now':>7} {'then/now':>9}"
    say(f"{'us per segment':<38} {columns} {'ns-3/now':>9} {'htsim/now':>10}")
    for work in peers["work"]:
        results = [once(program, work["case"], None) for _ in range(TURNS)]
        now = min(1e6 * t["seconds"] / t["segments"] for t in results)
        ns3, htsim = work.get("ns3", math.nan), work.get("htsim", math.nan)
        line = (
            f"{work['name']:<38} {ns3:>7.3g} {htsim:>7.3g} {work['farlink']:>8.3f} {now:>7.3f}"
            f" {work['farlink'] / now:>9.2f} {ns3 / now:>9.3g} {htsim / now:>10.2f}"
        )
        say(line.replace("nan", "  -"))


if __name__ == "__main__":
    main()
