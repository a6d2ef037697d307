"""Parquet files of the traces of a run, written while the run goes on.

Memory does not grow with the length of the run, because the engine passes its tables on in pieces.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from farlink import _farlink, columns, registry
from farlink.trace import PACKETS, binned, round_bin

if TYPE_CHECKING:
    from farlink._farlink import Measures
    from farlink.api import Progress
    from farlink.columns import Array, Texts

__all__ = ["Written", "write"]


@dataclass(frozen=True)
class Written:
    """Files of a run's traces, with its numbers, captures, and key log and qlog files of QUIC."""

    measures: "Measures"
    pcaps: dict[str, bytes]
    paths: list[Path]
    secrets: str
    qlogs: dict[str, str]


def write(
    scenario: str,
    directory: Path,
    *,
    run: int = 0,
    snaplen: int | None = None,
    progress: "Progress | None" = None,
) -> Written:
    """Simulate a run, and write all its traces except packets to the existing `directory`.

    With `snaplen` the packets of each capture point are returned, with at most that many bytes
    each. On an error some files are incomplete, so the caller must remove `directory`.
    """
    kinds = [
        kind for kind in registry.traces().values() if kind.name not in (PACKETS, "throughput")
    ]
    raw = _farlink.trace_files(
        scenario,
        run=run,
        snaplen=snaplen,
        packets=False,
        files=[_file(directory, kind) for kind in kinds],
        progress=progress,
    )
    table = columns.build(_throughput(raw))
    kind = registry.traces()["throughput"]
    metadata = columns.pandas_metadata(columns.layout(table), kind.units)
    _path(directory, kind).write_bytes(columns.to_parquet(table, metadata))
    paths = [_path(directory, kind) for kind in [*kinds, kind]]
    secrets, qlogs = raw.get("secrets", ""), dict(raw.get("qlogs", {}))
    return Written(raw["measures"], dict(raw["pcaps"]), paths, secrets, qlogs)


def _file(directory: Path, kind: registry.TraceKind) -> "_farlink.TraceFile":
    layout = [item for item in _farlink.trace_columns(kind.table) if item[0] in kind.units]
    metadata = columns.pandas_metadata(layout, kind.units)
    return _path(directory, kind), kind.table, list(kind.units), list(metadata.items())


def _path(directory: Path, kind: registry.TraceKind) -> Path:
    return directory / f"{kind.name}.parquet"


def _throughput(raw: "_farlink.TraceBins") -> "dict[str, Array | Texts]":
    """Return the trace throughput. The width of the engine's bins divides the width of its bins."""
    bins, simulated_s = raw["bins"], raw["measures"].simulated_s
    width = round_bin(simulated_s)
    link, direction = (columns.array(bins, name) for name in ("link", "direction"))
    assert isinstance(link, columns.Texts)
    assert isinstance(direction, columns.Texts)
    number = columns.array(bins, "bin")
    assert not isinstance(number, columns.Texts)
    number = number // (round(width * 1e9) // raw["width_ns"])
    return binned(link, direction, number, columns.numbers(bins, "bytes"), width, simulated_s)
