"""Table of keys of the web page, made from the JSON Schema of a scenario.

`python tools/web_tables.py` writes `web/src/generated/tables.json`.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import farlink

__all__ = ["FILE", "tables"]

FILE = Path(__file__).resolve().parents[1] / "web/src/generated/tables.json"

Schema = dict[str, Any]

TCP = "TcpSpec"
"""Definition of the keys of a TCP, which are listed below `tcp` alone. It occurs at six places."""


def tables() -> str:
    """Return the text of the table: a key a line, with path, description, unit and choices."""
    schema: Schema = farlink.schema()
    rows = [row for row in _rows(schema, schema, "") if not row["path"].startswith("resolved")]
    lines = ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    return f'{{"keys": [\n{lines}\n]}}\n'


def _rows(schema: Schema, node: Schema, path: str) -> Iterator[dict[str, Any]]:
    """Yield the keys of a table and of the tables in it."""
    for name, entry in node.get("properties", {}).items():
        place = f"{path}.{name}" if path else name
        options = list(_options(schema, entry))
        table = next((item for _, item in options if "properties" in item), None)
        items = next((item["items"] for _, item in options if "items" in item), None)
        if table is None and items is None:
            yield _key(place, entry, options)
            continue
        names = [title for title, item in options if item is table]
        if items is not None and table is None:
            of = next((o for o in _options(schema, items) if "properties" in o[1]), None)
            if of is None:
                yield _key(place, entry, options)
                continue
            place, names, table = f"{place}.N", [of[0]], of[1]
        elsewhere = TCP in names and place != "tcp"
        # A size or a distribution of sizes, a queue without limit or a table.
        plain = any(not {"properties", "items"} & item.keys() for _, item in options)
        if elsewhere or plain:
            yield _key(place, entry, options)
        if not elsewhere:
            yield from _rows(schema, table or {}, place)


def _options(schema: Schema, entry: Schema) -> Iterator[tuple[str, Schema]]:
    """Yield the alternatives of an entry with the names of their definitions."""
    if "$ref" in entry:
        title = entry["$ref"].removeprefix("#/$defs/")
        for name, option in _options(schema, schema["$defs"][title]):
            yield name or title, option
    elif "anyOf" in entry:
        for option in entry["anyOf"]:
            if option.get("type") != "null":
                yield from _options(schema, option)
    else:
        yield "", entry


def _key(path: str, entry: Schema, options: list[tuple[str, Schema]]) -> dict[str, Any]:
    text = " ".join(entry.get("description", "").split())
    row: dict[str, Any] = {"path": path, "description": text}
    choices = [value for _, option in options for value in _choices(option)]
    unit = next((option["title"] for _, option in options if "title" in option), None)
    if unit:
        row["unit"] = unit
    if entry.get("default") is not None:
        row["default"] = entry["default"]
    if choices:
        row["choices"] = choices
    return row


def _choices(option: Schema) -> list[str]:
    if "const" in option:
        return [str(option["const"])]
    if "enum" in option:
        return [str(value) for value in option["enum"]]
    if option.get("type") == "boolean":
        return ["true", "false"]
    return [str(part["const"]) for part in option.get("oneOf", []) if "const" in part]


if __name__ == "__main__":
    FILE.parent.mkdir(parents=True, exist_ok=True)
    FILE.write_text(tables(), encoding="utf-8")
