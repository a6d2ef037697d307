"""Tests causes of claims that do not reproduce, and the readings that show them."""

import json
from pathlib import Path
from typing import Any

import pytest

from farlink.studies.cache import SimulationCache
from farlink.studies.judge import Finding
from farlink.studies.page import render
from farlink.studies.quantity import Evidence
from farlink.studies.runner import run_study
from farlink.studies.study import Registry, Study

RECORD: dict[str, Any] = {
    "study": {
        "id": "toy2020",
        "author": "A. B. Toy",
        "year": 2020,
        "title": "A delay",
        "published": "Nowhere",
        "summary": "How fast?",
    },
    "model": {
        "links": [
            {
                "name": "link",
                "between": ["a", "b"],
                "down": {"rate": "1 Mbit/s", "delay": "20 ms"},
                "up": {"rate": "1 Mbit/s", "delay": "20 ms"},
            }
        ],
        "flows": [{"name": "file", "from": "a", "to": "b", "app": "file", "size": "20 kB"}],
    },
    "point": {"args": ["loss"]},
    "factors": {"loss": {"doc": "loss", "path": "links.link.down.channel.loss", "absent": 0.0}},
    "measures": {"time": {"doc": "time", "of": "file.duration"}},
    "reading": [
        {"id": "far", "doc": "Twenty times the delay.", "sets": {"links.link.down.delay": "400 ms"}}
    ],
    "cause": [{"id": "near", "says": "The link is short."}],
    "claim": [
        {
            "id": "toy2020.slow",
            "says": "It takes more than a second.",
            "where": "s. 1",
            "number": "time(0.0) >= 1.0",
            "because": "near",
            "shown_by": ["far"],
        },
        {
            "id": "toy2020.fast",
            "says": "It takes less than a minute.",
            "where": "s. 2",
            "number": "time(0.0) <= 60",
            "because": "near",
            "shown_by": ["far"],
        },
    ],
}


def toy(*, causes: list[dict[str, str]] | None = None, **keys: object) -> Study:
    """Return the study with other keys of its first claim, which are left out if None."""
    first, second = RECORD["claim"]
    changed = {key: value for key, value in {**first, **keys}.items() if value is not None}
    entries = RECORD["cause"] if causes is None else causes
    return Study.of({**RECORD, "cause": entries, "claim": [changed, second]}, Registry())


def test_claims_that_do_not_reproduce_are_judged_under_the_readings_of_shown_by(
    tmp_path: Path,
) -> None:
    result = run_study(toy(), SimulationCache(runs=6), causes=True)
    slow, fast = result.judgements
    assert slow.status == "not reproduced"
    assert slow.cause == "The link is short."
    ((reading, verdict, key),) = slow.cause_evidence
    assert (reading, verdict) == ("far", "reproduced")
    assert key.startswith("time(loss 0) = ")
    assert fast.status == "reproduced"
    assert (list(fast.findings), fast.cause_evidence, fast.cause) == (["as chosen"], [], "")
    assert "--causes" in result.command
    page = render(result, {})
    assert "<b>far</b>" in page
    assert key.replace(">", "&gt;") in page
    # The table has only readings under which every claim was judged.
    assert "Other readings of the text" not in page
    result.save(tmp_path)
    saved = json.loads((tmp_path / "verdicts.json").read_text(encoding="utf-8"))
    assert saved["verdicts"][0]["shown_by"] == [
        {"reading": "far", "verdict": "reproduced", "key": key}
    ]


def test_without_the_runs_the_page_names_the_reading() -> None:
    result = run_study(toy(), SimulationCache(runs=2))
    assert result.judgements[0].cause_evidence == [("far", "", "")]
    assert "--causes" not in result.command
    assert "<b>far</b>" in render(result, {})


def test_counterpart_compares_the_same_quantity_with_the_same_bound() -> None:
    """The deciding part may differ by reading, so the counterpart is found by quantity."""
    lines = ("a = 1 >= 2", "b = 4 <= 9", "b = 4 >= 2")
    assert Finding(None, Evidence(1.0, 0.0, lines)).counterpart("b = 1 >= 2") == "b = 4 >= 2"
    assert Finding(None, Evidence(1.0, 0.0, lines)).counterpart("c = 1 >= 2") == "a = 1 >= 2"
    assert Finding(None, Evidence(1.0, 0.0, lines)).counterpart("b = 1 >= 3") == "b = 4 <= 9"


@pytest.mark.parametrize(
    ("keys", "error"),
    [
        ({"because": "moon"}, "slow: the record has no cause 'moon'"),
        ({"cause": "So."}, "slow: cause and because; one of them says why"),
        ({"shown_by": ["moon"]}, "slow: no reading moon"),
        ({"because": None}, "slow: shown_by, and no cause"),
    ],
)
def test_a_wrong_cause_of_a_claim_is_refused(keys: dict[str, Any], error: str) -> None:
    with pytest.raises(ValueError, match=error):
        toy(**keys)


@pytest.mark.parametrize(
    ("cause", "error"),
    [
        ({"id": "far", "says": "No claim has it."}, "cause far: no claim has it"),
        ({"id": "near", "says": "Again."}, "the record has cause near twice"),
        ({"id": "far"}, "the record lacks 'says' of cause far"),
        ({"id": "far", "says": "So.", "why": "So."}, "cause far: why is no key of it"),
    ],
)
def test_a_wrong_entry_of_causes_is_refused(cause: dict[str, str], error: str) -> None:
    with pytest.raises(ValueError, match=error):
        toy(causes=[*RECORD["cause"], cause])
