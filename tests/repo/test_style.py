"""Style budgets of docs/STYLE.md: openings of comments, sentences, and commit subjects."""

import ast
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

#: Largest share of doc comments or docstrings of a crate or of Python with a weak opening.
MOST_WEAK = 0.05

#: Words that open a comment which must be read twice: relative words and bare pronouns.
WEAK = re.compile(
    r"(What|Whether|How|When|Where|Who|Which|It|Its|The same|That|Those|This|These|They|Of|One"
    r"|All|So many)\b"
)

#: Largest share of sentences of the documents with more than MOST_WORDS words.
MOST_LONG = 0.05
MOST_WORDS = 30

#: Commit from which on every subject keeps to the limit.
FIRST_SHORT = "bf835b3ecd9355a5f1dfd65db7274d6cb476b10b"
MOST_SUBJECT = 72


def test_doc_comments_open_with_a_noun_or_a_verb() -> None:
    for crate in sorted((ROOT / "crates").iterdir()):
        openings = [
            opening for path in sorted(crate.rglob("*.rs")) for opening in rust_openings(path)
        ]
        assert weak_share(openings) <= MOST_WEAK, (crate.name, weak(openings)[:20])


def test_docstrings_open_with_a_noun_or_a_verb() -> None:
    for folder in ("python", "tests", "tools"):
        paths = sorted((ROOT / folder).rglob("*.py"))
        openings = [opening for path in paths for opening in python_openings(path)]
        assert weak_share(openings) <= MOST_WEAK, (folder, weak(openings)[:20])


def test_the_budget_sees_a_weak_opening(tmp_path: Path) -> None:
    rust = tmp_path / "a.rs"
    rust.write_text(
        "/// What leaves.\nfn a() {}\n/// Sends.\n/// It lies inside.\nfn b() {}\n", "utf-8"
    )
    assert rust_openings(rust) == ["What leaves.", "Sends."]
    assert weak_share(rust_openings(rust)) == 0.5
    python = tmp_path / "a.py"
    python.write_text('"""How long."""\n\ndef a():\n    """Return a row."""\n', "utf-8")
    assert weak(python_openings(python)) == ["How long."]


def test_sentences_of_documents_are_short() -> None:
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md"]
    pages += sorted((ROOT / "docs").rglob("*.md"))
    counts = {
        page.name: [words(sentence) for sentence in sentences(page.read_text("utf-8"))]
        for page in pages
    }
    every = [count for page in counts.values() for count in page]
    long = {name: sum(n > MOST_WORDS for n in page) for name, page in counts.items()}
    worst = sorted(long.items(), key=lambda item: -item[1])[:10]
    assert sum(long.values()) <= MOST_LONG * len(every), worst


def test_the_budget_sees_a_long_sentence() -> None:
    page = f"# Head\n\n- A [short](x.md) one. {'Word ' * 31}\n  ends.\n\n```\n{'x ' * 40}\n```\n"
    assert [words(sentence) for sentence in sentences(page)] == [3, 32]


def test_commit_subjects_are_short() -> None:
    git = shutil.which("git")
    if git is None or not (ROOT / ".git").exists():
        pytest.skip("not a git checkout: there is no list of the project's files")
    known = subprocess.run(
        [git, "cat-file", "-e", f"{FIRST_SHORT}^{{commit}}"], cwd=ROOT, capture_output=True
    )
    span = f"{FIRST_SHORT}..HEAD" if known.returncode == 0 else "-1"
    command = [git, "log", "--no-merges", "--format=%s", span]
    log = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert not [line for line in log.stdout.splitlines() if len(line) > MOST_SUBJECT]


def sentences(page: str) -> list[str]:
    """Return the sentences of a Markdown page without code, tables and generated blocks."""
    page = re.sub(r"^\s*```.*?^\s*```$", "", page, flags=re.MULTILINE | re.DOTALL)
    page = re.sub(r"^<!-- begin.*?^<!-- end.*?$", "", page, flags=re.MULTILINE | re.DOTALL)
    prose = ["" if re.match(r"\||    |#|!\[|<", line) else line for line in page.splitlines()]
    units = re.split(r"\n\s*\n|\n(?=(?:[-*]|\d+\.) )", "\n".join(prose))
    texts = [re.sub(r"^([-*]|\d+\.) ", "", " ".join(unit.split())) for unit in units]
    ends = r"(?<=[.!?:])\s+(?=[A-Z`*\"(\[])"
    return [sentence for text in texts if text for sentence in re.split(ends, text)]


def words(sentence: str) -> int:
    """Count words; a link counts with its text alone."""
    return len(re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", sentence).split())


def rust_openings(path: Path) -> list[str]:
    """Return the first line of each doc comment of a Rust source."""
    openings = []
    inside = False
    for line in path.read_text(encoding="utf-8").splitlines():
        comment = re.match(r"\s*//[/!] ?(.*)", line)
        if comment and not inside:
            openings.append(comment[1].strip())
        inside = bool(comment)
    return openings


def python_openings(path: Path) -> list[str]:
    """Return the start of each docstring of a Python source."""
    nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    owners = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    strings = [ast.get_docstring(node) for node in nodes if isinstance(node, owners)]
    return [string for string in strings if string]


def weak(openings: list[str]) -> list[str]:
    return [opening for opening in openings if WEAK.match(opening)]


def weak_share(openings: list[str]) -> float:
    return len(weak(openings)) / max(len(openings), 1)
