"""Congestion controls in Python far from usual paths."""

from pathlib import Path
from typing import Any

import pytest

import farlink as fl
from test_congestion import EXAMPLES, numbers

WIDE = {"receive_window": "64 MiB", "send_buffer": "64 MiB"}


def path(rate: str, delay: str, loss: float = 0.0, **flow: object) -> dict[str, Any]:
    """Return a path with a queue of a bandwidth-delay product, and a bulk flow."""
    way = {"rate": rate, "delay": delay, "queue": {"bdp": 1}}
    lossy = {**way, "channel": {"loss": loss}} if loss else way
    keys = {"app": "bulk", "duration": "60 s", **flow}
    return {
        "links": [{"between": ["a", "b"], "down": lossy, "up": way}],
        "flows": [{"from": "a", "to": "b", **keys}],
    }


PATHS = {
    "15 % of loss": path("10 Mbit/s", "300 ms", 0.15),
    "15 % of loss near": path("1 Gbit/s", "2.5 ms", 0.15, duration="5 s"),
    "10,000 segments": {**path("200 Mbit/s", "300 ms", duration="40 s"), "tcp": WIDE},
    "10,000 segments and losses": {**path("200 Mbit/s", "300 ms", 0.001), "tcp": WIDE},
    "19.2 kbit/s": path("19.2 kbit/s", "2.5 ms", duration="300 s"),
    "19.2 kbit/s and losses": path("19.2 kbit/s", "300 ms", 0.15, duration="300 s"),
    "two segments": {
        **path("10 Mbit/s", "300 ms", 0.05),
        "tcp": {"receive_window": "2920 B"},
    },
    "100 flows": path("10 Mbit/s", "300 ms", count=100),
}


@pytest.mark.parametrize("name", PATHS)
def test_reno_in_python_equals_reno_at_extremes(name: str, tmp_path: Path) -> None:
    ours = fl.run(PATHS[name], tcp="reno")
    own = fl.run(PATHS[name], tcp=f"{EXAMPLES}/reno.py:Reno")
    assert numbers(ours, tmp_path / "a.json") == numbers(own, tmp_path / "b.json")


@pytest.mark.parametrize("name", PATHS)
@pytest.mark.parametrize("example", ["aimd.py:Aimd", "delay.py:Delay", "policy.py:Policy"])
def test_examples_carry_data_at_extremes(example: str, name: str) -> None:
    """An example ends without an error, and no flow stands still for the whole run."""
    result = fl.run(PATHS[name], tcp=f"sack+{EXAMPLES}/{example}")
    delivered = result.per_run("bytes_delivered", result.tcp[0])
    assert all(total is not None and total > 2000 for total in delivered), delivered
