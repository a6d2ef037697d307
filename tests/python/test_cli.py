"""The command line: its output, its files, and its errors."""

import inspect
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import IO, get_args

import pytest

import farlink as fl
from conftest import ENDLESS, without_wall_time
from farlink import cli
from farlink.cli import commands, plain
from farlink.cli import run as run_command
from farlink.cli import simulate as simulated
from farlink.plot import Plots


def farlink(*arguments: str) -> int:
    with pytest.raises(SystemExit) as stopped:
        cli.main(list(arguments))
    assert isinstance(stopped.value.code, int)
    return stopped.value.code


def test_a_run_ends_with_a_table(small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert farlink("run", str(small), "--tcp", "newreno,sack", "--runs", "3") == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert "\x1b" not in out
    for word in ("goodput", "kbit/s", "retrans-", "transmits", "(ms)", "newreno", "±"):
        assert word in out
    assert "small, seed 7, 3 runs per TCP" in out
    assert "utilisation of satellite, down: the most used link direction" in out


def test_several_flows_have_a_fairness(small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert farlink("run", str(small), "--set", "flows.0.count=2") == 0
    assert "Jain's fairness index of their goodputs: sack 0.9" in capsys.readouterr().out


def test_pages_are_shown_by_their_response_time(capsys: pytest.CaptureFixture[str]) -> None:
    assert farlink("run", "geo-http-omueti2007", "--set", "flows.0.duration=100s") == 0
    out = capsys.readouterr().out
    assert "response" in out
    assert "transfer" not in out


def test_one_run_has_no_interval(small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert farlink("run", str(small)) == 0
    assert "±" not in capsys.readouterr().out


def test_runs_without_chance_are_one_run(small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    clean = ["--set", "links.0.down.channel.loss=0", "--tcp", "newreno,sack", "--runs", "10"]
    assert farlink("run", str(small), *clean) == 0
    shown = capsys.readouterr().out
    assert "±" not in shown
    assert "median" not in shown
    assert "nothing here is random: the 10 runs are the same, so it is one run" in shown
    assert not re.search(r"\.0{5}", shown)


def test_quiet_prints_nothing(small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert farlink("run", str(small), "--quiet") == 0
    assert capsys.readouterr() == ("", "")


def test_the_json_is_that_of_python(small: Path, tmp_path: Path, result: fl.Result) -> None:
    path = tmp_path / "deep" / "r.json"
    common = ["run", str(small), "--tcp", "newreno,sack", "--runs", "3", "--quiet"]
    for jobs in ("1", "2"):
        assert farlink(*common, "--jobs", jobs, "--json", str(path)) == 0
        assert without_wall_time(json.loads(path.read_text())) == without_wall_time(result.data)
    again = tmp_path / "again.json"
    assert farlink("run", str(path), "--json", str(again), "--quiet") == 0
    assert without_wall_time(json.loads(again.read_text())) == without_wall_time(result.data)


def test_out_holds_everything_of_run_0(small: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    options = ["--out", str(out), "--plot", "--pcap", "--format", "csv", "--quiet"]
    assert farlink("run", str(small), *options) == 0
    assert (out / "result.json").is_file()
    assert (out / "sack" / "cwnd.csv").is_file()
    assert (out / "plots" / "first-loss-sack.png").is_file()
    assert list((out / "sack").glob("*.pcapng"))


def test_plots_without_out_say_where_they_are(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def save(_: Plots, directory: Path, **__: object) -> list[Path]:
        directory.mkdir()
        (directory / "cwnd.svg").touch()
        return []

    monkeypatch.setattr(Plots, "save", save)
    monkeypatch.chdir(tmp_path)
    assert farlink("run", str(small), "--plot") == 0
    where = Path("farlink-out") / "small"
    assert f"files: {where}/" in capsys.readouterr().out
    assert (where / "plots" / "cwnd.svg").is_file()
    assert not (where / "result.json").exists()


def test_set_changes_the_scenario(small: Path, tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    options = ["--set", "flows.0.size=100kB", "--set", "links.satellite.down.delay=70ms"]
    assert farlink("run", str(small), *options, "--json", str(path), "--quiet") == 0
    data = json.loads(path.read_text())
    assert data["scenario"]["links"][0]["down"]["delay"] == "70 ms"
    assert data["results"][0]["metrics"]["rtt_mean"]["mean"] > 0.12


@pytest.mark.parametrize("command", ["scenarios", "presets", "tcp", "metrics"])
def test_lists(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert farlink(command) == 0
    table = capsys.readouterr().out
    assert farlink(command, "--json") == 0
    rows = json.loads(capsys.readouterr().out)
    assert rows
    for row in rows:
        assert row["name"] in table


def test_show_prints_a_scenario_that_runs(
    small: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert farlink("show", str(small), "--tcp", "reno", "--set", "seed=9") == 0
    shown = tmp_path / "shown.json"
    shown.write_text(capsys.readouterr().out, encoding="utf-8")
    direct = fl.run(small, tcp="reno", seed=9)
    assert fl.run(shown).data["results"] == direct.data["results"]


def test_schema_and_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert farlink("schema") == 0
    assert json.loads(capsys.readouterr().out)["$schema"]
    assert farlink("--version") == 0
    assert capsys.readouterr().out == f"farlink {fl.__version__}\n"


BAD = [
    (["run"], "Missing argument 'SCENARIO'."),
    (["rum"], "No such command 'rum'. Did you mean 'run'?"),
    (
        ["run", "SMALL", "--sed", "1"],
        "No such option: --sed (Possible options: --phases, --seed, --set)",
    ),
    (
        ["run", "geo-omueti2008"],
        "geo-omueti2008: neither a scenario of the library nor a file; "
        "did you mean 'geo-omueti2007'?",
    ),
    (
        ["run", "zebra"],
        "zebra: neither a scenario of the library nor a file; `farlink list scenarios` lists them",
    ),
    (["run", "none.toml"], "none.toml: no such file or directory"),
    (["run", "TMP"], "TMP: is a directory"),
    (["run", "TMP/binary.toml"], "TMP/binary.toml: byte 0 is not UTF-8 text"),
    (
        ["run", "TMP/list.json"],
        "TMP/list.json: holds no JSON object, so it is neither scenario nor result",
    ),
    (
        ["run", "TMP/sweep.toml"],
        'TMP/sweep.toml:2: unknown key "scenario"; a file with it is an experiment: farlink sweep',
    ),
    (["run", "TMP/cut.json"], "TMP/cut.json:1:13: not JSON: expecting ',' delimiter"),
    (
        ["run", "TMP/newer.json"],
        "TMP/newer.json: format 'farlink-result/9' is not known; "
        "this version reads 'farlink-result/1'",
    ),
    (["run", "TMP/bare.json"], "TMP/bare.json: a damaged result: no usable 'scenarios'"),
    (["run", "SMALL", "--runs", "0"], "runs is 0; write 1 to 1000000"),
    (["run", "SMALL", "--jobs", "-1"], "jobs is -1; write 1 to 1024"),
    (["run", "SMALL", "--threads", "0"], "threads is 0; write 1 to 256"),
    (
        ["run", "SMALL", "--tcp", "sack,,reno"],
        "--tcp sack,,reno: a name is empty; write --tcp reno,sack",
    ),
    (["run", "SMALL", "--tcp", "reno,reno"], "tcp 'reno' is named twice; name each once"),
    (
        ["run", "SMALL", "--tcp", "reno", "--tcp", "sack,reno"],
        "tcp 'reno' is named twice; name each once",
    ),
    (
        ["show", "SMALL", "--tcp", "reno", "--tcp", "sack"],
        "--tcp reno, sack: write one TCP; it is for one at a time",
    ),
    (
        ["emulate", "SMALL", "--transfer", "1MB", "--tcp", "reno", "--tcp", "cubic"],
        "--tcp reno, cubic: write one TCP; it is for one at a time",
    ),
    (
        ["run", "SMALL", "--set", "tcp.mss="],
        "--set tcp.mss=: the value is missing; write tcp.mss=default to take away what the "
        "scenario says",
    ),
    (
        ["run", "SMALL", "--set", "seed"],
        "--set seed: not PATH=VALUE; write for example --set links.0.down.delay=300ms",
    ),
    (["run", "SMALL", "--tcp", "sack,renno"], "tcp 'renno' is not known; did you mean 'reno'?"),
    (
        ["run", "SMALL", "--tcp", "zzz"],
        "tcp 'zzz' is not known; there are {VARIANTS}",
    ),
    (
        ["run", "SMALL", "--set", "links.0.down.delai=3ms"],
        '--set links.0.down.delai=3ms: unknown key "delai" in links[0].down; did you mean "delay"?',
    ),
    (
        ["run", "SMALL", "--set", "links.0.down.delay=300"],
        "--set links.0.down.delay=300: "
        'links[0].down.delay = 300 has no unit; write for example "300 ms"',
    ),
    (
        ["run", "SMALL", "--set", "links.0.down.delay=-3ms"],
        "--set links.0.down.delay=-3ms: "
        'links[0].down.delay = "-3ms" is negative; write a time of 0 s or more',
    ),
    (
        ["run", "SMALL", "--set", "flows.0.to=moon"],
        "--set flows.0.to=moon: "
        'flows[0].to = "moon" is not a node; the nodes are "gateway", "client"',
    ),
    (
        ["run", "SMALL", "--set", "flows.0.size=0 B"],
        "--set flows.0.size=0 B: "
        'flows[0].size = "0 B" is out of range; write "1 B" to "1048576 GiB"',
    ),
    (["run", "TMP/empty.toml"], 'TMP/empty.toml:1: the scenario has no "links"; write [[links]]'),
    (["run", "SMALL", "--format", "xls"], "--format xls: write parquet or csv"),
    (
        ["run", "SMALL", "--snaplen", "96"],
        "--snaplen has no effect without --pcap; add --pcap or leave it out",
    ),
    (
        ["run", "SMALL", "--pcap", "--snaplen", "-1"],
        "--snaplen -1: write 0 (whole packets) to 65535",
    ),
    (
        ["run", "SMALL", "--json", "TMP"],
        "cannot write TMP: it is a directory; give the name of a file",
    ),
    (
        ["run", "SMALL", "--json", "TMP/list.json/r.json"],
        "cannot write in TMP/list.json: TMP/list.json is not a directory",
    ),
    (
        ["run", "SMALL", "--out", "TMP/list.json"],
        "cannot write in TMP/list.json: TMP/list.json is not a directory",
    ),
]


@pytest.mark.parametrize(("arguments", "message"), BAD, ids=[" ".join(a) for a, _ in BAD])
def test_bad_input_is_one_line_and_code_2(
    arguments: list[str],
    message: str,
    small: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe")
    (tmp_path / "empty.toml").write_text("", encoding="utf-8")
    (tmp_path / "list.json").write_text("[]", encoding="utf-8")
    sweep = 'name = "two"\nscenario = "geo-lossy"\nruns = 2\n'
    (tmp_path / "sweep.toml").write_text(sweep, encoding="utf-8")
    (tmp_path / "cut.json").write_text('{"format": 1', encoding="utf-8")
    (tmp_path / "newer.json").write_text('{"format": "farlink-result/9"}', encoding="utf-8")
    (tmp_path / "bare.json").write_text('{"format": "farlink-result/1"}', encoding="utf-8")
    before = sorted(path.name for path in tmp_path.iterdir())
    here = [
        argument.replace("SMALL", str(small)).replace("TMP", str(tmp_path))
        for argument in arguments
    ]
    assert farlink(*here) == 2
    out, err = capsys.readouterr()
    assert out == ""
    names = ", ".join(fl.variants().index)
    message = message.replace("TMP", str(tmp_path)).replace("{VARIANTS}", names)
    assert err == f"farlink: error: {message}\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == before


def test_outputs_are_checked_before_the_run(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_: object, **__: object) -> None:
        pytest.fail("the run started")

    monkeypatch.setattr("farlink.api.run", never)
    assert farlink("run", str(small), "--json", str(tmp_path)) == 2
    assert farlink("run", str(small), "--out", str(small)) == 2


def test_a_run_that_fails_is_code_1(
    small: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object) -> list[str]:
        raise fl.RunError("run 3 of sack:\nit went wrong")

    monkeypatch.setattr("farlink._farlink.simulate", fail)
    assert farlink("run", str(small)) == 1
    assert capsys.readouterr().err == "farlink: error: run 3 of sack: it went wrong\n"


def test_control_c_is_code_130_and_writes_nothing(tmp_path: Path, small: Path) -> None:
    options = [item for change in ENDLESS.items() for item in ("--set", "=".join(change))]
    options += ["--json", str(tmp_path / "r.json")]
    with started("run", str(small), *options) as process:
        process.send_signal(signal.SIGINT)
        try:
            out, err = process.communicate(timeout=60)
        finally:
            process.kill()
    assert process.returncode == 130
    assert (out, err) == ("", "farlink: interrupted\n")
    assert not (tmp_path / "r.json").exists()


def start(*arguments: str, stdout: IO[str] | int) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "farlink", *arguments]
    return _popen(command, stdout)


def _popen(command: list[str], stdout: IO[str] | int) -> subprocess.Popen[str]:
    # Background processes may ignore Ctrl-C, and the programs that they start inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    return subprocess.Popen(command, stdout=stdout, stderr=subprocess.PIPE, text=True)


TELL = """
import sys
from farlink import _farlink, cli
simulate = _farlink.simulate
def tell(work, threads, progress, done, *more):
    told = []
    def look(simulated, expected, over, runs):
        if not told and (over if runs > 1 else simulated):
            told.append(print("running", flush=True))
        if progress:
            progress(simulated, expected, over, runs)
    return simulate(work, threads, look, done, *more)
_farlink.simulate = tell
cli.main(sys.argv[1:])
"""


def started(*arguments: str) -> subprocess.Popen[str]:
    """Start the command, and wait until it simulates, or until the first of many runs is over."""
    process = _popen([sys.executable, "-c", TELL, *arguments], subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == "running\n"
    return process


def test_control_c_in_the_first_moments_is_no_traceback() -> None:
    """Ctrl-C comes while Python loads the command's modules."""
    code = (
        "import sys\n"
        "class Interrupts:\n"
        "    def find_spec(self, name, *_):\n"
        "        if name in ('farlink.api', 'farlink.cli', 'typer'):\n"
        "            raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Interrupts())\n"
        "sys.argv = ['farlink', 'tcp']\n"
        "from farlink.entry import main\n"
        "main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "farlink: interrupted\n")


def test_who_stops_reading_changes_no_exit_code(small: Path, tmp_path: Path) -> None:
    """A reader such as `| head -2` stops reading; all files are written nevertheless."""
    path = tmp_path / "r.json"
    command = [sys.executable, "-m", "farlink", "run", str(small), "--json", str(path)]
    with _popen(command, subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.close()
        assert process.wait(timeout=60) == 0
        assert process.stderr is not None
        assert process.stderr.read() == ""
    assert fl.load(path).runs == 1


@pytest.mark.skipif(not Path("/dev/stdout").exists(), reason="needs /dev/stdout")
def test_the_name_of_standard_output_is_standard_output(small: Path) -> None:
    command = [sys.executable, "-m", "farlink", "run", str(small), "--json", "/dev/stdout"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["runs"] == 1


def test_an_empty_choice_of_a_study_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    """An empty choice must not run the whole study, which takes long."""
    assert farlink("study", "wong1998", "--only", "", "--list") == 2
    assert "--only '': a name is empty" in capsys.readouterr().err


MANY = ["--runs", "300000", "--set", "flows.0.size=20kB"]


def test_control_c_among_many_short_runs_keeps_those_that_are_done(
    small: Path, tmp_path: Path
) -> None:
    path, out = tmp_path / "r.json", tmp_path / "out"
    options = [*MANY, "--json", str(path), "--out", str(out)]
    with started("run", str(small), *options) as process:
        process.send_signal(signal.SIGINT)
        output, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    kept = fl.load(path)
    assert 0 < kept.runs < 300_000
    assert f"{kept.runs} runs per TCP" in output
    assert err == (
        f"farlink: interrupted when {kept.runs} of 300000 runs of each TCP were done; "
        f"{path} and {out / 'result.json'} has them, without traces\n"
    )
    assert fl.load(out / "result.json").data == kept.data


def test_sigterm_leaves_nothing_unfinished(small: Path, tmp_path: Path) -> None:
    options = ["--out", str(tmp_path / "deep" / "out"), "--plot", "--quiet"]
    code = (
        "import sys, time\nfrom farlink import cli\nfrom farlink.plot import Plots\n"
        "def slow(*_, **__):\n print('writing', flush=True)\n time.sleep(60)\n"
        "Plots.tasks = slow\ncli.main(sys.argv[1:])"
    )
    command = [sys.executable, "-c", code, "run", str(small), *options]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "writing\n"
        process.terminate()
        assert process.communicate(timeout=60)[1] == "farlink: terminated\n"
    assert process.returncode == 143
    assert [path.name for path in tmp_path.iterdir()] == ["small.toml"]


def test_json_to_standard_output_is_json_alone(
    small: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert farlink("run", str(small), "--json", "-") == 0
    assert json.loads(capsys.readouterr().out)["format"] == "farlink-result/1"
    assert not Path("-").exists()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_standard_output_is_said_and_files_are_written(small: Path, tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    with (
        Path("/dev/full").open("w") as full,
        start("run", str(small), "--json", str(path), stdout=full) as process,
    ):
        err = process.communicate(timeout=60)[1]
    assert process.returncode == 2
    assert err == "farlink: error: cannot write to standard output: no space left on device\n"
    assert fl.load(path).runs == 1


def test_a_closed_standard_output_is_no_error(small: Path, tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    closed = (
        "import os, sys\nos.close(1)\nos.execv(sys.executable, [sys.executable, *sys.argv[1:]])"
    )
    command = [
        sys.executable,
        "-c",
        closed,
        "-m",
        "farlink",
        "run",
        str(small),
        "--json",
        str(path),
    ]
    done = subprocess.run(command, check=False, stderr=subprocess.PIPE, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert fl.load(path).runs == 1


def test_a_reader_that_goes_away_stops_it_quietly() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with start("schema", stdout=writing) as process:
        os.close(writing)
        err = process.communicate(timeout=60)[1]
    assert (process.returncode, err) == (0, "")


def test_names_do_not_steer_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert farlink("run", str(tmp_path / "\x1b]0;title\x07.toml")) == 2
    assert farlink("run", "\x9b2J") == 2
    assert farlink("run", "\udcff.toml") == 2
    err = capsys.readouterr().err
    assert err.isascii()
    assert all(item.isprintable() or item == "\n" for item in err)
    assert "\\x1b]0;title\\x07.toml: no such file" in err


def test_a_long_value_is_not_echoed_whole(small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for option in ("--tcp", "--format", "--set"):
        value = "seed=" * (option == "--set") + "x" * 100_000
        assert farlink("run", str(small), option, value) == 2
        err = capsys.readouterr().err
        assert err.startswith("farlink: error: ")
        assert len(err) < 4000
    assert farlink("run", "x" * 100_000) == 2
    assert len(capsys.readouterr().err) < 4000


# Importing these packages takes more than a second, too long for a line of help.
HEAVY = {"arrow", "jinja2", "matplotlib", "numpy", "pandas", "pyarrow", "rich", "scipy"}


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["run", "--help"], ["schema"]])
def test_what_is_heavy_is_imported_when_needed(arguments: list[str]) -> None:
    code = (
        "import sys\nfrom farlink import cli\n"
        f"try:\n cli.main({arguments})\n"
        "except SystemExit as end:\n assert end.code == 0\n"
        f"sys.stderr.write(str(sorted(set(sys.modules) & {HEAVY})))"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stderr == "[]"


def test_a_run_without_plots_needs_nothing_heavy(small: Path, tmp_path: Path) -> None:
    """Table, medians and result file are written without loading NumPy."""
    arguments = ["run", str(small), "--tcp", "sack,reno", "--runs", "8"]
    arguments += ["--json", str(tmp_path / "result.json")]
    others = {"farlink.cli.compare", "farlink.comparison", "farlink.emulation", "farlink.plot"}
    code = (
        "import sys\nfrom farlink import cli\n"
        f"try:\n cli.main({arguments})\n"
        "except SystemExit as end:\n assert end.code == 0\n"
        f"print(sorted(set(sys.modules) & {(HEAVY - {'rich'}) | others}))"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "[]"
    assert "median difference" in done.stdout


def test_parquet_traces_are_written_without_pandas(small: Path, tmp_path: Path) -> None:
    arguments = ["run", str(small), "--out", str(tmp_path / "out"), "--jobs", "1", "--quiet"]
    code = (
        "import sys\nfrom farlink import cli\n"
        f"try:\n cli.main({arguments})\n"
        "except SystemExit as end:\n assert end.code == 0\n"
        "print('pandas' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout == "False\n"
    assert (tmp_path / "out" / "sack" / "segments.parquet").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_a_terminal_gets_a_progress_bar(small: Path) -> None:
    import pty

    master, slave = pty.openpty()
    command = [sys.executable, "-m", "farlink", "run", str(small), "--runs", "400"]
    env = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "100"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=slave, env=env) as process:
        os.close(slave)
        shown = b""
        while True:
            try:
                piece = os.read(master, 65536)
            except OSError:  # the reader has ended
                break
            if not piece:
                break
            shown += piece
        out, _ = process.communicate(timeout=60)
    os.close(master)
    assert process.returncode == 0
    assert b"ETA" in shown
    assert b"\x1b" not in out


def test_six_runs_have_medians_and_differences(
    small: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert farlink("run", str(small), "--tcp", "newreno", "--tcp", "sack", "--runs", "6") == 0
    out = capsys.readouterr().out
    assert "median goodput" in out
    assert "to newreno (kbit/s)" in out
    assert farlink("run", str(small), "--runs", "5") == 0
    assert "median goodput" not in capsys.readouterr().out


PLAIN = [
    "run small",
    "run small --tcp reno,sack --tcp cubic --set a.b=1 --set=c=d=e --seed 7 --runs 3",
    "run --jobs=2 --json r.json small --out d --pcap --snaplen 64 --plot --format csv --quiet",
    "run small --plot --figure-size column --fonts tex",
    "run small --seed 1 --seed 2",
    "run small --threads 2",
    "run small --out d --packets --figure ladder --story 0 --phases path",
]
OTHER = [
    "run",
    "run a b",
    "run small --json -",
    "run small --seed -1",
    "run small --seed 1_0",
    "run small --seed",
    "run small --sed 1",
    "run small --quiet=1",
    "run small -h",
    "run -- small",
    "show small",
    "",
]


def test_both_readers_of_the_options_of_run_read_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """The short reader accepts the same input as the general one, and knows every option."""
    seen: list[dict[str, object]] = []

    def simulate(scenario: str, **options: object) -> None:
        seen.append({"scenario": scenario, **options})

    monkeypatch.setattr(run_command, "simulate", simulate)
    options = inspect.signature(run_command.run).parameters
    for line in PLAIN:
        assert commands.run(line.split()) == (None, 0)
        plainly = plain.options_of_run(line.split())
        assert plainly is not None
        assert seen[-1] == {name: option.default for name, option in options.items()} | plainly
    for line in OTHER:
        assert plain.options_of_run(line.split()) is None, line
    given = {word.partition("=")[0] for line in PLAIN for word in line.split() if word[:2] == "--"}
    # With Annotated, typer puts the first name of an option where the default is.
    names = {get_args(option.annotation)[1].default for option in options.values()}
    assert given == names - {...}
    short = inspect.signature(simulated.simulate).parameters
    for name, option in options.items():
        assert (short[name].default or None) == (option.default or None) or name == "scenario"


def test_of_what_is_not_random_there_is_no_interval(
    small: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    clean = "links.0.down.channel.loss=0"
    grid = tmp_path / "grid.toml"
    grid.write_text(
        f'scenario = "{small}"\nruns = 2\n[set]\n"links.0.down.channel.loss" = 0\n'
        '[factors]\ntcp = ["sack", "reno"]\n',
        encoding="utf-8",
    )
    tuned = ("--vary", "tcp.initial_window=2|10", "--trials", "2", "--confirm", "2", "--runs", "2")
    wider = ("--set-b", "tcp.initial_window=9", "--runs", "2")
    for words, text in (
        (("diff", small, small, "--set", clean, *wider), "the runs are"),
        (("sweep", grid, "--out", tmp_path / "sweep"), "the 2 runs of a point are"),
        (("tune", small, "--set", clean, *tuned), "the runs of a setting are"),
    ):
        assert farlink(*map(str, words)) == 0
        out = capsys.readouterr().out
        assert "±" not in out
        assert f"nothing random happened: {text} the same" in out
    page = (tmp_path / "sweep" / "index.html").read_text(encoding="utf-8")
    assert "Nothing random happened" in page
    assert "±" not in page
