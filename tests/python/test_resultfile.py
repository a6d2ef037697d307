"""Damaged or forged result files give a one-line error and no output."""

import copy
import json
import operator
import random
from collections.abc import Callable
from functools import reduce
from pathlib import Path
from typing import Any, cast

import pytest

import farlink as fl
from farlink import cli


def code_of(*arguments: str) -> int:
    with pytest.raises(SystemExit) as stopped:
        cli.main(list(arguments))
    assert isinstance(stopped.value.code, int)
    return stopped.value.code


def renamed(name: str) -> Callable[[dict[str, Any]], None]:
    """Rename a TCP of the result everywhere."""

    def change(data: dict[str, Any]) -> None:
        data["tcp"][0] = name
        data["scenarios"] = {
            name if scenario == "newreno" else scenario: tree
            for scenario, tree in data["scenarios"].items()
        }
        for key in ("results", "links", "fairness"):
            for row in data[key]:
                row["tcp"] = name if row["tcp"] == "newreno" else row["tcp"]

    return change


def put(value: object, *path: str | int) -> Callable[[dict[str, Any]], None]:
    def change(data: dict[str, Any]) -> None:
        reduce(operator.getitem, path[:-1], cast("Any", data))[path[-1]] = value

    return change


def without(*path: str | int) -> Callable[[dict[str, Any]], None]:
    def change(data: dict[str, Any]) -> None:
        del reduce(operator.getitem, path[:-1], cast("Any", data))[path[-1]]

    return change


YES = True
GOODPUT = ("results", 0, "metrics", "goodput")
DAMAGE = [
    (renamed("../../escaped"), "scenarios: '../../escaped' is not a name; write 1 to 100 letters"),
    (renamed("/etc/escaped"), "scenarios: '/etc/escaped' is not a name"),
    (renamed(".farlink-x"), "scenarios: '.farlink-x' is not a name"),
    (renamed("plots"), "scenarios: 'plots' is no name of a TCP"),
    (renamed("SACK"), "scenarios: two names differ by capital letters alone"),
    (put("../out", "scenario", "name"), ".name: '../out' is not a name"),
    (put("x\0y", "scenarios", "sack", "name"), "scenarios.sack.name: 'x\\x00y' is not a name"),
    (put("a/b", "results", 0, "flow"), "results[0].flow: 'a/b' is not a name"),
    (put("\x1b[2J", "links", 0, "link"), "links[0].link: '\\x1b[2J' is not a name"),
    (put({}, "scenarios"), "scenarios = {} is no scenario by TCP"),
    (put([], "tcp"), "tcp = [] is no list of names"),
    (put("3", "runs"), "runs = '3' is no whole number from 1 to 1000000"),
    (put(2.7, "runs"), "runs = 2.7 is no whole number"),
    (put(YES, "runs"), "runs = True is no whole number"),
    (put(0, "runs"), "runs = 0 is no whole number"),
    (put(1e400, "runs"), "not usable: Infinity is no number of JSON"),
    (put(10**300, "runs"), "runs = 1000"),
    (put(-1, "seed"), "seed = -1 is no whole number from 0"),
    (put(2, "runs"), ".values is no list of 2 numbers or nulls"),
    (without("results"), "no usable 'results'"),
    (put([], "results"), "results = [] is no list of rows"),
    (put(None, "results"), "results = None is no list of rows"),
    (put([3], "links"), "links[0] is no table"),
    (put("vegas", "results", 0, "tcp"), "results[0].tcp is none of newreno, sack"),
    (put("sack", "results", 0, "tcp"), "results[1] has the same tcp, flow as a row before it"),
    (put({}, "results", 1, "metrics"), "results[1].metrics has other metrics"),
    (without("links", 1, "metrics"), "links[1].metrics is no table"),
    (put("fast", *GOODPUT), "results[0].metrics.goodput is no table"),
    (put(YES, *GOODPUT, "mean"), "results[0].metrics.goodput.mean is no number or null"),
    (put([1], *GOODPUT, "ci95"), "results[0].metrics.goodput.ci95 is no list of two"),
    (put(9, *GOODPUT, "n"), "results[0].metrics.goodput.n is not the number of its values"),
    (put(None, *GOODPUT, "unit"), "results[0].metrics.goodput.unit is no text"),
    (put([], "scenario"), "scenario = [] is no scenario"),
]


@pytest.mark.parametrize(("change", "message"), DAMAGE, ids=[message for _, message in DAMAGE])
def test_a_damaged_result_is_one_line(
    change: Callable[[dict[str, Any]], None],
    message: str,
    result: fl.Result,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    data = copy.deepcopy(result.data)
    change(data)
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    path = tmp_path / "r.json"
    path.write_text(json.dumps(data), encoding="utf-8")
    assert code_of("run", str(path), "--out", "out", "--plot", "--pcap") == 2
    err = capsys.readouterr().err
    assert err.startswith(f"farlink: error: {path}: ")
    assert message in err
    assert err.count("\n") == 1
    assert sorted(tmp_path.iterdir()) == [path, work]
    assert list(work.iterdir()) == []
    with pytest.raises(fl.ScenarioError):
        fl.load(path)


def test_a_result_that_was_made_in_python_writes_nothing_outside(
    result: fl.Result, tmp_path: Path
) -> None:
    data = copy.deepcopy(result.data)
    renamed("../../escaped")(data)
    made = fl.Result(data)
    before = sorted(tmp_path.rglob("*"))
    for write in (made.save, made.save_pcaps, made.plot.save):
        with pytest.raises(fl.ScenarioError, match="is not a name"):
            write(tmp_path / "a" / "out")
    assert sorted(tmp_path.rglob("*")) == before


TEXTS = [
    ("[" * 100_000, "too many to be read"),
    ('{"a":' * 100_000, "too many to be read"),
    ('{"runs": ' + "9" * 5000 + "}", "a number has thousands of digits"),
    ('{"a": "\\ud800"}', "half of a surrogate pair is no text"),
    ('{"a": NaN}', "NaN is no number of JSON"),
]


@pytest.mark.parametrize(("text", "message"), TEXTS, ids=[message for _, message in TEXTS])
def test_json_that_python_cannot_take_is_one_line(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(fl.ScenarioError, match=message):
        fl.load(path)
    with pytest.raises(fl.ScenarioError, match=message):
        fl.run(path)


STRANGE: list[object] = [
    None, True, 0, -1, 2**70, 1.5, 1e308, "", "..", "/", "\0", "\x1b]0;x\a", "x" * 5000, [], {},
    [[]], {"a": {}}, "sack", "reno", [None], "1 Mbit/s", 10**300,
]  # fmt: skip


def mutate(data: Any, draw: random.Random) -> None:  # noqa: ANN401 (a tree)
    """Change a place of a tree: a value, a key, or the number of elements."""
    while True:
        inside = [data[key] for key in data] if isinstance(data, dict) else list(data)
        below = [item for item in inside if isinstance(item, dict | list) and item]
        if not below or draw.random() < 0.2:
            break
        data = draw.choice(below)
    keys = list(data) if isinstance(data, dict) else list(range(len(data)))
    key = draw.choice(keys)
    act = draw.randrange(4)
    if act == 0:
        del data[key]
    elif act == 1 and isinstance(data, dict):
        data[str(draw.choice(STRANGE))] = data.pop(key)
    elif act == 2 and isinstance(data, list):
        data.append(copy.deepcopy(data[key]))
    else:
        # A later change may be inside this value; without the copy a list could contain itself.
        data[key] = copy.deepcopy(draw.choice(STRANGE))


def try_mutants(result: fl.Result, folder: Path, seeds: range) -> None:
    path, out = folder / "r.json", folder / "out"
    for seed in seeds:
        draw = random.Random(seed)  # noqa: S311
        data = copy.deepcopy(result.data)
        for _ in range(draw.choice((1, 1, 2, 5))):
            mutate(data, draw)
        text = json.dumps(data)
        if draw.random() < 0.1:
            text = text[: draw.randrange(len(text))]
        path.write_text(text, encoding="utf-8")
        try:
            loaded = fl.load(path)
            assert repr(loaded)
            for table in (loaded.summary, loaded.links, loaded.fairness, loaded.values):
                assert len(table) > 0
            if draw.random() < 0.1:
                loaded.save(out)
        except fl.FarlinkError as error:
            assert "\n" not in str(error), seed  # noqa: PT017
        except Exception as error:
            raise AssertionError(f"seed {seed}: {type(error).__name__}: {error}") from error
        assert {item.name for item in folder.iterdir()} <= {"r.json", "out"}, seed


def test_random_damage_gives_an_error_of_the_package_or_none(
    result: fl.Result, tmp_path: Path
) -> None:
    try_mutants(result, tmp_path, range(30))


@pytest.mark.long
def test_much_random_damage(result: fl.Result, tmp_path: Path) -> None:
    try_mutants(result, tmp_path, range(30, 3000))
