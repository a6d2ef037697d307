"""QUIC far from usual paths, beside Linux's CUBIC over TCP."""

from typing import Any

import pytest

import farlink as fl

BITS = {"19.2 kbit/s": 19.2e3, "10 Mbit/s": 10e6}
RATES = {"19.2 kbit/s": "300 s", "10 Mbit/s": "60 s"}


def path(rate: str, delay: str, loss: float, count: int = 1) -> dict[str, Any]:
    """Return a path with bulk flows, and losses each way."""
    way = {"rate": rate, "delay": delay, "queue": {"bdp": 1}, "channel": {"loss": loss}}
    flow = {"from": "a", "to": "b", "app": "bulk", "duration": RATES[rate], "count": count}
    return {"links": [{"between": ["a", "b"], "down": way, "up": way}], "flows": [flow]}


@pytest.mark.parametrize("loss", [0.0, 0.15])
@pytest.mark.parametrize("delay", ["2.5 ms", "300 ms"])
@pytest.mark.parametrize("rate", RATES)
def test_quic_carries_as_much_as_tcp_at_extremes(rate: str, delay: str, loss: float) -> None:
    """Losses cost TCP more: its least RTO is 200 ms, and the timeout of QUIC has no such bound."""
    tree = path(rate, delay, loss)
    names = ["linux-cubic", "quic", "quic-newreno", "quic-bbr"]
    result = fl.run(tree, tcp=names)
    goodput = {name: result.per_run("goodput", name)[0] or 0.0 for name in names}
    for name in names[1:]:
        assert result.per_run("completed", name) == [1.0], name
        assert goodput[name] > 0.85 * goodput["linux-cubic"], goodput
        assert goodput[name] < BITS[rate] * (1 - loss), goodput


@pytest.mark.parametrize("loss", [0.0, 0.15])
def test_each_of_100_flows_gets_data_through(loss: float) -> None:
    result = fl.run(path("10 Mbit/s", "300 ms", loss, 100), tcp="quic")
    flows = [flow["metrics"] for flow in result.probe("quic").outcome["flows"]]
    assert len(flows) == 100
    assert [flow["completed"] for flow in flows] == [1] * 100
    assert min(flow["bytes_delivered"] for flow in flows) > 0
