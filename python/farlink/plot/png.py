"""Writes PNG files of figures as RGB without filters, in half of Pillow's time."""

import struct
import zlib
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from farlink.plot.data import Array

__all__ = ["write_png"]

_LEVEL = 3
"""Compression level of zlib; files are a few percent larger than at level 6, but take half the
time.
"""

_INCH = 0.0254
"""Length of an inch (m)."""


def write_png(path: Path, pixels: "Array", dpi: float) -> None:
    """Write rows of opaque RGBA pixels (uint8), with `dpi` pixels per inch.

    The format is that of the PNG specification, third edition, with 8 bits per colour. No filter is
    used, because filters make pictures of lines and text larger.
    """
    height, width, _ = pixels.shape
    # The first byte of a row is the filter (0: none).
    rows = np.zeros((height, 1 + 3 * width), np.uint8)
    rows[:, 1:] = pixels[:, :, :3].reshape(height, 3 * width)
    metre = round(dpi / _INCH)
    with path.open("wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n")
        for kind, data in (
            (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)),
            (b"pHYs", struct.pack(">IIB", metre, metre, 1)),
            (b"IDAT", zlib.compress(rows.data, _LEVEL)),
            (b"IEND", b""),
        ):
            file.write(struct.pack(">I", len(data)) + kind + data)
            file.write(struct.pack(">I", zlib.crc32(kind + data)))
