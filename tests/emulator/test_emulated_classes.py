"""Real packets through a queue law in Python."""

from pathlib import Path

import pytest
from test_emulate import pytestmark, python  # noqa: F401  (skips without the right)

import farlink as fl

SINK = """
import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("", 9))
s.settimeout(2)
s.sendto(b"go", ("server", 8))
count = 0
try:
    while True:
        s.recv(200)
        count += 1
except TimeoutError:
    open(sys.argv[1], "w").write(str(count))
"""
BURST = """
import socket, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("", 8))
s.recv(10)
for i in range(50):
    s.sendto(bytes(972), ("client", 9))
time.sleep(4)
"""
LAW = """
import farlink as fl
class Few(fl.QueueLaw):
    def on_arrival(self, packet):
        if packet.queue_packets >= 5:
            return "drop" if 1 else None
"""
BROKEN = LAW.replace("if 1", "if 1 / 0")
PATH = {
    "links": [
        {
            "between": ["server", "client"],
            "down": {"rate": "80 kbit/s", "delay": "5 ms", "queue": {"packets": 1000}},
            "up": {"rate": "1 Mbit/s", "delay": "5 ms"},
        }
    ],
    "flows": [{"from": "server", "to": "client", "size": "1 kB"}],
}


def burst(law: str, tmp_path: Path) -> int:
    """Send 50 datagrams of 1,000 bytes at once, and return how many arrive."""
    (tmp_path / "law.py").write_text(law, encoding="utf-8")
    counted = tmp_path / "count"
    fl.emulate(
        PATH,
        python(SINK, str(counted)),
        host="client",
        servers=[("server", python(BURST))],
        overrides={"links.0.down.discipline": f"{tmp_path}/law.py:Few"},
    )
    return int(counted.read_text())


def test_a_law_in_python_drops_real_packets(tmp_path: Path) -> None:
    """The link sends a datagram for 100 ms, five wait, and the law drops the others."""
    assert 6 <= burst(LAW, tmp_path) <= 9


def test_an_error_of_a_law_ends_an_emulation_with_its_line(tmp_path: Path) -> None:
    with pytest.raises(fl.FarlinkError, match=r"law.py:6: Few.on_arrival at .* division by zero"):
        burst(BROKEN, tmp_path)
