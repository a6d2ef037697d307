"""Limits of a transfer: the sentence agrees with the metrics, and the band with the trace."""

import re

import numpy as np
import pytest

import farlink as fl
from farlink import limits
from farlink.plot.band import shares
from farlink.plot.data import Columns

GEO = {"flows.0.size": "5 MB"}


def said(result: fl.Result, used: float = 0.5) -> list[str]:
    return limits.sentences(result, "satellite, down", dict.fromkeys(result.tcp, used))


def test_the_receive_window_of_geo() -> None:
    """Five TCPs are equally fast because the receive window per round trip is their rate."""
    tcps = ["reno", "newreno", "sack", "vegas", "westwood+"]
    result = fl.run("geo-omueti2007", tcp=tcps, overrides=GEO)
    (sentence,) = said(result)
    assert sentence.startswith("The receive window limits all five (")
    match = re.search(r"65,535 B per ([\d.]+) ms is ([\d.]+) kbit/s", sentence)
    match = match or re.search(
        r"65,535 B per ([\d.]+) to [\d.]+ ms is .*to ([\d.]+) kbit/s", sentence
    )
    assert match
    trip, rate = float(match[1]), float(match[2])
    assert 8 * 65_535 / trip == pytest.approx(rate, rel=0.005)
    # Goodput excludes headers and includes slow start, so it is below the rate.
    assert 0.8 * rate < result.summary["goodput"]["mean"].max() / 1e3 < rate


@pytest.mark.parametrize(
    ("scenario", "overrides", "sentence"),
    [
        ("geo-omueti2007", {"flows.0.size": "10 B"}, "The handshake limits sack ("),
        (
            "geo-omueti2007",
            {"flows.0.size": "2 MB", "tcp.send_buffer": "32 KiB"},
            "The send buffer limits sack (",
        ),
        ("geo-lossy", {"flows.0.size": "2 MB"}, "The congestion window limits sack ("),
        ("geo-http-omueti2007", {}, "The application limits sack ("),
    ],
)
def test_what_limits_others(scenario: str, overrides: dict[str, object], sentence: str) -> None:
    """The sentence names the limit with the largest share, and gives the metric's percentage."""
    result = fl.run(scenario, tcp="sack", overrides=overrides)
    (text,) = said(result)
    assert text.startswith(sentence)
    metrics = result.data["results"][0]["metrics"]
    greatest = max(metrics[f"limited_{kind}"]["mean"] for kind in limits.KINDS)
    assert f"({100 * greatest:.0f} % of the time" in text


def test_tcps_that_differ_are_told_apart() -> None:
    """Under losses the congestion window limits one TCP, and several things limit the other."""
    tcps = ["tahoe", "sack", "hybla"]
    result = fl.run("geo-lossy", tcp=tcps, overrides=GEO)
    text = said(result)
    assert text[0].startswith("The congestion window limits tahoe and sack (")
    assert text[1].startswith("No one thing limits hybla for most of the time: receive window ")


def test_flows_are_averaged_and_a_full_link_is_told() -> None:
    result = fl.run("fairness-omueti2007", tcp="sack", overrides={"flows.0.size": "1 MB"})
    (text,) = said(result)
    assert re.search(r"65,535 B per [\d.]+ to [\d.]+ ms is [\d.,]+ to [\d.,]+ .bit/s a flow", text)
    # If the link is full, the window does not determine the rate.
    (text,) = said(result, used=0.99)
    assert re.search(r"\(\d+ % of the time, mean of 6 flows\); satellite, down, is full$", text)


def test_results_without_the_shares_say_nothing(result: fl.Result) -> None:
    """Results of earlier versions and of datagrams alone have no such metrics."""
    old = fl.Result(
        {
            **result.data,
            "results": [
                {
                    **row,
                    "metrics": {
                        name: metric
                        for name, metric in row["metrics"].items()
                        if not name.startswith("limited_")
                    },
                }
                for row in result.data["results"]
            ],
        }
    )
    assert said(old) == []
    assert limits.table(old) is None


def test_shares_of_columns_are_the_time_between_rows() -> None:
    """A flow has 1 s of handshake, 2 s of one limit, then another; columns have 2 s."""
    flow = Columns(
        {
            "time": np.array([0.0, 1.0, 3.0]),
            "limit": np.array(["handshake", "congestion_window", "receive_window"], dtype=object),
        }
    )
    edges, table = shares([flow], (0.0, 6.0), 3)
    assert edges.tolist() == [0.0, 2.0, 4.0, 6.0]
    assert table["handshake"].tolist() == [0.5, 0.0, 0.0]
    assert table["congestion_window"].tolist() == [0.5, 0.5, 0.0]
    assert table["receive_window"].tolist() == [0.0, 0.5, 1.0]


def test_the_band_shows_the_trace(result: fl.Result) -> None:
    """Over the whole run the shares of the band equal the metrics."""
    trace = result.trace("limits", "sack")
    flow = Columns.of(trace[trace["side"] == "from"])
    metrics = result.data["results"][1]["metrics"]
    end = metrics["duration"]["values"][0]
    _, table = shares([flow], (0.0, end), 1)
    for kind, share in table.items():
        assert share[0] == pytest.approx(metrics[f"limited_{kind}"]["values"][0], abs=1e-6), kind
    figure = result.plot.cwnd("sack")
    legend = figure.axes[0].get_legend()
    assert legend is not None
    texts = [text.get_text() for text in legend.get_texts()]
    assert "limit: congestion window" in texts
    low, high = figure.axes[0].get_ylim()
    assert low < 0 < high
    assert all(tick >= 0 for tick in figure.axes[0].get_yticks())
