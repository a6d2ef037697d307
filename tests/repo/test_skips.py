"""On a CI machine a skip that the list does not allow is a failure."""

import itertools
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]

LIST = """
[[skip]]
tests = "tests/test_some.py::test_listed*"
reason = "no moon*"
where = "always"
[[skip]]
tests = "tests/*"
reason = "no root"
where = "root"
[[skip]]
tests = "tests/*"
reason = "no rocket"
where = "tool: rocket"
[[skip]]
tests = "tests/*"
reason = "no module"
where = "module: json"
"""

SOME = """
import pytest
def test_passes(): pass
def test_listed(): pytest.skip("no moon today")
def test_listed_for_another_reason(): pytest.skip("too busy")
def test_another_with_the_reason(): pytest.skip("no moon today")
@pytest.mark.skipif(True, reason="no rocket")
def test_needs_a_tool(): pass
def test_needs_a_module(): pytest.skip("no module")
@pytest.mark.xfail(reason="known")
def test_known(): raise AssertionError
"""
WHOLE = 'import pytest\npytest.skip("no file", allow_module_level=True)\n'


def outcomes(folder: Path, **environment: str) -> dict[str, int]:
    """Return how many tests and files had each outcome."""
    variables = {key: value for key, value in os.environ.items() if key != "CI"}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests"],
        cwd=folder,
        env={**variables, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    words = done.stdout.strip().splitlines()[-1].replace(",", "").split()
    return {word.rstrip("s"): int(n) for n, word in itertools.pairwise(words) if n.isdigit()}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    tests = tmp_path / "tests"
    tests.mkdir()
    shutil.copy(TESTS / "conftest.py", tests)
    (tests / "allowed-skips.toml").write_text(LIST)
    (tests / "test_some.py").write_text(SOME)
    return tmp_path


def test_a_skip_needs_a_row_on_a_ci_machine(folder: Path) -> None:
    assert outcomes(folder) == {"passed": 1, "skipped": 5, "xfailed": 1}
    counts = outcomes(folder, CI="true")
    # A test skipped by a mark fails during setup, which pytest reports as an error.
    assert counts == {"failed": 3, "error": 1, "passed": 1, "skipped": 1, "xfailed": 1}
    # Tools that the installer reported as unavailable may be missing.
    counts = outcomes(folder, CI="true", FARLINK_NO_TOOLS="tshark rocket")
    assert counts == {"failed": 3, "passed": 1, "skipped": 2, "xfailed": 1}


def test_a_file_that_skips_itself_needs_a_row_too(folder: Path) -> None:
    (folder / "tests" / "test_whole.py").write_text(WHOLE)
    (folder / "tests" / "test_some.py").write_text("def test_passes(): pass\n")
    assert "error" not in outcomes(folder)
    assert outcomes(folder, CI="true")["error"] == 1


def test_every_row_of_the_list_is_of_tests_that_are_there() -> None:
    rows = tomllib.loads((TESTS / "allowed-skips.toml").read_text())["skip"]
    for row in rows:
        assert set(row) == {"tests", "reason", "where"}
        name = row["where"].partition(":")[0]
        assert name in {"always", "root", "no emulation", "module", "tool"}, row
        files = row["tests"].partition("::")[0]
        assert list(TESTS.parent.glob(files)), row
        literal = max(row["reason"].split("*"), key=len)
        sources = "".join(path.read_text() for path in TESTS.glob("*/*.py"))
        assert literal in sources, row
