"""Exports of recordings, imported again, and held against the formats' own rules."""

import os
import shutil
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest

import recorded_files as made
from farlink import recordings
from farlink.errors import ScenarioError
from farlink.recordings import document
from farlink.recordings.document import Column, Direction, Recording, Traffic
from farlink.recordings.export import opportunities
from test_cli import farlink


def recording(*, step: float = 0.1, rows: int = 300, seed: int = 1) -> Recording:
    """Return a recording of values that every format can hold."""
    draw = np.random.default_rng(seed)
    shared = draw.integers(10, 60, rows).astype(np.float64) / 1e3
    directions = []
    for per in (8, 3):
        packets = draw.integers(0, per, rows)
        packets[-1] = 1
        columns = {
            "rate": Column("measured", "drawn", values=packets.astype(np.float64) * 12000.0 / step),
            "delay": Column("measured", "drawn", values=shared),
            "loss": Column(
                "measured", "drawn", values=draw.integers(0, 100, rows).astype(np.float64) / 1e4
            ),
        }
        directions.append(Direction.of(columns, Traffic("drawn", None, None, None, "none")))
    return Recording("drawn", "irtt", "drawn here", "CC0", step, rows, directions[0], directions[1])


def again(kind: str, folder: Path, names: list[str], step: float) -> Recording:
    settings = recordings.Settings(name="drawn", step=step, period=None)
    return recordings.read(kind, [folder / name for name in names], settings)


def same(first: Recording, second: Recording, columns: tuple[str, ...]) -> None:
    assert (first.rows, first.step) == (second.rows, second.step)
    for (_, before), (_, after) in zip(first.directions, second.directions, strict=True):
        for name in columns:
            values = before.column(name).values, after.column(name).values
            assert values[0] is not None
            assert values[1] is not None
            np.testing.assert_array_equal(*values)


@pytest.mark.parametrize("seed", range(5))
def test_a_recording_for_netem_is_the_same_again(seed: int, tmp_path: Path) -> None:
    first = recording(seed=seed)
    recordings.export(first, "netem", tmp_path)
    second = again("netem", tmp_path, ["down.sh", "up.sh"], 0.1)
    for (_, before), (_, after) in zip(first.directions, second.directions, strict=True):
        assert before.rate.values is not None
        assert before.loss.values is not None
        assert after.loss.values is not None
        # During an outage netem loses everything, so the loss is no longer known.
        on = before.rate.values > 0
        np.testing.assert_array_equal(before.loss.values[on], after.loss.values[on])
    same(first, second, ("rate", "delay"))
    recordings.export(second, "netem", tmp_path / "b")
    third = again("netem", tmp_path / "b", ["down.sh", "up.sh"], 0.1)
    same(second, third, document.COLUMNS)


@pytest.mark.parametrize("step", [0.01, 0.1, 1.0])
def test_a_recording_for_mahimahi_is_the_same_again(step: float, tmp_path: Path) -> None:
    first = recording(step=step)
    recordings.export(first, "mahimahi", tmp_path)
    second = again("mahimahi", tmp_path, ["down.trace", "up.trace"], step)
    same(first, second, ("rate",))
    recordings.export(second, "mahimahi", tmp_path / "b")
    for name in ("down.trace", "up.trace"):
        assert (tmp_path / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


@pytest.mark.parametrize("step", [0.01, 0.1])
def test_a_recording_for_leoreplayer_is_the_same_again(step: float, tmp_path: Path) -> None:
    first = recording(step=step)
    recordings.export(first, "leoreplayer", tmp_path)
    names = ["bw_down.txt", "bw_up.txt", "delay.txt"]
    second = again("leoreplayer", tmp_path, names, step)
    same(first, second, ("rate", "delay"))
    recordings.export(second, "leoreplayer", tmp_path / "b")
    for name in names:
        assert (tmp_path / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def test_a_recorded_trace_is_exported_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "cell.down"
    path.write_text(made.mahimahi(), encoding="utf-8")
    cell = recordings.read("mahimahi", [path], recordings.Settings(name="cell"))
    recordings.export(cell, "mahimahi", tmp_path / "out")
    assert (tmp_path / "out" / "down.trace").read_text("utf-8") == made.mahimahi()


def test_opportunities_carry_the_rate_without_a_sum_of_errors() -> None:
    first = recording()
    values = np.full(600, 1_234_567.0)
    columns = {name: first.down.column(name) for name in document.COLUMNS}
    columns["rate"] = Column("measured", "drawn", values=values)
    direction = Direction.of(columns, first.down.traffic)
    long = Recording("long", "irtt", "", "", 0.1, 600, direction, direction)
    times = opportunities(long, "down", direction)
    assert len(times) == int(60 * 1_234_567 / 12000)
    due = np.ceil(np.arange(1, len(times)) * 12e6 / 1_234_567)
    np.testing.assert_array_equal(times[:-1], due)
    assert times[-1] == 60_000


def test_rows_that_change_nothing_are_left_out_of_a_netem_script(tmp_path: Path) -> None:
    first = recording(rows=10)
    columns = {name: first.down.column(name) for name in document.COLUMNS}
    columns["rate"] = Column("measured", "", values=np.array([5e6] * 5 + [6e6] * 5))
    for name in ("delay", "loss"):
        columns[name] = Column("assumed", "", constant=0.01)
    direction = Direction.of(columns, first.down.traffic)
    steady = Recording("x", "irtt", "", "", 0.1, 10, direction, direction)
    recordings.export(steady, "netem", tmp_path)
    rows = (tmp_path / "down.sh").read_text("utf-8").split("ROWS'\n")[1].splitlines()[:-1]
    assert [row.split()[0] for row in rows] == ["0", "500", "1000"]


def test_an_export_says_what_is_lost(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recordings.save(recording(), tmp_path / "saved")
    for name in recordings.FORMATS:
        out = tmp_path / name
        assert farlink("export", name, str(tmp_path / "saved"), "--out", str(out)) == 0
        printed = capsys.readouterr().out
        assert printed.startswith("note: ")
        assert printed.endswith(f"wrote {out}\n")
    run = (tmp_path / "mahimahi" / "run.sh").read_text("utf-8")
    assert "mm-link up.trace down.trace" in run
    assert "mm-loss uplink 0.00" in run
    assert "mm-delay 10 delay.txt" in (tmp_path / "leoreplayer" / "run.sh").read_text("utf-8")


def test_refusals_are_one_line_and_write_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recordings.save(recording(), tmp_path / "saved")
    out = tmp_path / "out"
    for arguments, message in (
        (["gopher", str(tmp_path / "saved")], "format 'gopher'; write mahimahi, netem"),
        (["netem", str(tmp_path / "none")], "recording.toml: no such file"),
    ):
        assert farlink("export", *arguments, "--out", str(out)) == 2
        err = capsys.readouterr().err
        assert message in err
        assert err.count("\n") == 1
        assert not out.exists()
    slow = recording(rows=1)
    columns = {name: slow.down.column(name) for name in document.COLUMNS}
    columns["rate"] = Column("assumed", "", constant=1000.0)
    direction = Direction.of(columns, slow.down.traffic)
    empty = Recording("x", "irtt", "", "", 0.1, 1, direction, direction)
    with pytest.raises(ScenarioError, match="less than one packet of 1500 bytes"):
        recordings.export(empty, "mahimahi", out)
    odd = Recording("x", "irtt", "", "", 0.1234567, 300, slow.down, slow.up)
    with pytest.raises(ScenarioError, match="no whole milliseconds"):
        recordings.export(odd, "netem", out)


def test_scripts_are_valid_shell(tmp_path: Path) -> None:
    for name in recordings.FORMATS:
        recordings.export(recording(), name, tmp_path / name)
    shell = shutil.which("sh")
    assert shell is not None
    for script in tmp_path.rglob("*.sh"):
        subprocess.run([shell, "-n", script], check=True)


def test_the_netem_script_calls_tc_at_its_times(tmp_path: Path) -> None:
    """A program in place of tc writes its time and its arguments."""
    recordings.export(recording(rows=4), "netem", tmp_path)
    fake = tmp_path / "bin" / "tc"
    fake.parent.mkdir()
    log = tmp_path / "log"
    fake.write_text(f'#!/bin/sh\necho "$(date +%s%N) $*" >> {log}\n', encoding="utf-8")
    fake.chmod(0o755)
    shell = shutil.which("sh")
    assert shell is not None
    path = f"{fake.parent}{os.pathsep}{os.environ['PATH']}"
    script = tmp_path / "down.sh"
    begun = time.time_ns()
    subprocess.run([shell, script, "dev0"], check=True, env={"PATH": path}, timeout=30)
    calls = [line.split(" ", 1) for line in log.read_text("utf-8").splitlines()]
    rows = script.read_text("utf-8").split("ROWS'\n")[1].splitlines()[:-1]
    assert len(calls) == len(rows) + 1
    assert calls[-1][1] == "qdisc del dev dev0 root"
    for (at, call), row in zip(calls, rows, strict=False):
        due, delay, loss, rate = row.split()
        # A loaded machine calls later, but no call is before its time.
        assert (int(at) - begun) / 1e6 >= int(due) - 1
        assert call == (
            f"qdisc replace dev dev0 root netem limit 100000 delay {delay}us loss {loss}% "
            f"rate {rate}bit"
        )
