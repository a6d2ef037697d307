"""Damaged recordings are imported as something valid, or refused in one line with exit code 2."""

import gzip
import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest

import recorded_files as made
from farlink import recordings
from farlink.errors import ScenarioError
from farlink.recordings import document, reading
from test_cli import farlink

SHORT: dict[str, tuple[str, Callable[[], str]]] = {
    "irtt": ("irtt.json", lambda: made.irtt(2, 0.1)),
    "ping": ("ping.txt", lambda: made.ping(3)),
    "lens": ("lens.csv", lambda: made.lens_irtt(2, 0.1)),
    "lens-ping": ("lens.csv", lambda: made.lens_ping(3)),
    "iperf3": ("iperf3.json", lambda: made.iperf3(seconds=6)),
    "iperf3-tcp": ("iperf3.json", lambda: made.iperf3(udp=False, reverse=False, seconds=6)),
    "mahimahi": ("cell.down", lambda: "".join(f"{at}\n" for at in range(1, 100, 3))),
    "leoreplayer": ("delay_1.txt", lambda: made.leo_delay(1)),
    "hypatia": ("networkx_rtt_1_to_2.txt", lambda: "\n".join(made.hypatia_rtt().split()[150:])),
    "hypatia-path": ("networkx_path_1_to_2.txt", lambda: made.HYPATIA_PATH),
    "starrynet": ("3.txt", lambda: made.starrynet(3)),
    "starrynet-isl": ("isl/0.txt", lambda: made.starrynet_lists(0, changes=True)["isl"]),
    "starrynet-gsl": ("gsl/0.txt", lambda: made.starrynet_lists(0, changes=False)["gsl"]),
    "netem": ("down.sh", lambda: NETEM),
    "document": ("recording.toml", lambda: ""),
    "rows": ("down.csv", lambda: ""),
}
"""Files to damage by their format; the last two are those of a saved recording."""

NETEM = """#!/bin/sh
# step 100 ms, 4 rows, direction down
done <<'ROWS'
0 20000 0.5000 5000000
100 21000 100.0000 1
300 20000 0.0000 7000000
400 20000 0.0000 7000000
ROWS
"""

PIECES = [
    "", "-1", "0", "1e999", "nan", "9" * 30, "0.5", "\t", ",", "\n", "{}", "[]", "null", "true",
    '"', "\x00", "é", "-", " ", "18446744073709551616", "1e-320", "Infinity", "٣",
]  # fmt: skip


def damaged(text: str, chance: random.Random) -> bytes:
    """Change, remove, repeat or cut pieces of a text."""
    for _ in range(chance.choice((1, 1, 2, 3, 8))):
        if not text:
            break
        at = chance.randrange(len(text))
        match chance.randrange(7):
            case 0:  # a piece in place of some characters
                text = text[:at] + chance.choice(PIECES) + text[at + chance.randrange(12) :]
            case 1:  # a number by another
                end = at
                while end < len(text) and text[end] in "0123456789.":
                    end += 1
                text = text[:at] + chance.choice(PIECES) + text[max(end, at) :]
            case 2:
                text = text[:at]
            case 3:
                lines = text.split("\n")
                chance.shuffle(lines)
                text = "\n".join(lines)
            case 4:  # a line twice
                lines = text.split("\n")
                row = chance.randrange(len(lines))
                text = "\n".join([*lines[:row], lines[row], *lines[row:]])
            case 5:  # a line less
                lines = text.split("\n")
                del lines[chance.randrange(len(lines))]
                text = "\n".join(lines)
            case _:
                text = text[:at] + text[at : at + 40] + text[at:]
    data = bytearray(text.encode())
    if data and chance.random() < 0.1:
        data[chance.randrange(len(data))] = chance.getrandbits(8)
    return bytes(data)


class Files:
    """Whole files of each format in a folder, of which one is damaged."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.saved = folder / "saved"
        self.texts = {}
        base = recordings.Settings(name="whole", step=0.5)
        path = folder / "irtt.json"
        path.write_text(made.irtt(4), encoding="utf-8")
        recordings.save(recordings.read("irtt", [path], base), self.saved)
        for kind, (name, text) in SHORT.items():
            whole = (self.saved / name).read_text("utf-8") if not text() else text()
            self.texts[kind] = (name, whole)

    def read(self, kind: str, data: bytes) -> recordings.Recording:
        """Read a recording whose file is replaced by `data`."""
        name, whole = self.texts[kind]
        if kind in ("document", "rows"):
            path = self.saved / name
            path.write_bytes(data)
            try:
                return recordings.load(self.saved)
            finally:
                path.write_text(whole, encoding="utf-8")
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(data)
        paths, settings = [path], recordings.Settings(name="x", between=(1, 4))
        if kind in ("starrynet-isl", "starrynet-gsl"):
            settings = recordings.Settings(name="x", between=(1, 2))
            for second in (0, 1):
                for folder, text in made.starrynet_lists(second, changes=True).items():
                    other = self.folder / folder / f"{second}.txt"
                    other.parent.mkdir(exist_ok=True)
                    if other != path:
                        other.write_text(text, encoding="utf-8")
                        paths.append(other)
        if kind == "leoreplayer":
            other = self.folder / "bw.txt"
            other.write_text("1\n30\n", encoding="utf-8")
            paths.append(other)
        if kind == "hypatia-path":
            other = self.folder / "networkx_rtt_1_to_2.txt"
            other.write_text(made.hypatia_rtt(), encoding="utf-8")
            paths.append(other)
        if kind == "netem":
            other = self.folder / "up.sh"
            other.write_text(NETEM.replace("direction down", "direction up"), encoding="utf-8")
            paths.append(other)
        return recordings.read(kind.split("-")[0], paths, settings)


def check(recording: recordings.Recording) -> None:
    """Check that a recording has values that a scenario can have."""
    for _, direction in recording.directions:
        for name in document.COLUMNS:
            column = direction.column(name)
            low, high = column.bounds
            assert 0 <= low <= high <= document.MOST[name]
            if column.values is not None:
                assert len(column.values) == recording.rows
    if recording.phases is not None:
        assert all(0 < row < recording.rows for row in recording.phases.starts)


LONG = pytest.param(20_000, marks=pytest.mark.long, id="long")


@pytest.mark.parametrize("count", [pytest.param(300, id="short"), LONG])
def test_a_damaged_file_is_valid_or_refused_in_one_line(count: int, tmp_path: Path) -> None:
    files = Files(tmp_path)
    outcomes = {"imported": 0, "refused": 0}
    for seed in range(count):
        chance = made.seeded(seed)
        kind = list(SHORT)[seed % len(SHORT)]
        data = damaged(files.texts[kind][1], chance)
        try:
            recording = files.read(kind, data)
        except ScenarioError as error:
            message = str(error)
            assert "\n" not in message, (seed, message)
            assert len(message) < 600, (seed, message)
            outcomes["refused"] += 1
            continue
        check(recording)
        if seed % 10 == 0:  # Each tenth one is written and read again.
            recordings.save(recording, tmp_path / "again")
            assert recordings.load(tmp_path / "again").rows == recording.rows
        outcomes["imported"] += 1
    assert min(outcomes.values()) > count / 10, outcomes


@pytest.mark.parametrize("kind", SHORT)
def test_an_undamaged_file_is_imported(kind: str, tmp_path: Path) -> None:
    files = Files(tmp_path)
    check(files.read(kind, files.texts[kind][1].encode()))


def trip(**change: object) -> str:
    """Return an irtt document whose first round trip is changed."""
    tree = json.loads(made.irtt(2, 0.1))
    tree["round_trips"][0] |= change
    return json.dumps(tree)


REFUSED = [
    ("irtt", "[]", "not the JSON of irtt: no object at the top"),
    ("irtt", "{", "line 1: not the JSON of irtt"),
    ("irtt", "{}", "no 'version.json_format' in it"),
    ("irtt", '{"version":{"json_format":2}}', "json_format '2' is not between 1 and 1"),
    ("irtt", trip(lost="maybe"), "round_trips[0].lost = 'maybe' is no state of irtt"),
    ("irtt", trip(timestamps={}), "timestamps.client.send.wall 'null' is not a whole number"),
    ("irtt", trip(lost="false", delay={"rtt": -1}), "delay.rtt '-1' is not between 0 and"),
    ("ping", "hello\n", "line 1: 'hello' is no line of ping"),
    ("ping", "PING 1.1.1.1 56(84) bytes of data.\n", "no reply of ping in it"),
    ("ping", "no answer yet for icmp_seq=3\n", "no reply of ping in it"),
    ("lens", "time,rtt\n1,2\n", "line 1: no file of LENS"),
    ("lens", "timestamp,rtt\n", "no rows in it"),
    ("lens", "timestamp,rtt\n1,2,3\n", "line 2: 3 values; a row has 2"),
    ("lens", "timestamp,rtt,uplink,downlink\n1,-5,0,0\n", "line 2: rtt '-5' is not between"),
    ("lens", "timestamp,rtt,uplink,downlink\n1,-1,0,0\n", "every probe of the recording is lost"),
    ("iperf3", '{"error":"no route"}', "iperf3 failed: 'no route'"),
    ("iperf3", '{"start":{"test_start":{"protocol":"SCTP"}},"intervals":[]}', "protocol 'SCTP'"),
    ("iperf3", '{"start":{"test_start":{"protocol":"TCP"}},"intervals":[]}', "no interval in it"),
    ("mahimahi", "3\n2\n", "line 2: 2 ms is earlier than the line before"),
    ("mahimahi", "0\n0\n", "ends at 0 ms; the last time is the length"),
    ("mahimahi", "1.5\n", "line 1: time '1.5' is not a whole number"),
    ("mahimahi", "-3\n", "line 1: time '-3' is not between 0 and"),
    ("leoreplayer", "12\nx\n", "line 2: delay 'x' is not a whole number"),
    ("hypatia", "0,1\n", "has one row"),
    ("hypatia", "0,1e6\n100000000,1e6\n150000000,1e6\n", "line 3: the times do not rise"),
    ("hypatia", "0,0\n100000000,0\n", "there is no path at any time"),
    ("hypatia-path", "0,a-b\n", "line 1: 'a-b' is no path; it has the form 3-1-2"),
    ("hypatia-path", "100000000,1-2\n", "has no path at time 0"),
    ("starrynet", "0,1\n", "1 rows and 2 columns are no matrix"),
    ("starrynet", "0,1\n1,0\n", "--between 4: the matrix has nodes 1 to 2"),
    ("starrynet", "0,-1\n1,0\n", "line 1: delay '-1' is not between 0 and"),
    ("starrynet-isl", "0,0\n", "line 1: is no 'node: links' and no 'node|deleted|updated|added'"),
    ("starrynet-isl", "0|||\n", "line 1: does not begin with a node"),
    ("starrynet-isl", "0,0|||0,1\n", "line 1: a link has 2 values, not 4"),
    ("starrynet-gsl", "0: 0,1,0,0,2.5\n", "line 1: a link to shell 1; only one shell is read"),
    ("starrynet-gsl", "0: 0,0,0,0,x\n", "line 1: delay 'x' is not a number"),
    ("starrynet-gsl", "0:\n1:\n", "there is no path between the stations at any time"),
    ("netem", "#!/bin/sh\n", "no line such as '# step 100 ms, 600 rows, direction down'"),
    ("netem", NETEM.replace("300 2", "350 2"), "time 350 ms is no later multiple of 100 ms"),
    ("netem", NETEM.replace("400 2", "#"), "line 7: 3 values; a row has 4"),
    ("netem", NETEM.removesuffix("ROWS\n"), "the rows do not end with 'ROWS'"),
    ("document", "x = [", "invalid value"),
    ("document", "format = 9", "format 9; this farlink reads 1"),
    ("document", "format = 1", "step_s is no number from 0.001 to 1e+06"),
    ("rows", "a,b\n", "the first column is not 'time (s)'"),
    ("rows", "time (s),delay (ms)\n0,1\n", "rows of 2 values"),
]


@pytest.mark.parametrize(("kind", "text", "message"), REFUSED)
def test_a_fault_is_named(kind: str, text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(ScenarioError) as refusal:
        Files(tmp_path).read(kind, text.encode())
    assert message.lower() in str(refusal.value).lower()
    assert "\n" not in str(refusal.value)


def test_a_refused_import_leaves_a_folder_as_it_was(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, out = tmp_path / "irtt.json", tmp_path / "out"
    path.write_text(made.irtt(3), encoding="utf-8")
    assert farlink("import", "irtt", str(path), "--out", str(out)) == 0
    before = {item.name: item.read_bytes() for item in out.iterdir()}
    path.write_text(made.irtt(3)[:-50], encoding="utf-8")
    capsys.readouterr()
    assert farlink("import", "irtt", str(path), "--out", str(out)) == 2
    err = capsys.readouterr().err
    assert err.startswith("farlink: error: ")
    assert err.count("\n") == 1
    assert {item.name: item.read_bytes() for item in out.iterdir()} == before
    assert sorted(item.name for item in tmp_path.iterdir()) == ["irtt.json", "out"]


def test_files_that_are_no_text_are_refused(tmp_path: Path) -> None:
    settings = recordings.Settings(name="x")
    for name, data, message in (
        ("a.gz", b"\x1f\x8b\x08\x00", "not a whole gzip file"),
        ("b.gz", b"plain", "not a whole gzip file"),
        ("c.txt", b"\xff\xfe", "byte 0 is not UTF-8 text"),
        ("d.txt", b" \n", "the file is empty"),
    ):
        path = tmp_path / name
        path.write_bytes(data)
        with pytest.raises(ScenarioError, match=message):
            recordings.read("ping", [path], settings)


def test_a_very_large_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "_MOST_BYTES", 1000)
    for name, write in (("a.txt", Path.write_bytes), ("a.gz", compressed)):
        write(tmp_path / name, made.ping(5).encode())
        with pytest.raises(ScenarioError, match="above 1,000 bytes; split the file"):
            reading.read(tmp_path / name)


def compressed(path: Path, data: bytes) -> int:
    return path.write_bytes(gzip.compress(data))


def test_files_that_do_not_belong_together_are_refused(tmp_path: Path) -> None:
    texts = {
        "1.txt": "0,1\n1,0\n", "2.txt": "0,1\n1,0\n", "4.txt": "0,1\n1,0\n", "x.txt": "0,1\n1,0\n",
        "delay_1.txt": "3\n", "bw.txt": "1\n", "ping.txt": made.ping(3), "irtt.json": made.irtt(2),
        "networkx_path_1_to_2.txt": "0,1-2\n", "plain.txt": "64 bytes from 1.1.1.1: icmp_seq=1 "
        "ttl=57 time=10 ms\n", "down.json": made.iperf3(seconds=4),
    }  # fmt: skip
    for name, text in texts.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    for kind, names, message in (
        ("starrynet", ["1.txt", "2.txt", "4.txt"], "do not rise by equal steps"),
        ("starrynet", ["x.txt"], "is not named by its second"),
        ("leoreplayer", ["delay_1.txt"], "is the delay alone"),
        ("leoreplayer", ["bw.txt"], "0 of the files have names that begin with 'delay'"),
        ("lens", ["ping.txt", "irtt.json"], "is irtt JSON, and the first file is ping text"),
        ("hypatia", ["networkx_path_1_to_2.txt"], "give one file named networkx_rtt_A_to_B.txt"),
        ("ping", ["ping.txt", "plain.txt"], "several logs need those of ping -D"),
        ("iperf3", ["down.json", "down.json"], "is another file of direction down"),
        ("mahimahi", ["bw.txt"] * 3, "is a third trace"),
    ):
        settings = recordings.Settings(name="x", between=(1, 2))
        with pytest.raises(ScenarioError, match=message):
            recordings.read(kind, [tmp_path / name for name in names], settings)
    with pytest.raises(ScenarioError, match="name two of them with --between"):
        recordings.read("starrynet", [tmp_path / "1.txt"], recordings.Settings(name="x"))
