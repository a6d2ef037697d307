"""Selection of figures, tables and claims of a study."""

import difflib
from collections.abc import Sequence
from dataclasses import dataclass

from farlink.errors import ScenarioError
from farlink.studies.study import Item, Study

__all__ = ["Entry", "all_entries", "select"]


@dataclass(frozen=True)
class Entry:
    """Figure, table or claim of a study with its kind: "figure", "table" or "claim"."""

    kind: str
    item: Item


def all_entries(study: Study) -> list[Entry]:
    """Return all figures and tables, each followed by its claims, and the other claims."""
    entries = []
    for kind, items in (("table", study.tables), ("figure", study.figures)):
        for name, item in items.items():
            entries.append(Entry(kind, item))
            entries += [
                Entry("claim", claim) for claim in study.claims.values() if claim.figure == name
            ]
    return entries + [Entry("claim", claim) for claim in study.claims.values() if not claim.figure]


def select(study: Study, only: Sequence[str] | None, *, quick: bool = False) -> list[Entry]:
    """Return the figures, tables and claims that `only` selects, in the order of the study.

    `None` selects all. With `quick`, entries of the record with `full` are omitted unless their ids
    are in `only`.

    A word in `only` is an id, or the beginning of ids: "fig4", "table", "wong1998.fig4.7". A figure
    or table also selects its claims. Ids of claims may lack the name of the study.

    Raises
    ------
    ScenarioError
        If a word in `only` matches no id.
    """
    named = only or ()
    entries = [
        item
        for item in all_entries(study)
        if item.item.id in named or not (quick and item.item.data.get("full", False))
    ]
    if only is None:
        return entries
    wanted: set[str] = set()
    for word in only:
        wanted |= _found(study, entries, word)
    # Selecting a figure or table also selects its claims.
    wanted |= {
        claim.id for claim in study.claims.values() if claim.figure and claim.figure in wanted
    }
    return [entry for entry in entries if entry.item.id in wanted]


def _found(study: Study, entries: Sequence[Entry], word: str) -> set[str]:
    names = {entry.item.id: entry.item.id for entry in entries}
    names |= {name.removeprefix(f"{study.id}."): name for name in study.claims}
    if word in names:
        return {names[word]}
    table = {full for name, full in names.items() if _begins(name, word)}
    if not table:
        near = difflib.get_close_matches(word, names, n=1, cutoff=0.4)
        hint = f"did you mean {near[0]}? " if near else ""
        raise ScenarioError(
            f"--only {word}: {study.id} has no such figure, table or claim; {hint}"
            f"`farlink study {study.id} --list` shows all"
        )
    return table


def _begins(name: str, word: str) -> bool:
    """Return whether a name begins with a word: "fig4" begins "fig4.1" but not "fig41"."""
    if not word or not name.startswith(word):
        return False
    rest = name[len(word) :]
    return not (word[-1].isdigit() and rest[:1].isdigit())
