"""Advice on paths that change during a run."""

import copy
import tomllib
from typing import Any

import pytest

import farlink as fl
from farlink.advice import moving
from farlink.advice.path import anywhere, bottleneck
from farlink.experiment import Point

TEXT = """
name = "moving"
[tcp]
variant = "cubic"
receive_window = "256 KiB"
[[links]]
name = "sky"
between = ["server", "client"]
[links.down]
rate = "4 Mbit/s"
delay = "10 ms"
queue = { packets = 50 }
[links.down.channel.reconfiguration]
interval = "2 s"
first = "1 s"
delay = ["0 ms", "60 ms"]
interruption_time = "200 ms"
keep_order = false
[links.up]
rate = "4 Mbit/s"
delay = "10 ms"
[[flows]]
name = "download"
from = "server"
to = "client"
size = "3 MB"
"""

ROWS = "time (s),delay (ms),rate (Mbit/s),loss,phase\n0,10,4,0,0\n10,30,4,0,1\n20,10,4,0,2\n"


def _resolved(change: dict[str, Any] | None = None) -> dict[str, Any]:
    tree = copy.deepcopy(tomllib.loads(TEXT))
    tree["links"][0]["down"] |= change or {}
    return Point.of(tree).scenario


def _trace(**more: Any) -> dict[str, Any]:  # noqa: ANN401 (values of TOML)
    return {"data": ROWS, **more}


def test_delay_of_a_path_includes_what_its_channel_adds() -> None:
    still = _resolved({"channel": {"loss": 0.01}})
    assert bottleneck(still).delay_s == pytest.approx(0.010)
    # Mean of 600 uniform delays of 0 to 60 ms, two of each at least.
    assert bottleneck(_resolved()).delay_s == pytest.approx(0.040, abs=0.004)
    traced = _resolved({"channel": {"delay_trace": _trace(repeat=True)}})
    assert bottleneck(traced).delay_s == pytest.approx(0.030, abs=0.0005)
    assert bottleneck(traced).bdp == pytest.approx(4e6 / 8 * 0.060, rel=0.02)
    staged = _resolved({"channel": [{"loss": 0.01}, {"delay_trace": _trace(repeat=True)}]})
    assert bottleneck(staged).delay_s == pytest.approx(0.030, abs=0.0005)


def test_traces_of_a_direction_start_at_a_common_place() -> None:
    traces = {
        "rate_trace": _trace(),
        "channel": [{"loss_trace": _trace()}, {"delay_trace": _trace(repeat=True)}],
    }
    down = tomllib.loads(TEXT)["links"][0]["down"]
    down.pop("rate")
    tree = tomllib.loads(TEXT)
    tree["links"][0]["down"] = {**down, **traces}
    changes = anywhere(Point.of(tree).scenario)
    places = ("rate_trace", "channel.0.loss_trace", "channel.1.delay_trace")
    wanted = {f"links.0.down.{place}.random_offset" for place in places}
    assert wanted <= set(changes)
    assert all(name.endswith(("random_offset", "repeat")) for name in changes)
    resolved = Point.of(tree, overrides=changes).scenario["links"][0]["down"]
    assert resolved["channel"][1]["delay_trace"]["random_offset"] is True
    # With a constant rate, a trace that does not repeat keeps its times.
    assert anywhere(_resolved({"channel": {"delay_trace": _trace()}})) == {}
    assert anywhere(_resolved({"channel": {"delay_trace": _trace(repeat=True)}})) == {
        "links.0.down.channel.delay_trace.random_offset": "true",
        "links.0.down.channel.delay_trace.repeat": "true",
    }


def test_remedies_hold_packets_and_keep_their_order() -> None:
    tree = _resolved()
    (held, first), (ordered, second) = moving.with_path(tree)
    assert "held" in held
    assert "order" in ordered
    change = first["links"][0]["down"]["channel"]["reconfiguration"]
    assert change["interruption"] == "hold"
    assert change["keep_order"] is False
    other = second["links"][0]["down"]["channel"]["reconfiguration"]
    assert other["keep_order"] is True
    assert other.get("interruption", "drop") == "drop"
    assert tree == _resolved()
    assert list(moving.with_path(_resolved({"channel": {"loss": 0.01}}))) == []
    orbit = {"altitude": "550 km", "min_elevation": 25, "handover_time": "50 ms"}
    (line,) = moving.with_path(_resolved({"channel": [{"loss": 0.01}, {"orbit": orbit}]}))
    assert line[1]["links"][0]["down"]["channel"][1]["orbit"]["handover"] == "hold"


def test_note_counts_the_changes_of_a_minute() -> None:
    assert "changes 30 times in the first minute" in (moving.note(_resolved()) or "")
    assert moving.note(_resolved({"channel": {"loss": 0.01}})) is None


def test_page_names_what_helps_on_a_moving_path() -> None:
    page = fl.advise(tomllib.loads(TEXT), runs=4, size=["3MB"])
    fixed = {option.what: option for option in page.fixed}
    held = fixed["packets held, not lost, while the path changes"]
    assert held.verdict == "more"
    assert "packets kept in order where the delay falls" in fixed
    assert held.goodput.mean is not None
    assert page.present.goodput.mean is not None
    assert held.goodput.mean > page.present.goodput.mean
    assert "packets held" in page.markdown
    assert "changes 30 times in the first minute" in page.markdown
