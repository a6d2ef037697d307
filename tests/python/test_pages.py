"""Commands of the learn and guides shelves: lessons are run unchanged, guides where it is cheap.

All other commands of guides are only parsed: their names, options and values must exist. Emulation
and studies have their own tests (tests/emulator, test_study.py).
"""

import re
import shlex
import shutil
from pathlib import Path

import pytest
import typer

from farlink import documentation
from farlink.cli import commands, main

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"

CHEAP = ("channels sample", "cite", "list", "docs", "run", "plot", "study --list")
"""Commands of guides that are run; `run` and `plot` only where their input exists."""

FEWER_RUNS = "3"


def shelf(name: str) -> list[str]:
    """Return the pages of a shelf and the pages below them."""
    pages = []
    for page, _title, _contents in documentation.shelves()[name]:
        folder = page.removesuffix("/README")
        below = sorted((DOCS / folder).glob("*.md")) if (DOCS / folder).is_dir() else []
        pages += [page, *(path.relative_to(DOCS).with_suffix("").as_posix() for path in below)]
    return list(dict.fromkeys(pages))


def lines(page: str) -> list[list[str]]:
    """Return the words of each farlink command of a page, without sudo and comments."""
    text = (DOCS / f"{page}.md").read_text("utf-8").replace("\\\n", " ")
    blocks = re.findall(r"^```sh\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    split = [shlex.split(line, comments=True) for line in "".join(blocks).splitlines()]
    plain = [words[1:] if words[:1] == ["sudo"] else words for words in split]
    return [words[1:] for words in plain if words[:1] == ["farlink"]]


def write_files(page: str, folder: Path) -> None:
    """Write each scenario, sweep and class whose first line names its file."""
    text = (DOCS / f"{page}.md").read_text("utf-8")
    named = r"^```(?:toml|python)\n# (\S+\.(?:toml|py))\n(.*?)^```$"
    for name, body in re.findall(named, text, re.DOTALL | re.M):
        (folder / name).write_text(body, encoding="utf-8")


def programs(page: str) -> list[str]:
    """Return the blocks of Python that are no files."""
    text = (DOCS / f"{page}.md").read_text("utf-8")
    return re.findall(r"^```python\n((?!# \S+\.py\n).*?)^```$", text, re.DOTALL | re.M)


def fewer(words: list[str]) -> list[str]:
    """Return a command with few runs: the test checks that the command works, not its intervals.

    Figures of a run take seconds, and the lesson for teachers draws all figures.
    """
    words = [word for word in words if words[0] != "run" or word != "--plot" or "lesson" in words]
    if "--runs" in words:
        words[words.index("--runs") + 1] = FEWER_RUNS
    if words[0] == "advise" and "--size" not in words:
        words += ["--size", "300kB"]
    if words[0] == "sweep" and "--runs" not in words and "--list" not in words:
        words += ["--runs", FEWER_RUNS]
    return words


def code_of(words: list[str]) -> int:
    with pytest.raises(SystemExit) as end:
        main(words)
    return int(end.value.code or 0)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    monkeypatch.setenv("NO_COLOR", "1")
    return tmp_path


LESSONS = shelf("Learn")
GUIDES = shelf("Guides")


def test_the_shelves_have_a_lesson_for_each_door_and_the_guides() -> None:
    assert {"learn/slow-link", "learn/paper-figure", "learn/lesson"} <= set(LESSONS)
    assert {"tuning", "captures", "channel-tools", "emulator/hosts"} <= set(GUIDES)


@pytest.mark.parametrize("page", LESSONS)
def test_a_lesson_runs_in_an_empty_folder(
    page: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_files(page, folder)
    assert lines(page) or programs(page)
    for words in lines(page):
        if words[0] == "emulate":
            read(typer.main.get_command(commands._application(words)), words)
        else:
            assert code_of(fewer(words)) == 0, f"{words}\n{capsys.readouterr().err}"
    if not lines(page):
        for program in programs(page):
            exec(program, {})  # noqa: S102 (the block of the page)


@pytest.mark.parametrize("page", [page for page in GUIDES if lines(page)])
def test_a_command_of_a_guide_has_its_options(page: str) -> None:
    for words in lines(page):
        words = commands.expanded(words)
        command = typer.main.get_command(commands._application(words))
        read(command, words)


def read(command: object, words: list[str]) -> None:
    """Read the options of a command, and of the command below it in a group."""
    parsed = command.make_context("farlink", list(words), resilient_parsing=False)  # type: ignore[attr-defined]
    with parsed:
        group = getattr(command, "commands", None)
        if group:
            name, *rest = words
            assert name in group, words
            read(group[name], rest)


@pytest.mark.parametrize(
    ("page", "words"),
    [
        pytest.param(page, words, id=f"{page}-{number}")
        for page in GUIDES
        for number, words in enumerate(lines(page))
        if " ".join(words).startswith(CHEAP)
        and not {"storm.toml", "over/path.toml", "starlink/scenario.toml"} & {*words}
    ],
)
def test_a_cheap_command_of_a_guide_runs(
    page: str, words: list[str], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_files(page, folder)
    if any(word.startswith("examples/") for word in words):
        (folder / "examples").symlink_to(ROOT / "examples")
    captures = [word for word in words if word.endswith(".pcapng")]
    if captures:
        sets = ["--set", "flows.0.size=60 kB", "--pcap", "--out", "made", "--quiet"]
        assert code_of(["run", "geo-omueti2007", "--tcp", "sack", *sets]) == 0
        shutil.copy(next(Path("made").rglob("*.pcapng")), captures[0])
        words = words[: words.index("--connection")] if "--connection" in words else words
    assert code_of(fewer(words)) == 0, f"{words}\n{capsys.readouterr().err}"
