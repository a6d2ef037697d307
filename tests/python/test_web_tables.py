"""The web page's table of keys is that of the engine's schema."""

import json
import os
import runpy
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
TOOL = ROOT / "tools/web_tables.py"

if not TOOL.exists():
    pytest.skip("the tool is in the repository alone", allow_module_level=True)

made = runpy.run_path(str(TOOL))
FILE: Path = made["FILE"]


def keys() -> dict[str, dict[str, Any]]:
    return {row["path"]: row for row in json.loads(made["tables"]())["keys"]}


def test_the_table_of_keys_is_that_of_the_schema() -> None:
    wanted = made["tables"]()
    if os.environ.get("UPDATE_DOCS"):
        FILE.write_text(wanted, encoding="utf-8")
    assert FILE.read_text(encoding="utf-8") == wanted, "run python tools/web_tables.py"


def test_a_key_has_its_path_unit_default_and_choices() -> None:
    table = keys()
    assert table["links.N.down.delay"]["unit"] == "time"
    assert "snoop" in table["agents.N.kind"]["choices"]
    assert table["links.N.down.queue"]["default"] == "unlimited"
    assert table["tcp.sack"]["choices"] == ["true", "false"]
    assert {"seed", "flows.N.size", "links.N.up.channel.gilbert.burst"} <= set(table)


def test_keys_of_a_tcp_are_listed_once() -> None:
    assert [path for path in keys() if path.endswith(".receive_window")] == ["tcp.receive_window"]
