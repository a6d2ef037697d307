"""With several losses in a window, each algorithm of recovery is better than the one before."""

from itertools import pairwise
from statistics import median

import pytest

import farlink as fl
from means import mean

ORDER = ["rfc793", "tahoe", "reno", "newreno", "sack"]
QUEUE = "links.bottleneck.down.queue.packets"
BURSTS = {"links.bottleneck.down.channel": {"gilbert": {"loss": 0.005, "burst": 2}}}


def goodputs(result: fl.Result) -> dict[str, float]:
    return {tcp: mean(result, "goodput", tcp) for tcp in ORDER}


def assert_ordered(goodput: dict[str, float]) -> None:
    assert goodput["rfc793"] < goodput["tahoe"] < goodput["reno"], goodput
    assert goodput["reno"] <= goodput["newreno"] <= goodput["sack"], goodput


@pytest.mark.parametrize("packets", [14, 15, 16, 17, 18, 19, 20])
def test_slow_start_overflows_a_buffer_of_about_one_bdp(packets: int) -> None:
    result = fl.run("several-losses", tcp=ORDER, overrides={QUEUE: packets})
    assert_ordered(goodputs(result))
    drops = result.links["drops_congestion"]["mean"].xs("down", level="direction")
    assert drops.xs("bottleneck", level="link").min() > 5


@pytest.mark.parametrize("packets", [10, 14, 16, 20])
def test_a_longer_transfer_over_other_buffers(packets: int) -> None:
    overrides = {QUEUE: packets, "flows.0.size": "8 MB"}
    assert_ordered(goodputs(fl.run("several-losses", tcp=ORDER, overrides=overrides)))


@pytest.fixture(scope="module")
def bursty() -> fl.Result:
    """Return 30 paired runs with overflow and with bursts of two lost packets on average."""
    return fl.run("several-losses", tcp=ORDER, overrides=BURSTS, runs=30)


# Tahoe and Reno do not differ here, see the next test.
STEPS = [(a, b) for a, b in pairwise(ORDER) if (a, b) != ("tahoe", "reno")]


@pytest.mark.parametrize(("worse", "better"), STEPS)
def test_in_bursts_each_step_is_surely_better(bursty: fl.Result, worse: str, better: str) -> None:
    gain = bursty.difference("goodput", better, worse)
    assert gain.low is not None
    assert gain.low > 0


def test_in_bursts_reno_halves_twice_and_so_is_no_better_than_tahoe(bursty: fl.Result) -> None:
    """After two losses in a window Reno halves for the first loss and again at the time-out.

    FlightSize at the time-out is still that of the window before the first loss. Half of it would
    leave the window as the first loss left it, and Reno would be better by a twelfth.
    """
    gain, tahoe = bursty.difference("goodput", "reno", "tahoe"), mean(bursty, "goodput", "tahoe")
    assert gain.low is not None
    assert gain.high is not None
    assert -0.05 * tahoe < gain.low < gain.high < 0.05 * tahoe
    overrides = {**BURSTS, "tcp.reduce_from": "flight-unbounded"}
    unbounded = fl.run("several-losses", tcp=["tahoe", "reno"], overrides=overrides, runs=30)
    gain = unbounded.difference("goodput", "reno", "tahoe")
    assert gain.low is not None
    assert gain.low > 0.05 * tahoe
    assert after_timeouts(bursty) == pytest.approx(0.5, abs=0.03)
    assert after_timeouts(unbounded) > 0.9


def after_timeouts(result: fl.Result) -> float:
    """Return the median ratio of ssthresh after and before Reno's time-outs, over ten runs."""
    left: list[float] = []
    for run in range(10):
        marks, sender = (result.trace(name, "reno", run) for name in ("marks", "ssthresh"))
        ssthresh = sender[sender["side"] == "from"].set_index("time")["ssthresh"]
        for time in marks.loc[marks["kind"] == "timeout", "time"]:
            before, after = ssthresh[ssthresh.index < time], ssthresh[ssthresh.index == time]
            left += [float(after.iloc[-1] / before.iloc[-1])] if len(after) else []
    return median(left)


def test_timeouts_are_what_reno_pays_with(bursty: fl.Result) -> None:
    timeouts = {tcp: mean(bursty, "timeouts", tcp) for tcp in ORDER}
    assert timeouts["rfc793"] > 50
    assert timeouts["reno"] > timeouts["newreno"] > timeouts["sack"]
