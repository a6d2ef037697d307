"""Folders of results are complete or absent, and only their own files are removed."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from farlink import folder
from farlink.errors import OutputError


def fill(directory: Path, **content: str) -> None:
    with folder.filling(directory, last="result.json") as stage:
        for name, text in content.items():
            path = stage / name.replace("__", "/").replace("_", ".")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")


def names(directory: Path) -> list[str]:
    result = (path.relative_to(directory) for path in directory.rglob("*") if path.is_file())
    return sorted(path.as_posix() for path in result if path.name != folder.LIST)


def test_a_new_folder_comes_at_once_with_the_usual_mode(tmp_path: Path) -> None:
    out = tmp_path / "deep" / "out"
    fill(out, result_json="{}", sack__cwnd_csv="1")
    assert names(out) == ["result.json", "sack/cwnd.csv"]
    usual = tmp_path / "usual"
    usual.mkdir()
    assert out.stat().st_mode == usual.stat().st_mode
    assert [path.name for path in out.parent.iterdir()] == ["out"]


def test_what_an_earlier_run_left_goes_and_what_others_made_stays(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("mine", encoding="utf-8")
    fill(tmp_path, result_json="1", reno__cwnd_csv="1", plots__cwnd_png="1", plots__queue_png="1")
    (tmp_path / "plots" / "cwnd.png").write_text("retouched", encoding="utf-8")
    (tmp_path / "reno" / "notes.txt").write_text("mine", encoding="utf-8")
    fill(tmp_path, result_json="2", sack__cwnd_csv="2")
    assert names(tmp_path) == [
        "plots/cwnd.png",
        "reno/notes.txt",
        "result.json",
        "sack/cwnd.csv",
        "thesis.tex",
    ]
    assert (tmp_path / "result.json").read_text(encoding="utf-8") == "2"
    fill(tmp_path, result_json="3")
    assert not (tmp_path / "sack").exists()


def test_an_error_leaves_everything_as_it_was(tmp_path: Path) -> None:
    out = tmp_path / "deep" / "out"

    def half() -> None:
        with folder.filling(out, last="result.json") as stage:
            (stage / "result.json").write_text("new", encoding="utf-8")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        half()
    assert list(tmp_path.iterdir()) == []
    fill(out, result_json="old", plots__cwnd_png="old")
    before = sorted(out.rglob("*"))
    with pytest.raises(OutputError, match="no space"), folder.filling(out, last="result.json"):
        raise OSError(28, "No space left on device")
    assert sorted(out.rglob("*")) == before


def test_a_folder_in_the_way_is_said_before_anything_changes(tmp_path: Path) -> None:
    fill(tmp_path, result_json="1", reno__cwnd_csv="1")
    (tmp_path / "sack").write_text("a file", encoding="utf-8")
    with pytest.raises(OutputError, match="sack is not a directory"):
        fill(tmp_path, result_json="2", sack__cwnd_csv="2")
    assert names(tmp_path) == ["reno/cwnd.csv", "result.json", "sack"]
    (tmp_path / "sack").unlink()
    (tmp_path / "sack" / "cwnd.csv").mkdir(parents=True)
    with pytest.raises(OutputError, match=r"cwnd\.csv: it is a directory"):
        fill(tmp_path, result_json="2", sack__cwnd_csv="2")
    assert (tmp_path / "result.json").read_text(encoding="utf-8") == "1"


@pytest.mark.parametrize(
    "listed",
    ["{", "[]", '{"format": 1}', '{"format": "farlink-files/1", "files": ["a"]}', "[" * 100_000]
    + [
        json.dumps({"format": "farlink-files/1", "files": {name: ""}})
        for name in ("../mine", "/etc/passwd", "a/../../mine", "..\\mine", "c:mine", "")
    ],
    ids=str,
)
def test_a_tampered_list_removes_nothing(tmp_path: Path, listed: str) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (tmp_path / "mine").write_text("", encoding="utf-8")
    (out / folder.LIST).write_text(listed, encoding="utf-8")
    with pytest.raises(OutputError, match="the list of what farlink made there, is damaged"):
        fill(out, result_json="1")
    assert names(tmp_path) == ["mine"]


@pytest.mark.parametrize("kill_at", range(12))
def test_a_kill_at_any_instant_leaves_no_result_beside_parts(tmp_path: Path, kill_at: int) -> None:
    """The process ends at its n-th rename or removal; no result.json lies beside partial files."""
    fill(tmp_path, result_json="1", a_csv="1", b_csv="1", c_csv="1")
    code = f"""
import os, sys
from pathlib import Path
from farlink import folder
left = {kill_at}
def watched(event, arguments):
    global left
    if event in ("os.rename", "os.remove"):
        left -= 1
    if left < 0:
        os._exit(9)
with folder.filling(Path(sys.argv[1]), last="result.json") as stage:
    for name in ("result.json", "a.csv", "b.csv", "d.csv"):
        (stage / name).write_text("2")
    sys.addaudithook(watched)
"""
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=False)
    table = {name: (tmp_path / name).read_text() for name in names(tmp_path)}
    table = {name: text for name, text in table.items() if not name.startswith(".farlink-")}
    if "result.json" in table:
        assert set(table.values()) == {table["result.json"]}
        assert len(table) == 4
    else:
        assert done.returncode == 9
    fill(tmp_path, result_json="3", e_csv="3")
    left = {name for name in names(tmp_path) if not name.startswith(".farlink-")}
    assert left == {"result.json", "e.csv"}


def test_locks_are_not_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("farlink.files._lock", lambda _: None)
    fill(tmp_path / "out", result_json="1")
    assert names(tmp_path) == ["out/result.json"]
    assert os.listdir(tmp_path) == ["out"]  # noqa: PTH208 (hidden ones too)
