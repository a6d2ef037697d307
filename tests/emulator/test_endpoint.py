"""Farlink's TCP in user space against the kernel's TCP over bad links."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from test_emulate import FARLINK, path, pytestmark  # noqa: F401  (skips without the right)

import farlink as fl
from farlink import emulation

EXAMPLES = Path(__file__).parents[2] / "examples"

BAD = {"loss": 0.002, "duplicate": 0.005, "corrupt": 0.002}
REORDER = {"probability": 0.01, "delay": "5 ms"}


def bad_path() -> dict[str, Any]:
    """Path with loss, duplicates, changed bits and reordering in both directions."""
    scenario = path("5 ms", "100 Mbit/s")
    for direction in ("down", "up"):
        scenario["links"][1][direction] = {
            **scenario["links"][1][direction],
            "channel": {**BAD, "reorder": REORDER},
        }
    return scenario


def check(done: fl.Emulated, endpoints: dict[str, str]) -> None:
    assert done.exit_code == 0
    for name in endpoints:
        assert done.data["endpoints"][name]["dropped"]["checksum"] > 0
    if "server" in endpoints:
        assert done.data["endpoints"]["server"]["segments_retransmitted"] > 0


BOTH = [
    {"server": "hybla"},
    {"client": "sack"},
    {"server": "newreno", "client": "tahoe"},
]


@pytest.mark.parametrize("endpoints", BOTH, ids=str)
def test_checked_data_crosses_a_bad_link(
    endpoints: dict[str, str], capfd: pytest.CaptureFixture[str]
) -> None:
    done = emulation.transfer(bad_path(), "20MB", endpoints=endpoints)
    check(done, endpoints)
    report = json.loads(capfd.readouterr().out)
    assert report["correct"] is True
    assert report["bytes"] == 20_000_000


def test_a_class_in_python_sends_to_the_kernel(capfd: pytest.CaptureFixture[str]) -> None:
    endpoints = {"server": f"{EXAMPLES}/cc/reno.py:Reno"}
    done = emulation.transfer(bad_path(), "2MB", endpoints=endpoints)
    check(done, endpoints)
    report = json.loads(capfd.readouterr().out)
    assert report["correct"] is True
    assert report["bytes"] == 2_000_000


@pytest.mark.long
@pytest.mark.parametrize("endpoints", [{"server": "cubic"}, {"client": "cubic"}], ids=str)
def test_a_hundred_megabytes_cross_a_bad_link(
    endpoints: dict[str, str], capfd: pytest.CaptureFixture[str]
) -> None:
    done = emulation.transfer(bad_path(), "100MB", endpoints=endpoints)
    check(done, endpoints)
    assert json.loads(capfd.readouterr().out)["correct"] is True


def test_a_kernel_answers_accurate_ecn_with_classic_ecn() -> None:
    """A client that asks for AccECN gets data of the kernel's server that the queue may mark."""
    for ecn in ("accecn", True, False):
        scenario = path("5 ms", "20 Mbit/s")
        scenario["links"][1]["down"]["mark"] = {"packets": 20}
        scenario["tcp"] = {"ecn": ecn}
        done = emulation.transfer(scenario, "5MB", endpoints={"client": "sack"})
        marks = sum(link["metrics"]["marks"] or 0 for link in done.data["links"])
        assert (marks > 0) == (ecn is not False), (ecn, marks)
        assert done.data["endpoints"]["client"]["fetched"]["correct"]


TALK = """
import socket, sys
with socket.create_connection(("server", 7)) as s:
    s.sendall(b"x" * 100_000)
    s.shutdown(socket.SHUT_WR)
    n = 0
    while data := s.recv(65536):
        n += len(data)
    assert n == 100_000, n
try:
    socket.create_connection(("server", 81))
except ConnectionRefusedError:
    sys.exit(7)
"""


def test_programs_talk_to_a_host_in_user_space() -> None:
    """Programs get an echo, and a reset from a port without a listener."""
    done = fl.emulate(
        path(), ["python3", "-c", TALK], host="client", endpoints={"server": "newreno"}
    )
    assert done.exit_code == 7
    own = done.data["endpoints"]["server"]
    assert own["accepted"] == 1
    assert own["dropped"] == {
        "checksum": 0,
        "not_tcp": 0,
        "fragment": 0,
        "malformed": 0,
        "no_port": 1,
        "full": 0,
    }


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--endpoint", "moon=sack"], 'endpoint "moon": no flow of the scenario begins or ends'),
        (["--endpoint", "server=nosuch"], "nosuch"),
        (["--endpoint", "server"], "not HOST=TCP"),
        (
            ["--endpoint", "server=sack", "--endpoint", "client=sack", "--tcp", "reno"],
            "has no effect: both ends",
        ),
        (["--endpoint", "server=sack", "--endpoint", "server=reno"], "is given twice"),
        (["--endpoint", "server=sack", "--set", "tcp.mss=9000 B"], "does not fit packets of 1500"),
    ],
)
def test_bad_endpoints_are_one_line(arguments: list[str], message: str) -> None:
    done = subprocess.run(
        [*FARLINK, "emulate", "geo-omueti2007", "--transfer", "1kB", *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert message in line


def test_no_program_runs_in_a_host_in_user_space() -> None:
    with pytest.raises(fl.ScenarioError, match="user-space host, where no program can run"):
        fl.emulate(path(), ["true"], host="server", endpoints={"server": "sack"})
