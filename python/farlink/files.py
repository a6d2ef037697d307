"""Files that are written whole or not at all."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from farlink.errors import OutputError

__all__ = ["check_directory", "check_file", "replacing", "write_bytes", "write_text"]


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a temporary name beside `path`; at the end it replaces `path`, on an error it goes.

    The suffix is kept, since writers of figures and tables look at it.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=".farlink-", suffix=path.suffix, dir=path.parent)
        os.close(handle)
    except OSError as error:
        raise OutputError(f"cannot write {path}: {_reason(error)}") from error
    temporary = Path(name)
    try:
        yield temporary
        # mkstemp makes the file private; what a user asked for gets the usual mode.
        temporary.chmod(0o666 & ~_umask())
        temporary.replace(path)
    except OSError as error:
        raise OutputError(f"cannot write {path}: {_reason(error)}") from error
    finally:
        temporary.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write `text` as UTF-8, whole or not at all."""
    write_bytes(path, text.encode())


def write_bytes(path: Path, data: bytes) -> None:
    """Write `data`, whole or not at all."""
    with replacing(path) as temporary:
        temporary.write_bytes(data)


def check_file(path: Path) -> None:
    """Raise `OutputError` unless a file could be written at `path` now."""
    if path.is_dir():
        raise OutputError(f"cannot write {path}: it is a directory; give the name of a file")
    check_directory(path.parent)


def check_directory(path: Path) -> None:
    """Raise `OutputError` unless `path` is, or could be made, a directory to write in."""
    existing = path
    while not existing.exists() and existing != existing.parent:
        existing = existing.parent
    if not existing.is_dir():
        raise OutputError(f"cannot write in {path}: {existing} is not a directory")
    try:
        with tempfile.TemporaryFile(dir=existing):
            pass
    except OSError as error:
        raise OutputError(f"cannot write in {path}: {_reason(error)}") from error


def _reason(error: OSError) -> str:
    return (error.strerror or str(error)).lower()


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
