"""Live control of running emulations: read and change their links while packets cross."""

import json
import re
import socket
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from farlink import _farlink
from farlink.errors import FarlinkError, ScenarioError

__all__ = ["Running", "find", "running"]

_FILES = Path("/run/farlink")
_NAME = re.compile(r"farlink-(\d+)-\d+-\d+-\d+-(.+)\.ctl")
_PATIENCE_S = 5.0
_ATTEMPTS = 50
"""Number of attempts to reach a running emulation before a refused connection is an error."""
_RETRY_S = 0.1


@dataclass(frozen=True)
class Running:
    """Running emulation."""

    name: str
    pid: int
    path: Path

    def show(self) -> dict[str, Any]:
        """Return the settings of all links, and the channels that are switched off."""
        return self._ask({"do": "show"})

    def set(self, changes: Sequence[tuple[str, str]]) -> dict[str, Any]:
        """Change values by path for packets sent from now on; either all values change or none.

        Raises
        ------
        ScenarioError
            If a path or a value is wrong. No value changes then.
        """
        return self._ask({"do": "set", "changes": [list(change) for change in changes]})

    def channel(
        self, *, on: bool, link: str | None = None, direction: str | None = None
    ) -> dict[str, Any]:
        """Switch channels on or off, on all links, on one link, or in one direction."""
        return self._ask({"do": "channel", "on": on, "link": link, "direction": direction})

    def stats(self) -> dict[str, Any]:
        """Return the counters of links and hosts, and the state of each TCP connection.

        `docs/emulator/control.md` has the names and units.
        """
        return self._ask({"do": "stats"})

    def watch(self, every_s: float = 1.0) -> Iterator[dict[str, Any]]:
        """Yield the value of `stats` every `every_s` seconds until the emulation ends.

        Each of `flows` also has `bit_s`: the bits per second acknowledged since the previous value,
        None in the first.
        """
        before: dict[str, Any] | None = None
        while (now := self.look()) is not None:
            _rates(now, before)
            yield now
            before = now
            time.sleep(every_s)

    def look(self) -> dict[str, Any] | None:
        """Return the statistics, or None at the end of the emulation."""
        for _ in range(_ATTEMPTS):
            try:
                return self.stats()
            except FarlinkError as error:
                refused = error
            # An emulation that is ending no longer answers, but its socket exists a moment longer.
            time.sleep(_RETRY_S)
            if not _alive(self.path):
                return None
        raise refused

    def execute(self, host: str, argv: Sequence[str]) -> int:
        """Run a program in a host and wait for its end; the end of the emulation kills it.

        Returns the exit code of the program, or 128 plus the number of the signal that killed it.

        Raises
        ------
        ScenarioError
            If the host or program does not exist, or no program can run there.
        """
        return _farlink.execute(json.dumps(self._ask({"do": "place", "host": host})), list(argv))

    def _ask(self, request: dict[str, Any]) -> dict[str, Any]:
        try:
            answer: dict[str, Any] = json.loads(_farlink.ask(str(self.path), json.dumps(request)))
        except PermissionError as error:
            raise FarlinkError(
                f"emulation {self.name} ({self.pid}): only its owner may control it"
            ) from error
        except OSError as error:
            raise FarlinkError(f"emulation {self.name} ({self.pid}) is gone") from error
        return answer


def running() -> list[Running]:
    """Return the emulations that run on this machine."""
    emulations = []
    for path in sorted(_FILES.glob("farlink-*.ctl")) if _FILES.is_dir() else []:
        match = _NAME.fullmatch(path.name)
        if match and _alive(path):
            emulations.append(Running(match[2], int(match[1]), path))
    return emulations


def find(which: str | None = None) -> Running:
    """Find an emulation by the name of its scenario or by its process ID.

    Without `which`, exactly one emulation must run.

    Raises
    ------
    ScenarioError
        If no emulation is found, or more than one.
    """
    every = running()
    listed = ", ".join(f"{item.name} ({item.pid})" for item in every)
    if not every:
        raise ScenarioError("no emulation is running; start one with `farlink emulate`")
    chosen = [item for item in every if which in (None, item.name, str(item.pid))]
    if not chosen:
        raise ScenarioError(f"no emulation {which!r} is running; there are {listed}")
    if len(chosen) > 1:
        raise ScenarioError(f"several emulations are running, write --of PID: {listed}")
    return chosen[0]


def _rates(now: dict[str, Any], before: dict[str, Any] | None) -> None:
    """Store the rate of each flow since the previous counters.

    The end of a connection that sends is determined anew each time.
    """

    def ends(flow: dict[str, Any]) -> tuple[str, str]:
        return flow["from_address"], flow["to_address"]

    old: dict[tuple[str, str], int] = {}
    for flow in before["flows"] if before else []:
        old[ends(flow)] = flow["acked_bytes"]
        old[ends(flow)[::-1]] = flow["returned_bytes"]
    span = now["duration_s"] - (before["duration_s"] if before else 0.0)
    for flow in now["flows"]:
        more = flow["acked_bytes"] - old.get(ends(flow), 0)
        flow["bit_s"] = 8 * max(more, 0) / span if before and span > 0 else None


def _alive(path: Path) -> bool:
    """Return whether an emulation listens on this socket.

    The process ID cannot show this, because hosts have their own process namespaces.
    """
    try:
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(_PATIENCE_S)
            client.connect(str(path))
    except PermissionError:
        return True  # The socket belongs to another user.
    except OSError:
        return False
    return True
