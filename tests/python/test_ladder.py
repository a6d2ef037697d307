"""The ladder of packets shows what the trace of packets has."""

from pathlib import Path

import numpy as np
import pytest
from matplotlib.text import Text

import farlink as fl
from farlink.errors import ScenarioError
from farlink.plot.data import Columns
from farlink.plot.ladder import Rung, excerpt, rungs
from farlink.plot.view import View
from farlink.result import Result

TEXT = """
[tcp]
variant = "newreno"
mss = "1000 B"
receive_window = "1 MB"
[[links]]
name = "lan"
between = ["server", "gateway"]
down = {{ rate = "10 Mbit/s", delay = "5 ms" }}
[[links]]
name = "sat"
between = ["gateway", "client"]
down = {{ rate = "2 Mbit/s", delay = "275 ms"{} }}
up = {{ rate = "2 Mbit/s", delay = "275 ms" }}
{}
[[flows]]
from = "server"
to = "client"
size = "60 kB"
"""
LOSS = ', channel = { scripted_loss = { packets = [20], min_size = "100 B" } }'
LINKS = {"lan": 0, "sat": 1}
PLACES = [0.0, 0.25, 1.0]


def of(tmp_path: Path, loss: str = "", agents: str = "") -> Result:
    path = tmp_path / "ladder.toml"
    path.write_text(TEXT.format(loss, agents), encoding="utf-8")
    return fl.run(str(path))


def shown(result: Result) -> tuple[list[Rung], tuple[float, float]]:
    rows = Columns(result.arrays("packets", "newreno"))
    limits = excerpt(View(result, 0), "newreno", rows)
    return rungs(rows, LINKS, PLACES, limits), limits


def agent(kind: str) -> str:
    return f'[[agents]]\nkind = "{kind}"\nat = "gateway"\nwireless = "sat"'


def test_default_excerpt_has_first_loss_and_its_repair(tmp_path: Path) -> None:
    result = of(tmp_path, LOSS)
    packets, limits = shown(result)
    (lost,) = [rung for rung in packets if rung.is_lost]
    assert (lost.label, lost.kind) == ("20", "data")
    assert lost.end[0] == pytest.approx((PLACES[1] + PLACES[2]) / 2)
    again = [rung for rung in packets if rung.kind == "again"]
    assert {rung.label for rung in again} == {"20"}
    assert limits[0] < lost.start[1] < again[-1].end[1] < limits[1]


def test_rungs_of_a_packet_join_at_the_nodes(tmp_path: Path) -> None:
    packets, _ = shown(of(tmp_path))
    of_first = [rung for rung in packets if rung.label == "1" and rung.kind == "data"]
    near, far = of_first
    assert near.end[0] == far.start[0] == PLACES[1]
    assert far.start[1] >= near.end[1]
    assert not any(rung.is_lost or rung.kind == "again" for rung in packets)


@pytest.mark.parametrize("kind", ["snoop", "split"])
def test_retransmission_of_an_agent_begins_at_its_node(tmp_path: Path, kind: str) -> None:
    packets, _ = shown(of(tmp_path, LOSS, agent(kind)))
    repairs = [rung for rung in packets if rung.kind == "repair"]
    assert {rung.label for rung in repairs} == {"20"}
    assert all(rung.start[0] == PLACES[1] for rung in repairs)
    kept = [rung for rung in packets if rung.by_agent]
    assert bool(kept) == (kind == "snoop")
    assert all(rung.kind == "ack" and rung.end[0] == PLACES[1] for rung in kept)


@pytest.mark.parametrize("size", ["page", "column", "slide"])
def test_ladder_has_a_line_for_each_node(tmp_path: Path, size: str) -> None:
    result = of(tmp_path, LOSS)
    figure = result.plot.ladder(size=size)  # type: ignore[arg-type]
    names = [text.get_text().strip() for text in figure.axes[0].get_xticklabels()]
    assert names == ["server", "gateway", "client"]
    low, high = figure.axes[0].get_ylim()
    assert low > high, "time does not go down"


def test_ladder_of_a_chosen_time_shows_it(tmp_path: Path) -> None:
    figure = of(tmp_path).plot.ladder(t0=0.5, t1=1.0)
    assert np.allclose(figure.axes[0].get_ylim(), (1.0, 0.5))


def test_a_long_default_excerpt_is_cut_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = of(tmp_path, LOSS)
    whole = result.plot.ladder()
    assert not any("Cut at" in text.get_text() for text in whole.findobj(Text))
    monkeypatch.setattr("farlink.plot.ladder._LEGIBLE", 20)
    cut = result.plot.ladder()
    assert any("Cut at" in text.get_text() for text in cut.findobj(Text))
    assert cut.axes[0].get_ylim()[0] < whole.axes[0].get_ylim()[0]
    chosen = result.plot.ladder(t0=0, t1=3)
    assert np.allclose(chosen.axes[0].get_ylim(), (3, 0))


def test_sentences_stand_beside_the_ladder_in_order(tmp_path: Path) -> None:
    result = of(tmp_path, LOSS)
    story = result.story()
    assert list(story.columns) == ["time", "flow", "side", "text", "packet"]
    assert story["time"].is_monotonic_increasing
    numbers = set(result.trace("packets")["number"])
    assert set(story["packet"].dropna()) <= numbers
    beside = result.plot.ladder().axes[1]
    texts = [" ".join(text.get_text().split()) for text in beside.texts]
    fast = [text for text in texts if text.startswith("Fast retransmit: segment 20 goes again")]
    assert fast
    assert [text for text in story["text"] if text in texts] == texts


def test_unknown_figure_is_an_error(tmp_path: Path) -> None:
    result = of(tmp_path)
    with pytest.raises(ScenarioError, match="figure 'stairs' is not known; there are ladder"):
        result.save(tmp_path / "out", figure="stairs")


def test_saving_the_ladder_writes_no_other_figure(tmp_path: Path) -> None:
    written = of(tmp_path).save(tmp_path / "out", figure="ladder")
    plots = {path.name for path in written if path.parent.name == "plots"}
    assert plots == {"ladder-newreno.png", "ladder-newreno.svg"}
