"""Tests the lessons of web/lessons with the native engine: questions, hints and figures."""

import importlib.util
import math
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted((ROOT / "web" / "lessons").glob("[0-9]*.md"))

_spec = importlib.util.spec_from_file_location("lessons", ROOT / "tools" / "lessons.py")
assert _spec is not None
assert _spec.loader is not None
lessons = importlib.util.module_from_spec(_spec)
sys.modules["lessons"] = lessons
_spec.loader.exec_module(lessons)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_lesson_asks_answers_and_quotes_what_the_engine_says(path: Path) -> None:
    lesson = lessons.read(path)
    assert lessons.mistakes(lesson) == []
    assert len(lesson.head["facts"]) >= 5
    assert len(lesson.head["check"]["wrong"]) >= 1


def test_there_are_twelve_lessons_in_order() -> None:
    assert [int(path.stem.split("-")[0]) for path in FILES] == list(range(1, len(FILES) + 1))
    assert len(FILES) >= 12


MINIMAL = """+++
title = "A"
tcps = ["sack"]
scenario = '''
[[links]]
between = ["a", "b"]
down = { rate = "1 Mbit/s", delay = "10 ms" }
[[flows]]
name = "f"
from = "a"
to = "b"
size = "10 kB"
'''
[[controls]]
path = "links.0.down.delay"
label = "delay"
[check]
pass = "duration > 0.5"
[[check.hints]]
text = "More."
[[check.wrong]]
set = { "links.0.down.delay" = "11 ms" }
hint = 0
[solution]
"links.0.down.delay" = "600 ms"
[[facts]]
text = "20 ms"
value = "2 * setting('links.0.down.delay')"
+++
## Lesson
It takes 20 ms.
## Question
?
## Hint
.
## Answer
.
## For the teacher
.
## Exercise sheet
.
"""


def mistakes(folder: Path, old: str, new: str) -> list[str]:
    """Check the minimal lesson with a change."""
    assert old in MINIMAL
    path = folder / "01-a.md"
    path.write_text(MINIMAL.replace(old, new), encoding="utf-8")
    lessons._simulate.cache_clear()
    errors: list[str] = lessons.mistakes(lessons.read(path))
    return errors


@pytest.mark.parametrize(
    ("old", "new", "mistake"),
    [
        ("0.5", "0.5", None),
        ("duration > 0.5", "duration > 0", "answered at the start"),
        ("600 ms", "20 ms", "does not answer"),
        ("11 ms", "700 ms", "is right"),
        ("hint = 0", "hint = 1", "has hint 0"),
        ('text = "More."', 'text = "More."\nif = "duration > 0"', "last hint has a condition"),
        ('text = "20 ms"', 'text = "21 ms"', "21 ms is 0.02"),
        ("takes 20 ms", "takes 25 ms", "does not have '20 ms'"),
    ],
)
def test_a_mistake_in_a_lesson_is_found(
    tmp_path: Path, old: str, new: str, mistake: str | None
) -> None:
    errors = mistakes(tmp_path, old, new)
    if mistake is None:
        assert errors == []
    else:
        assert any(mistake in line for line in errors), errors


def test_a_lesson_without_a_section_is_refused(tmp_path: Path) -> None:
    with pytest.raises(lessons.LessonError, match="sections"):
        mistakes(tmp_path, "## Hint", "## Tip")


@pytest.mark.parametrize(
    ("old", "new", "mistake"),
    [
        ("## Hint", "## Tip", "01-a.md: sections"),
        ('title = "A"', "title = ", "TOMLDecodeError: "),
        ("[[controls]]", "[[control]]", "the key 'controls' is missing"),
        ("duration > 0.5", "duration >", "SyntaxError: "),
        ("duration > 0.5", "durations > 0.5", "no metric durations"),
        ("1 Mbit/s", "1 Mbit", "rate"),
        ("links.0.down.delay')", "links.7.down.delay')", "IndexError: "),
        ("2 * setting", "2 / 0 * setting", "ZeroDivisionError: "),
    ],
)
def test_a_mistake_that_prevents_a_run_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], old: str, new: str, mistake: str
) -> None:
    assert old in MINIMAL
    (tmp_path / "01-a.md").write_text(MINIMAL.replace(old, new), encoding="utf-8")
    lessons._simulate.cache_clear()
    assert lessons.main([str(tmp_path / "01-a.md")]) == 1
    first, line = capsys.readouterr().out.splitlines()
    assert first == "01-a.md: 1 mistakes"
    assert mistake in line


def test_an_absent_or_wrongly_named_lesson_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.md").write_text(MINIMAL, encoding="utf-8")
    assert lessons.main([str(tmp_path / "a.md"), str(tmp_path / "none.md")]) == 2
    lines = capsys.readouterr().out.splitlines()
    assert "write a name such as 13-a.md" in lines[1]
    assert "cannot be read: No such file" in lines[3]


@pytest.mark.parametrize("text", ["().__class__", "[1]", "open('x')", "lambda: 1", "x if y else z"])
def test_an_expression_is_no_program(tmp_path: Path, text: str) -> None:
    path = tmp_path / "01-a.md"
    path.write_text(MINIMAL, encoding="utf-8")
    state = lessons.State(lessons.read(path))
    with pytest.raises(lessons.LessonError):
        state.evaluate(text)


@pytest.mark.parametrize(
    ("text", "number", "tolerance"),
    [
        ("4.50 s", 4.5, 0.005),
        ("93 ms", 0.093, 0.0005),
        ("687,500 B", 687500, 0.5),
        ("9.3 %", 0.093, 0.0005),
        ("16 needless", 16, 0.5),
        ("8.94 Mbit/s", 8.94e6, 5e3),
    ],
)
def test_a_figure_in_a_text_is_good_to_its_last_digit(
    text: str, number: float, tolerance: float
) -> None:
    errors = lessons.number_and_tolerance(text)
    assert all(math.isclose(a, b) for a, b in zip(errors, (number, tolerance), strict=True))


def test_the_documents_list_every_lesson() -> None:
    page = (ROOT / "docs" / "lessons.md").read_text(encoding="utf-8")
    for path in FILES:
        lesson = lessons.read(path)
        title, minutes = lesson.head["title"], lesson.head["minutes"]
        number = int(path.stem.split("-")[0])
        row = f"| {number}. {title} | `#lesson={lesson.name}` | {minutes} |"
        assert row in page, row
