"""Parts of a sweep on many machines."""

import subprocess
import sys
from pathlib import Path

import pytest

import farlink as fl
from farlink.experiment import Store, plan, shards
from test_cli import farlink

FILE = """
name = "grid"
scenario = "geo-lossy"
runs = 3
[set]
"flows.0.size" = "50 kB"
[factors]
tcp = ["sack", "cubic"]
"links.satellite.down.delay" = ["20 ms", "250 ms", "300 ms"]
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "grid.toml"
    path.write_text(FILE, encoding="utf-8")
    return path


@pytest.mark.parametrize("count", [2, 6])
def test_parts_share_the_points_and_together_are_the_sweep(file: Path, count: int) -> None:
    plan_of = plan.read(file)
    seen: list[str] = []
    for number in range(1, count + 1):
        store = file.parent / f"store{number}"
        state = shards.simulate_shard(plan_of, (number, count), store=store)
        covered = Store.there(store).covered()
        assert state.points == len(covered) == len(plan_of.points[number - 1 :: count])
        seen += covered
    assert sorted(seen) == sorted(point.key for point in plan_of.points)
    whole = fl.sweep(file)
    others = [file.parent / f"store{number}" for number in range(1, count + 1)]
    joined = file.parent / "joined"
    assert shards.join(plan_of, joined, others) == 18
    assert shards.join(plan_of, joined, others) == 0  # All are there.
    result = fl.sweep(file, store=joined)
    assert result.simulated_runs == 0
    assert result.digest == whole.digest


def test_a_join_adds_only_what_lacks(file: Path) -> None:
    few, more = plan.read(file, runs=2), plan.read(file)
    ours, theirs = file.parent / "ours", file.parent / "theirs"
    shards.simulate_shard(few, (1, 1), store=ours)
    shards.simulate_shard(more, (1, 2), store=theirs)
    assert shards.join(more, ours, [theirs]) == 3  # The third run of three points.
    assert sum(len(runs) for runs in Store.there(ours).covered().values()) == 2 * 6 + 3


def test_jobs_at_once_may_share_a_store(file: Path) -> None:
    command = [sys.executable, "-m", "farlink", "sweep", str(file), "--store", "shared", "--quiet"]
    jobs = [
        subprocess.Popen([*command, "--shard", f"{number}/3"], cwd=file.parent)
        for number in (1, 2, 3)
    ]
    assert [job.wait(timeout=120) for job in jobs] == [0, 0, 0]
    result = fl.sweep(file, store=file.parent / "shared")
    assert result.simulated_runs == 0


def test_the_command_says_what_a_part_did(
    file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(file.parent)
    assert farlink("sweep", "grid.toml", "--shard", "2/4", "--store", "two", "--quiet") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines == [
        "part 2 of 4: 2 of 6 points, 6 runs, 6 of them simulated now",
        "store: two",
    ]
    assert farlink("sweep", "grid.toml", "--shard", "2/4", "--store", "two", "--quiet") == 0
    assert "6 runs, 0 of them simulated now" in capsys.readouterr().out
    assert farlink("sweep", "grid.toml", "--join", "two", "--store", "all", "--out", "page") == 0
    assert "joined: 6 runs of 1 stores into all" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--shard", "3"], "--shard 3: write for example --shard 3/100"),
        (["--shard", "0/4"], "--shard 0/4: write for example"),
        (["--shard", "5/4"], "--shard 5/4: write for example"),
        (["--shard", "x/4"], "--shard x/4: write for example"),
        (["--shard", "1/7"], "the sweep has 6 points; write at most as many parts"),
        (["--join", "nowhere"], "nowhere: no store"),
    ],
)
def test_bad_parts_are_refused(
    file: Path,
    options: list[str],
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(file.parent)
    assert farlink("sweep", "grid.toml", "--store", "new", *options, "--quiet") == 2
    assert message in capsys.readouterr().err
    assert not (file.parent / "new").exists()
