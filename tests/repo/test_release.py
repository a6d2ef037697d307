"""The release workflow, the tool that builds wheels, and the paper."""

import re
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import wheels  # noqa: E402


def jobs() -> dict[str, Any]:
    text = (ROOT / ".github" / "workflows" / "release.yml").read_text("utf-8")
    entries: dict[str, Any] = yaml.safe_load(text)["jobs"]
    return entries


def test_jobs_wait_for_jobs_that_exist_and_only_the_last_one_may_write() -> None:
    for name, job in jobs().items():
        needs = job.get("needs", [])
        assert set([needs] if isinstance(needs, str) else needs) <= jobs().keys()
        assert ("permissions" in job) == (name == "publish")


def test_the_workflow_tries_artifacts_that_a_job_uploads_with_every_python() -> None:
    uploads = {
        step["with"]["name"].replace("${{ matrix.target }}", row.get("target", ""))
        for job in jobs().values()
        for row in job.get("strategy", {}).get("matrix", {}).get("include", [{}])
        for step in job["steps"]
        if step.get("uses", "").startswith("actions/upload-artifact")
    }
    rows = jobs()["try"]["strategy"]["matrix"]["include"]
    assert {row["artifact"] for row in rows} <= uploads
    assert {row["python"] for row in rows} == {f"3.{minor}" for minor in wheels.MINORS}


def test_classifiers_name_the_versions_of_python_that_are_tried() -> None:
    text = (ROOT / "pyproject.toml").read_text("utf-8")
    minors = re.findall(r'"Programming Language :: Python :: 3\.(\d+)"', text)
    assert [int(minor) for minor in minors] == list(wheels.MINORS)


def test_an_unknown_target_is_one_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["wheels.py", "build", "vax"])
    with pytest.raises(SystemExit) as error:
        wheels.main()
    assert error.value.code == 2
    line = capsys.readouterr().err.splitlines()[-1]
    assert line.endswith(
        "no target vax; write one of x86_64-unknown-linux-gnu, aarch64-unknown-linux-gnu, "
        "x86_64-unknown-linux-musl"
    )


def test_a_missing_page_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["wheels.py", "build"])
    monkeypatch.setattr(wheels, "ROOT", tmp_path)
    monkeypatch.setattr(wheels, "PAGE", tmp_path / "web.tar.xz")
    with pytest.raises(SystemExit) as error:
        wheels.main()
    assert error.value.code == 2
    assert capsys.readouterr().err.endswith("web.tar.xz is missing; run make web first\n")


def test_the_paper_cites_entries_of_its_bibliography_which_are_those_of_farlink() -> None:
    paper = (ROOT / "paper" / "paper.md").read_text("utf-8")
    entry = re.compile(r"^(@\w+\{(\w+),\n(?:.*\n)*?\}\n)", re.MULTILINE)
    own, ours = (
        {key: text for text, key in entry.findall((ROOT / place).read_text("utf-8"))}
        for place in ("paper/paper.bib", "python/farlink/data/references.bib")
    )
    assert set(re.findall(r"@(\w+)", paper)) == own.keys()
    assert {key: own[key] for key in own.keys() & ours.keys()} == {
        key: ours[key] for key in own.keys() & ours.keys()
    }
