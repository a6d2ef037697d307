"""Pack the built page for wheels: `pack_page.py python/farlink/web python/farlink/web.tar.xz`.

One archive of all files, with the engine as plain WebAssembly, has two thirds of the size of the
files, because a gzipped engine cannot be compressed again.
"""

import gzip
import io
import sys
import tarfile
from pathlib import Path


def pack(folder: Path, target: Path) -> None:
    """Write an archive that depends on the contents of the files alone."""
    with tarfile.open(target, "w:xz", preset=9) as archive:
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            name, data = path.relative_to(folder).as_posix(), path.read_bytes()
            if name == "engine.wasm.gz":
                name, data = "engine.wasm", gzip.decompress(data)
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))


if __name__ == "__main__":
    pack(Path(sys.argv[1]), Path(sys.argv[2]))
