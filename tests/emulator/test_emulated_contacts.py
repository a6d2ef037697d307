"""Contact plans in the emulator: real datagrams wait for contacts, and QUIC crosses them."""

import json
import sys
from itertools import pairwise
from typing import Any

import pytest
from test_emulate import path, python
from test_emulate import pytestmark as emulates

import farlink as fl
from farlink import emulation

pytestmark = [emulates]

PLAN = [(0.0, 1.0, 0.05), (2.5, 3.5, 0.2), (5.0, 60.0, 0.05)]
"""Contacts: start (s), end (s) and delay (s), at 8 Mbit/s."""

EVERY, COUNT = 0.05, 110
"""Seconds from a datagram to the next, and number of datagrams."""

SINK = """
import json, socket, sys, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("", 5000))
s.settimeout(float(sys.argv[2]))
rows = []
try:
    while len(rows) < int(sys.argv[1]):
        data, _ = s.recvfrom(2000)
        rows.append((float(data), time.monotonic()))
except TimeoutError:
    pass
print(json.dumps(rows))
"""
SOURCE = """
import socket, sys, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
due = time.monotonic()
for _ in range(int(sys.argv[1])):
    s.sendto(str(time.monotonic()).encode(), ("client", 5000))
    due += float(sys.argv[2])
    time.sleep(max(0.0, due - time.monotonic()))
"""


def contacts(packets: str = "hold") -> dict[str, Any]:
    """Return a path whose link to the client has the contacts of `PLAN`."""
    scenario = path("20 ms")
    rows = "".join(f"{start},{end},8,{delay}\n" for start, end, delay in PLAN)
    plan = {"data": f"start (s),end (s),rate (Mbit/s),delay (s)\n{rows}", "packets": packets}
    scenario["links"][1]["down"] = {"contacts": plan, "queue": "unlimited"}
    return scenario


def received(packets: str, capfd: pytest.CaptureFixture[str]) -> list[tuple[float, float]]:
    """Return the times of departure and arrival of datagrams, in the order of arrival."""
    source = ("server", python(SOURCE, str(COUNT), str(EVERY)))
    sink = [sys.executable, "-c", SINK, str(COUNT), "1.9"]
    done = fl.emulate(contacts(packets), sink, servers=[source], seconds=20)
    assert done.exit_code == 0
    return [(sent, arrived) for sent, arrived in json.loads(capfd.readouterr().out)]


def test_datagrams_wait_for_the_next_contact(capfd: pytest.CaptureFixture[str]) -> None:
    rows = received("hold", capfd)
    # The first datagrams may precede the sink; of the others none is missing.
    assert COUNT - 20 < len(rows) <= COUNT
    assert rows == sorted(rows)
    sent = [row[0] for row in rows]
    assert sent[-1] - sent[0] == pytest.approx((len(rows) - 1) * EVERY, abs=EVERY / 2)
    # Two gaps between contacts, of about 1.5 s each, end with the delay of the next contact.
    arrivals = [arrived for _, arrived in rows]
    ends = [b for a, b in pairwise(arrivals) if b - a > 1.0]
    assert len(ends) == 2
    between = (PLAN[2][0] + PLAN[2][2]) - (PLAN[1][0] + PLAN[1][2])
    assert ends[1] - ends[0] == pytest.approx(between, abs=0.1)
    # Datagrams that waited arrive together: one for each 50 ms of the gap.
    for end in ends:
        together = [arrived for arrived in arrivals if end <= arrived < end + EVERY / 2]
        assert len(together) == pytest.approx(1.5 / EVERY, abs=5)
    # Within a contact the delay is that of the contact.
    zero = ends[0] - PLAN[1][0] - PLAN[1][2]
    for start, end, delay in PLAN:
        within = [arrived - sent for sent, arrived in rows if start < sent - zero < end - 0.1]
        assert within
        assert min(within) == pytest.approx(delay, abs=0.02)


def test_datagrams_between_contacts_are_dropped_on_request(
    capfd: pytest.CaptureFixture[str],
) -> None:
    rows = received("drop", capfd)
    gaps = sum(b[0] - a[1] for a, b in pairwise(PLAN))
    assert COUNT - gaps / EVERY - 20 < len(rows) < COUNT - gaps / EVERY + 3
    assert max(arrived - sent for sent, arrived in rows) < 0.6


@pytest.mark.parametrize("tcp", ["quic", "linux-cubic"])
def test_a_transfer_crosses_contacts_as_simulated(
    tcp: str, capfd: pytest.CaptureFixture[str]
) -> None:
    scenario = contacts()
    ends = {"server": tcp, "client": tcp}
    done = emulation.transfer(scenario, "1500kB", endpoints=ends)
    assert done.exit_code == 0
    report = json.loads(capfd.readouterr().out)
    assert report["correct"] is True
    flow = fl.run(scenario, tcp=tcp, overrides={"flows.0.size": "1500 kB"}).probe(tcp).outcome
    simulated = flow["flows"][0]["metrics"]["duration"]
    # The last byte needs the second contact in both; the first packet leaves after the start.
    assert simulated > PLAN[1][0]
    assert PLAN[1][0] - 1.0 < report["seconds"] < simulated + 1.0
