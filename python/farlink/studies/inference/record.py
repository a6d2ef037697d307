"""Recorded result of an inference, as JSON in the package of its study."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from farlink import files
from farlink.studies.agreement import GridCell
from farlink.studies.inference.targets import Target

if TYPE_CHECKING:
    from farlink.tuning.space import Level

__all__ = ["FILE", "FORMAT", "Half", "Inferred", "JudgedCell", "overfitted", "recorded"]

FORMAT = "farlink-inferred/1"
"""Version of the format of the recorded file."""

FILE = "inferred.json"
"""Name of the recorded file in the package of a study."""


@dataclass(frozen=True)
class Half:
    """Agreement of one half ("fitted", "held out") under one model ("chosen", "inferred")."""

    half: str
    model: str
    cells: int
    agree: int
    ratio: float
    factor: float


@dataclass(frozen=True)
class JudgedCell:
    """Printed cell with its half and its values as chosen and as inferred."""

    cell: str
    half: str
    used: bool
    printed: float
    low: float
    high: float
    chosen: float
    inferred: float
    chosen_agrees: bool
    inferred_agrees: bool

    @classmethod
    def of(cls, target: Target, half: str, chosen: GridCell, inferred: GridCell) -> "JudgedCell":
        """Combine both cells of a target."""
        assert chosen.value is not None
        return cls(
            target.text,
            half,
            target.used,
            chosen.value,
            chosen.low,
            chosen.high,
            _mean(chosen),
            _mean(inferred),
            bool(chosen.agrees),
            bool(inferred.agrees),
        )


def _mean(cell: GridCell) -> float:
    return math.nan if cell.ours is None else cell.ours.mean


@dataclass(frozen=True)
class Inferred:
    """Result of an inference.

    Attributes
    ----------
    seed
        Seed of the split, the search and the runs.
    trials, pruned, runs, confirm
        Numbers of trials, of trials that ended early, of runs of a point in a trial, and of fresh
        runs.
    best, chosen
        Levels of the most likely trial, and of the model as chosen.
    gain
        Difference of their log likelihoods over the fitted half.
    halves, cells
        Agreement of each half under both models, and all cells.
    ranges, shares, effective, importance, excluded
        See `farlink.studies.inference.posterior`.
    tried
        Trials: their levels and log likelihood, and whether each ended early.
    """

    study: str
    date: str
    version: str
    seed: int
    trials: int
    pruned: int
    runs: int
    confirm: int
    best: Mapping[str, "Level"]
    chosen: Mapping[str, "Level"]
    gain: float
    halves: Sequence[Half]
    cells: Sequence[JudgedCell]
    ranges: Mapping[str, Sequence[float]]
    shares: Mapping[str, Mapping[str, float]]
    effective: float
    importance: Mapping[str, Sequence[float]]
    excluded: Mapping[str, Sequence[str]] = field(default_factory=dict)
    tried: Sequence[Mapping[str, Any]] = ()

    @property
    def command(self) -> str:
        """Command line that repeats this inference."""
        return (
            f"farlink study {self.study} --infer --trials {self.trials} --runs {self.runs} "
            f"--confirm {self.confirm} --seed {self.seed}"
        )

    def half(self, half: str, model: str) -> Half:
        """Return the agreement of a half under a model."""
        return next(row for row in self.halves if (row.half, row.model) == (half, model))

    @property
    def overfitting(self) -> float:
        """Probability of as few held-out cells in agreement if both halves agree alike.

        Fisher's exact test, one-sided. A small value shows that the held-out half fits worse.
        """
        fitted, held = (self.half(name, "inferred") for name in ("fitted", "held out"))
        return overfitted(fitted.agree, fitted.cells, held.agree, held.cells)

    @property
    def text(self) -> str:
        """Result as JSON."""
        document = {"format": FORMAT, "command": self.command, **asdict(self)}
        tried = document.pop("tried")
        text = json.dumps(_finite(document), indent=1, allow_nan=False)
        rows = ",\n  ".join(json.dumps(_finite(row), allow_nan=False) for row in tried)
        # A line for each trial keeps the file short.
        return f'{text.removesuffix("}").rstrip()},\n "tried": [\n  {rows}\n ]\n}}\n'

    def save(self, path: str | Path) -> Path:
        """Write the result as JSON.

        Raises
        ------
        OutputError
            If the file cannot be written.
        """
        files.write_text(Path(path), self.text)
        return Path(path)


def overfitted(fitted: int, of_fitted: int, held: int, of_held: int) -> float:
    """Return P(at most `held` of the agreeing cells are in the held-out half).

    Hypergeometric: `fitted` + `held` agreeing cells fall at random on both halves.
    """
    cells, agree = of_fitted + of_held, fitted + held
    ways = [
        math.comb(of_held, k) * math.comb(of_fitted, agree - k)
        for k in range(max(0, agree - of_fitted), held + 1)
    ]
    return sum(ways) / math.comb(cells, agree)


def recorded(study: str) -> Inferred | None:
    """Return the recorded inference of a study; None if there is none.

    Raises
    ------
    ValueError
        If the record is in another format.
    """
    path = resources.files(f"farlink.studies.{study}").joinpath(FILE)
    if not path.is_file():
        return None
    document: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    if document.pop("format", None) != FORMAT:
        raise ValueError(f"{study}: {FILE} is no {FORMAT}")
    document.pop("command")
    document["halves"] = [Half(**_numbers(row)) for row in document["halves"]]
    document["cells"] = [JudgedCell(**_numbers(row)) for row in document["cells"]]
    return Inferred(**document)


def _finite(value: Any) -> Any:  # noqa: ANN401 (any value of JSON)
    """Return a JSON value with six digits, and with None for numbers that are not finite."""
    if isinstance(value, Mapping):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    if isinstance(value, float):
        return float(f"{value:.6g}") if math.isfinite(value) else None
    return value


def _numbers(row: Mapping[str, Any]) -> dict[str, Any]:
    return {key: math.nan if item is None else item for key, item in row.items()}
