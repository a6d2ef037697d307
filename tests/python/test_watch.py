"""The socket of a running emulation: clients that send nonsense, or read nothing."""

import asyncio
import json
from typing import Any

import pytest
from websockets.asyncio.client import connect
from websockets.typing import Origin

from farlink.browser import watch
from farlink.browser.server import Site, serving
from farlink.errors import FarlinkError

LINKS = 3000


class Emulation:
    """Emulation with samples of some megabytes a second."""

    def show(self) -> dict[str, Any]:
        return {"links": [], "agents": [], "channels_off": []}

    def look(self) -> dict[str, Any]:
        link = {
            "link": "x" * 100,
            "direction": "down",
            "metrics": {"packets": 1.0, "bytes": 2.0},
            "waiting": 0,
            "waiting_bytes": 0,
        }
        return {"duration_s": 1.0, "links": [link] * LINKS, "flows": []}


def watched(work: Any) -> None:  # noqa: ANN401 (a coroutine of three arguments)
    async def run() -> None:
        emulation: Any = Emulation()
        seen = watch.Watch(lambda: emulation, {"toml": "", "tcps": []})
        stop = asyncio.Event()
        async with serving(Site({}, socket=seen.serve)) as where:
            task = asyncio.create_task(seen.run(stop))
            await work(seen, where.replace("http", "ws") + "socket", Origin(where.rstrip("/")))
            stop.set()
            await task

    asyncio.run(run())


def test_a_client_that_reads_nothing_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    assert watch._STUCK_S == 5, "docs/emulator/live.md gives the time"
    monkeypatch.setattr(watch, "_STUCK_S", 0.5)
    monkeypatch.setattr(watch, "EVERY_S", 0.01)

    async def work(seen: watch.Watch, socket: str, origin: Origin) -> None:
        # The library stops reading from the socket while its queue is full.
        async with connect(socket, origin=origin, max_queue=1, max_size=None) as slow:
            async with asyncio.timeout(20):
                while seen._clients != 1:
                    await asyncio.sleep(0.01)
                async with connect(socket, origin=origin, max_size=None) as quick:
                    while seen._clients != 1:
                        await quick.recv()  # another client gets its samples meanwhile
                    await quick.recv()
            slow.transport.abort()

    watched(work)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("[" * 60_000, "a request is a line of JSON"),
        ('{"id": 1, "do": [1]}', "a request has the key do: set or channel"),
        ('{"id": 1, "do": {}}', "a request has the key do: set or channel"),
        ('{"id": [1], "do": null}', "a request has the key do: set or channel"),
        ("nonsense", "a request is a line of JSON"),
    ],
)
def test_nonsense_gets_an_answer_and_the_server_goes_on(text: str, error: str) -> None:
    async def work(_seen: watch.Watch, socket: str, origin: Origin) -> None:
        async with asyncio.timeout(20), connect(socket, origin=origin, max_size=None) as client:
            await client.recv()
            for _ in range(2):  # the second request shows that the first one did no harm
                await client.send(text)
                while (answer := json.loads(await client.recv()))["type"] != "answer":
                    pass
                assert answer["error"] == error

    watched(work)


def test_an_emulation_that_does_not_begin_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "_PATIENCE_S", 0.1)
    begun: list[bool] = []

    async def run() -> None:
        seen = watch.Watch(lambda: None, {})
        with pytest.raises(FarlinkError, match=r"the emulation did not begin within 0\.1 s"):
            await seen.run(asyncio.Event(), lambda: begun.append(True))
        stop = asyncio.Event()
        stop.set()
        await seen.run(stop, lambda: begun.append(True))

    asyncio.run(run())
    assert not begun
