"""What the README shows works as it stands there."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]

# A test shows that a command works, not what its intervals are.
FEWER_RUNS = 2


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


def test_every_farlink_command_runs(tmp_path: Path) -> None:
    farlink = shutil.which("farlink", path=Path(sys.executable).parent)
    assert farlink, "the package is not installed beside this Python"
    (scenario,) = blocks("toml")
    (tmp_path / "satellite.toml").write_text(scenario, encoding="utf-8")
    shown = commands("farlink")
    assert len(shown) >= 5
    for line in shown:
        fewer = re.sub(r"--runs \d+", f"--runs {FEWER_RUNS}", line)
        if line.startswith("farlink study"):
            fewer = line.replace("--quick", f"--quick --runs {FEWER_RUNS}")
        run([farlink, *shlex.split(fewer, comments=True)[1:]], tmp_path)


def test_the_python_example_runs(tmp_path: Path) -> None:
    (example,) = blocks("python")
    fewer = re.sub(r"runs=\d+", f"runs={FEWER_RUNS}", example)
    run([sys.executable, "-W", "error", "-c", fewer], tmp_path)
