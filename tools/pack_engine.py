"""Pack the engine for the page: `pack_engine.py farlink_web.wasm engine.wasm.xz`.

xz takes a quarter off the size that gzip reaches. The decompressor of the page, xz-embedded, checks
CRC32.
"""

import lzma
import sys
from pathlib import Path

FILTERS = [{"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME, "lc": 4, "lp": 0, "pb": 0}]
"""Filter of xz. WebAssembly has no alignment, so no bits of the position help."""


def pack(source: Path, target: Path) -> None:
    """Write the compressed file whole, or not at all."""
    packed = lzma.compress(source.read_bytes(), check=lzma.CHECK_CRC32, filters=FILTERS)
    whole = target.with_suffix(".new")
    whole.write_bytes(packed)
    whole.replace(target)


if __name__ == "__main__":
    pack(Path(sys.argv[1]), Path(sys.argv[2]))
