"""No function and no struct is too large to read at once."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

MOST_LINES = 70
MOST_FIELDS = 25
# Functions and structs above the limits, with their sizes, which must not grow.
EXCEPTIONS: dict[str, int] = {}

FUNCTION = re.compile(r"^( *)(?:pub(?:\([^)]*\))? )?(?:(?:const|async|unsafe) )*fn (\w+)")
STRUCT = re.compile(r"^( *)(?:pub(?:\([^)]*\))? )?struct (\w+)\b[^;]*\{$")
TEST = re.compile(r"^ *#\[cfg\((?:all\()?test\b")
TEST_FILE = re.compile(
    r'^ *#\[cfg\(test\)\]\n(?: *#\[path = "([^"]+)"\]\n)? *(?:pub(?:\([^)]*\))? )?mod (\w+);',
    re.MULTILINE,
)


def without_tests(text: str) -> list[str]:
    """Return the lines of a Rust source with the items of tests left empty."""
    lines = text.split("\n")
    number = 0
    while number < len(lines):
        if TEST.match(lines[number]):
            end = end_of_item(lines, number)
            lines[number:end] = [""] * (end - number)
            number = end
        number += 1
    return lines


def end_of_item(lines: list[str], start: int) -> int:
    """Return the number of the line after the item, found by its indentation (rustfmt)."""
    indent = lines[start][: len(lines[start]) - len(lines[start].lstrip())]
    first = start
    while lines[first].lstrip().startswith(("#[", "///", "//")):
        first += 1
    if lines[first].endswith((";", "}", ",")):
        return first + 1
    closing = re.compile(rf"^{indent}}}[;,)]*$")
    return next(n for n in range(first + 1, len(lines)) if closing.match(lines[n])) + 1


@cache
def sources() -> list[Path]:
    """Return the Rust files of the crates without files of test modules."""
    paths = sorted(ROOT.glob("crates/*/src/**/*.rs"))
    tests = set()
    for path in paths:
        inside = path.parent if path.stem in {"lib", "mod"} else path.with_suffix("")
        for file, module in TEST_FILE.findall(path.read_text(encoding="utf-8")):
            tests |= {path.parent / file} if file else {inside / f"{module}.rs", inside / module}
    return [path for path in paths if not tests & {path, *path.parents}]


def rust() -> Iterator[tuple[str, int, int]]:
    """Yield each function and struct: name, number of lines or fields, and the limit."""
    for path in sources():
        lines = without_tests(path.read_text(encoding="utf-8"))
        for number, line in enumerate(lines):
            function, struct = FUNCTION.match(line), STRUCT.match(line)
            if function and not line.endswith((";", "}")):
                size = end_of_item(lines, number) - number
                yield f"{path.relative_to(ROOT)} {function[2]}", size, MOST_LINES
            elif struct:
                body = lines[number : end_of_item(lines, number)]
                field = re.compile(rf"^{struct[1]}    (?:pub(?:\([^)]*\))? )?\w+: ")
                size = sum(bool(field.match(row)) for row in body)
                yield f"{path.relative_to(ROOT)} {struct[2]}", size, MOST_FIELDS


def python() -> Iterator[tuple[str, int, int]]:
    """Yield each function with its number of lines and the limit."""
    for path in sorted((ROOT / "python").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                size = (node.end_lineno or node.lineno) - node.lineno + 1
                yield f"{path.relative_to(ROOT)} {node.name}", size, MOST_LINES


def test_functions_and_structs_fit_on_a_page() -> None:
    large = {name: size for name, size, most in [*rust(), *python()] if size > most}
    grown = {name: size for name, size in large.items() if size > EXCEPTIONS.get(name, 0)}
    assert not grown, grown
    # An exception that is no longer needed must be removed.
    assert not {name: EXCEPTIONS[name] for name in EXCEPTIONS.keys() - large.keys()}


def test_sizes_are_seen() -> None:
    text = "#[cfg(test)]\nmod tests {\n    fn a() {\n    }\n}\n\nfn b(\n    c: u8,\n) {\n    c\n}\n"
    lines = without_tests(text)
    assert lines[:5] == [""] * 5
    assert end_of_item(lines, 6) == 11
