"""Advice on queue disciplines: the delay of a call beside a transfer, and its cost."""

from collections.abc import Iterator
from typing import Any

import pytest

import farlink as fl
from farlink.advice import work
from farlink.advice.page import _queue_answer
from farlink.advice.path import bottleneck
from farlink.advice.queues import with_disciplines

RATE = 20e6


def tree(**down: object) -> dict[str, Any]:
    """Return a transfer over GEO with a buffer of two bandwidth-delay products (1 s)."""
    satellite = {
        "name": "satellite",
        "between": ["server", "client"],
        "down": {"rate": "20 Mbit/s", "delay": "250 ms", "queue": {"bdp": 2}, **down},
        "up": {"rate": "5 Mbit/s", "delay": "250 ms"},
    }
    flow = {"from": "server", "to": "client", "app": "file", "size": "20 MB"}
    return {"tcp": {"receive_window": "8 MiB"}, "links": [satellite], "flows": [flow]}


@pytest.fixture(scope="module", autouse=True)
def only_queues() -> Iterator[None]:
    """Leave out other TCPs, windows, link ARQ and proxies, which these tests do not read."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(work, "CANDIDATES", ("linux-cubic",))
        patch.setattr(work.Advisor, "_remedies", lambda *_: [])
        patch.setattr(work, "_INITIAL_WINDOWS", (10,))
        patch.setattr(work, "_WINDOW_SHARES", (1.0,))
        yield


@pytest.fixture(scope="module")
def advice() -> fl.Advice:
    return fl.advise(tree(), tcp="linux-cubic", runs=3)


def test_a_queue_per_flow_takes_the_call_past_a_full_buffer(advice: fl.Advice) -> None:
    """The call waits for at most one packet of the transfer: 1,500 B at 20 Mbit/s."""
    rows = {row.what.partition(" ")[0]: row for row in advice.queues}
    assert list(rows) == ["the", "fq-codel", "cake", "codel", "fq-pie", "pie", "drr"]
    now, fair = advice.queues[0], rows["fq-codel"]
    assert (now.delay_mean.mean or 0.0) > 0.6
    assert (fair.delay_mean.mean or 1.0) < 0.25 + 2 * 1500 * 8 / RATE
    assert fair.delay_change.mean == pytest.approx(
        (fair.delay_mean.mean or 0.0) - (now.delay_mean.mean or 0.0)
    )
    assert fair.cost == pytest.approx(
        1 - (fair.goodput.mean or 0.0) / (now.goodput.mean or 1.0), abs=1e-9
    )


def test_the_page_says_what_the_discipline_brings_and_costs(advice: fl.Advice) -> None:
    line = next(line for line in advice.markdown.splitlines() if line.startswith("A call beside"))
    assert "interval 500 ms, target 25 ms" in line
    assert "takes its mean delay from 0.8" in line
    assert "to 0.25" in line
    assert "% of the transfer's goodput" in line
    assert "## What a queue discipline would do" in advice.markdown
    rows = fl.advice.data(advice)["queues"]
    assert rows[1]["discipline"].startswith("fq-codel")
    assert rows[0]["goodput_change"][0] == 0


def test_codel_takes_the_round_trip_as_its_interval() -> None:
    scenario = tree()
    near = tree(delay="5 ms")
    near["links"][0]["up"]["delay"] = "5 ms"
    for given, expected in ((scenario, "500 ms"), (near, None)):
        variants = dict(with_disciplines(given, bottleneck(given)))
        what = next(name for name in variants if name.startswith("codel"))
        keys = variants[what]["links"][0]["down"]["discipline"]
        assert keys.get("interval") == expected
    assert "discipline" not in scenario["links"][0]["down"]


def test_a_discipline_that_the_link_cannot_have_is_told() -> None:
    """A link with a step mark keeps it, and the page says that no discipline was simulated."""
    advice = fl.advise(tree(mark={"packets": 50}), tcp="linux-cubic", runs=3)
    assert len(advice.queues) == 1
    assert _queue_answer(advice) == ""
    assert any("fq-codel" in note and "mark" in note for note in advice.notes)


def test_a_call_takes_a_tenth_of_a_slow_link_at_most() -> None:
    """At 19.2 kbit/s a call of 64 kbit/s would leave the transfer nothing."""
    slow = tree(rate="19.2 kbit/s")
    slow["flows"][0]["size"] = "50 kB"
    slow["tcp"]["receive_window"] = "64 KiB"
    advice = fl.advise(slow, tcp="linux-cubic", runs=3)
    assert "A call of 1.920 kbit/s beside" in advice.markdown
    assert (advice.queues[0].goodput.mean or 0.0) > 0.6 * 19_200


def test_a_scenario_may_have_a_flow_of_the_name_call() -> None:
    scenario = tree()
    call = {"name": "call", "from": "server", "to": "client", "app": "cbr"}
    scenario["flows"].append({**call, "rate": "64 kbit/s", "duration": "10 s"})
    advice = fl.advise(scenario, tcp="linux-cubic", runs=3)
    assert all(row.delay_mean.mean for row in advice.queues)
