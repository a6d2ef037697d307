import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from farlink import files
from farlink.errors import OutputError, ScenarioError
from farlink.files import (
    as_name,
    check_directory,
    check_file,
    check_name,
    inside,
    replacing,
    write_text,
)


def test_a_file_is_replaced_whole(tmp_path: Path) -> None:
    path = tmp_path / "new" / "a.json"
    write_text(path, "one")
    write_text(path, "two")
    assert path.read_text(encoding="utf-8") == "two"
    assert [item.name for item in path.parent.iterdir()] == ["a.json"]


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
    assert [item.name for item in tmp_path.iterdir()] == ["a.json"]


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


@pytest.mark.parametrize(
    "name",
    [
        "",
        ".",
        "..",
        "/etc",
        "a/b",
        "..\\x",
        "a\0b",
        "a\nb",
        ".farlink-x",
        "x" * 101,
        "a b",
        "\ud800",
    ],
)
def test_a_name_that_would_leave_its_folder_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match="is not a name; write 1 to 100 letters"):
        inside(tmp_path, name)
    with pytest.raises(ScenarioError, match="is not a name"):
        inside(tmp_path, "good", name)


def test_names_of_devices_are_refused_where_there_are_such(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert inside(tmp_path, "nul", "westwood+") == tmp_path / "nul" / "westwood+"
    monkeypatch.setattr(files, "_WINDOWS", True)
    for name in ("nul", "COM1.txt", "a."):
        with pytest.raises(ScenarioError, match="is the name of a device"):
            inside(tmp_path, name)


def test_any_text_makes_a_name() -> None:
    assert as_name("my scenario") == "my-scenario"
    assert as_name("..") == "scenario"
    for text in ("x" * 300, "ä" * 99, "a/../b\0", ""):
        check_name(as_name(text))


def test_a_link_stays_and_what_it_points_to_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    target, link = tmp_path / "there" / "a.json", tmp_path / "link.json"
    target.write_text("old", encoding="utf-8")
    link.symlink_to(target)
    check_file(link)
    write_text(link, "new")
    assert link.is_symlink()
    assert target.read_text(encoding="utf-8") == "new"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_is_written_to_and_stays_one(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.json"
    os.mkfifo(pipe)
    got: list[str] = []
    reader = threading.Thread(target=lambda: got.append(pipe.read_text(encoding="utf-8")))
    reader.start()
    check_file(pipe)
    write_text(pipe, "whole")
    reader.join(timeout=60)
    assert got == ["whole"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


@pytest.mark.skipif(not Path("/dev/stdout").exists(), reason="needs /dev/stdout")
@pytest.mark.parametrize("to", ["/dev/stdout", "OUT"])
def test_standard_output_named_as_a_file_is_written_to(tmp_path: Path, to: str) -> None:
    out = tmp_path / "out.txt"
    code = (
        "import sys\nfrom pathlib import Path\nfrom farlink import files\nprint('before')\n"
        "files.check_file(Path(sys.argv[1]))\nfiles.write_text(Path(sys.argv[1]), 'text\\n')\n"
        "print('after')"
    )
    with out.open("w") as file:
        command = [sys.executable, "-c", code, to.replace("OUT", str(out))]
        subprocess.run(command, check=True, stdout=file)
    assert out.read_text(encoding="utf-8") == "before\ntext\nafter\n"


def test_names_that_the_system_refuses_are_said(tmp_path: Path) -> None:
    for bad in (tmp_path / ("x" * 5000), tmp_path / "a\0b"):
        for call in (check_file, check_directory, lambda path: write_text(path, "")):
            with pytest.raises(OutputError, match=r"^cannot write ") as caught:
                call(bad)
            assert len(str(caught.value)) < 500
        with pytest.raises(ScenarioError):
            files.read_text(bad)
        assert not files.is_file(bad)


def test_what_a_killed_process_left_is_swept_and_what_a_living_one_holds_is_not(
    tmp_path: Path,
) -> None:
    pytest.importorskip("fcntl")
    old = files._now() - 1000
    left, folder_left, other = (
        tmp_path / name for name in (".farlink-abcd1234.json", ".farlink-abcd5678", ".farlink-mine")
    )
    left.write_text("", encoding="utf-8")
    folder_left.mkdir()
    (folder_left / "cwnd.csv").write_text("", encoding="utf-8")
    other.write_text("", encoding="utf-8")
    code = (
        "import sys, os\nfrom pathlib import Path\nfrom farlink import files\n"
        "with files.replacing(Path(sys.argv[1])) as temporary:\n"
        " print(temporary, flush=True)\n sys.stdin.read()"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "b.json")]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        held = Path(process.stdout.readline().strip())
        for item in (left, folder_left, other, held):
            os.utime(item, (old, old))
        files._SWEPT.clear()
        write_text(tmp_path / "a.json", "text")
        assert sorted(tmp_path.iterdir()) == sorted([tmp_path / "a.json", other, held])
        process.kill()
        process.wait()
    files._SWEPT.clear()
    write_text(tmp_path / "a.json", "text")
    assert sorted(tmp_path.iterdir()) == sorted([tmp_path / "a.json", other])
