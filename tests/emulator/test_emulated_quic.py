"""QUIC in user space against aioquic, a QUIC in Python."""

import hashlib
import json
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from test_emulate import FARLINK, path
from test_emulate import pytestmark as emulates

import farlink as fl
from farlink import emulation

AIOQUIC = pytest.mark.skipif(find_spec("aioquic") is None, reason="needs aioquic")
pytestmark = [emulates]

HQ = str(Path(__file__).with_name("hq.py"))
SERVE = ("server", [sys.executable, HQ, "serve", "5001"])
GEO = path("270 ms", "20 Mbit/s")


def get(*arguments: str) -> list[str]:
    return [sys.executable, HQ, "get", "server", *arguments]


def contents(size: int) -> bytes:
    """Return the bytes that a server of farlink sends, as docs/quic.md gives them."""
    state, period = 1, bytearray()
    for _ in range(65_521):
        state = (state * 1_664_525 + 1_013_904_223) % 2**32
        period.append(state >> 24)
    return (bytes(period) * (size // len(period) + 1))[:size]


def got(capfd: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads(capfd.readouterr().out)
    return rows


def test_pages_are_refused() -> None:
    scenario = path("20 ms", "20 Mbit/s")
    ends = {key: scenario["flows"][0][key] for key in ("from", "to")}
    scenario["flows"] = [{**ends, "app": "http", "pages": 1}]
    with pytest.raises(fl.ScenarioError, match="pages over QUIC are simulated only; write app"):
        fl.emulate(scenario, ["true"], endpoints={"server": "quic"})


@pytest.mark.parametrize(
    ("app", "what"),
    [
        ({"app": "repeat", "files": 1, "size": "1 kB"}, "repeated files"),
        ({"app": "stream", "messages": 1, "size": "1 kB", "rate": "8 kbit/s"}, "messages"),
        ({"app": "ftp", "conversations": 1, "arrivals": "1 s"}, "conversations"),
    ],
)
def test_a_host_of_another_application_is_refused(app: dict[str, object], what: str) -> None:
    scenario = path("20 ms", "20 Mbit/s")
    ends = {key: scenario["flows"][0][key] for key in ("from", "to")}
    scenario["flows"] = [{**ends, **app}]
    with pytest.raises(fl.ScenarioError, match=f"{what} over QUIC are simulated only; write app"):
        fl.emulate(scenario, ["true"], endpoints={"server": "quic"})


def test_early_data_is_refused() -> None:
    scenario = path("20 ms", "20 Mbit/s")
    scenario["tcp"] = {"profile": "quic", "quic": {"zero_rtt": True}}
    with pytest.raises(fl.ScenarioError, match=r"tcp\.quic\.zero_rtt is simulated only"):
        fl.emulate(scenario, ["true"], endpoints={"server": "quic"})


@AIOQUIC
@pytest.mark.parametrize("tcp", ["quic", "quic-newreno", "quic-bbr"])
@pytest.mark.parametrize("ip", ["v4", "v6"])
def test_a_program_downloads_from_the_server(
    tcp: str, ip: str, capfd: pytest.CaptureFixture[str]
) -> None:
    paths = ["/1000000", "/0", "/", "/300000"]
    scenario = path("20 ms", "20 Mbit/s", loss=0.01)
    scenario["flows"][0]["ip"] = ip
    certificate = str(emulation.CERTIFICATE)
    done = fl.emulate(scenario, get("443", certificate, *paths), endpoints={"server": tcp})
    assert done.exit_code == 0
    rows = got(capfd)
    # A request for / is for the size of the flow.
    assert [row["bytes"] for row in rows] == [1_000_000, 0, 1_000_000, 300_000]
    for row in rows:
        assert row["sha256"] == hashlib.sha256(contents(row["bytes"])).hexdigest()
    own = done.data["endpoints"]["server"]
    assert own["accepted"] == 1
    assert own["segments_retransmitted"] > 0
    assert set(own["dropped"].values()) == {0}
    assert done.missing == 0


@AIOQUIC
@pytest.mark.parametrize("tcp", ["quic", "quic-newreno", "quic-bbr"])
def test_the_client_downloads_from_a_program(tcp: str, capfd: pytest.CaptureFixture[str]) -> None:
    scenario = path("20 ms", "20 Mbit/s", loss=0.01)
    done = emulation.transfer(scenario, "1MB", endpoints={"client": tcp}, servers=[SERVE])
    assert done.exit_code == 0
    report = json.loads(capfd.readouterr().out)
    assert (report["correct"], report["bytes"], report["failure"]) == (True, 1_000_000, None)


@AIOQUIC
@pytest.mark.parametrize("more", [-1, 1])
def test_an_answer_of_another_length_is_wrong(more: int, capfd: pytest.CaptureFixture[str]) -> None:
    server = ("server", [*SERVE[1], "--more", str(more)])
    done = emulation.transfer(path(), "10kB", endpoints={"client": "quic"}, servers=[server])
    assert done.exit_code == 1
    report = json.loads(capfd.readouterr().out)
    assert (report["correct"], report["bytes"]) == (False, 10_000 + more)


@AIOQUIC
def test_a_request_that_is_none_is_reset_and_others_are_answered(
    capfd: pytest.CaptureFixture[str],
) -> None:
    command = get("443", str(emulation.CERTIFICATE), "/nothing", "/1000")
    done = fl.emulate(path(), command, endpoints={"server": "quic"}, seconds=30)
    assert done.exit_code == 0
    assert [row["bytes"] for row in got(capfd)] == [0, 1000]


def test_a_transfer_over_quic_takes_the_time_of_the_simulation(
    capfd: pytest.CaptureFixture[str],
) -> None:
    done = emulation.transfer(GEO, "5MB", endpoints={"server": "quic", "client": "quic"})
    assert done.exit_code == 0
    report = json.loads(capfd.readouterr().out)
    assert report["correct"] is True
    flow = fl.run(GEO, tcp="quic", overrides={"flows.0.size": "5 MB"}).probe("quic").outcome
    simulated = flow["flows"][0]["metrics"]["duration"]
    # The request is half a round trip after the handshake. In the simulation data follows at once.
    assert report["seconds"] == pytest.approx(simulated + 0.27, rel=0.02)


@AIOQUIC
def test_aioquic_at_both_ends_is_carried(capfd: pytest.CaptureFixture[str]) -> None:
    server = ("server", [sys.executable, HQ, "serve", "5001"])
    scenario = path("100 ms", "10 Mbit/s")
    done = fl.emulate(scenario, get("5001", "-", "/1000000"), servers=[server])
    assert done.exit_code == 0
    (row,) = got(capfd)
    assert row["bytes"] == 1_000_000
    # Handshake, request and slow start from ten packets: five round trips at least.
    assert 1.0 < row["seconds"] < 6.0
    assert done.missing == 0


@AIOQUIC
@pytest.mark.skipif(shutil.which("tshark") is None, reason="needs tshark")
def test_tshark_decrypts_a_capture(tmp_path: Path) -> None:
    certificate = str(emulation.CERTIFICATE)
    command = get("443", certificate, "/200000")
    done = fl.emulate(path(), command, endpoints={"server": "quic"}, pcap=tmp_path)
    assert done.exit_code == 0
    keys = tmp_path / "keys.log"
    assert len(keys.read_text().splitlines()) == 5
    capture = ["tshark", "-r", str(tmp_path / "client.pcapng"), "-Y", "quic.stream_data"]
    options = ["-o", f"tls.keylog_file:{keys}", "-d", "udp.port==443,quic"]
    fields = ["-T", "fields", "-e", "quic.stream.length", "-e", "quic.stream.offset"]
    shown = subprocess.run(
        [*capture, *options, *fields],
        capture_output=True,
        check=True,
        text=True,
    ).stdout
    ends = []
    for line in shown.splitlines():
        lengths, _, offsets = line.partition("\t")
        numbers = zip(offsets.split(","), lengths.split(","), strict=False)
        ends += [int(at or 0) + int(length) for at, length in numbers if length]
    assert max(ends) == 200_000


def test_seeds_make_the_keys(tmp_path: Path) -> None:
    def keys(name: str, **options: Any) -> str:  # noqa: ANN401 (options of several types)
        endpoints = {"server": "quic", "client": "quic"}
        directory = tmp_path / name
        emulation.transfer(path(), "10kB", endpoints=endpoints, pcap=directory, **options)
        return (directory / "keys.log").read_text()

    first = keys("a")
    assert len(set(first.splitlines())) == 5
    assert keys("b") == first
    assert keys("c", seed=5) != first


def test_a_failed_fetch_has_its_reason(capfd: pytest.CaptureFixture[str]) -> None:
    idle = ("server", [sys.executable, "-c", "import time; time.sleep(60)"])
    done = emulation.transfer(path(), "1kB", endpoints={"client": "quic"}, servers=[idle])
    assert done.exit_code == 1
    assert json.loads(capfd.readouterr().out)["failure"] == "Refused"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--endpoint", "server=quic"], "client receives by a kernel, which has no QUIC"),
        (["--endpoint", "client=quic"], "server sends by a kernel, which has no QUIC"),
        (["--endpoint", "client=quic", "--endpoint", "server=sack"], "server=sack is a TCP"),
        (["--endpoint", "client=sack", "--endpoint", "server=quic"], "client=sack is a TCP"),
        (
            ["--endpoint", "client=quic", "--endpoint", "server=quic", "--at", "server: true"],
            "has no effect: both ends",
        ),
        (["--endpoint", "client=sack", "--at", "server: true"], "have no effect with --transfer"),
    ],
)
def test_ends_that_do_not_understand_each_other_are_refused(
    arguments: list[str], message: str
) -> None:
    done = subprocess.run(
        [*FARLINK, "emulate", "geo-omueti2007", "--transfer", "1kB", *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert message in line
