"""Several losses in one window: each way of recovering is better than the one before it."""

from itertools import pairwise

import pytest

import farlink as fl
from means import mean

ORDER = ["rfc793", "tahoe", "reno", "newreno", "sack"]
QUEUE = "links.bottleneck.down.queue.packets"


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
    """Bursts of two lost packets on the mean besides the overflow; 30 paired runs."""
    channel = {"gilbert": {"loss": 0.005, "burst": 2}}
    overrides = {"links.bottleneck.down.channel": channel}
    return fl.run("several-losses", tcp=ORDER, overrides=overrides, runs=30)


@pytest.mark.parametrize(("worse", "better"), list(pairwise(ORDER)))
def test_in_bursts_each_step_is_surely_better(bursty: fl.Result, worse: str, better: str) -> None:
    gain = bursty.difference("goodput", better, worse)
    assert gain.low is not None
    assert gain.low > 0


def test_timeouts_are_what_reno_pays_with(bursty: fl.Result) -> None:
    timeouts = {tcp: mean(bursty, "timeouts", tcp) for tcp in ORDER}
    assert timeouts["rfc793"] > 50
    assert timeouts["reno"] > timeouts["newreno"] > timeouts["sack"]
