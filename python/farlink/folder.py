"""Folder of results, which is replaced as a whole except for files of other programs.

The folder contains a list of farlink's files, each with the SHA-256 of its content. A later run
into the folder removes the listed files, except those that were edited. Other files stay.
"""

import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath
from typing import Any

from farlink import files
from farlink.errors import OutputError

__all__ = ["LIST", "filling", "holds", "listed"]

LIST = "farlink-files.json"
"""Name of the list of files; the list does not contain itself."""

FORMAT = "farlink-files/1"


@contextmanager
def filling(directory: Path, *, last: str) -> Iterator[Path]:
    """Yield an empty folder, whose content replaces that of `directory` at the end.

    On an error, or if the process is killed, `directory` does not change. If the process is killed
    while files are moved into place, the file `last` is missing, because it is moved last. Of the
    earlier content only files that an earlier `filling` wrote are removed.

    Raises
    ------
    OutputError
        If the folder cannot be written.
    """
    made: list[Path] = []
    try:
        try:
            where = directory if directory.is_dir() else _parents(directory.parent, made)
            files.sweep(where)
            stage = Path(tempfile.mkdtemp(prefix=files.TEMPORARY, dir=where))
        except (OSError, ValueError) as error:
            raise _cannot(directory, error) from error
        try:
            with files.kept(stage):
                yield stage
                _settle(stage, directory, last)
                made.clear()
        except OutputError:
            raise
        except OSError as error:
            raise _cannot(directory, error) from error
        finally:
            shutil.rmtree(stage, ignore_errors=True)
    finally:
        for figure in reversed(made):
            with suppress(OSError):
                figure.rmdir()


def holds(directory: Path, name: str, digest: str) -> bool:
    """Return whether all files of `filling` are present and unchanged, and `name` has a mark.

    The mark is `digest` among the first characters of the file. A caller with the same content can
    then skip the writing.
    """
    try:
        names = listed(directory)
        with (directory / name).open(encoding="utf-8") as file:
            marked = digest in file.read(_HEAD)
        return (
            marked
            and all(_hash(directory / item) in hashes for item, hashes in names.items())
            and name in names
        )
    except (OSError, UnicodeDecodeError):
        return False


_HEAD = 2000


def _settle(stage: Path, directory: Path, last: str) -> None:
    ours = {
        path.relative_to(stage).as_posix(): [_hash(path)]
        for path in sorted(stage.rglob("*"))
        if path.is_file()
    }
    if not directory.exists():
        _write_list(stage, ours)
        stage.chmod(files.usual_mode(0o777))
        stage.rename(directory)
        return
    before = listed(directory)
    for name in ours:
        if (directory / name).is_dir():
            raise OutputError(f"cannot write {directory / name}: it is a directory")
        parent = next((item for item in (directory / name).parents if item.exists()), directory)
        if not parent.is_dir():
            raise OutputError(f"cannot write {directory / name}: {parent} is not a directory")
    # The file that marks the folder as complete is removed first and written last. In between, the
    # list has both the old and the new files.
    both = {name: before.get(name, []) + ours.get(name, []) for name in {**before, **ours}}
    _write_list(directory, both)
    if last in ours:
        (directory / last).unlink(missing_ok=True)
    for name in sorted(before.keys() - ours.keys(), key=lambda item: item != last):
        path = directory / name
        if files.is_file(path) and _hash(path) in before[name]:
            path.unlink()
            _remove_empty(path.parent, directory)
    for name in sorted(ours.keys() - {last}):
        target = directory / name
        target.parent.mkdir(parents=True, exist_ok=True)
        (stage / name).replace(target)
    _write_list(directory, ours)
    if last in ours:
        (stage / last).replace(directory / last)


def _remove_empty(path: Path, base: Path) -> None:
    while path != base:
        try:
            path.rmdir()
        except OSError:  # The folder contains files of other programs.
            return
        path = path.parent


def listed(directory: Path) -> dict[str, list[str]]:
    """Return the listed files of a folder, each with the SHA-256 values that it may have.

    Raises
    ------
    OutputError
        If the list is damaged.
    """
    path = directory / LIST
    if not path.exists():
        return {}
    try:
        return _listed(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise OutputError(
            f"cannot write in {directory}: {LIST}, the list of what farlink made there, is "
            "damaged; remove it, or take another folder"
        ) from error


def _listed(document: Any) -> dict[str, list[str]]:  # noqa: ANN401 (whatever JSON has)
    listed = {str(name): list(file) for name, file in document["files"].items()}
    if document["format"] != FORMAT or not all(map(_stays, listed)):
        raise ValueError("it names files elsewhere")
    return listed


def _write_list(directory: Path, listed: Mapping[str, list[str]]) -> None:
    document = {"format": FORMAT, "files": dict(sorted(listed.items()))}
    files.write_text(directory / LIST, json.dumps(document, indent=1) + "\n")


def _stays(name: str) -> bool:
    """Return whether a listed name stays below the folder."""
    parts = PurePosixPath(name).parts
    bad = any(
        part in ("..", os.sep) or "\\" in part or ":" in part or "\0" in part for part in parts
    )
    return bool(parts) and not bad


def _hash(path: Path) -> str:
    with path.open("rb") as file:
        import hashlib

        return hashlib.file_digest(file, "sha256").hexdigest()


def _parents(path: Path, made: list[Path]) -> Path:
    missing = []
    item = path
    while not item.exists() and item != item.parent:
        missing.append(item)
        item = item.parent
    for entry in reversed(missing):
        entry.mkdir(exist_ok=True)
        made.append(entry)
    return path


def _cannot(directory: Path, error: Exception) -> OutputError:
    return OutputError(f"cannot write in {directory}: {files.reason(error)}")
