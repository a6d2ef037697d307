"""Examples of the README work unchanged."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from farlink.cli import main

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]

# The test checks that a command works, not its intervals.
FEWER_RUNS = "2"


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)


def commands(program: str) -> list[str]:
    lines = "".join(blocks("sh")).splitlines()
    return [line for line in lines if line.split()[:1] == [program]]


def run(command: list[str], directory: Path) -> None:
    env = {**os.environ, "MPLBACKEND": "Agg", "NO_COLOR": "1"}
    done = subprocess.run(
        command, cwd=directory, env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{shlex.join(command)}\n{done.stdout}{done.stderr}"


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_make_target_that_is_named_exists(document: Path) -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    named = re.findall(r"(?:`|^)make ([a-z-]+)", document.read_text(encoding="utf-8"), re.MULTILINE)
    assert set(named) <= targets


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_link_to_a_file_leads_somewhere(document: Path) -> None:
    links = re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", document.read_text(encoding="utf-8"))
    local = [link for link in links if "://" not in link]
    assert [link for link in local if not (document.parent / link).exists()] == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_link_to_a_heading_leads_somewhere(document: Path) -> None:
    links = re.findall(r"\]\(([^)#\s]*)#([^)\s]+)\)", document.read_text(encoding="utf-8"))
    local = [(page, name) for page, name in links if "://" not in page]
    assert [
        link for link in local if link[1] not in anchors(document.parent / link[0], document)
    ] == []


def anchors(page: Path, document: Path) -> set[str]:
    """Return the anchors of a page, or of the document if a link names no page."""
    text = (document if page.is_dir() else page).read_text(encoding="utf-8")
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    plain = [re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading) for heading in headings]
    return {re.sub(r"[^\w\- ]", "", name.strip().lower()).replace(" ", "-") for name in plain}


def test_every_farlink_command_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """All commands except the first run in this process, which saves a second each.

    Slow commands run at most once: the figures of a run are drawn once. Of a study only the names
    of targets are checked; tests/python/test_study.py runs a study.
    """
    (scenario,) = blocks("toml")
    (tmp_path / "satellite.toml").write_text(scenario, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    monkeypatch.setenv("NO_COLOR", "1")
    first, *others = commands("farlink")
    assert len(others) >= 5
    farlink = shutil.which("farlink", path=Path(sys.executable).parent)
    assert farlink, "the package is not installed beside this Python"
    run([farlink, *shlex.split(first, comments=True)[1:]], tmp_path)
    drawn: set[str] = set()
    for line in others:
        _, command, *options = shlex.split(line, comments=True)
        if "--runs" in options:
            options[options.index("--runs") + 1] = FEWER_RUNS
        if command == "study":
            options = [option for option in options if option != "--quick"] + ["--list"]
        if "--plot" in options and command in drawn:
            options.remove("--plot")
        drawn |= {command} if "--plot" in options else set()
        with pytest.raises(SystemExit) as ended:
            main([command, *options])
        assert ended.value.code == 0, f"{line}\n{capsys.readouterr()}"


def test_the_python_example_runs(tmp_path: Path) -> None:
    (example,) = blocks("python")
    fewer = re.sub(r"runs=\d+", f"runs={FEWER_RUNS}", example)
    run([sys.executable, "-W", "error", "-c", fewer], tmp_path)
