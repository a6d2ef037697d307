"""Flows of datagrams, from the command line to the figures."""

import io
from pathlib import Path

import numpy as np
import pytest

import farlink as fl
from farlink.cli.text import console
from farlink.plot.data import Columns
from farlink.views.table import show

LINK = """
name = "{name}"
[[links]]
between = ["a", "b"]
[links.down]
rate = "1 Mbit/s"
delay = "100 ms"
queue = {{ packets = 20 }}
channel = {{ loss = 0.02 }}
"""
CBR = """
[[flows]]
name = "voice"
from = "a"
to = "b"
app = "cbr"
rate = "64 kbit/s"
packet = "160 B"
duration = "10 s"
"""
FILE = """
[[flows]]
name = "file"
from = "a"
to = "b"
size = "300 kB"
"""


def run(tmp_path: Path, name: str, flows: str, **options: object) -> fl.Result:
    path = tmp_path / f"{name}.toml"
    path.write_text(LINK.format(name=name) + flows, encoding="utf-8")
    return fl.run(path, **options)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> fl.Result:
    # The datagrams come first: figures of TCP must still find the TCP flow.
    return run(tmp_path_factory.mktemp("udp"), "mixed", CBR + FILE, tcp=["reno", "sack"], runs=3)


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> fl.Result:
    return run(tmp_path_factory.mktemp("udp"), "alone", CBR)


def table(result: fl.Result) -> str:
    stream = io.StringIO()
    show(result, console(stream))
    return stream.getvalue()


def test_datagrams_have_a_table_of_their_own(mixed: fl.Result, alone: fl.Result) -> None:
    text = table(mixed)
    assert "retrans" in text
    assert "datagrams" in text
    assert "2 flows (1 of datagrams)" in text
    assert "WARNING" not in text
    only = table(alone)
    assert "retrans" not in only
    assert "utilisa" in only
    assert "nan" not in (text + only).lower()


def test_totals_may_be_of_either_kind(mixed: fl.Result) -> None:
    assert mixed.udp_flows() == ["voice"]
    both = mixed.total("goodput", "sack").mean
    parts = [mixed.total("goodput", "sack", udp=udp).mean for udp in (False, True)]
    assert both == pytest.approx(sum(part or 0 for part in parts))
    assert mixed.total("datagrams_sent", "sack", udp=False).mean is None
    assert mixed.total("datagrams_sent", "sack").mean == 500
    assert mixed.total("timeouts", "sack", udp=True).mean is None


def test_the_trace_holds_every_datagram_that_arrived(mixed: fl.Result) -> None:
    rows = mixed.trace("datagrams", "sack")
    metrics = mixed.data["results"][2]["metrics"]
    assert mixed.data["results"][2]["tcp"] == "sack"
    assert len(rows) == metrics["datagrams_received"]["values"][0]
    assert rows["delay"].mean() == pytest.approx(metrics["delay_mean"]["values"][0])
    assert set(rows["flow"]) == {"voice"}
    assert rows["number"].is_unique
    segments = mixed.trace("segments", "sack")
    assert (segments["flow"] == "voice").sum() == 500


def test_the_figure_shows_delays_and_losses(mixed: fl.Result) -> None:
    figure = mixed.plot.delay("sack")
    (axes,) = figure.axes
    metrics = mixed.data["results"][2]["metrics"]
    arrived = int(metrics["datagrams_received"]["values"][0])
    lost = int(metrics["datagrams_lost"]["values"][0])
    assert axes.get_title(loc="left") == f"{arrived:,} arrived, {lost:,} lost"
    delays = axes.lines[0].get_ydata()
    assert np.array_equal(delays, Columns.of(mixed.trace("datagrams", "sack"))["delay"])
    with pytest.raises(fl.ScenarioError, match="flow 'file' does not send datagrams"):
        mixed.plot.delay("sack", flow="file")


def test_no_flow_hides_the_others(tmp_path: Path) -> None:
    """The slower of two flows is drawn last, and both names have a visible mark."""
    fast = CBR.replace("voice", "video").replace("64 kbit/s", "640 kbit/s")
    both = run(tmp_path, "both", CBR + fast)
    (axes,) = both.plot.delay().axes
    counts = [len(np.asarray(line.get_xdata())) for line in axes.lines[:2]]
    assert counts[0] > 5 * counts[1]
    legend = axes.get_legend()
    assert legend is not None
    names = [text.get_text() for text in legend.get_texts()]
    assert names[:2] == ["voice", "video"]
    assert [line.get_markersize() for line in legend.get_lines()[:2]] == [6, 6]


def test_figures_of_tcp_are_of_the_flow_over_tcp(mixed: fl.Result) -> None:
    assert "flow file" in mixed.plot.cwnd("sack").get_suptitle()
    assert "flow voice" in mixed.plot.sequence("sack", flow="voice").get_suptitle()
    assert mixed.plot.cwnd("sack", flow="voice").axes


def test_all_figures_of_datagrams_alone_are_saved(alone: fl.Result, tmp_path: Path) -> None:
    names = {path.name for path in alone.plot.save(tmp_path)}
    assert names == {f"{n}.{s}" for n in ("delay", "throughput", "queue") for s in ("png", "svg")}


def test_without_datagrams_there_is_no_such_figure(result: fl.Result) -> None:
    assert result.udp_flows() == []
    with pytest.raises(fl.ScenarioError, match="no flow of this result sends datagrams"):
        result.plot.delay()


def test_what_is_under_way_at_the_end_is_told_by_flow(tmp_path: Path) -> None:
    fast = CBR.replace("64 kbit/s", "2 Mbit/s").replace("160 B", "1000 B")
    result = run(tmp_path, "cut", fast, overrides={"duration": "2 s"})
    metrics = result.data["results"][0]["metrics"]
    sent, received, lost, under_way = (
        int(metrics[f"datagrams_{part}"]["values"][0])
        for part in ("sent", "received", "lost", "under_way")
    )
    assert under_way > 0
    assert sent == received + lost + under_way
    queue, channel = (int(metrics[f"lost_{why}"]["values"][0]) for why in ("congestion", "loss"))
    assert (
        f"voice: {sent:,} datagrams sent = {received:,} received + {lost:,} lost "
        f"({queue:,} congestion, {channel:,} loss) + {under_way:,} under way when the run ended"
    ) in table(result)
