"""Six TCPs over a GEO link with bit errors and a window of 1 MiB, here and in ns-3.44.

ns3/long_path.csv has the runs of ns-3. The order of the TCPs is equal. The means agree once farlink
is configured as ns-3 or ns-3 is corrected.
"""

import csv
import functools
from pathlib import Path

import pytest

import farlink as fl
from means import mean

RUNS = 160
LONG_PATH = {
    "tcp": {
        "mss": "1460 B",
        "receive_window": "1 MiB",
        "initial_window": 2,
        "delayed_ack": "off",
        "rto_min": "1 s",
        "rto_tick": "0 s",
        "limited_transmit": True,
    },
    "links": [
        {
            "between": ["server", "gateway"],
            "down": {"rate": "10 Mbit/s", "delay": "10 ms", "overhead": "2 B"},
        },
        {
            "between": ["gateway", "client"],
            "down": {
                "rate": "2048 kbit/s",
                "delay": "250 ms",
                "overhead": "2 B",
                "channel": {"ber": 1e-6},
            },
            "up": {
                "rate": "256 kbit/s",
                "delay": "250 ms",
                "overhead": "2 B",
                "channel": {"ber": 1e-6},
            },
        },
    ],
    "flows": [{"from": "server", "to": "client", "size": "10 MiB"}],
}

# TCP and settings in farlink, class in ns-3, allowed relative difference of the means.
PAIRS: list[tuple[str, dict[str, object], str, float]] = [
    ("sack", {"tcp.reduce_from": "pipe", "tcp.byte_counting": "off"}, "TcpNewReno", 0.04),
    ("hybla", {"tcp.reduce_from": "pipe"}, "TcpHyblaRho", 0.04),
    ("vegas", {"tcp.control.vegas.loss_cut": "segment"}, "TcpVegas", 0.15),
    ("westwood+", {}, "TcpWestwoodPlusOnce", 0.15),
    ("cubic", {}, "TcpCubicOne", 0.08),
    ("bbr", {}, "TcpBbr", 0.05),
]


@functools.cache
def theirs() -> dict[str, float]:
    """Return the mean goodput of each class of ns-3 in bit/s, over 40 runs."""
    path = Path(__file__).parent / "ns3" / "long_path.csv"
    with path.open(newline="") as file:
        return {row["tcp"]: float(row["goodput_mean"]) for row in csv.DictReader(file)}


@functools.cache
def goodput(tcp: str) -> float:
    """Return farlink's mean goodput with the settings of `PAIRS`."""
    settings = next(settings for name, settings, _, _ in PAIRS if name == tcp)
    result = fl.run(LONG_PATH, tcp=[tcp], runs=RUNS, overrides=settings)
    return mean(result, "goodput", tcp)


@pytest.mark.parametrize(("tcp", "there", "apart"), [(a, c, d) for a, _, c, d in PAIRS])
def test_goodput_is_that_of_ns3(tcp: str, there: str, apart: float) -> None:
    assert goodput(tcp) == pytest.approx(theirs()[there], rel=apart)


def test_the_order_is_the_same() -> None:
    here = {there: goodput(tcp) for tcp, _, there, _ in PAIRS}
    # Hybla and BBR both reach the capacity of the link, so their order is undefined.
    slow = [name for name in here if name not in ("TcpHyblaRho", "TcpBbr")]
    by_ours = sorted(slow, key=lambda name: here[name])
    assert by_ours == sorted(slow, key=lambda name: theirs()[name])
    top = min(here["TcpHyblaRho"], here["TcpBbr"])
    assert top > 1.5 * max(here[name] for name in slow)
