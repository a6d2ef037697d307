"""Points, executor and store: each run is simulated once, stored whole, and found again."""

import subprocess
import sys
import threading
import tomllib
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import farlink as fl
from farlink import files
from farlink.errors import RunError, ScenarioError
from farlink.experiment import Experiment, Point, Store
from farlink.experiment.numbers import Numbers, of_run
from farlink.experiment.ranges import Ranges

QUICK = {"flows.0.size": "30 kB"}


@pytest.fixture
def points(small: Path) -> list[Point]:
    return [
        Point.of(small, tcp=tcp, overrides=QUICK, factors={"tcp": tcp}) for tcp in ("sack", "reno")
    ]


def test_values_are_those_of_run(small: Path, points: list[Point]) -> None:
    result = fl.run(small, tcp=["sack", "reno"], runs=5, overrides=QUICK)
    lab = Experiment()
    lab.simulate([(point, 5) for point in points])
    for point in points:
        name = str(point.factors["tcp"])
        assert lab.values(point, "goodput").tolist() == result.per_run("goodput", name)
        row = result.data["links"][0]
        of_link = lab.values(points[0], f"{row['link']}.{row['direction']}.utilisation")
        assert of_link.tolist() == row["metrics"]["utilisation"]["values"]


def test_what_is_there_is_not_simulated_again(points: list[Point], tmp_path: Path) -> None:
    lab = Experiment(tmp_path / "store")
    lab.simulate([(points[0], 3)])
    assert lab.simulated_runs == 3
    again = Experiment(tmp_path / "store")
    again.simulate([(points[0], 5), (points[1], 2)])
    assert again.simulated_runs == 4
    assert again.values(points[0], "goodput").tolist() == (
        Experiment().values(points[0], "goodput", 5).tolist()
    )


def test_numbers_of_all_flows_are_the_same_bits_from_memory_and_from_a_store(
    tmp_path: Path,
) -> None:
    point = Point.of("geo-mixed", overrides={"duration": "10 s"})
    held, stored = Experiment(), Experiment(tmp_path / "store")
    for measure in ("goodput_over_run", "loss_rate", "datagrams_lost", "jain"):
        item, other = (lab.values(point, measure, 2) for lab in (held, stored))
        assert not np.isnan(item).any(), measure
        assert item.tolist() == other.tolist(), measure


def test_the_key_is_of_scenario_seed_and_engine_alone(small: Path) -> None:
    item = Point.of(small)
    assert Point.of(small, overrides={"name": "other"}, factors={"a": 1}).key == item.key
    assert Point.of(small, seed=8).key != item.key
    assert Point.of(small, overrides=QUICK).key != item.key


def test_a_run_that_two_parts_have_counts_once(points: list[Point], tmp_path: Path) -> None:
    lab = Experiment()
    lab.simulate([(points[0], 4)])
    numbers = lab.numbers(points[0])
    store = Store(tmp_path / "store")
    for first, past in ((0, 3), (1, 4), (0, 4), (2, 3)):
        store.add([_cut(numbers, first, past)])
    count = "select count(*), sum(value) from results where measure = 'goodput'"
    before = store.query(count).iloc[0].tolist()
    assert before[0] == 4
    store.tidy(at_least=2)
    assert len(list(store.path.glob("part-*"))) == 1
    assert store.query(count).iloc[0].tolist() == pytest.approx(before, rel=1e-15)
    (again,) = Store(store.path).numbers([points[0].key])
    assert of_run(again, "goodput").tolist() == of_run(numbers, "goodput").tolist()


def test_parts_that_a_merge_replaced_do_not_count(points: list[Point], tmp_path: Path) -> None:
    # The state after a merging process was killed before it removed the old parts.
    lab = Experiment()
    lab.simulate([(points[0], 4)])
    store = Store(tmp_path / "store")
    kept = {}
    for first in range(4):
        store.add([_cut(lab.numbers(points[0]), first, first + 1)])
    for path in store.path.glob("part-*"):
        kept[path] = path.read_bytes()
    store.tidy(at_least=2)
    for path, data in kept.items():
        path.write_bytes(data)
    result = Store(store.path).query("select count(*) n from results where measure = 'goodput'")
    assert result["n"].tolist() == [4]


def _cut(numbers: Numbers, first: int, past: int) -> Numbers:
    rows = slice(first, past)
    return Numbers(numbers.point, numbers.layout, numbers.runs[rows], numbers.values[rows])


def test_ranges() -> None:
    runs = Ranges([(0, 3), (5, 6), (3, 4)])
    assert list(runs) == [(0, 4), (5, 6)]
    assert runs.missing(8) == [4, 6, 7]
    assert runs.missing(2) == []
    assert list(runs.common(Ranges([(2, 9)]))) == [(2, 4), (5, 6)]
    runs.add_each([9, 4, 8])
    assert list(runs) == [(0, 6), (8, 10)]


def test_a_damaged_part_is_said_by_name(points: list[Point], tmp_path: Path) -> None:
    lab = Experiment(tmp_path / "store")
    lab.simulate([(points[0], 1)])
    (part,) = (tmp_path / "store").glob("part-*")
    part.write_bytes(part.read_bytes()[:-50])
    with pytest.raises(ScenarioError, match=f"{part.name}.*remove it"):
        Store(tmp_path / "store").covered()


def test_a_folder_with_something_else_is_no_store(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("")
    with pytest.raises(ScenarioError, match="neither a store nor an empty folder"):
        Store(tmp_path)


def test_a_store_that_another_process_makes_at_the_same_time_is_shared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = tmp_path / "begun"
    begun.mkdir()
    (begun / f"{files.TEMPORARY}abcdefgh.json").write_text("")
    assert Store(begun).covered() == {}

    made = tmp_path / "made"
    looked = Store._may_be_taken

    def meanwhile(store: Store) -> bool:
        monkeypatch.setattr(Store, "_may_be_taken", looked)
        Store(made)
        (made / "part-0.parquet").write_bytes(b"")
        return looked(store)

    made.mkdir()
    monkeypatch.setattr(Store, "_may_be_taken", meanwhile)
    assert Store(made).path == made


class _Elsewhere:
    """Executor with only a `submit` method, which loses a task when told to."""

    def __init__(self) -> None:
        self.pool = ThreadPoolExecutor(2)
        self.calls = 0

    def submit(self, fn: Any, /, *args: Any) -> "Future[Any]":  # noqa: ANN401
        self.calls += 1
        return self.pool.submit(fn, *args)


def test_any_executor_gives_the_same_numbers(points: list[Point]) -> None:
    elsewhere = _Elsewhere()
    values = Experiment(executor=elsewhere).values(points[0], "goodput", 20)
    assert values.tolist() == Experiment(jobs=1).values(points[0], "goodput", 20).tolist()
    assert elsewhere.calls > 0
    elsewhere.pool.shutdown()


def test_workers_with_another_engine_are_refused(
    points: list[Point], monkeypatch: pytest.MonkeyPatch
) -> None:
    from farlink.experiment import work

    class Other:
        engine = staticmethod(lambda: "0.0.1+old")

    monkeypatch.setattr(work, "_farlink", Other)
    with pytest.raises(RunError, match=r"a worker has farlink 0\.0\.1\+old.*install the same"):
        Experiment().values(points[0], "goodput", 1)


def test_what_is_done_when_it_is_stopped_is_kept(points: list[Point], tmp_path: Path) -> None:
    def tell(done: int, _total: int) -> None:
        if done >= 10:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Experiment(tmp_path / "store", tell=tell).simulate([(point, 5000) for point in points])
    done = Store(tmp_path / "store").covered()
    # a run of each point, not all runs of the first point
    assert set(done) == {point.key for point in points}
    assert threading.active_count() < 5


WRITER = """
import sys
from farlink.experiment import Experiment, Point
points = [Point.of(sys.argv[1], tcp=tcp, overrides={"flows.0.size": "30 kB"})
          for tcp in ("sack", "reno")]
print("begun", flush=True)
Experiment(sys.argv[2], jobs=2).simulate([(one, 300) for one in points])
"""


def test_two_writers_and_one_that_is_killed_leave_the_same_numbers(
    small: Path, points: list[Point], tmp_path: Path
) -> None:
    store = tmp_path / "store"
    command = [sys.executable, "-c", WRITER, str(small), str(store)]
    with (
        subprocess.Popen(command, stdout=subprocess.PIPE) as killed,
        subprocess.Popen(command, stdout=subprocess.PIPE) as other,
    ):
        assert killed.stdout is not None
        killed.stdout.readline()
        killed.kill()
        other.communicate()
    assert other.returncode == 0
    lab = Experiment(store)
    lab.simulate([(item, 300) for item in points])
    assert lab.simulated_runs == 0
    reference = Experiment()
    for point in points:
        assert _bits(lab.values(point, "goodput")) == _bits(reference.values(point, "goodput", 300))


def _bits(values: Sequence[float] | np.typing.NDArray[np.float64]) -> bytes:
    return np.asarray(values, np.float64).tobytes()


def test_a_study_goes_on_from_its_store(tmp_path: Path) -> None:
    from farlink.studies.cache import Cell, SimulationCache

    # The flows are not in alphabetical order, but a store sorts numbers by name.
    tree = tomllib.loads(fl.scenarios()["geo-mixed"])
    cell = Cell("mixed", {**tree, "duration": "10 s", "flows": tree["flows"][::-1]})
    held, first = SimulationCache(runs=2), SimulationCache(runs=2, store=tmp_path / "store")
    again = SimulationCache(runs=3, store=tmp_path / "store")
    first.prefetch([cell])
    for place in (0, 1, 2):
        wanted = held.flow(cell, "goodput_over_run", flow=place).values.tolist()
        assert first.flow(cell, "goodput_over_run", flow=place).values.tolist() == wanted
        result = again.flow(cell, "goodput_over_run", flow=place).values.tolist()
        assert result[:2] == wanted
    assert (first.simulated_runs, again.simulated_runs) == (2, 1)
    assert first.events > again.events > 0
