"""Scenarios as part of the page's address: `#s=` and compressed JSON (web/src/share)."""

import base64
import json
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from farlink import source
from farlink.errors import ScenarioError

_VERSION = 1

MOST_TCPS = 7
"""Number of TCPs that a page shows at once."""

MOST_CHARACTERS, MOST_BYTES = 64_000, 400_000
"""Largest fragment, and largest JSON in it, that a page reads (web/src/share/codec.ts)."""

__all__ = ["experiment", "fragment", "toml"]


def experiment(
    scenario: str | Path | Mapping[str, object],
    tcp: Sequence[str] | None = None,
    overrides: Sequence[tuple[str, str]] = (),
) -> dict[str, Any]:
    """Return the state of a page that shows a scenario: `toml`, `tcps`, and `set` if not empty.

    Raises
    ------
    ScenarioError
        If the scenario, a TCP or an override is wrong.
    """
    given = source.find(scenario)
    resolved = given.resolve(tcp, list(overrides))
    if len(resolved) > MOST_TCPS:
        raise ScenarioError(f"{len(resolved)} TCPs; a page shows {MOST_TCPS} at most")
    text = toml(json.loads(given.text)) if given.text.lstrip().startswith("{") else given.text
    state: dict[str, Any] = {"toml": text, "tcps": list(resolved)}
    if overrides:
        state["set"] = [list(change) for change in overrides]
    return state


def fragment(state: Mapping[str, Any]) -> str:
    """Return the fragment of an address for a state, with its leading `#`.

    Raises
    ------
    ScenarioError
        If the fragment is larger than the page accepts: 400,000 bytes, 64,000 characters.
    """
    text = json.dumps({"v": _VERSION, **state}, separators=(",", ":"), ensure_ascii=False)
    if len(text.encode()) > MOST_BYTES:
        raise ScenarioError(
            f"the scenario has {len(text.encode()):,} bytes, and the page reads {MOST_BYTES:,};"
            " shorten it"
        )
    press = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    data = press.compress(text.encode()) + press.flush()
    code = base64.urlsafe_b64encode(data).decode().rstrip("=")
    if len(code) > MOST_CHARACTERS:
        raise ScenarioError(
            f"the scenario has {len(code):,} characters compressed, and the page reads"
            f" {MOST_CHARACTERS:,}; shorten it"
        )
    return f"#s={code}"


def toml(tree: Mapping[str, Any]) -> str:
    """Return a scenario that is a mapping as the text of a TOML file; None values are left out."""
    plain, tables = [], []
    for key, value in tree.items():
        if isinstance(value, Mapping) and value:
            tables.append(f"\n[{_key(key)}]\n{_lines(value)}")
        elif isinstance(value, list) and value and all(isinstance(row, Mapping) for row in value):
            tables += [f"\n[[{_key(key)}]]\n{_lines(row)}" for row in value]
        elif value is not None:
            plain.append(f"{_key(key)} = {source.toml_text(value)}\n")
    return "".join([*plain, *tables]).lstrip("\n")


def _lines(table: Mapping[str, Any]) -> str:
    rows = ((key, value) for key, value in table.items() if value is not None)
    return "".join(f"{_key(key)} = {source.toml_text(value)}\n" for key, value in rows)


def _key(name: object) -> str:
    text = str(name)
    bare = text.replace("_", "").replace("-", "")
    return text if bare.isascii() and bare.isalnum() else json.dumps(text)
