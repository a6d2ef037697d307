"""Archives of an experiment: packed, run again, and refused if damaged."""

import hashlib
import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from farlink import artifact, errors
from farlink.artifact import archive
from farlink.cli import main

SWEEP = """
scenario = "geo-omueti2007"
runs = 2
measures = ["goodput", "timeouts"]
[set]
"flows.0.size" = "40 kB"
[factors]
tcp = ["sack", "linux-cubic"]
loss = { path = "links.satellite.down.channel.ber", values = [1e-7, 1e-5] }
"""


def code_of(*arguments: str) -> int:
    with pytest.raises(SystemExit) as end:
        main(list(arguments))
    return int(end.value.code or 0)


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Archives of a run with traces and of a sweep."""
    place = tmp_path_factory.mktemp("pack")
    (place / "s.toml").write_text(SWEEP, encoding="utf-8")
    small = ["--set", "flows.0.size=40 kB", "--runs", "2", "--quiet"]
    run = ["run", "geo-lossy", "--tcp", "reno,sack", *small, "--out", str(place / "run")]
    run += ["--pcap", "--snaplen", "64"]
    assert code_of(*run) == 0
    assert code_of("sweep", str(place / "s.toml"), "--out", str(place / "s"), "--quiet") == 0
    results = [str(place / "run"), str(place / "s")]
    assert code_of("pack", *results, "--out", str(place / "a.zip")) == 0
    return place / "a.zip"


def changed(path: Path, target: Path, change: Callable[[dict[str, bytes]], None]) -> Path:
    """Write an archive with changed content but the old list of hashes."""
    with zipfile.ZipFile(path) as source:
        content = {name: source.read(name) for name in source.namelist()}
    change(content)
    with zipfile.ZipFile(target, "w") as out:
        for name, data in content.items():
            out.writestr(name, data)
    return target


def relisted(content: dict[str, bytes]) -> None:
    """Update the list of hashes of a changed archive, as a forger would."""
    head = json.loads(content[archive.LIST])
    names = content.keys() - {archive.LIST}
    head["files"] = {name: hashlib.sha256(content[name]).hexdigest() for name in names}
    content[archive.LIST] = json.dumps(head).encode()


def test_an_archive_runs_again_to_the_same_bits(
    packed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert code_of("verify", str(packed)) == 0
    assert capsys.readouterr().out.count("the same to the bit") == 2
    verification = artifact.verify(packed)
    run, sweep = verification.items
    assert run.numbers > 10_000  # the traces of two TCPs
    assert sweep.numbers == 2 * 2 * 2 * 4  # points, measures; mean, two bounds, n
    assert not verification.engine_differs


def test_the_same_results_make_the_same_archive(packed: Path, tmp_path: Path) -> None:
    results = [packed.parent / "run", packed.parent / "s"]
    # The README in an archive contains the archive's name.
    again = artifact.pack(results, tmp_path / "a.zip")
    assert again.read_bytes() == packed.read_bytes()


def test_an_archive_holds_versions_sources_and_commands(packed: Path) -> None:
    with zipfile.ZipFile(packed) as content:
        assert "pandas==" in content.read("requirements.txt").decode()
        assert "@misc{omueti2007," in content.read("references.bib").decode()
        readme = content.read("README.md").decode()
    assert "farlink verify a.zip" in readme
    assert "results/run" in readme


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("results/run/result.json", b'"mean": 2', b'"mean": 3'),
        ("results/s/results.csv", b",goodput,bit/s,", b",goodput,bit/s,1"),
    ],
)
def test_a_changed_digit_is_found_even_under_a_forged_list(
    packed: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    name: str,
    before: bytes,
    after: bytes,
) -> None:
    def change(content: dict[str, bytes]) -> None:
        assert before in content[name]
        content[name] = content[name].replace(before, after, 1)

    assert code_of("verify", str(changed(packed, tmp_path / "b.zip", change))) == 1
    assert f"{name}: changed since it was packed" in capsys.readouterr().out

    def forge(content: dict[str, bytes]) -> None:
        change(content)
        relisted(content)

    assert code_of("verify", str(changed(packed, tmp_path / "c.zip", forge))) == 1
    out = capsys.readouterr().out
    assert "changed since" not in out
    assert "1 differ" in out
    assert f"{name.rsplit('/', 1)[1]}" in out


def test_a_changed_trace_is_found(packed: Path, tmp_path: Path) -> None:
    name = "results/run/sack/cwnd.parquet"

    def change(content: dict[str, bytes]) -> None:
        content[name] = content["results/run/reno/cwnd.parquet"]
        relisted(content)

    item = artifact.verify(changed(packed, tmp_path / "b.zip", change)).items[0]
    assert {pair.where.split()[0] for pair in item.differences} == {"sack/cwnd.parquet"}


def test_a_changed_capture_is_found(packed: Path, tmp_path: Path) -> None:
    """A changed bit in a capture is a difference; an unreadable capture is a one-line error."""

    def change(content: dict[str, bytes]) -> None:
        (name, *_) = sorted(name for name in content if name.endswith(".pcapng"))
        middle = len(content[name]) // 2
        data = bytearray(content[name])
        data[middle] ^= 1
        content[name] = bytes(data)
        relisted(content)

    item = artifact.verify(changed(packed, tmp_path / "b.zip", change)).items[0]
    (difference,) = item.differences
    assert difference.where.endswith(".pcapng: packets")

    def ruin(content: dict[str, bytes]) -> None:
        (name, *_) = sorted(name for name in content if name.endswith(".pcapng"))
        content[name] = b"not a capture"
        relisted(content)

    with pytest.raises(errors.ScenarioError, match="is no result of this kind; pack it again"):
        artifact.verify(changed(packed, tmp_path / "c.zip", ruin))


@pytest.mark.parametrize("name", ["../evil.txt", "/etc/evil", "a\\b", "c:evil", "x/../../y"])
def test_a_name_that_leaves_the_archive_is_refused(
    packed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    def change(content: dict[str, bytes]) -> None:
        content[name] = b"evil"
        relisted(content)

    bad = changed(packed, tmp_path / "b.zip", change)
    before = sorted(tmp_path.rglob("*"))
    assert code_of("verify", str(bad)) == 2
    assert "leaves the archive" in capsys.readouterr().err
    assert sorted(tmp_path.rglob("*")) == before


def test_a_cut_archive_is_refused(
    packed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = packed.read_bytes()
    for length in (0, 1, 100, len(whole) // 2, len(whole) - 1):
        (tmp_path / "cut.zip").write_bytes(whole[:length])
        assert code_of("verify", str(tmp_path / "cut.zip")) == 2
        error = capsys.readouterr().err
        assert len(error.splitlines()) == 1
        assert "cut" in error


def test_a_damaged_byte_is_one_line(
    packed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = bytearray(packed.read_bytes())
    for place in range(7, len(whole), len(whole) // 20):
        damaged = bytearray(whole)
        damaged[place] ^= 0x55
        (tmp_path / "d.zip").write_bytes(damaged)
        code = code_of("verify", "--quiet", str(tmp_path / "d.zip"))
        assert code in (0, 1, 2), place  # exit codes: an unread byte, a changed file, damage
        assert len(capsys.readouterr().err.splitlines()) == (code == 2)


def test_a_foreign_file_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as content:
        content.writestr("hello.txt", "hello")
    (tmp_path / "foreign.zip").write_bytes(buffer.getvalue())
    assert code_of("verify", str(tmp_path / "foreign.zip")) == 2
    assert "it has no farlink-pack.json" in capsys.readouterr().err
    assert code_of("verify", str(tmp_path / "none.zip")) == 2
    assert "no such file" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("results/s/results.csv", b"goodput\nx,y\n"),
        ("results/s/sweep.json", b"{}"),
        ("results/s/sweep.json", b"[]"),
        ("results/run/result.json", b"{}"),
        ("results/run/sack/cwnd.parquet", b""),
    ],
)
def test_a_forged_result_is_one_line(
    packed: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    name: str,
    data: bytes,
) -> None:
    def forge(content: dict[str, bytes]) -> None:
        content[name] = data
        relisted(content)

    bad = changed(packed, tmp_path / "b.zip", forge)
    code = code_of("verify", "--quiet", str(bad))
    # A readable table has different numbers (1); any other file is damaged (2).
    assert code == (1 if name.endswith(".csv") else 2)
    assert len(capsys.readouterr().err.splitlines()) == code - 1


@pytest.mark.parametrize("command", ["farlink study wong1998 --out /etc", "rm -rf x --store y"])
def test_a_study_of_a_foreign_command_is_not_run(
    packed: Path, tmp_path: Path, command: str
) -> None:
    def change(content: dict[str, bytes]) -> None:
        head = json.loads(content[archive.LIST])
        head["results"] = [{"folder": "results/x", "kind": "study", "command": command}]
        content[archive.LIST] = json.dumps(head).encode()
        verdicts = {"study": "wong1998", "command": command}
        content["results/x/verdicts.json"] = json.dumps(verdicts).encode()
        relisted(content)

    with pytest.raises(errors.ScenarioError, match="cannot be run again here"):
        artifact.verify(changed(packed, tmp_path / "b.zip", change))


def test_a_result_that_was_edited_is_not_packed(packed: Path, tmp_path: Path) -> None:
    small = {"flows.0.size": "20 kB"}
    import farlink as fl

    fl.run("geo-lossy", overrides=small).save(tmp_path / "r")
    path = tmp_path / "r" / "result.json"
    path.write_text(path.read_text("utf-8").replace('"mean": 2', '"mean": 3', 1), "utf-8")
    with pytest.raises(errors.ScenarioError, match="changed since farlink wrote it"):
        artifact.pack([tmp_path / "r"], tmp_path / "a.zip")
    assert not (tmp_path / "a.zip").exists()
    with pytest.raises(errors.ScenarioError, match="no result; name a folder"):
        artifact.pack([tmp_path], tmp_path / "a.zip")


@pytest.mark.long
def test_a_figure_of_a_study_runs_again(tmp_path: Path) -> None:
    out = str(tmp_path / "study")
    assert code_of("study", "west1997", "--only", "t1", "--quick", "--out", out, "--quiet") == 0
    artifact.pack([tmp_path / "study"], tmp_path / "a.zip")
    verification = artifact.verify(tmp_path / "a.zip")
    assert verification.is_same
    assert verification.items[0].numbers > 50
