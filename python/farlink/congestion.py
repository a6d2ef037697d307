"""Congestion controls in Python: the base class, and the reader of ``mine.py:Mine``."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from farlink import _farlink, userclass
from farlink.errors import ScenarioError

__all__ = [
    "CongestionControl",
    "Named",
    "check_saved",
    "classes_in",
    "register_from",
    "resolve_names",
    "sources_in",
    "written",
]

Event = _farlink.ControlEvent
"""Event of a hook: ``now``, ``rtt``, ``srtt``, ``min_rtt``, ``rto``, ``sent_at`` and ``idle`` in
seconds, ``mss``, ``flight``, ``acked`` and ``window`` in bytes, ``cwnd_limited`` and ``first``."""

_WRITTEN = re.compile(
    r"(?:(?P<base>[^/()]+)\+)?(?P<file>[^+()]+\.py):(?P<name>[A-Za-z_]\w*)(?P<args>\(.*\))?", re.S
)
_MOST_PUBLISHED = 8
_UNITS = ("", "B", "s", "bit/s", "segments")


class CongestionControl(_farlink.ControlState):
    """A congestion control: a class of hooks that set the window of a sender.

    Windows are in bytes, times in seconds, rates in bit/s. Hooks set ``self.cwnd``,
    ``self.ssthresh`` (``math.inf`` is unlimited) and ``self.pacing_rate`` (None sends as fast as
    the window allows). A window below one segment counts as one segment. ``self.random()`` returns
    a number of the run, at least 0 and below 1; it depends on seed, run and connection only.

    All hooks have one argument, an `Event`, which is valid until the hook returns. A hook that a
    class does not define does what its docstring says. Keyword arguments of ``__init__`` are
    parameters of the scenario: ``tcp.control.NAME.PARAMETER``. Each has a number or bool as
    default.
    """

    publish: ClassVar[Mapping[str, str]] = {}
    """Attributes in the trace `control`, each with its unit: "B", "s", "bit/s", "segments", ""."""

    owns_recovery: ClassVar[bool] = False
    """True if only the class sets cwnd in loss recovery; PRR is then off."""

    over: ClassVar[str] = "sack"
    """TCP whose recovery, timer and receiver are used if none is named."""

    def on_established(self, event: Event) -> None:
        """Handle the end of the handshake. Does nothing by default."""

    def on_delivered(self, event: Event) -> None:
        """Handle an ACK of new data, in recovery or not, before other hooks. Nothing by default."""

    def on_ack(self, event: Event) -> None:
        """Handle an ACK of ``acked`` new bytes outside of recovery. Does nothing by default."""

    def on_dup_ack(self, event: Event) -> None:
        """Handle a duplicate ACK. Does nothing by default."""

    def on_loss(self, event: Event) -> None:
        """Handle a loss, once per window. Sets both windows to max(flight / 2, 2 MSS) by default.

        ``sent_at`` is the time of the lost segment's last transmission.
        """

    def on_ecn(self, event: Event) -> None:
        """Handle an ECN mark, once per window. Calls ``on_loss`` by default."""

    def on_recovery_ack(self, event: Event) -> None:
        """Handle an ACK of new data in recovery. Does nothing by default."""

    def on_recovered(self, event: Event) -> None:
        """Handle the end of recovery. Sets cwnd to ``window`` by default."""

    def on_timeout(self, event: Event) -> None:
        """Handle a retransmission time-out. ``first`` is false if the segment timed out before.

        By default, sets ssthresh to max(flight / 2, 2 MSS) if ``first``, and cwnd to one segment.
        """

    def on_idle(self, event: Event) -> None:
        """Handle an idle time of one RTO. Limits cwnd to ``window`` by default."""

    def on_pause(self, event: Event) -> None:
        """Handle ``idle`` seconds without data in flight. Does nothing by default."""


_HOOKS = [name for name in vars(CongestionControl) if name.startswith("on_")]


@dataclass(frozen=True)
class Named:
    """Registered class in a list of TCPs: name in results, TCP below, values of parameters."""

    name: str
    base: str
    control: str
    values: Mapping[str, object]

    def changes(self) -> list[tuple[str, str]]:
        """Return the overrides that select the class."""
        written = [("tcp.congestion", json.dumps(self.control))]
        for name, value in self.values.items():
            written.append((f"tcp.control.{self.control}.{name}", json.dumps(value)))
        return written


def resolve_names(tcp: Sequence[str | type]) -> dict[str, Named | None]:
    """Return each TCP of a list by its name; None for a name of the table of TCPs.

    Raises
    ------
    ScenarioError
        If a file or class cannot be used.
    """
    classes: dict[str, Named | None] = {}
    sources: dict[str, str] = {}
    for item in tcp:
        named = _named(item, sources)
        name = named.name if named else str(item)
        if name in classes:
            raise ScenarioError(f"tcp {name!r} is named twice; name each once")
        classes[name] = named
    return classes


def check_saved(text: str) -> None:
    """Refuse a saved scenario whose class was not named to this program, or has changed since.

    The class is not run from the result alone, because a result may come from somebody else.

    Raises
    ------
    ScenarioError
        If the class of the scenario is not the named one.
    """
    for name, file, source in classes_in(text):
        if name not in _REGISTERED:
            raise ScenarioError(
                f"{name} is a congestion control in Python; name its file: --tcp {file}:{name}, "
                f"or --set flows.0.tcp={file}:{name} for one flow"
            )
        if _REGISTERED[name][1] != source:
            raise ScenarioError(f"{file} is not the file that this result was made with")


def sources_in(text: str) -> dict[str, str]:
    """Return the source files of the classes in a resolved scenario, by name."""
    return {file: source for _, file, source in classes_in(text)}


def classes_in(text: str) -> list[tuple[str, str, str]]:
    """Return name, file and source of each class in a resolved scenario."""
    if '"python"' not in text:
        return []
    classes = {}
    tree = json.loads(text)
    for tcp in [tree.get("tcp"), *(tree.get("resolved_tcp") or ())]:
        for name, values in ((tcp or {}).get("control") or {}).items():
            if "python" in values:
                classes[name] = (name, values["file"], values["python"])
    return list(classes.values())


def _parameters(text: str, name: str) -> list[str]:
    """Return the parameters of a class in a resolved scenario."""
    tree = json.loads(text)
    for tcp in [tree.get("tcp"), *(tree.get("resolved_tcp") or ())]:
        if values := ((tcp or {}).get("control") or {}).get(name):
            return [key for key in values if key not in ("python", "file")]
    return []


def written(tcp: str, text: str) -> str:
    """Return a TCP of a result as --tcp takes it: "linux-cubic+Mine" is "linux-cubic+mine.py:Mine".

    `text` is the resolved scenario of the TCP.
    """
    for name, file, _ in classes_in(text):
        match = re.fullmatch(rf"(.*\+)?{name}(-.*)?", tcp)
        if match:
            value = r"(-?\d+(?:\.\d+)?(?:e[+-]?\d+)?|True|False)"
            names = "|".join(re.escape(key) for key in _parameters(text, name))
            given = re.findall(rf"-({names}){value}(?=-|$)", match[2] or "") if names else []
            arguments = ", ".join(f"{key}={value}" for key, value in given)
            return f"{match[1] or ''}{file}:{name}" + (f"({arguments})" if arguments else "")
    return tcp


def register_from(text: str) -> None:
    """Register the classes that a resolved scenario of this program's own making contains."""
    for name, file, source in classes_in(text):
        if _REGISTERED.get(name) != (file, source):
            _register(userclass.load(source, file, name, CongestionControl), file, source)


def _named(item: str | type, sources: dict[str, str]) -> Named | None:
    if isinstance(item, str):
        match = _WRITTEN.fullmatch(item)
        if match is None and item.endswith(".py"):
            raise ScenarioError(f"tcp {item!r}: name the class in it, for example {item}:Mine")
        if match is None:
            return None
        path = Path(match["file"])
        text = userclass.read(path)
        cls = userclass.load(text, path.name, match["name"], CongestionControl)
        base, file = match["base"] or cls.over, path.name
        values = userclass.arguments(match["args"], f"tcp {item!r}")
        userclass.check_names(cls, values, file, CongestionControl)
    else:
        if not issubclass(item, CongestionControl):
            raise ScenarioError(f"tcp {item.__name__}: derive it from farlink.CongestionControl")
        file, text = userclass.source_of(item, f"tcp {item.__name__}")
        cls, base, values = item, item.over, {}
    if base.startswith("quic"):
        raise ScenarioError(
            f"tcp {base}+{cls.__name__}: QUIC has the congestion controls of quinn; write "
            f"{file}:{cls.__name__}, or a TCP in front of the +, such as linux-cubic"
        )
    if sources.setdefault(cls.__name__, text) != text:
        raise ScenarioError(f"two classes have the name {cls.__name__}; rename one")
    _register(cls, file, text)
    name = "-".join([cls.__name__, *(f"{key}{value}" for key, value in values.items())])
    name = name if base == cls.over else f"{base}+{name}"
    return Named(name, base, cls.__name__, values)


_REGISTERED: dict[str, tuple[str, str]] = {}


def _register(cls: type[CongestionControl], file: str, text: str) -> None:
    userclass.refuse_unfit(cls, file, CongestionControl)
    parameters = []
    for name, parameter in userclass.parameters(cls, CongestionControl):
        if not isinstance(parameter.default, bool | int | float):
            raise ScenarioError(
                f"{file}: {cls.__name__}.__init__: {name} needs a number or bool as default"
            )
        parameters.append((name, parameter.default))
    published = list(cls.publish.items())
    if len(published) > _MOST_PUBLISHED or any(unit not in _UNITS for _, unit in published):
        raise ScenarioError(
            f"{file}: {cls.__name__}.publish; write at most {_MOST_PUBLISHED} names, each with a "
            'unit of "B", "s", "bit/s", "segments" or ""'
        )
    _farlink.register_control(
        name=cls.__name__,
        file=file,
        text=text,
        cls=cls,
        hooks=[hook for hook in _HOOKS if hook in userclass.own_names(cls, CongestionControl)],
        parameters=parameters,
        published=[(name, unit, f"attribute of {cls.__name__}") for name, unit in published],
        owns_recovery=cls.owns_recovery,
    )
    _REGISTERED[cls.__name__] = (file, text)
