"""Recording of a link: rate, delay and loss of each moment, per direction, with their origin."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, TypeAlias

from farlink.errors import ScenarioError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats: TypeAlias = npt.NDArray[np.float64]
    Whole: TypeAlias = npt.NDArray[np.int64]

__all__ = [
    "COLUMNS",
    "MOST_ROWS",
    "ORIGINS",
    "Column",
    "Direction",
    "Phases",
    "Recording",
    "Traffic",
    "rounded",
]

COLUMNS = ("rate", "delay", "loss")
"""Columns of a direction, in bit/s, seconds and as a probability."""

ORIGINS = ("measured", "computed", "estimated", "assumed")
"""Origins of a column, from the most to the least certain."""

MOST_ROWS = 5_000_000
"""Largest number of rows of a direction."""

_DIGITS = {"rate": 0, "delay": 6, "loss": 6}
"""Decimals that a recording keeps: whole bit/s, microseconds, millionths."""

MOST = {"rate": 1e12, "delay": 3600.0, "loss": 1.0}
"""Largest value of each column."""


def rounded(name: str, values: "Floats") -> "Floats":
    """Return the values with the digits that a recording keeps."""
    import numpy as np

    whole = np.asarray(values, dtype=np.float64)
    return np.asarray(np.round(whole, _DIGITS[name]), dtype=np.float64)


@dataclass(frozen=True)
class Column:
    """Values of one column and their origin.

    `values` has a value for each row. A column without values is a constant.
    """

    origin: str
    by: str
    """Sentence on the method, such as "half the round trip"."""
    constant: float | None = None
    values: "Floats | None" = None

    @property
    def mean(self) -> float:
        """Mean over the rows."""
        return float(self.constant or 0.0) if self.values is None else float(self.values.mean())

    @property
    def bounds(self) -> tuple[float, float]:
        """Smallest and largest value."""
        if self.values is None:
            return float(self.constant or 0.0), float(self.constant or 0.0)
        return float(self.values.min()), float(self.values.max())


@dataclass(frozen=True)
class Traffic:
    """Dependence of a direction on the traffic that measured it."""

    by: str
    """Traffic, such as "60-byte packets every 10 ms"."""
    offered: float | None
    """Rate of this traffic in bit/s; None if it is unknown."""
    share: float | None
    """Share of the link's mean rate that this traffic takes; None without a measured rate."""
    queueing: float | None
    """Share of the mean delay above the smallest delay of its phase, an upper bound of queueing."""
    effect: str
    """Sentence on what a reader may not conclude."""


@dataclass(frozen=True)
class Direction:
    """Columns of one direction, and the packet-delivery trace if the recording is one."""

    rate: Column
    delay: Column
    loss: Column
    traffic: Traffic
    opportunities: "Whole | None" = None
    """Milliseconds at which 1500 bytes can leave; the last one is the length."""

    @classmethod
    def of(
        cls, columns: Mapping[str, Column], traffic: Traffic, opportunities: "Whole | None" = None
    ) -> "Direction":
        """Create a direction from its columns by name."""
        return cls(columns["rate"], columns["delay"], columns["loss"], traffic, opportunities)

    def column(self, name: str) -> Column:
        """Return a column by its name."""
        return {"rate": self.rate, "delay": self.delay, "loss": self.loss}[name]


@dataclass(frozen=True)
class Phases:
    """Phases of a path: the rows at which a phase begins, and the evidence."""

    starts: "Whole"
    """Rows at which a phase begins; row 0 is not among them unless a change was seen there."""
    origin: str
    by: str
    period: float | None = None
    """Time between boundaries in seconds, if they are periodic."""
    first: float | None = None
    """First boundary: seconds past the minute with a clock, otherwise from the start."""
    changed: int | None = None
    """Number of boundaries at which the delay changed by more than its noise."""
    paths: tuple[str, ...] = ()
    """Names of the paths, one for each phase including that of row 0."""


@dataclass(frozen=True)
class Recording:
    """Rate, delay and loss of a link over time, in rows of equal length."""

    name: str
    kind: str
    source: str
    licence: str
    step: float
    """Length of a row in seconds."""
    rows: int
    down: Direction
    up: Direction
    start: datetime | None = None
    """Time of row 0 by the recorder's clock, in UTC."""
    phases: Phases | None = None
    keep_order: bool = True
    """Packets keep their order where the delay falls."""
    files: tuple[Mapping[str, object], ...] = ()
    """Name, size and SHA-256 of each imported file."""
    notes: tuple[str, ...] = ()
    """Sentences on gaps and on rows that were filled."""

    def __post_init__(self) -> None:
        if not 1 <= self.rows <= MOST_ROWS:
            raise ScenarioError(
                f"{self.kind}: {self.rows} rows of {self.step:g} s; a recording has 1 to "
                f"{MOST_ROWS:,} rows, so use another --step"
            )

    @property
    def length(self) -> float:
        """Length in seconds."""
        return self.step * self.rows

    @property
    def directions(self) -> "Sequence[tuple[str, Direction]]":
        """Both directions with their names."""
        return (("down", self.down), ("up", self.up))

    def phase_of_rows(self) -> "Whole":
        """Return the number of the phase of each row, from 0."""
        import numpy as np

        marks = np.zeros(self.rows, dtype=np.int64)
        if self.phases is not None:
            marks[self.phases.starts[self.phases.starts > 0]] = 1
        return np.cumsum(marks)


def utc(nanoseconds: int) -> datetime:
    """Return the time of nanoseconds since 1970, to the microsecond."""
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=nanoseconds // 1000)
