"""Unknowns of Wong 1998, and the search for one model of four figures; short runs only."""

import math
import re
from typing import Any

import numpy as np
import pytest

from farlink.studies import find
from farlink.studies.cache import SimulationCache
from farlink.studies.expression import Expression
from farlink.studies.inference.targets import keys
from farlink.studies.inference.unknowns import change, unknowns
from farlink.studies.model import Change
from farlink.studies.quantity import Evidence, Quantity
from farlink.studies.wong1998.one_model import (
    FIGURES,
    LEVELS,
    Row,
    combinations,
    excluded_by,
    search,
    survivors,
)
from farlink.studies.wong1998.readings import FULL_FRAME_BITS
from farlink.tuning.space import Level

STUDY = find("wong1998")
REGISTRY = STUDY.registry
MEMBERS = unknowns(STUDY.record, REGISTRY.hooks, REGISTRY.editors)
CHOSEN = {item.id: item.chosen for item in MEMBERS}
CACHE = SimulationCache(runs=2)

REFUTED = Evidence(0.9, 1e-6)
OPEN = Evidence(0.4, 0.6)
HELD = Evidence(1e-6, 0.9)


def _scenario(levels: dict[str, Level], *args: str | float, **factors: int) -> dict[str, Any]:
    changed = change(MEMBERS, {**CHOSEN, **levels}, REGISTRY.hooks, REGISTRY.editors)
    return dict(STUDY.model(CACHE, changed).cell(*args, **factors).scenario)


def _frame_loss(channel: dict[str, float], bits: int) -> float:
    return 1 - (1 - channel.get("loss", 0.0)) * (1 - channel.get("ber", 0.0)) ** bits


@pytest.mark.parametrize("share", [0.0, 0.3, 0.5, 1.0])
@pytest.mark.parametrize("per", [0.1, 0.5])
def test_a_full_frame_keeps_its_loss_and_short_frames_lose_the_share(
    share: float, per: float
) -> None:
    channel = _scenario({"errors": share}, "none", per)["links"][-1]["down"]["channel"]
    assert _frame_loss(channel, FULL_FRAME_BITS) == pytest.approx(per)
    short = share + (1 - share) * 48 / FULL_FRAME_BITS
    assert _frame_loss(channel, 48) == pytest.approx(1 - (1 - per) ** short)
    assert ("loss" in channel) == (share > 0)
    assert ("ber" in channel) == (share < 1)


def test_the_reading_between_both_error_models_has_half() -> None:
    half = STUDY.model(CACHE, STUDY.plan.interpretations["half-by-bit"]).cell("none", 0.4)
    assert half.scenario["links"] == _scenario({"errors": 0.5}, "none", 0.4)["links"]


def test_errors_without_a_loss_stay_away() -> None:
    assert "channel" not in _scenario({"errors": 0.5}, "rlp", 0.0)["links"][-1]["down"] or (
        "ber" not in _scenario({"errors": 0.5}, "rlp", 0.0)["links"][-1]["down"]["channel"]
    )


def test_levels_reach_the_protocol_that_they_concern() -> None:
    arq = _scenario({"count": "received"}, "mdlp", 0.3, n2=3)["links"][-1]["arq"]
    assert arq["answer_ends_count"] is False
    assert (
        "answer_ends_count" not in _scenario({"count": "received"}, "rlp", 0.3)["links"][-1]["arq"]
    )
    assert _scenario({"N2": "retransmissions"}, "mdlp", 0.3, n2=3)["links"][-1]["arq"]["n2"] == 4
    assert "n2" not in _scenario({"N2": "retransmissions"}, "mdlp", 0.3)["links"][-1]["arq"]
    first = _scenario({"T200": "first frame"}, "mdlp", 0.3)["links"][-1]["arq"]
    assert first["retry_from"] == "first-frame"
    assert _scenario({"backoff": "sample"}, "none", 0.1)["tcp"]["ack_ends_backoff"] is False
    assert _scenario({"ACKs": "at once"}, "none", 0.1)["tcp"]["ack_every"] == 1


def test_samples_and_time_outs_are_levels_of_the_sender() -> None:
    tcp = _scenario({"samples": "each segment", "time-out": "first"}, "mdlp", 0.3)["tcp"]
    assert tcp["sampling"] == "every-segment"
    assert tcp["repeat_first"] is True


def test_a_time_out_of_one_segment_keeps_runs_from_standing_still() -> None:
    """If a time-out sends all segments again, some runs send each segment twice to their end.

    Karn's rule then leaves no sample, and the RTO stays below the delay of the link.
    """

    def slow(level: str) -> int:
        changed = change(MEMBERS, {**CHOSEN, "time-out": level}, REGISTRY.hooks, REGISTRY.editors)
        values = STUDY.model(SimulationCache(runs=16), changed).thr("mdlp", 0.5).values
        return sum(value < 600 for value in values)

    assert slow("all") > slow("first") == 0


def test_each_printed_number_is_a_target_although_some_are_equal() -> None:
    tables = {"printed": STUDY.tables["printed"].data}
    assert len(keys(tables)) == len(tables["printed"]["cells"]["rows"]) == 12


def test_each_printed_number_has_a_simulated_quantity() -> None:
    rows = STUDY.tables["printed"].data["cells"]["rows"]
    # Any positive number that depends on the loss does for a test of the expressions.
    some = dict.fromkeys(REGISTRY.functions, lambda *_: Quantity([3.0, 3.1], "some"))
    some |= {
        name: lambda *args, **_: Quantity([20 * args[-1], 21 * args[-1]], "some")
        for name in STUDY.plan.measures
    }
    for row, line in rows.items():
        value = Expression(line["ours"], row).quantity({**STUDY.plan.constants, **some})
        assert np.isfinite(value.mean) or "passes" in row or "overtakes" in row, row


def test_the_minimum_interval_runs_from_the_end_without_the_frame() -> None:
    frame_ms = 1000 * FULL_FRAME_BITS / 19_200

    def interval(level: str) -> float:
        arq = _scenario({"minimum interval": level}, "rlp", 0.3)["links"][-1]["arq"]
        return float(arq["min_interval"].removesuffix(" ms"))

    assert interval("end") == pytest.approx(300, abs=0.1)
    assert interval("start") == pytest.approx(300 - frame_ms, abs=0.1)


def test_a_count_until_receipt_gives_up_more() -> None:
    def retransmitted(level: str) -> float:
        changed = change(MEMBERS, {**CHOSEN, "count": level}, REGISTRY.hooks, REGISTRY.editors)
        model = STUDY.model(SimulationCache(runs=4), changed)
        return float(model.given_up(0.4, 3, data="100 kB").mean)

    assert retransmitted("received") < 0.8 * retransmitted("answer")


def test_printed_numbers_that_chose_the_model_are_marked() -> None:
    cells = {f"printed: {row}, printed" for row in STUDY.tables["printed"].data["cells"]["rows"]}
    used = {cell for choice in STUDY.choices for cell in choice.cells}
    assert used <= cells
    assert len(used) == 6
    assert not any("5.2" in cell or "5.7" in cell for cell in used)


# --- The search


def test_combinations_have_every_level_once() -> None:
    rows = [tuple(levels.values()) for levels in combinations()]
    assert len(set(rows)) == len(rows) == math.prod(len(levels) for levels in LEVELS.values())
    assert tuple(CHOSEN[name] for name in LEVELS) == rows[0]
    assert set(LEVELS) <= CHOSEN.keys()


def test_a_part_of_the_combinations_has_the_given_levels() -> None:
    part = list(combinations({"time-out": "first", "errors": "0.5"}))
    assert {levels["time-out"] for levels in part} == {"first"}
    assert {levels["errors"] for levels in part} == {0.5}
    assert len(part) * 6 == len(list(combinations()))


def test_a_figure_excludes_what_it_refutes_and_what_is_a_tie() -> None:
    tie = Evidence(0.5, 0.5, p_tie=1e-6)
    assert excluded_by({"a": REFUTED, "b": OPEN, "c": HELD, "d": tie}) == ["a", "d"]
    weak = Evidence(0.9, 0.01)
    assert excluded_by({"a": weak}) == []
    assert excluded_by({"a": weak}, 0.025) == ["a"]


def test_survivors_are_what_no_figure_so_far_excludes() -> None:
    rows = [
        Row({}, {"4.8": REFUTED}),
        Row({}, {"4.8": HELD, "5.7": OPEN, "5.2": REFUTED}),
        Row({}, {"4.8": HELD, "5.7": REFUTED}),
        Row({}, {"4.8": HELD, "5.7": OPEN, "5.2": OPEN, "4.16": OPEN}),
        Row({}, {"4.8": HELD, "5.7": OPEN, "5.2": OPEN, "4.16": REFUTED}),
    ]
    assert survivors(rows) == {
        ("4.8",): 4,
        ("4.8", "5.7"): 3,
        ("4.8", "5.7", "5.2"): 2,
        tuple(FIGURES): 1,
    }


def test_no_figure_is_judged_after_one_that_excludes(monkeypatch: pytest.MonkeyPatch) -> None:
    from farlink.studies.wong1998 import one_model

    def found(_study: object, of: Expression, _change: object, _cache: object) -> Evidence:
        return REFUTED if of.text == FIGURES["5.7"] else OPEN

    monkeypatch.setattr(one_model, "statement", found)
    rows = list(search(STUDY, [SimulationCache(runs=2)]))
    assert all(list(row.evidence) == ["4.8", "5.7"] for row in rows)


def test_the_search_simulates_no_link_protocol_where_figure_4_8_decides(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A statement that no run meets excludes all combinations at the first figure."""
    from farlink.studies.wong1998 import one_model

    made: list[str] = []
    backoffs: list[object] = []

    def refuted(_study: object, of: Expression, changed: Change, _cache: object) -> Evidence:
        made.append(of.text)
        scenario = STUDY.model(CACHE, changed).cell("none", 0.1).scenario
        backoffs.append(scenario["tcp"]["ack_ends_backoff"])
        return REFUTED

    monkeypatch.setattr(one_model, "statement", refuted)
    rows = list(search(STUDY, [SimulationCache(runs=2)]))
    assert {row.excluded[0] for row in rows} == {"4.8"}
    assert set(made) == {FIGURES["4.8"]}
    assert backoffs.count(True) == backoffs.count(False) > 0
    assert all(list(row.evidence) == ["4.8"] for row in rows)


def test_the_search_asks_again_with_more_runs_where_nothing_is_excluded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from farlink.studies.wong1998 import one_model

    def found(_study: object, _of: object, _change: object, cache: SimulationCache) -> Evidence:
        return OPEN if cache.runs == 2 else REFUTED

    monkeypatch.setattr(one_model, "statement", found)
    rows = list(search(STUDY, [SimulationCache(runs=2), SimulationCache(runs=8)]))
    assert all(row.excluded == ["4.8"] for row in rows)
    rows = list(search(STUDY, [SimulationCache(runs=2), SimulationCache(runs=2)]))
    assert all(row.excluded == [] and list(row.evidence) == list(FIGURES) for row in rows)


def test_statements_are_parts_of_the_claims_of_their_figures() -> None:
    numbers = {"5.2": "gain_81_22_2_at_50pct", "5.7": "rto_like_rtt_mdlp"}
    for figure, name in numbers.items():
        claim = STUDY.claims[f"wong1998.fig{figure}.{name}"]
        assert claim.order is not None
        assert claim.number is not None
        stated = f"{claim.order.text} and {claim.number.text}"
        for part in FIGURES[figure].split(" and "):
            assert part in stated or re.match(r"rto_given_up\(0\.[56], 5\) <= 22", part), part
    order = STUDY.claims["wong1998.fig4.16.mdlp_high_per_nonseq_better"].order
    assert order is not None
    assert order.text == FIGURES["4.16"]
