"""Live control of running emulations: look at their links, and change them, while packets cross."""

import json
import re
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from farlink import _farlink
from farlink.errors import FarlinkError, ScenarioError

__all__ = ["Running", "find", "running"]

_FILES = Path("/run/farlink")
_NAME = re.compile(r"farlink-(\d+)-\d+-\d+-\d+-(.+)\.ctl")
_PATIENCE_S = 5.0


@dataclass(frozen=True)
class Running:
    """An emulation at work."""

    name: str
    pid: int
    path: Path

    def show(self) -> dict[str, Any]:
        """Return what its links are set to, and which channels are off."""
        return self._ask({"do": "show"})

    def set(self, changes: Sequence[tuple[str, str]]) -> dict[str, Any]:
        """Change values by path, for packets sent from now on; all of them or none.

        Raises
        ------
        ScenarioError
            If a path or a value is wrong; nothing is changed then.
        """
        return self._ask({"do": "set", "changes": [list(change) for change in changes]})

    def channel(
        self, *, on: bool, link: str | None = None, direction: str | None = None
    ) -> dict[str, Any]:
        """Switch channels on or off: of all links, of one, or of one direction."""
        return self._ask({"do": "channel", "on": on, "link": link, "direction": direction})

    def stats(self) -> dict[str, Any]:
        """Return the counters of links and hosts."""
        return self._ask({"do": "stats"})

    def execute(self, host: str, argv: Sequence[str]) -> int:
        """Run a program in a host and wait for it; the end of the emulation kills it.

        Returns its exit code; 128 and the number of the signal if one killed it.

        Raises
        ------
        ScenarioError
            If there is no such host or program, or no program can run there.
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
    """Return the emulations at work on this machine."""
    found = []
    for path in sorted(_FILES.glob("farlink-*.ctl")) if _FILES.is_dir() else []:
        match = _NAME.fullmatch(path.name)
        if match and _alive(path):
            found.append(Running(match[2], int(match[1]), path))
    return found


def find(which: str | None = None) -> Running:
    """Find an emulation by its scenario's name or its process number; without, the only one.

    Raises
    ------
    ScenarioError
        If there is none, or more than one.
    """
    every = running()
    listed = ", ".join(f"{one.name} ({one.pid})" for one in every)
    if not every:
        raise ScenarioError("no emulation is running; start one with `farlink emulate`")
    chosen = [one for one in every if which in (None, one.name, str(one.pid))]
    if not chosen:
        raise ScenarioError(f"no emulation {which!r} is running; there are {listed}")
    if len(chosen) > 1:
        raise ScenarioError(f"several emulations are running, write --of PID: {listed}")
    return chosen[0]


def _alive(path: Path) -> bool:
    """Whether somebody listens there; a process number says nothing inside an emulated host."""
    try:
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(_PATIENCE_S)
            client.connect(str(path))
    except PermissionError:
        return True  # somebody else's
    except OSError:
        return False
    return True
