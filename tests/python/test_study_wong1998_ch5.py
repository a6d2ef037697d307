"""Chapter 5 of Wong 1998: congestion, tables, readings and figure 5.1; short runs only."""

import math

import numpy as np
import pytest

from farlink.studies.cache import SimulationCache
from farlink.studies.grid import Grid, amount
from farlink.studies.judge import Judgement
from farlink.studies.model import Change, Model
from farlink.studies.runner import StudyRunner
from farlink.studies.study import Drawing
from farlink.studies.wong1998 import STUDY
from farlink.studies.wong1998.numbers import congestion_of, loss_of
from farlink.studies.wong1998.readings import FULL_FRAME_BITS
from farlink.studies.wong1998.registry import REGISTRY
from farlink.studies.wong1998.tables import chances

LOSS = {"c25_5pct": 0.05, "c25_2pct": 0.02, "c5_5pct": 0.05}
CHANGES = {**STUDY.plan.interpretations, **STUDY.plan.controls}


@pytest.fixture(scope="module")
def wong() -> Model:
    return STUDY.model(SimulationCache(runs=2, jobs=2))


@pytest.mark.parametrize(("setting", "loss"), LOSS.items())
def test_loss_by_congestion_is_duration_times_periods(
    setting: str, loss: float, wong: Model
) -> None:
    """Eqn. 3.2: alpha / (alpha + beta), which is duration times periods per second."""
    duration, periods = congestion_of(wong, setting)
    assert loss_of(wong, setting) == loss
    assert math.isclose(loss, duration * periods)


@pytest.mark.parametrize("id", [f"table3.{i}" for i in range(1, 7)])
def test_tables_agree_row_by_row(id: str, wong: Model) -> None:  # noqa: A002
    table = REGISTRY.tables[id](wong)
    assert isinstance(table, Grid)
    assert all(item.agrees for item in table.cells.values()), table.cells
    assert len(table.rows) == len(STUDY.tables[id].data["published"])


def test_a_row_that_differs_is_marked(wong: Model) -> None:
    change = Change("w", "", sets={"links.radio.arq.window": 12})
    table = REGISTRY.tables["table3.4"](STUDY.model(wong.cache, change))
    assert isinstance(table, Grid)
    assert [item.agrees for item in table.cells.values()] == [True, True, False]


def test_amounts_have_the_units_of_the_study() -> None:
    assert amount("19.2 kbit/s") == 19_200
    assert amount("4 KiB") == amount("4096 B")
    assert amount("4 min") == amount("240.0 s")
    assert amount("0.125") == 0.125
    with pytest.raises(ValueError, match="furlongs"):
        amount("3 furlongs")


def test_points_of_the_figures_are_what_they_say(wong: Model) -> None:
    rlp = wong.cell("rlp", 0.3, mrd=3, seq=False, inet="c5_5pct").scenario
    arq = rlp["links"][-1]["arq"]
    assert arq["max_recovery_delay"] == "3 s"
    assert arq["in_sequence"] is False
    congestion = rlp["links"][1]["down"]["channel"]["congestion"]
    assert congestion == {"duration": "5 s", "periods": 0.01, "shared": True}
    mdlp = wong.cell("mdlp", 0.3, n2=4, best_effort=True).scenario["links"][-1]["arq"]
    assert (mdlp["n2"], mdlp["best_effort"]) == (4, True)
    unlimited = wong.cell("rlp", 0.3, mrd=False).scenario["links"][-1]["arq"]
    assert "max_recovery_delay" not in unlimited


@pytest.mark.parametrize("name", CHANGES)
def test_each_reading_and_wrong_model_runs_and_changes_something(name: str, wong: Model) -> None:
    other = STUDY.model(wong.cache, CHANGES[name])
    points = [{"ll": ll, "per": 0.3} for ll in ("mdlp", "lapb", "none")]
    points.append({"ll": "rlp", "per": 0.3, "mrd": 3, "seq": False, "inet": "c5_5pct"})
    points.append({"ll": "mdlp", "per": 0.3, "n2": 3})
    cells = [(wong.cell(**point), other.cell(**point)) for point in points]
    changed = any(a.scenario != b.scenario for a, b in cells) or bool(other.change.constants)
    assert changed == (name != "as chosen")
    for _, cell in cells:
        wong.cache.text(cell)  # it is valid


def test_errors_by_bit_lose_full_frames_as_before(wong: Model) -> None:
    cell = STUDY.model(wong.cache, STUDY.plan.interpretations["by-bit"]).cell("rlp", 0.5)
    ber = cell.scenario["links"][-1]["down"]["channel"]["ber"]
    assert math.isclose(1 - (1 - ber) ** FULL_FRAME_BITS, 0.5)


def test_a_model_of_constants_leaves_hardly_a_claim_green() -> None:
    """Two claims of equality hold, and all claims are judged without simulation."""
    cache = SimulationCache(runs=10)
    runner = StudyRunner(STUDY, cache, [])
    constants = STUDY.plan.controls["constants"]
    results = [runner.judge_once(Judgement(claim), constants) for claim in STUDY.claims.values()]
    words = [match.status for match in results]
    assert "failed" not in words
    assert words.count("reproduced") <= 2
    assert cache.simulated_runs == 0


def test_chances_of_independent_runs() -> None:
    """Chances of 2 and 5 against 3 and 4: each wins in two of the four pairs; ties are shared."""
    assert chances({"a": np.array([2.0, 5.0]), "b": np.array([3.0, 4.0])}) == {"a": 0.5, "b": 0.5}
    assert chances({"a": np.array([1.0]), "b": np.array([1.0, 3.0])}) == {"a": 0.25, "b": 0.75}


def test_mdlp_resets_the_link_after_two_timeouts(wong: Model) -> None:
    """In figure 5.1 the original MDLP loses all queued frames, the modified one only I(1)."""
    drawing = REGISTRY.figures["fig5.1"](wong)
    assert isinstance(drawing, Drawing)
    original, modified = drawing.tables["original"], drawing.tables["modified"]
    for frames in (original, modified):
        assert list(frames[frames["frame"] == "SABME"]["direction"]) == ["down"]
        assert list(frames[frames["frame"] == "UA"]["direction"]) == ["up"]
    after = [
        list(frames[(frames["frame"] == "I") & (frames["time"] > 2.5)]["ns"])
        for frames in (original, modified)
    ]
    assert after == [[0, 1], [6, 7, 8]]
    assert list(modified[modified["frame"] == "UA"]["nr"]) == [6]
    assert "of 9 packets 3 come" in drawing.note
    assert "8 over the modified" in drawing.note


def test_every_figure_of_chapter_5_has_curves() -> None:
    for number in range(2, 12):
        assert STUDY.figures[f"fig5.{number}"].data["series"]
    assert len(STUDY.plan.constants["PER"]) == 13


def test_the_record_is_complete() -> None:
    assert not [line for line in STUDY.gaps if "5." in line or "table" in line], STUDY.gaps
