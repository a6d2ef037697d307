"""The page as a widget of a notebook: its traits in Python."""

import sys
from pathlib import Path
from typing import Any

import pytest

import farlink as fl
from farlink.browser import files

pytest.importorskip("anywidget")


@pytest.fixture
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("index.html", "single.html", "widget.js", "widget.css"):
        (tmp_path / name).write_text(f"{name} of a test", "utf-8")
    (tmp_path / "engine.wasm.xz").write_bytes(b"engine")
    monkeypatch.setattr(files, "FOLDER", tmp_path)
    return tmp_path


def test_a_widget_has_the_scenario_and_the_engine(built: Path) -> None:
    widget: Any = fl.live("geo-lossy", ["sack", "hybla"], overrides={"seed": 9}, height=500)
    assert widget.toml.startswith("# The download")
    assert widget.tcps == ["sack", "hybla"]
    assert widget.changes == [["seed", "9"]]
    assert (widget.height, widget.time, widget.measures, widget.error) == (500, 0, {}, "")
    assert widget.engine == (built / "engine.wasm.xz").read_bytes()
    assert widget.page == "single.html of a test"
    assert set(widget.get_state()) >= {"toml", "tcps", "time", "measures", "error", "engine"}
    assert repr(widget) == "<farlink page: sack, hybla>"


def test_what_the_page_reports_is_read_and_observed(built: Path) -> None:
    widget: Any = fl.live("geo-lossy", "sack")
    seen: list[object] = []
    widget.observe(lambda change: seen.append(change["new"]), names="measures")
    measures = {"sack": {"flows": [{"flow": "download", "metrics": {"goodput": 1e6}}]}}
    widget.set_state({"measures": measures, "time": 2.5})
    assert seen == [measures]
    assert widget.time == 2.5
    widget.tcps = ["reno"]
    widget.toml = "name = 'other'"
    assert widget.get_state(["tcps"]) == {"tcps": ["reno"]}


def test_a_mapping_is_shown_as_toml(built: Path) -> None:
    tree = {
        "links": [{"between": ["a", "b"], "down": {"rate": "1 Mbit/s", "delay": "10 ms"}}],
        "flows": [{"from": "a", "to": "b", "size": "1 MB"}],
    }
    widget: Any = fl.live(tree, "sack")
    assert widget.toml.startswith("[[links]]\nbetween =")


@pytest.mark.parametrize(
    ("scenario", "tcp", "message"),
    [
        ("no-such", None, "neither a scenario of the library nor a file"),
        ("geo-lossy", "no-such", "is not known"),
        ("geo-lossy", ["sack"] * 2, "named twice"),
        (
            "geo-lossy",
            ["tahoe", "reno", "newreno", "sack", "cubic", "bbr", "hybla", "vegas"],
            "a page shows 7 at most",
        ),
    ],
)
def test_bad_input_is_refused(
    built: Path, scenario: str, tcp: list[str] | str | None, message: str
) -> None:
    with pytest.raises(fl.ScenarioError, match=message):
        fl.live(scenario, tcp)


def test_a_missing_package_is_named(built: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "anywidget", None)
    with pytest.raises(fl.ScenarioError, match="pip install 'anywidget"):
        fl.live("geo-lossy")


def test_a_page_that_was_not_built_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "FOLDER", tmp_path)
    monkeypatch.setattr(files, "ARCHIVE", tmp_path / "none")
    with pytest.raises(fl.ScenarioError, match="the page was not built; run make web"):
        fl.live("geo-lossy")
