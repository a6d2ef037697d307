"""Files of the page: a folder that `make web` builds, or the archive that a wheel has of it."""

import base64
import lzma
import os
import tarfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from farlink.errors import FarlinkError, ScenarioError
from farlink.files import reason, shown

__all__ = ["ARCHIVE", "ENGINE", "FOLDER", "TYPES", "read", "served", "single"]

FOLDER = Path(os.environ.get("FARLINK_WEB") or Path(__file__).parents[1] / "web")
"""Folder of the built page; the variable FARLINK_WEB names another."""

ARCHIVE = FOLDER.parent / f"{FOLDER.name}.tar.xz"
"""Archive of the folder in a wheel."""

ENGINE = "engine.wasm.xz"

TYPES = {
    ".css": "text/css; charset=utf-8",
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
    ".xz": "application/x-xz",
}
"""Media type by the ending of a file's name."""

_EMPTY = '<script type="application/octet-stream" id="engine">'
"""Start of the element of `single.html` that gets the engine."""

_NOT_SERVED = ("single.html", "widget.js", "widget.css")
"""Files that are no part of the served page."""


def read(what: str, *needs: str) -> Mapping[str, bytes]:
    """Return the files of the page by their paths.

    `needs` are files that must be among them besides the engine, by default index.html.

    Raises
    ------
    ScenarioError
        If the page was not built, or not completely; the message begins with `what`.
    FarlinkError
        If its files cannot be read.
    """
    try:
        contents, place = _contents()
    except (OSError, EOFError, lzma.LZMAError, tarfile.TarError) as error:
        raise FarlinkError(f"{what}: the page cannot be read: {reason(error)}") from error
    absent = [name for name in (*(needs or ("index.html",)), ENGINE) if name not in contents]
    if not absent:
        return contents
    if os.environ.get("FARLINK_WEB"):
        raise ScenarioError(
            f"{what}: FARLINK_WEB={shown(FOLDER)} has no {absent[0]}; name a folder that make web"
            " built, or unset it"
        )
    if contents:
        raise ScenarioError(
            f"{what}: the page is incomplete: {shown(place)} has no {absent[0]}; run make web again"
        )
    raise ScenarioError(f"{what}: the page was not built; run make web in a checkout")


def _contents() -> tuple[dict[str, bytes], Path]:
    """Return the files of the folder, or of the archive if there is no folder, and the place."""
    if (FOLDER / "index.html").is_file() or not ARCHIVE.is_file():
        return _of_folder(FOLDER), FOLDER
    return _of_archive(ARCHIVE), ARCHIVE


def served(contents: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return the files that a server gives to browsers."""
    return {name: data for name, data in contents.items() if name not in _NOT_SERVED}


def single(contents: Mapping[str, bytes]) -> str:
    """Return the page as one HTML file, with its engine in it.

    Raises
    ------
    FarlinkError
        If the file has no element for the engine.
    """
    engine = base64.b64encode(contents[ENGINE]).decode()
    before, element, after = contents["single.html"].decode(errors="replace").partition(_EMPTY)
    if not element:
        raise FarlinkError("single.html of the page has no place for the engine; run make web")
    return f"{before}{_EMPTY}{engine}{after}"


def _of_folder(folder: Path) -> dict[str, bytes]:
    """Read a folder; links are left out, because they may lead elsewhere."""
    paths = (path for path in sorted(folder.rglob("*")) if path.is_file() and not path.is_symlink())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


@cache
def _of_archive(path: Path) -> dict[str, bytes]:
    """Read the archive."""
    contents: dict[str, bytes] = {}
    with tarfile.open(path, "r:xz") as archive:
        for entry in archive.getmembers():
            file = archive.extractfile(entry)
            if file is not None:
                contents[entry.name] = file.read()
    return contents
