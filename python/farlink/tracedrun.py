"""A single run whose result and traces come from one simulation."""

import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from farlink import files, folder, source, tracefiles
from farlink.result import Result, save_captures

if TYPE_CHECKING:
    from farlink.api import Progress

__all__ = ["write"]


def write(
    scenario: str,
    directory: Path,
    *,
    tcp: Sequence[str] | None,
    overrides: Mapping[str, object],
    seed: int | None,
    runs: int | None,
    snaplen: int | None = None,
    progress: "Progress | None" = None,
) -> Result | None:
    """Simulate a scenario once, and write its result and traces like `Result.save`.

    Traces do not change a run, so its numbers are those of `farlink.run`. Returns None, and
    simulates nothing, if there are several runs or TCPs.
    """
    where = source.find(scenario)
    if (runs if runs is not None else (where.runs or 1)) != 1:
        return None
    texts = where.resolve(tcp, source.changes(overrides, seed))
    if len(texts) != 1:
        return None
    with folder.filling(directory, last="result.json") as stage:
        [(name, text)] = texts.items()
        place = files.inside(stage, name)
        place.mkdir(parents=True)
        started = time.perf_counter()
        traced = tracefiles.write(text, place, snaplen=snaplen, progress=progress)
        wall_s = time.perf_counter() - started
        result = Result.of_runs({name: json.loads(text)}, {name: traced.measures}, wall_s)
        result.to_json(stage / "result.json")
        save_captures(place, traced)
    return result
