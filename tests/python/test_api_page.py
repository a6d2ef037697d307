"""docs/api.md has the signatures and docstrings of the public names."""

import ast
import inspect
import os
from functools import cache
from pathlib import Path

import farlink

PAGE = Path(__file__).resolve().parents[2] / "docs" / "api.md"
BEGIN = "<!-- begin: made from the docstrings by tests/python/test_api_page.py -->\n"
END = "<!-- end -->\n"


def made() -> str:
    names = [name for name in farlink.__all__ if not name.startswith("_")]
    blocks = [entry(name) for name in sorted(names, key=lambda name: (name[0].isupper(), name))]
    return "\n" + "\n".join(blocks) + "\n"


def entry(name: str) -> str:
    """Return the part of the page about a name."""
    public = getattr(farlink, name)
    doc = inspect.cleandoc(public.__doc__ or "")
    node = definition(public)
    head = f"class {name}" if isinstance(public, type) else signature(node)
    block = [f"## `{name}`", "", "```python", head, "```", "", "```text", doc, "```", ""]
    members = getattr(node, "body", []) if isinstance(node, ast.ClassDef) else []
    rows = [row(item) for item in members if isinstance(item, ast.FunctionDef)]
    rows = [line for line in rows if line]
    return "\n".join(
        [*block, *(["Methods and attributes:", "", "```text", *rows, "```", ""] if rows else [])]
    )


def row(method: ast.FunctionDef) -> str:
    """Return the line of a public method or property, or an empty text."""
    if method.name.startswith("_"):
        return ""
    first = (ast.get_docstring(method) or "").partition("\n")[0]
    attributes = {"property", "cached_property"}
    plain = any(getattr(mark, "id", "") in attributes for mark in method.decorator_list)
    return f"{method.name if plain else signature(method)}\n    {first}".rstrip()


def signature(node: ast.AST | None) -> str:
    assert isinstance(node, ast.FunctionDef)
    returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    arguments = ast.unparse(node.args).removeprefix("self, ").removeprefix("self")
    line = f"{node.name}({arguments}){returns}"
    if len(line) <= 88:
        return line
    parts = [ast.unparse(part) for part in listed(node.args)]
    return f"{node.name}(\n" + "".join(f"    {part},\n" for part in parts) + f"){returns}"


def listed(arguments: ast.arguments) -> list[ast.arguments | ast.Name]:
    """Return an argument list for each argument with its default."""
    lists: list[ast.arguments | ast.Name] = []
    plain = [item for item in arguments.posonlyargs + arguments.args if item.arg != "self"]
    defaults = [None] * (len(plain) - len(arguments.defaults)) + list(arguments.defaults)
    for item, default in zip(plain, defaults[-len(plain) :] if plain else [], strict=True):
        lists.append(one_argument(item, default))
    if arguments.vararg:
        lists.append(ast.arguments([], [], arguments.vararg, [], [], None, []))
    elif arguments.kwonlyargs:
        lists.append(ast.Name("*"))
    for item, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        lists.append(one_argument(item, default))
    return lists


def one_argument(item: ast.arg, default: ast.expr | None) -> ast.arguments:
    return ast.arguments([], [item], None, [], [], None, [default] if default else [])


def definition(public: object) -> ast.AST | None:
    """Return the syntax tree of a Python function or class, or None for a Rust one."""
    assert isinstance(public, type) or callable(public)
    name = getattr(public, "__name__", None)
    try:
        path = inspect.getsourcefile(public)
    except TypeError:
        return None
    return next((node for node in tree(path).body if getattr(node, "name", "") == name), None)


@cache
def tree(path: str | None) -> ast.Module:
    return ast.parse(Path(path or "").read_text("utf-8"))


def test_the_page_is_that_of_the_docstrings() -> None:
    page = PAGE.read_text(encoding="utf-8")
    before, rest = page.split(BEGIN)
    wanted = before + BEGIN + made() + END + rest.partition(END)[2]
    if page != wanted and os.environ.get("UPDATE_DOCS"):
        PAGE.write_text(wanted, encoding="utf-8")
        return
    assert page == wanted, "run UPDATE_DOCS=1 pytest tests/python/test_api_page.py"
