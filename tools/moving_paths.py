"""Measure TCPs over paths that change, and write the table of docs/moving-paths.md.

`python tools/moving_paths.py` with the installed package (and sgp4) simulates every TCP over each
path, and writes the table between its marks.
"""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import farlink as fl
from farlink import constellation, orbit
from farlink.stats import mean_ci95

PAGE = Path(__file__).resolve().parents[1] / "docs" / "moving-paths.md"
BEGIN, END = "<!-- begin: table by tools/moving_paths.py -->", "<!-- end -->"

ROWS = (
    "linux-reno",
    "linux-cubic",
    "linux-bbr",
    "linux-bbr3",
    "linux-vegas",
    "linux-westwood",
    "linux-hybla",
    "copa",
    "quic",
)
RUNS = 4
DURATION = "45 s"


def computed() -> dict[str, Any]:
    """Return a network between New York and London, with a gap of 100 ms at each handover."""
    shell = constellation.walker(altitude=550, inclination=53, planes=72, per_plane=22, phasing=39)
    ends = {orbit.Place(40.7, -74): "new-york", orbit.Place(51.5, -0.1): "london"}
    first, second = ends
    paths = constellation.paths(shell, [(first, second)], duration=120, step=1, interval=15)
    network = constellation.network(shell, paths, ends, gap=0.1)
    network["name"] = "new-york-london"
    network["tcp"] = {"variant": "cubic", "receive_window": "8 MiB"}
    return network


def metric(result: fl.Result, name: str, tcp: str, factor: float, digits: int) -> str:
    """Format the mean over the runs, with its 95 % interval."""
    values = [value for value in result.per_run(name, tcp) if value is not None]
    if not values:
        return "-"
    estimate = mean_ci95(values)
    half = estimate.half_width
    text = f"{sum(values) / len(values) / factor:.{digits}f}"
    return text if not half else f"{text} ±{half / factor:.{digits}f}"


COLUMNS = (
    ("goodput (Mbit/s)", "goodput", 1e6, 1),
    ("mean RTT (ms)", "rtt_mean", 1e-3, 0),
    ("retransmitted (%)", "retransmitted_share", 0.01, 2),
    ("needless segments", "segments_duplicate", 1, 0),
    ("time-outs", "timeouts", 1, 1),
)


def section(
    title: str, scenario: str | dict[str, Any], overrides: Mapping[str, object]
) -> list[str]:
    """Return the lines of one path: its title and a row per TCP."""
    sys.stderr.write(f"{title}\n")
    result = fl.run(scenario, tcp=list(ROWS), runs=RUNS, overrides=dict(overrides))
    ordered = sorted(ROWS, key=lambda tcp: -(result.total("goodput", tcp).mean or 0.0))
    head = ["TCP", *(column[0] for column in COLUMNS)]
    lines = [head, ["---"] * len(head)]
    for tcp in ordered:
        cells = (metric(result, name, tcp, factor, digits) for _, name, factor, digits in COLUMNS)
        lines.append([f"`{tcp}`", *cells])
    table = ["| " + " | ".join(line) + " |" for line in lines]
    return [f"{title}:", "", *table, ""]


def table() -> str:
    """Return the tables of all paths."""
    duration = {"flows.0.duration": DURATION}
    # A gap longer than the fall of the delay would let no packet overtake.
    change = {"delay": ["0 ms", "40 ms"], "interruption_time": "0 s", "keep_order": False}
    overtaking = {
        f"links.0.{way}.channel.reconfiguration.{key}": value
        for way in ("down", "up")
        for key, value in change.items()
    }
    paths: Sequence[tuple[str, str | dict[str, Any], dict[str, object]]] = (
        (
            "Starlink at rest for 31 s, `starlink-laniewski2024`",
            "starlink-laniewski2024",
            {"flows.0.duration": "31 s"},
        ),
        ("OneWeb, `oneweb-ara2025`", "oneweb-ara2025", {}),
        ("Changes every 15 s in order, `leo-reconfiguration`", "leo-reconfiguration", {}),
        (
            "The same without gaps, delays of 0 to 40 ms, and packets that overtake",
            "leo-reconfiguration",
            overtaking,
        ),
        ("New York to London over 1,584 satellites, gaps of 100 ms", computed(), {}),
    )
    lines: list[str] = []
    for title, scenario, more in paths:
        lines += section(title, scenario, {**duration, **more})
    return "\n".join(lines)


def main() -> None:
    """Write the table between its marks."""
    before, mark, rest = PAGE.read_text("utf-8").partition(BEGIN)
    _, closed, after = rest.partition(END)
    if not mark or not closed:
        raise SystemExit(f"{PAGE} has no marks {BEGIN} and {END}")
    PAGE.write_text(f"{before}{BEGIN}\n\n{table()}\n{END}{after}", "utf-8")


if __name__ == "__main__":
    main()
