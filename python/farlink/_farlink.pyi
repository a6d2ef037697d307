"""The compiled engine. Texts are JSON unless said otherwise; farlink.api is its one user."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NotRequired, TypedDict

Progress = Callable[[float, float, int, int], None]
"""Called with simulated seconds and expected seconds (NaN: unknown) of the run that reported
last, runs done and runs in all."""

class FarlinkError(Exception):
    """Base of all errors of this package."""

class ScenarioError(FarlinkError, ValueError):
    """What was asked for is wrong; the message says what, where, and what to write instead."""

class RunError(FarlinkError):
    """A run could not be finished."""

class ControlState:
    """State of a congestion control in Python."""

    cwnd: float
    ssthresh: float
    pacing_rate: float | None

    def random(self) -> float:
        """Return a random number of the run, at least 0 and below 1."""

class ControlEvent:
    """Event of a hook of a congestion control: times in seconds, sizes in bytes."""

    now: float
    mss: int
    flight: int
    acked: int
    rtt: float | None
    srtt: float | None
    min_rtt: float | None
    rto: float
    cwnd_limited: bool
    sent_at: float
    first: bool
    window: int
    idle: float

def register_control(
    *,
    name: str,
    file: str,
    text: str,
    cls: type,
    hooks: Sequence[str],
    parameters: Sequence[tuple[str, float | bool]],
    published: Sequence[tuple[str, str, str]],
    owns_recovery: bool,
) -> None:
    """Register a class as a congestion control of the engine."""

class ClassState:
    """State of a queue law or a traffic source in Python."""

    now: float

    def random(self) -> float:
        """Return a random number of the run, at least 0 and below 1."""

class QueuedPacket:
    """Packet at a decision of a queue law: times in seconds, sizes in bytes."""

    now: float
    bytes: int
    sojourn: float
    flow: int
    markable: bool
    queue_packets: int
    queue_bytes: int

def register_class(class_: str, file: str, python: str, cls: type, /) -> None:
    """Register a class as a queue law or a traffic source of the engine."""

class Columns:
    """Columns of one length with their names; `farlink.columns` makes arrays of them."""

    def __init__(
        self, columns: Sequence[tuple[str, str, bytes, bytes | None, list[str] | None]]
    ) -> None:
        """Build columns from name, type in NumPy, bytes, a byte of presence per row, texts."""

    def __len__(self) -> int:
        """Return the number of rows."""

    def names(self) -> list[str]:
        """Return the names of the columns."""

    def select(self, names: Sequence[str]) -> Columns:
        """Return some columns, in this order."""

    def column(self, name: str) -> tuple[str, bytes, bytes | None, list[str] | None]:
        """Return type, bytes, a byte of presence per row (None: all present) and texts."""

class Steps:
    """A run that the caller advances by time, on the thread that made it."""

    def __init__(self, scenario: str, run: int) -> None:
        """Build a run of a resolved scenario."""

    def until(self, seconds: float) -> tuple[bool, float]:
        """Handle all events up to a time. Return if the run is over, and the time reached."""

    def finish(self) -> Measures:
        """End the run at the present time, and return its measures."""

class Measures:
    """The measures of runs of one scenario: a row of numbers for each run."""

    groups: Sequence[tuple[str, Sequence[Sequence[str]], Sequence[str]]]
    """What the numbers of a row are, one group after the other: the scope ("flow", "link", "run",
    "agent"), what tells one item from another, names of the measures. Each item in turn has
    each measure in turn."""
    derived: str
    events: int
    simulated_s: float
    """Simulated time of the first run."""

    def __len__(self) -> int:
        """Return how many runs there are."""

    def column(self, place: int) -> list[float | None]:
        """Return the number at a place of the row, run by run."""

    def row(self, number: int, start: int, stop: int) -> list[float | None]:
        """Return numbers of the run that is `number`th here."""

    def numbers(self) -> Columns:
        """Return all rows, one after the other, as the column "value"; NaN for none."""

    def table(self, scope: str) -> Columns:
        """Return a table: the run, what tells one item from another, a column a measure."""

class TraceTables(TypedDict):
    """One run with its probes on."""

    measures: Measures
    pcaps: dict[str, bytes]
    secrets: NotRequired[str]
    qlogs: NotRequired[dict[str, str]]
    tables: dict[str, Columns]
    story: NotRequired[list[tuple[float, str, str, str, int | None]]]

TraceFile = tuple[Path, str, Sequence[str], Sequence[tuple[str, str]]]
"""File of traces: its path, the engine's table and its columns, and pairs of the footer."""

class TraceBins(TypedDict):
    """Measures and captures of a run whose traces are in files, and delivered bytes by bin."""

    measures: Measures
    pcaps: dict[str, bytes]
    secrets: NotRequired[str]
    qlogs: NotRequired[dict[str, str]]
    width_ns: int
    bins: Columns

class ChannelSample(TypedDict):
    """What became of packets by themselves in a channel."""

    told: str
    columns: Columns

log_started: bool

def version() -> str: ...
def engine() -> str: ...
def resolve(
    text: str,
    origin: str,
    overrides: list[tuple[str, str]],
    read: Callable[[str], str] | None = None,
) -> str: ...
def resolve_many(
    text: str,
    origin: str,
    name: str,
    points: Sequence[Sequence[tuple[str, str]]],
    threads: int,
) -> list[tuple[str | None, str | None]]: ...
def schema() -> str: ...
def presets() -> str: ...
def scenarios() -> list[tuple[str, str]]: ...
def variants() -> str: ...
def profiles() -> str: ...
def registry() -> str: ...
def simulate(
    parts: Sequence[tuple[str, Sequence[int]]],
    threads: int,
    progress: Progress | None = None,
    done: list[Measures] | None = None,
    cores: int = 1,
    notes: list[str | None] | None = None,
) -> list[Measures]: ...
def trajectory(scenario: str, run: int, link: str, step: float, duration: float) -> Columns: ...
def trace(
    scenario: str, run: int, snaplen: int | None, packets: bool, progress: Progress | None
) -> TraceTables: ...
def trace_files(
    scenario: str,
    run: int,
    snaplen: int | None,
    packets: bool,
    files: Sequence[TraceFile],
    progress: Progress | None,
) -> TraceBins: ...
def trace_columns(table: str) -> list[tuple[str, str, bool, bool]]: ...
def emulate(scenario: str, options: str, notice: Callable[[str], None] | None = None) -> str: ...
def gateway(options: str, notice: Callable[[str], None]) -> str: ...
def new_key() -> str: ...
def sweep() -> list[str]: ...
def ask(path: str, request: str) -> str: ...
def execute(place: str, argv: Sequence[str]) -> int: ...
def sample_channel(
    scenario: str,
    link: str,
    direction: str,
    packets: int,
    length: int,
    spacing_ns: int | None,
    run: int,
) -> ChannelSample: ...
def to_parquet(
    columns: Columns, metadata: Sequence[tuple[str, str]], ends: Sequence[int]
) -> bytes: ...
def from_parquet(
    data: bytes,
    columns: Sequence[str],
    filter: Mapping[str, Sequence[str]],  # noqa: A002
) -> Columns: ...
def parquet_footer(data: bytes) -> tuple[int, dict[str, str], list[str]]: ...
def least_paths(
    positions: bytes,
    places: list[tuple[tuple[float, ...], tuple[float, ...]]],
    pairs: list[tuple[int, int]],
    shell: tuple[int, int, bool] | None,
    limits: tuple[float, float, float],
) -> list[tuple[float, list[int]]]: ...
def beta_reg(a: float, b: float, x: float) -> float: ...
def gamma_lr(a: float, x: float) -> float: ...
def gamma_ur(a: float, x: float) -> float: ...
