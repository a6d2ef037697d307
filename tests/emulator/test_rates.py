"""Throughput and loss of real TCP and UDP equal those of the link, from 0.25 to 100 Mbit/s."""

import json
import shutil
import statistics
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from test_emulate import pytestmark  # noqa: F401  (skips without the right)

import farlink as fl

PROGRAM = str(Path(__file__).with_name("rates.py"))
BUSY = pytest.mark.xdist_group("busy")
"""Mark of tests that use much of a processor, so that one runs at a time."""
RATES = [0.25e6, 2e6, 20e6, pytest.param(100e6, marks=BUSY)]
PACKET = 1500
MSS = 1448
"""Data of a TCP segment of 1500 bytes: 40 bytes are headers, 12 are timestamps."""
PAYLOAD = 1472
"""Data of a UDP datagram of 1500 bytes."""
BOUND = 0.005
"""Allowed relative error of a measured rate; its cause is the time stamps, not the link."""


def room(rate: float) -> int:
    """Return the packets of a queue of 120 ms, which keeps the link busy during pauses."""
    return max(10, int(0.12 * rate / (8 * PACKET)))


def path(rate: float) -> dict[str, Any]:
    """A link of 10 ms between two hosts."""
    way = {"rate": f"{rate:.0f} bit/s", "delay": "10 ms", "queue": {"packets": room(rate)}}
    return {
        "links": [{"between": ["server", "client"], "down": way, "up": way}],
        "flows": [{"from": "server", "to": "client", "size": "1 MB"}],
    }


def program(*arguments: object) -> list[str]:
    return [sys.executable, PROGRAM, *map(str, arguments)]


def speed(looks: list[tuple[int, int]], expected: float) -> float:
    """Return the rate in bit/s at which data arrived in the last two thirds of the time.

    The estimate compares deviations from the expected rate at the middle and at the end. Both are
    medians of a third of the samples, because late samples do not move a median.
    """
    ahead = [(at, 8 * count - expected * (at - looks[0][0]) / 1e9) for at, count in looks]
    span = (looks[-1][0] - looks[0][0]) / 1e9
    third = span / 3 * 1e9 + looks[0][0]
    rest = [item for item in ahead if item[0] >= third]
    half = len(rest) // 2
    (t1, a1), (t2, a2) = (
        (statistics.median(t for t, _ in part), statistics.median(a for _, a in part))
        for part in (rest[:half], rest[half:])
    )
    return expected + (a2 - a1) / ((t2 - t1) / 1e9)


@pytest.mark.parametrize("rate", RATES)
def test_tcp_fills_the_link(rate: float, tmp_path: Path) -> None:
    """The goodput of a long transfer is the rate less the headers."""
    out = tmp_path / "out"
    fl.emulate(
        path(rate),
        program("tcp-receive", "server", out),
        host="client",
        servers=[("server", program("tcp-send", 6 if rate < 1e6 else 4))],
    )
    goodput = rate * MSS / PACKET
    looks = json.loads(out.read_text())
    assert abs(speed(looks, goodput) / goodput - 1) < BOUND


@dataclass(frozen=True)
class Datagrams:
    """Fate of datagrams."""

    sent: int
    seconds: float
    held_up: float
    """Seconds beyond 100 ms, the length of the queue, that the sender paused or was late."""
    looks: list[tuple[int, int]]
    lost: float


def udp(rate: float, share: float, tmp_path: Path) -> Datagrams:
    """Send at a share of the rate; below it, keep a transmission time between datagrams."""
    sent, came = tmp_path / "sent", tmp_path / "came"
    seconds = 6 if rate < 1e6 else 3
    interval = 8 * PACKET / rate / share
    packets = int(seconds / interval)
    wait = f"while not __import__('os').path.exists({str(came)!r}): __import__('time').sleep(0.05)"
    least = 0 if share > 1 else interval * share
    times = (int(1e9 * interval), int(1e9 * least))
    sender = program("udp-send", "client", packets, *times, sent)
    done = fl.emulate(
        path(rate),
        ["sh", "-c", '"$@"; exec ' + f'{sys.executable} -c "{wait}"', "sh", *sender],
        host="server",
        servers=[("client", program("udp-receive", came))],
        seconds=60,
    )
    seconds, held_up = json.loads(sent.read_text())
    (lost,) = (
        row["metrics"]["drops_congestion"]
        for row in done.data["links"]
        if row["direction"] == "down"
    )
    return Datagrams(packets, seconds, held_up, json.loads(came.read_text()), lost)


@pytest.mark.parametrize("rate", RATES)
def test_udp_above_the_rate_of_a_link_loses_what_is_too_much(rate: float, tmp_path: Path) -> None:
    """The rate without headers arrives; the queue drops the rest."""
    done = udp(rate, 1.5, tmp_path)
    assert len(done.looks) + done.lost == done.sent
    # The link carried its rate while packets were sent, and then the full queue. It carried less if
    # the machine held up the sender for longer than the queue lasted.
    carried = rate * done.seconds / (8 * PACKET) + room(rate)
    beyond = done.lost - (done.sent - carried)
    assert -BOUND * done.sent - 3 < beyond
    assert beyond < BOUND * done.sent + 3 + rate * done.held_up / (8 * PACKET)
    payload = rate * PAYLOAD / PACKET
    bound = BOUND + done.held_up / done.seconds
    assert abs(speed(done.looks, payload) / payload - 1) < bound


@pytest.mark.parametrize("rate", RATES)
def test_udp_below_the_rate_of_a_link_loses_nothing(rate: float, tmp_path: Path) -> None:
    done = udp(rate, 0.5, tmp_path)
    assert (len(done.looks), done.lost) == (done.sent, 0)
    assert done.looks[-1][1] == done.sent * PAYLOAD


iperf3 = pytest.mark.skipif(shutil.which("iperf3") is None, reason="no iperf3")


TIMES = ["-t", "5", "-O", "2"]
"""Seconds that iperf3 measures, and seconds that it omits before."""


def iperf(rate: float, report: Path, *arguments: str) -> tuple[dict[str, Any], dict[str, float]]:
    """Run iperf3 from the server to the client; return its results and those of the link."""
    done = fl.emulate(
        path(rate),
        ["iperf3", "-c", "server", "-R", *TIMES, "-J", "--logfile", str(report), *arguments],
        host="client",
        servers=[("server", ["iperf3", "-s", "-1"])],
        tcp="reno",
    )
    data: dict[str, Any] = json.loads(report.read_text())["end"]
    (down,) = (row["metrics"] for row in done.data["links"] if row["direction"] == "down")
    return data, down


@iperf3
@pytest.mark.parametrize("rate", RATES)
def test_iperf3_sees_the_same_tcp(rate: float, tmp_path: Path) -> None:
    """Iperf3 counts whole blocks in whole intervals, so it is less exact than packet times."""
    result, _ = iperf(rate, tmp_path / "report")
    goodput = rate * MSS / PACKET
    assert abs(result["sum_received"]["bits_per_second"] / goodput - 1) < 0.05


@iperf3
@pytest.mark.parametrize("rate", RATES)
def test_iperf3_sees_the_same_udp(rate: float, tmp_path: Path) -> None:
    """On a busy machine iperf3 sends in bursts, so it may try three times."""
    offered = f"{1.5 * rate * PAYLOAD / PACKET:.0f}"
    off = []
    for number in range(3):
        report = tmp_path / f"report-{number}"
        result, down = iperf(rate, report, "-u", "-b", offered, "-l", str(PAYLOAD))
        every = down["packets"] + down["drops_congestion"]
        # A third of the datagrams is dropped, except those that filled the queue.
        dropped = (down["drops_congestion"] + room(rate)) / every
        # iperf3 omits the first seconds, and also counts the losses at its own socket.
        lost = result["sum"]["lost_percent"] / 100
        off.append((dropped - 1 / 3, lost - 1 / 3))
        if abs(off[-1][0]) < 0.05 and off[-1][1] > -0.05:
            return
    pytest.fail(f"shares of drops and of losses off from a third: {off}")
