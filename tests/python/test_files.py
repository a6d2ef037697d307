from pathlib import Path

import pytest

from farlink.errors import OutputError
from farlink.files import check_directory, check_file, replacing, write_text


def test_a_file_is_replaced_whole(tmp_path: Path) -> None:
    path = tmp_path / "new" / "a.json"
    write_text(path, "one")
    write_text(path, "two")
    assert path.read_text(encoding="utf-8") == "two"
    assert [one.name for one in path.parent.iterdir()] == ["a.json"]


def test_a_write_that_fails_leaves_the_old_file_and_no_other(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text("old", encoding="utf-8")

    def half() -> None:
        with replacing(path) as temporary:
            temporary.write_text("ne", encoding="utf-8")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        half()
    assert path.read_text(encoding="utf-8") == "old"
    assert [one.name for one in tmp_path.iterdir()] == ["a.json"]


def test_files_have_the_usual_mode(tmp_path: Path) -> None:
    plain, ours = tmp_path / "plain", tmp_path / "ours"
    plain.write_text("", encoding="utf-8")
    write_text(ours, "")
    assert ours.stat().st_mode == plain.stat().st_mode


def test_checks_write_nothing(tmp_path: Path) -> None:
    check_file(tmp_path / "x" / "a.json")
    check_directory(tmp_path / "y" / "z")
    assert list(tmp_path.iterdir()) == []


def test_what_cannot_be_written_is_said(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("", encoding="utf-8")
    with pytest.raises(OutputError, match=r"file/a: .*file is not a directory$"):
        check_directory(file / "a")
    with pytest.raises(OutputError, match="it is a directory; give the name of a file"):
        check_file(tmp_path)
    with pytest.raises(
        OutputError, match=r"^cannot write .*file/a: (file exists|not a directory)$"
    ):
        write_text(file / "a", "text")
