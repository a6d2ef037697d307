"""Lines of text with their measured widths, and the labels of nodes and links."""

import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties

from farlink.plot.network.glyphs import ICON
from farlink.plot.network.model import Link, Node
from farlink.plot.network.words import TIMES
from farlink.plot.sheet import agg_canvas

__all__ = ["LARGE", "LINE", "SMALL", "Label", "Ruler", "link_label", "node_label"]

LARGE, SMALL = 8.5, 7.5
"""Font sizes (points)."""
LINE = 0.145
"""Height of a line of small text (inches)."""
PILL = 0.2
"""Height of the sign of an agent (inches)."""
_CHARACTERS = 40
"""Number of characters after which a text of a link continues on the next line."""


class Ruler:
    """Measures texts in inches."""

    def __init__(self) -> None:
        self._figure = Figure(dpi=200)
        self._renderer = agg_canvas(self._figure).get_renderer()  # type: ignore[no-untyped-call]

    def width(self, text: str, size: float, weight: str = "normal") -> float:
        """Return the width of a line of text (inches)."""
        font = FontProperties(size=size, weight=weight)
        wide, _, _ = self._renderer.get_text_width_height_descent(text or " ", font, ismath=False)
        # Screens with fewer pixels make texts wider by some per cent.
        return 1.04 * float(wide) / 200

    def wrapped(self, text: str, size: float, room: float) -> list[str]:
        """Break a text into lines of at most `room` inches."""
        lines = [""]
        for word in text.split():
            line = f"{lines[-1]} {word}".strip()
            if lines[-1] and self.width(line, size) > room:
                lines.append(word)
            else:
                lines[-1] = line
        return lines


@dataclass
class Label:
    """Lines above and below a line or a sign; `sign` is the medium whose sign is above."""

    above: list[tuple[str, str]] = field(default_factory=list)
    below: list[tuple[str, str]] = field(default_factory=list)
    sign: str = ""

    def lines(self) -> Iterable[tuple[str, str]]:
        """Return all lines with their weights."""
        return [*self.above, *self.below]

    def heights(self) -> tuple[float, float]:
        """Return the extents above and below, with room between two labels."""
        sign = 0.6 * ICON if self.sign == "satellite" else 0.2 if self.sign else 0.0
        above = len(self.above) * LINE + sign + 0.1 if self.above else 0.07
        below = len(self.below) * LINE + 0.12 if self.below else 0.07
        return above, below


def link_label(link: Link, group: Sequence[Link], *, is_detailed: bool) -> Label:
    """Return the label of a link, or of a group of links with the same values."""
    sign = "" if link.medium == "wired" else link.medium
    count = sum(item.count for item in group)
    title = group[0].name if len(group) == 1 else f"{group[0].name} … {group[-1].name}"
    title = _numbered(title, count) + (f", {TIMES} {count:,}" if count > 1 else "")
    if not is_detailed:
        return Label()
    texts = [(line, "normal") for line in _directions(link)]
    if link.standby:
        texts.append(("after a handoff", "normal"))
    if len(group) > 1:
        return Label([(_short(title), "bold"), *texts], [], sign)
    return Label([(_short(title), "bold")], texts, sign)


def _directions(link: Link) -> list[str]:
    """Return the lines of both directions, with common texts once."""
    if link.down == link.up:
        return _wrap("⇄ ", link.down[0]) + [t for text in link.down[1:] for t in _wrap("", text)]
    common = [text for text in link.down if text in link.up]
    ways = []
    for arrow, texts in (("→ ", link.down), ("← ", link.up)):
        own = [text for text in texts if text not in common]
        ways += _wrap(arrow, ", ".join(own)) if own else []
    both = [line for text in common for line in _wrap("", text)]
    if link.down[0] == link.up[0]:
        return ["⇄ " + both[0], *both[1:], *ways]
    return [*ways, *(["⇄ " + both[0], *both[1:]] if both else [])]


def _numbered(name: str, count: int) -> str:
    return name.replace("{}", f"0 … {count - 1}")


def _wrap(start: str, text: str) -> list[str]:
    """Break a text, at commas if possible."""
    lines = [start]
    for part in text.split(", "):
        line = lines[-1] + (", " if lines[-1] not in (start, "") else "") + part
        if len(line) <= _CHARACTERS or lines[-1] in (start, ""):
            lines[-1] = line
        else:
            lines[-1] += ","
            lines.append(part)
    # The comma at the end of a line has a column beyond the bound.
    return [piece for line in lines for piece in textwrap.wrap(line, _CHARACTERS + 1)]


def _short(text: str, most: int = _CHARACTERS) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def node_label(node: Node) -> Label:
    """Return the label of a node: its name, and the number of a group, below its sign."""
    lines = [(_short(_numbered(node.name, node.count), 28), "normal")]
    if node.count > 1:
        lines.append((f"{TIMES} {node.count:,}", "bold"))
    return Label([], lines)
