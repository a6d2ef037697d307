"""Recordings as tables and as JSON."""

from typing import TYPE_CHECKING

from farlink.recordings.document import COLUMNS

if TYPE_CHECKING:
    from farlink.recordings import Phases, Recording, Traffic
    from farlink.views.page import Sink

__all__ = ["described", "show"]

_UNITS = {"rate": (1e6, "Mbit/s"), "delay": (1e-3, "ms"), "loss": (1e-2, "%")}


def described(recording: "Recording") -> dict[str, object]:
    """Return the summary of a recording for JSON."""
    phases = recording.phases
    return {
        "name": recording.name,
        "kind": recording.kind,
        "source": recording.source,
        "licence": recording.licence,
        "start": None if recording.start is None else recording.start.isoformat(),
        "length_s": recording.length,
        "step_s": recording.step,
        "rows": recording.rows,
        "keep_order": recording.keep_order,
        "notes": list(recording.notes),
        "phases": None
        if phases is None
        else {
            "origin": phases.origin,
            "by": phases.by,
            "period_s": phases.period,
            "first_s": phases.first,
            "changed": phases.changed,
            "starts_s": [round(float(row) * recording.step, 3) for row in phases.starts],
        },
        **{
            name: {
                **{
                    column: {
                        "origin": direction.column(column).origin,
                        "by": direction.column(column).by,
                        "mean": direction.column(column).mean,
                        "min": direction.column(column).bounds[0],
                        "max": direction.column(column).bounds[1],
                    }
                    for column in COLUMNS
                },
                "traffic": vars(direction.traffic),
            }
            for name, direction in recording.directions
        },
    }


def show(recording: "Recording", out: "Sink") -> None:
    """Print each column with its origin, the phases, and the dependence on traffic."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for head in ("direction", "value", "origin", "mean", "least", "most", "method"):
        table.add_column(head, justify="right" if head in ("mean", "least", "most") else "left")
    for name, direction in recording.directions:
        for column in COLUMNS:
            values = direction.column(column)
            scale, unit = _UNITS[column]
            cells = [f"{value / scale:.4g} {unit}" for value in (values.mean, *values.bounds)]
            table.add_row(name, column, values.origin, *cells, values.by)
    out.print(table)
    when = "" if recording.start is None else f" from {recording.start:%Y-%m-%d %H:%M:%S} UTC"
    out.print(
        f"{recording.kind}: {recording.length:g} s{when}, {recording.rows:,} rows of "
        f"{1e3 * recording.step:g} ms",
        soft_wrap=True,
    )
    out.print(f"source: {recording.source}; licence: {recording.licence}", soft_wrap=True)
    out.print(f"phases: {_phases(recording.phases, recording)}", soft_wrap=True)
    lines: dict[str, list[str]] = {}
    for name, direction in recording.directions:
        lines.setdefault(_traffic(direction.traffic), []).append(name)
    for line, names in lines.items():
        out.print(f"traffic {' and '.join(names)}: {line}", soft_wrap=True)
    for note in recording.notes:
        out.print(f"note: {note}", soft_wrap=True)


def _traffic(traffic: "Traffic") -> str:
    high = traffic.queueing
    queue = "" if high is None else f"; at most {100 * high:.0f} % of the delay is queueing"
    return f"{traffic.by}{queue}; {traffic.effect}"


def _phases(phases: "Phases | None", recording: "Recording") -> str:
    if phases is None:
        return "none found"
    if phases.period is None:
        return f"{len(phases.starts)} changes of path ({phases.origin})"
    clock = "the minute" if recording.start is not None else "the start"
    return (
        f"{len(phases.starts)} boundaries every {phases.period:g} s, the first "
        f"{phases.first:g} s past {clock} ({phases.origin}); the delay changed at {phases.changed}"
    )
