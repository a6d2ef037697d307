"""TCP flows beside datagram flows: results of one kind contain nothing of the other kind."""

import io
import re
from pathlib import Path

import numpy as np
import pytest

import farlink as fl
from farlink.cli.text import console
from farlink.views.table import show

MIX = """
name = "mix"
[[links]]
name = "satellite"
between = ["gateway", "client"]
down = { rate = "10 Mbit/s", delay = "250 ms", queue = { packets = 100 } }
up = { rate = "1 Mbit/s", delay = "250 ms" }

[[flows]]
name = "long"
from = "gateway"
to = "client"
size = "2 MB"

[[flows]]
name = "short"
from = "gateway"
to = "client"
size = "500 kB"

[[flows]]
name = "video"
from = "gateway"
to = "client"
app = "cbr"
rate = "4 Mbit/s"
packet = "1000 B"
duration = "20 s"

[[flows]]
name = "voice"
from = "gateway"
to = "client"
app = "cbr"
rate = "8 kbit/s"
packet = "160 B"
duration = "10 s"
"""
LOSSY = {"links.0.down.channel": {"loss": 0.01}}


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> fl.Result:
    path = tmp_path_factory.mktemp("mixed") / "mix.toml"
    path.write_text(MIX, encoding="utf-8")
    return fl.run(path, tcp=["sack", "linux-cubic"], runs=6, overrides=LOSSY)


def table(result: fl.Result) -> str:
    stream = io.StringIO()
    show(result, console(stream, 160))
    return stream.getvalue()


def over_run(result: fl.Result, tcp: str) -> list[float]:
    """Return the joint goodput of all TCP flows over the time of each run."""
    values = result.values["goodput_over_run"].unstack("flow").loc[tcp]
    return list(values["long"] + values["short"])


def test_the_medians_are_those_of_the_first_table(mixed: fl.Result) -> None:
    """Datagrams do not count in the goodput of a TCP."""
    _, medians = table(mixed).split("median goodput")
    match = re.search(r"sack +([\d.]+) \[", medians)
    assert match
    assert float(match[1]) == pytest.approx(np.median(over_run(mixed, "sack")) / 1e3, rel=0.01)
    match = re.search(r"linux-cubic.*\] +([+-][\d.]+) \[", medians)
    assert match
    gaps = np.subtract(over_run(mixed, "linux-cubic"), over_run(mixed, "sack"))
    assert float(match[1]) == pytest.approx(np.median(gaps) / 1e3, rel=0.01)


def test_statistics_may_be_of_either_kind(mixed: fl.Result) -> None:
    metric = "goodput_over_run"
    assert mixed.per_run(metric, "sack", udp=False) == pytest.approx(over_run(mixed, "sack"))
    both = mixed.per_run(metric, "sack")
    datagrams = mixed.per_run(metric, "sack", udp=True)
    assert [(a or 0) + b for a, b in zip(datagrams, over_run(mixed, "sack"), strict=True)] == (
        pytest.approx(both)
    )
    median = mixed.median(metric, "sack", udp=False).mean
    assert median == pytest.approx(np.median(over_run(mixed, "sack")))
    gap = mixed.difference(metric, "linux-cubic", "sack", udp=False).mean
    gaps = np.subtract(over_run(mixed, "linux-cubic"), over_run(mixed, "sack"))
    assert gap == pytest.approx(gaps.mean())


def test_the_figure_of_goodputs_is_that_of_the_table(mixed: fl.Result) -> None:
    left, right = mixed.plot.box().axes
    dots = [line.get_xdata() for line in left.lines if line.get_marker() == "."]
    assert np.asarray(dots[0]) == pytest.approx(over_run(mixed, "sack"))
    assert left.get_xlabel().startswith("goodput over the run, 2 flows together (")
    gaps = next(line for line in right.lines if line.get_marker() == ".").get_xdata()
    expected = np.subtract(over_run(mixed, "linux-cubic"), over_run(mixed, "sack"))
    assert np.asarray(gaps) == pytest.approx(expected)


def test_metrics_of_datagrams_have_a_figure_too(mixed: fl.Result) -> None:
    figure = mixed.plot.box("delay_mean")
    assert figure.axes[0].get_xlabel().startswith("delay mean, 2 flows on average (")


def test_the_share_lost_is_of_all_datagrams(mixed: fl.Result) -> None:
    """A slow flow with many losses has few datagrams, and its weight is small accordingly."""
    rows = [row["metrics"] for row in mixed.data["results"] if row["tcp"] == "sack"][2:]
    for run, item in enumerate(mixed.per_run("loss_rate", "sack", udp=True)):
        lost, came = (
            sum(row[f"datagrams_{name}"]["values"][run] for row in rows)
            for name in ("lost", "received")
        )
        assert item == pytest.approx(lost / (lost + came))
    assert "delays and jitter are means over the flows" in table(mixed)


def test_goodput_of_datagrams_is_no_matter_of_how_long_tcp_takes(mixed: fl.Result) -> None:
    """Datagrams end after 20 s; the files end later, and at different times per TCP."""
    shown = table(mixed).split("datagrams", 1)[1]
    match = re.search(r"sack +[\d,]+ +(?:±\d+ +)?([\d.]+) ", shown)
    assert match, shown
    expected = mixed.total("goodput", "sack", udp=True).mean
    assert expected is not None
    assert expected > 3.5e6
    assert float(match[1]) == pytest.approx(expected / 1e6, rel=0.01)


def test_one_flow_over_tcp_has_its_own_goodput(mixed: fl.Result) -> None:
    """A flow over TCP has its own goodput whether or not datagrams go on after it."""
    assert mixed.goodput_to_add == "goodput_over_run"
    scenario = mixed.scenario("sack")
    assert [flow["name"] for flow in scenario["flows"]] == ["long", "short", "video", "voice"]
    rows = [row for row in mixed.data["results"] if row["flow"] != "long"]
    assert fl.Result({**mixed.data, "results": rows}).goodput_to_add == "goodput"


def test_the_index_of_fairness_is_of_the_flows_over_tcp(mixed: fl.Result) -> None:
    for row in mixed.data["fairness"]:
        for run, index in enumerate(row["metrics"]["jain"]["values"]):
            shares = mixed.values["goodput"].xs(run, level="run").loc[row["tcp"]]
            shares = shares[["long", "short"]]
            assert index == pytest.approx(shares.sum() ** 2 / (2 * (shares**2).sum()))
    assert "Jain's fairness index of the goodputs over TCP: sack" in table(mixed)


def test_nearly_equal_runs_have_room_in_their_figure(small: Path) -> None:
    """Runs without losses differ by a few bit/s, and no missing median gets a bar."""
    clean = {"links.0.down.channel": {"loss": 0.0}, "flows.0.size": "50 kB"}
    figure = fl.run(small, tcp=["reno", "sack"], runs=2, overrides=clean).plot.box()
    left, right = figure.axes
    (dots, _) = (np.asarray(line.get_xdata()) for line in left.lines if line.get_marker() == ".")
    assert left.get_xlim()[0] == 0
    assert left.get_xlim()[1] > 1.03 * dots.max()
    low, high = right.get_xlim()
    assert low <= -0.01 * dots.max()
    assert high >= 0.01 * dots.max()
    assert "bar" not in figure.get_suptitle()
