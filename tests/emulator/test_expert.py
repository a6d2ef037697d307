"""Remarks of Wireshark's expert on farlink's TCP against the kernel's over a bad link."""

import json
import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from test_emulate import pytestmark as emulates
from test_endpoint import bad_path

from farlink import emulation

TSHARK = shutil.which("tshark")
pytestmark = [emulates, pytest.mark.skipif(TSHARK is None, reason="no tshark")]

ADDRESS = {"server": "10.0.0.1", "client": "10.0.0.3"}
BAD_CHECKSUM = "Bad checksum"

NO_ERROR = {
    "the way of a connection": (
        r"Connection establish (request|acknowledge) \(SYN(\+ACK)?\): server port \d+",
        r"Connection finish \(FIN\)",
        r"This frame (initiates|undergoes) the connection closing",
        # The receiver connects before the sender listens, and connects again.
        r"Connection reset \(RST\)",
    ),
    "losses, and what comes after them": (
        r"Previous segment\(s\) not captured \(common at capture start\)",
        r"ACKed segment that wasn't captured \(common at capture start\)",
        r"Duplicate ACK \(#\d+\)",
        r"This frame is a \(suspected\) (fast )?retransmission",
        # Includes duplicates made by the channel.
        r"This frame is a \(suspected\) spurious retransmission",
        r"Duplicate SYN .*",
        r"D-SACK Sequence",
    ),
    "overtaking, and what was sent again before": (
        r"This frame is a \(suspected\) out-of-order segment",
    ),
    "flow control": (
        r"TCP window specified by the receiver is now completely full",
        r"TCP Zero Window segment",
        r"TCP window update",
        r"TCP keep-alive segment",
        r"ACK to a TCP keep-alive segment",
    ),
}
"""Expert notes that are normal for a correct connection, by cause."""

USUAL = re.compile("|".join(message for group in NO_ERROR.values() for message in group))


def notes(file: Path) -> list[tuple[str, list[str]]]:
    """Return source and notes of each packet of a capture that has notes."""
    fields = ("ip.src", "_ws.expert.message")
    command = [TSHARK or "", "-r", str(file), "-Y", "_ws.expert", "-T", "fields"]
    command += ["-E", "separator=/t", "-E", "aggregator=|"]
    command += ["-o", "tcp.check_checksum:TRUE", "-o", "ip.check_checksum:TRUE"]
    for field in fields:
        command += ["-e", field]
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    rows = [line.split("\t") for line in out.splitlines()]
    return [(source, messages.split("|")) for source, messages in rows]


def judge(rows: list[tuple[str, list[str]]], host: str) -> tuple[Counter[str], int]:
    """Return the wrong notes, and the number of packets that arrived with changed bits."""
    wrong: Counter[str] = Counter()
    damaged = 0
    for source, messages in rows:
        if source != ADDRESS[host] and any(item.startswith(BAD_CHECKSUM) for item in messages):
            # A changed bit makes the notes on this packet meaningless.
            damaged += 1
        else:
            wrong.update(item for item in messages if not USUAL.fullmatch(item))
    return wrong, damaged


@pytest.mark.parametrize("endpoints", [{"server": "cubic"}, {"client": "sack"}], ids=str)
def test_the_expert_finds_no_error_but_changed_bits(
    endpoints: dict[str, str], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """The expert finds no error except changed bits.

    The link has loss, duplicates, reordering and changed bits. The expert finds as many damaged
    packets in the capture as farlink's end counted.
    """
    done = emulation.transfer(bad_path(), "5MB", endpoints=endpoints, pcap=tmp_path)
    assert json.loads(capfd.readouterr().out)["correct"] is True
    seen: Counter[str] = Counter()
    for host in ADDRESS:
        rows = notes(tmp_path / f"{host}.pcapng")
        wrong, damaged = judge(rows, host)
        assert not wrong, host
        if host in endpoints:
            assert damaged == done.data["endpoints"][host]["dropped"]["checksum"]
        seen.update(item for _, messages in rows for item in messages)
    # The link did damage packets.
    assert any(BAD_CHECKSUM in item for item in seen)
    for usual in (
        "This frame is a (suspected) fast retransmission",
        "This frame is a (suspected) spurious retransmission",
        "This frame is a (suspected) out-of-order segment",
        "Previous segment(s) not captured (common at capture start)",
    ):
        assert seen[usual] > 0, usual


def test_what_is_wrong_is_not_overlooked() -> None:
    urgent = "The urgent pointer field is nonzero while the URG flag is not set"
    rows = [
        ("10.0.0.1", ["Duplicate ACK (#3)", urgent]),
        ("10.0.0.3", ["Bad checksum [should be 0xb481]", urgent]),
        ("10.0.0.1", ["Bad checksum [should be 0xb481]"]),
        ("10.0.0.3", ["Malformed Packet (Exception occurred)"]),
    ]
    wrong, damaged = judge(rows, "server")
    assert damaged == 1
    assert wrong == {urgent: 1, "Bad checksum [should be 0xb481]": 1, rows[3][1][0]: 1}
