"""No circle of imports among source files."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CRATES = sorted(path.parent.name for path in (ROOT / "crates").glob("*/src"))

# Two files may import each other, because a reader can keep both in mind. Larger circles are
# exceptions, and must not grow.
LARGEST_CIRCLE: dict[str, int] = {}

COMMENT = re.compile(r"//[^\n]*|\"(?:[^\"\\]|\\.)*\"", re.DOTALL)
SCOPE = re.compile(r"\bpub\([^)]*\)")
TESTS = re.compile(
    r"^#\[cfg\(test\)\]\n(?:pub(?:\([^)]*\))? )?mod \w+(?:;| \{.*?^\})", re.MULTILINE | re.DOTALL
)
USE = re.compile(r"^ *(pub(?:\([^)]*\))? )?use ([^;]+);", re.MULTILINE)
INLINE = re.compile(r"\b(?:crate|super|self)(?:::\w+)+")
ITEM = re.compile(
    r"^(?:pub(?:\([^)]*\))? )?(?:const |unsafe )*(?:struct|enum|trait|type|fn|const|static) (\w+)",
    re.MULTILINE,
)


class Module:
    """Source file of a crate."""

    def __init__(self, path: Path, name: tuple[str, ...]) -> None:
        self.path = path
        self.name = name
        text = TESTS.sub("", path.read_text(encoding="utf-8"))
        text = SCOPE.sub("pub", COMMENT.sub(" ", text))
        self.items = set(ITEM.findall(text))
        uses = [(bool(public), leaf) for public, tree in USE.findall(text) for leaf in leaves(tree)]
        self.exports = {new: path for public, (path, new) in uses if public}
        self.paths = {path for _, (path, _) in uses}
        self.paths |= {tuple(match.split("::")) for match in INLINE.findall(USE.sub("", text))}


def leaves(tree: str) -> Iterator[tuple[tuple[str, ...], str]]:
    """Return each path of `a::{b, c::d as e}` with its local name."""
    head, brace, rest = tree.strip().partition("{")
    prefix = tuple(part for part in head.strip().split("::") if part)
    if not brace:
        *start, last = prefix or ("",)
        name, _, alias = last.partition(" as ")
        yield (*start, name), alias or name
        return
    depth, part = 0, ""
    for letter in rest[: rest.rindex("}")] + ",":
        depth += (letter == "{") - (letter == "}")
        if letter == "," and depth == 0:
            if part.strip():
                for path, new in leaves(part):
                    yield (*prefix, *(path if path != ("self",) else ())), new
            part = ""
        else:
            part += letter


@cache
def modules(crate: str) -> dict[tuple[str, ...], Module]:
    source = ROOT / "crates" / crate / "src"
    table = {}
    for path in source.rglob("*.rs"):
        parts = path.relative_to(source).with_suffix("").parts
        name = parts[:-1] if parts[-1] in {"mod", "lib"} else parts
        table[name] = Module(path, name)
    return table


def defined_in(crate: str, module: Module, path: tuple[str, ...], seen: int = 0) -> Module | None:
    """Return the file that a path leads to, through any re-exports."""
    known = modules(crate)
    here, rest = module.name, list(path)
    while rest and rest[0] in {"crate", "super", "self"}:
        first = rest.pop(0)
        here = () if first == "crate" else here[: len(here) - (first == "super")]
    if here == module.name and rest and rest[0] == path[0] and (*here, rest[0]) not in known:
        return None  # another crate's
    while rest and (*here, rest[0]) in known:
        here = (*here, rest.pop(0))
    target = known[here]
    if rest and rest[0] not in target.items and seen < 9:
        if again := target.exports.get(rest[0]):
            return defined_in(crate, target, again, seen + 1)
        for new, globbed in target.exports.items():
            if new == "*" and (result := defined_in(crate, target, globbed[:-1])):
                return result
    return target


def circles(uses: dict[str, set[str]]) -> list[set[str]]:
    """Return the largest sets of files that all lead to each other."""
    reach = {name: set(targets) for name, targets in uses.items()}
    changed = True
    while changed:
        changed = False
        for targets in reach.values():
            more = set().union(*(reach[other] for other in targets)) - targets
            if more:
                targets |= more
                changed = True
    entries = []
    left = set(reach)
    while left:
        name = left.pop()
        circle = {other for other in reach[name] if name in reach[other]}
        if circle - {name}:
            entries.append(circle | {name})
            left -= circle
    return entries


@pytest.mark.parametrize("crate", CRATES)
def test_no_circle_of_many_files(crate: str) -> None:
    uses: dict[str, set[str]] = {}
    for module in modules(crate).values():
        targets = (defined_in(crate, module, path) for path in module.paths)
        names = {str(t.path.relative_to(ROOT)) for t in targets if t and t is not module}
        uses[str(module.path.relative_to(ROOT))] = names
    large = [
        sorted(circle) for circle in circles(uses) if len(circle) > LARGEST_CIRCLE.get(crate, 2)
    ]
    assert not large, large


def test_no_circle_in_python() -> None:
    """Imports within functions count, but not imports for type checkers alone."""
    assert not [sorted(circle) for circle in circles(imports())]


def test_no_library_module_needs_the_command_line() -> None:
    """Only `farlink.entry`, which starts the command line, imports it."""
    users = {
        name
        for name, targets in imports().items()
        if not name.startswith("farlink.cli") and any(t.startswith("farlink.cli") for t in targets)
    }
    assert users == {"farlink.entry"}


@cache
def imports() -> dict[str, set[str]]:
    """Return the modules of the package that each module imports at any time."""
    root = ROOT / "python"
    paths = {
        ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__"): path
        for path in root.rglob("*.py")
    }
    uses = {}
    for name, path in paths.items():
        named: set[str] = set()
        for node in executed(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                named |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                inner = {f"{node.module}.{alias.name}" for alias in node.names}
                named |= inner & paths.keys() or {node.module}
        uses[name] = named & paths.keys() - {name}
    return uses


def executed(tree: ast.AST) -> Iterator[ast.AST]:
    """Return each node outside `if TYPE_CHECKING`."""
    for node in ast.iter_child_nodes(tree):
        if not (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"):
            yield node
            yield from executed(node)
