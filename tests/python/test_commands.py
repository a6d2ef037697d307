"""The command line as `--help` shows it: sections, examples that run, former names."""

import shlex
import shutil
from importlib.util import find_spec
from pathlib import Path

import pytest

import recorded_files
from farlink.cli import channels, commands, lists, main

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = {entry.example for entry in commands.COMMANDS.values()}
EXAMPLES |= {*channels.EXAMPLES.values(), *lists.EXAMPLES.values()}

LONG = ("farlink study", "farlink sweep")


def code_of(*arguments: str) -> int:
    with pytest.raises(SystemExit) as end:
        main(list(arguments))
    return int(end.value.code or 0)


def test_help_lists_each_command_in_its_section(capsys: pytest.CaptureFixture[str]) -> None:
    assert code_of("--help") == 0
    lines = capsys.readouterr().out.splitlines()
    starts = {
        entry.section: lines.index(f"{entry.section}:") for entry in commands.COMMANDS.values()
    }
    for name, entry in commands.COMMANDS.items():
        (at,) = [number for number, line in enumerate(lines) if line.startswith(f"  {name} ")]
        assert max(start for start in starts.values() if start < at) == starts[entry.section]
    assert not [line for line in lines if line.split()[:1] == ["presets"]]


@pytest.mark.parametrize("former", commands._ALIASES)
def test_a_former_name_is_the_same_command(former: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert code_of(*commands._ALIASES[former].split(), "--help") == 0
    today = capsys.readouterr().out
    assert code_of(former, "--help") == 0
    assert capsys.readouterr().out == today
    assert "Example:" in today


RUN = [
    pytest.param(line, marks=[pytest.mark.long] if line.startswith(LONG) else [])
    for line in sorted(EXAMPLES)
    # `farlink live` serves until Ctrl-C; test_browser.py has it.
    if not line.startswith(("sudo", "farlink live")) and (" rain " not in line or find_spec("itur"))
]


@pytest.mark.parametrize("line", RUN)
def test_an_example_of_help_runs(
    line: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The test first makes the files that examples name, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    if "capture.pcapng" in line:
        sets = ["--set", "flows.0.size=60 kB", "--pcap", "--out", "out", "--quiet"]
        assert code_of("run", "geo-omueti2007", "--tcp", "sack", *sets) == 0
        shutil.copy(next(Path("out").rglob("*.pcapng")), "capture.pcapng")
    if ".csv" in line and " fit " in line:
        rows = [f"{n / 50},{'' if n % 9 == 0 else n / 50 + 0.1}" for n in range(400)]
        Path("sent-and-received.csv").write_text("sent,received\n" + "\n".join(rows), "utf-8")
    if " import " in line or " export " in line:
        Path("irtt.json").write_text(recorded_files.irtt(20), "utf-8")
    if " export " in line:
        assert code_of(*shlex.split(channels.EXAMPLES["import"])[1:]) == 0
    if " pack " in line or " verify " in line:
        small = ["--set", "flows.0.size=20 kB", "--quiet"]
        assert code_of("run", "geo-lossy", *small, "--out", "results") == 0
        assert code_of("pack", "results", "--out", "paper.zip") == 0
    if "examples/" in line:
        shutil.copytree(ROOT / "examples", "examples")
    program, *arguments = shlex.split(line)
    assert program == "farlink"
    assert code_of(*arguments) == 0, capsys.readouterr().err
    assert capsys.readouterr().out


@pytest.mark.parametrize("name", commands.COMMANDS)
def test_an_example_is_of_its_command(name: str) -> None:
    words = commands.COMMANDS[name].example.removeprefix("sudo ").split()
    assert words[:2] == ["farlink", name]
