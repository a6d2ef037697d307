"""Queue laws and traffic sources in Python: their base classes, and the reader of ``drop.py:Law``.

A class takes the place of a link's ``discipline`` or of a flow's ``source``::

    fl.run("geo-omueti2007", overrides={"links.satellite.down.discipline": "drop.py:Law(limit=20)"})
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

from farlink import _farlink, userclass
from farlink.errors import ScenarioError

__all__ = [
    "QueueLaw",
    "TrafficSource",
    "check_saved",
    "place",
    "register_from",
    "table",
    "texts_in",
]

Packet = _farlink.QueuedPacket
"""Packet of a hook: ``now`` and ``sojourn`` in seconds, ``bytes``, ``flow`` (a number per direction
of a connection), ``markable``, and ``queue_packets`` and ``queue_bytes`` without the packet."""

Verdict = Literal["drop", "mark"] | None
"""Answer of a hook; None lets the packet pass."""

_PLACE = re.compile(
    r"links\.[\w-]+\.(?:down|up)(?:\.classes\.\d+)?\.(?P<queue>discipline)|flows\.[\w-]+\.source"
)
_WRITTEN = re.compile(r"(?P<file>[^()]+\.py):(?P<name>[A-Za-z_]\w*)(?P<args>\(.*\))?", re.S)


class QueueLaw(_farlink.ClassState):
    """Law of a FIFO queue: a class of hooks that decide on drops and marks.

    A hook returns ``"drop"``, ``"mark"`` or None. A mark on a packet that is not ECN-capable drops
    the packet. A packet that finds the queue at its limit is dropped without a call.

    Keyword arguments of ``__init__`` have a number as default. ``self.random()`` returns a number
    of the run, at least 0 and below 1, which depends on seed, run, link and direction only.
    """

    def on_arrival(self, packet: Packet) -> Verdict:
        """Decide on a packet that has to wait. Admits all packets by default."""

    def on_departure(self, packet: Packet) -> Verdict:
        """Decide on the packet that leaves next, whose ``sojourn`` is known. Nothing by default."""


class TrafficSource(_farlink.ClassState):
    """Source of messages: times and sizes of what an application sends.

    Keyword arguments of ``__init__`` have a number as default. ``self.random()`` returns a number
    of the run, at least 0 and below 1, which depends on seed, run and flow only.
    ``self.now`` is the time of the previous message in seconds; the first is the start of the flow.
    """

    def messages(self) -> Iterable[tuple[float, float]]:
        """Yield the pause in seconds before each message, and the bytes of the message."""
        raise NotImplementedError

    def on_delivered(self, sent: float, arrived: float, size: int) -> None:
        """Handle the receiver's report of a message, for ``app = "stream"`` alone.

        ``sent`` is the time in seconds at which the message of ``size`` bytes was due, ``arrived``
        that at which its last byte was read, and ``self.now`` the time of the report. The receiver
        sends 16 bytes for each message over the same connection if a class has this hook. The
        message that follows is already chosen.
        """


def place(path: str, value: object) -> bool:
    """Return whether an override names a class: the value of a discipline or of a source."""
    if _PLACE.fullmatch(path) is None:
        return False
    return isinstance(value, type) or (isinstance(value, str) and ".py:" in value[:200])


def table(path: str, value: str | type) -> dict[str, Any]:
    """Return the table of a scenario for a class by file and name, or for the class itself.

    Raises
    ------
    ScenarioError
        If the class cannot be used.
    """
    match = _PLACE.fullmatch(path)
    base: type = QueueLaw if match and match["queue"] else TrafficSource
    if isinstance(value, type):
        if not issubclass(value, base):
            raise ScenarioError(f"{path}: derive {value.__name__} from farlink.{base.__name__}")
        file, text = userclass.source_of(value, path)
        cls, given = value, {}
    else:
        written = _WRITTEN.fullmatch(value.strip().strip('"'))
        if written is None:
            raise ScenarioError(f"{path} = {value}; write a file and a class, as in drop.py:Law")
        file, text = Path(written["file"]).name, userclass.read(Path(written["file"]))
        cls = userclass.load(text, file, written["name"], base)
        given = userclass.arguments(written["args"], f"{path} = {value}")
        userclass.check_names(cls, given, file, base)
    entry = {
        "class": cls.__name__,
        "file": file,
        "python": text,
        "arguments": _numbers(cls, given, file, base),
    }
    _register(cls, entry, base)
    return {"method": "python", "class": entry} if base is QueueLaw else entry


def _numbers(
    cls: type, given: Mapping[str, object], file: str, base: type
) -> dict[str, float | int]:
    """Return all arguments of a class as numbers, the given ones and the defaults."""
    numbers: dict[str, float | int] = {}
    for name, parameter in userclass.parameters(cls, base):
        value = given.get(name, parameter.default)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ScenarioError(
                f"{file}: {cls.__name__}.__init__: {name} needs a number as default"
            )
        numbers[name] = value
    return numbers


_REGISTERED: set[tuple[str, str, str]] = set()


def _register(cls: type, entry: Mapping[str, Any], base: type) -> None:
    if base is TrafficSource and getattr(cls, "messages", None) is TrafficSource.messages:
        raise ScenarioError(
            f"{entry['file']}: {cls.__name__} has no messages(); yield pairs of a pause in seconds "
            "and bytes"
        )
    userclass.refuse_unfit(cls, entry["file"], base)
    key = (entry["class"], entry["file"], entry["python"])
    _farlink.register_class(*key, cls)
    _REGISTERED.add(key)


def texts_in(text: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield path and table of each class in a resolved scenario."""
    if '"python"' not in text:
        return
    tree = json.loads(text)
    for number, link in enumerate(tree.get("links") or ()):
        for side in ("down", "up"):
            direction = link.get(side) or {}
            at = f"links.{number}.{side}"
            queues = [(at, direction)]
            for place_of, item in enumerate(direction.get("classes") or ()):
                queues.append((f"{at}.classes.{place_of}", item))
            for path, item in queues:
                discipline = item.get("discipline")
                if isinstance(discipline, Mapping) and discipline.get("method") == "python":
                    yield f"{path}.discipline", discipline["class"]
    for number, flow in enumerate(tree.get("flows") or ()):
        if isinstance(flow.get("source"), Mapping):
            yield f"flows.{number}.source", flow["source"]


def check_saved(text: str) -> None:
    """Refuse a saved scenario whose class was not named to this program, or has changed since.

    Raises
    ------
    ScenarioError
        If the class of the scenario is not the named one.
    """
    for path, entry in texts_in(text):
        name, file = entry["class"], entry["file"]
        if (name, file, entry["python"]) not in _REGISTERED:
            raise ScenarioError(
                f"{name} is a class in Python; name the file that this result was made with: "
                f"--set {path}={file}:{name}"
            )


def register_from(text: str) -> None:
    """Register the classes that a resolved scenario of this program's own making contains."""
    for path, entry in texts_in(text):
        key = (entry["class"], entry["file"], entry["python"])
        if key not in _REGISTERED:
            base: type = TrafficSource if path.endswith(".source") else QueueLaw
            cls: type = userclass.load(entry["python"], entry["file"], entry["class"], base)
            _register(cls, entry, base)
