"""Resolved points of a large sweep, stored beside its numbers.

To resolve 10,000 scenarios takes longer than to read their numbers, so the same sweep again reads
its points. Scenarios that name files are resolved each time, because a file may have changed.
"""

import hashlib
import json
import zlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from farlink import _farlink, files
from farlink.experiment.points import Point
from farlink.source import Source

__all__ = ["LEAST", "digest", "load", "save"]

LEAST = 200
"""Least number of points that are stored."""

_NAME = "resolved.zlib"

_MOST = 1 << 30
"""Most bytes of a file's content."""


def digest(where: Source, points: Sequence[Mapping[str, Any]], seed: int | None) -> str | None:
    """Return a hash of all that determines the points; None if classes or other objects do.

    Parameters
    ----------
    where
        The scenario.
    points
        Values of each point, by path.
    seed
        Seed instead of the scenario's.
    """
    parts = [_farlink.engine(), _farlink.version(), where.name, where.text, where.origin]
    try:
        text = json.dumps([parts, dict(where.saved), points, seed], sort_keys=True)
    except TypeError:
        return None
    # A name such as mine.py:Mine is a class in a file, which may change.
    if any(":" in str(point.get("tcp", "")) for point in points):
        return None
    return hashlib.sha256(text.encode()).hexdigest()


def load(store: Path, key: str) -> list[Point] | None:
    """Return the points stored under a hash, without factors; None if there are none."""
    with suppress(OSError, ValueError, TypeError, KeyError, zlib.error):
        unpack = zlib.decompressobj()
        data = unpack.decompress((store / _NAME).read_bytes(), _MOST)
        document = json.loads(data) if unpack.eof else {}
        if document["key"] == key:
            points = []
            for text, known in document["points"]:
                points.append(Point(str(text)))
                # The hash of a scenario is as costly to compute as the scenario is to read.
                points[-1].__dict__["key"] = str(known)
            return points
    return None


def save(store: Path, key: str | None, points: Sequence[Point]) -> None:
    """Store the points of a sweep in the folder of its numbers, unless the key is None."""
    if key is None:
        return
    # The texts of 10,000 points have 50 MB, so they are compressed one after another.
    pack = zlib.compressobj(1)
    parts = [pack.compress(f'{{"key":{json.dumps(key)},"points":['.encode())]
    for place, point in enumerate(points):
        row = json.dumps([point.text, point.key], separators=(",", ":"))
        parts.append(pack.compress(f"{',' if place else ''}{row}".encode()))
    parts += [pack.compress(b"]}"), pack.flush()]
    files.write_bytes(store / _NAME, b"".join(parts))
