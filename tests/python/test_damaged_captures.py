"""Damaged captures end with a result or one clear line, after work in proportion to their size."""

import copy
import random
import struct
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

import farlink as fl
from farlink.captures.direction import Acknowledgment, Half, Sent, build
from farlink.captures.file import packets
from farlink.captures.path import fit_path
from farlink.captures.ranges import Covered, Holes
from farlink.errors import FarlinkError, ScenarioError
from farlink.estimate.matching import match
from test_captures import ACK, SYN, Rows, segment, write
from test_cli import farlink

PATH: dict[str, Any] = {
    "name": "damaged",
    "seed": 11,
    "tcp": {"variant": "sack", "receive_window": "65535 B", "timestamps": True},
    "links": [
        {
            "name": "radio",
            "between": ["server", "client"],
            "down": {
                "rate": "4 Mbit/s",
                "delay": "60 ms",
                "queue": {"packets": 40},
                "channel": {"loss": 0.05},
            },
            "up": {"rate": "1 Mbit/s", "delay": "60 ms"},
        }
    ],
    "flows": [{"from": "server", "to": "client", "size": "70 kB"}],
}

_EACH_BYTE = 30
"""Lines of Python that farlink may run per byte; an undamaged capture needs 6 to 7."""


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> list[bytes]:
    """Make captures of 8 kB: at the sender and the receiver, with and without timestamps."""
    made = []
    for number, change in enumerate(({}, {"timestamps": False}, {"variant": "newreno"})):
        tree = copy.deepcopy(PATH)
        tree["tcp"].update(change)
        folder = tmp_path_factory.mktemp(f"whole-{number}")
        for path in fl.run(tree).save_pcaps(folder):
            rows = [(packet.time_ns, packet.data[:96], packet.length) for packet in packets(path)]
            made.append(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 101))
            for time_ns, data, length in rows:
                when = divmod(time_ns // 1000, 10**6)
                made[-1] += struct.pack("<IIII", *when, len(data), length) + data
    return made


def damaged(whole: bytes, chance: random.Random) -> bytes:
    """Change fields of some packets, or bytes anywhere."""
    if chance.random() < 0.3:
        data = bytearray(whole)
        for _ in range(chance.choice((1, 2, 5, 20))):
            data[chance.randrange(len(data))] = chance.getrandbits(8)
        return bytes(data[: chance.randrange(len(data))] if chance.random() < 0.1 else data)
    rows, at = [], 24
    while at < len(whole):
        size = 16 + struct.unpack_from("<I", whole, at + 8)[0]
        rows.append(bytearray(whole[at : at + size]))
        at += size
    for _ in range(chance.choice((1, 1, 2, 4, 10, 40))):
        place = chance.randrange(len(rows))
        row, value = rows[place], chance.getrandbits(32)
        match chance.randrange(10):
            case 0:  # its time
                struct.pack_into("<I", row, 0, value)
            case 1:  # its length on the wire, its IP packet handed to a card
                struct.pack_into("<I", row, 12, value)
                struct.pack_into(">H", row, 18, 0)
            case 2:  # its sequence number
                struct.pack_into(">I", row, 40, value)
            case 3:  # its acknowledgment
                struct.pack_into(">I", row, 44, value)
            case 4:  # its length
                struct.pack_into(">H", row, 18, chance.choice((0, 40, 60, value >> 16)))
            case 5:  # its flags
                row[49] = value & 255
            case 6:
                rows.insert(chance.randrange(len(rows)), bytearray(row))
            case 7:
                chance.shuffle(rows)
            case 8:
                del rows[len(rows) // 2 :]
            case _:  # its headers, options among them
                for _ in range(8):
                    row[chance.randrange(16, len(row))] = chance.getrandbits(8)
        if len(rows) < 2:
            break
    return whole[:24] + b"".join(rows)


class Work:
    """Counter of the Python lines that farlink runs."""

    def __init__(self, most: int) -> None:
        self.lines, self._most = 0, most

    def __enter__(self) -> "Work":
        self._before = sys.gettrace()
        sys.settrace(self._call)
        return self

    def __exit__(self, *_: object) -> None:
        sys.settrace(self._before)

    def _call(self, frame: FrameType, event: str, _: object) -> Callable[..., Any] | None:
        return self._line if "/farlink/" in frame.f_code.co_filename else None

    def _line(self, frame: FrameType, event: str, _: object) -> Callable[..., Any]:
        self.lines += 1
        if self.lines > self._most:
            pytest.fail(f"more than {self._most:,} lines were run")
        return self._line


def read(path: Path, before: Path) -> None:
    """Read a capture in all ways; each way returns a result or raises an error of farlink's."""
    ways: list[Callable[[], object]] = [
        lambda: fl.capture(path).summary,
        lambda: fit_path(fl.capture(path).connection()).toml,
        lambda: fl.fit(path),
        lambda: fl.fit(before, path),
    ]
    for way in ways:
        with suppress(FarlinkError):  # the command line prints the error in one line
            way()


@pytest.mark.parametrize(
    "seeds", [range(60), pytest.param(range(60, 2200), marks=pytest.mark.long)]
)
def test_damaged_captures_cost_work_in_proportion(
    whole: list[bytes], seeds: range, tmp_path: Path
) -> None:
    before, path = tmp_path / "before.pcap", tmp_path / "damaged.pcap"
    before.write_bytes(whole[0])
    read(before, before)  # imports do not count
    for seed in seeds:
        chance = random.Random(seed)  # noqa: S311 (a fixed draw)
        chosen = chance.choice(whole)
        before.write_bytes(chosen)
        path.write_bytes(damaged(chosen, chance))
        with Work(_EACH_BYTE * len(chosen)):
            read(path, before)


def jumping(path: Path) -> Path:
    """Write a connection whose numbers jump by 1 GiB again and again."""
    rows: Rows = [
        (0.0, segment(0, 0, flags=SYN)),
        (0.1, segment(7000, 1, flags=SYN | ACK, back=True)),
        (0.2, segment(1, 7001)),
    ]
    for number in range(60):
        rows.append((0.3 + 0.01 * number, segment(1 + (number << 30) % 2**32, 7001, 100)))
        rows.append((0.4 + 0.01 * number, segment(7001, 101 + (number << 30), back=True)))
    return write(path, sorted(rows, key=lambda row: row[0]))


def test_numbers_that_jump_end_in_one_line(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = jumping(tmp_path / "jumps.pcap")
    assert len(fl.capture(path).connections) == 1
    for command in (["fit", path], ["advise", "--capture", path]):
        assert farlink(*map(str, command)) == 2
        output = capfd.readouterr().err
        assert "leave out" in output
        assert output.count("\n") == 1


def test_a_capture_with_data_from_before_its_syn_alone_is_read(tmp_path: Path) -> None:
    rows: Rows = [
        (0.0, segment(5000, 0, flags=SYN)),
        (0.1, segment(7000, 5001, flags=SYN | ACK, back=True)),
        *((0.2 + 0.01 * n, segment(1000 + 10 * n, 7001, 10)) for n in range(30)),
    ]
    (connection,) = fl.capture(write(tmp_path / "x.pcap", rows)).connections
    way = connection.directions["a2b"]
    assert (way.bytes, len(way.segments["time"])) == (0, 30)


def test_a_packet_of_an_impossible_length_is_left_out(tmp_path: Path) -> None:
    data = bytearray(segment(1, 1, 100))
    data[2:4] = bytes(2)
    path = write(tmp_path / "x.pcap", [(0.0, bytes(data))])
    changed = bytearray(path.read_bytes())
    for length, there in ((64_000, 1), (2**31, 0)):
        changed[24 + 12 : 24 + 16] = struct.pack("<I", length)
        path.write_bytes(changed)
        if there:
            assert fl.capture(path).connections[0].directions["a2b"].bytes == 64_000 - 40
        else:
            with pytest.raises(ScenarioError, match="no TCP connection"):
                fl.capture(path)


def test_ranges_equal_sets_of_bytes() -> None:
    for seed in range(200):
        chance = random.Random(seed)  # noqa: S311 (a fixed draw)
        covered, bytes_of = Covered(), set[int]()
        holes, missing, marks = Holes[int](), set[int](), {}
        edge = 0
        for number in range(30):
            start = chance.randrange(60)
            end = start + chance.randrange(12)
            covered.add(start, end)
            bytes_of |= set(range(start, end))
            if chance.random() < 0.2:
                floor = chance.randrange(60)
                covered.forget_below(floor)
                bytes_of = {place for place in bytes_of if place >= floor}
            assert covered.size == len(bytes_of)
            if chance.random() < 0.5:
                edge += chance.randrange(4)
                behind = edge + 1 + chance.randrange(5)
                holes.append(edge, behind, number)
                missing |= set(range(edge, behind))
                marks.update(dict.fromkeys(range(edge, behind), number))
                edge = behind + 1
            cut = chance.randrange(edge + 2)
            stop = cut + 1 + chance.randrange(9)
            touched = sorted(missing & set(range(cut, stop)))
            assert holes.cut(cut, stop) == (marks[touched[0]] if touched else None)
            missing -= set(range(cut, stop))


def test_many_holes_and_many_blocks_cost_a_search_each() -> None:
    count = 3000
    # Every second segment is missing at first; these come at the end in reverse order.
    order = [*range(0, 2 * count, 2), *range(2 * count - 1, 0, -2)]
    half, other = Half(), Half()
    half.sent = [Sent(n / 1e3, 10 * at, 10, None) for n, at in enumerate(order)]
    half.acknowledgments = [
        Acknowledgment(n / 1e3, 0, 1000, None, ((20 * n + 20, 20 * n + 30),)) for n in range(count)
    ]
    with Work(60 * 3 * count):
        way = build(("a", "b"), half, other, (None, None))
    assert way.sent_again + way.overtaken == count - 1
    assert way.acks["covered"][-1] == 10 * count
    # All packets have equal content, so each arrival fits all of them.
    clear = [(n / 1e3, b"%d" % n) for n in range(30)]
    same = [(1 + n, b"same") for n in range(count)]
    arrived = {name: [time + 0.1] for time, name in clear} | {
        b"same": [time + 0.1 for time, _ in same[:-1]]
    }
    with Work(200 * count):
        matches = match([*clear, *same], arrived)
    assert not matches.unclear
    assert int(np.isnan(matches.received).sum()) == 1
