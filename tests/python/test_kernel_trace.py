"""Figures of the kernel's TCP, from artificial samples."""

from typing import Any

import numpy as np
import pytest

from farlink.emulation import Emulated
from farlink.errors import ScenarioError
from farlink.kernel import KernelTrace

CONTROL = ("10.0.0.3:40000", "10.0.0.1:5201")
DATA = ("10.0.0.3:40002", "10.0.0.1:5201")


def emulated(*samples: dict[str, Any]) -> Emulated:
    """Return an emulation of two hosts with these samples of sockets."""
    known = {
        "time_ns": 0,
        "host": 1,
        "local": "",
        "peer": "",
        "ca_state": 0,
        "retransmissions": 0,
        "rto_us": 200_000,
        "srtt_us": 50_000,
        "cwnd": 14_480,
        "ssthresh": None,
        "flight": 0,
        "acked": 0,
        "received": 0,
    }
    rows = [known | sample for sample in samples]
    return Emulated(
        {
            "scenario": "made up",
            "seed": 1,
            "duration_s": 10.0,
            "hosts": [
                {"host": "server", "address": "10.0.0.1"},
                {"host": "client", "address": "10.0.0.3"},
            ],
            "links": [],
            "sockets": {key: [row[key] for row in rows] for key in known},
        }
    )


def end(pair: tuple[str, str], at_s: float, sent: int, cwnd: int) -> list[dict[str, Any]]:
    """Return a sample of the client's socket with this many bytes acknowledged and received.

    Samples of the other end are missing, as with iperf3, whose server listens on IPv6.
    """
    row = {"time_ns": int(at_s * 1e9), "local": pair[0], "peer": pair[1]}
    return [row | {"acked": sent, "received": 300 if pair == CONTROL else 0, "cwnd": cwnd}]


def test_the_connection_that_carried_most_is_shown_first() -> None:
    """Iperf3 opens its control connection before the data connection."""
    samples = end(CONTROL, 0.1, 200, 14_480) + end(DATA, 0.2, 0, 14_480)
    samples += end(CONTROL, 1.0, 400, 14_480) + end(DATA, 1.0, 600_000, 99_000)
    trace = KernelTrace.of(emulated(*samples))
    assert trace.flows == ["-".join(DATA), "-".join(CONTROL)]
    figures = trace.plots("cubic")
    cwnd = figures.cwnd()
    assert "of 2 flows" in cwnd.get_suptitle()
    (axes,) = cwnd.axes
    legend = axes.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()][:2] == trace.flows
    drawn = [np.asarray(line.get_ydata(), dtype=np.float64) for line in axes.lines]
    assert max(values.max(initial=0.0) for values in drawn) == 99_000
    assert f"flow {trace.flows[0]} of 2" in figures.sequence("cubic").get_suptitle()


def test_without_a_connection_there_is_nothing_to_draw() -> None:
    """Ping has no flows, so tables are empty, and a line of text replaces a traceback."""
    trace = KernelTrace.of(emulated())
    assert trace.flows == []
    assert len(trace.table("cwnd")) == 0
    with pytest.raises(ScenarioError, match="there is no flow over TCP to draw"):
        trace.plots("cubic").cwnd()
