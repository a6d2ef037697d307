"""Socket of a running emulation: sends samples to clients, and accepts changes from them."""

import asyncio
import json
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, TypeVar
from urllib.parse import parse_qs, urlsplit

from websockets.asyncio.server import ServerConnection
from websockets.exceptions import ConnectionClosed

from farlink.control import Running
from farlink.errors import FarlinkError, ScenarioError

__all__ = ["EVERY_S", "Watch", "sample"]

T = TypeVar("T")

EVERY_S = 0.1
"""Interval of samples."""

_STATE_EVERY = 10
"""Number of samples after which the links' settings are asked for."""

_KEPT = 600
"""Number of samples that a new client gets, a minute of them."""

_MOST_CLIENTS = 16

_STUCK_S = 5.0
"""Time after which a client that reads nothing is dropped."""

_PATIENCE_S = 20.0
"""Time within which an emulation must begin."""

_BETWEEN_LOOKS_S = 0.05

_CHANGES = {"set": ("changes",), "channel": ("on", "link", "direction")}
"""Keys of the requests of a client, besides `id` and `do`."""


class Watch:
    """Samples of an emulation ten times a second, for any number of clients up to 16.

    `find` returns the emulation, or None while no emulation runs. `started` is the information on
    the scenario for the page. Each client has its own task, which skips samples while the client
    reads too slowly. Only one task sends requests to the emulation, so no client can delay it.
    """

    def __init__(self, find: Callable[[], Running | None], started: Mapping[str, Any]) -> None:
        self._find = find
        self._started = dict(started)
        self._emulation: Running | None = None
        self._state: dict[str, Any] | None = None
        self._samples: deque[tuple[int, dict[str, Any]]] = deque(maxlen=_KEPT)
        self._count = 0
        self._changed = asyncio.Event()
        self._states = 0
        self._clients = 0
        self._asking = asyncio.Lock()
        self._over = False

    async def run(self, stop: asyncio.Event, notify: Callable[[], None] = lambda: None) -> None:
        """Sample the emulation until its end, or until `stop` is set.

        `notify` is called once the emulation answers.

        Raises
        ------
        FarlinkError
            If the emulation does not answer within 20 s.
        """
        try:
            await self._begin(stop)
            if self._emulation is not None:
                notify()
            while self._emulation is not None and not stop.is_set():
                due = time.monotonic() + EVERY_S
                now = await self._ask(self._emulation.look)
                if now is None:
                    break
                self._count += 1
                self._samples.append((self._count, sample(now)))
                if self._count % _STATE_EVERY == 0:
                    await self._look_at_state(self._emulation)
                self._notify()
                with suppress(TimeoutError):
                    await asyncio.wait_for(stop.wait(), max(due - time.monotonic(), 0.0))
        finally:
            self._over = True
            self._notify()

    async def _look_at_state(self, emulation: Running) -> None:
        """Notice changes of the links that `farlink ctl set` made."""
        with suppress(FarlinkError):  # the emulation is ending
            state = await self._ask(emulation.show)
            if state != self._state:
                self._state = state
                self._states += 1

    async def left(self, seconds: float) -> None:
        """Wait until no client is connected, at most for some seconds."""
        end = time.monotonic() + seconds
        while self._clients and time.monotonic() < end:
            await asyncio.sleep(_BETWEEN_LOOKS_S)

    async def _begin(self, stop: asyncio.Event) -> None:
        """Wait until the emulation answers."""
        end = time.monotonic() + _PATIENCE_S
        while not stop.is_set() and time.monotonic() < end:
            emulation = await self._ask(self._find)
            if emulation is not None:
                with suppress(FarlinkError):  # it is starting
                    self._state = await self._ask(emulation.show)
                    self._emulation = emulation
                    return
            await asyncio.sleep(_BETWEEN_LOOKS_S)
        if not stop.is_set():
            raise FarlinkError(
                f"the live page ended: the emulation did not begin within {_PATIENCE_S:g} s"
            )

    async def _ask(self, question: Callable[[], T]) -> T:
        """Call a function that waits for the emulation: in a thread, one call at a time."""
        async with self._asking:
            return await asyncio.to_thread(question)

    def _notify(self) -> None:
        """Wake the tasks of all clients."""
        self._changed.set()
        self._changed = asyncio.Event()

    async def serve(self, client: ServerConnection) -> None:
        """Serve a client until it leaves or the emulation ends."""
        if self._clients >= _MOST_CLIENTS:
            await client.close(1013, f"{_MOST_CLIENTS} pages are open; close one")
            return
        self._clients += 1
        reading = asyncio.create_task(self._read(client))
        writing = asyncio.create_task(self._write(client))
        try:
            await asyncio.wait((reading, writing), return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._clients -= 1
            for task in (reading, writing):
                task.cancel()
            await asyncio.gather(reading, writing, return_exceptions=True)

    async def _write(self, client: ServerConnection) -> None:
        """Send the state, and then each sample as soon as the client has read the previous one."""
        sent, states = self._first_for(client), -1
        while True:
            changed = self._changed
            if states != self._states and self._state is not None:
                kind = "state" if states >= 0 else "hello"
                known = {} if states >= 0 else {**self._started, "every_s": EVERY_S}
                states = self._states
                await self._send(client, {"type": kind, **known, "state": self._state})
            samples = [row for number, row in self._samples if number > sent]
            if samples and states >= 0:
                sent = self._count
                await self._send(client, {"type": "samples", "samples": samples})
            elif self._over:
                await self._send(client, {"type": "end"})
                await client.close(1000, "the emulation ended")
                return
            else:
                await changed.wait()

    def _first_for(self, client: ServerConnection) -> int:
        """Return the number of the last sample that a client has already: `?since=SECONDS`."""
        query = parse_qs(urlsplit(client.request.path if client.request else "").query)
        try:
            since = float(query["since"][0])
        except (KeyError, ValueError):
            return 0
        return max((number for number, row in self._samples if row["time"] <= since), default=0)

    async def _send(self, client: ServerConnection, message: Mapping[str, Any]) -> None:
        """Send a message; a client that reads nothing for `_STUCK_S` is dropped."""
        try:
            await asyncio.wait_for(client.send(json.dumps(message)), _STUCK_S)
        except TimeoutError:
            client.transport.abort()
            raise

    async def _read(self, client: ServerConnection) -> None:
        """Execute the requests of a client in turn, and send an answer to each."""
        with suppress(ConnectionClosed):
            async for message in client:
                number, error = _number(message), None
                try:
                    await self._change(_request(message))
                except FarlinkError as refused:
                    error = str(refused)
                await self._send(client, {"type": "answer", "id": number, "error": error})

    async def _change(self, request: dict[str, Any]) -> None:
        """Change links of the emulation, and send the new state to all clients."""
        emulation = self._emulation
        if emulation is None or self._over:
            raise FarlinkError("no emulation is running")
        if request.pop("do") == "set":
            changes = [(path, value) for path, value in request["changes"]]
            self._state = await self._ask(lambda: emulation.set(changes))
        else:
            self._state = await self._ask(lambda: emulation.channel(**request))
        self._states += 1
        self._notify()


def _number(message: str | bytes) -> int | None:
    """Return the number of a request, which is repeated in its answer."""
    with suppress(ValueError, TypeError, KeyError, RecursionError):
        number = json.loads(message)["id"]
        return number if isinstance(number, int) else None
    return None


def _request(message: str | bytes) -> dict[str, Any]:
    """Return a client's request.

    Raises
    ------
    ScenarioError
        If the message is no request.
    """
    try:
        request = json.loads(message)
    except (ValueError, RecursionError):
        raise ScenarioError("a request is a line of JSON") from None
    # A list as `do` has no hash, and would raise TypeError among the keys of a mapping.
    if not isinstance(request, dict) or request.get("do") not in list(_CHANGES):
        raise ScenarioError(f"a request has the key do: {' or '.join(_CHANGES)}")
    known = _CHANGES[request["do"]]
    if request.keys() - {"id", "do", *known}:
        raise ScenarioError(f"{request['do']} has the keys {', '.join(known)}")
    return {"do": request["do"], **_checked(request)}


def _checked(request: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keys of a request after a check of their types."""
    if request["do"] == "set":
        changes = request.get("changes")
        if not isinstance(changes, list) or not all(_is_change(change) for change in changes):
            raise ScenarioError("changes is a list of pairs: path and value, both strings")
        return {"changes": changes}
    on, link, direction = (request.get(key) for key in ("on", "link", "direction"))
    if not isinstance(on, bool):
        raise ScenarioError("on is true or false")
    if not (link is None or isinstance(link, str)) or direction not in (None, "down", "up"):
        raise ScenarioError("link is a name, and direction is down or up")
    return {"on": on, "link": link, "direction": direction}


def _is_change(change: object) -> bool:
    return (
        isinstance(change, list)
        and len(change) == len(("path", "value"))
        and all(isinstance(part, str) for part in change)
    )


def sample(stats: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parts of `farlink ctl stats` that the page draws: link counters, TCP connections.

    Counters are totals since the start, so a page that misses a sample computes the same rates.
    """
    return {
        "time": stats["duration_s"],
        "late_p99_s": stats.get("late_p99_s"),
        "links": [_link(row) for row in stats["links"]],
        "flows": list(_flows(stats["flows"])),
    }


def _link(row: Mapping[str, Any]) -> dict[str, Any]:
    metrics = row["metrics"]
    lost = {
        name.removeprefix("drops_"): count
        for name, count in metrics.items()
        if name.startswith("drops_") and count
    }
    return {
        "link": row["link"],
        "direction": row["direction"],
        "packets": metrics["packets"] or 0.0,
        "bytes": metrics["bytes"] or 0.0,
        "lost": lost,
        "waiting": row["waiting"],
        "waiting_bytes": row["waiting_bytes"],
    }


_MOST_FLOWS = 8
"""Number of connections that a sample has; those with the most data."""


def _flows(flows: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
    if len(flows) <= _MOST_FLOWS:
        return flows
    return sorted(flows, key=lambda flow: -flow["acked_bytes"])[:_MOST_FLOWS]
