"""Columns of the engine as NumPy arrays, as tables and as Parquet files.

NumPy is imported inside the functions, so that commands without tables start faster.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from farlink import _farlink

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from farlink._farlink import Columns

    Array = np.ndarray[Any, np.dtype[Any]]

__all__ = [
    "Texts",
    "array",
    "build",
    "frame",
    "from_parquet",
    "layout",
    "numbers",
    "pandas_metadata",
    "to_parquet",
]


@dataclass(frozen=True)
class Texts:
    """Column of repeating texts.

    Attributes
    ----------
    codes
        Index of each row into `texts`, of type int32.
    texts
        Different texts.
    """

    codes: "Array"
    texts: list[str]

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, chosen: Any) -> "Texts":  # noqa: ANN401 (any index of NumPy)
        return Texts(self.codes[chosen], self.texts)

    def to_array(self) -> "Array":
        """Return the text of each row."""
        import numpy as np

        return np.array(self.texts, dtype=object)[self.codes]

    def equals(self, text: str) -> "Array":
        """Return which rows have this text."""
        place = self.texts.index(text) if text in self.texts else -1
        same: Array = self.codes == place
        return same


def array(columns: "Columns", name: str) -> "Array | Texts":
    """Return the stored column; integers without a value are 0."""
    import numpy as np

    dtype, data, _, texts = columns.column(name)
    values: Array = np.frombuffer(data, dtype)
    return values if texts is None else Texts(values, texts)


def numbers(columns: "Columns", name: str) -> "Array":
    """Return a column of numbers as float64, with NaN for missing values."""
    import numpy as np

    dtype, data, present, _ = columns.column(name)
    values: Array = np.frombuffer(data, dtype).astype(np.float64)
    if present is not None:
        values[~np.frombuffer(present, bool)] = np.nan
    return values


def frame(columns: "Columns", names: Sequence[str] | None = None) -> "pd.DataFrame":
    """Return columns as a table: texts as categories, missing integers as `pandas.NA`."""
    import numpy as np
    import pandas as pd

    table: dict[str, Any] = {}
    for name in columns.names() if names is None else names:
        dtype, data, present, texts = columns.column(name)
        values = np.frombuffer(data, dtype)
        if texts is not None:
            table[name] = pd.Categorical.from_codes(values, categories=pd.Index(texts))
        elif present is not None:
            table[name] = pd.arrays.IntegerArray(values.copy(), ~np.frombuffer(present, bool))
        else:
            table[name] = values.copy()
    return pd.DataFrame(table)


def build(values: "Mapping[str, Array | Texts]") -> "Columns":
    """Return arrays as columns of the engine."""
    import numpy as np

    rows: list[tuple[str, str, bytes, bytes | None, list[str] | None]] = []
    for name, column in values.items():
        codes, texts = (column.codes, column.texts) if isinstance(column, Texts) else (column, None)
        codes = codes.astype(np.int32) if texts is not None else codes
        rows.append((name, str(codes.dtype), codes.tobytes(), None, texts))
    return _farlink.Columns(rows)


def to_parquet(
    columns: "Columns", metadata: Mapping[str, str] | None = None, ends: Sequence[int] = ()
) -> bytes:
    """Return columns as a Parquet file, with key-value pairs in its footer.

    A row group ends before each row of `ends`. NaN is written as null, which queries skip.
    """
    return _farlink.to_parquet(columns, list((metadata or {}).items()), list(ends))


def from_parquet(
    data: bytes, names: Sequence[str], filters: Mapping[str, Collection[str]] | None = None
) -> "Columns":
    """Read columns of a Parquet file, for rows whose texts are among those of `filters`.

    Raises
    ------
    ValueError
        If the file is not Parquet, or a column is missing.
    """
    chosen = {name: sorted(texts) for name, texts in (filters or {}).items()}
    return _farlink.from_parquet(data, list(names), chosen)


Layout = Sequence[tuple[str, str, bool, bool]]
"""Name and NumPy type of each column, whether values may be missing, whether they are texts."""


def layout(columns: "Columns") -> Layout:
    """Return the layout of columns."""
    rows = []
    for name in columns.names():
        dtype, _, present, texts = columns.column(name)
        rows.append((name, dtype, present is not None, texts is not None))
    return rows


def pandas_metadata(layout: Layout, units: Mapping[str, str]) -> dict[str, str]:
    """Return the pairs with which `pandas.read_parquet` restores integers and `attrs`."""
    known = []
    for name, dtype, nullable, text in layout:
        kind = "unicode" if text else dtype
        stored = "str" if text else "Int64" if nullable else dtype
        known.append({"name": name, "field_name": name, "pandas_type": kind, "numpy_type": stored,
                      "metadata": None})  # fmt: skip
    attributes = {"units": dict(units)}
    document = {
        "index_columns": [],
        "column_indexes": [],
        "columns": known,
        "attributes": attributes,
        "pandas_version": "3.0.0",
    }
    return {"pandas": json.dumps(document), "PANDAS_ATTRS": json.dumps(attributes)}
