"""Traffic sources in Python that get reports of their messages."""

from ast import literal_eval
from pathlib import Path
from typing import Any

import pytest

import farlink as fl
from test_classes import CALL, write
from test_congestion import numbers

EVEN = """
class Even(fl.TrafficSource):
    def __init__(self, size=1000, last=1e9):
        self.size, self.last, self.seen = size, last, []

    def messages(self):
        pause = 0
        while True:
            yield pause, self.size
            pause = 0.1

    def on_delivered(self, sent, arrived, size):
        self.seen += [(round(sent, 3), round(arrived, 3), round(self.now, 3), size)]
        if len(self.seen) == self.last:
            raise ValueError(self.seen)
"""
ADAPTS = """
class Adapts(fl.TrafficSource):
    \"\"\"Additive increase, and half the rate after a message that took too long.\"\"\"

    def __init__(self, adapts=1):
        self.rate, self.adapts, self.reports = 50_000.0, adapts, 0

    def messages(self):
        while True:
            yield 0.04, self.rate * 0.04

    def on_delivered(self, sent, arrived, size):
        if not self.adapts:
            return
        self.reports += 1
        if arrived - sent > 0.35:
            self.rate = max(self.rate / 2, 2500)
        elif self.reports % 10 == 0:
            self.rate += 1000
"""


def call(app: str, **keys: object) -> dict[str, Any]:
    return {**CALL, "flows": [{"from": "a", "to": "b", "app": app, **keys}]}


@pytest.mark.parametrize("tcp", ["linux-cubic", "reno", "quic"])
def test_a_report_arrives_a_delay_after_its_message(tcp: str, tmp_path: Path) -> None:
    """The path takes 250 ms each way; 1,000 bytes take 4.2 to 4.4 ms, and 16 bytes 0.5 to 0.8."""
    source = write(tmp_path / "even.py", EVEN) + ":Even(last=3)"
    given = {"flows.0.source": source}
    if tcp != "quic":
        # Nagle's algorithm holds a report until the one before is acknowledged.
        given["tcp.nagle"] = "off"
    with pytest.raises(fl.FarlinkError, match=r"Even.on_delivered at [\d.]+ s") as error:
        fl.run(call("stream", duration="20 s"), tcp=tcp, overrides=given)
    seen = literal_eval(str(error.value).split("ValueError: ")[1].split("]")[0] + "]")
    for number, (sent, arrived, now, size) in enumerate(seen):
        # The handshake of QUIC has four datagrams of 1,200 bytes.
        assert 0.5 <= sent - 0.1 * number < 0.52
        assert 0.2535 <= arrived - sent < 0.2565
        # The search for the MTU can be in front of a report: 1,452 bytes at 1 Mbit/s.
        assert 0.2495 <= now - arrived < (0.265 if tcp == "quic" else 0.252)
        assert size == 1000


@pytest.mark.parametrize("tcp", ["linux-cubic", "quic"])
def test_each_message_has_one_report_and_a_stream_still_ends(tcp: str, tmp_path: Path) -> None:
    """Reports of the last messages are on their way when the flow ends."""
    lossy = call("stream", messages=40)
    down = {**CALL["links"][0]["down"], "channel": {"loss": 0.05}}
    lossy["links"] = [{**CALL["links"][0], "down": down}]
    path = write(tmp_path / "even.py", EVEN)
    result = fl.run(lossy, tcp=tcp, overrides={"flows.0.source": f"{path}:Even(size=4000,last=41)"})
    assert result.per_run("completed", result.tcp[0]) == [1.0]
    assert result.per_run("responses", result.tcp[0]) == [40.0]
    with pytest.raises(fl.FarlinkError, match="on_delivered"):
        fl.run(lossy, tcp=tcp, overrides={"flows.0.source": f"{path}:Even(size=4000,last=30)"})


def test_a_source_adapts_its_rate_to_a_narrow_path(tmp_path: Path) -> None:
    """400 kbit/s into 200 kbit/s: delays grow without limit, unless the source adapts."""
    narrow = call("stream", duration="60 s")
    narrow["links"] = [
        {
            "between": ["a", "b"],
            "down": {"rate": "200 kbit/s", "delay": "250 ms"},
            "up": {"rate": "200 kbit/s", "delay": "250 ms"},
        }
    ]
    path = write(tmp_path / "adapts.py", ADAPTS)
    for tcp in ("linux-cubic", "quic"):
        mean = {}
        for adapts in (0, 1):
            source = {"flows.0.source": f"{path}:Adapts(adapts={adapts})"}
            first = fl.run(narrow, tcp=tcp, overrides=source)
            again = fl.run(narrow, tcp=tcp, overrides=source)
            assert numbers(first, tmp_path / "a.json") == numbers(again, tmp_path / "b.json")
            mean[adapts] = first.per_run("response_time_p95", first.tcp[0])[0] or 0.0
        assert mean[0] > 15
        assert mean[1] < mean[0] / 3, tcp


def test_datagrams_have_no_reports(tmp_path: Path) -> None:
    source = write(tmp_path / "even.py", EVEN) + ":Even"
    with pytest.raises(fl.FarlinkError, match='no way back; write app = "stream"'):
        fl.run(call("cbr", duration="20 s"), overrides={"flows.0.source": source})


def test_a_hook_of_another_name_is_refused(tmp_path: Path) -> None:
    wrong = EVEN.replace("on_delivered", "on_delivery")
    source = write(tmp_path / "even.py", wrong) + ":Even"
    with pytest.raises(fl.ScenarioError, match="did you mean on_delivered"):
        fl.run(call("stream", duration="20 s"), overrides={"flows.0.source": source})
