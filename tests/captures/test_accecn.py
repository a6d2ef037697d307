"""AccECN in captures, as Wireshark reads it."""

import subprocess
from pathlib import Path

import farlink as fl

from . import reader

pytestmark = reader.needs_tshark

SCENARIO = """
[tcp]
variant = "prague"
timestamps = true
[[links]]
between = ["server", "client"]
down = { rate = "10 Mbit/s", delay = "10 ms", queue = { packets = 100 }, discipline = "dualpi2" }
up = { rate = "10 Mbit/s", delay = "10 ms" }
[[flows]]
from = "server"
to = "client"
size = "500 kB"
"""

FIELDS = (
    "ip.src",
    "tcp.flags.syn",
    "tcp.flags.ae",
    "tcp.flags.cwr",
    "tcp.flags.ece",
    "tcp.flags.ace",
    "ip.dsfield.ecn",
    "tcp.options.acc_ecn.ee0b",
    "tcp.options.acc_ecn.eceb",
    "tcp.options.acc_ecn.ee1b",
    "tcp.len",
)


def read(file: Path) -> list[dict[str, str]]:
    """Return the fields of each packet; empty for an absent field."""
    assert reader.TSHARK is not None
    columns = [argument for field in FIELDS for argument in ("-e", field)]
    done = subprocess.run(
        [reader.TSHARK, "-r", str(file), "-T", "fields", *columns],
        capture_output=True,
        text=True,
        check=True,
    )
    lines = done.stdout.splitlines()
    return [dict(zip(FIELDS, line.split("\t"), strict=True)) for line in lines]


def test_wireshark_counts_the_marks_that_the_receiver_reports(tmp_path: Path) -> None:
    """Handshake by table 2 of RFC 9768, then counters that follow the marked packets."""
    scenario = tmp_path / "accecn.toml"
    scenario.write_text(SCENARIO)
    files = fl.run(scenario).save_pcaps(tmp_path / "captures")
    (client,) = (file for file in files if file.stem == "client")
    packets = read(client)
    syn, answer, third = packets[:3]
    bits = ("tcp.flags.ae", "tcp.flags.cwr", "tcp.flags.ece")
    assert [syn[bit] for bit in bits] == ["1", "1", "1"]
    assert [answer[bit] for bit in bits] == ["0", "1", "0"]
    assert third["tcp.flags.ace"] == "2"
    counts = ("tcp.options.acc_ecn.ee0b", "tcp.options.acc_ecn.eceb", "tcp.options.acc_ecn.ee1b")
    assert [answer[count] for count in counts] == ["1", "0", "1"]
    own = answer["ip.src"]
    marked, marked_bytes, ect1_bytes, reported = 0, 0, 1, 0
    for packet in packets[3:]:
        data = int(packet["tcp.len"])
        if packet["ip.src"] != own:
            marked += packet["ip.dsfield.ecn"] == "3"
            marked_bytes += data * (packet["ip.dsfield.ecn"] == "3")
            ect1_bytes += data * (packet["ip.dsfield.ecn"] == "1")
            continue
        assert packet["tcp.flags.ace"] == str((5 + marked) % 8)
        if packet["tcp.options.acc_ecn.eceb"]:
            assert int(packet["tcp.options.acc_ecn.eceb"]) == marked_bytes
            reported += 1
        if packet["tcp.options.acc_ecn.ee1b"]:
            assert int(packet["tcp.options.acc_ecn.ee1b"]) == ect1_bytes
    assert marked > 8
    assert reported > 8
