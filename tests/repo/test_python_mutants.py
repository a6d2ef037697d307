"""Wrong changes of `tools/python_mutants.py` still apply to the code."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

from python_mutants import MUTANTS, PACKAGE  # noqa: E402 (a tool is no package)


def test_each_mutant_names_a_text_that_stands_once() -> None:
    stale = [
        (mutant.file, mutant.old)
        for mutant in MUTANTS
        if (PACKAGE / mutant.file).read_text().count(mutant.old) != 1
    ]
    assert not stale, "a change that applies nowhere tests nothing: write today's text"
