"""Sizes and fonts of figures for different papers, without matplotlib."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from farlink.checks import text_of
from farlink.errors import ScenarioError

__all__ = [
    "PAGE",
    "SIZES",
    "Fonts",
    "Paper",
    "Size",
    "check_picture",
    "read_fonts",
    "read_size",
    "written_size",
]

PAGE = 7.0
"""Width in inches of the text of a two-column page."""


@dataclass(frozen=True)
class Paper:
    """Size of a figure: width (and height, if fixed) in inches, scale of text, fonts, pixels.

    `dpi` is in pixels per inch; None is matplotlib's default (100).
    """

    width: float = PAGE
    height: float | None = None
    scale: float = 1.0
    tex: bool = False
    dpi: float | None = None


Size = Literal["column", "page", "slide"] | tuple[float, float]
"""Size of a figure: by name, or its width and height in inches."""

Fonts = Literal["sans", "tex"]
"""Fonts of a figure."""

SIZES = {
    "column": Paper(3.4, scale=0.83),
    "page": Paper(),
    "slide": Paper(10.0, 5.625, scale=1.4),
}
"""Paper by name: a column of a page, a page, or a slide (16:9)."""

_FONTS: tuple[Fonts, ...] = ("sans", "tex")

_LEAST, _MOST = 2.0, 40.0
"""Smallest and largest side of a figure in inches."""


def read_size(size: Any) -> Paper:  # noqa: ANN401 (whatever was written)
    """Return the paper of a size. The scale of text follows from the width."""
    if isinstance(size, str) and size in SIZES:
        return SIZES[size]
    try:
        wide, tall = (float(side) for side in size)
    except (TypeError, ValueError):
        wide = tall = 0.0
    if isinstance(size, str) or not (_LEAST <= wide <= _MOST and _LEAST <= tall <= _MOST):
        raise ScenarioError(
            f"size is {text_of(size)}; write {', '.join(SIZES)}, or a width and a height of "
            f"{_LEAST:g} to {_MOST:g} inches"
        )
    narrow, page = SIZES["column"], SIZES["page"]
    share = min(max((wide - narrow.width) / (page.width - narrow.width), 0.0), 1.0)
    return Paper(wide, tall, narrow.scale + share * (page.scale - narrow.scale))


def read_fonts(fonts: Any) -> Fonts:  # noqa: ANN401 (whatever was written)
    """Check the name of fonts and return it; raise `ScenarioError` for an unknown name."""
    for known in _FONTS:
        if fonts == known:
            return known
    raise ScenarioError(f"fonts is {text_of(fonts)}; write {' or '.join(_FONTS)}")


def written_size(text: str) -> Size:
    """Read a size of the command line: a name, or "3.4x2.5" (inches)."""
    wide, _, tall = text.partition("x")
    try:
        size: Any = text if text in SIZES else (float(wide), float(tall))
        read_size(size)
    except (ValueError, ScenarioError):
        raise ScenarioError(
            f"--figure-size {text}: write {', '.join(SIZES)}, or width x height in inches of "
            f"{_LEAST:g} to {_MOST:g} each, such as 3.4x2.5"
        ) from None
    chosen: Size = size
    return chosen


def check_picture(path: Path) -> None:
    """Raise a `ScenarioError` if a picture's name does not end in .png or .svg."""
    if path.suffix not in (".png", ".svg"):
        raise ScenarioError(f"{path}: a picture is a .png or .svg file, for example network.svg")
