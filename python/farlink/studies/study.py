"""What a study consists of: its record, and the code that re-makes figures and claims.

The record (the .toml files beside the code of the study) holds what was published, in our
own words and its numbers: tables, figures, claims with where they stand and how far to
trust them, what the publication leaves open and what was chosen for it. The code holds a
function per figure and a judge per claim, found by the id of the record.
"""

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from farlink.studies.lab import Lab
from farlink.studies.quantity import Evidence, Quantity

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

__all__ = [
    "STRENGTHS",
    "Choice",
    "Claim",
    "Curves",
    "Drawing",
    "Item",
    "Registry",
    "Study",
    "Table",
]

STRENGTHS = ("strong", "weak", "doubtful")
"""How far a record can trust a claim: it should reproduce; it hangs on what was left open or
is small; it contradicts itself or rests on too little."""

Context = TypeVar("Context")
"""What a study's functions get: its own class, with a lab inside."""


@dataclass(frozen=True)
class Item:
    """A figure, table or claim of the record: its id and all keys beside it."""

    id: str
    title: str
    where: str
    data: Mapping[str, Any]


@dataclass(frozen=True)
class Claim(Item):
    """A statement of the study.

    Attributes
    ----------
    strength
        One of `STRENGTHS`.
    figure
        Id of the figure or table it belongs to; empty if none.
    calibration
        Whether a parameter was fitted to it: then it is a check, and no evidence.
    sensitive
        Whether it is judged again at the other values of what was calibrated.
    untested
        Why it cannot be judged; empty if it can.
    tolerance
        How near is near enough.
    cause
        Why it does not reproduce, as far as was found out; shown where it does not.
    """

    strength: str = "strong"
    figure: str = ""
    calibration: bool = False
    sensitive: bool = False
    untested: str = ""
    tolerance: str = ""
    cause: str = ""


@dataclass(frozen=True)
class Choice:
    """What the study leaves open, and what stands here for it.

    Attributes
    ----------
    item
        What it is about: "mean MAC access delay".
    says
        What the study says of it.
    ours
        The value or rule here.
    why
        The reason.
    calibration
        Whether it was fitted to something that the study shows.
    """

    item: str
    says: str
    ours: str
    why: str = ""
    calibration: bool = False


@dataclass(frozen=True)
class Curves:
    """A figure of curves: quantities over x, a mean with its interval per point.

    Attributes
    ----------
    x, x_label
        The points of the abscissa and what it is, with its unit.
    y_label
        What the ordinate is, with its unit.
    series
        Per curve a quantity for each x (None: no point).
    scale
        What values are multiplied by for the figure (1e-3 for kbit/s).
    y_range
        Ends of the published axis, if known.
    log_y
        Whether the ordinate is logarithmic.
    note
        A line under the figure; empty for none.
    """

    x: Sequence[float]
    x_label: str
    y_label: str
    series: Mapping[str, Sequence[Quantity | None]]
    scale: float = 1.0
    y_range: tuple[float, float] | None = None
    log_y: bool = False
    note: str = ""


@dataclass(frozen=True)
class Drawing:
    """A figure that is not of curves, with the tables it was made from."""

    figure: "Figure"
    tables: Mapping[str, "pd.DataFrame"]
    note: str = ""


@dataclass(frozen=True)
class Table:
    """A table that was made again: published and ours side by side.

    `rows` are of text; `columns` name them. With `agrees` each row says whether the two
    are the same within what the record allows.
    """

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    agrees: Sequence[bool] | None = None
    note: str = ""


@dataclass
class Registry(Generic[Context]):
    """The functions of a study by the ids of its record."""

    figures: dict[str, Callable[[Context], "Curves | Drawing"]] = field(default_factory=dict)
    tables: dict[str, Callable[[Context], Table]] = field(default_factory=dict)
    claims: dict[str, Callable[[Context], Evidence]] = field(default_factory=dict)

    def figure(self, id: str) -> "Callable[[_Figure[Context]], _Figure[Context]]":  # noqa: A002
        """Register what makes the figure with this id."""
        return _register(self.figures, id)

    def table(self, id: str) -> "Callable[[_Table[Context]], _Table[Context]]":  # noqa: A002
        """Register what makes the table with this id."""
        return _register(self.tables, id)

    def claim(self, id: str) -> "Callable[[_Claim[Context]], _Claim[Context]]":  # noqa: A002
        """Register what judges the claim with this id."""
        return _register(self.claims, id)


_Figure = Callable[[Context], "Curves | Drawing"]
_Table = Callable[[Context], Table]
_Claim = Callable[[Context], Evidence]
_Function = TypeVar("_Function")


def _register(place: dict[str, _Function], id: str) -> Callable[[_Function], _Function]:  # noqa: A002
    def keep(function: _Function) -> _Function:
        if id in place:
            raise ValueError(f"{id} is registered twice")
        place[id] = function
        return function

    return keep


@dataclass(frozen=True)
class Study(Generic[Context]):
    """A study: its record and its functions.

    Attributes
    ----------
    context
        Makes what the functions get from a lab and one of `settings`.
    settings
        Values of what was calibrated, by label; the first is the one chosen, the others
        are where `sensitive` claims are judged again.
    """

    id: str
    record: Mapping[str, Any]
    figures: Mapping[str, Item]
    tables: Mapping[str, Item]
    claims: Mapping[str, Claim]
    choices: Sequence[Choice]
    registry: Registry[Context]
    context: Callable[[Lab, Any], Context]
    settings: Mapping[str, Any]

    @classmethod
    def read(
        cls,
        package: str,
        registry: Registry[Context],
        context: Callable[[Lab, Any], Context],
        settings: Mapping[str, Any],
    ) -> "Study[Context]":
        """Read the record of a package, all its .toml files, and join it with its functions.

        Raises
        ------
        ValueError
            If an entry of the record lacks a key, has an id that another has, or a value
            that is not known.
        """
        tree: dict[str, Any] = {}
        files = [one for one in resources.files(package).iterdir() if one.name.endswith(".toml")]
        for file in sorted(files, key=lambda one: one.name):
            for key, part in tomllib.loads(file.read_text(encoding="utf-8")).items():
                tree[key] = tree.get(key, []) + part if isinstance(part, list) else part
        return cls.of(tree, registry, context, settings)

    @classmethod
    def of(
        cls,
        record: Mapping[str, Any],
        registry: Registry[Context],
        context: Callable[[Lab, Any], Context],
        settings: Mapping[str, Any],
    ) -> "Study[Context]":
        """Join a record with its functions; see `read`."""
        rows = [row for part in _ITEMS for row in record.get(part, [])]
        ids = [_need(row, "id", "an entry") for row in rows]
        if repeated := {one for one in ids if ids.count(one) > 1}:
            raise ValueError(f"the record has {', '.join(sorted(repeated))} twice")
        claims = [_claim(row) for row in record.get("claim", [])]
        known = {row["id"] for part in ("figure", "table") for row in record.get(part, [])}
        for one in claims:
            if one.strength not in STRENGTHS:
                raise ValueError(f"{one.id}: strength {one.strength!r} is none of {STRENGTHS}")
            if one.figure and one.figure not in known:
                raise ValueError(f"{one.id}: the record has no figure {one.figure!r}")
        return cls(
            id=record["study"]["id"],
            record=record,
            figures=_items(record.get("figure", [])),
            tables=_items(record.get("table", [])),
            claims={one.id: one for one in claims},
            choices=[_choice(row) for row in record.get("choice", [])],
            registry=registry,
            context=context,
            settings=settings,
        )

    @property
    def gaps(self) -> list[str]:
        """What the record has and no function makes, and the other way round, a line each.

        A claim with `untested`, and a figure that has only a `content`, need none.
        """
        needed = {
            "figure": {n for n, one in self.figures.items() if "content" not in one.data},
            "table": {n for n, one in self.tables.items() if "content" not in one.data},
            "claim": {n for n, one in self.claims.items() if not one.untested},
        }
        known = {"figure": set(self.figures), "table": set(self.tables), "claim": set(self.claims)}
        functions = {
            "figure": set(self.registry.figures),
            "table": set(self.registry.tables),
            "claim": set(self.registry.claims),
        }
        lines = []
        for kind in _ITEMS:
            lines += [f"{kind} {n}: no function" for n in sorted(needed[kind] - functions[kind])]
            lines += [f"{kind} {n}: no entry" for n in sorted(functions[kind] - known[kind])]
        both = {n for n, one in self.claims.items() if one.untested} & functions["claim"]
        return lines + [f"claim {n}: untested, and a function" for n in sorted(both)]


_ITEMS = ("figure", "table", "claim")

_CLAIM = ("strength", "figure", "calibration", "sensitive", "untested", "tolerance", "cause")


def _claim(row: Mapping[str, Any]) -> Claim:
    says, where = (_need(row, key, row["id"]) for key in ("says", "where"))
    return Claim(row["id"], says, where, row, **{key: row[key] for key in _CLAIM if key in row})


def _choice(row: Mapping[str, Any]) -> Choice:
    for key in ("item", "says", "ours"):
        _need(row, key, f"choice {row.get('item', '')}")
    if unknown := row.keys() - Choice.__annotations__.keys():
        raise ValueError(f"choice {row['item']}: {', '.join(sorted(unknown))} is no key of it")
    return Choice(**row)


def _items(rows: Sequence[Mapping[str, Any]]) -> dict[str, Item]:
    for row in rows:
        for key in ("title", "where"):
            _need(row, key, row["id"])
    return {row["id"]: Item(row["id"], row["title"], row["where"], row) for row in rows}


def _need(row: Mapping[str, Any], key: str, of: str) -> str:
    if key not in row:
        raise ValueError(f"the record lacks {key!r} of {of}")
    return str(row[key])
