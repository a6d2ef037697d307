"""`farlink docs`: pages and sections in the terminal, and one-line errors."""

import tomllib
import webbrowser
from pathlib import Path

import pytest

from farlink import documentation
from farlink.cli import main

ROOT = Path(__file__).resolve().parents[2]


def docs(*words: str) -> int:
    with pytest.raises(SystemExit) as end:
        main(["docs", *words])
    return int(end.value.code or 0)


def test_without_words_every_shelf_is_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert docs() == 0
    lines = capsys.readouterr().out.splitlines()
    shelves = ["Learn", "Guides", "Reference", "Understand", "Measured"]
    assert [line for line in lines if line in shelves] == shelves
    assert [line for line in lines if line.startswith("  tuning ")]


@pytest.mark.parametrize("name", ["hybla", "tcp/hybla", "docs/tcp/hybla.md"])
def test_a_page_is_printed_whole(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert docs(name) == 0
    assert capsys.readouterr().out == (ROOT / "docs/tcp/hybla.md").read_text("utf-8")


def test_a_folder_is_its_first_page(capsys: pytest.CaptureFixture[str]) -> None:
    assert docs("emulator") == 0
    assert capsys.readouterr().out.startswith("# Emulator")


@pytest.mark.parametrize(
    ("words", "first"),
    [
        ("receive window", "tcp/autotuning, line 1: Receive-window autotuning"),
        ("RTO backoff", "studies/wong1998, line"),
        ("Adaptive coding", "channel"),
    ],
)
def test_a_search_has_the_best_section_first(
    words: str, first: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert docs(*words.split()) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith(first)
    assert lines[1].startswith("  ")
    assert docs(words) == 0
    assert capsys.readouterr().out.splitlines() == lines


def test_a_comment_of_a_code_block_is_no_heading() -> None:
    text = "# Page\n\n```sh\n# comment\n```\n\n## Part\n\nwords\n"
    sections = list(documentation._sections("page", text))
    assert [(section.heading, section.line) for section in sections] == [("Page", 1), ("Part", 7)]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["xyzzy"], "docs xyzzy: no page has that in it; farlink docs lists the pages"),
        (["hylba"], "docs hylba: no page has that in it; did you mean hybla?"),
        (["--open", "xyzzy"], "docs xyzzy: no page has that in it; farlink docs lists the pages"),
    ],
)
def test_a_page_that_is_not_there_is_one_line(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert docs(*words) == 2
    assert capsys.readouterr() == ("", f"farlink: error: {message}\n")


def test_a_package_without_pages_says_where_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(documentation, "FOLDER", tmp_path)
    assert docs("rto") == 2
    assert "not in this package" in capsys.readouterr().err


@pytest.mark.parametrize("site", ["built", ""])
def test_open_prefers_the_site_that_was_built(
    site: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pages = tmp_path / "docs"
    pages.mkdir()
    (pages / "ecn.md").write_text("# ECN\n", encoding="utf-8")
    if site:
        (tmp_path / "build" / "site").mkdir(parents=True)
        (tmp_path / "build" / "site" / "index.html").touch()
    opened: list[str] = []
    monkeypatch.setattr(documentation, "FOLDER", pages)
    monkeypatch.setattr(webbrowser, "open", lambda address: not opened.append(address))  # type: ignore[func-returns-value]
    assert docs("--open", "ecn") == 0
    assert opened == [capsys.readouterr().out.strip()]
    urls = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["urls"]
    elsewhere = f"{urls['Documentation']}/ecn.md"
    assert opened == [(tmp_path / "build/site/docs/ecn.html").as_uri() if site else elsewhere]


def test_no_browser_is_one_line_with_the_address(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(webbrowser, "open", lambda address: False)
    assert docs("--open") == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err.startswith("farlink: error: docs --open: no browser can be started here")


def test_a_wheel_brings_the_pages() -> None:
    """The package includes the linked folder only if a pattern names the files."""
    link = ROOT / "python" / "farlink" / "docs"
    assert link.resolve() == ROOT / "docs"
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    include, page = project["tool"]["maturin"]["include"]
    assert include["format"] == page["format"] == ["sdist", "wheel"]
    assert page["path"] == "python/farlink/web.tar.xz"
    named = {path.relative_to(link) for path in ROOT.glob(include["path"])}
    assert named == {path.relative_to(ROOT / "docs") for path in (ROOT / "docs").rglob("*.md")}
    # A wheel of 6 MB has room for some 540 kB of compressed pages.
    assert sum((ROOT / "docs" / path).stat().st_size for path in named) < 1_420_000
