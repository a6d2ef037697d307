"""The documentation of results agrees with the engine's registry."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from farlink import registry

PAGE = Path(__file__).resolve().parents[2] / "docs" / "results.md"
BEGIN = "<!-- begin: {} made from the registry by tests/python/test_docs.py -->\n"
END = "<!-- end -->\n"
COMMON = {
    ("time", "flow", "side"),
    ("time", "flow"),
    ("time", "link", "direction"),
    ("time", "agent"),
}


def measures() -> str:
    lines = []
    headings = {
        "flow": "Of a flow",
        "link": "Of a direction of a link",
        "run": "Of a run",
        "agent": "Of an agent",
    }
    for scope, heading in headings.items():
        lines += [f"### {heading}", "", "| metric | unit | kind | of several flows | definition |"]
        lines.append("| --- | --- | --- | --- | --- |")
        for measure in registry.measures(scope).values():
            combine = measure.combine if scope == "flow" else ""
            lines.append(
                f"| `{measure.name}` | {measure.unit} | {measure.kind} | {combine} "
                f"| {measure.definition} |"
            )
        lines.append("")
    return "\n" + "\n".join(lines) + "\n"


def traces() -> str:
    beside = "time, flow and side, or time, link and direction, or time and agent"
    lines = [f"| trace | columns beside {beside} | a row when |", "| --- | --- | --- |"]
    for trace in registry.traces().values():
        names = tuple(column["name"] for column in trace.columns)
        common = next(some for some in sorted(COMMON, key=len)[::-1] if names[: len(some)] == some)
        text = "; ".join(column_of(column) for column in trace.columns[len(common) :])
        lines.append(f"| `{trace.name}` | {text} | {trace.when} |")
    return "\n" + "\n".join(lines) + "\n\n"


def column_of(column: Mapping[str, Any]) -> str:
    unit = f" ({column['unit']})" if column["unit"] not in ("", column["name"]) else ""
    # Columns of quantities have their own table.
    names = ", ".join(column["names"]) if column["name"] != "quantity" else ""
    text = "; ".join(filter(None, [names, column["definition"]]))
    return f"`{column['name']}`{unit}" + (f": {text}" if text else "")


def quantities() -> str:
    lines = ["| congestion control | quantity | unit | definition |", "| --- | --- | --- | --- |"]
    for quantity in registry.quantities():
        cells = (
            f"`{quantity['algorithm']}`",
            f"`{quantity['name']}`",
            quantity["unit"],
            quantity["definition"],
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n" + "\n".join(lines) + "\n\n"


@pytest.mark.parametrize("made", [measures, traces, quantities])
def test_the_tables_are_those_of_the_registry(made: Callable[[], str]) -> None:
    page = PAGE.read_text(encoding="utf-8")
    begin = BEGIN.format(made.__name__)
    before, rest = page.split(begin)
    _, after = rest.split(END, 1)
    wanted = before + begin + made() + END + after
    if page != wanted and os.environ.get("UPDATE_DOCS"):
        PAGE.write_text(wanted, encoding="utf-8")
        return
    assert page == wanted, "run UPDATE_DOCS=1 pytest tests/python/test_docs.py"
