"""Check a built site: `python tools/docsite/check.py build/site`.

Links inside the site must lead to a file and an anchor that exist, and no page, style sheet or
search file may request anything from another host.
"""

import re
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

#: Attributes that name an address; only those of `a` may name another host.
ADDRESSES = {"src", "srcset", "href", "data", "poster", "action", "background"}

#: Relations of `link` that a browser does not request.
NAMES_ONLY = {"canonical", "next", "prev", "search", "index", "author"}

_STYLE = re.compile(r"(?:url\(\s*['\"]?|@import\s+['\"])((?:https?:)?//[^'\")\s]+)")


class Page(HTMLParser):
    """Anchors, links and requested addresses of a page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.requests: list[str] = []
        text = path.read_text("utf-8")
        self.feed(text)
        self.requests += _STYLE.findall(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect the addresses of one element."""
        given = {name: value or "" for name, value in attrs}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        for name in ADDRESSES & given.keys():
            if tag == "a" or (tag == "link" and given.get("rel") in NAMES_ONLY):
                self.links.append(given[name])
            else:
                self.requests.append(given[name])


def faults(site: Path) -> Iterator[str]:
    """Yield a line for each broken link and each request to another host."""
    pages = {path.resolve(): Page(path) for path in sorted(site.rglob("*.html"))}
    for page in pages.values():
        name = page.path.relative_to(site)
        for address in page.requests:
            parts = urlsplit(address)
            if parts.netloc or parts.scheme not in ("", "data"):
                yield f"{name}: requests {address}"
            elif not parts.scheme and not _file(page, parts.path).exists():
                yield f"{name}: {address} is missing"
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = _file(page, parts.path)
            if not target.exists():
                yield f"{name}: {link} leads nowhere"
            elif parts.fragment and target in pages:
                anchors = pages[target].anchors
                if parts.fragment not in anchors and unquote(parts.fragment) not in anchors:
                    yield f"{name}: {link} has no such anchor"
    for path in sorted(site.rglob("*.css")):
        for address in _STYLE.findall(path.read_text("utf-8")):
            yield f"{path.relative_to(site)}: requests {address}"


def _file(page: Page, path: str) -> Path:
    return (page.path.parent / unquote(path)).resolve() if path else page.path.resolve()


if __name__ == "__main__":
    lines = list(faults(Path(sys.argv[1])))
    sys.stderr.write("".join(f"{fault}\n" for fault in lines))
    sys.exit(bool(lines))
