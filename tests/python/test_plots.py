"""Tests that figures show the traces, and that their files have the right format."""

import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from PIL import Image

import farlink as fl
from farlink.channels import preset_map
from farlink.paper import Fonts, Size
from farlink.plot import sequence
from farlink.plot.band import _SOLID, HEIGHT, draw_band
from farlink.plot.curves import Curve, look, together
from farlink.plot.data import Columns
from farlink.plot.layout import fixed_ticks, lay_out
from farlink.plot.png import write_png
from farlink.plot.presets import without_crossings
from farlink.plot.sequence import letters
from farlink.plot.sheet import sheet, sheet_of, styled
from farlink.plot.style import Scaled, crowd, own_scales, save


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


def test_first_loss_is_none_without_a_loss(small: Path) -> None:
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


def test_figures_are_saved_as_png_and_svg_and_the_same_figure_is_the_same_file(
    result: fl.Result, tmp_path: Path
) -> None:
    lines: list[str] = []
    written = result.plot.save(tmp_path / "a", tell=lines.append)
    # Drawing takes longer than the run, so each figure is reported before it is drawn.
    assert {"figure sequence", "figure cwnd", "figure queue"} <= set(lines)
    assert {path.suffix for path in written} == {".png", ".svg"}
    stems = {path.stem for path in written}
    assert stems >= {"sequence", "sequence-sack", "first-loss-sack", "cwnd", "throughput", "queue"}
    for path in written:
        start = path.read_bytes()[:5]
        assert start == (b"\x89PNG\r" if path.suffix == ".png" else b"<?xml")
    names = sorted(item.name for item in (tmp_path / "a").iterdir())
    assert names == sorted(path.name for path in written)
    for name, draw in (("cwnd", result.plot.cwnd), ("sequence-sack", result.plot.sequence)):
        figure = draw("sack") if name.endswith("sack") else draw()
        for again in save(figure, tmp_path / "b" / name):
            assert again.read_bytes() == (tmp_path / "a" / again.name).read_bytes(), again.name


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


def test_an_unknown_link_is_refused(result: fl.Result) -> None:
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
    assert f", flow {first} of 2 (" in two.plot.cwnd(flow=first).get_suptitle()
    figure = two.plot.sequence(flow=second)
    assert f", flow {second} of 2 (" in figure.get_suptitle()
    # With data in both directions the direction of a drop is unknown.
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
    item = fl.run(small, tcp="sack", runs=7)
    assert len(item.plot.box("duration").axes) == 1


def test_looks_differ_in_colour_and_without_it() -> None:
    """Ten looks differ without colour, and forty with colour."""
    looks = [look(place) for place in range(42)]
    assert len({(item.colour, item.dashes) for item in looks}) == 42
    for item, other in pairwise(looks):
        assert item.colour != other.colour
        assert item.dashes != other.dashes
        assert item.marker != other.marker
    assert len({(item.dashes, item.marker) for item in looks[:12]}) == 12


def test_every_flow_is_drawn(small: Path) -> None:
    """The figures of cwnd and progress have a named curve for each of three flows."""
    three = fl.run(small, overrides={"flows.0.count": 3})
    flows = list(three.summary.index.get_level_values("flow"))
    figure = three.plot.cwnd()
    assert labels(figure.axes[0])[:3] == flows
    assert "of 3 flows" in figure.get_suptitle()
    for flow, line in zip(flows, figure.axes[0].lines[::2], strict=False):
        trace = three.trace("cwnd")
        windows = trace[(trace["flow"] == flow) & (trace["side"] == "from")]["cwnd"]
        shown = np.asarray(line.get_ydata(), dtype=np.float64)
        assert shown.max() == windows[np.isfinite(windows)].max()
    progress = three.plot.sequence()
    assert [text.split(" ")[0] for text in labels(progress.axes[0])] == flows


def test_many_flows_have_a_median(small: Path) -> None:
    """Twelve flows are thin lines with their median."""
    twelve = fl.run(small, overrides={"flows.0.count": 12, "flows.0.size": "30 kB"})
    assert labels(twelve.plot.cwnd().axes[0])[:2] == ["cwnd of a flow", "median"]
    (axes,) = twelve.plot.sequence().axes
    assert labels(axes) == ["each of 12 flows", "their median"]
    median = np.asarray(axes.lines[-1].get_ydata(), dtype=np.float64)
    assert median[-1] == pytest.approx(30_001, abs=2)  # with its FIN


def test_flows_of_several_tcps_are_added_up(small: Path) -> None:
    """With two flows and two TCPs each curve is the sum of both flows' acknowledged bytes."""
    both = fl.run(small, tcp=["reno", "sack"], overrides={"flows.0.count": 2})
    figure = both.plot.sequence()
    assert "Progress of 2 flows together" in figure.get_suptitle()
    ends = [float(np.asarray(line.get_ydata())[-1]) for line in figure.axes[0].lines[::2]]
    assert ends == pytest.approx([600_002, 600_002], abs=2)


def test_overlapping_curves_have_dashes_and_are_named(small: Path) -> None:
    """Equal curves have markers at different times, and a note names them."""
    clean = {"links.0.down.channel": {"loss": 0.0}, "tcp.receive_window": "16 KiB"}
    same = fl.run(small, tcp=["reno", "newreno", "sack"], overrides=clean)
    for figure in (same.plot.sequence(), same.plot.throughput()):
        assert figure.get_supxlabel() == "on each other: reno, newreno, sack"
        marked = [line for line in figure.axes[0].lines if line.get_marker() not in ("None", "")]
        places = [set(np.asarray(line.get_xdata())[:-1].tolist()) for line in marked]
        assert len(places) == 3
        assert not set.intersection(*places)
        gaps = {line.get_linestyle() for line in figure.axes[0].lines if line not in marked}
        assert "-" not in gaps, "a solid line hides the others"


def test_a_bin_fits_the_fastest_tcp(small: Path) -> None:
    """With TCPs of 3 s and 60 s the bins are short enough for the first."""
    slow = {"links.0.down.channel": {"loss": 0.05}}
    both = fl.run(small, tcp=["rfc793", "sack"], overrides=slow)
    ends = {tcp: both.probe(tcp).simulated_s for tcp in both.tcp}
    assert ends["rfc793"] > 5 * ends["sack"], "the scenario no longer shows it"
    title = both.plot.throughput().get_suptitle()
    shown = float(title.split("bins of ")[1].split(" s")[0])
    assert shown <= max(ends["sack"] / 40, ends["rfc793"] / 300)


def test_more_than_six_tcps_have_a_panel_each(small: Path) -> None:
    many = ["tahoe", "reno", "newreno", "sack", "vegas", "hybla", "cubic", "bbr"]
    figure = fl.run(small, tcp=many).plot.throughput()
    assert [axes.get_title(loc="left") for axes in figure.axes] == many
    last = [axes.lines[len(many)].get_color() for axes in figure.axes]
    assert last[:7] != last[1:]


def test_no_panel_is_flattened() -> None:
    assert own_scales([10.0, 12.0, 8.0]) == [12.0] * 3
    assert own_scales([10.0, 100.0, 0.0]) == [10.0, 100.0, 100.0]


def test_panels_that_would_be_flat_have_scales_of_their_own(small: Path) -> None:
    deep = {"links.0.down.queue": {"packets": 200}, "tcp.receive_window": "1 MiB"}
    clean = {"links.0.down.channel": {"loss": 0.0}, "flows.0.size": "2 MB"}
    both = fl.run(small, tcp=["vegas", "sack"], overrides={**deep, **clean})
    for figure in (both.plot.queue(), both.plot.cwnd()):
        tops = [axes.get_ylim()[1] for axes in figure.axes]
        assert tops[1] > 2 * tops[0]
        assert figure.get_suptitle().endswith("; scales differ")


def test_events_that_would_run_into_a_bar_are_counted() -> None:
    """A thousand time-outs in a tenth of the time are columns, with the count of the tallest."""
    axes = Figure().subplots()
    times = np.sort(np.random.default_rng(1).uniform(0, 10, 1000))
    drawn = crowd(axes, times, (0.0, 100.0), 0.9, "red")
    assert drawn is not None
    counts, _ = np.histogram(times, bins=140, range=(0, 100))
    assert drawn[1] == f"at most {counts.max()} in 0.71 s"
    assert crowd(axes, times[:100], (0.0, 100.0), 0.9, "red") is None


def test_letters_do_not_cover_each_other() -> None:
    """With alternating retransmissions of two holes every second letter would overlap."""
    figure = Figure(figsize=(7, 4.3))
    axes = figure.subplots()
    axes.set_xlim(0, 10)
    axes.set_ylim(0, 100)
    times = np.linspace(4, 6, 60)
    letters(axes, times, np.where(np.arange(60) % 2, 20.0, 70.0) + times)
    figure.draw_without_rendering()
    boxes = [text.get_window_extent() for text in axes.texts if text.get_text() == "R"]
    assert len(boxes) > 1
    for number, box in enumerate(boxes):
        for other in boxes[number + 1 :]:
            across = min(box.x1, other.x1) - max(box.x0, other.x0)
            along = min(box.y1, other.y1) - max(box.y0, other.y0)
            assert across <= 0 or along <= 0


def test_lines_to_the_names_of_presets_do_not_cross() -> None:
    """The lines do not cross for all presets and for random points."""
    (axes,) = preset_map().axes
    lines = [line for line in axes.lines if line.get_color() == "#B4B4B4"]
    assert len(lines) == len(fl.presets())
    shown = [axes.transData.transform(np.asarray(line.get_xydata())) for line in lines]
    drawn = [(entry[0], entry[1]) for entry in shown]
    assert crossings(drawn) == 0
    points = np.random.default_rng(2).uniform(0, 1, (40, 2))
    heights = np.linspace(0, 1, 40)
    places = without_crossings([(x, y) for x, y in points], 1.2, heights)
    assert sorted(places) == list(range(40))
    ends = [np.array([1.2, heights[place]]) for place in places]
    assert crossings(list(zip(points, ends, strict=True))) == 0


def crossings(lines: list[tuple[np.ndarray, np.ndarray]]) -> int:
    def left(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> float:
        return float((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]))

    count = 0
    for number, (a, b) in enumerate(lines):
        for c, d in lines[number + 1 :]:
            if np.allclose(a, c):
                continue  # two presets at one place
            count += left(a, b, c) * left(a, b, d) < 0 and left(c, d, a) * left(c, d, b) < 0
    return count


def test_a_box_plot_of_values_far_apart_is_logarithmic(small: Path) -> None:
    """With one TCP thirty times as fast both boxes are visible, with the ratio of each run."""
    slow = {"links.0.down.channel": {"loss": 0.05}}
    far = fl.run(small, tcp=["rfc793", "bbr"], runs=3, overrides=slow)
    figure = far.plot.box()
    left, right = figure.axes
    assert left.get_xscale() == right.get_xscale() == "log"
    assert right.get_xlabel() == "run by run, times that of rfc793"
    shown = next(line for line in right.lines if line.get_marker() == ".")
    pairs = zip(far.per_run("goodput", "bbr"), far.per_run("goodput", "rfc793"), strict=True)
    ratios = [(a or 0) / (b or 1) for a, b in pairs]
    assert np.asarray(shown.get_xdata()).tolist() == ratios


MANY_FLOWS = {"flows.0.count": 8, "flows.0.size": "40 kB"}


def test_no_legend_is_wider_than_its_panel(small: Path) -> None:
    """A legend of eight flows, two loss events and all limits has more rows instead."""
    figure = fl.run(small, tcp=["reno", "linux-cubic"], overrides=MANY_FLOWS).plot.cwnd()
    figure.draw_without_rendering()
    axes = figure.axes[0]
    legend = axes.get_legend()
    assert legend is not None
    box, panel = legend.get_window_extent(), axes.get_window_extent()
    assert len(legend.get_texts()) > 12
    assert box.width <= panel.width
    assert panel.width > 0.8 * figure.bbox.width
    assert panel.height > 0.2 * figure.bbox.height


def test_many_retransmissions_and_drops_are_seen_in_lanes(small: Path) -> None:
    """Retransmissions too small for bars and too many for letters are marks in a lane."""
    lossy = {"links.0.down.channel": {"loss": 0.1}, "flows.0.size": "1 MB"}
    bad = fl.run(small, tcp="sack", overrides=lossy)
    segments = bad.trace("segments")
    again = int(segments["retransmission"].sum())
    assert again > 40
    shown = bad.plot.sequence("sack", t0=0.0, t1=1e4)
    (axes,) = shown.axes
    assert any(text.startswith(f"retransmissions ({again:,}") for text in labels(axes))
    figure = Figure()
    axes = figure.subplots()
    axes.set_ylim(0, 1e6)
    axes.set_xlim(0, segments["time"].max())
    legend: list[tuple[Artist, str]] = []
    sequence._bars(axes, Columns.of(segments), legend)
    drops = Columns.of(bad.trace("drops"))
    sequence._drops(axes, drops, legend)
    names = [name for _, name in legend]
    assert any(name.startswith(f"retransmissions ({again:,}") for name in names)
    assert any(name.startswith(f"drops ({len(drops):,}") for name in names)


def test_progress_is_a_step_function_from_zero(result: fl.Result) -> None:
    """Each line starts at (0, 0), rises only vertically, and ends at the last byte."""
    figure = result.plot.sequence()
    axes = figure.axes[0]
    for line in axes.lines:
        if line.get_marker() not in ("None", "", None):
            continue
        time, acked = np.asarray(line.get_xdata()), np.asarray(line.get_ydata())
        assert (time[0], acked[0]) == (0, 0)
        assert ((np.diff(time) == 0) | (np.diff(acked) == 0)).all()
        assert acked[-1] == 300_000, "a FIN is no data"
    legend = axes.get_legend()
    assert legend is not None
    figure.draw_without_rendering()
    assert legend.get_window_extent().y0 >= axes.get_window_extent().y1


def test_progress_of_one_byte_is_seen(small: Path) -> None:
    tiny = {"links.0.down.channel": {"loss": 0.0}, "flows.0.size": "1 B"}
    figure = fl.run(small, tcp=["reno", "sack"], overrides=tiny).plot.sequence()
    line = np.asarray(figure.axes[0].lines[0].get_xydata())
    assert line[0].tolist() == [0, 0]
    assert line[:, 1].max() == 1
    assert figure.get_supxlabel() == "on each other: reno, sack"


def test_curves_with_other_peaks_are_not_grouped() -> None:
    """Two curves are 0 most of the time, but have peaks at different times."""
    time = np.linspace(0, 10, 200)
    high, low = (np.where(np.abs(time - 5) < 0.3, peak, 0.0) for peak in (40.0, 30.0))
    curves = [Curve(f"{n}", "", time, row, look(n)) for n, row in enumerate((high, low))]
    assert together(curves, (0.0, 10.0)) == []
    again = [Curve(f"{n}", "", time, high, look(n)) for n in range(2)]
    assert together(again, (0.0, 10.0)) == [["0", "1"]]


def test_a_window_lasts_as_long_as_its_flow(small: Path) -> None:
    """If a flow ends between two ACKs, its last cwnd is drawn up to the end."""
    cut = fl.run(small, tcp="sack", overrides={"max_duration": "290 ms"})
    line = np.asarray(cut.plot.cwnd().axes[0].lines[0].get_xdata())
    cwnd = cut.trace("cwnd")
    assert line[-1] == pytest.approx(0.29)
    assert cwnd[cwnd["side"] == "from"]["time"].max() < 0.28


def test_notebooks_show_figures_as_they_are(result: fl.Result) -> None:
    """A figure has a PNG representation without any call of matplotlib's."""
    for figure in (result.plot.cwnd(), result.plot.box(), preset_map()):
        picture = figure._repr_png_()  # type: ignore[attr-defined]
        assert picture.startswith(b"\x89PNG")


AGENT = """
[tcp]
variant = "reno"
[[links]]
between = ["fixed", "base"]
down = { rate = "10 Mbit/s", delay = "10 ms" }
[[links]]
name = "radio"
between = ["base", "mobile"]
down = { rate = "2 Mbit/s", delay = "5 ms", channel = { loss = 0.03 } }
up = { rate = "2 Mbit/s", delay = "5 ms" }
[[agents]]
at = "base"
wireless = "radio"
kind = "snoop"
[[flows]]
from = "fixed"
to = "mobile"
size = "600 kB"
"""


def test_a_local_repair_is_seen_between_three_time_lines(tmp_path: Path) -> None:
    file = tmp_path / "agent.toml"
    file.write_text(AGENT)
    result = fl.run(file)
    axes = result.plot.agent().axes[0]
    lines = [tick.get_text() for tick in axes.get_xticklabels()]
    assert lines == ["sender", "snoop at base", "receiver"]
    shown = {"data", "ACK", "lost", "sent again by the agent", "ACK kept from the sender"}
    assert set(labels(axes)) == shown
    # Time goes down, and the first retransmission is within the limits.
    end, start = axes.get_ylim()
    acts = result.trace("agent")
    assert start < acts[acts["action"] == "resend"]["time"].iloc[0] < end
    with pytest.raises(fl.ScenarioError, match="its agents are 0 to 0"):
        result.plot.agent(agent=1)
    # Each lost packet has one cross.
    drops = int((result.trace("drops")["cause"] != "agent").sum())
    whole = result.plot.agent(t0=0, t1=5).axes[0]
    crosses = [line for line in whole.lines if line.get_marker() == "x"]
    assert sum(int(np.size(line.get_xdata())) for line in crosses) == drops > 0
    off = fl.run(file, overrides={"agents.0.enabled": False})
    assert "sent again by the agent" not in labels(off.plot.agent().axes[0])


SHEETS: list[tuple[Size, Fonts]] = [
    ("page", "sans"),
    ("column", "sans"),
    ("column", "tex"),
    ("slide", "sans"),
    ((4.0, 3.0), "sans"),
]


@pytest.mark.parametrize(("size", "fonts"), SHEETS)
def test_nothing_is_cut_or_collapses_on_any_sheet(
    result: fl.Result, size: Size, fonts: Fonts
) -> None:
    plots = result.plot
    for draw in (plots.cwnd, plots.throughput, plots.queue, plots.sequence, plots.box):
        figure = draw(size=size, fonts=fonts)
        figure.draw_without_rendering()
        paper = figure.bbox.padded(1)
        for axes in figure.axes:
            assert axes.bbox.height > 20, draw
            assert axes.bbox.width > 60, draw
            texts = [axes.xaxis.label, axes.yaxis.label, *axes.texts]
            texts += [axes._left_title, figure._suptitle]  # type: ignore[attr-defined]
            shown = [artist for artist in [*texts, axes.get_legend()] if artist is not None]
            for artist in shown:
                box = artist.get_window_extent()
                inside = paper.x0 <= box.x0 and box.x1 <= paper.x1
                inside &= paper.y0 <= box.y0 and box.y1 <= paper.y1
                assert inside or (artist in texts and not artist.get_text()), (
                    draw,
                    artist,
                    box,
                    paper,
                )
            assert all(float(text.get_fontsize()) >= 6.2 for text in texts)


def test_the_width_of_a_sheet_is_that_of_its_figures(result: fl.Result) -> None:
    assert result.plot.cwnd().get_figwidth() == 7.0
    assert result.plot.cwnd(size="column").get_figwidth() == 3.4
    assert tuple(result.plot.cwnd(size="slide").get_size_inches()) == (10.0, 5.625)
    assert tuple(result.plot.queue(size=(5, 2.5)).get_size_inches()) == (5, 2.5)
    assert result.plot.cwnd().get_figwidth() == 7.0


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"size": "poster"}, "size is 'poster'; write column, page, slide, or a width"),
        ({"size": (1, 5)}, "a width and a height of 2 to 40 inches"),
        ({"size": 7}, "size is 7; write column"),
        ({"fonts": "serif"}, "fonts is 'serif'; write sans or tex"),
    ],
)
def test_unknown_sizes_of_a_sheet_are_refused(
    result: fl.Result, keywords: dict[str, object], message: str
) -> None:
    with pytest.raises(fl.ScenarioError, match=re.escape(message)):
        result.plot.cwnd(**keywords)  # type: ignore[arg-type]


def test_fonts_of_tex_have_the_characters_of_names() -> None:
    with sheet_of(fonts="tex"):
        figure = styled(lambda: sheet(3.0))()
    axes = figure.subplots()
    axes.set_title("a_b < c")
    axes.set_xlabel("time (s)", family="cmr10")
    lay_out(figure)
    assert axes.title.get_fontfamily() == ["STIXGeneral"]
    assert axes.xaxis.label.get_fontfamily() == ["cmr10"]


def test_panels_have_the_places_that_matplotlib_would_give_them(result: fl.Result) -> None:
    for draw in (result.plot.cwnd, result.plot.throughput, result.plot.box):
        figure = draw()
        lay_out(figure)
        ours = [axes.get_position(original=True).extents for axes in figure.axes]
        figure.set_layout_engine("constrained", h_pad=0.06, w_pad=0.06)
        lay_out(figure)
        theirs = [axes.get_position(original=True).extents for axes in figure.axes]
        np.testing.assert_allclose(ours, theirs, atol=0.012)


def test_a_title_ends_before_the_next_panel() -> None:
    with sheet_of("column"):
        figure = styled(sheet)(3.0)
    left, right = figure.subplots(1, 2)
    for axes in (left, right):
        axes.set_title("linux-cubic simulated: 1.23 Mbit/s, 74 sent again", loc="left")
    lay_out(figure)
    assert left._left_title.get_window_extent().x1 < right.bbox.x0
    assert right._left_title.get_window_extent().x1 < figure.bbox.x1


def test_a_legend_of_the_figure_covers_no_panel() -> None:
    figure = sheet(3.0)
    for axes in figure.subplots(1, 2):
        axes.plot([0, 1], label="line")
        axes.set_title("a title")
    figure.legend(*axes.get_legend_handles_labels(), loc="outside upper right")
    lay_out(figure)
    (legend,) = figure.legends
    for axes in figure.axes:
        assert axes._left_title.get_window_extent().y1 < legend.get_window_extent().y0  # type: ignore[attr-defined]


def test_a_png_has_the_pixels_and_their_size(tmp_path: Path) -> None:
    pixels = np.random.default_rng(1).integers(0, 256, (7, 5, 4), np.uint8)
    write_png(tmp_path / "a.png", pixels, 200)
    with Image.open(tmp_path / "a.png") as image:
        assert image.mode == "RGB"
        assert round(image.info["dpi"][0]) == 200
        assert np.array_equal(np.asarray(image), pixels[:, :, :3])


def test_fixed_ticks_are_those_of_the_axes_and_end_with_the_block() -> None:
    figure = sheet(3.0)
    axis = figure.subplots().xaxis
    with fixed_ticks(figure):
        fixed = [tick.get_loc() for tick in axis._update_ticks()]  # type: ignore[attr-defined]
        axis.axes.set_xlim(0, 1000)
        assert [tick.get_loc() for tick in axis._update_ticks()] == fixed  # type: ignore[attr-defined]
    assert axis._update_ticks()[-1].get_loc() == 1000  # type: ignore[attr-defined]


def test_columns_alike_of_the_band_are_drawn_as_one() -> None:
    axes = sheet(3.0).subplots()
    limit = np.array(["congestion_window", "recovery", "congestion_window"], dtype=object)
    flow = Columns({"time": np.array([0.0, 40.0, 60.0]), "limit": limit})
    draw_band(axes, [flow], (0.0, 100.0), 1.0)
    windows, repairs = (item.get_paths()[0] for item in axes.collections)
    assert [np.shape(item.vertices)[0] for item in (windows, repairs)] == [
        15,
        15,
    ]  # three steps each
    for item, share in ((windows, 80), (repairs, 20)):
        x, y = np.asarray(item.vertices)[:-1].T
        area = abs(np.sum(x * np.roll(y, -1) - np.roll(x, -1) * y)) / 2
        assert area == pytest.approx(share * HEIGHT * _SOLID)


def test_a_run_draws_without_pandas(small: Path, tmp_path: Path) -> None:
    code = (
        "import sys; from farlink.cli.simulate import simulate;"
        f"simulate({str(small)!r}, plot=True, quiet=True, jobs=1);"
        "assert 'farlink.plot' in sys.modules;"
        "print([name for name in ('pandas', 'scipy', 'matplotlib.pyplot') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
