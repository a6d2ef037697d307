"""Parts of a study: its record, and code for what is no curve.

The record (the .toml files of the study's folder) holds what was published, in our own words
and its numbers, and how it is made again, each once: the model, what its points may say,
measures, tables, figures, and claims as expressions, with where they stand and how far to trust
them; what the publication leaves open, and how else it can be read. Code makes ladders, traces
and other tables, and functions that expressions call.
"""

import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from typing import TYPE_CHECKING, Any, TypeVar

from farlink.studies.cache import SimulationCache
from farlink.studies.expression import Expression
from farlink.studies.model import AS_CHOSEN, Change, Hook, Model, Plan
from farlink.studies.quantity import Quantity

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
    "Published",
    "Registry",
    "Study",
    "Table",
]

STRENGTHS = ("strong", "weak", "doubtful")
"""How far a record can trust a claim: it should reproduce; it hangs on what was left open or
is small; it contradicts itself or rests on too little."""

LOOKS = (1, 2, 4)
"""Runs of each interim analysis of an undecided claim, as multiples of the first one's."""


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
    order, number
        Expressions (see `farlink.studies.expression`): what it says of more and less, and what
        it says in numbers, with a tolerance from the study's own precision.
    compare
        Published numbers beside ours, a row each: `what`, `published`, `unit`, and `ours`, an
        expression.
    published, legibility
        What was printed, for the reader, and how well it can be read: "text", "table", "tick"
        or "none".
    calibration
        Whether a parameter was fitted to it: then it is a check, and no evidence.
    untested
        Why it cannot be judged; empty if it can.
    tolerance
        Where the tolerance comes from.
    cause
        Why it does not reproduce, as far as was found out; told where it does not.
    looks
        Runs of each interim analysis, as multiples of those of the first.
    shown_by
        Readings that show this cause: under them the number moves to the published one.
    """

    strength: str = "strong"
    figure: str = ""
    order: Expression | None = None
    number: Expression | None = None
    compare: "Sequence[Comparison]" = ()
    published: str = ""
    legibility: str = ""
    calibration: bool = False
    untested: str = ""
    tolerance: str = ""
    cause: str = ""
    looks: Sequence[int] = LOOKS
    shown_by: Sequence[str] = ()


@dataclass(frozen=True)
class Comparison:
    """A published number, and the expression of ours."""

    what: str
    published: float
    ours: Expression
    unit: str = ""


@dataclass(frozen=True)
class Choice:
    """Choice for a point that the study leaves open.

    Attributes
    ----------
    item
        What it is about: "mean MAC access delay".
    text
        What the study says of it.
    ours
        The value or rule here.
    why
        The reason.
    calibration
        Whether it was fitted to something that the study shows.
    """

    item: str
    text: str
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
    log_x, log_y
        Whether the axis is logarithmic.
    note
        A line under the figure; empty for none.
    points
        What was published of it.
    """

    x: Sequence[float]
    x_label: str
    y_label: str
    series: Mapping[str, Sequence[Quantity | None]]
    scale: float = 1.0
    y_range: tuple[float, float] | None = None
    log_x: bool = False
    log_y: bool = False
    note: str = ""
    points: "Sequence[Published]" = ()


@dataclass(frozen=True)
class Published:
    """A published point of a figure, in the units of its axes; a line where one of both is known.

    `text` is the printed sentence, for the legend.
    """

    text: str
    x: float | None = None
    y: float | None = None


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
class Registry:
    """Code of a study, by the ids of its record or the names that it uses.

    Attributes
    ----------
    figures, tables
        Make a figure or table out of a model.
    functions
        What expressions may call; the model comes first.
    hooks
        Change the tree of a scenario, for readings and wrong models.
    """

    figures: dict[str, Callable[[Model], "Curves | Drawing"]] = field(default_factory=dict)
    tables: dict[str, Callable[[Model], Table]] = field(default_factory=dict)
    functions: dict[str, Callable[..., Any]] = field(default_factory=dict)
    hooks: dict[str, Hook] = field(default_factory=dict)

    def figure(self, id: str) -> "Callable[[_Function], _Function]":  # noqa: A002
        """Register what makes the figure with this id."""
        return _register(self.figures, id)

    def table(self, id: str) -> "Callable[[_Function], _Function]":  # noqa: A002
        """Register what makes the table with this id."""
        return _register(self.tables, id)

    def function(self, name: str) -> "Callable[[_Function], _Function]":
        """Register what expressions call by this name."""
        return _register(self.functions, name)

    def hook(self, name: str) -> "Callable[[_Function], _Function]":
        """Register what readings and wrong models name."""
        return _register(self.hooks, name)


_Function = TypeVar("_Function", bound=Callable[..., Any])


def _register(place: dict[str, Any], id: str) -> Callable[[_Function], _Function]:  # noqa: A002
    def keep(function: _Function) -> _Function:
        if id in place:
            raise ValueError(f"{id} is registered twice")
        place[id] = function
        return function

    return keep


@dataclass(frozen=True)
class Study:
    """A study: its record and its code."""

    id: str
    record: Mapping[str, Any]
    plan: Plan
    figures: Mapping[str, Item]
    tables: Mapping[str, Item]
    claims: Mapping[str, Claim]
    choices: Sequence[Choice]
    registry: Registry

    @classmethod
    def read(cls, package: str, registry: Registry) -> "Study":
        """Read the record of a package, all its .toml files, and join it with its code.

        Raises
        ------
        ValueError
            If an entry of the record lacks a key, has an id that another has, or a value
            that is not known.
        ScenarioError
            If an expression is wrong.
        """
        tree: dict[str, Any] = {}
        files = [path for path in resources.files(package).iterdir() if path.name.endswith(".toml")]
        for file in sorted(files, key=lambda item: item.name):
            for key, part in tomllib.loads(file.read_text(encoding="utf-8")).items():
                if isinstance(part, list):
                    tree[key] = tree.get(key, []) + part
                else:
                    tree[key] = {**tree.get(key, {}), **part}
        return cls.of(tree, registry)

    @classmethod
    def of(cls, record: Mapping[str, Any], registry: Registry) -> "Study":
        """Join a record with its code; see `read`."""
        rows = [row for part in _ITEMS for row in record.get(part, [])]
        ids = [_need(row, "id", "an entry") for row in rows]
        if repeated := {item for item in ids if ids.count(item) > 1}:
            raise ValueError(f"the record has {', '.join(sorted(repeated))} twice")
        plan = Plan.of(record, registry.hooks)
        names = {*plan.constants, *plan.measures, *registry.functions}
        causes = _causes(record.get("cause", []))
        claims = [_claim(_caused(row, causes), names) for row in record.get("claim", [])]
        if unused := causes.keys() - {row.get("because") for row in record.get("claim", [])}:
            raise ValueError(f"cause {', '.join(sorted(unused))}: no claim has it")
        known = {row["id"] for part in ("figure", "table") for row in record.get(part, [])}
        for claim in claims:
            if claim.strength not in STRENGTHS:
                raise ValueError(f"{claim.id}: strength {claim.strength!r} is none of {STRENGTHS}")
            if claim.figure and claim.figure not in known:
                raise ValueError(f"{claim.id}: the record has no figure {claim.figure!r}")
            if claim.shown_by and not claim.cause:
                raise ValueError(f"{claim.id}: shown_by, and no cause")
            if missing := set(claim.shown_by) - plan.interpretations.keys():
                raise ValueError(f"{claim.id}: no reading {', '.join(sorted(missing))}")
        for control in plan.controls.values():
            if missing := set(control.turns) - {claim.id for claim in claims}:
                raise ValueError(f"mutant {control.id}: no claim {', '.join(sorted(missing))}")
        return cls(
            id=record["study"]["id"],
            record=record,
            plan=plan,
            figures=_items(record.get("figure", [])),
            tables=_items(record.get("table", [])),
            claims={claim.id: claim for claim in claims},
            choices=[_choice(row) for row in record.get("choice", [])],
            registry=registry,
        )

    def model(self, cache: SimulationCache, change: Change = AS_CHOSEN) -> Model:
        """Return the model of the study in a cache, under a reading or with a wrong change."""
        return Model(cache, self.plan, change, self.registry.hooks, self.registry.functions)

    @property
    def gaps(self) -> list[str]:
        """Entries of the record that nothing makes, and the other way round, a line each.

        A claim with `untested` needs no expression, and a figure that has only a `content`,
        or says what curves it has, no function.
        """
        needed = {
            "figure": {n for n, figure in self.figures.items() if not _MADE & figure.data.keys()},
            "table": {n for n, table in self.tables.items() if not _MADE & table.data.keys()},
        }
        known = {"figure": set(self.figures), "table": set(self.tables)}
        functions = {"figure": set(self.registry.figures), "table": set(self.registry.tables)}
        lines = []
        for kind, ids in needed.items():
            lines += [f"{kind} {n}: no function" for n in sorted(ids - functions[kind])]
            lines += [f"{kind} {n}: no entry" for n in sorted(functions[kind] - known[kind])]
        for name, claim in self.claims.items():
            stated = claim.order is not None or claim.number is not None
            if not stated and not claim.untested:
                lines.append(f"claim {name}: neither order nor number")
            if stated and claim.untested:
                lines.append(f"claim {name}: untested, and an expression")
        return lines


_MADE = {"content", "series"}
"""Keys of figures and tables that need no function."""

_ITEMS = ("figure", "table", "claim")

_CLAIM: tuple[str, ...] = ("strength", "figure", "published", "legibility", "calibration")
_CLAIM += ("untested", "tolerance", "cause", "shown_by", "looks")
_CHOICE = {"item", "says", "ours", "why", "calibration"}

LEGIBILITY = ("", "text", "table", "tick", "none")
"""How well a published number can be read; the last: not at all."""


def _causes(rows: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return causes that several claims have in common, by id."""
    causes: dict[str, str] = {}
    for row in rows:
        id = _need(row, "id", "a cause")  # noqa: A001
        text = _need(row, "says", f"cause {id}")
        if unknown := row.keys() - {"id", "says"}:
            raise ValueError(f"cause {id}: {', '.join(sorted(unknown))} is no key of it")
        if id in causes:
            raise ValueError(f"the record has cause {id} twice")
        causes[id] = text
    return causes


def _caused(row: Mapping[str, Any], causes: Mapping[str, str]) -> dict[str, Any]:
    """Return the row of a claim with the cause that it names written out."""
    given = dict(row)
    name = given.pop("because", None)
    if name is None:
        return given
    if "cause" in given:
        raise ValueError(f"claim {row['id']}: cause and because; one of them says why")
    if name not in causes:
        raise ValueError(f"claim {row['id']}: the record has no cause {name!r}")
    return {**given, "cause": causes[name]}


def _claim(row: Mapping[str, Any], names: Iterable[str]) -> Claim:
    id = row["id"]  # noqa: A001
    sentence, where = (_need(row, key, id) for key in ("says", "where"))
    known = {"id", "says", "where", "order", "number", "compare", "note", *_CLAIM}
    if unknown := row.keys() - known:
        raise ValueError(f"claim {id}: {', '.join(sorted(unknown))} is no key of it")
    given: dict[str, Any] = {key: row[key] for key in _CLAIM if key in row}
    if given.get("legibility", "") not in LEGIBILITY:
        raise ValueError(f"claim {id}: legibility is none of {', '.join(LEGIBILITY[1:])}")
    looks = list(given.get("looks", LOOKS))
    if len(looks) != len(LOOKS) or looks[0] != 1 or looks != sorted(set(looks)):
        raise ValueError(f"claim {id}: looks are three numbers that grow, the first 1")
    for key in ("order", "number"):
        if key in row:
            given[key] = _expression(row[key], f"claim {id}, {key}", names)
    given["compare"] = [
        Comparison(
            what=_need(reference, "what", f"claim {id}, compare"),
            published=float(_need(reference, "published", f"claim {id}, compare")),
            ours=_expression(
                _need(reference, "ours", f"claim {id}"), f"claim {id}, compare", names
            ),
            unit=reference.get("unit", ""),
        )
        for reference in row.get("compare", [])
    ]
    return Claim(id, sentence, where, row, **given)


def _expression(text: str, where: str, names: Iterable[str]) -> Expression:
    expression = Expression(text, where)
    expression.check(names)
    return expression


def _choice(row: Mapping[str, Any]) -> Choice:
    for key in ("item", "says", "ours"):
        _need(row, key, f"choice {row.get('item', '')}")
    if unknown := row.keys() - _CHOICE:
        raise ValueError(f"choice {row['item']}: {', '.join(sorted(unknown))} is no key of it")
    return Choice(**{"text" if key == "says" else key: row[key] for key in row})


def _items(rows: Sequence[Mapping[str, Any]]) -> dict[str, Item]:
    for row in rows:
        for key in ("title", "where"):
            _need(row, key, row["id"])
    return {row["id"]: Item(row["id"], row["title"], row["where"], row) for row in rows}


def _need(row: Mapping[str, Any], key: str, of: str) -> str:
    if key not in row:
        raise ValueError(f"the record lacks {key!r} of {of}")
    return str(row[key])
