"""An imported recording delays real packets by its rows."""

import json
from pathlib import Path

from test_emulate import ECHO, pytestmark, python  # noqa: F401  (skips without the right)

import farlink as fl
from farlink import recordings

# Pings one after another for five times as long as a step of the recording lasts.
PINGS = """
import json, socket, sys, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.settimeout(5)
times = []
end = time.monotonic() + 1
while time.monotonic() < end:
    at = time.monotonic()
    s.sendto(b"x" * 56, ("server", 7))
    s.recv(100)
    times.append(time.monotonic() - at)
open(sys.argv[1], "w").write(json.dumps(times))
"""


def test_packets_are_delayed_by_the_rows_of_a_recording(tmp_path: Path) -> None:
    """Round trips step between 20 and 60 ms every 0.2 s, and pings of 1 s meet both."""
    source = tmp_path / "networkx_rtt_1_to_2.txt"
    trips = [20e6, 20e6, 60e6, 60e6] * 5
    rows = [f"{at * 10**8},{trip}\n" for at, trip in enumerate(trips)]
    source.write_text("".join(rows), encoding="utf-8")
    settings = recordings.Settings(name="steps")
    recordings.save(recordings.read("hypatia", [source], settings), tmp_path / "out")
    times = tmp_path / "times.json"
    done = fl.emulate(
        tmp_path / "out" / "scenario.toml",
        python(PINGS, str(times)),
        host="client",
        servers=[("server", python(ECHO))],
    )
    assert done.exit_code == 0
    measured = json.loads(times.read_text())
    # Replies never come earlier; a busy machine may delay them.
    assert 0.02 <= min(measured) < 0.06
    assert max(measured) >= 0.06
