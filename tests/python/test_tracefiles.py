"""Traces written while their run goes on: the same files, bounded memory, nothing half-written."""

import errno
import json
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pytest

import farlink as fl
from farlink import api, registry, tracefiles
from farlink.trace import PACKETS
from test_cli import farlink

CHANGES = {
    "geo-lossy": {"flows.0.size": '"3 MB"'},
    "cdpd-rlp-wong1998": {"flows.0.size": '"50 kB"'},
    "two-stations": {"flows.0.size": '"1 MB"'},
    # Several row groups.
    "gigabit-cubic": {"flows.0.duration": '"1 s"'},
}


@pytest.mark.parametrize("name", CHANGES)
def test_streamed_files_are_those_of_whole_tables(name: str, tmp_path: Path) -> None:
    whole = fl.run(name, overrides=CHANGES[name])
    tcp = whole.tcp[0]
    whole.probe(tcp).write(tmp_path / "whole", "parquet")
    streamed = tmp_path / "streamed"
    streamed.mkdir()
    written = tracefiles.write(json.dumps(whole.scenario(tcp)), streamed)
    assert {path.stem for path in written.paths} == set(registry.traces()) - {PACKETS}
    for path in written.paths:
        expected, table = pd.read_parquet(tmp_path / "whole" / path.name), pd.read_parquet(path)
        # Whole numbers of a table without rows may have either type.
        pd.testing.assert_frame_equal(table, expected, check_dtype=len(expected) > 0)
        assert table.attrs == expected.attrs
        groups = pq.ParquetFile(path).metadata
        if path.stem != "throughput":
            check_encodings(groups)
        assert groups.num_rows == len(table)
        for number in range(groups.num_row_groups):
            check_statistics(groups, number, table)
    if name == "gigabit-cubic":
        assert pq.ParquetFile(streamed / "queue.parquet").metadata.num_row_groups > 2


def check_encodings(groups: "pq.FileMetaData") -> None:
    """Check that real numbers are stored by streams of bytes, which makes files short."""
    for number in range(groups.num_row_groups):
        chunks = [groups.row_group(number).column(i) for i in range(groups.num_columns)]
        reals = [chunk for chunk in chunks if chunk.physical_type == "DOUBLE"]
        assert all("BYTE_STREAM_SPLIT" in chunk.encodings for chunk in reals)


def check_statistics(groups: "pq.FileMetaData", number: int, table: pd.DataFrame) -> None:
    """Check the bounds of the columns of a row group."""
    first = sum(groups.row_group(i).num_rows for i in range(number))
    rows = table.iloc[first : first + groups.row_group(number).num_rows]
    for place, name in enumerate(table.columns):
        known = groups.row_group(number).column(place).statistics
        values = rows[name].dropna()
        assert known.null_count == len(rows) - len(values), name
        # The crate orders real numbers as IEEE 754 does, which pyarrow does not read yet.
        if len(values) and known.physical_type != "DOUBLE":
            assert (known.min, known.max) == (values.min(), values.max()), name


def test_the_queue_is_traced_until_the_end() -> None:
    queue = fl.run("geo-omueti2007", overrides={"flows.0.size": '"1 MB"'}).trace("queue")
    last = queue.groupby(["link", "direction"], observed=True).last()
    assert (last["packets"] == 0).all()
    assert (last["bytes"] == 0).all()


def test_queue_rows_of_one_time_are_in_the_order_of_links(result: fl.Result) -> None:
    queue = result.trace("queue", tcp="sack")
    key = pd.DataFrame({
        "time": queue["time"],
        "link": queue["link"].cat.codes,
        "direction": queue["direction"].cat.codes,
    })  # fmt: skip
    assert key.equals(key.sort_values(["time", "link", "direction"], kind="stable"))


def test_save_streams_every_tcp_and_captures(result: fl.Result, tmp_path: Path) -> None:
    again = fl.Result(json.loads(result.text))
    paths = again.save(tmp_path / "out", snaplen=0, jobs=2)
    assert not again._traces
    for tcp in result.tcp:
        folder = tmp_path / "out" / tcp
        frame = pd.read_parquet(folder / "cwnd.parquet")
        expected = result.probe(tcp).table("cwnd")
        pd.testing.assert_series_equal(frame["cwnd"], expected["cwnd"])
        assert list(folder.glob("*.pcapng"))
    assert sorted(path for path in (tmp_path / "out").rglob("*") if path.is_file()) == sorted(
        [*paths, tmp_path / "out" / "farlink-files.json"]
    )


def test_an_interrupted_save_leaves_nothing(tmp_path: Path) -> None:
    result = fl.run("gigabit-cubic", overrides={"flows.0.duration": '"2 s"'})

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        result.save(tmp_path / "out", progress=stop)
    assert list(tmp_path.iterdir()) == []


def test_a_result_that_does_not_repeat_leaves_nothing(result: fl.Result, tmp_path: Path) -> None:
    data = json.loads(result.text)
    data["results"][0]["metrics"]["goodput"]["values"][0] += 1
    with pytest.raises(fl.RunError, match="does not repeat"):
        fl.Result(data).save(tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_cannot_be_written_is_an_error(result: fl.Result, tmp_path: Path) -> None:
    (tmp_path / "queue.parquet").mkdir()
    with pytest.raises(FileExistsError):
        tracefiles.write(json.dumps(result.scenario()), tmp_path)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has /proc/self/status")
def test_memory_does_not_grow_with_the_run(tmp_path: Path) -> None:
    peaks = [_peak(duration, tmp_path / duration) for duration in ("4 s", "8 s")]
    # As whole tables, the longer run took some 100 MB more.
    assert peaks[1] - peaks[0] < 25e6
    assert peaks[1] < 110e6


def _peak(duration: str, out: Path) -> int:
    code = (
        "import sys, farlink as fl\n"
        f"fl.run('gigabit-cubic', overrides={{'flows.0.duration': '\"{duration}\"'}})"
        ".save(sys.argv[1])\n"
        "lines = open('/proc/self/status').readlines()\n"
        "print(next(line.split()[1] for line in lines if line.startswith('VmHWM')))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(out)], capture_output=True, text=True, check=True
    )
    return 1024 * int(done.stdout)


def test_a_single_run_is_written_while_it_is_simulated(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = fl.run(small)
    expected.save(tmp_path / "twice", snaplen=64)
    monkeypatch.setattr(api, "run", None)
    options = ["--out", str(tmp_path / "once"), "--pcap", "--snaplen", "64"]
    assert farlink("run", str(small), *options) == 0
    files = {
        path.relative_to(tmp_path / "once"): path.read_bytes()
        for path in (tmp_path / "once").rglob("*.*")
        if path.suffix not in (".json", ".parquet")
    }
    assert files
    for name, content in files.items():
        assert (tmp_path / "twice" / name).read_bytes() == content
    for path in (tmp_path / "twice").rglob("*.parquet"):
        again = tmp_path / "once" / path.relative_to(tmp_path / "twice")
        assert pq.read_table(again).equals(pq.read_table(path))
    written = fl.load(tmp_path / "once" / "result.json").data
    assert {**written, "wall_s": 0} == {**expected.data, "wall_s": 0}


@pytest.mark.parametrize("options", [["--runs", "2"], ["--tcp", "sack,reno"], ["--jobs", "0"]])
def test_other_runs_are_simulated_before_their_traces(
    small: Path, tmp_path: Path, options: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*_: object, **__: object) -> None:
        raise fl.ScenarioError("simulated alone")

    monkeypatch.setattr(api, "run", stop)
    assert farlink("run", str(small), "--out", str(tmp_path / "out"), *options) == 2
    assert not (tmp_path / "out").exists()


def test_a_full_disk_leaves_the_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The numbers of a run are printed also if its traces cannot be written."""

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "no space left on device")

    monkeypatch.setattr(tracefiles, "write", full)
    out = tmp_path / "out"
    small = ["--set", "flows.0.size=20 kB"]
    assert farlink("run", "geo-lossy", *small, "--out", str(out)) == 2
    printed = capsys.readouterr()
    assert "goodput" in printed.out
    assert "no space left on device" in printed.err
    assert not out.exists()
