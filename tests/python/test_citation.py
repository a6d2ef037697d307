"""BibTeX of what a result used."""

import json
import re
import tomllib
from importlib import resources
from pathlib import Path

import pytest

from farlink import _farlink, citation, errors
from farlink.studies import NAMES

ROOT = Path(__file__).resolve().parents[2]


def keys(*names: str) -> list[str]:
    return re.findall(r"^@\w+\{([^,]+),$", citation.bibtex(names), re.MULTILINE)


def test_every_entry_is_read_and_its_braces_match() -> None:
    text = (resources.files("farlink") / "data" / "references.bib").read_text("utf-8")
    entries = citation.references()
    assert len(entries) == text.count("\n@") > 40
    assert len({entry.key for entry in entries}) == len(entries)
    for entry in entries:
        assert entry.text.count("{") == entry.text.count("}"), entry.key
        assert entry.cited_as or entry.used_by, entry.key
        assert re.search(r"\b(title|author|editor)\s*=", entry.text), entry.key


def test_farlink_alone_is_cited_as_in_its_citation_file() -> None:
    assert keys() == ["farlink"]
    cff = (ROOT / "CITATION.cff").read_text("utf-8")
    assert f'title: "{citation.TITLE}"' in cff
    assert f"version = {{{_farlink.version()}}}" in citation.bibtex([])


@pytest.mark.parametrize("variant", json.loads(_farlink.variants()), ids=lambda row: row["name"])
def test_each_tcp_has_an_entry_of_its_source(variant: dict[str, str]) -> None:
    entries = citation.of_text(variant["source"], variant["name"])
    assert entries
    assert not any(key.startswith("source-") for key in entries)


def test_each_study_has_its_entry() -> None:
    assert tuple(sorted(NAMES)) == citation._STUDIES
    for name in NAMES:
        assert keys(name) == ["farlink", name]


def test_parts_that_are_named_exist() -> None:
    definitions = json.loads(_farlink.schema())["$defs"]
    channels = set(definitions["ChannelSpec"]["properties"])
    agents = {entry["const"] for entry in definitions["AgentName"]["oneOf"]}
    apps = {entry["const"] for entry in definitions["AppName"]["oneOf"]}
    for entry in citation.references():
        for part in entry.used_by:
            kind, _, name = part.partition(" ")
            assert {"channel": channels, "agent": agents, "app": apps}.get(kind, {name}) >= {name}
    parts = {part for entry in citation.references() for part in entry.used_by}
    assert {f"agent {name}" for name in agents} <= parts


def test_a_result_brings_what_it_used(tmp_path: Path) -> None:
    import farlink as fl

    small = {"flows.0.size": "20 kB"}
    fl.run("wlan-west1997", tcp="reno", overrides=small).save(tmp_path / "r")
    assert keys(str(tmp_path / "r")) == [
        "farlink", "west1997", "balakrishnan1995", "rfc2581",
    ]  # fmt: skip
    assert keys(str(tmp_path / "r" / "result.json")) == keys(str(tmp_path / "r"))


def test_a_profile_brings_its_kernel() -> None:
    assert keys("linux-cubic") == ["farlink", "rfc6675", "rfc6928", "rfc9438", "linux618"]


def test_a_source_that_is_not_known_becomes_a_note() -> None:
    (entry,) = citation.of_text("100 % of A & B_2, 2021", "leo-a").values()
    assert entry == (
        "@misc{source-leo-a,\n  title = {Source of leo-a},\n"
        "  note = {100 \\% of A \\& B\\_2, 2021},\n}"
    )
    assert citation.of_text("Ours, a round example.", "x") == {}


def test_each_preset_and_scenario_can_be_cited() -> None:
    for preset in json.loads(_farlink.presets()):
        assert citation.bibtex([preset["name"]])
    for name, text in _farlink.scenarios():
        entries = keys(name)
        if not tomllib.loads(text).get("source", "Ours").startswith("Ours"):
            assert len(entries) > 1, name


def test_a_name_that_is_nothing_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(errors.ScenarioError, match="neither a scenario"):
        citation.bibtex(["nothing"])
    with pytest.raises(errors.ScenarioError, match="no result; name a folder"):
        citation.bibtex([str(tmp_path)])
