"""Chapters 1 to 4 of Wong 1998: the model against closed forms, scripts, and drawings."""

import itertools

import numpy as np
import pandas as pd
import pytest

from farlink.studies.lab import Lab
from farlink.studies.ladder import Arrow, Note, draw
from farlink.studies.quantity import Quantity, Verdict
from farlink.studies.wong1998 import STUDY
from farlink.studies.wong1998.claims4 import fragments_of, linearity, mean
from farlink.studies.wong1998.ladders4 import Script, play
from farlink.studies.wong1998.model import FRAGMENTS, Wong
from farlink.studies.wong1998.traces4 import largest_burst, recovery_delays, time_mean

SEGMENT_BITS = 4 * 1024 + 960
"""A full segment on the radio link before headers of frames: five datagrams."""


@pytest.fixture(scope="module")
def wong() -> Wong:
    return Wong(Lab(runs=2, jobs=1))


def test_throughput_without_losses_is_that_of_the_radio_link(wong: Wong) -> None:
    # Five frames a segment, each with a header of 48 bits and a wait of 10 ms in the mean.
    per_segment = (SEGMENT_BITS + 5 * 48) / 19_200 + 5 * wong.mac
    expected = 512 * 8 / per_segment
    for ll in ("none", "lapb"):
        assert wong.thr(ll, 0.0, data="300 kB").mean == pytest.approx(expected, rel=0.01)


def test_status_frames_of_rlp_do_not_slow_the_other_direction_by_more_than_their_time(
    wong: Wong,
) -> None:
    # Each end sends 64 bits every 0.2 s, and waits 10 ms for it.
    without = wong.thr("none", 0.0, data="300 kB").mean
    share = 1 - (64 / 19_200 + wong.mac) / 0.2
    assert wong.thr("rlp", 0.0, data="300 kB").mean == pytest.approx(share * without, rel=0.01)


def test_a_segment_is_five_fragments_and_lost_with_any() -> None:
    assert fragments_of(532 * 8, 1024, 160) == FRAGMENTS == 5
    assert fragments_of(20 * 8, 1024, 160) == 1


def test_segments_without_recovery_are_lost_as_five_independent_frames(wong: Wong) -> None:
    sent, again, duplicate = (
        wong.flow(metric, "none", 0.02, data="1 MB")
        for metric in ("segments_sent", "segments_retransmitted", "segments_duplicate")
    )
    # What was sent again and needed was lost once before.
    loss = ((again - duplicate) / sent).mean
    assert loss == pytest.approx(1 - 0.98**5, abs=0.012)


def test_reliable_links_lose_nothing(wong: Wong) -> None:
    for ll in ("lapb", "mdlp", "rlp"):
        assert wong.flow("completed", ll, 0.1, data="50 kB").mean == 1
        assert wong.link("drops", ll, 0.1, data="50 kB").mean == 0


def test_data_from_the_mobile_go_up(wong: Wong) -> None:
    there = wong.thr("none", 0.0, data="100 kB").mean
    back = wong.thr("none", 0.0, data="100 kB", reverse=True).mean
    assert back == pytest.approx(there, rel=0.02)
    frames = wong.link("frames_sent", "none", 0.0, data="100 kB", reverse=True).mean
    assert frames > 5 * 100_000 // 512


def test_everything_of_a_point_is_in_its_label(wong: Wong) -> None:
    label = wong.cell(
        "mdlp", 0.3, seq=False, mtu=False, reverse=True, t200="2 s", tcp={"karn": False}
    ).label
    for part in ("mdlp", "PER 0.3", "t200 2 s", "karn", "not in sequence", "from the mobile"):
        assert part in label


@pytest.mark.parametrize(
    "claim",
    [
        "wong1998.fig4.1.two_dupacks_no_fast_retransmit",
        "wong1998.fig4.3.second_loss_needs_timeout",
        "wong1998.fig4.4.exponential_backoff",
        "wong1998.fig4.18.mdlp_duplicates",
        "wong1998.sec4.1.lost_ack_of_retransmission",
        "wong1998.sec4.1.lost_fast_retransmit_timeout",
    ],
)
def test_scripted_claims_hold(wong: Wong, claim: str) -> None:
    assert STUDY.registry.claims[claim](wong).verdict is Verdict.REPRODUCED


def test_a_loss_of_what_is_not_sent_is_refused(wong: Wong) -> None:
    with pytest.raises(ValueError, match="segment 3 is sent 1 times, not 2"):
        play(wong, Script(segments=5, losses=[(3, 2)]))


def test_a_script_loses_what_it_says(wong: Wong) -> None:
    trace = play(wong, Script(segments=10, losses=[(4, 1)]))
    lost = trace.table("frames").query("direction == 'down' and lost")
    assert len(lost) == FRAGMENTS
    came = trace.table("arrivals")["seq"].tolist()
    assert came.index(3 * 512) > came.index(4 * 512)


def test_ladders_have_an_arrow_for_every_segment(wong: Wong) -> None:
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


def test_recovery_is_told_by_what_repaired_it() -> None:
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


def test_lines_and_means_run_by_run() -> None:
    x = [0.0, 1.0, 2.0]
    straight = [Quantity([2 * a, 5 - a], "y") for a in x]
    assert linearity(x, straight).mean == pytest.approx(1.0)
    bent = [Quantity([a**4], "y") for a in x]
    assert linearity(x, bent).mean < 0.9
    averaged = mean([Quantity([1.0, 2.0], "a"), Quantity([3.0, 6.0], "b")])
    assert averaged.mean == 3


def test_ids_of_chapter_4_are_made_and_judged() -> None:
    figures = {f"fig4.{number}" for number in range(1, 23)}
    assert figures <= set(STUDY.registry.figures)
    claims = [id_ for id_ in STUDY.claims if id_.startswith(("wong1998.fig4", "wong1998.sec4"))]
    assert len(claims) == 42
    assert all(
        (id_ in STUDY.registry.claims) != bool(STUDY.claims[id_].untested)
        for id_ in itertools.chain(claims, ["wong1998.sec3.3.five_fragments"])
    )
