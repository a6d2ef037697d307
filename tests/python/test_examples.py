"""The notebooks of examples/ run, and are stored with their outputs."""

import importlib.util
import json
import re
from pathlib import Path

import pytest
from matplotlib.figure import Figure

from farlink.plot import Picture

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
            # Only the kinds of output must agree; numbers may differ until the next execution.
            assert before["execution_count"] == now["execution_count"]
            kinds = [sorted(output.get("data", {})) for output in before["outputs"]]
            assert kinds == [sorted(output.get("data", {})) for output in now["outputs"]]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_title_of_a_notebook_is_a_heading(path: Path) -> None:
    first = json.loads(path.read_text(encoding="utf-8"))["cells"][0]
    assert first["cell_type"] == "markdown"
    assert re.match(r"# \S", first["source"][0])


def test_a_notebook_shows_what_jupyter_would() -> None:
    """IPython shows objects by their methods; a matplotlib figure has none without setup."""
    picture = Picture(figsize=(1, 1))
    assert "image/png" in notebooks._shown(picture)
    assert set(notebooks._shown(Figure(figsize=(1, 1)))) == {"text/plain"}
    kept = json.loads((ROOT / "examples" / "paper-figure.ipynb").read_text(encoding="utf-8"))
    shown = [output for cell in kept["cells"] for output in cell.get("outputs", [])]
    assert any("image/png" in output["data"] for output in shown)
