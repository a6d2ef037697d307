"""The effect of losses on the window, and the cost of repair, in whole runs on long paths."""

import pytest

import farlink as fl
from means import mean

QUEUE = "links.satellite.down.queue.packets"
LOSS = "links.satellite.down.channel.loss"
# A window that overflows a queue of up to 80 packets.
GEO = {"tcp.receive_window": "1 MiB", "flows.0.size": "5 MiB"}


def test_a_time_out_after_a_recovery_does_not_raise_the_window() -> None:
    """Slow start of CUBIC overshoots a gigabit path by thousands of segments, SACKed data included.

    A threshold set to a share of these data exceeded the path again, with a time-out every 2 s.
    """
    overrides = {"tcp.ack_every": 1, "duration": "16 s", "flows.0.duration": "16 s"}
    result = fl.run("gigabit-cubic", overrides=overrides)
    assert mean(result, "timeouts", "cubic") <= 1
    assert mean(result, "goodput", "cubic") > 850e6


def test_newreno_takes_a_round_trip_for_each_segment_that_slow_start_lost() -> None:
    """A longer queue makes the transfer slower, because slow start overshoots by queue and path."""
    lost: list[float] = []
    goodputs: list[float] = []
    for packets in (20, 40, 80):
        result = fl.run("geo-omueti2007", tcp=["newreno"], overrides={**GEO, QUEUE: packets})
        assert mean(result, "timeouts", "newreno") == 0
        drops = result.links["drops_congestion"]["mean"]
        lost.append(float(drops.xs("satellite", level="link").xs("down", level="direction").max()))
        marks = result.trace("marks", "newreno")
        kind = marks.set_index("time")["kind"]
        began = kind.index[kind == "fast_retransmit"][0]
        ended = kind.index[kind == "recovery_exit"][0]
        # 2 x (250 + 10) ms, and the transmission time of a segment on both links
        round_trip = 0.5225
        assert (ended - began) / round_trip == pytest.approx(lost[-1], rel=0.1)
        goodputs.append(mean(result, "goodput", "newreno"))
    assert lost == sorted(lost)
    assert goodputs == sorted(goodputs, reverse=True)


def test_eln_reduces_its_window_for_what_a_queue_dropped() -> None:
    """Data let out by marked duplicates replaces segments that have arrived.

    When these data counted as in flight, the window was not reduced, and the queue lost twice as
    many segments.
    """
    drops = {}
    for loss in (0, 0.005):
        overrides = {**GEO, QUEUE: 40, LOSS: loss}
        result = fl.run("geo-omueti2007", tcp=["eln"], overrides=overrides, runs=20)
        mean_of = result.links["drops_congestion"]["mean"].xs("satellite", level="link")
        drops[loss] = float(mean_of.xs("down", level="direction").max())
    assert drops[0.005] < 1.2 * drops[0]
