"""Writes the HTML page of a study and the files with its numbers."""

import base64
import json
import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from farlink import files
from farlink.pictures import optional
from farlink.plot.style import save
from farlink.studies.account import Accounted, AccountStatus
from farlink.studies.controls import NegativeControl
from farlink.studies.draw import numbers
from farlink.studies.grid import Grid, frame
from farlink.studies.judge import Finding, Judgement
from farlink.studies.outcome import (
    Outcome,
    account_counts,
    account_table,
    count,
    fitted,
    headline,
    kind,
    outcome,
    outcome_of,
    summary,
    unused,
)
from farlink.studies.quantity import Evidence, short
from farlink.studies.study import STRENGTHS, Claim, Curves, Drawing, Item, Table

if TYPE_CHECKING:
    import pandas as pd
    from jinja2 import Environment

    from farlink.studies.archive import Made, StudyResult
    from farlink.studies.live import Live

__all__ = ["FORMAT", "document", "environment", "render", "write"]

FORMAT = "farlink-study/3"
"""Version of the format of verdicts.json."""

_LARGEST_SVG = 1_500_000
"""Largest SVG (bytes) on the page; larger figures are embedded as PNG."""

# Keys of a figure's or table's entry that hold no published numbers.
_SHOWN = {"id", "title", "where", "note", "kind", "content", "full", "cells", "published"}
_SHOWN |= {"points", "x", "y", "over", "series", "x_label", "x_scale", "log_x", "log_y"}


def write(result: "StudyResult", directory: Path) -> list[Path]:
    """Write all files of a result; see `StudyResult.save`."""
    files.check_directory(directory)
    written: list[Path] = []
    pictures = {}
    for name, make in result.figure_makers.items():
        with optional(name):
            png, svg = save(make(), directory / "figures" / name)
            written += [png, svg]
            pictures[name] = _embedded(svg if svg.stat().st_size <= _LARGEST_SVG else png)
        for suffix, table in _numbers(result.made[name]).items():
            written.append(_csv(table, directory / "figures" / f"{name}{suffix}.csv"))
    for name, made in result.made.items():
        if isinstance(made.content, Table):
            written.append(_csv(_frame(made.content), directory / "tables" / f"{name}.csv"))
        if isinstance(made.content, Grid):
            written.append(_csv(frame(made.content), directory / "tables" / f"{name}.csv"))
    if result.live:
        written.append(_csv(_frame(result.live.table), directory / "live.csv"))
    written.append(_csv(result.verdicts.reset_index(), directory / "verdicts.csv"))
    for name, content in (
        ("verdicts.json", json.dumps(document(result), indent=1, allow_nan=False) + "\n"),
        ("index.html", render(result, pictures)),
    ):
        files.write_text(directory / name, content)
        written.append(directory / name)
    return written


def document(result: "StudyResult") -> dict[str, Any]:
    """Return the content of verdicts.json."""
    return {
        "format": FORMAT,
        "study": result.study.id,
        "version": result.version,
        "command": result.command,
        "seed": result.seed,
        "runs": result.runs,
        "quick": result.quick,
        "only": None if result.only is None else list(result.only),
        "readings": [reading.id for reading in result.readings],
        "simulated_runs": result.simulated_runs,
        "events": result.events,
        "wall_s": result.wall_s,
        "summary": result.summary,
        "outcomes": {
            name: {item.value: number for item, number in row.items()}
            for name, row in count(result.judgements).items()
        },
        "accounts": {
            status.value: number for status, number in account_counts(result.judgements).items()
        },
        "accounts_by_outcome": {
            item.value: {status.value: number for status, number in row.items()}
            for item, row in account_table(result.judgements).items()
        },
        "fitted": [
            {"item": row.choice.item, "claims": list(row.claims), "cells": list(row.cells)}
            for row in fitted(result.study)
        ],
        "precision": [vars(row) for row in result.study.precision],
        "tables": {name: _grid(item) for name, item in result.grids.items()},
        "failures": result.failures,
        "verdicts": [_verdict(judgement) for judgement in result.judgements],
        "mutants": [_mutation(mutation, result) for mutation in result.mutations],
        "live": None if result.live is None else _live(result.live),
    }


def _grid(grid: Grid) -> dict[str, Any]:
    """Return the agreement of a printed table for verdicts.json."""
    numbers = grid.agreement
    return {
        "kind": grid.kind,
        "printed": numbers.printed,
        "cells": numbers.cells,
        "agree": numbers.agree,
        "used": numbers.used,
        "ratio": _finite(numbers.ratio),
        "factor": _finite(numbers.factor),
    }


def _live(live: "Live") -> dict[str, Any]:
    """Return the emulated results for verdicts.json."""
    return {
        "kernel": live.kernel,
        "runs": live.runs,
        "late_p99_s": live.late_p99_s,
        "notes": list(live.notes),
        "summary": summary(live.judgements),
        "verdicts": [_verdict(judgement) for judgement in live.judgements],
        "rows": [
            {
                "point": row.label,
                "sender": row.sender,
                "measure": row.measure,
                "published": row.published,
                "simulated_as_in_the_study": None if row.study is None else _finite(row.study.mean),
                "simulated": row.matched.values.tolist(),  # noqa: PD011
                "live": row.live.values.tolist(),  # noqa: PD011
                "live_over_simulated": row.verdict,
                "late_p99_s": row.late_p99_s,
            }
            for row in live.rows
        ],
    }


def render(result: "StudyResult", pictures: Mapping[str, str]) -> str:
    """Return the page as HTML; `pictures` has the figures as data URIs, by id."""
    sections, loose = _sections(result)
    wrong = [
        judgement
        for judgement in result.judgements
        if judgement.cause
        or judgement.accounted
        or judgement.status == "not reproduced"
        or (judgement.fails and judgement.claim.strength == STRENGTHS[0])
    ]
    counts = count(result.judgements)
    return (
        environment()
        .get_template("page.html")
        .render(
            result=result,
            study=result.study.record["study"],
            sections=sections,
            loose=loose,
            wrong=[item for item in wrong if not item.claim.calibration],
            outcomes=[item for item in Outcome if any(item in row for row in counts.values())],
            counts=counts,
            headline=headline(counts),
            accounts=account_table(result.judgements),
            states=AccountStatus,
            precision=result.study.precision,
            grids=result.grids,
            unused=unused(result),
            kinds={item.claim.id: kind(item.claim) for item in result.judgements},
            results={item.claim.id: outcome(item) for item in result.judgements},
            outcome_of=outcome_of,
            sensitive=_sensitive(result),
            mutations=[_mutation(mutation, result) for mutation in result.mutations],
            live=result.live,
            live_verdicts=_beside(result),
            live_summary=summary(result.live.judgements) if result.live else "",
            pictures=pictures,
            choices=result.study.choices,
            reproduced=lambda name: sum(
                judgement.findings[name].verdict.value == "reproduced"
                for judgement in result.judgements
                if name in judgement.findings
            ),
        )
    )


def _sensitive(result: "StudyResult") -> "list[Judgement]":
    """Return the claims that were judged under further interpretations of `--readings`."""
    others = {reading.id for reading in result.readings[1:]}
    return [judgement for judgement in result.judgements if others & judgement.findings.keys()]


def _beside(result: "StudyResult") -> "list[tuple[Judgement, str]]":
    """Return judgements on emulated values, each with the verdict of the simulation."""
    simulated = {judgement.claim.id: judgement.status for judgement in result.judgements}
    live = result.live.judgements if result.live else ()
    return [(row, simulated.get(row.claim.id, "")) for row in live]


def environment() -> "Environment":
    """Return the Jinja environment of the pages of studies."""
    from jinja2 import Environment, PackageLoader

    made = Environment(
        loader=PackageLoader("farlink.studies"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {"published": _published, "slug": _slug, "p": _p, "number": _number}
    return made


def _mutation(mutation: NegativeControl, result: "StudyResult") -> dict[str, Any]:
    turned = mutation.turned(result.judgements)
    return {
        "id": mutation.control.id,
        "doc": mutation.control.doc,
        "turned": turned,
        "undecided": mutation.opened(result.judgements),
        "green": mutation.green_free,
        "judged": mutation.judged,
        "unnoticed": mutation.unnoticed,
    }


def _sections(result: "StudyResult") -> "tuple[list[dict[str, Any]], list[Judgement]]":
    """Return tables and figures, each with its claims, and the claims without a table or figure."""
    sections = []
    for name, made in result.made.items():
        content = made.content
        sections.append(
            {
                "made": made,
                "table": content if isinstance(content, Table) else None,
                "grid": content if isinstance(content, Grid) else None,
                # The picture of curves contains its heading and note.
                "heading": "" if isinstance(content, Curves) else result.heading(made.item),
                "curves": isinstance(content, Curves),
                "drawn": isinstance(content, Curves | Drawing),
                "csv": _files(name, made),
                "note": "" if isinstance(content, Curves) else getattr(content, "note", ""),
                "judgements": (mine := [j for j in result.judgements if j.claim.figure == name]),
                "headline": _headline(mine),
            }
        )
    loose = [
        judgement for judgement in result.judgements if judgement.claim.figure not in result.made
    ]
    return sections, loose


def _headline(judgements: Sequence[Judgement]) -> list[str]:
    """Return published and simulated numbers, or else the deciding comparison of a claim."""
    lines = [
        f"{row.what}: published {_number(row.published)} {row.unit}".rstrip()
        + f", ours {row.ours.text}"
        for judgement in judgements
        if judgement.first is not None
        for row in judgement.first.rows
    ]
    keys = [judgement.key for judgement in judgements if judgement.first is not None]
    return list(dict.fromkeys(lines)) or keys[:1]


_NAMES = {"y_range": "published axis", "x_range": "published abscissa"}


def _published(item: Item) -> list[str]:
    """Return the published numbers of a figure or table in the record, one line each."""
    lines: list[str] = []
    for key, value in item.data.items():
        # The table itself shows published rows next to simulated ones.
        if key in _SHOWN or (isinstance(value, list) and any(isinstance(v, list) for v in value)):
            continue
        if isinstance(value, list) and value and all(isinstance(entry, str) for entry in value):
            lines += value
        elif isinstance(value, list):
            ends = " to ".join(f"{entry:g}" for entry in value)
            lines.append(f"{_NAMES.get(key, key.replace('_', ' '))}: {ends}")
        else:
            lines.append(str(value))
    return lines


def _number(value: float) -> str:
    return "-" if math.isnan(value) else short(value, 4)


def _p(value: float) -> str:
    return f"{value:.2g}" if value >= 1e-4 else "< 0.0001"


def _slug(name: str) -> str:
    return re.sub(r"[^\w.-]", "-", name)


def _verdict(judgement: Judgement) -> dict[str, Any]:
    claim: Claim = judgement.claim
    return {
        "id": claim.id,
        "figure": claim.figure,
        "where": claim.where,
        "says": claim.title,
        "strength": claim.strength,
        "calibration": claim.calibration,
        "outcome": outcome(judgement).value,
        "rests_on": None if judgement.ground is None else judgement.ground.value,
        "order": None if claim.order is None else claim.order.text,
        "number": None if claim.number is None else claim.number.text,
        "published": claim.published,
        "tolerance": claim.tolerance,
        "verdict": judgement.status,
        "key": judgement.key,
        "cause": judgement.cause,
        "shown_by": [
            {"reading": name, "verdict": verdict, "key": key}
            for name, verdict, key in judgement.cause_evidence
        ],
        "account": None if judgement.account is None else judgement.account.value,
        "accounts": [_accounted(row) for row in judgement.accounted],
        "findings": {name: _finding(finding) for name, finding in judgement.findings.items()},
    }


def _accounted(row: Accounted) -> dict[str, Any]:
    return {
        "status": row.status.value,
        "reading": row.account.reading,
        "arithmetic": None if row.account.arithmetic is None else row.account.arithmetic.text,
        "says": row.account.text,
        "needs": row.account.needs,
        "key": row.key,
    }


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        "verdict": finding.verdict.value,
        "runs": finding.runs,
        "level": finding.level,
        "order": None if finding.order is None else _evidence(finding.order),
        "number": None if finding.number is None else _evidence(finding.number),
        "compare": [
            {
                "what": row.what,
                "published": row.published,
                "unit": row.unit,
                "ours": _finite(row.ours.mean),
                "ratio": _finite(row.ratio),
            }
            for row in finding.rows
        ],
    }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _evidence(evidence: Evidence) -> dict[str, Any]:
    return {
        "verdict": evidence.verdict.value,
        "p_for": evidence.p_for,
        "p_against": evidence.p_against,
        "key": evidence.key,
        "details": list(evidence.details),
    }


def _files(name: str, made: "Made") -> list[str]:
    """Return the files with the numbers of a figure or table, relative to the page."""
    if isinstance(made.content, Grid | Table):
        return [f"tables/{name}.csv"]
    return [f"figures/{name}{suffix}.csv" for suffix in _numbers(made)]


def _numbers(made: "Made") -> "dict[str, pd.DataFrame]":
    """Return the tables of a figure, by suffix of the file's name."""
    if isinstance(made.content, Curves):
        return {"": numbers(made.content)}
    if isinstance(made.content, Drawing):
        tables = made.content.tables
        return {
            f"-{_slug(name)}" if len(tables) > 1 else "": table for name, table in tables.items()
        }
    return {}


def _frame(table: Table) -> "pd.DataFrame":
    import pandas as pd

    columns: Sequence[str] = list(table.columns)
    frame = pd.DataFrame([list(row) for row in table.rows], columns=pd.Index(columns))
    return frame if table.agrees is None else frame.assign(agrees=list(table.agrees))


def _csv(table: "pd.DataFrame", path: Path) -> Path:
    files.write_text(path, table.to_csv(index=False))
    return path


def _embedded(path: Path) -> str:
    kind = "svg+xml" if path.suffix == ".svg" else "png"
    return f"data:image/{kind};base64,{base64.b64encode(path.read_bytes()).decode()}"
