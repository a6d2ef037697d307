"""Terminal output: no table cuts a number, no name sends control codes, ASCII suffices."""

import copy
import io
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from rich import box
from rich.console import Console
from rich.table import Table

import farlink as fl
from farlink import extras
from farlink.cli import text
from farlink.views.screen import Screen
from test_cli import farlink

WIDTHS = (40, 60, 80, 100, 120)

NUMBER = re.compile(r"(?<![\w.])[-+±]?\d[\d,.]*(?:e[-+]?\d+)?(?![\w.])")


class AtAllWidths(Screen):
    """A console that prints each table at all widths, and checks that all numbers are there."""

    tables = 0

    def print(self, *objects: Any, **keywords: Any) -> None:  # noqa: ANN401 (as rich has it)
        for item in objects:
            if isinstance(item, Table):
                type(self).tables += 1
                for width in WIDTHS:
                    check(copy.deepcopy(item), width)
        super().print(*objects, **keywords)


def check(table: Table, width: int) -> None:
    stream = io.StringIO()
    Screen(stream, color_system=None, width=width).print(table)
    shown = stream.getvalue()
    # Descriptions in a list of names are cut after a whole word.
    assert not re.search(r"\S…", shown), (width, shown)
    numbers = set(NUMBER.findall(shown))
    for column in table.columns:
        for cell in column.cells:
            missing = set(NUMBER.findall(str(cell))) - numbers
            assert not missing, (width, str(column.header), str(cell), shown)


GRID = """
scenario = "{small}"
runs = 2
[factors]
tcp = ["sack", "reno"]
loss = {{ path = "links.0.down.channel.loss", values = [0.01, 0.02] }}
"""

ONE_WORD = "tcp.initial_window=2|10"

COMMANDS = {
    "run": "run small.toml --tcp newreno,linux-cubic --runs 3",
    "flows": "run small.toml --set flows.0.count=30 --set flows.0.size=20kB --runs 2",
    "several": "run small.toml --set flows.0.count=3 --tcp sack,linux-bbr --runs 2",
    "datagrams": "run geo-mixed --set flows.1.count=2 --set duration=6s --runs 2",
    "agents": "run geo-pep --set flows.0.size=100kB",
    "diff": "diff small.toml small.toml --set-b links.0.down.delay=251ms --runs 6",
    "sweep": "sweep grid.toml --out sweep",
    "points": "sweep grid.toml --list",
    "tune": f"tune small.toml --vary {ONE_WORD} --trials 2 --runs 2 --confirm 2 --out tune --quiet",
    "study": "study wong1998 --only fig4.2 --quick --runs 2 --out study",
    "channel": "channels sample gilbert --set loss=0.05 --set burst=4 --packets 2000",
    "keys": "channels sample",
    "plot": "plot capture.pcapng --list",
    "metrics": "list metrics",
    "tcp": "list tcp",
    "presets": "list presets",
    "scenarios": "list scenarios",
}


@pytest.fixture
def folder(small: Path, result: fl.Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "grid.toml").write_text(GRID.format(small=small), encoding="utf-8")
    (tmp_path / "capture.pcapng").write_bytes(
        next(iter(result.probe("sack", snaplen=96).pcaps.values()))
    )
    return tmp_path


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("name", COMMANDS)
def test_no_table_of_a_command_cuts_a_number(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        text, "console", lambda stream, **_: AtAllWidths(stream, color_system=None, width=120)
    )
    monkeypatch.setattr(AtAllWidths, "tables", 0)
    assert farlink(*COMMANDS[name].split()) == 0
    assert AtAllWidths.tables > 0 or "--quiet" in COMMANDS[name]


def test_all_commands_print_to_the_one_screen() -> None:
    """The only exception is progress on standard error, which has no table."""
    folder = Path(text.__file__).parent
    assert issubclass(Screen, Console)
    others = {
        path.name: len(
            re.findall(r"Console\((?!stderr=True|self)", path.read_text(encoding="utf-8"))
        )
        for path in folder.rglob("*.py")
    }
    assert {name for name, count in others.items() if count} == set()


def test_long_words_fold_and_numbers_do_not() -> None:
    table = Table(box=box.SIMPLE_HEAD)
    for title in ("setting", "value"):
        table.add_column(title)
    table.add_column("mean", no_wrap=True, justify="right")
    table.add_row("links.0.down." + 5 * "very_long_", "123456789.123456789", "16.523 ±0.042")
    for width in (20, 40, 60):
        check(copy.deepcopy(table), width)
    stream = io.StringIO()
    Screen(stream, color_system=None, width=70).print(table)
    assert max(map(len, stream.getvalue().splitlines())) <= 70


def test_names_of_levels_steer_no_terminal(
    small: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "grid.toml"
    file.write_text(
        f'scenario = "{small}"\nruns = 1\n[factors.link.bundles]\n'
        '"\\u001b[31mred" = { "links.0.down.delay" = "10 ms" }\n'
        '"[bold]slow :x:" = { "links.0.down.delay" = "300 ms" }\n',
        encoding="utf-8",
    )
    for options in (["--list"], []):
        assert farlink("sweep", str(file), "--out", str(tmp_path / "out"), *options) == 0
        out, err = capsys.readouterr()
        assert "\x1b" not in out + err
        assert "\\x1b[31mred" in out
        assert "[bold]slow :x:" in out


@pytest.mark.parametrize("name", ["run", "diff", "metrics", "channel", "wrong"])
def test_ascii_is_enough(name: str, folder: Path) -> None:
    words = COMMANDS.get(name, "run µ±.toml").split()
    done = subprocess.run(
        [sys.executable, "-m", "farlink", *words],
        cwd=folder,
        env={**os.environ, "PYTHONIOENCODING": "ascii", "COLUMNS": "160"},
        capture_output=True,
        check=False,
    )
    assert done.returncode == (2 if name == "wrong" else 0), done.stderr
    assert "Traceback" not in done.stderr.decode("ascii")
    shown = done.stdout.decode("ascii")
    assert name != "run" or re.search(r"\d \+-\d", shown)


def test_spellings_and_escapes() -> None:
    assert (
        text.spelled("1 ±2 µs, 3 \N{MULTIPLICATION SIGN} 4 ≥ 5", "ascii") == "1 +-2 us, 3 x 4 >= 5"
    )
    assert text.spelled("1 ±2 µs", "utf-8") == "1 ±2 µs"
    assert text.spelled("日\udc80", "ascii") == "\\u65e5\\udc80"
    assert text.spelled("\udc80", "utf-8") == "\\udc80"


@pytest.mark.parametrize(
    ("extra", "packages"),
    [
        ("rain", "a package that is not installed: pip install 'itur>="),
        ("query", "a package that is not installed: pip install 'duckdb>="),
        ("fit", "a package that is not installed: pip install 'scipy>="),
        ("design", "a package that is not installed: pip install 'scipy>="),
        ("tune", "packages that are not installed: pip install 'optuna>="),
        ("cluster", "a package that is not installed: pip install 'distributed>="),
        ("xarray", "a package that is not installed: pip install 'xarray>="),
        ("gym", "a package that is not installed: pip install 'gymnasium>="),
        ("orbits", "a package that is not installed: pip install 'sgp4>="),
    ],
)
def test_a_lacking_package_is_named(extra: str, packages: str) -> None:
    assert f"it needs {packages}" in str(extras.lacking("it", extra))
    assert "farlink" not in str(extras.lacking("it", extra))
