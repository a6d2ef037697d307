"""Verdicts of a comparison, and buffers of both sides; without emulation."""

import pytest

import farlink as fl
from farlink import comparison
from farlink.comparison import Row


def test_the_worst_run_says_how_late_a_row_was() -> None:
    row = Row("reno", (1.0, 1.0), (1.0, 1.0), ((0.002, 0.004), (0.001, 0.012)), 0.005)
    assert row.late_s == (0.002, 0.012)
    assert not row.is_judged
    assert row.verdict == "not judged: the machine was late by 12.0 ms"
    in_time = Row("reno", (1.0, 1.0), (1.0, 1.0), ((0.006, 0.004),), 0.005)
    assert in_time.is_judged, "one packet in a hundred decides"
    assert Row("reno", (1.0,), (1.0,)).late_s == (0.0, 0.0)


@pytest.mark.parametrize(
    ("emulated", "verdict"),
    [
        ((100.0, 101.0, 102.0), "within 5 %"),
        # the whole interval is above 1, a part of it above 1.05
        ((103.0, 104.5, 106.0), "differs"),
        ((94.0, 95.5, 97.0), "differs"),
        ((97.0, 104.0, 102.0), "undecided"),
        ((104.0, 104.0, 104.0), "within 5 %"),
        ((106.0, 106.0, 106.0), "differs"),
    ],
)
def test_all_of_the_interval_decides(emulated: tuple[float, ...], verdict: str) -> None:
    row = Row("reno", (100.0, 100.0, 100.0), emulated)
    assert row.verdict == verdict, row.ratio


def test_the_kernel_has_room_for_as_many_bytes_of_data() -> None:
    """A segment of 1448 bytes takes 2304 bytes of memory; the maximum is at least the default."""
    keys = {
        "tcp.send_buffer": "8 KiB",
        "tcp.receive_window": "100 kB",
        "tcp.receive_window_max": "1 MB",
    }
    assert comparison._memory(keys) == {
        "tcp_wmem": "4096 8192 8192",
        "tcp_rmem": "4096 160000 1600000",
    }
    keys |= {"tcp.receive_window_max": "50 kB", "tcp.send_buffer": "1 MB"}
    assert comparison._memory(keys) == {
        "tcp_wmem": "4096 16384 1000000",
        "tcp_rmem": "4096 160000 160000",
    }
    with pytest.raises(fl.ScenarioError, match="send_buffer is much; write a size"):
        comparison._memory({**keys, "tcp.send_buffer": "much"})
