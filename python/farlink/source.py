"""Sources of a scenario: the library, a file, a mapping or a saved result."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from farlink import _farlink, files, resultfile
from farlink.checks import text_of, whole
from farlink.errors import ScenarioError

if TYPE_CHECKING:
    from farlink.congestion import Named

__all__ = [
    "Source",
    "changes",
    "ends",
    "find",
    "override_text",
    "profiles",
    "resolve_many",
    "split",
    "table_of",
    "toml_text",
]

_FLOW_TCP = re.compile(r"flows\.[\w-]+\.tcp")
"""Paths whose value may be the name of a TCP."""


@dataclass(frozen=True)
class Source:
    """Text of a scenario, and its name if the text has none.

    A saved result has one resolved scenario per TCP, and the number of runs. `directory` is the
    folder of the files that the scenario names.
    """

    name: str
    text: str
    origin: str
    saved: Mapping[str, str] = field(default_factory=dict)
    runs: int | None = None
    directory: Path = field(default_factory=Path)
    reads: list[str] = field(default_factory=list, compare=False)
    """Names of the files that were read for the scenario."""

    def resolve(
        self, tcp: Sequence[str | type] | None, overrides: Sequence[tuple[str, str]]
    ) -> dict[str, str]:
        """Resolve the scenario once per TCP.

        Without `tcp` the TCPs are those of the saved result, or the scenario's own.

        Raises
        ------
        ScenarioError
            If the scenario, an override or a TCP is wrong.
        """
        changes = _expanded(overrides)
        if tcp is None and not self.saved:
            text = self._resolve_text(self.text, changes)
            return {_named(json.loads(text)): text}
        names = list(self.saved) if tcp is None else list(tcp)
        if not names:
            raise ScenarioError("tcp is empty; name at least one (`farlink list tcp` lists them)")
        classes = _classes(names)
        for name, named in classes.items():
            if name not in self.saved:
                _check_tcp(named.base if named else name)
        return {name: self._resolve_one(name, changes, named) for name, named in classes.items()}

    def _resolve_one(
        self, tcp: str, changes: list[tuple[str, str]], named: "Named | None" = None
    ) -> str:
        text = self.saved.get(tcp, self.text)
        if tcp in self.saved and '"python"' in text:
            from farlink import classes, congestion

            congestion.check_saved(text)
            classes.check_saved(text)
        if tcp not in self.saved:
            profile, variant = split(named.base if named else tcp)
            asked = [("tcp.variant", variant)]
            if profile is None and any(split(name)[0] for name in self.saved):
                # A saved result has the profile in the TCP's name, so a name without a prefix means
                # "rfc".
                profile = "rfc"
            if profile is not None:
                asked.insert(0, ("tcp.profile", profile))
            changes = [*asked, *(named.changes() if named else []), *changes]
        if self.saved and changes:
            # The full TCP settings of a resolved scenario apply to its own TCPs only. Other TCPs
            # use the rest of the scenario.
            tree = json.loads(text)
            tree.pop("resolved_tcp", None)
            text = json.dumps(tree)
            if tcp in self.saved and "variant" in tree["tcp"]:
                # The original run also applied this TCP to the scenario, so keys of the scenario
                # may have become unused.
                changes = [("tcp.variant", tree["tcp"]["variant"]), *changes]
        return self._resolve_text(text, changes)

    def _resolve_text(self, text: str, changes: list[tuple[str, str]]) -> str:
        resolved = _farlink.resolve(text, self.origin, changes, self.read_named)
        if resolved.startswith('{"name":"'):
            return resolved
        tree = json.loads(resolved)
        if tree.get("name") is not None:
            return resolved
        return json.dumps({**tree, "name": files.as_name(self.name)})

    def read_named(self, name: str) -> str:
        """Read a file that the scenario names, from the scenario's folder.

        The message of an error has only the reason, without the file's name.
        """
        self.reads.append(name)
        try:
            return (self.directory / name).read_text(encoding="utf-8-sig")
        except OSError as error:
            raise ScenarioError((error.strerror or str(error)).lower()) from error
        except UnicodeDecodeError as error:
            raise ScenarioError(f"byte {error.start} is not UTF-8 text") from error


def find(scenario: str | Path | Mapping[str, object]) -> Source:
    """Find a scenario by name or path, or accept it as a mapping.

    A string is a name of the library, unless it ends in .toml or .json, has a directory in it, or
    is the name of a file.

    Raises
    ------
    ScenarioError
        If there is no such name or file, or the file cannot be read.
    """
    if isinstance(scenario, Mapping):
        try:
            text = json.dumps(scenario, allow_nan=False)
        except (TypeError, ValueError) as error:
            raise ScenarioError(f"scenario: {error}; use what JSON can hold") from error
        except RecursionError as error:
            raise ScenarioError("scenario: nested too deep; use what JSON can hold") from error
        return Source(str(scenario.get("name") or "scenario"), text, "scenario")
    if not isinstance(scenario, str | Path):
        raise ScenarioError(
            f"a scenario of type {type(scenario).__name__}; give a name, a path or a mapping"
        )
    path = Path(scenario)
    is_path = isinstance(scenario, Path) or path.suffix in (".toml", ".json") or len(path.parts) > 1
    if not is_path and not files.is_file(path):
        return _in_library(str(scenario))
    text = files.read_text(path)
    if path.suffix == ".json":
        document = resultfile.parse(text, path)
        if "format" in document:
            return _saved(document, path)
    return Source(path.stem, text, str(path), directory=path.parent)


def resolve_many(
    where: Source,
    points: Sequence[tuple[str | None, Sequence[tuple[str, str]]]],
    threads: int,
) -> "list[str | ScenarioError]":
    """Resolve a scenario of the library, a file or a mapping with each TCP and its overrides.

    The engine parses the scenario once. Each result is a resolved scenario or its error.
    """
    results: list[str | ScenarioError | None] = [None] * len(points)
    batch: list[tuple[int, list[tuple[str, str]]]] = []
    for place, (tcp, overrides) in enumerate(points):
        try:
            if not where.saved and (tcp is None or _is_plain(tcp)):
                batch.append((place, [*_of_tcp(tcp), *_expanded(overrides)]))
        except ScenarioError as error:
            results[place] = error
    resolved = _farlink.resolve_many(
        where.text, where.origin, files.as_name(where.name), [item for _, item in batch], threads
    )
    for (place, _), (text, message) in zip(batch, resolved, strict=True):
        results[place] = text if message is None else ScenarioError(message)
    for place, (tcp, overrides) in enumerate(points):
        if results[place] is None:
            results[place] = _resolve_alone(where, tcp, overrides)
    return [result for result in results if result is not None]


def _is_plain(tcp: object) -> bool:
    """Return whether a TCP is a text that names no class in a file."""
    return isinstance(tcp, str) and ".py" not in tcp


def _resolve_alone(
    where: Source, tcp: str | None, overrides: Sequence[tuple[str, str]]
) -> "str | ScenarioError":
    try:
        texts = where.resolve(None if tcp is None else [tcp], overrides)
    except ScenarioError as error:
        return error
    return next(iter(texts.values()))


def _of_tcp(tcp: str | None) -> list[tuple[str, str]]:
    """Return the overrides that choose a TCP by its name."""
    if tcp is None:
        return []
    _check_tcp(tcp)
    profile, variant = split(tcp)
    of_profile = [] if profile is None else [("tcp.profile", profile)]
    return [*of_profile, ("tcp.variant", variant)]


QUIC = "quic"
"""Profile of QUIC, which runs in place of TCP."""


@cache
def profiles() -> Mapping[str, Mapping[str, Any]]:
    """Return the profiles by name: summary, TCPs, and the keys of `[tcp]` that each sets."""
    return {profile["name"]: profile for profile in json.loads(_farlink.profiles())}


def split(tcp: str) -> tuple[str | None, str]:
    """Split the profile off the name of a TCP: "linux-cubic" is ("linux", "cubic").

    The name "quic" alone is the usual congestion control of QUIC.
    """
    if tcp == QUIC:
        return QUIC, str(profiles()[QUIC]["usual"])
    profile, dash, variant = tcp.partition("-")
    return (profile, variant) if dash and profile in profiles() else (None, tcp)


def changes(overrides: Mapping[str, object] | None, seed: int | None) -> list[tuple[str, str]]:
    """Return overrides as paths and values, with the seed as the last one.

    Raises
    ------
    ScenarioError
        If the overrides are not values by path, TOML cannot express a value, or the seed is out of
        range.
    """
    if overrides is not None and not isinstance(overrides, Mapping):
        raise ScenarioError(
            f"overrides is {text_of(overrides)}; write values by path, for example "
            '{"links.0.down.delay": "300 ms"}'
        )
    written = []
    for path, value in (overrides or {}).items():
        if not isinstance(path, str):
            raise ScenarioError(f"overrides has the key {text_of(path)}; write a path as a string")
        written.append((path, _class_or_text(path, value)))
    if seed is not None:
        written.append(("seed", str(whole("seed", seed, 2**64 - 1, least=0))))
    return written


def _class_or_text(path: str, value: object) -> str:
    """Return the value of an override as TOML, with a class of Python as its table."""
    if isinstance(value, type) or (isinstance(value, str) and ".py:" in value[:200]):
        from farlink import classes  # Overrides without a class do not need its imports.

        if classes.place(path, value):
            return toml_text(classes.table(path, value))
    return override_text(value)


def ends(flow: Mapping[str, Any]) -> tuple[str, str]:
    """Return the nodes at which a flow of a resolved scenario begins and ends."""
    return flow["from"].replace("{}", "0"), flow["to"].replace("{}", "0")


def ip(resolved: Mapping[str, Any]) -> str:
    """Return the IP version of the first flow of a resolved scenario: "v4" or "v6"."""
    version: str = resolved["flows"][0].get("ip") or resolved.get("ip", "v4")
    return version


def override_text(value: object) -> str:
    """Return the value of an override as TOML; a string is used unchanged.

    Raises
    ------
    ScenarioError
        If TOML cannot express the value.
    """
    try:
        return value if isinstance(value, str) else toml_text(value)
    except ScenarioError:
        raise
    except RecursionError:
        raise ScenarioError("an override is nested too deep") from None
    except ValueError:  # Python limits the digits of a number that it formats.
        raise ScenarioError("an override has a number of thousands of digits") from None


def _check_tcp(name: str) -> None:
    profile, variant = split(name)
    known = profiles()[profile or "rfc"]["tcp"]
    if variant in known:
        return
    if profile:
        names = ", ".join(f"{profile}-{entry}" for entry in known)
        raise ScenarioError(
            f"tcp {text_of(name)} is not known; of profile {profile!r} there are {names}"
        )
    prefixed = [f"{item}-{tcp}" for item, element in profiles().items() for tcp in element["tcp"]]
    # The TCP "westwood+" is the congestion control "westwood_plus".
    spelled = {entry.replace("+", "_plus"): entry for entry in [*known, *prefixed]}
    import difflib

    close = difflib.get_close_matches(name.replace("+", "_plus"), spelled, n=1)
    hint = f"did you mean {spelled[close[0]]!r}?" if close else f"there are {', '.join(known)}"
    raise ScenarioError(f"tcp {text_of(name)} is not known; {hint}")


def table_of(tcp: str) -> dict[str, Any]:
    """Return a TCP as a flow's table: profile, variant, and the class if it is written in Python.

    Raises
    ------
    ScenarioError
        If there is no such TCP, or its class in Python cannot be used.
    """
    (named,) = _classes([tcp]).values()
    base = named.base if named else tcp
    _check_tcp(base)
    profile, variant = split(base)
    table: dict[str, Any] = {"profile": profile or "rfc", "variant": variant}
    if named:
        table |= {"congestion": named.control, "control": {named.control: dict(named.values)}}
    return table


def _expanded(overrides: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return overrides with each TCP of a flow (``flows.0.tcp=linux-cubic``) as keys of a table."""
    changes = []
    for path, value in ((path, _class_or_text(path, value)) for path, value in overrides):
        if _FLOW_TCP.fullmatch(path) is None or value.lstrip().startswith(("{", '"')):
            changes.append((path, value))
            continue
        table = table_of(value)
        for control, values in table.pop("control", {}).items():
            at = f"{path}.control.{control}"
            changes += [(f"{at}.{key}", json.dumps(item)) for key, item in values.items()]
        changes += [(f"{path}.{key}", json.dumps(item)) for key, item in table.items()]
    return changes


def _classes(names: Sequence[str | type]) -> "dict[str, Named | None]":
    """Return each TCP by its name, with its class if it is written in Python."""
    if all(isinstance(name, str) and ".py" not in name for name in names):
        repeated = next((name for name in names if names.count(name) > 1), None)
        if repeated is not None:
            raise ScenarioError(f"tcp {repeated!r} is named twice; name each once")
        return {str(name): None for name in names}
    from farlink import congestion  # Names of the table alone do not need its imports.

    return congestion.resolve_names(names)


def _named(scenario: Mapping[str, Any]) -> str:
    """Return the name of the TCP of a resolved scenario.

    Different TCPs of flows are joined by a plus.
    """
    tcp = scenario.get("tcp", {})
    all_of_them = [tcp] if "variant" in tcp else scenario["resolved_tcp"]
    return "+".join(dict.fromkeys(_name(item) for item in all_of_them))


def _name(tcp: Mapping[str, Any]) -> str:
    profile, variant = tcp.get("profile", "rfc"), str(tcp["variant"])
    return variant if profile == "rfc" else f"{profile}-{variant}"


def _in_library(name: str) -> Source:
    library = dict(_farlink.scenarios())
    if name in library:
        return Source(name, library[name], f"scenario {name}")
    import difflib

    close = difflib.get_close_matches(name, library, n=1)
    hint = f"did you mean {close[0]!r}?" if close else "`farlink list scenarios` lists them"
    raise ScenarioError(
        f"{files.shown(name)}: neither a scenario of the library nor a file; {hint}"
    )


def _saved(document: dict[str, Any], path: Path) -> Source:
    resultfile.check(document, path)
    texts = {name: json.dumps(scenario) for name, scenario in document["scenarios"].items()}
    name = str(document["scenario"].get("name", path.stem))
    first = json.dumps(document["scenario"])
    return Source(name, first, str(path), texts, document["runs"], path.parent)


def toml_text(value: object) -> str:
    """Return a value in the notation of TOML, in one line.

    Raises
    ------
    ScenarioError
        If TOML cannot express the value.
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value)
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, Mapping):
        items = (f"{json.dumps(str(key))} = {toml_text(item)}" for key, item in value.items())
        return "{ " + ", ".join(items) + " }"
    if isinstance(value, Sequence):
        return "[" + ", ".join(toml_text(item) for item in value) + "]"
    raise ScenarioError(
        f"an override of type {type(value).__name__}; use a string, number or table"
    )
