"""Verdicts of a study as tables."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    from farlink.studies.archive import StudyResult
    from farlink.studies.inference import Inferred
    from farlink.studies.judge import Judgement
    from farlink.studies.live import Live
    from farlink.views.page import Sink

__all__ = ["_table", "account_lines", "show", "show_inferred", "show_tables"]


_STYLES = {
    "reproduced": "green",
    "order only": "cyan",
    "tie": "cyan",
    "not reproduced": "red",
    "failed": "bold red",
}


def show(result: "StudyResult", out: "Sink") -> None:
    """Print a line per claim with its verdict, and a summary of the runs."""
    from rich.text import Text

    from farlink.studies.outcome import count, headline, kind, outcome

    if result.judgements:
        table = _table("claim", "outcome", "strength", "what it hangs on")
        for judgement in result.judgements:
            name = judgement.claim.id.removeprefix(f"{result.study.id}.")
            result_text = Text(outcome(judgement).value, style=_STYLES.get(judgement.status, ""))
            table.add_row(name, result_text, kind(judgement.claim), judgement.key)
        out.print(table)
        out.print(headline(count(result.judgements)), soft_wrap=True)
        out.print(f"All claims: {result.summary}", soft_wrap=True)
        for line in account_lines(result.judgements):
            out.print(line, soft_wrap=True)
    out.print(
        f"{result.study.id}, seed {result.seed}, {result.runs} runs of a point"
        f"{', quick' if result.quick else ''}; {result.simulated_runs:,} runs, "
        f"{result.events:,} events in {result.wall_s:.1f} s",
        soft_wrap=True,
    )

    if result.live is not None:
        _show_live(result.live, result, out)


def account_lines(judgements: "Iterable[Judgement]") -> list[str]:
    """Return a line per outcome of the strong claims that the runs do not meet."""
    from farlink.studies.outcome import account_table

    return [
        f"Strong claims, {item.value}: "
        + ", ".join(f"{number} {status.value}" for status, number in row.items())
        for item, row in account_table(judgements).items()
    ]


_SHADES = ("green", "yellow", "yellow", "dark_orange", "red", "bold red")


def show_tables(result: "StudyResult", out: "Sink") -> None:
    """Print each printed table cell by cell: printed value, ours, and their ratio."""
    from rich.text import Text

    for name, grid in result.grids.items():
        table = _folded(name, *grid.columns)
        for row in grid.rows:
            texts = []
            for column in grid.columns:
                cell = grid.cells.get((row, column))
                if cell is None:
                    texts.append(Text(""))
                    continue
                ratio = f" ({cell.ratio:.3g})" if cell.ratio == cell.ratio else ""
                style = _SHADES[cell.shade] if cell.shade >= 0 else "dim"
                texts.append(Text(f"{cell.printed} | {cell.shown}{ratio}", style=style))
            unit = grid.units.get(row, "")
            table.add_row(f"{row} ({unit})" if unit else row, *texts)
        out.print(table)
        line = grid.agreement.text if grid.kind != "inputs" else "parameters, no evidence"
        out.print(f"{name}: {grid.kind}: {line}" if grid.kind == "computed" else f"{name}: {line}")
        if grid.note:
            out.print(grid.note, soft_wrap=True)


def show_inferred(result: "Inferred", out: "Sink") -> None:
    """Print the agreement of both halves, and the levels of the unknowns."""
    halves = _table("half", "model", "cells", "agree", "ours / printed", "factor")
    for row in result.halves:
        numbers = str(row.cells), str(row.agree), f"{row.ratio:.3g}", f"{row.factor:.3g}"
        halves.add_row(row.half, row.model, *numbers)
    out.print(halves)
    levels = _folded("unknown", "as chosen", "most likely", "posterior", "excluded", "importance")
    for name, best in result.best.items():
        levels.add_row(
            name,
            str(result.chosen[name]),
            str(best),
            _posterior(result, name),
            ", ".join(result.excluded.get(name, ())),
            f"{result.importance[name][1]:.2f}",
        )
    out.print(levels)
    out.print(
        f"{result.study}, {result.trials} trials, {result.pruned} ended early; probability of as "
        f"few held-out cells if both halves agree alike: {result.overfitting:.2g}",
        soft_wrap=True,
    )


def _posterior(result: "Inferred", name: str) -> str:
    if name in result.ranges:
        low, _, high = result.ranges[name]
        return f"{low:.4g} to {high:.4g}"
    return ", ".join(f"{level}: {share:.0%}" for level, share in result.shares[name].items())


def _show_live(live: "Live", result: "StudyResult", out: "Sink") -> None:
    """Print the results of real packets, with their verdicts next to the simulated ones."""
    from rich.text import Text

    made = live.table
    # Columns are in order of importance: in a narrow terminal the text is folded.
    table = _table(
        "point", "sender", "measure", "published", "simulated", "live", "live / simulated"
    )
    for row in made.rows:
        point, sender, measure, printed, _, matched, real, ratio = row
        table.add_row(point, sender, measure, printed, matched, real, ratio)
    out.print(table)
    simulated = {judgement.claim.id: judgement.status for judgement in result.judgements}
    verdicts = _table("claim", "live", "simulated", "what live hangs on")
    for judgement in live.judgements:
        name = judgement.claim.id.removeprefix(f"{result.study.id}.")
        status = Text(judgement.status, style=_STYLES.get(judgement.status, ""))
        verdicts.add_row(name, status, simulated.get(judgement.claim.id, ""), judgement.key)
    out.print(verdicts)
    for note in live.notes:
        out.print(note, soft_wrap=True)
    out.print(
        f"live: {live.kernel}, {live.runs} runs of a point, {live.wall_s:.0f} s; one packet in a "
        f"hundred at most {1e3 * live.late_p99_s:.1f} ms late",
        soft_wrap=True,
    )
    if live.behind:
        out.print("WARNING: the emulator fell behind the clock", soft_wrap=True)


def _folded(*titles: str) -> Any:  # noqa: ANN401
    """Return a table whose columns all fold in a narrow terminal."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for title in titles:
        table.add_column(title, overflow="fold")
    return table


def _table(*titles: str) -> Any:  # noqa: ANN401 (rich is imported when it is needed)
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for title in titles[:-1]:
        table.add_column(title, no_wrap=True)
    table.add_column(titles[-1], overflow="fold")
    return table
