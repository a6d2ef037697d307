"""Parts of a study: its TOML record, and its registered code.

The record (the .toml files of the study's folder) paraphrases the published results: figures,
tables, and claims as expressions with their place and strength. It also has the model that
simulates them, its factors and measures, choices for gaps of the publication, and other
interpretations. Code makes ladders, traces and other tables, and functions that expressions call.
"""

import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import resources
from typing import TYPE_CHECKING, Any, TypeVar

from farlink.studies.account import Account, accounts
from farlink.studies.cache import SimulationCache
from farlink.studies.expression import Expression
from farlink.studies.grid import Grid, check
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
    "Precision",
    "Published",
    "Registry",
    "Study",
    "Table",
]

STRENGTHS = ("strong", "weak", "doubtful")
"""Strengths of a claim. Strong: explicit, with a mechanism. Weak: small, or dependent on gaps of
the publication. Doubtful: contradicts itself, or rests on too few events.
"""

ANALYSES = (1, 2, 4)
"""Runs of each interim analysis of an undecided claim, as multiples of the first one's."""


@dataclass(frozen=True)
class Item:
    """Figure, table or claim of the record, with all keys of its entry."""

    id: str
    title: str
    where: str
    data: Mapping[str, Any]


@dataclass(frozen=True)
class Claim(Item):
    """Statement of the publication that the study judges.

    Attributes
    ----------
    strength
        One of `STRENGTHS`.
    figure
        Id of the claim's figure or table; empty if none.
    order, number
        Expressions (see `farlink.studies.expression`) for the order ("more than") and for the
        number ("about 10 %"), with a tolerance from the publication's precision.
    compare
        Published numbers, each with an expression for the simulated one.
    published, legibility
        Printed statement, and source of its number: "text", "table", "tick" (of an axis) or "none".
    calibration
        Whether a parameter was fitted to the claim. The claim's success is then no evidence.
    untested
        Reason why the claim cannot be judged; empty if it can.
    tolerance
        Source of the tolerance.
    cause
        Known cause if the claim does not reproduce.
    looks
        Numbers of runs of the interim analyses, as multiples of the first one's.
    shown_by
        Interpretations that show the cause of a difference, because they bring the number closer to
        the published number.
    accounts
        Experiments and arithmetic on the number, for a claim whose number is missed.
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
    looks: Sequence[int] = ANALYSES
    shown_by: Sequence[str] = ()
    accounts: Sequence[Account] = ()


@dataclass(frozen=True)
class Comparison:
    """Published number, and expression `ours` for the simulated one."""

    what: str
    published: float
    ours: Expression
    unit: str = ""


@dataclass(frozen=True)
class Choice:
    """Choice for a gap of the publication.

    Attributes
    ----------
    item
        Subject of the choice: "mean MAC access delay".
    text
        Statement of the publication about the subject.
    ours
        Chosen value or rule.
    why
        Reason for the choice.
    calibration
        Whether the choice used a published result.
    on
        Ids of the claims that the choice used; they are calibration checks.
    cells
        Other published results that the choice used, such as "table4.3: Vegas, clear sky".
    """

    item: str
    text: str
    ours: str
    why: str = ""
    calibration: bool = False
    on: Sequence[str] = ()
    cells: Sequence[str] = ()


@dataclass(frozen=True)
class Precision:
    """Precision of a kind of published number, from which tolerances follow.

    Attributes
    ----------
    of
        Kind of number: "mean with a printed deviation".
    tolerance
        Largest difference that counts as agreement.
    why
        Reason, from the publication.
    where
        Place in the publication.
    """

    of: str
    tolerance: str
    why: str
    where: str


@dataclass(frozen=True)
class Curves:
    """Figure of curves, with the mean and its 95 % interval at each point.

    Attributes
    ----------
    x, x_label
        Values of the x axis, and its label with unit.
    y_label
        Label of the y axis with unit.
    series
        Quantities of each curve, one for each x; None for a missing point.
    scale
        Factor of the values in the figure (1e-3 for kbit/s).
    y_range
        Ends of the published y axis, if known.
    log_x, log_y
        Whether the axis is logarithmic.
    note
        Line of text below the figure; may be empty.
    points
        Published points.
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
    """Published point in the units of the axes; a line if x or y is None.

    `text` is the printed sentence, for the legend.
    """

    text: str
    x: float | None = None
    y: float | None = None


@dataclass(frozen=True)
class Drawing:
    """Figure other than curves, with the tables of its data."""

    figure: "Figure"
    tables: Mapping[str, "pd.DataFrame"]
    note: str = ""


@dataclass(frozen=True)
class Table:
    """Table of text with published and simulated values side by side.

    `agrees` has for each row whether both values agree within the record's tolerance.
    """

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    agrees: Sequence[bool] | None = None
    note: str = ""


@dataclass
class Registry:
    """Functions of a study, by the ids and names that its record uses.

    Attributes
    ----------
    figures, tables
        Functions from a model to a figure or table, by id.
    functions
        Functions for expressions. Their first argument is the model.
    hooks
        Functions that edit the tree of a scenario, for interpretations and negative controls.
    editors
        Functions that edit the tree for a level of an unknown (see `farlink.studies.inference`).
    """

    figures: dict[str, Callable[[Model], "Curves | Drawing"]] = field(default_factory=dict)
    tables: dict[str, "Callable[[Model], Grid | Table]"] = field(default_factory=dict)
    functions: dict[str, Callable[..., Any]] = field(default_factory=dict)
    hooks: dict[str, Hook] = field(default_factory=dict)
    editors: dict[str, Callable[[dict[str, Any], Any], None]] = field(default_factory=dict)

    def figure(self, id: str) -> "Callable[[_Function], _Function]":  # noqa: A002
        """Register the function that makes the figure with this id."""
        return _register(self.figures, id)

    def table(self, id: str) -> "Callable[[_Function], _Function]":  # noqa: A002
        """Register the function that makes the table with this id."""
        return _register(self.tables, id)

    def function(self, name: str) -> "Callable[[_Function], _Function]":
        """Register a function for expressions."""
        return _register(self.functions, name)

    def hook(self, name: str) -> "Callable[[_Function], _Function]":
        """Register a hook for interpretations and negative controls."""
        return _register(self.hooks, name)

    def editor(self, name: str) -> "Callable[[_Function], _Function]":
        """Register a function that edits a scenario for a level of an unknown."""
        return _register(self.editors, name)


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
    """Study: parsed record and registered code."""

    id: str
    record: Mapping[str, Any]
    plan: Plan
    figures: Mapping[str, Item]
    tables: Mapping[str, Item]
    claims: Mapping[str, Claim]
    choices: Sequence[Choice]
    precision: Sequence[Precision]
    registry: Registry

    @classmethod
    def read(cls, package: str, registry: Registry) -> "Study":
        """Read the record (all .toml files of a package) and combine it with its code.

        Raises
        ------
        ValueError
            If an entry of the record lacks a key, repeats an id, or has an unknown value.
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
        """Combine a record with its code; see `read`."""
        rows = [row for part in _ITEMS for row in record.get(part, [])]
        ids = [_need(row, "id", "an entry") for row in rows]
        if repeated := {item for item in ids if ids.count(item) > 1}:
            raise ValueError(f"the record has {', '.join(sorted(repeated))} twice")
        plan = Plan.of(record, registry.hooks)
        names = {*plan.constants, *plan.measures, *registry.functions}
        causes = _causes(record.get("cause", []))
        claims = _claims(record, causes, plan, names)
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
        for row in record.get("table", []):
            if "cells" in row:
                check(row, names)
        choices = [_choice(row) for row in record.get("choice", [])]
        _check_fitted(choices, claims)
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
            choices=choices,
            precision=[_precision(row) for row in record.get("precision", [])],
            registry=registry,
        )

    def model(self, cache: SimulationCache, change: Change = AS_CHOSEN) -> Model:
        """Return the model of the study under an interpretation or negative control."""
        return Model(cache, self.plan, change, self.registry.hooks, self.registry.functions)

    @property
    def printed_tables(self) -> list[str]:
        """Ids of the tables of the publication; the others are farlink's own."""
        return [name for name, item in self.tables.items() if item.where.startswith("Table")]

    @property
    def gaps(self) -> list[str]:
        """Return a line for each entry of the record without code, and each code without entry.

        A claim with `untested` needs no expression. A figure with `content` or `series`, and
        a table with `cells`, need no function.
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


_MADE = {"content", "series", "cells"}
"""Keys that make a function for the figure or table unnecessary."""

_ITEMS = ("figure", "table", "claim")

_CLAIM: tuple[str, ...] = ("strength", "figure", "published", "legibility", "calibration")
_CLAIM += ("untested", "tolerance", "cause", "shown_by", "looks")
_CHOICE = {"item", "says", "ours", "why", "calibration", "on", "cells"}
_PRECISION = {"of", "tolerance", "why", "where"}

LEGIBILITY = ("", "text", "table", "tick", "none")
"""Sources of a published number; "none" if it is not legible."""


def _causes(rows: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return the causes that claims share, by id."""
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
    """Return a claim's row with `because` (id of a cause) replaced by that cause's text."""
    given = dict(row)
    name = given.pop("because", None)
    if name is None:
        return given
    if "cause" in given:
        raise ValueError(f"claim {row['id']}: cause and because; one of them says why")
    if name not in causes:
        raise ValueError(f"claim {row['id']}: the record has no cause {name!r}")
    return {**given, "cause": causes[name]}


def _claims(
    record: Mapping[str, Any], causes: Mapping[str, str], plan: Plan, names: set[str]
) -> list[Claim]:
    """Return the claims of a record with their causes and accounts."""
    rows = record.get("claim", [])
    ids = {row["id"] for row in rows}
    of = accounts(record.get("account", []), ids, plan.interpretations.keys(), names)
    claims = [_claim(_caused(row, causes), names) for row in rows]
    return [replace(claim, accounts=of.get(claim.id, ())) for claim in claims]


def _claim(row: Mapping[str, Any], names: Iterable[str]) -> Claim:
    id = row["id"]  # noqa: A001
    sentence, where = (_need(row, key, id) for key in ("says", "where"))
    known = {"id", "says", "where", "order", "number", "compare", "note", *_CLAIM}
    if unknown := row.keys() - known:
        raise ValueError(f"claim {id}: {', '.join(sorted(unknown))} is no key of it")
    given: dict[str, Any] = {key: row[key] for key in _CLAIM if key in row}
    if given.get("legibility", "") not in LEGIBILITY:
        raise ValueError(f"claim {id}: legibility is none of {', '.join(LEGIBILITY[1:])}")
    looks = list(given.get("looks", ANALYSES))
    if len(looks) != len(ANALYSES) or looks[0] != 1 or looks != sorted(set(looks)):
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


def _check_fitted(choices: Sequence[Choice], claims: Sequence[Claim]) -> None:
    """Check that choices and claims agree on which claims were used to choose.

    Raises `ValueError` if a choice uses results without being a calibration or names none. Also
    raises it if a choice uses a claim that serves as evidence, or if no choice uses a calibration
    check.
    """
    checks = {claim.id for claim in claims if claim.calibration}
    used = {name for choice in choices for name in choice.on}
    for choice in choices:
        if choice.calibration != bool(choice.on or choice.cells):
            raise ValueError(f"choice {choice.item}: `on` or `cells` belong to a calibration")
    if wrong := used - checks:
        raise ValueError(f"a choice uses {', '.join(sorted(wrong))}: no calibration check")
    if choices and (alone := checks - used):
        raise ValueError(f"no choice uses the calibration check {', '.join(sorted(alone))}")


def _precision(row: Mapping[str, Any]) -> Precision:
    for key in sorted(_PRECISION):
        _need(row, key, f"precision {row.get('of', '')}")
    if unknown := row.keys() - _PRECISION:
        raise ValueError(f"precision {row['of']}: {', '.join(sorted(unknown))} is no key of it")
    return Precision(**row)


def _items(rows: Sequence[Mapping[str, Any]]) -> dict[str, Item]:
    for row in rows:
        for key in ("title", "where"):
            _need(row, key, row["id"])
    return {row["id"]: Item(row["id"], row["title"], row["where"], row) for row in rows}


def _need(row: Mapping[str, Any], key: str, of: str) -> str:
    if key not in row:
        raise ValueError(f"the record lacks {key!r} of {of}")
    return str(row[key])
