"""Names that docs/STYLE.md bans: pronouns and participles in place of a noun."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

BANNED = {"one", "says", "told", "found", "said", "heard"}
RUST = re.compile(
    r"(?:\b(?:let|for|Some|Ok|Err)\b[\s(]*|\|[\s(&]*)(?:(?:mut|ref|&)\s*)*"
    rf"({'|'.join(sorted(BANNED))})\b(?=\s*(?:[,):|=;]|in\b))"
)


def test_python_binds_nouns() -> None:
    wrong = [
        f"{path.relative_to(ROOT)}:{line} {name}"
        for folder in ("python", "tests", "tools")
        for path in sorted((ROOT / folder).rglob("*.py"))
        for name, line in bound(path.read_text(encoding="utf-8"))
    ]
    assert not wrong, "name the thing: a row, a message, a claim"


def test_rust_binds_nouns() -> None:
    wrong = [
        f"{path.relative_to(ROOT)}:{number} {match[1]}"
        for path in sorted((ROOT / "crates").rglob("*.rs"))
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        for match in RUST.finditer(line.partition("//")[0])
    ]
    assert not wrong, "name the thing: a segment, an agent, an error"


def test_a_banned_name_is_seen() -> None:
    assert [name for name, _ in bound("for one in x:\n    told = one\n")] == ["one", "told"]
    assert not list(bound("print(one)\nx.found = 1\n"))
    for line in (
        "let mut one = 1;",
        "for (one, b) in c {",
        "map(|one| one)",
        "if let Some(told) =",
    ):
        assert RUST.search(line), line
    assert not RUST.search("let someone = found(one);")


def bound(text: str) -> list[tuple[str, int]]:
    """Return the banned names that a Python source binds, with their lines."""
    names = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.append((node.id, node.lineno))
        elif isinstance(node, ast.arg):
            names.append((node.arg, node.lineno))
    return [(name, line) for name, line in names if name in BANNED]
