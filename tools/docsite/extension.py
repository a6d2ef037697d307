"""Sphinx extension of the documentation site.

It reads shelves from the tables of docs/README.md, notebooks as pages, and sends links to other
files of the repository to the forge. Pages need no directive, so a forge shows them, too.
"""

import json
import re
import tomllib
from pathlib import Path
from typing import Any
from urllib.parse import quote

from docutils import nodes
from myst_parser.parsers.sphinx_ import MystParser
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.transforms import SphinxTransform

ROOT = Path(__file__).resolve().parents[2]
HOME = "docs/README"

PAGES = ["docs/*.md", "docs/**/*.md", "examples/*.ipynb", "*.md"]
"""Patterns of the files that become pages."""

FORGE = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["urls"]["Repository"]

_SHELF = re.compile(r"^## (.*)\n((?:.*\n)*?)(?=^## |\Z)", re.MULTILINE)
_LINK = re.compile(r"\[([^\]]*)\]\(([^)#\s]+\.(?:md|ipynb))[)#]")


def shelves(text: str) -> dict[str, dict[str, str]]:
    """Return the documents that each shelf of docs/README.md links first, with their titles."""
    result: dict[str, dict[str, str]] = {}
    seen: set[str] = set()
    for name, body in _SHELF.findall(text):
        for title, link in _LINK.findall(body):
            page = (ROOT / "docs" / link).resolve().relative_to(ROOT).with_suffix("").as_posix()
            if page not in seen:
                seen.add(page)
                result.setdefault(name, {})[page] = title
    return result


def children(page: str, pages: set[str]) -> list[str]:
    """Return the pages below a page: docs/x/ belongs to docs/x.md or to docs/x/README.md."""
    folder = page.removesuffix("/README") + "/"
    return sorted(
        other for other in pages if other != page and other.rpartition("/")[0] + "/" == folder
    )


def add_contents(app: Sphinx, page: str, source: list[str]) -> None:
    """Append the hidden tables of contents: shelves to the home page, a folder to its page."""
    if page == HOME:
        listed = shelves(source[0])
    else:
        below = children(page, app.env.found_docs - placed(app.env))
        listed = {"": dict.fromkeys(below, "")}
    for caption, pages in listed.items():
        if pages:
            options = f":hidden:\n:caption: {caption}\n" if caption else ":hidden:\n"
            lines = "\n".join(
                f"{title} </{other}>" if title else f"/{other}" for other, title in pages.items()
            )
            source[0] += f"\n\n```{{toctree}}\n{options}\n{lines}\n```\n"


def placed(env: BuildEnvironment) -> set[str]:
    """Return the pages that the home page lists itself."""
    home = Path(env.doc2path(HOME)).read_text("utf-8")
    return {HOME} | {page for pages in shelves(home).values() for page in pages}


class NotebookParser(MystParser):  # type: ignore[misc]
    """Reads an executed notebook as Markdown; cells are not run again."""

    supported = ("ipynb",)

    def parse(self, inputstring: str, document: nodes.document) -> None:
        """Parse the Markdown of a notebook."""
        super().parse(notebook_text(json.loads(inputstring)), document)


def notebook_text(notebook: dict[str, Any]) -> str:
    """Return the cells and outputs of a notebook as Markdown."""
    blocks = []
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        blocks.append(source if cell["cell_type"] == "markdown" else f"```python\n{source}\n```")
        blocks += [output_text(output) for output in cell.get("outputs", [])]
    return "\n\n".join(blocks) + "\n"


def output_text(output: dict[str, Any]) -> str:
    """Return an output of a cell as Markdown: a picture, a table, or text."""
    data = output.get("data", {"text/plain": output.get("text", [])})
    if "image/png" in data:
        picture = "".join(data["image/png"]).replace("\n", "")
        return f"![Output of the cell above](data:image/png;base64,{picture})"
    if "text/html" in data:
        table = re.sub(r"<style.*?</style>", "", "".join(data["text/html"]), flags=re.DOTALL)
        table = re.sub(r'<table border="1" class="dataframe">', '<table class="docutils">', table)
        return '<div class="table-wrapper output">\n' + re.sub(r"\n\s*\n", "\n", table) + "\n</div>"
    return "```text\n" + "".join(data["text/plain"]).rstrip("\n") + "\n```"


class ForgeLinks(SphinxTransform):  # type: ignore[misc]
    """Sends links to files and folders that are no pages to the forge."""

    default_priority = 5

    def apply(self, **_options: Any) -> None:  # noqa: ANN401 (docutils' own)
        """Replace the references of one document."""
        where = Path(self.env.doc2path(self.env.docname)).parent
        for node in list(self.document.findall(addnodes.download_reference)):
            self._replace(node, where / node["reftarget"])
        for node in list(self.document.findall(addnodes.pending_xref)):
            target = node["reftarget"].partition("#")[0]
            if node.get("refdomain") != "doc":
                self._replace(node, where / target)
            elif target not in self.env.found_docs:
                self._replace(node, ROOT / f"{target}.md")

    def _replace(self, node: nodes.Element, path: Path) -> None:
        path = path.resolve()
        if path.exists() and path.is_relative_to(ROOT):
            kind = "tree" if path.is_dir() else "blob"
            name = quote(path.relative_to(ROOT).as_posix())
            link = nodes.reference(refuri=f"{FORGE}/{kind}/main/{name}", internal=False)
            link += node.children
            node.replace_self(link)


def add_access(
    _app: Sphinx, _page: str, _template: str, context: dict[str, Any], _tree: nodes.Node | None
) -> None:
    """Let the keyboard scroll code and tables, and give captions of the contents a level."""
    for element in ("<pre>", '<div class="table-wrapper', '<div style="overflow-x:auto"'):
        wider = element.replace("<pre", '<pre tabindex="0"').replace("<div", '<div tabindex="0"')
        context["body"] = context.get("body", "").replace(element, wider)
    tree = context.get("furo_navigation_tree", "")
    context["furo_navigation_tree"] = tree.replace(
        'role="heading"', 'role="heading" aria-level="2"'
    )


def add_page(
    _app: Sphinx, page: str, _template: str, context: dict[str, Any], _tree: nodes.Node | None
) -> None:
    """Put a line with the page for the browser above the documents, if `make web` built it."""
    if (ROOT / "python" / "farlink" / "web" / "index.html").exists():
        # `make docs` copies the page to this place.
        there = "../" * page.count("/") + "live/index.html"
        context["theme_announcement"] = f'<a href="{there}">Try farlink in this browser</a>'


def write_entry(app: Sphinx, failure: Exception | None) -> None:
    """Write index.html, which leads from the root of the site to the home page."""
    if failure is None:
        (Path(app.outdir) / "index.html").write_text(
            '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>farlink</title>'
            f'<meta http-equiv="refresh" content="0; url={HOME}.html"></head>'
            f'<body><a href="{HOME}.html">farlink</a></body></html>\n',
            encoding="utf-8",
        )


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the parts with Sphinx."""
    app.add_source_suffix(".ipynb", "ipynb")
    app.add_source_parser(NotebookParser)
    app.add_transform(ForgeLinks)
    app.connect("source-read", add_contents)
    app.connect("html-page-context", add_access, priority=900)
    app.connect("html-page-context", add_page, priority=900)
    app.connect("build-finished", write_entry)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
