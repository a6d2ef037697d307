"""Every TCP of the table transfers every file, and none is far below the others unexplained."""

import pytest

import farlink as fl
from matrix import CELLS, LEAST, PATHS, REASONS, Cell, measure, reason, relative
from report import PAGE

TCPS = list(fl.variants().index)


# The path of 1 Gbit/s is left out, because it takes most of the time.
@pytest.mark.parametrize("cell", [cell for cell in CELLS if cell.path != "1 Gbit/s"], ids=str)
def test_every_file_arrives_and_no_tcp_is_below_a_fifth_without_a_reason(cell: Cell) -> None:
    rates = relative(measure(cell, TCPS, runs=3))
    slow = {tcp: rate for tcp, rate in rates.items() if rate < LEAST}
    assert {tcp: rate for tcp, rate in slow.items() if reason(tcp, cell) is None} == {}


def test_reasons_are_of_tcps_and_paths_that_there_are() -> None:
    for item in REASONS:
        assert item.tcps <= set(TCPS)
        assert item.paths <= set(PATHS)
        assert item.losses <= {cell.loss for cell in CELLS}
    assert reason("p-tcp", Cell("64 kbit/s", "clean", 8)) is None


def test_the_page_has_every_tcp_and_no_cell_without_a_reason() -> None:
    page = PAGE.read_text(encoding="utf-8")
    _, _, rest = page.partition("<!-- begin: matrix -->\n")
    block, _, _ = rest.partition("<!-- end: matrix -->")
    assert [line.split("`")[1] for line in block.splitlines() if "`" in line] == TCPS
    assert "**Not known.**" not in page
