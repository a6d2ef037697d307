"""The notebooks of examples/ run, and are kept with what they show."""

import importlib.util
import json
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "examples").glob("*.ipynb"))

_spec = importlib.util.spec_from_file_location("notebooks", ROOT / "tools" / "notebooks.py")
assert _spec is not None
assert _spec.loader is not None
notebooks = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(notebooks)

_LARGEST = 200_000


def test_there_are_five() -> None:
    names = [path.stem for path in NOTEBOOKS]
    assert names == ["capture", "first-run", "grid", "paper-figure", "study"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_is_kept_executed(path: Path) -> None:
    kept = json.loads(path.read_text(encoding="utf-8"))
    assert path.stat().st_size < _LARGEST
    again = notebooks.execute(path)
    for before, now in zip(kept["cells"], again["cells"], strict=True):
        assert before["source"] == now["source"]
        if before["cell_type"] == "code":
            # The same kinds of output: numbers may differ until the notebooks are executed anew.
            assert before["execution_count"] == now["execution_count"]
            kinds = [sorted(output.get("data", {})) for output in before["outputs"]]
            assert kinds == [sorted(output.get("data", {})) for output in now["outputs"]]
