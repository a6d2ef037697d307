"""Emulation on several machines: a unit with the links, and gateways that are the hosts."""

import ipaddress
import json
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from farlink import _farlink, attachment, emulation, files
from farlink.errors import FarlinkError, ScenarioError

__all__ = ["PORT", "Notice", "address", "gateway", "key", "key_in", "places", "unit"]

PORT = 47_800
"""UDP port of a unit."""

_FARTHEST = 1e12

Notice = Callable[[str], None]
"""Function called with a line when a gateway joins, leaves or is lost."""


def key(text: str | None) -> str:
    """Return a key as text: a new key, the given key, or with @FILE the key in a file."""
    if text is None:
        return str(_engine("new_key")())
    return key_in(Path(text[1:]), f"--key {text}") if text.startswith("@") else text


def key_in(path: Path, option: str) -> str:
    """Return the key in the file that was given for the option `option`."""
    try:
        return path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ScenarioError(f"{option}: {files.reason(error)}") from None


def unit(
    scenario: str | Path | Mapping[str, object],
    *,
    listen: str = f"0.0.0.0:{PORT}",
    key: str,
    notice: Notice,
    options: emulation.Options,
) -> emulation.Emulated:
    """Carry packets between gateways over the links, until Ctrl-C or for `seconds`.

    Every host of the scenario is a gateway that joins with `key`. Hosts of this machine, which
    `options` names (`endpoints`, `attach`), are excepted.
    """
    own, port = address("--listen", listen)
    try:
        host = ipaddress.ip_address(own)
    except ValueError:
        raise ScenarioError(
            f"--listen {listen}: {own!r} is no address of this machine; write for example "
            f"0.0.0.0:{PORT} or [::]:{PORT}"
        ) from None
    where = f"[{host}]:{port}" if host.version == 6 else f"{host}:{port}"
    _engine("new_key")
    return emulation.of_gateways(scenario, {"listen": where, "key": key}, notice, options)


def gateway(
    join: str,
    host: str,
    key: str,
    *,
    notice: Notice,
    program: Sequence[str] | None = None,
    attach: str | None = None,
    force: bool = False,
    track: Sequence[tuple[float, float, float]] = (),
    seconds: float | None = None,
    plain: bool = False,
) -> dict[str, Any]:
    """Join a unit as one of its scenario's hosts, on this machine.

    The gateway runs until its program ends, or until Ctrl-C. `track` has the position of the
    machine over time: seconds from the start, and metres to the right and up. The returned counters
    include the program's "exit_code" and "unit_ended", which is true if the unit ended the session.
    """
    to, port = address("--join", join)
    emulation.check_seconds(seconds)
    if force and not attach:
        raise ScenarioError("force has no effect without attach")
    asked = {
        "join": f"[{to}]:{port}" if ":" in to else f"{to}:{port}",
        "host": host,
        "key": key,
        "program": list(program) if program else None,
        "attach": attachment.attached({host: attach})[0]["to"] if attach else None,
        "force": force,
        "places": list(track),
        "seconds": seconds,
        "plain": plain,
        "interrupt": threading.current_thread() is threading.main_thread(),
    }
    engine = _engine("gateway")
    joined = False

    def heard(line: str) -> None:
        nonlocal joined
        joined = True
        notice(line)

    # Before the unit has answered, no program runs that could receive Ctrl-C.
    with emulation.signals(program=(lambda: joined) if program else None):
        done: dict[str, Any] = json.loads(engine(emulation.utf8(json.dumps(asked)), heard))
    if not done["address"]:
        raise KeyboardInterrupt
    return done


def places(text: str) -> list[tuple[float, float, float]]:
    """Return the position of a gateway: "X,Y" in metres, or @FILE with rows of seconds, X and Y."""
    if not text.startswith("@"):
        numbers = _numbers(text, 2)
        if numbers is None:
            raise ScenarioError(f"--position {text!r}: write metres as X,Y, or @FILE")
        return [(0.0, numbers[0], numbers[1])]
    try:
        rows = Path(text[1:]).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ScenarioError(f"--position {text}: {files.reason(error)}") from None
    track: list[tuple[float, float, float]] = []
    for number, row in enumerate(rows, 1):
        if not row.strip() or row.lstrip().startswith("#"):
            continue
        numbers = _numbers(row, 3)
        if numbers is None:
            raise ScenarioError(
                f"--position {text}: line {number} is not TIME,X,Y in seconds and metres: {row!r}"
            )
        if track and numbers[0] <= track[-1][0]:
            raise ScenarioError(f"--position {text}: line {number} is not later than that before")
        track.append((numbers[0], numbers[1], numbers[2]))
    if not track:
        raise ScenarioError(f"--position {text}: there is no place in it; write rows of TIME,X,Y")
    return track


def address(option: str, text: str) -> tuple[str, int]:
    """Split HOST[:PORT] (default `PORT`).

    An IPv6 address with a port is in brackets.
    """
    bracketed = re.fullmatch(r"\[([^\]]+)\](?::(\d+))?", text)
    plain = re.fullmatch(r"([^:\s]+)(?::(\d+))?", text)
    match = bracketed or plain
    if match is None:
        if text.count(":") > 1 and re.fullmatch(r"[0-9a-fA-F:.]+", text):
            return text, PORT
        raise ScenarioError(
            f"{option} {text!r}: not an address; write HOST:PORT, or [ADDRESS]:PORT for IPv6"
        )
    number = int(match[2]) if match[2] else PORT
    if not 1 <= number <= 65_535:
        raise ScenarioError(f"{option} {text!r}: the port is 1 to 65535")
    return match[1], number


def _numbers(text: str, count: int) -> list[float] | None:
    """Parse comma-separated numbers that can be positions (m) or times (s)."""
    try:
        results = [float(part) for part in text.split(",")]
    except ValueError:
        return None
    return (
        results
        if len(results) == count and all(abs(match) <= _FARTHEST for match in results)
        else None
    )


def _engine(name: str) -> Callable[..., str]:
    result: Callable[..., str] | None = getattr(_farlink, name, None)
    if result is None:
        raise FarlinkError("emulation needs Linux: it is made of network namespaces")
    return result
