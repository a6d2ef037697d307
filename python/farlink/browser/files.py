"""Installed files of the page, which `make web` builds into `farlink/web`."""

import base64
import os
from pathlib import Path

from farlink.errors import ScenarioError

__all__ = ["FOLDER", "TYPES", "check", "find", "listed", "single"]

FOLDER = Path(os.environ.get("FARLINK_WEB") or Path(__file__).parents[1] / "web")
"""Folder of the built page; the variable FARLINK_WEB names another."""

TYPES = {
    ".css": "text/css; charset=utf-8",
    ".gz": "application/gzip",
    ".html": "text/html; charset=utf-8",
    ".ico": "image/x-icon",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".md": "text/markdown; charset=utf-8",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".toml": "text/plain; charset=utf-8",
    ".txt": "text/plain; charset=utf-8",
    ".wasm": "application/wasm",
    ".webmanifest": "application/manifest+json",
    ".woff2": "font/woff2",
}
"""Media type by the ending of a file's name."""

_ENGINE = '<script type="application/octet-stream" id="engine">'
"""Start of the element of `single.html` that gets the engine."""

_NOT_SERVED = ("single.html", "widget.js", "widget.css")
"""Files of the folder that are no part of the served page."""


def check(what: str, name: str = "index.html", folder: Path | None = None) -> Path:
    """Return the folder of the built page.

    Raises
    ------
    ScenarioError
        If the file `name` was not built.
    """
    place = FOLDER if folder is None else folder
    if not (place / name).is_file():
        raise ScenarioError(f"{what}: the page was not built; run make web in a checkout")
    return place


def listed(folder: Path) -> dict[str, Path]:
    """Return the files of a folder by their paths below it; links are left out."""
    paths = (path for path in sorted(folder.rglob("*")) if path.is_file() and not path.is_symlink())
    names = {path.relative_to(folder).as_posix(): path for path in paths}
    return {name: path for name, path in names.items() if name not in _NOT_SERVED}


def single(folder: Path) -> str:
    """Return the page as one HTML file, with its engine in it."""
    page = (folder / "single.html").read_text("utf-8")
    engine = base64.b64encode((folder / "engine.wasm.gz").read_bytes()).decode()
    before, after = page.split(_ENGINE)
    return f"{before}{_ENGINE}{engine}{after}"


def find(name: str) -> Path:
    """Return the path of an installed file of the page.

    Raises
    ------
    ScenarioError
        If it was not built.
    """
    return check("the notebook", name) / name
