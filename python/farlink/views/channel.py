"""Table of a sampled channel next to its closed form."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from farlink import units

if TYPE_CHECKING:
    import numpy as np

    from farlink.channels import ChannelSample, Row
    from farlink.views.page import Sink

__all__ = ["show"]


def show(sample: "ChannelSample", out: "Sink") -> None:
    """Print the sampled values next to the closed form."""
    from rich import box
    from rich.table import Table

    if sample.lost.any():
        out.print(_path_text(sample.lost, min(out.width, 120)), soft_wrap=True)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in ("quantity", "sampled", "95 % interval", "closed form", ""):
        # In a narrow terminal, only columns of words are folded, never numbers or verdicts.
        table.add_column(
            name,
            justify="left" if name in ("quantity", "") else "right",
            no_wrap=name != "quantity",
        )
    for row in sample.rows:
        factor, unit = _unit(row)
        quantity = f"{row.quantity} ({unit})" if unit else row.quantity
        mark = {None: "", True: "agrees", False: "outside"}[row.agrees]
        if row.theory is not None and row.sampled.mean is not None and row.sampled.low is None:
            mark = "too short"
        low, high = row.sampled.low, row.sampled.high
        interval = (
            ""
            if low is None or high is None
            else f"{_text(low / factor)} to {_text(high / factor)}"
        )
        mean, theory = row.sampled.mean, row.theory
        table.add_row(
            quantity,
            "-" if mean is None else _text(mean / factor),
            interval,
            "none" if theory is None else _text(theory / factor),
            mark,
        )
    out.print(table)
    if sample.derived:
        derived = Table(box=box.SIMPLE_HEAD, pad_edge=False)
        for name in ("derived", "value", "unit", "from"):
            derived.add_column(name, justify="right" if name == "value" else "left")
        for item in sample.derived:
            value = "-" if item["value"] is None else _text(item["value"])
            derived.add_row(item["name"], value, item["unit"], item["source"])
        out.print(derived)
    for note in _notes(sample):
        out.print(note, soft_wrap=True)


def _notes(sample: "ChannelSample") -> list[str]:
    every = f"{sample.spacing_s * 1e3:.6g} ms"
    seed = sample.scenario["seed"]
    notes = [
        f"{sample.name}: {len(sample):,} packets of {sample.bytes} B, one each {every}; "
        f"seed {seed}, run {sample.run}"
    ]
    causes = ", ".join(f"{name} {count:,}" for name, count in sample.by_cause().items())
    if causes:
        notes.append(f"lost by cause: {causes}")
    if any(row.sampled.mean is not None and row.sampled.low is None for row in sample.rows):
        notes.append(
            "without an interval: the process is slow for this sample; take more --packets or a "
            "longer --spacing"
        )
    return notes


def _unit(row: "Row") -> tuple[float, str]:
    return (1e-3, "ms") if row.unit == "s" else (1.0, row.unit)


def _text(value: float) -> str:
    if value == 0:
        return "0"
    if abs(value) < 1e-3:
        return f"{value:.4g}"
    return units.rounded(value) if abs(value) >= 1 else f"{value:.5f}"


def _path_text(lost: "Sequence[bool] | np.ndarray[Any, Any]", width: int) -> str:
    """Return a character per packet, from ten before the first loss: # lost, . delivered."""
    import numpy as np

    array = np.asarray(lost)
    losses = np.flatnonzero(array)
    start = max(int(losses[0]) - 10, 0) if len(losses) else 0
    return "".join("#" if lost else "." for lost in array[start : start + width])
