"""ACKs of a real kernel that a modem thins.

Skipped on machines that cannot emulate.
"""

import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from test_agents import FETCH, SERVE, started
from test_emulate import FARLINK, pytestmark  # noqa: F401  (skips without the right)

SCENARIO = """
[[links]]
name = "lan"
between = ["client", "modem"]
down = { rate = "100 Mbit/s", delay = "1 ms" }
[[links]]
name = "satellite"
between = ["modem", "server"]
down = { rate = "100 kbit/s", delay = "20 ms" }
up = { rate = "10 Mbit/s", delay = "20 ms", queue = { packets = 200 } }
[[agents]]
at = "modem"
wireless = "satellite"
kind = "thin"
[[flows]]
from = "server"
to = "client"
size = "1 MB"
"""


def test_acks_of_a_kernel_are_thinned_and_its_download_goes_on(tmp_path: Path) -> None:
    """The agent drops ACKs of the client's kernel, and the link carries the data at its rate."""
    file, server = tmp_path / "thin.toml", tmp_path / "serve.py"
    file.write_text(SCENARIO)
    server.write_text(SERVE)
    command = [*FARLINK, "emulate", str(file), "--quiet", "--in", "client"]
    command += ["--at", f"server:{sys.executable} {server}", "--", sys.executable, "-c", FETCH]
    with subprocess.Popen(command) as process:
        try:
            item = started(process.pid)

            def counters() -> dict[str, Any]:
                stats: dict[str, Any] = item.stats()
                (agent,) = stats["agents"]
                metrics: dict[str, Any] = agent["metrics"]
                return metrics

            until = time.monotonic() + 30
            while (seen := counters())["acks_dropped"] <= 100 and time.monotonic() < until:
                time.sleep(0.1)
            assert seen["acks_dropped"] > 100
            assert seen["acks_passed"] > 10
            assert seen["acks_delayed"] >= seen["acks_dropped"]
        finally:
            process.terminate()
            process.wait()
