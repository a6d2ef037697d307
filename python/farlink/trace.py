"""Traces of one run as tables: what was sent, acknowledged, lost and queued, and when."""

import json
import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from farlink import files, registry
from farlink.checks import text_of
from farlink.errors import ScenarioError
from farlink.measures import rows_of, values_of

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    import pyarrow as pa

    from farlink._farlink import TraceTables

    _Array = np.ndarray[Any, np.dtype[Any]]

__all__ = ["FORMATS", "NAMES", "Trace", "round_bin"]

FORMATS = ("parquet", "csv")
"""What tables can be written as."""

_MOST_BINS = 1_000_000

NAMES = tuple(registry.traces())
"""Names of the traces; docs/results.md says what each holds."""


class Trace:
    """Run with its probes on.

    `measures` and `outcome` have the run's numbers, `pcaps` the captured packets by capture
    point (empty if none were asked for).
    """

    def __init__(self, raw: "TraceTables") -> None:
        self.measures = raw["measures"]
        self.pcaps = dict(raw["pcaps"])
        self._raw = raw
        self._tables: dict[str, pd.DataFrame] = {}
        self._arrays: dict[str, dict[str, _Array | _Names]] = {}

    @cached_property
    def outcome(self) -> dict[str, Any]:
        """The run's numbers by flow and by direction of a link."""
        parts = {
            "flows": "results",
            "links": "links",
            "run": "fairness",
            "agents": "agents",
            "handoffs": "handoffs",
        }
        shown = {
            part: [
                {
                    **{key: row[key] for key in row if key not in ("tcp", "metrics")},
                    "metrics": {name: values_of(row, name)[0] for name in row["metrics"]},
                }
                for row in rows_of({"": self.measures}, rows)
            ]
            for part, rows in parts.items()
        }
        return {
            **{part: rows for part, rows in shown.items() if rows},
            "events": self.measures.events,
            "simulated_s": self.simulated_s,
        }

    @property
    def simulated_s(self) -> float:
        """Simulated time in seconds."""
        return self.measures.simulated_s

    def table(self, name: str, *, bin_s: float | None = None) -> "pd.DataFrame":
        """Return one trace; see `Result.trace`."""
        import pandas as pd

        kind = _kind(name, bin_s)
        if name == "throughput":
            table = pd.DataFrame(
                {
                    column: pd.Categorical.from_codes(value.codes, categories=pd.Index(value.names))
                    if isinstance(value, _Names)
                    else value
                    for column, value in self._throughput(bin_s).items()
                }
            )
            table.attrs["units"] = kind.units
            return table
        if name not in self._tables:
            batch = self._batch(kind.table)
            self._tables[name] = pd.DataFrame({unit: _column(batch, unit) for unit in kind.units})
            self._tables[name].attrs["units"] = kind.units
        return self._tables[name]

    def arrays(
        self, name: str, *, bin_s: float | None = None, where: Mapping[str, str] | None = None
    ) -> "dict[str, _Array]":
        """Return one trace as arrays, of the rows with these values; names are text.

        Other columns are numbers, NaN for none. Figures draw them: a table of pandas takes
        longer to make than most figures to draw.
        """
        kind = _kind(name, bin_s)
        columns: dict[str, _Array | _Names]
        if name == "throughput":
            columns = self._throughput(bin_s)
        else:
            if name not in self._arrays:
                batch = self._batch(kind.table)
                self._arrays[name] = {column: _array(batch.column(column)) for column in kind.units}
            columns = self._arrays[name]
        chosen = None
        for column, value in (where or {}).items():
            same = _same(columns[column], value)
            chosen = same if chosen is None else chosen & same
        if chosen is not None and chosen.all():
            chosen = None
        return {
            column: numbers.text(chosen)
            if isinstance(numbers, _Names)
            else numbers
            if chosen is None
            else numbers[chosen]
            for column, numbers in columns.items()
        }

    def write(self, directory: Path, table_format: str) -> list[Path]:
        """Write every trace to `directory`, each file whole or not at all.

        CSV puts the unit into the name of the column (`cwnd_B`, `time_s`).
        """
        if table_format not in FORMATS:
            known = " or ".join(FORMATS)
            raise ScenarioError(f"format {table_format!r} is not known; write {known}")
        written = []
        for name in NAMES:
            path = directory / f"{name}.{table_format}"
            with files.replacing(path) as temporary:
                if table_format == "parquet":
                    _write_parquet(self._arrow_table(name), temporary)
                else:
                    table = self.table(name)
                    units: dict[str, str] = table.attrs["units"]
                    header = {column: _with_unit(column, unit) for column, unit in units.items()}
                    table.rename(columns=header).to_csv(temporary, index=False)
            written.append(path)
        return written

    def _arrow_table(self, name: str) -> "pa.Table":
        """Return a trace as an Arrow table, without pandas, whose import takes 0.3 s."""
        import pyarrow as pa

        kind = registry.traces()[name]
        nullable: set[str] = set()
        if name == "throughput":
            columns = {
                column: pa.DictionaryArray.from_arrays(
                    _arrow(value.codes), _arrow_texts(value.names)
                )
                if isinstance(value, _Names)
                else _arrow(value)
                for column, value in self._throughput(None).items()
            }
        else:
            batch = self._batch(kind.table)
            columns = {column: _nan_as_null(batch.column(column)) for column in kind.units}
            nullable = {field.name for field in batch.schema if field.nullable}
        metadata = _pandas_metadata(columns, nullable, kind.units)
        return pa.table(columns).replace_schema_metadata(metadata)

    def _width(self, bin_s: float | None) -> float:
        if bin_s is None:
            return round_bin(self.simulated_s)
        least = self.simulated_s / _MOST_BINS
        with suppress(TypeError):
            if max(least, 0.0) < bin_s < math.inf:
                return float(bin_s)
        raise ScenarioError(
            f"bin_s is {text_of(bin_s)}; write seconds above {least:g}, which makes {_MOST_BINS} "
            "bins"
        )

    def _batch(self, table: str) -> "pa.RecordBatch":
        import pyarrow as pa

        return pa.record_batch(self._raw["tables"][table])

    def _throughput(self, bin_s: float | None) -> "dict[str, _Array | _Names]":
        """Bits that arrived at the far end of each link per bin, over the bin's width.

        `time` is the middle of the bin. The last bin may stick out past the end
        of the run; its width counts in full.
        """
        import numpy as np

        width = self._width(bin_s)
        batch = self._batch("deliveries")
        link, direction = batch.column("link"), batch.column("direction")
        size = _buffer(batch.column("bytes")).astype(np.float64)
        number = (_buffer(batch.column("time")) / width).astype(np.int64)
        bins = max(int(number.max(initial=-1)) + 1, math.ceil(self.simulated_s / width))
        links, directions = link.dictionary, direction.dictionary
        pairs = len(links) * len(directions)
        pair = _buffer(link.indices) * len(directions) + _buffer(direction.indices)
        bits = 8 * np.bincount(
            pair.astype(np.int64) * bins + number, weights=size, minlength=pairs * bins
        )
        used = np.flatnonzero(bits.reshape(pairs, bins).any(axis=1))
        which, way = np.divmod(np.repeat(used, bins), len(directions))
        middle = (np.arange(bins) + 0.5) * width
        return {
            "time": np.tile(middle, len(used)),
            "link": _Names(which, links.to_pylist()),
            "direction": _Names(way, directions.to_pylist()),
            "throughput": bits.reshape(pairs, bins)[used].ravel() / width,
        }


@dataclass(frozen=True)
class _Names:
    """Column of names: the place of each in a list."""

    codes: "_Array"
    names: list[str]

    def text(self, chosen: "_Array | None") -> "_Array":
        """Return the names of the chosen rows, by default of all."""
        import numpy as np

        codes = self.codes if chosen is None else self.codes[chosen]
        texts: _Array = np.array(self.names, dtype=object)[codes]
        return texts


def _kind(name: str, bin_s: float | None) -> registry.TraceKind:
    if name not in NAMES:
        raise ScenarioError(f"trace {text_of(name)} is not known; there are {', '.join(NAMES)}")
    if bin_s is not None and name != "throughput":
        raise ScenarioError(f"bin_s is for the trace 'throughput'; {name!r} is not binned")
    return registry.traces()[name]


def _array(column: "pa.Array[Any]") -> "_Array | _Names":
    """Read the buffers of a column: what pyarrow has for this imports pandas."""
    import numpy as np
    import pyarrow as pa

    if isinstance(column, pa.DictionaryArray):
        return _Names(_buffer(column.indices), column.dictionary.to_pylist())
    numbers = _buffer(column).astype(np.float64)
    if column.null_count:
        numbers[~_bits(column.buffers()[0], column)] = np.nan
    numbers.setflags(write=False)  # figures share it
    return numbers


def _buffer(column: "pa.Array[Any]") -> "_Array":
    import numpy as np

    data, kind = column.buffers()[1], str(column.type)
    if data is None:
        return np.empty(0)
    if kind == "bool":
        return _bits(data, column)
    numbers = np.frombuffer(data, np.dtype({"double": "float64"}.get(kind, kind)))
    return numbers[column.offset : column.offset + len(column)]


def _bits(data: "pa.Buffer | None", column: "pa.Array[Any]") -> "_Array":
    import numpy as np

    assert data is not None
    bits = np.unpackbits(np.frombuffer(data, np.uint8), bitorder="little")
    return bits[column.offset : column.offset + len(column)].astype(bool)


def _same(column: "_Array | _Names", value: str) -> "_Array":
    import numpy as np

    if not isinstance(column, _Names):
        return np.asarray(column == value)
    place = column.names.index(value) if value in column.names else -1
    return np.asarray(column.codes == place)


def _column(batch: "pa.RecordBatch", name: str) -> "pd.Series[Any]":
    """Take a column; whole numbers of which some may be absent stay whole."""
    import pandas as pd
    import pyarrow as pa

    column = batch.column(name)
    if batch.schema.field(name).nullable:
        column = column.to_pandas(types_mapper={pa.int64(): pd.Int64Dtype()}.get)
    else:
        column = column.to_pandas()
    return cast("pd.Series[Any]", column)


def _nan_as_null(column: "pa.Array[Any]") -> "pa.Array[Any]":
    """Return a column with null for NaN, as pandas writes it; queries skip a null."""
    import numpy as np

    if str(column.type) != "double" or column.null_count:
        return column
    numbers = _buffer(column)
    absent = np.isnan(numbers)
    return _arrow(numbers, absent) if absent.any() else column


def _arrow(numbers: "_Array", absent: "_Array | None" = None) -> "pa.Array[Any]":
    """Return numbers as an Arrow array; `pyarrow.array` would import pandas."""
    import numpy as np
    import pyarrow as pa

    bits = None if absent is None else pa.py_buffer(np.packbits(~absent, bitorder="little"))
    kind = pa.type_for_alias(str(numbers.dtype))
    data = pa.py_buffer(np.ascontiguousarray(numbers))
    return pa.Array.from_buffers(kind, len(numbers), [bits, data])


def _arrow_texts(texts: Sequence[str]) -> "pa.StringArray":
    import numpy as np
    import pyarrow as pa

    encoded = [text.encode() for text in texts]
    ends = np.cumsum([0, *map(len, encoded)], dtype=np.int32)
    return pa.StringArray.from_buffers(
        len(encoded), pa.py_buffer(ends), pa.py_buffer(b"".join(encoded))
    )


def _pandas_metadata(
    columns: "Mapping[str, pa.Array[Any]]", nullable: set[str], units: Mapping[str, str]
) -> dict[str, str]:
    """Return what `pandas.read_parquet` needs to restore the table of `Trace.table`.

    Whole numbers stay whole beside absent ones, and `attrs` has the units.
    """
    import pyarrow as pa

    attributes = {"units": dict(units)}
    known = []
    for name, column in columns.items():
        if isinstance(column, pa.DictionaryArray):
            categories = {"num_categories": len(column.dictionary), "ordered": False}
            kinds: dict[str, Any] = {
                "pandas_type": "categorical",
                "numpy_type": str(column.indices.type),
                "metadata": categories,
            }
        else:
            kind = {"double": "float64"}.get(str(column.type), str(column.type))
            stored = "Int64" if kind == "int64" and name in nullable else kind
            kinds = {"pandas_type": kind, "numpy_type": stored, "metadata": None}
        known.append({"name": name, "field_name": name, **kinds})
    document = {
        "index_columns": [],
        "column_indexes": [],
        "columns": known,
        "attributes": attributes,
        "pandas_version": "3.0.0",
    }
    return {"pandas": json.dumps(document), "PANDAS_ATTRS": json.dumps(attributes)}


def _write_parquet(table: "pa.Table", path: Path) -> None:
    """Write a table; a dictionary of numbers, which hardly repeat, is larger than they are."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    names = [field.name for field in table.schema if pa.types.is_dictionary(field.type)]
    pq.write_table(table, path, use_dictionary=names)


def round_bin(simulated_s: float) -> float:
    """Return 1, 2 or 5 times a power of ten near a hundredth of the time."""
    target = max(simulated_s, 1e-6) / 100
    power = 10.0 ** math.floor(math.log10(target))
    return min((step * power for step in (1, 2, 5, 10)), key=lambda width: abs(width - target))


def _with_unit(column: str, unit: str) -> str:
    if unit in ("", column):
        return column
    return f"{column}_{unit.replace('/', '_per_')}"
