"""Document of a recorded inference, as Markdown: the most probable levels of the unknowns."""

import math
from collections.abc import Iterable, Mapping, Sequence

from farlink.studies.inference.record import Half, Inferred
from farlink.studies.inference.unknowns import Unknown
from farlink.studies.quantity import short

__all__ = ["markdown"]

_INTRODUCTION = """The text leaves {unknowns} parameters of the model open. They are fitted to
half of the printed cells, and the other half judges the fit ([method and
columns](../studies.md#forensics-what-the-authors-probably-ran)).
"""

_SEARCH = """Of {trials} trials {pruned} ended early. Over the fitted cells the best trial is more
likely than the model as chosen by {gain:.1f} (natural logarithm). The numbers below
are of fresh runs.
"""

_OVERFITTING = """The probability of as few held-out cells, if both halves agree alike, is {p:.2g}
(Fisher's exact test, one-sided).
"""

_POSTERIOR = """The posterior's draws count as {effective:.0f} independent ones. The model of the
study does not use the inferred levels.
"""

_HALVES = ("half", "model", "cells", "within the precision", "ours / printed", "typical factor")
_PARAMETERS = (
    *("parameter", "where", "open because", "as chosen"),
    *("most likely", "posterior", "excluded", "importance"),
)


def markdown(result: Inferred, members: Sequence[Unknown], author: str) -> str:
    """Return the document of an inference.

    Parameters
    ----------
    result
        Recorded result.
    members
        Unknowns of the study's record, for their meaning and reasons.
    author
        Authors and year, for the title.
    """
    cells = [
        [
            row.cell + (" (c)" if row.used else ""),
            row.half,
            f"{row.printed:g}",
            _marked(row.chosen, agrees=row.chosen_agrees),
            _marked(row.inferred, agrees=row.inferred_agrees),
        ]
        for row in result.cells
    ]
    parts = [
        f"# What the authors probably ran: {author}\n",
        _INTRODUCTION.format(unknowns=len(members)),
        f"```sh\n{result.command}    # {result.date}, farlink {result.version}\n```\n",
        _SEARCH.format(trials=result.trials, pruned=result.pruned, gain=result.gain),
        "## Agreement of both halves\n",
        _table(_HALVES, (_half(row) for row in result.halves)),
        _carried(result),
        _OVERFITTING.format(p=result.overfitting),
        "## Parameters\n",
        _table(_PARAMETERS, (_row(item, result) for item in members)),
        _POSTERIOR.format(effective=result.effective),
        "## Cells\n",
        _table(["cell", "half", "printed", "as chosen", "inferred"], cells),
        "Bold values are within the precision of the print, and cells with (c) chose the model.",
    ]
    return "\n".join(parts)


def _carried(result: Inferred) -> str:
    """Return a sentence on the held-out half under both models."""
    before, after = (result.half("held out", model) for model in ("chosen", "inferred"))
    helps = after.factor < before.factor and after.agree >= before.agree
    worse = after.factor >= before.factor and after.agree <= before.agree
    verdict = "an improvement" if helps else "no improvement" if worse else "no clear improvement"
    return (
        f"In the held-out half the typical factor changes from {short(before.factor, 3)} to "
        f"{short(after.factor, 3)},\nand the number of cells within the precision from "
        f"{before.agree} to {after.agree}. The inferred levels are {verdict}.\n"
    )


def _half(row: Half) -> list[str]:
    share = f"{row.agree} ({row.agree / row.cells:.0%})" if row.cells else "-"
    return [row.half, row.model, str(row.cells), share, short(row.ratio, 3), short(row.factor, 3)]


def _row(item: Unknown, result: Inferred) -> list[str]:
    if item.id in result.ranges:
        low, _, high = result.ranges[item.id]
        unit = f" {item.knob.unit}" if item.knob.unit else ""
        ranges = f"{short(low, 3)} to {short(high, 3)}{unit}"
    else:
        ranges = _shares(result.shares[item.id])
    return [
        f"{item.id}: {item.doc}",
        item.where,
        item.why,
        str(item.chosen),
        str(result.best[item.id]),
        ranges,
        ", ".join(result.excluded.get(item.id, [])),
        f"{result.importance[item.id][1]:.2f}",
    ]


def _shares(shares: Mapping[str, float]) -> str:
    order = sorted(shares, key=lambda name: -shares[name])
    return ", ".join(f"{name}: {shares[name]:.0%}" for name in order)


def _marked(value: float, *, agrees: bool) -> str:
    text = short(value, 4) if math.isfinite(value) else "-"
    return f"**{text}**" if agrees else text


def _table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(titles)} |", f"|{'---|' * len(titles)}"]
    lines += [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join(lines) + "\n"
