"""Agreement of simulated values with the printed cells of a table.

A cell agrees if the two values differ by no more than the print's precision and the 95 % interval
of the simulated mean together: |ours - printed| <= sqrt(limit^2 + half width^2). The limit is the
distance from the printed value to the end of its interval on the side of the simulated value.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from farlink.studies.quantity import Quantity, short

__all__ = ["SHADES", "Agreement", "GridCell", "agreement"]

SHADES = (1.1, 1.25, 1.5, 2.0)
"""Limits of the factor between both values for the colours of cells outside the precision."""


@dataclass(frozen=True)
class GridCell:
    """Cell of a printed table with its simulated value.

    Attributes
    ----------
    row, column
        Names of the row and the column.
    printed
        Printed text.
    value
        Printed number; None if no run could give the number of the cell.
    low, high
        Ends of the interval that the precision of the print leaves.
    ours
        Simulated quantity; None for a cell without a run.
    text
        Simulated or chosen value as text, for cells without a quantity.
    equal
        For cells without a quantity: whether text and print are the same. None if not compared.
    used
        Whether the cell was used for a choice of the model.
    reason
        Reason why no run exists.
    """

    row: str
    column: str
    printed: str
    value: float | None = None
    low: float = math.nan
    high: float = math.nan
    ours: Quantity | None = None
    text: str = ""
    equal: bool | None = None
    used: bool = False
    reason: str = ""

    @property
    def measured(self) -> bool:
        """True if the cell has a printed number and a simulated mean."""
        return self.value is not None and self.ours is not None and math.isfinite(self.ours.mean)

    @property
    def ratio(self) -> float:
        """Simulated mean divided by the printed number; NaN if one is missing or the print is 0."""
        if not self.measured or not self.value or self.ours is None:
            return math.nan
        return self.ours.mean / self.value

    @property
    def agrees(self) -> bool | None:
        """True if both values agree within the precision; None if not compared."""
        if self.value is None or self.ours is None or not self.measured:
            return self.equal
        difference = self.ours.mean - self.value
        limit = self.high - self.value if difference > 0 else self.value - self.low
        half = self.ours.estimate.half_width or 0.0
        # Numbers of a table are decimal, so equal values may differ by rounding of the arithmetic.
        return abs(difference) <= math.hypot(limit, half) * (1 + 1e-9)

    @property
    def shade(self) -> int:
        """Colour of the cell: 0 for agreement, then by the factor, 5 beyond the last of `SHADES`.

        -1 if there is no comparison.
        """
        if self.agrees is None:
            return -1
        if self.agrees:
            return 0
        factor = _factor(self.ratio)
        return 1 + next((k for k, limit in enumerate(SHADES) if factor <= limit), len(SHADES))

    @property
    def shown(self) -> str:
        """Simulated value as text, or the reason why there is none."""
        if self.ours is not None:
            return short(self.ours.mean, 4) if self.measured else "no value"
        return self.text or f"no run: {self.reason}"


@dataclass(frozen=True)
class Agreement:
    """Agreement of a table's cells that runs measure.

    Attributes
    ----------
    cells, agree
        Numbers of measured cells, and of those within the precision.
    printed
        Number of cells of the printed table.
    ratio
        Geometric mean of simulated over printed; NaN without a positive pair.
    factor
        Geometric mean of the factors between simulated and printed values, at least 1.
    used
        Number of measured cells that a choice of the model used.
    """

    cells: int
    agree: int
    printed: int
    ratio: float
    factor: float
    used: int

    @property
    def share(self) -> float:
        """Share of the measured cells within the precision; NaN without such cells."""
        return self.agree / self.cells if self.cells else math.nan

    @property
    def text(self) -> str:
        """Line of text with the agreement."""
        if not self.cells:
            return f"none of {self.printed} cells is a measured number"
        line = f"{self.agree} of {self.cells} measured cells within the precision"
        line += f" ({self.share:.0%})"
        if math.isfinite(self.ratio):
            line += f", ours / printed {self.ratio:.3g}, typical factor {self.factor:.3g}"
        if self.used:
            line += f"; {self.used} of the cells chose the model"
        return line


def agreement(cells: Iterable[GridCell]) -> Agreement:
    """Return the agreement of cells; cells without a run count as printed only."""
    members = list(cells)
    measured = [cell for cell in members if cell.measured]
    logs = [math.log(cell.ratio) for cell in measured if cell.ratio > 0]
    return Agreement(
        cells=len(measured),
        agree=sum(bool(cell.agrees) for cell in measured),
        printed=len(members),
        ratio=_exp_mean(logs),
        factor=_exp_mean([abs(item) for item in logs]),
        used=sum(cell.used for cell in measured),
    )


def _exp_mean(logs: Sequence[float]) -> float:
    return math.exp(math.fsum(logs) / len(logs)) if logs else math.nan


def _factor(ratio: float) -> float:
    return max(ratio, 1 / ratio) if ratio > 0 else math.inf
