"""Attachments of an emulation's hosts: interfaces, bridges, namespaces, containers."""

import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from farlink.errors import ScenarioError

__all__ = ["attached"]

_ENGINES = ("docker", "podman")
_PATIENCE_S = 20.0


def attached(hosts: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return the interface, bridge or namespace of each host, as the engine reads them."""
    return [{"host": host, "to": _what(host, what)} for host, what in hosts.items()]


def _what(host: str, what: str) -> dict[str, Any]:
    kind, colon, name = what.partition(":")
    if not colon:
        return {"interface": what}
    if kind == "bridge" and name:
        return {"bridge": name}
    if kind == "netns" and name:
        path = Path(name) if "/" in name else Path("/run/netns") / name
        return {"namespace": {"path": str(path), "name": what}}
    if kind == "container" and name:
        process = _process(f"--attach {host}={what}", name)
        return {"namespace": {"path": f"/proc/{process}/ns/net", "name": what}}
    raise ScenarioError(
        f"--attach {host}={what}: not known; write an interface (eth1), bridge:NAME, netns:NAME or "
        "container:NAME"
    )


def _process(option: str, container: str) -> int:
    """Return the process ID of the first process of a container, as Docker or Podman reports it."""
    programs = [program for program in map(shutil.which, _ENGINES) if program]
    if not programs:
        raise ScenarioError(
            f"{option}: there is neither docker nor podman to ask; write netns:/proc/PID/ns/net"
        )
    messages = []
    for program in programs:
        try:
            asked = subprocess.run(  # noqa: S603 (the user's own programs)
                [
                    program,
                    "inspect",
                    "--type",
                    "container",
                    "-f",
                    "{{.State.Pid}}",
                    "--",
                    container,
                ],
                capture_output=True,
                text=True,
                timeout=_PATIENCE_S,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            messages.append(f"{Path(program).name}: {error}")
            continue
        answer = asked.stdout.strip()
        if asked.returncode == 0 and answer.isdecimal():
            if int(answer) > 0:
                return int(answer)
            raise ScenarioError(f"{option}: the container does not run; start it first")
        lines = (asked.stderr.strip() or f"exit code {asked.returncode}").splitlines()
        messages.append(f"{Path(program).name}: {lines[-1]}")
    raise ScenarioError(f"{option}: {'; '.join(messages)}")
