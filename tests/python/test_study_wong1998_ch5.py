"""Chapter 5 of Wong 1998: congestion, tables, readings and figure 5.1; short runs only."""

import math

import numpy as np
import pytest

from farlink.studies.lab import Lab
from farlink.studies.quantity import Quantity
from farlink.studies.study import Drawing
from farlink.studies.wong1998 import STUDY, chapter5
from farlink.studies.wong1998.claims5 import LOSS, average, by_limit, loss_rate
from farlink.studies.wong1998.model import CONGESTION, PER, REGISTRY, Wong
from farlink.studies.wong1998.sensitivity import FULL_FRAME_BITS, READINGS, Reading
from farlink.studies.wong1998.tables import amount, chances


@pytest.fixture(scope="module")
def wong() -> Wong:
    return Wong(Lab(runs=2, jobs=2))


@pytest.mark.parametrize(("setting", "loss"), LOSS.items())
def test_loss_by_congestion_is_duration_times_periods(setting: str, loss: float) -> None:
    """Eqn. 3.2: alpha / (alpha + beta), which is duration times periods per second."""
    duration = amount(str(CONGESTION[setting]["duration"]))
    assert math.isclose(loss_rate(setting), loss, rel_tol=1e-12)
    assert math.isclose(loss_rate(setting), duration * CONGESTION[setting]["periods"])


@pytest.mark.parametrize("id", [f"table3.{i}" for i in range(1, 7)])
def test_tables_agree_row_by_row(id: str, wong: Wong) -> None:  # noqa: A002
    table = REGISTRY.tables[id](wong)
    assert table.agrees is not None
    assert all(table.agrees), table.rows
    assert len(table.rows) == len(STUDY.tables[id].data["published"])


def test_a_row_that_differs_is_told(wong: Wong) -> None:
    other = Reading(wong, {"window": 12})
    table = REGISTRY.tables["table3.4"](other)
    assert table.agrees == [True, True, False]


def test_amounts_have_the_units_of_the_study() -> None:
    assert amount("19.2 kbit/s") == 19_200
    assert amount("4 KiB") == amount("4096 B")
    assert amount("4 min") == amount("240.0 s")
    assert amount("0.125") == 0.125
    with pytest.raises(ValueError, match="furlongs"):
        amount("3 furlongs")


def test_points_of_the_figures_are_what_they_say(wong: Wong) -> None:
    rlp = wong.cell("rlp", 0.3, **chapter5.be_rlp(3, "c5_5pct")).scenario
    arq = rlp["links"][-1]["arq"]
    assert arq["max_recovery_delay"] == "3 s"
    assert arq["in_sequence"] is False
    congestion = rlp["links"][1]["down"]["channel"]["congestion"]
    assert congestion == {"duration": "5 s", "periods": 0.01, "shared": True}
    mdlp = wong.cell("mdlp", 0.3, **chapter5.be_mdlp(4)).scenario["links"][-1]["arq"]
    assert (mdlp["n2"], mdlp["best_effort"]) == (4, True)
    unlimited = wong.cell("rlp", 0.3, **chapter5.be_rlp(None)).scenario["links"][-1]["arq"]
    assert "max_recovery_delay" not in unlimited


@pytest.mark.parametrize("name", READINGS)
def test_each_reading_runs_and_changes_something(name: str, wong: Wong) -> None:
    reading = READINGS[name](wong)
    cells = [(wong.cell(ll, 0.3), reading.cell(ll, 0.3)) for ll in ("rlp", "mdlp", "lapb", "none")]
    assert any(a.scenario != b.scenario for a, b in cells) == (name != "as chosen")
    for _, cell in cells:
        wong.lab.text(cell)  # it is valid


def test_errors_by_bit_lose_full_frames_as_before(wong: Wong) -> None:
    cell = READINGS["errors by bit: PER of a full frame"](wong).cell("rlp", 0.5)
    ber = cell.scenario["links"][-1]["down"]["channel"]["ber"]
    assert math.isclose(1 - (1 - ber) ** FULL_FRAME_BITS, 0.5)


def test_chances_of_independent_runs() -> None:
    """Of 2 and 5 against 3 and 4, each wins in two of the four pairs; ties are shared."""
    assert chances({"a": np.array([2.0, 5.0]), "b": np.array([3.0, 4.0])}) == {"a": 0.5, "b": 0.5}
    assert chances({"a": np.array([1.0]), "b": np.array([1.0, 3.0])}) == {"a": 0.25, "b": 0.75}


def test_the_average_of_quantities_is_run_by_run() -> None:
    mean = average([Quantity([1, 5, 1], "a"), Quantity([2, 4, 3], "b")], "mean")
    assert list(mean.values) == [1.5, 4.5, 2]


def test_throughput_at_high_per_is_the_mean_of_three_points() -> None:
    wong = Wong(Lab(runs=2, jobs=2), 0.01)
    small = {m: q.mean for m, q in by_limit(wong, "c25_5pct", [5]).items()}
    assert set(small) == {5}
    assert 500 < small[5] < 8000


def test_a_link_that_is_set_up_anew(wong: Wong) -> None:
    """Figure 5.1: the original loses all that is queued, the modified one I(1) only."""
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
        assert f"fig5.{number}" in REGISTRY.figures
    assert len(PER) == 13


def test_the_record_is_complete() -> None:
    assert not [line for line in STUDY.gaps if "5." in line or "table" in line], STUDY.gaps
