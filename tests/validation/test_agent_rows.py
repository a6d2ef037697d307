"""Every TCP reacts to signals of agents to a sender: partial acknowledgments and notices."""

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
"""Length of a fade: longer than the time-out of any TCP."""
FINE = {"tick": "20 ms", "tries": 300}
"""Settings with which the agent notices a fade before the sender does, and keeps trying."""
ROWS = "tahoe reno p-tcp newreno sack vegas bbr cubic hybla westwood scps peach linux-cubic"


def timeouts(row: str, agent: dict[str, object], tcp: dict[str, object]) -> float:
    """Return the time-outs of the sender."""
    scenario = tomllib.loads(SCENARIO.replace("CHANNEL", FADE))
    scenario["agents"][0].update(agent)
    scenario["tcp"].update(tcp)
    (output,) = fl.run(scenario, tcp=[row]).rows("results")
    (value,) = values_of(output, "timeouts")
    assert value is not None
    return value


@pytest.mark.parametrize("row", ROWS.split())
def test_agents_keep_the_timer_of_each_row(row: str) -> None:
    """In a fade the sender does not time out while an agent reports its attempts.

    Without the agent the sender times out. A row that a signal does not reach, or that ignores it,
    would still time out.
    """
    alone = timeouts(row, {"kind": "snoop", **FINE}, {})
    partial = timeouts(row, {"kind": "ackp", "repeat": True, **FINE}, {"ackp": "restart"})
    noticed = timeouts(row, {"kind": "ebsn", **FINE}, {"ebsn": True})
    assert alone > 0
    # The timer of p-tcp is shorter than the agent's.
    most = 1 if row == "p-tcp" else 0
    assert partial <= most < alone
    assert noticed <= most < alone
