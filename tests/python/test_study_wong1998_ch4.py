"""Chapters 1 to 4 of Wong 1998: the model against closed forms, scripts, and drawings."""

from functools import partial

import numpy as np
import pandas as pd
import pytest

from farlink.studies.cache import SimulationCache
from farlink.studies.expression import Expression
from farlink.studies.ladder import Arrow, Note, draw
from farlink.studies.model import Model
from farlink.studies.quantity import Evidence, Quantity, Verdict
from farlink.studies.wong1998 import STUDY
from farlink.studies.wong1998.ladders4 import FRAGMENTS, Script, play
from farlink.studies.wong1998.numbers import fragments_of
from farlink.studies.wong1998.traced import largest_burst, recovery_delays, time_mean

SEGMENT_BITS = 4 * 1024 + 960
"""A full segment on the radio link before headers of frames: five datagrams."""


@pytest.fixture(scope="module")
def wong() -> Model:
    return STUDY.model(SimulationCache(runs=2, jobs=1))


MAC_S = 0.010


def of(wong: Model, measure: str, *args: object, **factors: object) -> Quantity:
    """Return a measure of the flow or the radio link that the record does not name."""
    cell = wong.cell(*args, **factors)
    if measure in ("frames_sent", "drops"):
        return wong.cache.link(cell, "radio", "down", measure)
    return wong.cache.flow(cell, measure)


def test_throughput_without_losses_is_that_of_the_radio_link(wong: Model) -> None:
    # A segment has five frames, each with a header of 48 bits and a mean wait of 10 ms.
    per_segment = (SEGMENT_BITS + 5 * 48) / 19_200 + 5 * MAC_S
    expected = 512 * 8 / per_segment
    for ll in ("none", "lapb"):
        assert wong.thr(ll, 0.0, data="300 kB").mean == pytest.approx(expected, rel=0.01)


def test_status_frames_of_rlp_do_not_slow_the_other_direction_by_more_than_their_time(
    wong: Model,
) -> None:
    # Each end sends 64 bits every 0.2 s, and waits 10 ms for it.
    without = wong.thr("none", 0.0, data="300 kB").mean
    share = 1 - (64 / 19_200 + MAC_S) / 0.2
    assert wong.thr("rlp", 0.0, data="300 kB").mean == pytest.approx(share * without, rel=0.01)


def test_a_segment_is_five_fragments_and_lost_with_any(wong: Model) -> None:
    assert fragments_of(wong, 532 * 8, 1024, 160) == FRAGMENTS == 5
    assert fragments_of(wong, 20 * 8, 1024, 160) == 1


def test_segments_without_recovery_are_lost_as_five_independent_frames(wong: Model) -> None:
    sent, again, duplicate = (
        of(wong, metric, "none", 0.02, data="1 MB")
        for metric in ("segments_sent", "segments_retransmitted", "segments_duplicate")
    )
    # A retransmission that is no duplicate at the receiver replaces a lost segment.
    loss = ((again - duplicate) / sent).mean
    assert loss == pytest.approx(1 - 0.98**5, abs=0.012)


def test_reliable_links_lose_nothing(wong: Model) -> None:
    for ll in ("lapb", "mdlp", "rlp"):
        assert of(wong, "completed", ll, 0.1, data="50 kB").mean == 1
        assert of(wong, "drops", ll, 0.1, data="50 kB").mean == 0


def test_data_from_the_mobile_go_up(wong: Model) -> None:
    other = STUDY.model(wong.cache, STUDY.plan.interpretations["mobile-sends"])
    there = wong.thr("none", 0.0, data="100 kB").mean
    assert other.thr("none", 0.0, data="100 kB").mean == pytest.approx(there, rel=0.02)
    assert other.frames_per_segment("none", 0.0, data="100 kB").mean == pytest.approx(5, abs=0.05)


def test_labels_contain_all_factors_of_a_point(wong: Model) -> None:
    label = wong.cell("mdlp", 0.3, seq=False, fragments=False, t200=2, karn=False).label
    assert label == "mdlp, PER 0.3, in sequence False, fragments False, t200 2, karn False"


@pytest.mark.parametrize(
    "claim",
    [
        "wong1998.fig4.1.two_dupacks_no_fast_retransmit",
        "wong1998.fig4.3.second_loss_needs_timeout",
        "wong1998.fig4.4.exponential_backoff",
        "wong1998.sec4.1.lost_ack_of_retransmission",
        "wong1998.sec4.1.lost_fast_retransmit_timeout",
    ],
)
def test_scripted_claims_hold(wong: Model, claim: str) -> None:
    number = STUDY.claims[claim].number
    assert number is not None
    assert number.evidence(wong.names).verdict is Verdict.REPRODUCED


def test_a_scripted_loss_of_a_missing_transmission_is_refused(wong: Model) -> None:
    with pytest.raises(ValueError, match="segment 3 is sent 1 times, not 2"):
        play(wong, Script(segments=5, losses=[(3, 2)]))


def test_a_script_loses_the_named_transmissions(wong: Model) -> None:
    trace = play(wong, Script(segments=10, losses=[(4, 1)]))
    lost = trace.table("frames").query("direction == 'down' and lost")
    assert len(lost) == FRAGMENTS
    came = trace.table("arrivals")["seq"].tolist()
    assert came.index(3 * 512) > came.index(4 * 512)


def test_ladders_have_an_arrow_for_every_segment(wong: Model) -> None:
    for name in ("fig4.1", "fig4.3", "fig4.18"):
        made = STUDY.registry.figures[name](wong)
        axes = made.figure.axes[0]  # type: ignore[union-attr]
        texts = {text.get_text() for text in axes.texts}
        assert {"sender", "receiver"} <= texts
        assert any("4" in text for text in texts)


def test_a_ladder_marks_what_is_lost_and_joins_what_goes_together() -> None:
    arrows = [
        Arrow(0.0, 1.0, 0, 1, "1"),
        Arrow(0.0, 1.1, 0, 1, "2", lost=True),
        Arrow(5.0, 5.5, 1, 0, "ACK"),
    ]
    figure = draw(["a", "b"], arrows, [Note(8.0, 0, "time-out")])
    axes = figure.axes[0]
    texts = [text.get_text() for text in axes.texts if text.get_text()]
    assert texts == ["a", "b", "1, 2", "time-out", "ACK"]
    crosses = [line for line in axes.lines if line.get_marker() == "x"]
    assert len(crosses) == 1
    bottom, top = axes.get_ylim()
    assert bottom > 8.0 > 0.0 > top


def test_means_over_time_of_a_step_function() -> None:
    # 1 until 2, then 3: from 0 to 4 the mean is 2, from 1 to 3 it is 2, from 3 on 3.
    time, value = [0.0, 2.0], [1.0, 3.0]
    assert time_mean(time, value, 0, 4) == 2
    assert time_mean(time, value, 1, 3) == 2
    assert time_mean(time, value, 3, 4) == 3


def test_bursts() -> None:
    assert largest_burst(np.array([]), 0.1) == 0
    assert largest_burst(np.array([0.0, 1.0, 1.05, 1.1, 2.0]), 0.1) == 3


def test_recovery_delays_are_grouped_by_kind_of_repair() -> None:
    # Segment 0 needs a fast retransmit (2 s), segment 512 two time-outs (9 s).
    sent = pd.DataFrame(
        {
            "time": [0.0, 1.0, 1.5, 4.0, 9.0],
            "seq": [0, 512, 0, 512, 512],
            "retransmission": [False, False, True, True, True],
        }
    )
    came = pd.DataFrame({"time": [2.0, 10.0], "seq": [0, 512], "duplicate": [False, False]})
    marks = pd.DataFrame(
        {"time": [1.5, 4.0, 9.0], "kind": ["fast_retransmit", "timeout", "timeout"]}
    )
    assert recovery_delays(sent, came, marks) == {"timeout": [9.0], "fast_retransmit": [2.0]}


def test_windows_are_halved_and_grown_to_the_byte(wong: Model) -> None:
    """Runs obey the arithmetic of figure 4.2."""
    after = STUDY.registry.functions["window_after"]
    assert after(wong, 4096, 0) == 2048
    # A segment at the threshold, then 512 * 512 // cwnd each.
    assert after(wong, 4096, 2) == 2048 + 512 + 512 * 512 // 2560
    assert after(wong, 4096, 20, 14, 0) == 1828
    assert STUDY.registry.functions["window_rule_broken"](wong).mean == 0


def test_functions_of_pieces_have_a_value_in_each_run(wong: Model) -> None:
    """Functions of expressions give a number a run, within its possible range."""
    for name, args, low, high in (
        ("idle_share", (4.5,), 0.0, 1.0),
        ("burst_share", ("largest", 5), 0.0, 1.0),
        ("bursts", (True, "wait"), 2.0, 30.0),
        ("bursts", (False, "out_of_order"), 0.0, 40.0),
        ("window_share", ("rlp",), 0.5, 1.0),
        ("window_cuts", ("none",), 1.0, 60.0),
        ("longest_silence", ("none",), 2.0, 100.0),
        ("recovery_delay", ("timeout",), 2.0, 100.0),
        ("shortest_recovery", ("timeout",), 2.0, 20.0),
    ):
        result = STUDY.registry.functions[name](wong, *args)
        assert isinstance(result, Quantity)
        assert low <= result.mean <= high, (name, result)
    small = STUDY.registry.functions["small_window_before_timeout"](wong)
    assert isinstance(small, Evidence)


def test_ids_of_chapter_4_are_made_and_judged() -> None:
    figures = {f"fig4.{number}" for number in range(1, 23)}
    assert figures <= set(STUDY.figures)
    claims = [id_ for id_ in STUDY.claims if id_.startswith(("wong1998.fig4", "wong1998.sec4"))]
    assert len(claims) == 42
    assert STUDY.gaps == []


def _evaluate(stated: Expression, cache: SimulationCache) -> object:
    return stated.value(STUDY.model(cache).names)


def test_every_expression_can_be_planned() -> None:
    """Every factor, measure and value in the claims exists."""
    cache = SimulationCache(runs=2)
    for claim in STUDY.claims.values():
        for stated in (claim.order, claim.number):
            if stated is None or stated.names & STUDY.registry.functions.keys():
                continue
            cells = cache.planned(partial(_evaluate, stated))
            assert cells, claim.id
            cache.text(cells[0])
            cache.text(cells[-1])


def test_figure_4_8_excludes_a_backoff_that_lasts_until_a_sample() -> None:
    """A segment is lost with p = 1 - 0.9^5 = 0.41 at a PER of 10 %; an RTO is at least 2 s.

    If any ACK ends the backoff, a sender with one segment in flight waits RTO p / (1 - 2 p), so at
    least 4.5 s. If the backoff lasts until a sample, the mean is unlimited for p above 1 - 1 /
    sqrt(2), a PER of 6.7 %. The printed curve passes 5 s at 10 %.
    """
    lost = 1 - 0.9**5
    least = 2 * lost / (1 - 2 * lost)
    cache = SimulationCache(runs=2, jobs=1)
    chosen = STUDY.model(cache)
    lasting = STUDY.model(cache, STUDY.plan.interpretations["backoff-until-sample"])
    assert least == pytest.approx(4.53, abs=0.01)
    assert chosen.e2e("none", 0.1).mean == pytest.approx(least, rel=0.2)
    assert lasting.e2e("none", 0.06).mean < 5 < lasting.e2e("none", 0.075).mean
    assert lasting.e2e("none", 0.1).mean > 20
