"""Runs of all cases, one after the other: result, traces and captures of each."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

import farlink as fl
from farlink.trace import Trace

from . import cases, reader
from .endpoint import Connection

HOSTS = {"server": "10.0.0.1", "client": "10.0.0.3"}
"""Addresses of the nodes: they are numbered in the order in which links name the nodes."""

FIRST_OPENER_PORT = 49_152


@dataclass
class Case:
    name: str
    result: fl.Result
    files: dict[str, Path]

    @property
    def trace(self) -> Trace:
        return self.result.probe()

    @cached_property
    def packets(self) -> dict[str, list[reader.Packet]]:
        """Return the packets that tshark reads from each capture, by host."""
        return {host: reader.packets(path) for host, path in self.files.items()}

    @property
    def flows(self) -> list[dict[str, Any]]:
        """Flows of the resolved scenario."""
        flows: list[dict[str, Any]] = self.result.scenario()["flows"]
        return flows

    def tcp(self, flow: int) -> dict[str, Any]:
        """All settings of the TCP of a flow."""
        tcp: dict[str, Any] = self.result.scenario()["resolved_tcp"][flow]
        return tcp

    def metric(self, name: str, flow: int = 0) -> float:
        value: float = self.result.data["results"][flow]["metrics"][name]["values"][0]
        return value

    def link(self, name: str, direction: str, metric: str) -> float:
        rows = self.result.data["links"]
        row = next(item for item in rows if (item["link"], item["direction"]) == (name, direction))
        value: float = row["metrics"][metric]["values"][0]
        return value

    def connection(self, host: str, flow: int) -> Connection:
        """Return a flow as in the capture at a host; the opener's port tells flows apart."""
        port = FIRST_OPENER_PORT + flow
        mine = [p for p in self.packets[host] if port in (p.src_port, p.dst_port)]
        return Connection(mine, HOSTS[host])

    def connections(self) -> Iterator[tuple[int, str, Connection]]:
        """Return every flow at both of its hosts."""
        for flow in range(len(self.flows)):
            for host in HOSTS:
                yield flow, host, self.connection(host, flow)


def transfer(name: str, directory: Path) -> Case:
    """Run a case and capture its packets at full length."""
    result = fl.run(cases.scenario(name))
    return Case(name, result, {path.stem: path for path in result.save_pcaps(directory)})


@pytest.fixture(scope="session", params=cases.NAMES)
def case(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Case:
    """Return each case; pytest runs all tests of a case before those of the next case."""
    return transfer(request.param, tmp_path_factory.mktemp("captures"))
