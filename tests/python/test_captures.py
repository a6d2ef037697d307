"""Captures, read by the tools they are for; skipped where those are not installed."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

import farlink as fl

TSHARK = shutil.which("tshark")
TCPTRACE = shutil.which("tcptrace")
CHECKSUMS = ["-o", "tcp.check_checksum:TRUE", "-o", "ip.check_checksum:TRUE"]


@pytest.fixture(scope="module", params=["newreno", "sack"])
def capture(
    request: pytest.FixtureRequest, result: fl.Result, tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, Path]:
    """Give the TCP and the capture at the host that sends the data."""
    tcp = str(request.param)
    directory = tmp_path_factory.mktemp("captures")
    result.save_pcaps(directory)
    return tcp, directory / tcp / "gateway.pcapng"


def tshark(path: Path, display_filter: str, *fields: str) -> list[list[str]]:
    assert TSHARK is not None
    command = [TSHARK, "-r", str(path), *CHECKSUMS, "-Y", display_filter, "-T", "fields"]
    for field in fields or ("frame.number",):
        command += ["-e", field]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return [line.split("\t") for line in done.stdout.splitlines()]


@pytest.mark.skipif(TSHARK is None, reason="needs tshark")
def test_tshark_finds_nothing_wrong(capture: tuple[str, Path]) -> None:
    _, path = capture
    assert len(tshark(path, "tcp")) > 200
    assert tshark(path, "_ws.malformed") == []
    assert tshark(path, "tcp.checksum.status != 1 or ip.checksum.status != 1") == []


@pytest.mark.skipif(TSHARK is None, reason="needs tshark")
def test_tshark_sees_the_segments_of_the_trace(
    capture: tuple[str, Path], result: fl.Result
) -> None:
    tcp, path = capture
    rows = tshark(path, "tcp.len > 0", "frame.time_relative", "tcp.seq", "tcp.len")
    segments = result.trace("segments", tcp=tcp)
    assert [int(row[1]) - 1 for row in rows] == segments["seq"].tolist()
    assert [int(row[2]) for row in rows] == segments["len"].tolist()
    # The first packet is the SYN at time 0; times are exact to the microsecond.
    for row, time in zip(rows, segments["time"], strict=True):
        assert float(row[0]) == pytest.approx(time, abs=1e-6)


@pytest.mark.skipif(TSHARK is None, reason="needs tshark")
def test_tshark_counts_the_same_retransmissions(
    capture: tuple[str, Path], result: fl.Result
) -> None:
    tcp, path = capture
    # Seen where it was sent, a segment whose data was there before is a retransmission of one
    # kind or another; tshark calls one that also looks late "out of order".
    kinds = "tcp.analysis.retransmission or tcp.analysis.out_of_order"
    counted = len(tshark(path, f"tcp.len > 0 and ({kinds})"))
    again = int(result.trace("segments", tcp=tcp)["retransmission"].sum())
    assert counted == again > 0


@pytest.mark.skipif(TCPTRACE is None, reason="needs tcptrace")
@pytest.mark.skipif(shutil.which("editcap") is None, reason="needs editcap")
def test_tcptrace_counts_the_same_retransmissions(
    capture: tuple[str, Path], result: fl.Result, tmp_path: Path
) -> None:
    assert TCPTRACE is not None
    tcp, path = capture
    # tcptrace is older than pcapng.
    plain = tmp_path / "plain.pcap"
    subprocess.run(["editcap", "-F", "pcap", str(path), str(plain)], check=True)  # noqa: S607
    done = subprocess.run(
        [TCPTRACE, "-l", "-n", str(plain)], check=True, capture_output=True, text=True
    )
    counts = re.findall(r"rexmt data pkts:\s+(\d+)\s+rexmt data pkts:\s+(\d+)", done.stdout)
    assert len(counts) == 1, done.stdout
    again = int(result.trace("segments", tcp=tcp)["retransmission"].sum())
    assert sum(int(count) for count in counts[0]) == again > 0
