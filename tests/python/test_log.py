"""`FARLINK_LOG`: rare events of the engine on standard error, with no change of a result."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

SET = [
    "--set",
    "flows.0.size=300 kB",
    "--set",
    "links.0.down.channel.loss=0.05",
    "--set",
    "tcp.variant=reno",
]


def run(path: Path, **environment: str) -> tuple[Any, str]:
    """Return the results of a run, and its standard error."""
    command = [sys.executable, "-m", "farlink", "run", "geo-lossy", *SET, "--json", str(path)]
    own = {name: value for name, value in os.environ.items() if name != "FARLINK_LOG"}
    done = subprocess.run(
        command, env=own | environment, check=True, capture_output=True, text=True
    )
    result = json.loads(path.read_text(encoding="utf-8"))
    return (result["results"], result["links"], result["events"]), done.stderr


def test_the_log_shows_rare_events_with_simulated_time(tmp_path: Path) -> None:
    results, lines = run(tmp_path / "on.json", FARLINK_LOG="debug")
    assert "fast_retransmit time=" in lines
    assert "timeout time=" in lines
    assert all(line.startswith("DEBUG farlink: ") for line in lines.splitlines())
    assert run(tmp_path / "off.json") == (results, "")


@pytest.mark.parametrize("directives", ["farlink=loud", "debug,farlink=1.5", "debgu"])
def test_an_invalid_filter_is_one_line_and_exit_code_2(directives: str) -> None:
    command = [sys.executable, "-m", "farlink", "--version"]
    environment = os.environ | {"FARLINK_LOG": directives}
    ended = subprocess.run(command, env=environment, check=False, capture_output=True, text=True)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr == (
        f'farlink: error: FARLINK_LOG = "{directives}" is no log filter; write a level (error, '
        "warn, info, debug, trace) or target=level, for example debug or farlink=debug\n"
    )
