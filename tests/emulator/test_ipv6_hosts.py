"""Emulation with `ip = "v6"`: names, transfers, hosts in user space and agents."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from test_emulate import path, pytestmark  # noqa: F401  (skips without the right)

import farlink as fl
from farlink import emulation
from farlink.kernel import KernelTrace

TSHARK = shutil.which("tshark")
LOSSY = {"loss": 0.005, "corrupt": 0.002}


def over_ipv6(**first: object) -> dict[str, Any]:
    """Return a path whose second link, `far`, loses packets."""
    scenario = {**path("5 ms", "50 Mbit/s"), "ip": "v6"}
    scenario["links"][1]["name"] = "far"
    for direction in ("down", "up"):
        far = scenario["links"][1][direction]
        scenario["links"][1][direction] = {**far, "channel": LOSSY}
    return {**scenario, **first}


@pytest.mark.parametrize(
    "endpoints",
    [{}, {"server": "cubic"}, {"client": "sack"}, {"server": "newreno", "client": "sack"}],
    ids=str,
)
@pytest.mark.skipif(TSHARK is None, reason="tshark is not installed")
def test_checked_data_goes_by_ipv6(
    endpoints: dict[str, str], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    done = emulation.transfer(over_ipv6(), "3MB", endpoints=endpoints, pcap=tmp_path)
    assert done.exit_code == 0
    report = json.loads(capfd.readouterr().out)
    assert (report["correct"], report["bytes"]) == (True, 3_000_000)
    for name in endpoints:
        dropped = done.data["endpoints"][name]["dropped"]
        assert dropped["not_tcp"] + dropped["malformed"] + dropped["no_port"] == 0
    assert TSHARK is not None
    fields = ["-e", "ip.version", "-e", "ipv6.plen", "-e", "tcp.options.mss_val"]
    command = [TSHARK, "-n", "-r", str(tmp_path / "client.pcapng"), "-T", "fields", *fields]
    rows = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    versions, lengths, mss = zip(*(row.split("\t") for row in rows), strict=True)
    assert set(versions) <= {"6", ""}
    assert all(lengths)
    assert {size for size in mss if size} == {"1440"}


def test_names_are_addresses_of_ipv6() -> None:
    ask = "import socket, sys; sys.exit(socket.getaddrinfo('server', 1)[0][0] != socket.AF_INET6)"
    assert fl.emulate(over_ipv6(), ["python3", "-c", ask], host="client").exit_code == 0
    assert fl.emulate(path(), ["python3", "-c", ask], host="client").exit_code == 1


@pytest.mark.parametrize("kind", ["snoop", "split", "spoof"])
def test_agents_read_ipv6_of_real_programs(kind: str, capfd: pytest.CaptureFixture[str]) -> None:
    """Agents repair the losses of the link behind them, and every packet is accounted for."""
    agents = [{"at": "router", "wireless": "far", "kind": kind}]
    done = emulation.transfer(over_ipv6(agents=agents), "3MB")
    assert json.loads(capfd.readouterr().out)["correct"] is True
    (agent,) = done.data["agents"]
    counted = agent["metrics"]
    assert counted["connections"] == 1
    if kind == "snoop":
        assert counted["cached"] > 1000
        assert min(counted["local_retransmissions"], counted["suppressed"]) > 0
    elif kind == "split":
        assert counted["injected"] > 3_000_000 / 1440
        assert counted["connections_failed"] == 0
    else:
        # The agent acknowledges the data that fit into its buffer.
        assert min(counted["cached"], counted["injected"]) > 100
        assert counted["bytes_lost"] == 0
    assert done.missing == 0


def test_the_kernel_tells_of_connections_over_ipv6() -> None:
    done = emulation.transfer(over_ipv6(), "1MB", sample=True)
    (flow,) = KernelTrace.of(done).flows
    assert flow == "[fd66:6172:6c6b::1]:5001-" + flow.split("-")[1]
    assert flow.split("-")[1].startswith("[fd66:6172:6c6b::3]:")
