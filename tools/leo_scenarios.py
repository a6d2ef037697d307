"""Writes the scenarios of Starlink and of a car's 5G from published statistics.

Each trace of two minutes has the published quantiles: its rows are a permutation of evenly spaced
quantiles. The order is that of a random series with the published share of variance between phases
of 15 s, or with the published correlation from second to second.

Run `python tools/leo_scenarios.py` to write them again; `--check` fails if they differ.
"""

import argparse
import math
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]

SHARES = (0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99)
"""Shares below the published quantiles."""

SECONDS = 120
PERIOD, FIRST = 15, 12
"""Interval of reconfigurations, and the first one past the minute (s)."""

# Quantiles of data/iperf.csv and data/ping.csv, rows with an average speed of 0.
HOME_DOWN = (27.56, 95.71, 148.59, 226.81, 296.63, 344.05, 391.63, 413.68, 427.02)
HOME_UP = (1.37, 5.88, 8.11, 12.08, 17.76, 24.87, 32.42, 35.4, 38.04)
HOME_BEST = (42.38, 42.85, 43.28, 43.66, 43.88, 47.68, 52.25, 54.65, 58.97)
HOME_LOSS = (0, 0, 0, 0, 0, 0.8, 2.4, 8.4, 49.04)
# The same of rows in motion.
ROAD_BEST = (42.23, 42.76, 42.98, 43.63, 44.63, 48.69, 51.85, 53.7, 57.26)
ROAD_LOSS = (0, 0, 0, 0, 0.8, 2.4, 8.4, 16.26, 50.29)
HOME_DEVIATION, ROAD_DEVIATION = 7.53, 9.47
"""Medians of the deviation of round trips within 25 s (ms)."""

# Quantiles of 3-Thrpt-Comp/UDP: mob_all.csv, mob_all_area.csv, vz_all.csv.
CAR_DOWN = (0, 0, 0, 51.38, 134, 197, 243, 265, 338.45)
CAR_UP = (4.55, 6.36, 6.78, 9.25, 18, 27.72, 46.8, 48.4, 50.44)
CELL_DOWN = (0.07, 4.18, 9.53, 29, 82.3, 169, 255, 299, 430)

LANIEWSKI = (
    "Laniewski and others, Starlink on the road, arXiv 2403.13497, 2024 (data set, CC BY-SA 4.0)"
)
HU = "Hu and others, LEO satellite vs. cellular networks, CoNEXT workshops 2023 (data set)"
MADE = "tools/leo_scenarios.py draws series with these statistics; no recording is part of it."


def quantile(values: Sequence[float], share: float) -> float:
    """Return a quantile between published ones, linear in the share."""
    return float(np.interp(share, SHARES, values))


def ranked(scores: "np.ndarray[tuple[int], np.dtype[np.float64]]") -> list[float]:
    """Return the shares of a series: its ranks, evenly spaced."""
    ranks = np.argsort(np.argsort(scores))
    return [(float(rank) + 0.5) / len(scores) for rank in ranks]


def by_phase(draw: np.random.Generator, between: float) -> list[float]:
    """Return a share for each second; `between` is the share of variance between phases."""
    phases = draw.standard_normal(SECONDS // PERIOD)
    scores = [
        math.sqrt(between) * phases[(second - FIRST) // PERIOD % len(phases)]
        + math.sqrt(1 - between) * draw.standard_normal()
        for second in range(SECONDS)
    ]
    return ranked(np.array(scores))


def correlated(draw: np.random.Generator, correlation: float) -> list[float]:
    """Return a share for each second, of an autoregressive series."""
    scores = [draw.standard_normal()]
    for _ in range(SECONDS - 1):
        new = math.sqrt(1 - correlation**2) * draw.standard_normal()
        scores.append(correlation * scores[-1] + new)
    return ranked(np.array(scores))


def phases_of(draw: np.random.Generator, values: Sequence[float]) -> list[float]:
    """Return a quantile for each phase, in random order."""
    count = SECONDS // PERIOD
    shares = (np.arange(count) + 0.5) / count
    return [quantile(values, share) for share in draw.permutation(shares)]


def rate_csv(shares: Sequence[float], values: Sequence[float]) -> str:
    """Return the rates of each second in Mbit/s."""
    rows = [f"{second},{quantile(values, share):.1f}" for second, share in enumerate(shares)]
    return "\n".join(["time (s),rate (Mbit/s)", *rows, f"{SECONDS},1"])


def delay_csv(draw: np.random.Generator, levels: Sequence[float], deviation: float) -> str:
    """Return one-way delays: half of the phase's least round trip, and a part for each second.

    The part is exponential, with the published deviation.
    """
    rows = []
    for second in range(SECONDS):
        level = levels[(second - FIRST) // PERIOD % len(levels)]
        share = draw.uniform(0, 1)
        rows.append(f"{second},{(level - deviation * math.log(1 - share)) / 2:.1f}")
    return "\n".join(["time (s),delay (ms)", *rows, f"{SECONDS},0"])


def loss_csv(losses: Sequence[float]) -> str:
    """Return the outages at the start of each phase; a loss of 1 % of 15 s is one of 150 ms."""
    rows = ["0,0"]
    for number, loss in enumerate(losses):
        begin = FIRST + PERIOD * number
        if loss >= 0.05:
            rows += [f"{begin},1", f"{begin + PERIOD * loss / 100:.3f},0"]
    last = rows[-1].split(",")
    # The last phase begins three seconds before the trace begins again.
    if float(last[0]) >= SECONDS:
        rows[-1] = f"{SECONDS - 0.001:.3f},0"
    return "\n".join(["time (s),loss", *rows, f"{SECONDS},0"])


def link(name: str, traces: dict[str, dict[str, str]], fixed: dict[str, str]) -> str:
    """Return the TOML of a link's directions."""
    lines = ["[[links]]", f'name = "{name}"', 'between = ["server", "client"]', ""]
    for way, trace in traces.items():
        lines.append(f"[links.{way}]")
        if "rate" in trace:
            lines.append(f'rate_trace = {{ repeat = true, data = """\n{trace["rate"]}\n""" }}')
        lines += [fixed[way], ""]
        stages = [
            f'{kind}_trace = {{ repeat = true, data = """\n{trace[kind]}\n""" }}'
            for kind in ("loss", "delay")
            if kind in trace
        ]
        if stages:
            lines += [f"[links.{way}.channel]", *stages, ""]
    return "\n".join(lines)


def scenario(name: str, description: str, source: str, body: str) -> str:
    """Return a whole scenario with a download of a minute."""
    return f'''name = "{name}"
description = "{description}"
source = """{source}"""

[tcp]
variant = "cubic"
receive_window = "8 MiB"

{body}
[[flows]]
name = "download"
from = "server"
to = "client"
app = "bulk"
duration = "60 s"
'''


def starlink() -> str:
    """Return a terminal that stands still, by phases of 15 s."""
    draw = np.random.default_rng(2024)
    levels, losses = phases_of(draw, HOME_BEST), phases_of(draw, HOME_LOSS)
    traces = {}
    for way, values, between in (("down", HOME_DOWN, 0.81), ("up", HOME_UP, 0.90)):
        traces[way] = {
            "rate": rate_csv(by_phase(draw, between), values),
            "delay": delay_csv(draw, levels, HOME_DEVIATION),
            "loss": loss_csv(losses),
        }
    fixed = {
        "down": 'delay = "0 s"\nqueue = { bytes = "2 MB" }',
        "up": 'delay = "0 s"\nqueue = { bytes = "130 kB" }',
    }
    source = (
        f"{LANIEWSKI}: terminal at rest, quantiles of the rate of each second (11,856 values; "
        "medians 297 and 17.8 Mbit/s), of the least round trip (782 series of 25 s; median 43.9 "
        "ms) and of its losses, deviation of round trips 7.5 ms, share of the variance of the rate "
        f"between phases 0.81 down and 0.90 up. {MADE} Ours: the losses of a phase are an outage "
        "at its start, in both directions; a delay holds for a second; directions are equal; "
        "queues."
    )
    description = "A download over Starlink at rest: rate, delay and outages by phases of 15 s"
    body = link("satellite", traces, fixed)
    return scenario("starlink-laniewski2024", description, source, body)


def car_starlink() -> str:
    """Return a terminal on a car."""
    draw = np.random.default_rng(2023)
    levels, losses = phases_of(draw, ROAD_BEST), phases_of(draw, ROAD_LOSS)
    traces = {}
    for way, values in (("down", CAR_DOWN), ("up", CAR_UP)):
        traces[way] = {
            "rate": rate_csv(by_phase(draw, 0.82), values),
            "delay": delay_csv(draw, levels, ROAD_DEVIATION),
            "loss": loss_csv(losses),
        }
    fixed = {
        "down": 'delay = "0 s"\nqueue = { bytes = "1 MB" }',
        "up": 'delay = "0 s"\nqueue = { bytes = "130 kB" }',
    }
    source = (
        f"{HU}: Starlink Mobility on a car, quantiles of the UDP rate of each second (29,556 "
        "values down, 5,279 up; medians 134 and 18 Mbit/s, 16 % of the seconds below 1 Mbit/s "
        "down), share of the variance between phases of 15 s 0.82. "
        f"{LANIEWSKI}: least round trips, their deviation and losses in motion. "
        f"{MADE} Ours: the losses of a phase are an outage at its start, in both directions; a "
        "delay holds for a second; directions are equal; queues."
    )
    description = (
        "A download over Starlink on a car, by phases of 15 s, with seconds without a rate"
    )
    body = link("satellite", traces, fixed)
    return scenario("car-starlink-hu2023", description, source, body)


def car_cell() -> str:
    """Return a car's 5G."""
    draw = np.random.default_rng(5)
    traces = {"down": {"rate": rate_csv(correlated(draw, 0.96), CELL_DOWN)}, "up": {}}
    fixed = {
        "down": 'delay = "25 ms"\nqueue = { bytes = "2 MB" }',
        "up": 'rate = "20 Mbit/s"\ndelay = "25 ms"\nqueue = { bytes = "250 kB" }',
    }
    source = (
        f"{HU}: one of three carriers in the United States on the same drives, quantiles of the "
        "UDP rate of each second (35,516 values; median 82 Mbit/s), correlation from second to "
        "second 0.96. Left out: interruptions of handovers, and losses outside queues (TCP sent 0 "
        "to 0.25 % again in each drive, Figure 5). "
        f"{MADE} Ours: rate up, delay, and queues."
    )
    description = "A download over a car's 5G, whose rate changes from second to second"
    return scenario("car-5g-hu2023", description, source, link("cell", traces, fixed))


SCENARIOS = {
    "starlink-laniewski2024": starlink,
    "car-starlink-hu2023": car_starlink,
    "car-5g-hu2023": car_cell,
}


def main() -> int:
    """Write the scenarios, or compare them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="fail if a scenario differs")
    check = parser.parse_args().check
    differs = False
    for name, make in SCENARIOS.items():
        path = ROOT / "scenarios" / f"{name}.toml"
        if check:
            differs = differs or not path.exists() or path.read_text("utf-8") != make()
        else:
            path.write_text(make(), encoding="utf-8")
    return int(differs)


if __name__ == "__main__":
    sys.exit(main())
