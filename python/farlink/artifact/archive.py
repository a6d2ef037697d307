"""ZIP archive with a list of its files and their SHA-256.

Files are read into memory, and never extracted to disk. File names that point outside the archive's
folder are an error.
"""

import hashlib
import io
import json
import re
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from farlink import files
from farlink.errors import ScenarioError

__all__ = ["FORMAT", "LIST", "Archive", "write"]

FORMAT = "farlink-pack/1"
LIST = "farlink-pack.json"

_MOST_FILES = 100_000
_MOST_BYTES = 4_000_000_000
_DATE = (1980, 1, 1, 0, 0, 0)
"""Modification time of all files, constant so that equal content gives equal archives."""


def write(path: Path, head: Mapping[str, Any], content: Mapping[str, bytes]) -> None:
    """Write an archive atomically; `head` is stored together with the list of files.

    Raises
    ------
    OutputError
        If the file cannot be written.
    """
    listed = {name: hashlib.sha256(data).hexdigest() for name, data in sorted(content.items())}
    document = {"format": FORMAT, **head, "files": listed}
    text = json.dumps(document, indent=1) + "\n"
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as target:
        for name, data in {LIST: text.encode(), **dict(sorted(content.items()))}.items():
            member = zipfile.ZipInfo(name, _DATE)
            member.compress_type = zipfile.ZIP_DEFLATED
            member.external_attr = 0o644 << 16
            target.writestr(member, data)
    files.write_bytes(path, buffer.getvalue())


class Archive:
    """Archive that was read into memory.

    Attributes
    ----------
    head
        The list: format, versions, results and files.
    altered
        Sentences about files that were changed after packing.
    """

    def __init__(self, path: Path) -> None:
        """Read the archive, and compare each file with the SHA-256 in the list.

        Raises
        ------
        ScenarioError
            If the file is not an archive, is truncated, or has names that point outside it.
        """
        self._path = path
        try:
            self._zip = zipfile.ZipFile(path)
        except OSError as error:
            raise ScenarioError(
                f"cannot read {files.shown(path)}: {files.reason(error)}"
            ) from error
        except zipfile.BadZipFile as error:
            raise self._wrong("no archive, or cut; `farlink pack` writes one") from error
        self._check_names()
        self.head = self._read_list()
        self.altered = self._changes()

    def read(self, name: str) -> bytes:
        """Return the content of a file.

        Raises
        ------
        ScenarioError
            If the file is damaged or missing.
        """
        try:
            return self._zip.read(name)
        except KeyError as error:
            raise self._wrong(f"{name} is missing; pack the results again") from error
        except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError,
                ValueError, OSError) as error:  # fmt: skip
            raise self._wrong(f"{name} is damaged; fetch the archive again") from error

    def text(self, name: str) -> str:
        """Return the content of a text file."""
        try:
            return self.read(name).decode("utf-8")
        except UnicodeDecodeError as error:
            raise self._wrong(f"{name} is no UTF-8 text") from error

    def document(self, name: str) -> dict[str, Any]:
        """Return the content of a JSON file."""
        try:
            document = json.loads(self.text(name))
        except (ValueError, RecursionError) as error:
            raise self._wrong(f"{name} is no JSON") from error
        if not isinstance(document, dict):
            raise self._wrong(f"{name} holds no JSON object")
        return document

    def names_in(self, folder: str) -> list[str]:
        """Return the names of the files below a folder, relative to it."""
        start = f"{folder}/"
        return [name.removeprefix(start) for name in self.head["files"] if name.startswith(start)]

    def _check_names(self) -> None:
        members = self._zip.infolist()
        names = [member.filename for member in members]
        if len(names) > _MOST_FILES or sum(member.file_size for member in members) > _MOST_BYTES:
            raise self._wrong(f"above {_MOST_FILES:,} files or {_MOST_BYTES // 10**9} GB")
        for name in names:
            if not _stays(name):
                raise self._wrong(f"the name {files.shown(name)} leaves the archive")
        if len(set(names)) < len(names):
            raise self._wrong("a name is there twice")

    def _read_list(self) -> dict[str, Any]:
        if LIST not in self._zip.namelist():
            raise self._wrong(f"no archive of farlink: it has no {LIST}")
        head = self.document(LIST)
        if head.get("format") != FORMAT:
            raise self._wrong(f"format {head.get('format')!r} is not known; it is {FORMAT!r}")
        listed, results = head.get("files"), head.get("results")
        texts = isinstance(listed, dict) and all(isinstance(item, str) for item in listed.values())
        if not texts or not isinstance(results, list) or not all(map(_is_result, results)):
            raise self._wrong(f"{LIST} is damaged; fetch the archive again")
        return head

    def _changes(self) -> list[str]:
        listed: dict[str, str] = self.head["files"]
        there = set(self._zip.namelist()) - {LIST}
        for name in listed.keys() - there:
            raise self._wrong(f"{name} is missing; fetch the archive again")
        lines = [f"{name}: not in the list of the archive" for name in sorted(there - set(listed))]
        for name, digest in listed.items():
            if hashlib.sha256(self.read(name)).hexdigest() != digest:
                lines.append(f"{name}: changed since it was packed")
        return lines

    def _wrong(self, message: str) -> ScenarioError:
        return ScenarioError(f"{files.shown(self._path)}: {message}")


def _is_result(entry: object) -> bool:
    if not isinstance(entry, dict):
        return False
    texts = [entry.get(key) for key in ("folder", "kind", "command")]
    return all(isinstance(text, str) for text in texts) and _stays(str(entry["folder"]))


def _stays(name: str) -> bool:
    """Return whether the file stays inside the folder into which an archive is extracted."""
    path = PurePosixPath(name)
    bad = re.search(r"[\\:\x00-\x1f]", name) is not None
    return bool(path.parts) and not (bad or path.is_absolute() or ".." in path.parts)
