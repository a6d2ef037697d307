"""Names in the documents exist: paths, types, functions, commands and options."""

import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "docs").rglob("*.md")),
]

PATH = re.compile(r"[a-z_.][\w.-]*(?:/[\w.*-]+)*/?")
SUFFIXES = (".rs", ".py", ".toml", ".md", ".lock")

# Files made by a run or a reader, and files of other programs.
ELSEWHERE = re.compile(
    r"(?:\./)?(?:farlink-out|demo|results|\.venv|target)(?:/|$)"
    r"|(?:satellite|moving|a|link|path|figure|recording|scenario)\.toml|mine\.py"
)


# A word in capitals is a placeholder, and a suffix alone is no file.
PLACEHOLDER = re.compile(r"\b[A-Z]{3,}\b|^\.\w+$")

# Names of ns-3, whose sources a page cites.
OTHERS = {"TcpSocketBase::ProcessAck"}


@cache
def tracked() -> frozenset[str]:
    git = shutil.which("git")
    if git is None or not (ROOT / ".git").exists():
        pytest.skip("not a git checkout: there is no list of the project's files")
    command = [git, "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return frozenset(filter(None, done.stdout.split("\0")))


@cache
def endings() -> frozenset[str]:
    """Return every file and folder, named from each folder above it."""
    names = set()
    for name in tracked():
        parts = name.split("/")
        for last in range(1, len(parts) + 1):
            names |= {"/".join(parts[first:last]) for first in range(last)}
    return frozenset(names)


@cache
def sources() -> dict[str, frozenset[str]]:
    """Return the words of every source by its path."""
    return {
        name: frozenset(re.findall(r"\w+", (ROOT / name).read_text(encoding="utf-8")))
        for name in tracked()
        if name.endswith((".rs", ".py", ".pyi")) and (ROOT / name).is_file()
    }


DEFINED = r"\b(?:struct|enum|trait|type|fn|const|static|mod|class|def|macro_rules!) +{}\b"


def defines(module: str, name: str) -> bool:
    """Return whether a source of the module defines an item of this name."""
    return any(
        re.search(DEFINED.format(name), (ROOT / path).read_text(encoding="utf-8"))
        for path, item in sources().items()
        if name in item and module in re.split(r"[/.]", path.replace("-", "_"))
    )


@cache
def words() -> frozenset[str]:
    """Return all words of the sources."""
    return frozenset().union(*sources().values())


def quoted(document: Path) -> list[str]:
    text = re.sub(r"```.*?```", "", document.read_text(encoding="utf-8"), flags=re.DOTALL)
    return [" ".join(item.split()) for item in re.findall(r"`([^`]+)`", text)]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_paths_that_documents_name_exist(document: Path) -> None:
    """A path contains a slash and begins with a folder of the project, or is a source file."""
    folders = {name.split("/")[0] for name in tracked() if "/" in name}
    missing = []
    for name in quoted(document):
        if not PATH.fullmatch(name) or ELSEWHERE.match(name) or PLACEHOLDER.search(name):
            continue
        source = name.endswith(SUFFIXES)
        inside = name.split("/")[0] in folders
        folder = name.endswith("/")
        if (source or inside or folder) and name.rstrip("/") not in endings():
            missing.append(name)
    assert missing == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_code_that_documents_name_exists(document: Path) -> None:
    """Each word of types, `module::item`, `Type.method` and `function()` is in the sources."""
    missing = []
    for name in set(quoted(document)) - OTHERS:
        bare = re.sub(r"\(.*\)$", "", name)
        called = bare != name and re.fullmatch(r"[\w.]+", bare) is not None
        typed = re.fullmatch(r"[A-Z][a-z]+[A-Z]\w*(?:\.\w+)?", bare) is not None
        scoped = re.fullmatch(r"\w+(?:::\w+)+", bare) is not None
        if bare.startswith(".") or not (called or typed or scoped):
            continue
        first, *rest = re.split(r"\W+", bare)
        # A module defines its own items.
        if scoped and first.islower() and not defines(first, rest[0]):
            missing.append(name)
        missing += [name for word in rest if word not in words()]
        missing += [name] if first not in words() | {"fl"} else []
    assert missing == []


LOOK = """
import os, sys, farlink
missing = []
for name in sys.argv[1:]:
    if os.fork() == 0:
        found = farlink
        try:
            for part in name.split("."):
                found = getattr(found, part)
        except AttributeError:
            os._exit(1)
        os._exit(0)
    if os.wait()[1]:
        missing.append(name)
print(*missing)
"""


def test_what_documents_call_by_the_packages_name_needs_no_further_import() -> None:
    """`import farlink` alone makes `farlink.module.name` usable, tested in a new process each."""
    names = {
        match[1]
        for document in DOCUMENTS
        for item in quoted(document)
        for match in re.finditer(r"(?<![\w/-])(?:farlink|fl)\.([a-z_]\w*(?:\.[A-Za-z_]\w*)*)", item)
    }
    assert "emulation.Options" in names
    done = subprocess.run(
        [sys.executable, "-c", LOOK, *sorted(names)], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == []
