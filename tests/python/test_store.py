"""A store with parallel writers or damaged files gives right numbers or a one-line error."""

import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from farlink import _farlink
from farlink.errors import ScenarioError
from farlink.experiment import Point, Store, damage, table
from farlink.experiment.numbers import OF_DATAGRAMS, Numbers
from farlink.experiment.snapshot import Content

LAYOUT = tuple(("flow", f"f{place}", "goodput") for place in range(4))
KEYS = ("first", "second")


def numbers(key: str, runs: list[int]) -> Numbers:
    """Return numbers that encode their point, run and column."""
    base = 1000.0 * KEYS.index(key)
    values = [[base + 10 * run + column for column in range(len(LAYOUT))] for run in runs]
    return Numbers(key, LAYOUT, np.array(runs, np.int64), np.array(values))


def check(rows: list[Numbers], least: int) -> int:
    """Check that every number is at its place; return the number of all runs."""
    for match in rows:
        assert match.layout == LAYOUT
        assert match.runs.tolist()[:least] == list(range(least))
        assert match.values.tolist() == numbers(match.point, match.runs.tolist()).values.tolist()
    return sum(len(match.runs) for match in rows)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    made = Store(tmp_path / "store")
    for key in KEYS:
        for run in range(3):
            made.add([numbers(key, [run])])
    return made


def at_first_call(
    monkeypatch: pytest.MonkeyPatch, where: object, name: str, meanwhile: Callable[[], object]
) -> None:
    """Run another process just before the first call of a function."""
    original = getattr(where, name)

    def called(*args: object, **named: object) -> object:
        monkeypatch.setattr(where, name, original)
        meanwhile()
        return original(*args, **named)

    monkeypatch.setattr(where, name, called)


def test_runs_that_are_added_during_a_query_do_not_shift_its_columns(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = Store(store.path)
    at_first_call(monkeypatch, damage, "read", lambda: other.add([numbers("first", [3, 4])]))
    assert check(store.numbers(KEYS), least=3) == 6
    assert check(store.numbers(KEYS), least=3) == 8


@pytest.mark.parametrize(
    ("where", "name"), [(damage, "content"), (damage, "read"), (table, "to_numbers")]
)
def test_parts_that_another_process_merges_meanwhile_are_read_from_the_merged_one(
    store: Store, monkeypatch: pytest.MonkeyPatch, where: object, name: str
) -> None:
    other = Store(store.path)
    other.covered()
    at_first_call(monkeypatch, where, name, lambda: other.tidy(at_least=2))
    assert check(Store(store.path).numbers(KEYS), least=3) == 6
    assert len(list(store.path.glob("part-*"))) == 1


def test_parts_that_another_process_merges_during_a_question_in_sql_are_read_from_the_merged_one(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_first_call(monkeypatch, duckdb, "connect", lambda: Store(store.path).tidy(at_least=2))
    assert store.query("select count(*) n from results")["n"].tolist() == [24]
    assert len(list(store.path.glob("part-*"))) == 1


def test_a_listing_during_which_parts_were_merged_is_made_again(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = Store(store.path)
    listed = Store._listed

    def torn(reader: Store) -> set[str]:
        # As if a merged part appeared at a place that the listing has already passed.
        monkeypatch.setattr(Store, "_listed", listed)
        names = listed(reader)
        other.tidy(at_least=2)
        return set(sorted(names)[:2])

    reader = Store(store.path)
    monkeypatch.setattr(Store, "_listed", torn)
    assert check(reader.numbers(KEYS), least=3) == 6


def test_a_reader_that_merges_disturb_each_time_keeps_them_from_starting(store: Store) -> None:
    other = Store(store.path)
    asked = 0

    def question(duck: duckdb.DuckDBPyConnection) -> int:
        nonlocal asked
        asked += 1
        other.add([numbers("first", [10 + asked])])
        other.tidy(at_least=2)
        row = duck.execute("select count(*) from results").fetchone()
        assert row is not None
        return int(row[0])

    # Each attempt before the last finds its parts removed; the last attempt reads all parts.
    assert store.ask(question) == 4 * (6 + asked - 1)
    assert asked > 2


def test_leftovers_of_a_merge_are_removed_by_the_next_one_and_not_by_readers(store: Store) -> None:
    before = {path: path.read_bytes() for path in store.path.glob("part-*")}
    store.tidy(at_least=2)
    for path, data in before.items():
        path.write_bytes(data)
    reader = Store(store.path)
    assert check(reader.numbers(KEYS), least=3) == 6
    assert all(path.exists() for path in before)
    reader.tidy(at_least=1)
    assert not any(path.exists() for path in before)
    assert check(Store(store.path).numbers(KEYS), least=3) == 6


WRITER = """
import sys
from test_store import KEYS, numbers
from farlink.experiment import Store
store = Store(sys.argv[1])
for run in range(3, 10**9):
    store.add([numbers(key, [run % 200]) for key in KEYS])
    store.tidy(at_least=8)
    if run == 4: print("begun", flush=True)
"""


@pytest.fixture
def writers(store: Store) -> Iterator[list["subprocess.Popen[bytes]"]]:
    command = [sys.executable, "-c", WRITER, str(store.path)]
    here = Path(__file__).parent
    busy = [subprocess.Popen(command, stdout=subprocess.PIPE, cwd=here) for _ in range(2)]
    for item in busy:
        assert item.stdout is not None
        item.stdout.readline()
    yield busy
    for item in busy:
        item.kill()
        item.communicate()


@pytest.mark.long
def test_a_reader_beside_two_busy_writers_gets_right_numbers(
    store: Store, writers: list["subprocess.Popen[bytes]"]
) -> None:
    seen = 0
    count = "select point, run, count(*) n, sum(value) total from results group by all"
    for read in range(300):
        if read % 10 == 9:  # a process that has just begun
            store = Store(store.path)
        if read % 3 == 2:
            rows = store.query(count)
            assert set(rows["n"]) == {4}
            assert ((rows["total"] - 6) / 40 % 25 == rows["run"] % 25).all()
            assert len(rows) >= seen
            seen = len(rows)
            continue
        numbers = check(store.numbers(KEYS, ["goodput"]), least=3)
        assert numbers >= seen
        seen = numbers
    assert all(writer.poll() is None for writer in writers)


def _flipped(data: bytes) -> bytes:
    middle = len(data) // 3
    return (
        data[:middle]
        + bytes(255 - entry for entry in data[middle : middle + 40])
        + data[middle + 40 :]
    )


def _one_bit(data: bytes) -> bytes:
    """Change a bit so that zstd still decodes the data, with one different number."""
    at = len(data) // 4
    return data[:at] + bytes([data[at] ^ 4]) + data[at + 1 :]


def _footer_flipped(data: bytes) -> bytes:
    return data[:-300] + bytes(255 - entry for entry in data[-300:-8]) + data[-8:]


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda _: b"",
    "text": lambda _: b"not Parquet at all\n",
    "short": lambda data: data[: len(data) // 2],
    "no end": lambda data: data[:-9],
    "no start": lambda data: data[9:],
    "zeros": lambda data: bytes(len(data)),
    "body of zeros": lambda data: data[:4] + bytes(len(data) // 3) + data[4 + len(data) // 3 :],
    "flipped body": _flipped,
    "one bit": _one_bit,
    "flipped footer": _footer_flipped,
    "magic alone": lambda _: b"PAR1" * 3,
    "a length beyond the file": lambda data: data[:-8] + b"\xff\xff\xff\x7fPAR1",
}


@pytest.mark.parametrize("kind", ["part", "points"])
@pytest.mark.parametrize("harm", DAMAGES)
def test_a_damaged_file_is_named_with_what_to_do(
    store: Store, small: Path, kind: str, harm: str
) -> None:
    store.describe("swept", [Point.of(small, seed=seed) for seed in range(30)])
    path = sorted(store.path.glob(f"{kind}-*"))[0]
    path.write_bytes(DAMAGES[harm](path.read_bytes()))
    reader = Store(store.path)
    with pytest.raises(ScenarioError) as error:
        reader.query("select results.*, points.* from results, points")
    again = "its runs are simulated again" if kind == "part" else "describes its points again"
    assert str(path) in str(error.value)
    assert str(error.value).endswith(again)
    assert "\n" not in str(error.value)
    path.unlink()
    assert len(reader.numbers(KEYS)) == 2
    reader.query("select results.*, points.* from results, points")


def test_a_bit_of_a_footer_that_changes_a_name_is_told_too(store: Store) -> None:
    """A flipped bit in the name of a column leaves a file that Parquet still reads."""
    for path in sorted(store.path.glob("part-*")):
        whole = path.read_bytes()
        path.write_bytes(_one_bit(whole))
        with pytest.raises(ScenarioError, match=f"{path.name}.*remove it"):
            Store(store.path).numbers(KEYS)
        path.write_bytes(whole)


def test_a_damaged_part_is_named_by_a_merge_too(store: Store) -> None:
    path = sorted(store.path.glob("part-*"))[0]
    path.write_bytes(_flipped(path.read_bytes()))
    with pytest.raises(ScenarioError, match=f"{path.name}.*remove it"):
        Store(store.path).tidy(at_least=2)


def cut(path: Path, rows: int) -> None:
    """Write the first rows of a part again for the same runs."""
    _, metadata, _ = _farlink.parquet_footer(path.read_bytes())
    data = table.to_bytes(damage.read(path)[np.arange(rows)], metadata)
    path.unlink()
    (path.parent / damage.name_of("part", "cut", data)).write_bytes(data)


def test_a_number_that_parquet_still_reads_but_that_differs_is_refused(tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    values = np.random.default_rng(1).random((4000, len(LAYOUT)))
    store.add([Numbers("first", LAYOUT, np.arange(4000), values)])
    (path,) = store.path.glob("part-*")
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    # Parquet does not detect the change.
    rows = table.read(bytes(data)).value
    assert (rows != values.T.ravel()).sum() == 1
    assert (duckdb.read_parquet(str(path)).fetchnumpy()["value"] == rows).all()
    with pytest.raises(ScenarioError, match=f"{path.name}.*remove it"):
        Store(store.path).numbers(["first"])


def test_rows_that_do_not_fit_the_runs_of_their_part_are_refused(store: Store) -> None:
    store.tidy(at_least=2)
    (path,) = store.path.glob("part-*")
    cut(path, 23)
    with pytest.raises(ScenarioError, match=r"part-cut-.*remove it"):
        Store(store.path).numbers(KEYS)


def test_rows_that_no_part_is_to_blame_for_are_one_line(tmp_path: Path) -> None:
    """A column that is short in every run of a part gives a one-line error without blame."""
    few = Store(tmp_path / "few")
    few.add([numbers("first", [0])])
    (path,) = few.path.glob("part-*")
    cut(path, 3)
    few.add([numbers("first", [1])])
    with pytest.raises(ScenarioError, match="few: rows of point first do not fit its runs"):
        Store(few.path).numbers(["first"])


def test_runs_that_several_parts_have_count_once(tmp_path: Path) -> None:
    """Parts that share some or all runs count them once, in views, numbers and after a merge."""
    made = Store(tmp_path / "store")
    for runs in ([0, 1, 2], [1, 2, 3], [2, 3, 4], [4], [0, 1, 2]):
        made.add([numbers("first", runs)])
    for merged in (False, True):
        if merged:
            made.tidy(at_least=2)
            assert len(list(made.path.glob("part-*"))) == 1
        reader = Store(made.path)
        assert check(reader.numbers(["first"]), 5) == 5
        counts = reader.query("select run, count(*) as n from results group by run order by run")
        assert counts["run"].tolist() == [0, 1, 2, 3, 4]
        assert counts["n"].tolist() == [len(LAYOUT)] * 5


def test_a_part_counts_no_more_once_another_replaces_it(store: Store) -> None:
    """A replaced part does not count, even for a reader that starts while both files exist."""
    parts = {path: path.read_bytes() for path in store.path.glob("part-*")}
    store.tidy(at_least=2)
    (merged,) = store.path.glob("part-*")
    for path, data in parts.items():
        path.write_bytes(data)
    assert list(Store(store.path)._snapshot().parts) == [merged.name]


def test_some_measures_come_with_those_that_sums_over_flows_need(tmp_path: Path) -> None:
    (datagrams, *_) = sorted(OF_DATAGRAMS)
    layout = tuple(("flow", "f0", measure) for measure in ("goodput", datagrams, "rtt_mean"))
    made = Store(tmp_path / "store")
    made.add([Numbers("first", layout, np.array([0]), np.array([[1.0, 2.0, 3.0]]))])
    (content,) = Store(made.path).numbers(["first"], ["f0.goodput"])
    assert {measure for _, _, measure in content.layout} == {"goodput", datagrams}


def test_points_that_two_processes_describe_count_once(store: Store, small: Path) -> None:
    points = [Point.of(small, seed=seed) for seed in range(3)]
    for _ in range(2):
        store._write(table.of_points("swept", points), "points", {})
    assert len(Store(store.path).query("select * from points")) == 3


def test_points_that_another_process_describes_later_are_seen(store: Store, small: Path) -> None:
    point = Point.of(small, tcp="sack")
    store.describe("one", [point])
    assert len(store.query("select * from points")) == 1
    Store(store.path).describe("other", [point])
    assert len(store.query("select * from points")) == 2


def test_files_that_go_while_they_are_listed_are_looked_for_again(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = Store(store.path).covered()
    names = store._listed()
    (lost, *_) = sorted(name for name in names if name.startswith("part-"))
    lists = [names, names - {lost}, names, names]
    monkeypatch.setattr(Store, "_listed", lambda _: lists.pop(0))
    assert Store(store.path).covered() == whole
    assert not lists


def test_small_parts_are_chosen_up_to_one_large_one(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    snapshot = store._snapshot()
    rows = sorted(part.rows for part in snapshot.parts.values())
    assert len(rows) > 2
    monkeypatch.setattr("farlink.experiment.store._LARGE", sum(rows[:2]))
    assert len(store._small(snapshot)) == 2
    monkeypatch.setattr("farlink.experiment.store._LARGE", sum(rows))
    assert len(store._small(snapshot)) == len(rows)
    monkeypatch.setattr("farlink.experiment.store._LARGE", rows[0])
    assert store._small(snapshot) == []


def test_a_part_is_merged_again_only_with_as_many_rows_as_it_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Merges of 64 equal parts write each row for 4, 8, ... 64 parts at most."""
    monkeypatch.setattr("farlink.experiment.store._MERGE", 4)
    store = Store(tmp_path / "store")
    written: list[int] = []
    merge = Store._merge

    def count(self: Store, chosen: Mapping[str, Content]) -> None:
        written.append(sum(part.rows for part in chosen.values()))
        merge(self, chosen)

    monkeypatch.setattr(Store, "_merge", count)
    for run in range(64):
        store.add([numbers("first", [run])])
        store.tidy()
    assert check(store.numbers(KEYS), least=64) == 64
    assert 64 * len(LAYOUT) <= sum(written) <= 5 * 64 * len(LAYOUT)
    assert len(list(store.path.glob("part-*.parquet"))) <= 7


def test_rows_are_a_matrix_or_an_error(store: Store) -> None:
    rows = table.joined([damage.read(path) for path in store.path.glob("part-*")])
    covered = store.covered()
    assert check(table.to_numbers(rows, covered), least=3) == 6
    for places in (slice(0, -1), slice(1, None)):
        few = rows[np.arange(len(rows))[places]]
        with pytest.raises(table.BrokenRowsError, match="do not fit its runs"):
            table.to_numbers(few, covered)
    with pytest.raises(table.BrokenRowsError):
        table.to_numbers(table.joined([rows, rows]), covered)


def test_every_reader_of_parquet_reads_a_part(store: Store) -> None:
    """Rows read by pyarrow and DuckDB equal the rows of the store; no number is null."""
    store.add([Numbers("third", LAYOUT, np.arange(1), np.array([[1.0, np.nan, -0.0, np.inf]]))])
    store.tidy(at_least=2)
    (path,) = store.path.glob("part-*")
    rows = damage.read(path)
    assert np.isnan(rows.value).sum() == 1
    both = pq.read_table(path).to_pandas(), duckdb.read_parquet(str(path)).df()
    for read in both:
        assert read["value"].isna().sum() == 1
        np.testing.assert_array_equal(read["value"].to_numpy(float), rows.value)
        np.testing.assert_array_equal(read["run"], rows.run)
        for name in ("point", "scope", "name", "measure"):
            assert read[name].tolist() == getattr(rows, name).to_array().tolist()
    assert pq.read_table(path).column("value").null_count == 1


def test_a_filter_reads_the_rows_of_its_texts_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """A filter over several row groups reads only the groups with matching rows."""
    monkeypatch.setattr("farlink.experiment.table._GROUP", 8)
    layout = tuple(("flow", "f", f"m{place}") for place in range(5))
    values = np.arange(40.0).reshape(8, 5)
    data = table.to_bytes(table.of_numbers([Numbers("p", layout, np.arange(8), values)]), {})
    assert pq.ParquetFile(pa.BufferReader(data)).num_row_groups == 5
    for wanted in ([], ["m3"], ["m0", "m4"], ["m9"]):
        rows = table.read(data, {"measure": wanted, "point": ["p"]})
        assert sorted(set(rows.measure.to_array())) == sorted({"m0", "m3", "m4"} & set(wanted))
        assert sorted(rows.value) == sorted(values[:, [int(name[1]) for name in wanted
                                                       if name != "m9"]].ravel())  # fmt: skip
    assert len(table.read(data, {"point": ["q"]})) == 0
