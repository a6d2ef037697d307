"""Citations of farlink and of the sources that a result used, as BibTeX."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from farlink import _farlink, files, source
from farlink.errors import ScenarioError

__all__ = ["Reference", "bibtex", "of_scenario", "of_text", "references"]

TITLE = "farlink: a laboratory for transport over far, slow and lossy links"

_ENTRY = re.compile(r"((?:%[^\n]*\n)+)(@\w+\{(\w+),\n.*?\n\})\n", re.DOTALL)
_STUDIES = ("leung1998", "omueti2007", "vatne2006", "west1997", "wong1998")


@dataclass(frozen=True)
class Reference:
    """Entry of the bibliography.

    Attributes
    ----------
    key, text
        BibTeX key of a source, and the whole entry.
    cited_as
        Texts by which a TCP, preset or scenario states this source.
    used_by
        Parts of a scenario that follow this source: "channel gilbert", "agent snoop".
    """

    key: str
    text: str
    cited_as: Sequence[str]
    used_by: Sequence[str]


@cache
def references() -> Sequence[Reference]:
    """Return the entries of the bibliography of farlink's models."""
    text = (resources.files("farlink") / "data" / "references.bib").read_text(encoding="utf-8")
    return [
        Reference(key, entry, _listed(comment, "cited as", ";"), _listed(comment, "used by", ","))
        for comment, entry, key in _ENTRY.findall(text)
    ]


def bibtex(names: Sequence[str]) -> str:
    """Return BibTeX of farlink and of the sources of all `names`.

    Parameters
    ----------
    names
        Results (a folder or a file), scenarios, studies, TCPs and link presets.

    Raises
    ------
    ScenarioError
        If a name is unknown.
    """
    entries = {"farlink": _farlink_entry()}
    for name in names:
        entries |= _of_name(name)
    return "\n\n".join(entries.values()) + "\n"


def of_scenario(scenario: Mapping[str, Any]) -> dict[str, str]:
    """Return the entries for a resolved scenario by key: its source, TCPs, channels and agents."""
    entries: dict[str, str] = {}
    for name, text in _stated(scenario):
        entries |= of_text(text, name)
    for part in dict.fromkeys(_parts(scenario)):
        entries |= _of_part(part)
    variants = {entry["name"]: entry["source"] for entry in json.loads(_farlink.variants())}
    for tcp in filter(None, scenario.get("resolved_tcp", [])):  # A datagram flow has no TCP.
        entries |= of_text(variants[tcp["variant"]], tcp["variant"])
        entries |= _of_part(f"profile {tcp.get('profile', 'rfc')}")
        if tcp.get("resume_cwnd", "off") != "off":
            entries |= _of_part("tcp resume")
    return entries


def of_text(text: str, name: str) -> dict[str, str]:
    """Return the entries for a text that names a source; an unknown source becomes a note.

    `name` is the scenario, preset or TCP that states the source. Sources of farlink's own ("Ours,
    ...") have no entry.
    """
    known = {
        reference.key: reference.text
        for reference in references()
        if any(re.search(rf"\b{re.escape(words)}\b", text) for words in reference.cited_as)
    }
    own = re.match(r"(preset \S+: )?Ours\b", text) is not None
    if known or own:
        return known
    key = "source-" + files.as_name(name)
    return {
        key: f"@misc{{{key},\n  title = {{Source of {name}}},\n  note = {{{_braced(text)}}},\n}}"
    }


def _of_name(name: str) -> dict[str, str]:
    if name in _STUDIES:
        return _of_part(f"study {name}")
    path = Path(name)
    if path.is_dir():
        return _of_folder(path)
    profile, variant = source.split(name)
    sources = {entry["name"]: entry["source"] for entry in json.loads(_farlink.variants())}
    if variant in sources:
        return of_text(sources[variant], variant) | _of_part(f"profile {profile or 'rfc'}")
    presets = {entry["name"]: entry["source"] for entry in json.loads(_farlink.presets())}
    if name in presets and name not in dict(_farlink.scenarios()):
        return of_text(presets[name], name)
    return _of_scenarios(source.find(name))


def _of_folder(path: Path) -> dict[str, str]:
    """Return the entries for a folder that a command wrote with `--out`."""
    if files.is_file(path / "result.json"):
        return _of_scenarios(source.find(path / "result.json"))
    for name, read in (("sweep.json", _of_sweep), ("verdicts.json", _of_verdicts)):
        if files.is_file(path / name):
            return read(json.loads(files.read_text(path / name)))
    raise ScenarioError(
        f"{files.shown(str(path))}: no result; name a folder with result.json, sweep.json or "
        "verdicts.json, as --out of run, sweep and study writes them"
    )


def _of_sweep(document: Mapping[str, Any]) -> dict[str, str]:
    from farlink.experiment import document as sweepfile

    entries: dict[str, str] = {}
    for point, _ in sweepfile.points(document):
        entries |= of_scenario(point.scenario)
    return entries


def _of_verdicts(document: Mapping[str, Any]) -> dict[str, str]:
    return _of_part(f"study {document.get('study')}")


def _of_scenarios(where: source.Source) -> dict[str, str]:
    entries: dict[str, str] = {}
    for text in where.saved.values() or where.resolve(None, []).values():
        entries |= of_scenario(json.loads(text))
    return entries


def _of_part(part: str) -> dict[str, str]:
    return {item.key: item.text for item in references() if part in item.used_by}


def _stated(scenario: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the sources that a scenario and its links state, with the name of the stating part."""
    for entry in (scenario, *scenario.get("links", [])):
        if text := entry.get("source"):
            yield str(entry.get("name") or "scenario"), text


def _parts(scenario: Mapping[str, Any]) -> Iterator[str]:
    """Yield the parts of a scenario that follow a source, in the words of `used_by`."""
    for link in scenario.get("links", []):
        for direction in (link.get("down", {}), link.get("up", {})):
            stages = direction.get("channel", {})
            for stage in stages if isinstance(stages, list) else [stages]:
                yield from (f"channel {kind}" for kind in stage)
            if "rate_trace" in direction:
                yield "rate_trace"
        if "header_compression" in link:
            yield "header_compression"
        yield f"arq {link.get('arq', {}).get('protocol')}"
    for entry in scenario.get("agents", []):
        yield f"agent {entry['kind']}"
        yield from (key for key in ("satellite_xtp", "satellite_stp") if key in entry)
    for entry in scenario.get("flows", []):
        yield f"app {entry.get('app')}"
        if multipath := entry.get("multipath"):
            yield "multipath"
            yield f"scheduler {multipath.get('scheduler')}"
            yield f"coupling {multipath.get('coupling')}"
            if multipath.get("opportunistic"):
                yield "opportunistic"


def _farlink_entry() -> str:
    return (
        f"@software{{farlink,\n  author = {{{{The farlink authors}}}},\n  title = {{{TITLE}}},\n"
        f"  version = {{{_farlink.version()}}},\n  url = {{https://github.com/farlink/farlink}},\n}}"
    )


def _listed(comment: str, head: str, mark: str) -> list[str]:
    lines = re.findall(rf"^% {head}: (.*)$", comment, re.MULTILINE)
    return [item.strip() for line in lines for item in line.split(mark)]


def _braced(text: str) -> str:
    """Return a text with the characters escaped that BibTeX and LaTeX read as markup."""
    plain = " ".join(text.split()).replace("\\", "/")
    return re.sub(r"([&%$#_{}])", r"\\\1", plain)
