"""netem: a shell script that changes delay, loss and rate of a device by tc at each row."""

import re
from collections.abc import Iterator, Sequence

from farlink.recordings.build import Settings, Source
from farlink.recordings.document import (
    COLUMNS,
    MOST,
    MOST_ROWS,
    Column,
    Direction,
    Recording,
    Traffic,
    rounded,
)
from farlink.recordings.mahimahi import direction_of
from farlink.recordings.reading import Input, fault, number, whole

__all__ = ["load", "script"]

_BEGIN = "done <<'ROWS'"
_END = "ROWS"
_STEP = re.compile(r"# step (\d{1,9}) ms, (\d{1,9}) rows, direction (down|up)")
_LIMIT = 100_000
"""Packets that netem may hold; its default of 1000 is below a bandwidth-delay product."""

_SCRIPT = """\
#!/bin/sh
# {source}
# step {step} ms, {rows} rows, direction {direction}
# Usage: sudo sh {direction}.sh DEVICE. Each row: ms, delay (us), loss (%), rate (bit/s).
set -eu
device=${{1:?usage: sh {direction}.sh DEVICE}}
trap 'tc qdisc del dev "$device" root' EXIT
trap 'exit 130' INT TERM
begun=$(($(date +%s%N) / 1000000))
while read -r at delay loss rate; do
  left=$((begun + at - $(date +%s%N) / 1000000))
  if [ "$left" -gt 0 ]; then
    sleep "$((left / 1000)).$(printf %03d $((left % 1000)))"
  fi
  tc qdisc replace dev "$device" root netem limit {limit} \\
    delay "${{delay}}us" loss "$loss%" rate "${{rate}}bit"
"""


def script(recording: Recording, direction: str) -> Iterator[str]:
    """Yield the script of one direction; rows that change nothing are left out."""
    step = round(recording.step * 1e3)
    source = "".join(c if c.isprintable() else "?" for c in recording.source)
    yield _SCRIPT.format(
        source=f"{source}; licence: {recording.licence}",
        step=step,
        rows=recording.rows,
        direction=direction,
        limit=_LIMIT,
    )
    yield f"{_BEGIN}\n"
    before = ""
    for row, values in enumerate(_values(recording, dict(recording.directions)[direction])):
        rate, delay, loss = values
        # netem takes a rate of 0 for an unlimited one, so an outage loses everything.
        lost = 100.0 if rate == 0 else 100 * loss
        text = f"{round(1e6 * delay)} {lost:.4f} {max(1, round(rate))}"
        if text != before:
            yield f"{row * step} {text}\n"
        before = text
    # The last row holds for a row, and then the device is as before.
    yield f"{recording.rows * step} {before}\n{_END}\n"


def _values(recording: Recording, direction: Direction) -> Iterator[tuple[float, float, float]]:
    import numpy as np

    columns = []
    for name in COLUMNS:
        column = direction.column(name)
        values = column.values
        columns.append(np.full(recording.rows, column.mean) if values is None else values)
    yield from zip(*(values.tolist() for values in columns), strict=True)


def load(sources: Sequence[Input], settings: Settings) -> Recording:
    """Read scripts that farlink exported, one for each direction."""
    heads = [_head(source) for source in sources]
    if len({head[:2] for head in heads}) > 1 or len({head[2] for head in heads}) < len(heads):
        raise fault(sources[-1], None, "has another step, length or the same direction")
    step_ms, rows, _ = heads[0]
    made = {}
    for source, (_, _, direction) in zip(sources, heads, strict=True):
        made[direction] = _read(source, step_ms, rows)
    missing = {"down", "up"} - set(made)
    if missing:
        raise fault(
            sources[0], None, f"gives one direction; give the script of {missing.pop()} too"
        )
    return Recording(
        name=settings.name,
        kind="netem",
        source=settings.source or Source().source,
        licence=settings.licence or Source().licence,
        step=step_ms / 1e3,
        rows=rows,
        down=made["down"],
        up=made["up"],
        files=tuple(source.description() for source in sources),
    )


def _head(source: Input) -> tuple[int, int, str]:
    match = next(filter(None, map(_STEP.fullmatch, source.text.splitlines()[:10])), None)
    if match is None:
        name = direction_of(source.name) or "down"
        raise fault(
            source, None, f"no line such as '# step 100 ms, 600 rows, direction {name}' in its head"
        )
    step = whole(source, None, "step", match[1], 1, 10**9)
    return step, whole(source, None, "rows", match[2], 1, MOST_ROWS), match[3]


def _read(source: Input, step_ms: int, rows: int) -> Direction:
    import numpy as np

    lines = source.text.splitlines()
    if _BEGIN not in lines:
        raise fault(source, None, f"no line {_BEGIN!r} before the rows")
    begin = lines.index(_BEGIN) + 1
    values = np.full((rows, 3), np.nan)
    last = -1
    for count, text in enumerate(lines[begin:], begin + 1):
        if text == _END:
            break
        cells = text.split()
        if len(cells) != 4:
            raise fault(source, count, f"{len(cells)} values; a row has 4")
        at = whole(source, count, "time", cells[0], 0, 10**13)
        row, rest = divmod(at, step_ms)
        if rest or row <= last or row > rows:
            raise fault(source, count, f"time {at} ms is no later multiple of {step_ms} ms")
        last = row
        delay = whole(source, count, "delay", cells[1], 0, round(1e6 * MOST["delay"])) / 1e6
        loss = number(source, count, "loss", cells[2], 0, 100) / 100
        rate = float(whole(source, count, "rate", cells[3], 1, round(MOST["rate"])))
        # A rate of 1 bit/s with everything lost is the mark of an outage.
        values[row:] = (0.0, delay, 0.0) if rate == 1 and loss == 1 else (rate, delay, loss)
    else:
        raise fault(source, None, f"the rows do not end with {_END!r}")
    if last != rows or bool(np.isnan(values).any()):
        raise fault(source, None, f"the rows do not reach from 0 to {rows * step_ms} ms")
    if not values[:, 0].any():
        raise fault(source, None, "the rate is 0 in every row")
    columns = {
        name: Column("measured", "the rows of a netem script", values=rounded(name, values[:, at]))
        for at, name in enumerate(COLUMNS)
    }
    traffic = Traffic("nothing", None, None, None, "unknown: a script has values only")
    return Direction.of(columns, traffic)
