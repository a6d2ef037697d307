"""The check of the documentation site finds the faults that it is written for."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))

from docsite.check import faults


def write(site: Path, name: str, body: str) -> None:
    (site / name).write_text(body, encoding="utf-8")


def test_a_site_without_faults_passes(tmp_path: Path) -> None:
    write(tmp_path, "a.css", "p { background: url(data:image/png;base64,AA) }")
    write(
        tmp_path,
        "a.html",
        '<link rel="stylesheet" href="a.css"><link rel="canonical" href="https://host/a.html">'
        '<h1 id="top">A</h1><a href="b.html#x-y">b</a><a href="#top">a</a>'
        '<a href="https://host/">elsewhere</a><img src="data:image/png;base64,AA">',
    )
    write(tmp_path, "b.html", '<p id="x-y">B</p>')
    assert list(faults(tmp_path)) == []


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        ('<script src="https://host/a.js"></script>', "requests https://host/a.js"),
        ('<img src="//host/a.png">', "requests //host/a.png"),
        ('<link rel="stylesheet" href="https://host/a.css">', "requests https://host/a.css"),
        ("<style>@import 'https://host/a.css'</style>", "requests https://host/a.css"),
        ('<img src="a.png">', "a.png is missing"),
        ('<a href="gone.html">x</a>', "gone.html leads nowhere"),
        ('<a href="#gone">x</a>', "#gone has no such anchor"),
        ('<a href="a.html#gone">x</a>', "a.html#gone has no such anchor"),
    ],
)
def test_a_fault_is_found(tmp_path: Path, body: str, fault: str) -> None:
    write(tmp_path, "a.html", body)
    assert list(faults(tmp_path)) == [f"a.html: {fault}"]


def test_a_style_sheet_requests_nothing(tmp_path: Path) -> None:
    write(tmp_path, "a.css", "@font-face { src: url('https://host/font.woff2') }")
    assert list(faults(tmp_path)) == ["a.css: requests https://host/font.woff2"]
