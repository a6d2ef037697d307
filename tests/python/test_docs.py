"""The documentation of results is what the program says."""

import json
import os
import re
from pathlib import Path

from farlink import _farlink
from farlink.trace import NAMES

PAGE = Path(__file__).resolve().parents[2] / "docs" / "results.md"
BEGIN = "<!-- begin: made from `farlink metrics` by tests/python/test_docs.py -->\n"
END = "<!-- end -->\n"


def tables() -> str:
    known = json.loads(_farlink.metrics())
    lines = []
    headings = {"flow": "Of a flow", "link": "Of a direction of a link", "run": "Of a run"}
    for scope, heading in headings.items():
        lines += [f"### {heading}", "", "| metric | unit | definition |", "| --- | --- | --- |"]
        for one in known:
            if one["scope"] == scope:
                lines.append(f"| `{one['name']}` | {one['unit']} | {one['definition']} |")
        lines.append("")
    return "\n" + "\n".join(lines)


def test_every_metric_is_in_the_documentation() -> None:
    page = PAGE.read_text(encoding="utf-8")
    before, rest = page.split(BEGIN)
    _, after = rest.split(END)
    wanted = before + BEGIN + tables() + "\n" + END + after
    if page != wanted and os.environ.get("UPDATE_DOCS"):
        PAGE.write_text(wanted, encoding="utf-8")
        return
    assert page == wanted, "run UPDATE_DOCS=1 pytest tests/python/test_docs.py"


def test_every_trace_is_in_the_documentation() -> None:
    rows = re.findall(r"^\| `(\w+)` \| .* \| .* \|$", PAGE.read_text(encoding="utf-8"), re.M)
    assert set(NAMES) <= set(rows)
