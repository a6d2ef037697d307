"""Parameters that a study leaves open, with ranges, and their effect on scenarios.

    [[unknown]]
    id = "window"
    doc = "data in flight at most"
    where = "Table 1"
    why = "the advertised window is printed, and not what the sender makes of it"
    vary = "54020 B..65535 B"       # a range, or levels: "1 s|3 s" or a list
    path = "tcp.receive_window"     # key that the value sets; or `hook`, a function of the study
    chosen = "65535 B"              # value of the model as chosen

Levels may have settings instead (`settings`, by level: path to value), or names of hooks (`hooks`).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from farlink.errors import ScenarioError
from farlink.studies.model import Change, Hook, put
from farlink.tuning.space import Knob, Level, knob

__all__ = ["Unknown", "change", "unknowns"]

_KEYS = {"id", "doc", "where", "why", "vary", "path", "settings", "hooks", "hook", "chosen"}
_EFFECTS = ("path", "settings", "hooks", "hook")


@dataclass(frozen=True)
class Unknown:
    """Parameter that a study leaves open.

    Attributes
    ----------
    doc, where, why
        Meaning, place in the publication, and reason why it is open there.
    knob
        Range or levels.
    chosen
        Level of the model as chosen.
    path, settings, hooks, hook
        Effect of a level: a key of the scenario; settings by level; a hook's name by level (empty
        for none); or the name of a function of the study, which is called with the scenario and the
        level.
    """

    id: str
    doc: str
    where: str
    why: str
    knob: Knob
    chosen: Level
    path: str = ""
    settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    hooks: Mapping[str, str] = field(default_factory=dict)
    hook: str = ""

    def edit(
        self,
        level: Level,
        hooks: Mapping[str, Hook],
        editors: Mapping[str, Callable[[dict[str, Any], Level], None]],
    ) -> Hook | None:
        """Return the function that edits a completed scenario for a level, or None."""
        if self.hook:
            editor = editors[self.hook]
            return lambda tree: editor(tree, level)
        if self.hooks:
            name = self.hooks[str(level)]
            return hooks[name] if name else None
        if self.settings:
            return partial(_put_all, settings=self.settings[str(level)])
        return None


def unknowns(
    record: Mapping[str, Any], hooks: Mapping[str, Hook], editors: Mapping[str, Any]
) -> list[Unknown]:
    """Parse and check the unknowns of a record.

    Raises
    ------
    ValueError
        If an entry lacks a key, has an unknown key, or does not state the change that each level
        makes.
    """
    return [_unknown(row, hooks, editors) for row in record.get("unknown", [])]


def _unknown(
    row: Mapping[str, Any], hooks: Mapping[str, Hook], editors: Mapping[str, Any]
) -> Unknown:
    id_ = row.get("id", "")
    for key in ("id", "doc", "where", "why", "vary", "chosen"):
        if key not in row:
            raise ValueError(f"unknown {id_}: it lacks {key!r}")
    if wrong := row.keys() - _KEYS:
        raise ValueError(f"unknown {id_}: {', '.join(sorted(wrong))} is no key of it")
    if sum(key in row for key in _EFFECTS) != 1:
        raise ValueError(f"unknown {id_}: write one of {', '.join(_EFFECTS)}")
    varied = knob(row.get("path", id_), row["vary"])
    given = {key: row[key] for key in _EFFECTS if key in row}
    result = Unknown(id_, row["doc"], row["where"], row["why"], varied, row["chosen"], **given)
    for key in ("settings", "hooks"):
        by_level = row.get(key)
        if by_level is not None and set(by_level) != set(map(str, varied.levels)):
            raise ValueError(f"unknown {id_}: {key} need one entry for each level")
    names = [name for name in row.get("hooks", {}).values() if name]
    if missing := {*names} - hooks.keys():
        raise ValueError(f"unknown {id_}: the study has no hook {', '.join(sorted(missing))}")
    if result.hook and result.hook not in editors:
        raise ValueError(f"unknown {id_}: the study has no editor {result.hook!r}")
    if varied.levels and result.chosen not in varied.levels:
        raise ValueError(f"unknown {id_}: {result.chosen!r} is no level of it")
    return result


def change(
    members: Sequence[Unknown],
    levels: Mapping[str, Level],
    hooks: Mapping[str, Hook],
    editors: Mapping[str, Any],
) -> Change:
    """Return the change of all scenarios that sets each unknown to its level.

    Raises
    ------
    ScenarioError
        If an unknown has no level.
    """
    sets: dict[str, Any] = {}
    edits = []
    for item in members:
        if item.id not in levels:
            raise ScenarioError(f"unknown {item.id}: no level is given")
        level = levels[item.id]
        if item.path:
            sets[item.path] = level
        edit = item.edit(level, hooks, editors)
        if edit is not None:
            edits.append(edit)
    return Change("inferred", "Levels of the unknowns.", sets=sets, edits=tuple(edits))


def _put_all(tree: dict[str, Any], settings: Mapping[str, Any]) -> None:
    for path, value in settings.items():
        put(tree, path, value)
