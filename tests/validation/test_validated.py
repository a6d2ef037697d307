"""The pages show the words of the record, and the engine reproduces the record."""

import zlib
from dataclasses import replace

import numpy as np
import pytest

import anchors
import farlink as fl
import recorded
import validate
import verdicts
import words
from grid import CELLS, Cell, Measured, rerun, rows
from verdicts import CHECKED, UNVALIDATED, VALIDATED, Reference, Row

MOST_BYTES = 4_000_000
"""Limit of bytes of a drawn cell over all runs: the cells take a fraction of a second."""


def stale(row: str) -> str:
    return f"the record of {row} is stale: run `make validate ROW={row}`"


def draw(text: str, most: int, count: int) -> list[int]:
    """Draw numbers with a text as seed, so that failures repeat until the text changes."""
    stream = np.random.default_rng(zlib.crc32(text.encode()))
    return [int(item) for item in stream.choice(most, count, replace=False)]


def cell(window: int = 100, loss: float = 0.01, flows: int = 1, rtt_ms: int = 100) -> Cell:
    return Cell(window, rtt_ms, loss, 0, flows)


def measured(of: Cell, *shares: float) -> Measured:
    """Return a measurement over 1,000 s."""
    return Measured(of, 0, 1_000_000, tuple(round(125 * of.rate * item) for item in shares))


@pytest.mark.parametrize("row", rows())
def test_a_drawn_cell_gives_the_bits_of_the_record(row: str) -> None:
    cells = recorded.read(row)
    assert list(cells) == list(CELLS), stale(row)
    text = (recorded.DIRECTORY / f"{row}.csv").read_text(encoding="utf-8")
    cheap = [item for item in cells.values() if 0 < sum(item.delivered) < MOST_BYTES]
    drawn = [cheap[place] for place in draw(text, len(cheap), 2)]
    again = rerun(row, [(item.cell, item.start_ms, item.end_ms) for item in drawn])
    assert again == drawn, stale(row)


def test_drawn_anchors_give_the_bits_of_the_record() -> None:
    record = anchors.read()
    known = {item.name: item for item in anchors.known()}
    changed = {anchor.row for name, anchor in known.items() if name not in record}
    assert not changed, stale(" ".join(sorted(changed)))
    assert list(record) == list(known), "cases that are gone: run `make validate`"
    cheap = [item for item in known.values() if item.source == "kernel" and item.window <= 100]
    drawn = [cheap[place] for place in draw(str(record), len(cheap), 3)]
    for name, ours in anchors.run(drawn).items():
        assert ours == record[name], stale(known[name].row)


def test_words_and_tables_are_those_of_the_record() -> None:
    names = [str(path.relative_to(words.ROOT)) for path in validate.current()]
    assert names == [], "run `.venv/bin/python tests/validation/validate.py --words`"


def test_the_code_has_the_words_of_the_record() -> None:
    status = fl.variants()["status"]
    assert {name: Row.of(name).word for name in status.index} == dict(status), (
        "build the extension: `make build`"
    )


def test_each_exception_is_of_something_that_is_out_of_order() -> None:
    rises = {row: Row.of(row).rises for row in rows()}
    for item in words.exceptions():
        if "*" in item.rows:
            assert any(item.holds(row, rise) for row in rises for rise in rises[row]), item.text
            continue
        for row in item.rows:
            assert any(item.holds(row, rise) for rise in rises[row]), (row, item.text)


def test_the_word_is_that_of_the_worst_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    held = {window: cell(window) for window in (10, 100, 1_000, 10_000)}
    source = dict.fromkeys(held, "response function")
    monkeypatch.setattr(verdicts, "reference", lambda _, of: Reference(source[of.window], 0.3, 0.4))
    monkeypatch.setattr(anchors, "of", lambda _: [])
    shares = {item: measured(item, 0.35, 0.35) for item in held.values()}
    row = Row("sack", shares, {})
    assert row.word == CHECKED, "no implementation"
    source[100] = "kernel"
    assert Row("sack", shares, {}).word == VALIDATED
    source[10] = "closed form"
    assert Row("sack", shares, {}).word == CHECKED, "nothing from outside at a window of 10"
    wrong = {**shares, held[100]: measured(held[100], 0.8, 0.8)}
    assert Row("sack", wrong, {}).word == "differs at 1 of 4"
    assert Row("sack", {}, {}).word == UNVALIDATED


def test_a_response_function_holds_where_its_window_is_free() -> None:
    held = verdicts.reference("sack", cell(loss=0.001))
    assert held is not None
    assert held.source == "response function"
    # sqrt(1.5 / p) = 38.7 segments of 100, with 1,460 bytes of data in 1,500.
    assert held.high == pytest.approx(1.10 * 0.387 * 1460 / 1500 / 1.01, rel=0.01)
    assert held.low == pytest.approx(0.85 * 0.36, rel=0.1)
    assert verdicts.reference("sack", cell(loss=1e-4)) is None, "122 segments of 100"
    assert verdicts.reference("sack", cell(loss=0.001, flows=8)) is None
    assert verdicts.reference("sack", cell(loss=0.15)) is None, "time-outs"
    assert verdicts.reference("sack", replace(cell(), burst=3)) is None
    assert verdicts.reference("vegas", cell()) is None
    lossless = verdicts.reference("vegas", cell(loss=0.0))
    assert lossless is not None
    assert lossless.source == "closed form"


def test_goodput_that_rises_is_found() -> None:
    low, high = cell(loss=0.01), cell(loss=0.05)
    record = {low: measured(low, *[0.1] * 6), high: measured(high, *[0.2] * 6)}
    (rise,) = Row("sack", record, {}).rises
    assert (rise.what, rise.better, rise.worse) == ("rises with loss", low, high)
    assert rise.ratio == pytest.approx(2, rel=0.01)
    several = replace(low, flows=8)
    record = {low: measured(low, *[0.1] * 6), several: measured(several, *[0.05] * 6)}
    (fall,) = Row("sack", record, {}).rises
    assert fall.what == "falls with more flows"
    record[several] = measured(several, *[0.95] * 6)
    (fall,) = Row("sack", record, {}).rises
    assert fall.what == "of one flow falls with fewer flows"
    record[several] = measured(several, *[0.7] * 6)
    assert Row("sack", record, {}).rises == []
