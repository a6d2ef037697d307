"""Shell completions: scenarios of the library and TCPs."""

import json
import tomllib
from pathlib import Path

from farlink import _farlink, source

__all__ = ["scenarios", "tcps"]


def scenarios(incomplete: str) -> list[tuple[str, str]]:
    """Return the library's scenarios with their descriptions, and files of the directory."""
    known = [
        (name, str(tomllib.loads(toml).get("description", "")))
        for name, toml in _farlink.scenarios()
    ]
    where = Path(incomplete).parent if "/" in incomplete else Path()
    try:
        beside = sorted(where.iterdir())
    except OSError:
        beside = []
    for path in beside:
        if path.is_dir():
            known.append((f"{path}/", ""))
        elif path.suffix in (".toml", ".json"):
            known.append((str(path), ""))
    return [entry for entry in known if entry[0].startswith(incomplete)]


def tcps(incomplete: str) -> list[str]:
    """Return TCP names that complete the last entry of a comma-separated list ("reno,sa")."""
    before, comma, begun = incomplete.rpartition(",")
    taken = before.split(",")
    names = [str(row["name"]) for row in json.loads(_farlink.variants())]
    if begun:  # Without any letters the list would contain every profile.
        for profile, known in source.profiles().items():
            names += [f"{profile}-{name}" for name in known["tcp"] if profile != "rfc"]
    return [
        f"{before}{comma}{name}" for name in names if name.startswith(begun) and name not in taken
    ]
