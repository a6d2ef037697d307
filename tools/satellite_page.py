"""Measure TCP and QUIC over satellites, and write the tables and figures of their pages.

`python tools/satellite_page.py [SECTION ...]` with the installed package simulates the named
sections, or all, and writes each between its marks in `docs`.
"""

import math
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from matplotlib.figure import Figure

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
        return f"{mean:.0f}{failed}" if mean >= 1000 else f"{mean:.3g}{failed}"
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


SIZES = {"100 kB": 1e5, "1 MB": 1e6, "10 MB": 1e7, "100 MB": 1e8}
CASES = {
    "TCP CUBIC": ("linux-cubic", False),
    "TCP CUBIC, PEP": ("linux-cubic", True),
    "TCP BBR": ("linux-bbr", False),
    "QUIC CUBIC": ("quic", False),
    "QUIC CUBIC, PEP": ("quic", True),
    "QUIC BBR": ("quic-bbr", False),
    "TCP CUBIC, resumes": ("linux-cubic", False),
}
"""Transport of each line, and whether a proxy splits the connections of TCP at the gateway."""
RESUME = {"tcp.resume_cwnd": "1.55 MB", "tcp.resume_rtt": "620 ms"}
"""Window and round trip of an earlier connection: a bandwidth-delay product of the path."""
LOSSES = {"0": "no random losses", "0.01": "1 % of losses"}
WINDOW = {"tcp.receive_window": "32 MiB", "tcp.send_buffer": "64 MiB"}


def path(loss: str, *, pep: bool) -> dict[str, object]:
    """Return a path over a backbone and a satellite, with a proxy between them or without."""
    channel = {"loss": float(loss)} if float(loss) else {}
    satellite = {"delay": "300 ms", "queue": {"bdp": 1}, "channel": channel}
    agent = {
        "kind": "pepsal",
        "at": "gateway",
        "wireless": "satellite",
        "satellite_tcp": {"profile": "linux", "variant": "bbr", "receive_window": "32 MiB"},
    }
    return {
        "name": "satellite",
        "tcp": {"profile": "linux"},
        "links": [
            {
                "name": "backbone",
                "between": ["server", "gateway"],
                "down": {"rate": "1 Gbit/s", "delay": "10 ms"},
            },
            {
                "name": "satellite",
                "between": ["gateway", "client"],
                "down": {"rate": "20 Mbit/s", **satellite},
                "up": {"rate": "2 Mbit/s", **satellite},
            },
        ],
        **({"agents": [agent]} if pep else {}),
        "flows": [{"from": "server", "to": "client", "size": "1 MB"}],
    }


def transfers(loss: str) -> dict[str, dict[str, list[float]]]:
    """Return the durations of each case and size."""
    times: dict[str, dict[str, list[float]]] = {case: {} for case in CASES}
    for size in SIZES:
        for case, (row, pep) in CASES.items():
            changes: dict[str, object] = {"flows.0.size": size, **WINDOW}
            if case.endswith("resumes"):
                changes |= RESUME
            times[case][size] = durations(path(loss, pep=pep), [row], changes)[row]
        if times["QUIC CUBIC"][size] != times["QUIC CUBIC, PEP"][size]:
            raise SystemExit("the proxy changed a transfer of QUIC")
    return times


def sizes() -> str:
    """Draw the times of all sizes, and return their tables."""
    both = {loss: transfers(loss) for loss in LOSSES}
    draw(both)
    parts = []
    for loss, title in LOSSES.items():
        rows = [
            [case, *(interval(both[loss][case][size]) for size in SIZES)]
            for case in CASES
            if case != "QUIC CUBIC, PEP"
        ]
        parts.append(f"{title.capitalize()}:\n\n{table(['transport', *SIZES], rows)}")
    return "\n" + "\n\n".join(parts) + "\n"


def draw(both: Mapping[str, Mapping[str, Mapping[str, Sequence[float]]]]) -> None:
    """Draw a panel for each loss: time over size."""
    figure = Figure(figsize=(9, 4.4), layout="constrained")
    panels = figure.subplots(1, len(both), sharey=True)
    styles = {"TCP CUBIC": "C0o-", "TCP CUBIC, PEP": "C0s--", "TCP CUBIC, resumes": "C0^:"}
    styles |= {"TCP BBR": "C1o-", "QUIC CUBIC": "C2D-", "QUIC BBR": "C3D-"}
    for axes, (loss, times) in zip(panels, both.items(), strict=True):
        for case, style in styles.items():
            estimates = [mean_ci95(times[case][size]) for size in SIZES]
            means = [estimate.mean or math.nan for estimate in estimates]
            bars = [estimate.half_width or 0.0 for estimate in estimates]
            axes.errorbar(
                list(SIZES.values()), means, bars, fmt=style, label=case, capsize=3, markersize=5
            )
        axes.plot(list(SIZES.values()), [0.31 + 8 * s / 20e6 for s in SIZES.values()], "k-", lw=0.8)
        axes.set(xscale="log", yscale="log", xlabel="size (bytes)", title=LOSSES[loss])
        axes.grid(visible=True, alpha=0.3)
    panels[0].set_ylabel("time of the transfer (s)")
    panels[0].legend(frameon=False)
    panels[1].text(2e7, 6, "bits and one way", rotation=30, fontsize=8)
    figure.savefig(DOCS / "img" / "satellites.png", dpi=130)


def mars() -> str:
    """Return the times of transfers through contacts, with their timers and with usual ones."""
    kinds: dict[str, dict[str, object]] = {
        "timers of `mars-contacts`": {},
        "the same, 1 MB as the first window": {"tcp.initial_window": 700},
        "usual timers": {},
    }
    rows = []
    for kind, changes in kinds.items():
        cells = [kind]
        for row in ("linux-cubic", "linux-bbr", "quic", "quic-bbr"):
            usual = {
                "linux": {"tcp.rto_initial": "1 s", "tcp.rto_max": "2 min"},
                "quic": {"tcp.quic.initial_rtt": "333 ms", "tcp.quic.idle_timeout": "30 s"},
            }
            own = {**changes, **(usual[row.split("-")[0]] if kind.startswith("usual") else {})}
            skipped = "tcp.initial_window" in changes and row.startswith("quic")
            times = [] if skipped else durations("mars-contacts", [row], own, 1)[row]
            cells.append("" if skipped else interval(times, 1))
        rows.append(cells)
    return table(["", "`linux-cubic`", "`linux-bbr`", "`quic`", "`quic-bbr`"], rows)


SECTIONS: dict[str, tuple[str, Callable[[], str]]] = {
    "tests": ("quic.md", tests),
    "sizes": ("satellites.md", sizes),
    "mars": ("satellites.md", mars),
}
"""Page and text of each section."""


def write(name: str) -> None:
    """Write a section between its marks."""
    page, text = SECTIONS[name]
    path, section = DOCS / page, text()
    begin, end = f"<!-- begin: {name} by tools/satellite_page.py -->", f"<!-- end: {name} -->"
    before, mark, rest = path.read_text("utf-8").partition(begin)
    _, closed, after = rest.partition(end)
    if not mark or not closed:
        raise SystemExit(f"{path} has no marks {begin} and {end}")
    path.write_text(f"{before}{begin}\n{section}\n{end}{after}", "utf-8")


def main() -> None:
    """Write the sections that the command line names."""
    asked = sys.argv[1:] or list(SECTIONS)
    for name in asked:
        if name not in SECTIONS:
            raise SystemExit(f"no section {name!r}; write {', '.join(SECTIONS)}")
        write(name)


if __name__ == "__main__":
    main()
