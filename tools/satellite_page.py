"""Measure TCP and QUIC over satellites, and write the tables and figures of their pages.

`python tools/satellite_page.py [SECTION ...]` with the installed package simulates the named
sections, or all, and writes each between its marks in `docs`.
"""

import math
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import farlink as fl
from farlink.stats import mean_ci95

DOCS = Path(__file__).resolve().parents[1] / "docs"
ROWS = ("linux-cubic", "linux-bbr", "quic", "quic-newreno", "quic-bbr")
RUNS = 10

TESTS = {
    "geo-250-3": "7 s",
    "geo-50-10": "20 s",
    "geo-10-2": "85 s",
    "geo-2-10": "420 s",
    "geo-20-2": "",
    "geo-20-2-loss": "",
    "leo-lossy": "",
}
"""Scenarios of tests, with the time that the source names for BBR."""


def durations(
    scenario: str | dict[str, object],
    rows: Sequence[str],
    overrides: Mapping[str, object] | None = None,
    runs: int = RUNS,
) -> dict[str, list[float]]:
    """Return the durations of the complete transfers of each row, in seconds."""
    result = fl.run(scenario, tcp=list(rows), runs=runs, overrides=dict(overrides or {}))
    values = result.values
    whole = values[values["completed"] == 1]["duration"].groupby(level="tcp").agg(list)
    return {row: whole.get(row, []) for row in rows}


def interval(times: Sequence[float], runs: int = RUNS) -> str:
    """Format the mean with its 95 % interval; transfers that failed are counted."""
    if not times:
        return "fails"
    failed = f" ({len(times)} of {runs})" if len(times) < runs else ""
    estimate = mean_ci95(times)
    mean, half = sum(times) / len(times), estimate.half_width or 0.0
    if half < 0.001 * mean:
        return f"{mean:.3g}{failed}"
    digits = max(0, -math.floor(math.log10(half)), 2 - len(f"{mean:.0f}"))
    return f"{mean:.{digits}f} ±{half:.{digits}f}{failed}"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Format a table of Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def tests() -> str:
    """Return the table of the tests that QUIC implementations run."""
    rows = []
    for name, limit in TESTS.items():
        times = durations(name, ROWS)
        rows.append([f"`{name}`", *(interval(times[row]) for row in ROWS), limit])
    return table(["scenario", *(f"`{row}`" for row in ROWS), "source, BBR"], rows)


SECTIONS: dict[str, tuple[str, Callable[[], str]]] = {"tests": ("quic.md", tests)}
"""Page and text of each section."""


def write(name: str) -> None:
    """Write a section between its marks."""
    page, text = SECTIONS[name]
    path = DOCS / page
    begin, end = f"<!-- begin: {name} by tools/satellite_page.py -->", f"<!-- end: {name} -->"
    before, mark, rest = path.read_text("utf-8").partition(begin)
    _, closed, after = rest.partition(end)
    if not mark or not closed:
        raise SystemExit(f"{path} has no marks {begin} and {end}")
    path.write_text(f"{before}{begin}\n{text()}\n{end}{after}", "utf-8")


def main() -> None:
    """Write the sections that the command line names."""
    asked = sys.argv[1:] or list(SECTIONS)
    for name in asked:
        if name not in SECTIONS:
            raise SystemExit(f"no section {name!r}; write {', '.join(SECTIONS)}")
        write(name)


if __name__ == "__main__":
    main()
