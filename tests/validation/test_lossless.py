"""The duration of a lossless download over a geostationary satellite equals the arithmetic."""

from typing import Any

import pytest

import farlink as fl
from means import mean
from models import GeoTransfer

SIZE = 50 << 20
TCPS = ["tahoe", "reno", "newreno", "sack", "cubic"]
SACK = ("sack", "cubic")
ACK_DELAYS = {"off": None, "200 ms": 0.2}


@pytest.fixture(scope="module")
def results() -> dict[str, fl.Result]:
    return {
        delay: fl.run("geo-omueti2007", tcp=TCPS, overrides={"tcp.delayed_ack": delay})
        for delay in ACK_DELAYS
    }


@pytest.mark.parametrize("delay", ACK_DELAYS)
@pytest.mark.parametrize("tcp", TCPS)
def test_the_time_is_that_of_the_window_segment_by_segment(
    results: dict[str, fl.Result], tcp: str, delay: str
) -> None:
    transfer = GeoTransfer(SIZE, ack_delay=ACK_DELAYS[delay], sack_permitted=tcp in SACK)
    assert mean(results[delay], "duration", tcp) == pytest.approx(transfer.duration(), abs=1e-6)


def test_the_time_is_the_handshake_slow_start_and_full_windows() -> None:
    """After slow start 44 segments arrive per loaded round trip, within 1 %."""
    transfer = GeoTransfer(SIZE, ack_delay=None)
    rtt = transfer.loaded_rtt
    assert rtt == pytest.approx(0.5283, abs=1e-4)
    segments = -(-SIZE // 1460)
    # Rounds of 2, 4, 8, 16 and 32 segments, then full windows.
    slow_start = [2 << k for k in range(5)]
    rounds = 1.5 + len(slow_start) + (segments - sum(slow_start)) / 44
    result = fl.run("geo-omueti2007", tcp="newreno")
    assert mean(result, "duration", "newreno") == pytest.approx(rounds * rtt, rel=0.01)


def test_nothing_is_lost_and_sent_again(results: dict[str, fl.Result]) -> None:
    for result in results.values():
        for tcp in TCPS:
            for name in ("segments_retransmitted", "timeouts", "fast_retransmits"):
                assert mean(result, name, tcp) == 0
            assert mean(result, "segments_sent", tcp) == -(-SIZE // 1460)


@pytest.mark.parametrize("delay", ACK_DELAYS)
def test_sack_is_newreno(results: dict[str, fl.Result], delay: str) -> None:
    """SACK equals NewReno exactly, except for the four bytes of SACK-permitted in each SYN."""
    result = results[delay]
    four_bytes = 4 * 8 * (1 / 10e6 + 1 / 2048e3) + 4 * 8 * (1 / 10e6 + 1 / 256e3)
    longer = mean(result, "duration", "sack") - mean(result, "duration", "newreno")
    assert longer == pytest.approx(four_bytes, abs=1e-8)
    for name in ("segments_sent", "acks_sent", "dup_acks", "bytes_delivered"):
        assert mean(result, name, "sack") == mean(result, name, "newreno")
    assert mean(result, "rtt_max", "sack") == mean(result, "rtt_max", "newreno")


@pytest.mark.parametrize("tcp", TCPS)
def test_delayed_ack_costs_one_to_two_per_cent(results: dict[str, fl.Result], tcp: str) -> None:
    without, delayed = (mean(results[d], "goodput", tcp) for d in ("off", "200 ms"))
    assert 0.01 < 1 - delayed / without < 0.02


@pytest.mark.parametrize("delay", ACK_DELAYS)
def test_the_window_leaves_half_the_link_idle(results: dict[str, fl.Result], delay: str) -> None:
    for row in _downlinks(results[delay]):
        assert 0.45 < row["metrics"]["utilisation"]["mean"] < 0.55
        assert row["metrics"]["drops"]["mean"] == 0


def _downlinks(result: fl.Result) -> list[dict[str, Any]]:
    chosen = [
        row
        for row in result.data["links"]
        if row["link"] == "satellite" and row["direction"] == "down"
    ]
    assert len(chosen) == len(TCPS)
    return chosen
