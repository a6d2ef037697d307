"""The compiled engine. Texts are JSON unless said otherwise; farlink.api is its one user."""

from collections.abc import Callable
from typing import TypedDict

Progress = Callable[[float, float, int, int], None]
"""Called with simulated seconds and expected seconds (NaN: unknown) of the run that reported
last, runs done and runs in all."""

class FarlinkError(Exception):
    """Base of all errors of this package."""

class ScenarioError(FarlinkError, ValueError):
    """What was asked for is wrong; the message says what, where, and what to write instead."""

class RunError(FarlinkError):
    """A run could not be finished."""

class Columns:
    """Columns of one length, by the C data interface of Arrow (`pyarrow.record_batch`)."""

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]: ...

class TraceTables(TypedDict):
    """One run with its probes on."""

    result: str
    pcaps: dict[str, bytes]
    tables: dict[str, Columns]

class ChannelSample(TypedDict):
    """What became of packets by themselves in a channel."""

    told: str
    columns: Columns

def version() -> str: ...
def engine() -> str: ...
def resolve(
    text: str,
    origin: str,
    overrides: list[tuple[str, str]],
    read: Callable[[str], str] | None = None,
) -> str: ...
def schema() -> str: ...
def presets() -> str: ...
def scenarios() -> list[tuple[str, str]]: ...
def variants() -> str: ...
def profiles() -> str: ...
def registry() -> str: ...
def simulate(
    jobs: list[tuple[str, int]],
    threads: int,
    progress: Progress | None = None,
    done: list[str] | None = None,
) -> list[str]: ...
def measure(
    parts: list[tuple[str, list[int]]],
    threads: int,
    progress: Progress | None = None,
) -> list[tuple[list[tuple[str, str, str]], Columns]]: ...
def trajectory(scenario: str, run: int, link: str, step: float, duration: float) -> Columns: ...
def trace(
    scenario: str, run: int, snaplen: int | None, progress: Progress | None
) -> TraceTables: ...
def emulate(scenario: str, options: str) -> str: ...
def ask(path: str, request: str) -> str: ...
def sample_channel(
    scenario: str,
    link: str,
    direction: str,
    packets: int,
    length: int,
    spacing_ns: int | None,
    run: int,
) -> ChannelSample: ...
