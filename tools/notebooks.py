"""Execute the notebooks of examples/: `python tools/notebooks.py` updates their outputs.

No kernel is needed. Cells are Python code, run one after the other in one namespace. A cell's last
expression is shown by its `_repr_png_`, `_repr_html_` or `repr`, as in a notebook. A matplotlib
figure has only `repr`, so it is no picture in either.
"""

import ast
import base64
import contextlib
import io
import json
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"

_DPI = 70
"""Resolution of the stored pictures: enough to read, and small in the repository."""


def execute(path: Path) -> dict[str, Any]:
    """Run all cells in an empty folder, and return the notebook with their outputs."""
    notebook: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    space: dict[str, Any] = {"__name__": "__main__"}
    count = 0
    with tempfile.TemporaryDirectory(prefix="farlink-") as where, _inside(where):
        for cell in notebook["cells"]:
            if cell["cell_type"] != "code":
                continue
            count += 1
            source = "".join(cell["source"])
            cell["execution_count"] = count
            cell["outputs"] = _outputs(source, space, count, f"{path.name}[{count}]")
    return notebook


@contextlib.contextmanager
def _inside(where: str) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(where)
    try:
        yield
    finally:
        os.chdir(before)


def _outputs(source: str, space: dict[str, Any], count: int, name: str) -> list[dict[str, Any]]:
    tree = ast.parse(source, name)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    output = io.StringIO()
    value = None
    with contextlib.redirect_stdout(output):
        exec(compile(tree, name, "exec"), space)  # noqa: S102 (our own notebooks)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), name, "eval"), space)  # noqa: S307
    outputs: list[dict[str, Any]] = []
    if output.getvalue():
        outputs.append(
            {"output_type": "stream", "name": "stdout", "text": _lines(output.getvalue())}
        )
    if value is not None:
        outputs.append(
            {
                "output_type": "execute_result",
                "execution_count": count,
                "metadata": {},
                "data": _shown(value),
            }
        )
    return outputs


def _shown(value: Any) -> dict[str, Any]:  # noqa: ANN401 (whatever a cell gives)
    if hasattr(value, "_repr_png_"):
        file = io.BytesIO()
        value.savefig(file, format="png", dpi=_DPI, metadata={"Software": None})
        return {
            "image/png": base64.b64encode(file.getvalue()).decode(),
            "text/plain": ["<a figure>"],
        }
    table: dict[str, Any] = {"text/plain": _lines(repr(value))}
    html = value._repr_html_() if hasattr(value, "_repr_html_") else None
    if html is not None:
        table["text/html"] = _lines(html)
    return table


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def main(names: list[str]) -> None:
    """Execute the notebooks with these names, or all."""
    for path in sorted(EXAMPLES.glob("*.ipynb")):
        if names and path.stem not in names:
            continue
        text = json.dumps(execute(path), indent=1, ensure_ascii=False) + "\n"
        path.write_text(text, encoding="utf-8")
        sys.stdout.write(f"{path.name}: {len(text) / 1000:.0f} kB\n")


if __name__ == "__main__":
    main(sys.argv[1:])
