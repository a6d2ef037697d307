"""Pack the built page for wheels: `pack_page.py python/farlink/web python/farlink/web.tar.xz`.

The archive depends on the contents of the files alone.
"""

import io
import sys
import tarfile
from pathlib import Path


def pack(folder: Path, target: Path) -> None:
    """Write an archive without times and owners."""
    with tarfile.open(target, "w:xz", preset=9) as archive:
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            name, data = path.relative_to(folder).as_posix(), path.read_bytes()
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))


if __name__ == "__main__":
    pack(Path(sys.argv[1]), Path(sys.argv[2]))
