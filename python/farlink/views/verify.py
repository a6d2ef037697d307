"""The table of `farlink verify`."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from farlink.artifact.verify import Verification
    from farlink.views.page import Sink

__all__ = ["show"]


def show(verification: "Verification", out: "Sink", most: int) -> None:
    """Print a row per result, and at most `most` differences."""
    from rich import box
    from rich.table import Table

    if verification.engine_differs:
        out.print(
            f"packed with another engine (farlink {verification.packed_with}): numbers may differ"
        )
    for line in verification.altered:
        out.print(line, markup=False)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for title, justify in (
        ("result", "left"),
        ("kind", "left"),
        ("numbers", "right"),
        ("", "left"),
    ):
        table.add_column(title, justify=justify)  # type: ignore[arg-type]
    for item in verification.items:
        count = len(item.differences)
        verdict = f"{count:,} differ" if count else "the same to the bit"
        table.add_row(item.folder, item.kind, f"{item.numbers:,}", verdict)
    out.print(table)
    differences = [pair for item in verification.items for pair in item.differences]
    for difference in differences[:most]:
        out.print(
            f"{difference.where}: packed {difference.packed}, now {difference.again}", markup=False
        )
    if len(differences) > most:
        out.print(f"and {len(differences) - most:,} more")
