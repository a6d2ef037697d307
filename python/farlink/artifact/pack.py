"""Packing of results together with everything needed to reproduce their numbers."""

import hashlib
import importlib.metadata
import json
import platform
import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from farlink import _farlink, citation, classes, congestion, files, folder, source
from farlink.artifact import archive
from farlink.errors import ScenarioError

__all__ = ["KINDS", "pack"]

KINDS = {"run": "result.json", "sweep": "sweep.json", "study": "verdicts.json"}
"""Kinds of results, each with the file from which its numbers can be reproduced."""


@dataclass(frozen=True)
class _Entry:
    """Result that is about to be packed."""

    kind: str
    name: str
    command: str
    content: dict[str, bytes]


def pack(results: Sequence[str | Path], out: str | Path) -> Path:
    """Write an archive of results: numbers, figures, versions, sources and a README.

    Parameters
    ----------
    results
        Folders that `--out` of run, sweep and study wrote, or result files (.json).
    out
        The archive, a .zip file; equal results give equal bytes.

    Raises
    ------
    ScenarioError
        If an entry of `results` is not a result, or was changed after farlink wrote it.
    OutputError
        If the archive cannot be written.
    """
    if not results:
        raise ScenarioError(
            "nothing to pack; name a folder that --out of run, sweep or study wrote"
        )
    path = Path(out)
    files.check_file(path)
    content: dict[str, bytes] = {}
    listed: list[dict[str, str]] = []
    for result in results:
        entry = _entry(Path(result))
        place = _free(f"results/{entry.name}", {item["folder"] for item in listed})
        content |= {f"{place}/{name}": data for name, data in entry.content.items()}
        content |= {f"{place}/{name}": data for name, data in _sources(entry).items()}
        listed.append({"folder": place, "kind": entry.kind, "command": entry.command})
    content["references.bib"] = citation.bibtex([str(result) for result in results]).encode()
    content["requirements.txt"] = _requirements().encode()
    content["README.md"] = _readme(path.name, listed).encode()
    head = {
        "farlink": _farlink.version(),
        "engine": _farlink.engine(),
        "python": platform.python_version(),
        "platform": platform.platform(),
        "results": listed,
    }
    archive.write(path, head, content)
    return path


def _entry(path: Path) -> _Entry:
    if files.is_file(path):
        source.find(path)  # raises an error if the file is no result
        data = path.read_bytes()
        return _Entry("run", files.as_name(path.stem), _command("run", data), {"result.json": data})
    kind = next((kind for kind, name in KINDS.items() if files.is_file(path / name)), None)
    if kind is None:
        raise ScenarioError(
            f"{files.shown(path)}: no result; name a folder that --out of run, sweep or study wrote"
        )
    content = {}
    for name, digests in folder.listed(path).items():
        data = (path / name).read_bytes() if files.is_file(path / name) else b""
        if hashlib.sha256(data).hexdigest() not in digests:
            raise ScenarioError(
                f"{files.shown(path / name)}: changed since farlink wrote it; make the result again"
            )
        content[name] = data
    if KINDS[kind] not in content:
        raise ScenarioError(f"{files.shown(path)}: {KINDS[kind]} is not of farlink's own making")
    name = files.as_name(path.resolve().name)
    return _Entry(kind, name, _command(kind, content[KINDS[kind]]), content)


def _sources(entry: _Entry) -> dict[str, bytes]:
    """Return the files of classes in Python that the numbers were made with."""
    sources: dict[str, str] = {}
    for name, data in entry.content.items():
        if name.endswith(".json") and b'"python"' in data:
            document = json.loads(data)
            for scenario in (document.get("scenarios") or {}).values():
                text = json.dumps(scenario)
                sources |= congestion.sources_in(text)
                sources |= {entry["file"]: entry["python"] for _, entry in classes.texts_in(text)}
    return {name: text.encode() for name, text in sources.items()}


def _command(kind: str, data: bytes) -> str:
    """Return the command that made a result; for a run, a command that repeats it in its folder."""
    document = json.loads(data)
    if kind == "study":
        return str(document["command"])
    if kind == "run":
        return "farlink run result.json" + _classes(document)
    return f"farlink sweep {document['name']}.toml"


def _classes(document: dict[str, Any]) -> str:
    """Return --tcp and --set with the files of classes in Python; nothing without any."""
    words = []
    for tcp, scenario in document["scenarios"].items():
        words.append(congestion.written(tcp, json.dumps(scenario)))
    named = f" --tcp {shlex.quote(','.join(words))}" if words != list(document["scenarios"]) else ""
    first = json.dumps(next(iter(document["scenarios"].values())))
    for path, entry in classes.texts_in(first):
        arguments = ", ".join(f"{key}={value}" for key, value in entry["arguments"].items())
        written = f"{path}={entry['file']}:{entry['class']}({arguments})"
        named += f" --set {shlex.quote(written)}"
    return named


def _free(name: str, taken: set[str]) -> str:
    number, free = 1, name
    while free in taken:
        number += 1
        free = f"{name}-{number}"
    return free


def _requirements() -> str:
    """Return the installed versions of farlink and its dependencies as pip requirements."""
    versions: dict[str, str] = {}
    todo = ["farlink"]
    while todo:
        name = todo.pop()
        key = re.sub(r"[-_.]+", "-", name).lower()
        try:
            installed = importlib.metadata.distribution(name)
        except importlib.metadata.PackageNotFoundError:
            continue
        if key not in versions:
            versions[key] = installed.version
            todo += _needs(installed.requires or [])
    return "".join(f"{name}=={version}\n" for name, version in sorted(versions.items()))


def _needs(requires: Sequence[str]) -> Iterator[str]:
    """Yield the names of required packages, without the packages of extras."""
    for line in requires:
        match = re.match(r"[\w.-]+", line)
        if match and "extra ==" not in line:
            yield match[0]


def _readme(name: str, results: Sequence[dict[str, str]]) -> str:
    rows = "".join(
        f"| `{entry['folder']}` | {entry['kind']} | `{entry['command']}` |\n" for entry in results
    )
    return f"""# An experiment of farlink, packed

All numbers of this archive can be made again, to the bit, on any machine:

```sh
pip install farlink=={_farlink.version()}
farlink verify {shlex.quote(name)}
```

| folder | kind | command |
|---|---|---|
{rows}
- `farlink run result.json --plot --out again` in the folder of a run simulates it again.
- `sweep.json` has each point of a sweep as a whole scenario, `results.csv` its numbers.
- `verdicts.json` has the verdicts of a study, with the command that made them.
- `requirements.txt` has the versions of the packages that were used, beside
  Python {platform.python_version()}.
- `references.bib` has the sources of the models, and farlink itself.
- `{archive.LIST}` has the SHA-256 of each file.
"""
