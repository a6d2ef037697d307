"""Every TCP heeds what agents tell a sender: partial acknowledgments and notices."""

import tomllib

import pytest

import farlink as fl
from farlink.measures import values_of

SCENARIO = """
[tcp]
receive_window = "64 KiB"
[[links]]
between = ["server", "base"]
down = { rate = "10 Mbit/s", delay = "20 ms" }
[[links]]
name = "radio"
between = ["base", "mobile"]
down = { rate = "2 Mbit/s", delay = "5 ms", channel = CHANNEL }
up = { rate = "2 Mbit/s", delay = "5 ms" }
[[agents]]
at = "base"
wireless = "radio"
[[flows]]
from = "server"
to = "mobile"
size = "500 kB"
"""
FADE = '{ outage = { start = "1.2 s", duration = "3 s" } }'
"""Longer than the time-out of any of them."""
FINE = {"tick": "20 ms", "tries": 300}
"""The agent notices before the sender does, and goes on."""
ROWS = "tahoe reno p-tcp newreno sack vegas bbr cubic hybla westwood scps peach linux-cubic"


def timeouts(row: str, agent: dict[str, object], tcp: dict[str, object]) -> float:
    """Time-outs of the sender."""
    scenario = tomllib.loads(SCENARIO.replace("CHANNEL", FADE))
    scenario["agents"][0].update(agent)
    scenario["tcp"].update(tcp)
    (output,) = fl.run(scenario, tcp=[row]).rows("results")
    (value,) = values_of(output, "timeouts")
    assert value is not None
    return value


@pytest.mark.parametrize("row", ROWS.split())
def test_agents_keep_the_timer_of_each_row(row: str) -> None:
    """In a fade the sender times out, and does not while an agent tells it that it tries: a row
    that a word does not reach, or that does not heed it, would time out as before."""
    alone = timeouts(row, {"kind": "snoop", **FINE}, {})
    partial = timeouts(row, {"kind": "ackp", "repeat": True, **FINE}, {"ackp": "restart"})
    noticed = timeouts(row, {"kind": "ebsn", **FINE}, {"ebsn": True})
    assert alone > 0
    # The timer of p-tcp is finer than the agent's.
    most = 1 if row == "p-tcp" else 0
    assert partial <= most < alone
    assert noticed <= most < alone
