"""Output for people: tables, lists, notebooks, progress, completion."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import farlink as fl
from farlink.cli import complete, main
from farlink.cli.progress import line_printer
from farlink.views import flows
from farlink.views.compare import goodputs
from farlink.views.page import as_html


def farlink(*arguments: str) -> int:
    with pytest.raises(SystemExit) as end:
        main(list(arguments))
    assert isinstance(end.value.code, int)
    return end.value.code


def test_notebooks_show_results_as_tables(result: fl.Result) -> None:
    """Notebooks show the numbers and notes of the terminal's table as HTML."""
    shown = result._repr_html_()
    assert "<td" in shown
    assert ">newreno<" in shown
    assert ">sack<" in shown
    assert "retransmissions" in shown, "a word that is cut on a terminal is whole on a page"
    assert "small, seed 7, 3 runs per TCP" in shown
    assert "overflow-x:auto" in shown


def test_notebooks_show_channels_as_tables() -> None:
    sample = fl.channel("gilbert", loss=0.05, burst=4, packets=20_000)
    shown = sample._repr_html_()
    assert "closed form" in shown
    assert "20,000 packets" in shown


def test_html_is_escaped() -> None:
    assert "&lt;script&gt;" in as_html(lambda out: out.print("<script>"))


@pytest.mark.parametrize("command", ["presets", "metrics", "scenarios", "tcp"])
def test_lists_are_short_at_80_columns(
    command: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A list has a line per entry and a few more, none longer than the terminal."""
    assert farlink(command, "--json") == 0
    rows = json.loads(capsys.readouterr().out)
    monkeypatch.setenv("COLUMNS", "80")
    assert farlink(command) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= len(rows) + 8
    assert max(map(len, lines)) <= 80


def test_what_is_named_is_told_whole(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    assert farlink("presets", "geo-omueti2007") == 0
    output = capsys.readouterr().out
    assert "Omueti and Trajkovic 2007" in output
    assert max(map(len, output.splitlines())) <= 60
    assert farlink("metrics", "rtt", "--json") == 0
    names = [row["name"] for row in json.loads(capsys.readouterr().out)]
    assert names == ["rtt_mean", "rtt_min", "rtt_max"]
    assert farlink("presets", "geo-omueti2077") == 2
    assert "did you mean geo-omueti2007?" in capsys.readouterr().err


def test_piped_tables_have_the_width_of_columns(small: Path) -> None:
    """COLUMNS sets the width of piped output; without it lines may be long."""

    def longest(columns: str) -> int:
        env = {**os.environ, "COLUMNS": columns}
        command = [sys.executable, "-m", "farlink", "metrics"]
        done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
        return max(map(len, done.stdout.splitlines()))

    assert longest("80") <= 80
    assert longest("") > 200


def test_several_flows_have_a_row_each(small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--tcp", "reno,sack", "--set", "flows.0.count=3"]
    assert farlink("run", str(small), *options) == 0
    shown = capsys.readouterr().out
    rows = re.findall(r"^ *(reno|sack) +(download\.\d)", shown, re.MULTILINE)
    assert rows == [(tcp, f"download.{k}") for tcp in ("reno", "sack") for k in range(3)]


def test_many_flows_are_told_by_their_spread(small: Path) -> None:
    many = fl.run(small, overrides={"flows.0.count": 30, "flows.0.size": "20 kB"})
    table = flows.table(many)
    cells = [next(iter(column.cells)) for column in table.columns]
    assert cells[:2] == ["sack", "30"]
    points = [float(str(cell)) for cell in cells[2:]]
    assert points == sorted(points)
    goodputs_of_flows = many.summary["goodput"]["mean"]
    assert points[0] == pytest.approx(goodputs_of_flows.min() / 1e3, rel=1e-3)
    assert points[-1] == pytest.approx(goodputs_of_flows.max() / 1e3, rel=1e-3)


@pytest.mark.parametrize("columns", ["80", "40"])
def test_tables_of_numbers_are_never_cut(
    small: Path,
    columns: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """At 80 columns the spread of many flows fits; wider tables get longer lines."""
    monkeypatch.setenv("COLUMNS", columns)
    options = ["--set", "flows.0.count=30", "--set", "flows.0.size=20kB", "--runs", "2"]
    assert farlink("run", str(small), "--tcp", "linux-cubic,linux-bbr", *options) == 0
    shown = capsys.readouterr().out
    assert "…" not in shown
    assert shown.count("linux-cubic") > 3
    spread = re.search(r"^ *linux-bbr +30 .*$", shown, re.MULTILINE)
    assert spread
    assert len(spread[0].split()) == 7
    assert len(spread[0].rstrip()) <= 80


def test_two_runs_are_printed_as_they_are() -> None:
    """An interval of two runs would be 12.7 times their distance, so both runs are shown."""
    assert goodputs([983e3, 812e3], 1e3) == "897.5 (812, 983)"
    assert goodputs([983e3], 1e3) == "983"
    assert goodputs([983e3, 812e3, 900e3], 1e3) == "898 ±212"


def test_a_log_gets_a_line_now_and_then(capsys: pytest.CaptureFixture[str]) -> None:
    """A log gets no line of a short run, and a line every ten seconds of a long run."""
    now = 0.0
    tell = line_printer(lambda: now)
    for now in range(35):
        tell(f"at {now}")
    assert capsys.readouterr().err == "farlink: at 10\nfarlink: at 20\nfarlink: at 30\n"


def test_shells_complete_names() -> None:
    """Completion offers scenarios by prefix, and in a list of TCPs only those not yet named."""
    assert "geo-lossy" in [name for name, _ in complete.scenarios("geo-l")]
    assert complete.tcps("reno,new") == ["reno,newreno"]
    assert "reno,reno" not in complete.tcps("reno,")
    env = {
        **os.environ,
        "_FARLINK_COMPLETE": "complete_bash",
        "COMP_WORDS": "farlink run several-l",
        "COMP_CWORD": "2",
    }
    program = Path(sys.executable).with_name("farlink")
    done = subprocess.run([program], env=env, capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["several-losses"]
