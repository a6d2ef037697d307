"""Contact plans: arrivals by arithmetic, both formats, and what is refused."""

from pathlib import Path
from typing import Any

import pytest

import farlink as fl
from test_cli import farlink

CSV = "start (s),end (s),rate (kbit/s),delay (s)\n"
PLAN = [(10.0, 30.5, 8e3, 240.0), (60.0, 62.25, 16e3, 100.0), (200.0, 300.0, 8e3, 300.0)]
"""Contacts: start, end, bit/s, delay."""
PACKET, EVERY, COUNT = 1000, 8.0, 30
"""Bytes on the wire, and seconds from a datagram to the next."""


def text(plan: list[tuple[float, float, float, float]]) -> str:
    return CSV + "".join(f"{a},{b},{rate / 1e3},{delay}\n" for a, b, rate, delay in plan)


def tree(down: dict[str, Any], up: dict[str, Any] | None = None, **flow: object) -> dict[str, Any]:
    back = {"rate": "1 Mbit/s", "delay": "0 s"} if up is None else {"contacts": up}
    ways = {"down": {"contacts": down, "queue": "unlimited"}, "up": {**back, "queue": "unlimited"}}
    return {
        "links": [{"between": ["a", "b"], **ways}],
        "flows": [{"from": "a", "to": "b", **flow}],
    }


def datagrams(packets: str) -> dict[str, Any]:
    return tree(
        {"data": text(PLAN), "packets": packets},
        app="cbr",
        packet=f"{PACKET - 28} B",
        rate=f"{round((PACKET - 28) * 8 / EVERY)} bit/s",
        datagrams=COUNT,
    )


def held() -> list[float]:
    """Return the delays of datagrams that wait for contacts."""
    free, last, delays = 0.0, 0.0, []
    for k in range(COUNT):
        sent = k * EVERY
        for start, end, rate, delay in PLAN:
            begin, takes = max(sent, free, start), 8 * PACKET / rate
            if begin + takes <= end:
                free = begin + takes
                last = max(last, free + delay)
                delays.append(last - sent)
                break
    return delays


def unheld() -> list[float]:
    """Return the delays of datagrams that left within a contact, sent at once."""
    last, delays = 0.0, []
    for k in range(COUNT):
        sent = k * EVERY
        begun = [plan for plan in PLAN if plan[0] <= sent] or PLAN
        start, end, rate, delay = begun[-1] if sent >= PLAN[0][0] else PLAN[0]
        leaves = sent + 8 * PACKET / rate
        if start <= sent and leaves <= end:
            last = max(last, leaves + delay)
            delays.append(last - sent)
    return delays


@pytest.mark.parametrize(("packets", "expected"), [("hold", held()), ("drop", unheld())])
def test_datagrams_arrive_by_arithmetic(packets: str, expected: list[float]) -> None:
    result = fl.run(datagrams(packets))
    row = result.probe(result.tcp[0]).outcome["flows"][0]["metrics"]
    assert row["datagrams_received"] == len(expected)
    assert row["datagrams_lost"] == COUNT - len(expected)
    assert row["lost_fade"] == COUNT - len(expected)
    assert row["delay_min"] == pytest.approx(min(expected), abs=1e-6)
    assert row["delay_max"] == pytest.approx(max(expected), abs=1e-6)
    assert row["delay_mean"] == pytest.approx(sum(expected) / len(expected), abs=1e-6)
    # Both cases have losses and deliveries, and waits of either kind.
    assert 3 < len(expected) <= COUNT
    assert max(expected) > min(expected) + 50


DOWN = [(0, 60, 1e7, 240), (600, 660, 1e7, 240), (1200, 1260, 1e7, 240)]
UP = [(200, 300, 1e7, 240), (800, 900, 1e7, 240), (1400, 1500, 1e7, 240)]


@pytest.mark.parametrize("tcp", ["linux-cubic", "quic"])
def test_a_transfer_waits_for_contacts(tcp: str) -> None:
    both = ({"data": text(plan)} for plan in (DOWN, UP))  # type: ignore[arg-type]
    scenario = tree(*both, app="file", size="5 kB")
    scenario["tcp"] = {
        "profile": "linux",
        "rto_initial": "50 min",
        "rto_max": "1 h",
        "quic": {"initial_rtt": "45 min", "idle_timeout": "24 h"},
    }
    result = fl.run(scenario, tcp=tcp)
    row = result.probe(tcp).outcome["flows"][0]["metrics"]
    assert row["completed"] == 1
    assert row["segments_retransmitted"] == 0
    # The first packet arrives at 240 s, the answer at 480 s; the data waits until 600 s.
    assert row["duration"] == pytest.approx(840, abs=1)


def test_both_formats_give_equal_runs(tmp_path: Path) -> None:
    ion = "a contact +0 +60 7 8 1250000\na contact +600 +660 7 8 1250000\na range +0 +900 7 8 240\n"
    (tmp_path / "plan.ionrc").write_text(ion)
    (tmp_path / "plan.csv").write_text(text(DOWN[:2]))  # type: ignore[arg-type]
    body = """
[tcp]
rto_initial = "50 min"
rto_max = "1 h"
[[links]]
between = ["a", "b"]
down = {{ contacts = {{ file = "{0}" }}, queue = "unlimited" }}
up = {{ rate = "10 Mbit/s", delay = "240 s", queue = "unlimited" }}
[[flows]]
from = "a"
to = "b"
size = "20 MB"
duration = "2000 s"
app = "bulk"
"""
    runs = []
    for name in ("plan.ionrc", "plan.csv"):
        path = tmp_path / f"{name}.toml"
        path.write_text(body.format(name).replace('size = "20 MB"\n', ""))
        runs.append(fl.run(path))
    assert runs[0].values.equals(runs[1].values)
    assert runs[0].values["bytes_delivered"].iloc[0] > 0


def test_advice_names_the_link_with_contacts(capsys: pytest.CaptureFixture[str]) -> None:
    assert farlink("advise", "mars-contacts") == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    assert "link space, down: advise needs one rate and delay" in lines[0]
    assert "`farlink run`" in lines[0]


def test_a_damaged_plan_is_told_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "plan.toml"
    (tmp_path / "plan.csv").write_text(f"{CSV}0,10,8,1\n5,20,8,1\n")
    path.write_text(
        '[[links]]\nbetween = ["a", "b"]\ndown = { contacts = { file = "plan.csv" } }\n'
        'up = { rate = "1 Mbit/s", delay = "0 s" }\n'
        '[[flows]]\nfrom = "a"\nto = "b"\nsize = "1 kB"\n'
    )
    assert farlink("run", str(path)) == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    assert 'from "plan.csv", line 3: the contact begins at "5 s"' in lines[0]
    (tmp_path / "plan.csv").unlink()
    assert farlink("run", str(path)) == 2
    assert "links[0].down.contacts.file" in capsys.readouterr().err
