"""Files that are written completely or not at all, and names that stay inside their folder."""

import errno
import os
import re
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from farlink.errors import OutputError, ScenarioError

__all__ = [
    "TEMPORARY",
    "as_name",
    "check_directory",
    "check_file",
    "check_name",
    "inside",
    "is_file",
    "kept",
    "read_text",
    "reason",
    "replacing",
    "shown",
    "sweep",
    "usual_mode",
    "write_bytes",
    "write_text",
]

TEMPORARY = ".farlink-"
"""Prefix of the names of unfinished files and folders."""

_LONGEST_NAME = 100
_STALE_S = 60
"""Age in seconds above which an unfinished file without a process counts as abandoned."""

_WINDOWS = os.name == "nt"
_DEVICES = re.compile(r"(con|prn|aux|nul|com[0-9]|lpt[0-9])(\..*)?|.*\.", re.IGNORECASE)


def check_name(name: str) -> None:
    """Raise `ScenarioError` unless a name is safe as the name of a file or folder.

    The rule is that of names in scenarios: no separator, no leading dot, and no part that leads out
    of the folder.
    """
    good = all(word.isalnum() or word in "._-+" for word in name)
    with suppress(UnicodeEncodeError):
        long = len(name.encode()) > _LONGEST_NAME
        if good and name and not name.startswith(".") and not long:
            if not (_WINDOWS and _DEVICES.fullmatch(name)):
                return
            raise ScenarioError(f"{name!r} is the name of a device on this system; take another")
    text = repr(name if len(name) <= 2 * _LONGEST_NAME else name[:_LONGEST_NAME] + "...")
    raise ScenarioError(
        f"{text} is not a name; write 1 to {_LONGEST_NAME} letters, digits, '.', '_', '-' or "
        "'+', not beginning with '.'"
    )


def as_name(text: str) -> str:
    """Convert any text to a name that `check_name` accepts."""
    name = "".join(line if line.isalnum() or line in "._-+" else "-" for line in text)
    return name.encode()[:_LONGEST_NAME].decode(errors="ignore").lstrip(".") or "scenario"


def is_file(path: Path) -> bool:
    """Return whether the file exists; an impossible path is no file."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def read_text(path: Path) -> str:
    """Read a file of UTF-8 text that the user named.

    Raises
    ------
    ScenarioError
        If it cannot be read.
    """
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise ScenarioError(f"{shown(path)}: {reason(error)}") from error
    except UnicodeDecodeError as error:
        raise ScenarioError(f"{path}: byte {error.start} is not UTF-8 text") from error
    except ValueError as error:  # The name contains a NUL.
        raise ScenarioError(f"{shown(path)}: {error}") from error


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary name beside `path`, which replaces `path` at the end of the block.

    An error removes the temporary file. The temporary file has the suffix of `path`, because
    writers of figures and tables derive the format from it. If `path` is a link, its target is
    replaced. A pipe, a device, and the file to which standard output or standard error is
    redirected are written directly.
    """
    out = _stream(path)
    if out is not None:
        with _temporary(path, Path(tempfile.gettempdir())) as temporary:
            yield temporary
            _copy(temporary, out)
        return
    try:
        target = path.resolve()
        target.parent.mkdir(parents=True, exist_ok=True)
    except (OSError, RuntimeError, ValueError) as error:
        raise OutputError(f"cannot write {shown(path)}: {reason(error)}") from error
    with _temporary(path, target.parent) as temporary:
        yield temporary
        # mkstemp creates a private file, but a file that the user named needs the usual mode.
        temporary.chmod(usual_mode(0o666))
        temporary.replace(target)


def write_text(path: Path, text: str) -> None:
    """Write `text` as UTF-8, completely or not at all."""
    write_pieces(path, [text])


def write_pieces(path: Path, pieces: Iterable[str]) -> None:
    """Write pieces of a text as UTF-8, completely or not at all."""
    with replacing(path) as temporary, temporary.open("wb") as out:
        for piece in pieces:
            out.write(piece.encode())


def write_bytes(path: Path, data: bytes) -> None:
    """Write `data`, completely or not at all."""
    with replacing(path) as temporary:
        temporary.write_bytes(data)


def check_file(path: Path) -> None:
    """Raise `OutputError` unless a file can be written at `path`."""
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        check_directory(path.parent)
        return
    except (OSError, ValueError) as error:
        raise OutputError(f"cannot write {shown(path)}: {reason(error)}") from error
    if stat.S_ISDIR(mode):
        raise OutputError(f"cannot write {path}: it is a directory; give the name of a file")
    if stat.S_ISREG(mode) and _stream(path) is None:
        check_directory(path.resolve().parent)
    elif not os.access(path, os.W_OK):
        raise OutputError(f"cannot write {path}: {os.strerror(errno.EACCES).lower()}")


def check_directory(path: Path) -> None:
    """Raise `OutputError` unless `path` is a writable directory or can be created."""
    try:
        with suppress(FileNotFoundError, NotADirectoryError):
            path.stat()
        existing = path
        while not existing.exists() and existing != existing.parent:
            existing = existing.parent
        if existing.is_dir():
            with tempfile.TemporaryFile(dir=existing):
                return
    except (OSError, ValueError) as error:
        raise OutputError(f"cannot write in {shown(path)}: {reason(error)}") from error
    raise OutputError(f"cannot write in {path}: {existing} is not a directory")


def reason(error: Exception) -> str:
    """Return the system's description of an error, as the end of a sentence."""
    return (getattr(error, "strerror", None) or str(error)).lower()


def shown(path: Path | str) -> str:
    """Return a path for a message.

    The path is shortened, because the system may have rejected it for its length.
    """
    text = str(path)
    return text if len(text) <= 300 else f"{text[:150]}...{text[-50:]}"


def usual_mode(asked: int) -> int:
    """Return the mode after the user's umask: from 0o666 for files, from 0o777 for folders."""
    mask = os.umask(0)
    os.umask(mask)
    return asked & ~mask


def inside(folder: Path, *names: str) -> Path:
    """Return the path of names below a folder.

    The names come from a file. An error is raised if a name would lead out of the folder.

    Raises
    ------
    ScenarioError
        If a name is unsafe (`check_name`).
    """
    for name in names:
        check_name(name)
    return folder.joinpath(*names)


@contextmanager
def kept(path: Path) -> Iterator[None]:
    """Lock an unfinished file or folder while this process lives.

    The system releases the lock when the process ends in any way, and `sweep` removes unlocked
    leftovers. On systems without such locks no file is removed.
    """
    handle = _lock(path)
    try:
        yield
    finally:
        if handle is not None:
            os.close(handle)


@contextmanager
def _temporary(path: Path, folder: Path) -> Iterator[Path]:
    try:
        sweep(folder)
        handle, name = tempfile.mkstemp(prefix=TEMPORARY, suffix=path.suffix, dir=folder)
        os.close(handle)
    except (OSError, ValueError) as error:
        raise OutputError(f"cannot write {shown(path)}: {reason(error)}") from error
    temporary = Path(name)
    try:
        with kept(temporary):
            yield temporary
    except OutputError:
        raise
    except OSError as error:
        raise OutputError(f"cannot write {shown(path)}: {reason(error)}") from error
    finally:
        temporary.unlink(missing_ok=True)


def _stream(path: Path) -> Path | int | None:
    """Return the file or descriptor to write directly, or None for an ordinary file.

    A pipe or a device is opened directly. For the file to which standard output or standard error
    is redirected, the descriptor is returned, so that output is appended.
    """
    try:
        status = path.stat()
    except (OSError, ValueError):
        return None
    if not stat.S_ISREG(status.st_mode):
        return None if stat.S_ISDIR(status.st_mode) else path
    for number in (1, 2):
        with suppress(OSError):
            if os.path.samestat(status, os.fstat(number)):
                return number
    return None


def _copy(temporary: Path, stream: Path | int) -> None:
    sys.stdout.flush()
    where = os.dup(stream) if isinstance(stream, int) else stream
    with temporary.open("rb") as whole, open(where, "wb") as out:  # noqa: PTH123 (a number too)
        shutil.copyfileobj(whole, out)


def sweep(folder: Path) -> None:
    """Remove unfinished files of killed farlink processes from a folder."""
    if folder in _SWEPT:
        return
    _SWEPT.add(folder)
    for entry in os.scandir(folder):
        if not _BEGUN.fullmatch(entry.name):
            continue
        with suppress(OSError):
            age = _now() - entry.stat(follow_symlinks=False).st_mtime
            handle = _lock(Path(entry.path)) if age > _STALE_S else None
            if handle is None:
                continue
            try:
                if entry.is_dir(follow_symlinks=False):
                    shutil.rmtree(entry.path)
                else:
                    Path(entry.path).unlink()
            finally:
                os.close(handle)


_BEGUN = re.compile(re.escape(TEMPORARY) + r"[a-z0-9_]{8}(\.[A-Za-z0-9]+)?")
_SWEPT: set[Path] = set()


def _lock(path: Path) -> int | None:
    """Lock a file or folder and return its descriptor.

    Returns None if another process has the lock, or if the system has no locks.
    """
    try:
        import fcntl
    except ImportError:  # Windows has no such locks.
        return None
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        return None
    return handle


def _now() -> float:
    import time

    return time.time()
