"""Pack the built page for wheels: `pack_page.py python/farlink/web python/farlink/web.tar.xz`.

The archive depends on the contents of the files alone.
"""

import io
import sys
import tarfile
from pathlib import Path


def pack(folder: Path, target: Path) -> None:
    """Write an archive without times and owners.

    Raises
    ------
    SystemExit
        With one line, if the folder has no page, or a symbolic link, which may lead elsewhere.
    """
    if not (folder / "index.html").is_file():
        raise SystemExit(f"{folder} has no index.html; run make web")
    for path in sorted(folder.rglob("*")):
        if path.is_symlink():
            raise SystemExit(f"{path} is a symbolic link; replace it by the file")
    with tarfile.open(target, "w:xz", preset=9) as archive:
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            name, data = path.relative_to(folder).as_posix(), path.read_bytes()
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))


if __name__ == "__main__":
    pack(Path(sys.argv[1]), Path(sys.argv[2]))
