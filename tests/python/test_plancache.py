"""Stored points of large sweeps: the same as resolved ones, and never those of another sweep."""

import json
import zlib
from pathlib import Path
from typing import Any

import pytest

from farlink import _farlink, source
from farlink.errors import ScenarioError
from farlink.experiment import plan, plancache
from test_cli import farlink

SWEEP = """
scenario = "{scenario}"
runs = 1
measures = ["goodput"]
[set]
"flows.0.size" = "{size}"
[factors]
loss = {{ path = "links.satellite.down.channel.ber", from = 1e-9, to = 1e-6, scale = "log" }}
[design]
kind = "random"
points = {points}
"""


def _write(
    folder: Path, scenario: str = "geo-lossy", size: str = "3 kB", points: int = 250
) -> Path:
    path = folder / "many.toml"
    path.write_text(SWEEP.format(scenario=scenario, size=size, points=points))
    return path


def test_same_sweep_again_resolves_nothing_and_writes_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, out = _write(tmp_path), tmp_path / "out"
    command = ("sweep", str(file), "--out", str(out), "--quiet")
    assert farlink(*command) == 0
    tables = {name: (out / name).read_bytes() for name in ("results.csv", "sweep.json")}
    whole = plan.read(file)
    store = out / "store"

    def resolve(*_: object) -> str:
        raise AssertionError("a point was resolved")

    monkeypatch.setattr(_farlink, "resolve", resolve)
    monkeypatch.setattr(_farlink, "resolve_many", resolve)
    again = plan.read(file, stored=lambda _: store)
    assert [point.text for point in again.points] == [point.text for point in whole.points]
    assert [point.key for point in again.points] == [point.key for point in whole.points]
    assert [point.factors for point in again.points] == [point.factors for point in whole.points]
    assert again.digest is None
    assert farlink(*command) == 0
    assert {name: (out / name).read_bytes() for name in tables} == tables


def test_another_sweep_seed_or_version_has_other_points(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = tmp_path / "store"
    store.mkdir()
    first = plan.read(_write(tmp_path), stored=lambda _: store)
    assert first.digest is not None
    plancache.save(store, first.digest, first.points)
    assert plan.read(_write(tmp_path), stored=lambda _: store).digest is None
    for other in (
        plan.read(_write(tmp_path, size="4 kB"), stored=lambda _: store),
        plan.read(_write(tmp_path, points=251), stored=lambda _: store),
        plan.read(_write(tmp_path), seed=9, stored=lambda _: store),
    ):
        assert other.digest not in (None, first.digest)
        assert other.points[0].text != first.points[0].text or len(other.points) == 251
    monkeypatch.setattr(_farlink, "engine", lambda: "another")
    assert plan.read(_write(tmp_path), stored=lambda _: store).digest not in (None, first.digest)


def test_changed_scenario_file_is_read_again(tmp_path: Path) -> None:
    store = tmp_path / "store"
    store.mkdir()
    text = _farlink.scenarios()
    scenario = dict(text)["geo-lossy"]
    (tmp_path / "mine.toml").write_text(scenario)
    file = _write(tmp_path, scenario="mine.toml")
    first = plan.read(file, stored=lambda _: store)
    assert first.digest is not None
    plancache.save(store, first.digest, first.points)
    (tmp_path / "mine.toml").write_text(scenario + "\n# changed\n")
    assert plan.read(file, stored=lambda _: store).digest is not None


def test_points_of_a_scenario_that_names_a_file_are_not_stored(tmp_path: Path) -> None:
    scenario = dict(_farlink.scenarios())["geo-lossy"]
    (tmp_path / "loss.csv").write_text("time (s),loss\n0,0\n10,0.1\n")
    (tmp_path / "mine.toml").write_text(scenario)
    file = _write(tmp_path, scenario="mine.toml")
    key = '"links.satellite.up.channel.loss_trace" = { file = "loss.csv" }\n'
    file.write_text(file.read_text().replace("[factors]", key + "[factors]"))
    assert plan.read(file).digest is None
    (tmp_path / "loss.csv").unlink()
    with pytest.raises(ScenarioError):
        plan.read(file)


def test_damaged_points_are_resolved_again(tmp_path: Path) -> None:
    store = tmp_path / "store"
    store.mkdir()
    file = _write(tmp_path)
    first = plan.read(file, stored=lambda _: store)
    assert first.digest is not None
    plancache.save(store, first.digest, first.points)
    (kept,) = store.iterdir()
    data = kept.read_bytes()
    middle = len(data) // 2
    flipped = data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :]
    for damaged in (b"", data[:-9], flipped, zlib.compress(b"[]"), zlib.compress(b"{}")):
        kept.write_bytes(damaged)
        again = plan.read(file, stored=lambda _: store)
        assert again.digest == first.digest
        assert again.points[0].text == first.points[0].text


def test_few_points_and_classes_of_files_are_not_stored(tmp_path: Path) -> None:
    assert plan.read(_write(tmp_path, points=plancache.LEAST - 1)).digest is None
    where = source.find("geo-lossy")
    assert plancache.digest(where, [{"tcp": "mine.py:Mine"}], None) is None
    assert plancache.digest(where, [{"tcp": object()}], None) is None
    assert plancache.digest(where, [{"tcp": "sack"}], None) is not None


def test_threads_resolve_the_points_of_one_thread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: set[int] = set()
    resolve = _farlink.resolve_many

    def watched(*arguments: Any) -> Any:  # noqa: ANN401 (whatever the engine takes)
        threads.add(arguments[-1])
        return resolve(*arguments)

    monkeypatch.setattr(_farlink, "resolve_many", watched)
    texts = []
    for count in (1, 3, 1000):
        monkeypatch.setattr("os.cpu_count", lambda count=count: count)
        monkeypatch.setattr(plan, "_AHEAD", 100)
        texts.append([point.text for point in plan.read(_write(tmp_path)).points])
    assert threads == {1, 3, 1000}
    assert texts[0] == texts[1] == texts[2]


UNNAMED = """
[[links]]
between = ["a", "b"]
down = { rate = "1 Mbit/s", delay = "20 ms" }
[[flows]]
from = "a"
to = "b"
app = "file"
size = "20 kB"
"""


def test_points_of_a_sweep_are_those_resolved_one_by_one(tmp_path: Path) -> None:
    (tmp_path / "delays.csv").write_text("time,delay\n0 s,1 ms\n9 s,2 ms\n")
    named = 'name = "mine"\n'
    for text in (UNNAMED, named + UNNAMED, named + UNNAMED.replace('"20 ms"', '"20 ms", loss = 1')):
        (tmp_path / "own.toml").write_text(text)
        where = source.find(tmp_path / "own.toml")
        points: list[tuple[str | None, list[tuple[str, str]]]] = [
            (None, []),
            ("cubic", []),
            ("linux-cubic", [("links.0.down.delay", "30 ms"), ("links.0.up.rate", "64 kbit/s")]),
            ("nothing", []),
            ("sack", [("links.0.down.delay", "30")]),
            ("sack", [("flows.0.tcp", "linux-bbr")]),
            ("sack", [("links.0.down.channel.delay_trace.file", "delays.csv")]),
            ("sack", [("seed", "18446744073709551615")]),
        ]
        together = source.resolve_many(where, points, 3)
        for (tcp, overrides), got in zip(points, together, strict=True):
            alone = source._resolve_alone(where, tcp, overrides)
            if isinstance(alone, ScenarioError):
                assert str(got) == str(alone)
                continue
            assert isinstance(got, str)
            assert json.loads(got) == json.loads(alone)
            assert _farlink.simulate([(got, [0])], 1, None)[0].numbers() is not None
        assert any(isinstance(got, str) for got in together) == ("loss" not in text)
        assert where.reads or "loss" in text


def test_points_of_a_saved_result_are_resolved_one_by_one(tmp_path: Path) -> None:
    out = tmp_path / "saved"
    assert farlink("run", "geo-lossy", "--set", "flows.0.size=3 kB", "--out", str(out)) == 0
    where = source.find(out / "result.json")
    assert where.saved
    (got,) = source.resolve_many(where, [("cubic", [("seed", "4")])], 2)
    assert got == where.resolve(["cubic"], [("seed", "4")])["cubic"]


def test_the_first_wrong_point_of_a_large_sweep_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    numbers = [*range(1, 150), -1, *range(150, 250), -2]
    path = tmp_path / "many.toml"
    path.write_text(
        'scenario = "geo-lossy"\n[factors]\n'
        f'mss = {{ path = "tcp.initial_window", values = {numbers} }}\n'
    )
    monkeypatch.setattr("os.cpu_count", lambda: 3)
    with pytest.raises(ScenarioError, match=r"point mss -1: .*initial_window"):
        plan.read(path)
