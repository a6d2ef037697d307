"""Figures: that they show what the traces hold, and are files of the right kind."""

from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import farlink as fl
from farlink.plot.style import Scaled


def labels(axes: Axes) -> list[str]:
    legend = axes.get_legend()
    return [] if legend is None else [text.get_text() for text in legend.get_texts()]


def test_first_loss_shows_the_loss_and_its_repair(result: fl.Result) -> None:
    figure = result.plot.first_loss("sack")
    assert figure is not None
    (axes,) = figure.axes
    assert {"segment", "retransmission", "ACK", "drop"} <= set(labels(axes))
    segments = result.trace("segments", tcp="sack")
    first = segments[segments["retransmission"]].iloc[0]
    left, right = axes.get_xlim()
    assert left < first["time"] < right
    assert axes.get_xlabel() == "time (s)"
    assert axes.get_ylabel().startswith("sequence number (")
    assert "small, sack (seed 7, run 0)" in figure.get_suptitle()


def test_without_a_loss_there_is_no_such_figure(small: Path) -> None:
    clean = fl.run(small, overrides={"links.0.down.channel": {"loss": 0.0}, "flows.0.size": "9 kB"})
    assert clean.plot.first_loss() is None
    assert "retransmission" not in labels(clean.plot.sequence().axes[0])


def test_a_time_window_is_kept(result: fl.Result) -> None:
    figure = result.plot.sequence("sack", t0=0.5, t1=1.5)
    assert figure.axes[0].get_xlim() == (0.5, 1.5)
    figure = result.plot.cwnd("sack", t0=0.5, t1=1.5)
    assert figure.axes[0].get_xlim() == (0.5, 1.5)


def test_several_tcps_are_compared(result: fl.Result) -> None:
    lines = labels(result.plot.sequence().axes[0])
    assert [line.split(" ")[0] for line in lines] == ["newreno", "sack"]
    assert labels(result.plot.throughput().axes[0]) == ["newreno", "sack"]
    assert len(result.plot.cwnd().axes) == 2
    assert len(result.plot.queue().axes) == 2


def test_captions_count_the_loss_events(result: fl.Result) -> None:
    metrics = result.data["results"][1]["metrics"]
    fast = int(metrics["fast_retransmits"]["values"][0])
    caption = result.plot.cwnd("sack").axes[0].get_title(loc="left")
    assert f"{fast} fast retransmit" in caption


def test_the_rate_of_the_link_is_shown(result: fl.Result) -> None:
    figure = result.plot.throughput("sack")
    texts = [text.get_text() for text in figure.axes[0].texts]
    assert any(text.startswith("link rate 1 Mbit/s") for text in texts)
    assert "satellite, down" in figure.get_suptitle()


def test_figures_are_saved_as_png_and_svg(result: fl.Result, tmp_path: Path) -> None:
    written = result.plot.save(tmp_path)
    assert {path.suffix for path in written} == {".png", ".svg"}
    stems = {path.stem for path in written}
    assert stems >= {"sequence", "sequence-sack", "first-loss-sack", "cwnd", "throughput", "queue"}
    for path in written:
        start = path.read_bytes()[:5]
        assert start == (b"\x89PNG\r" if path.suffix == ".png" else b"<?xml")
    assert sorted(one.name for one in tmp_path.iterdir()) == sorted(path.name for path in written)


def test_the_same_figure_is_the_same_file(result: fl.Result, tmp_path: Path) -> None:
    first = result.plot.save(tmp_path / "a")
    second = result.plot.save(tmp_path / "b")
    for one, other in zip(first, second, strict=True):
        assert one.read_bytes() == other.read_bytes(), one.name


def test_the_callers_style_is_left_alone(result: fl.Result) -> None:
    with mpl.rc_context({"font.size": 23.0}):
        figure = result.plot.cwnd("sack")
        assert mpl.rcParams["font.size"] == 23.0
    assert isinstance(figure, Figure)
    assert figure.axes[0].xaxis.label.get_fontsize() == 8.5


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"t0": 2.0, "t1": 1.0}, "t0 is 2.0 s and t1 is 1.0 s; t1 must be later"),
        ({"flow": "upload"}, "flow 'upload' is not there; there are download"),
    ],
)
def test_wrong_views(result: fl.Result, keywords: dict[str, float], message: str) -> None:
    with pytest.raises(fl.ScenarioError, match=message):
        result.plot.cwnd("sack", **keywords)  # type: ignore[arg-type]


def test_a_link_that_is_not_there(result: fl.Result) -> None:
    with pytest.raises(fl.ScenarioError, match="link 'moon' is not in this result"):
        result.plot.throughput(link="moon")


def test_one_slow_tcp_does_not_squeeze_the_others(small: Path) -> None:
    slow = {"links.0.down.channel": {"loss": 0.05}}
    many = fl.run(small, tcp=["rfc793", "newreno", "sack"], overrides=slow)
    ends = [many.probe(tcp).simulated_s for tcp in many.tcp]
    assert ends[0] > 5 * max(ends[1:]), "the scenario no longer shows it"
    figure = many.plot.cwnd()
    assert figure.axes[0].get_xlim()[1] == pytest.approx(1.25 * max(ends[1:]))
    caption = figure.axes[0].get_title(loc="left")
    assert caption.startswith("rfc793: no congestion window, ")
    assert caption.endswith(f"to {ends[0]:,.0f} s")
    assert figure.axes[1].get_title(loc="left").endswith("fast retransmits")


@pytest.mark.parametrize(
    ("ticks", "factor", "expected"),
    [
        ([0.0, 250_000.0, 500_000.0], 1e6, ["0.00", "0.25", "0.50"]),
        ([0.0, 10_000.0, 20_000.0], 1e3, ["0", "10", "20"]),
        ([41_325_000.0, 41_325_500.0], 1e6, ["41.3250", "41.3255"]),
        ([0.0], 1e3, ["0"]),
    ],
)
def test_ticks_have_the_decimals_they_need(
    ticks: list[float], factor: float, expected: list[str]
) -> None:
    assert Scaled(factor).format_ticks(ticks) == expected


def test_of_several_flows_the_one_shown_is_named(small: Path) -> None:
    two = fl.run(small, overrides={"flows.0.count": 2, "flows.0.reverse": "40 kB"})
    first, second = two.summary.index.get_level_values("flow")
    assert f", flow {first} (" in two.plot.cwnd().get_suptitle()
    figure = two.plot.sequence(flow=second)
    assert f", flow {second} (" in figure.get_suptitle()
    # Data goes both ways, so it cannot be said which a drop belongs to.
    assert "drop" not in labels(figure.axes[0])
    assert "flow" not in two.plot.throughput().get_suptitle()


def test_the_box_plot_shows_every_run_and_the_paired_differences(result: fl.Result) -> None:
    figure = result.plot.box()
    left, right = figure.axes
    assert [tick.get_text() for tick in left.get_yticklabels()] == ["newreno", "sack"]
    assert [tick.get_text() for tick in right.get_yticklabels()] == ["sack"]
    runs = next(line for line in left.lines if line.get_marker() == ".")
    shown = np.asarray(runs.get_xdata(), dtype=np.float64)
    assert shown.tolist() == result.per_run("goodput", "newreno")
    gaps = next(line for line in right.lines if line.get_marker() == ".")
    pairs = zip(
        result.per_run("goodput", "sack"), result.per_run("goodput", "newreno"), strict=True
    )
    shown = np.asarray(gaps.get_xdata(), dtype=np.float64)
    assert shown.tolist() == [(a or 0) - (b or 0) for a, b in pairs]
    assert right.get_xlabel() == "run by run, above newreno (kbit/s)"
    with pytest.raises(fl.ScenarioError, match="has no values"):
        result.plot.box("response_time_mean")


def test_one_tcp_has_no_differences(small: Path) -> None:
    one = fl.run(small, tcp="sack", runs=7)
    assert len(one.plot.box("duration").axes) == 1
