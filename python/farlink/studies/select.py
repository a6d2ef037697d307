"""Selection of figures, tables and claims of a study."""

import difflib
from collections.abc import Sequence
from dataclasses import dataclass

from farlink.errors import ScenarioError
from farlink.studies.study import Item, Study

__all__ = ["Work", "all_work", "select"]


@dataclass(frozen=True)
class Work:
    """Something to make: a figure, table or claim ("figure", "table", "claim") of a study."""

    kind: str
    item: Item


def all_work(study: Study) -> list[Work]:
    """Return everything a study has: what each figure or table claims right behind it."""
    work = []
    for kind, items in (("table", study.tables), ("figure", study.figures)):
        for name, item in items.items():
            work.append(Work(kind, item))
            work += [
                Work("claim", claim) for claim in study.claims.values() if claim.figure == name
            ]
    return work + [Work("claim", claim) for claim in study.claims.values() if not claim.figure]


def select(study: Study, only: Sequence[str] | None, *, quick: bool = False) -> list[Work]:
    """Return what is asked for, in the order of the study; everything if `only` is None.

    Entries of the record with `full` are left out of a quick look, unless they are asked
    for by their id.

    An id asks for its figure, table or claim; a figure or table brings its claims. What
    is not an id is the beginning of ids: "fig4", "table", "wong1998.fig4.7". Ids of
    claims may be written without the name of the study.

    Raises
    ------
    ScenarioError
        If nothing has this id or beginning.
    """
    named = only or ()
    work = [
        item
        for item in all_work(study)
        if item.item.id in named or not (quick and item.item.data.get("full", False))
    ]
    if only is None:
        return work
    wanted: set[str] = set()
    for word in only:
        wanted |= _found(study, work, word)
    # A figure or table brings its claims.
    wanted |= {
        claim.id for claim in study.claims.values() if claim.figure and claim.figure in wanted
    }
    return [part for part in work if part.item.id in wanted]


def _found(study: Study, work: Sequence[Work], word: str) -> set[str]:
    names = {part.item.id: part.item.id for part in work}
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
    """Return whether a name begins with a word, which does not end within a number."""
    if not word or not name.startswith(word):
        return False
    rest = name[len(word) :]
    return not (word[-1].isdigit() and rest[:1].isdigit())
