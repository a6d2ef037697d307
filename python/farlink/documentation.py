"""Pages of the documentation that come with the package, and a search in them."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from farlink.errors import ScenarioError

__all__ = ["Section", "page", "pages", "search", "shelves"]

FOLDER = Path(__file__).with_name("docs")
"""Folder of the pages; in a checkout a link to docs/."""

_HOME = "README"

_SHELF = re.compile(r"^## (.*)\n((?:.*\n)*?)(?=^## |\Z)", re.MULTILINE)
_ROW = re.compile(r"^\| \[(.*?)\]\(([^).\s]+)\.md\) \| (.*) \|$", re.MULTILINE)

_IN_NAME, _IN_TITLE, _IN_HEADING, _MOST_IN_TEXT = 8, 8, 6, 4
"""Weights of a word in the name, title or heading of a section, and the greatest weight from its
text, where each occurrence weighs 1.
"""


@dataclass(frozen=True)
class Section:
    """Part of a page below one heading; `line` is the line of the heading, from 1."""

    page: str
    title: str
    heading: str
    line: int
    text: str

    def weight(self, words: Sequence[str]) -> int:
        """Return the rank of the section for lower-case words; 0 if it lacks a word."""
        each = [self._weight_of(re.compile(rf"\b{re.escape(word)}")) for word in words]
        return sum(each) if all(each) else 0

    def _weight_of(self, word: re.Pattern[str]) -> int:
        title, heading = self.title.lower(), self.heading.lower()
        first = _IN_TITLE if heading == title and word.search(title) else 0
        name = _IN_NAME if word.search(self.page.rpartition("/")[2]) else 0
        return (
            name
            + first
            + (_IN_HEADING if word.search(heading) else 0)
            + min(len(word.findall(self.text.lower())), _MOST_IN_TEXT)
        )


def pages() -> dict[str, Path]:
    """Return the files of the pages by name: `tcp/hybla` is docs/tcp/hybla.md."""
    files = sorted(FOLDER.rglob("*.md"))
    if not files:
        raise ScenarioError(
            "the pages of the documentation are not in this package; farlink docs --open has them"
        )
    return {path.relative_to(FOLDER).with_suffix("").as_posix(): path for path in files}


def page(name: str) -> tuple[str, str] | None:
    """Return name and text of a page, found by its path or by the last part of its path."""
    known = pages()
    name = name.removeprefix("docs/").removesuffix(".md").strip("/")
    for candidate in (name, f"{name}/README"):
        if candidate in known:
            return candidate, known[candidate].read_text("utf-8")
    same = [other for other in known if other.rpartition("/")[2] == name]
    return (same[0], known[same[0]].read_text("utf-8")) if len(same) == 1 else None


def shelves() -> dict[str, list[tuple[str, str, str]]]:
    """Return name, title and contents of the pages on each shelf."""
    home = pages()[_HOME].read_text("utf-8")
    return {
        shelf: [(name, title, contents) for title, name, contents in _ROW.findall(body)]
        for shelf, body in _SHELF.findall(home)
    }


def search(words: Sequence[str]) -> list[Section]:
    """Return the sections that contain all words, best first."""
    lower = [word.lower() for word in words]
    weights = [
        (section.weight(lower), section)
        for name, path in pages().items()
        for section in _sections(name, path.read_text("utf-8"))
    ]
    matches = [(weight, section) for weight, section in weights if weight]
    if not matches:
        names = {name.rpartition("/")[2]: name for name in pages()}
        near = get_close_matches(lower[0], names, n=1)
        hint = f"; did you mean {near[0]}?" if near else "; farlink docs lists the pages"
        raise ScenarioError(f"docs {' '.join(words)}: no page has that in it{hint}")
    return [section for _, section in sorted(matches, key=lambda match: -match[0])]


def _sections(name: str, text: str) -> Iterator[Section]:
    """Yield the sections of a page; comments in code blocks are not headings."""
    lines = text.splitlines()
    heads = []
    code = False
    for number, line in enumerate(lines):
        if line.lstrip().startswith("```"):
            code = not code
        elif not code and re.match(r"#+ ", line):
            heads.append(number)
    for head, end in zip(heads, [*heads[1:], len(lines)], strict=True):
        title, heading = (lines[at].lstrip("#").strip() for at in (heads[0], head))
        yield Section(name, title, heading, head + 1, "\n".join(lines[head + 1 : end]).strip())
