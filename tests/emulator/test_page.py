"""The live page of an emulation: its socket, its clients and the changes that they make."""

import asyncio
import http.client
import itertools
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest
from test_emulate import FARLINK, pytestmark  # noqa: F401  (skips without the right)
from test_endings import heeds_signals  # noqa: F401  (of all tests)
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.typing import Origin

from farlink import control

FLOOD = """
import socket, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
while True:
    s.sendto(bytes(500), ("client", 9))
    time.sleep(0.01)
"""

ENDS = ("--seconds", "2")


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """Environment with a page, because the page may not be built here."""
    page = tmp_path / "web"
    page.mkdir()
    (page / "index.html").write_text("<html><head></head></html>", "utf-8")
    (page / "engine.wasm.xz").write_bytes(b"")
    return {**os.environ, "FARLINK_WEB": str(page)}


class Page:
    """A live emulation and the address of its page."""

    def __init__(self, process: "subprocess.Popen[str]", where: str) -> None:
        self.process = process
        self.where = where
        self.origin = Origin("/".join(where.split("/")[:3]))

    def connect(self, query: str = "") -> connect:
        """Return a connection to the socket, as the page opens it."""
        address = f"{self.where.replace('http', 'ws', 1)}socket{query}"
        return connect(address, origin=self.origin, compression=None)

    @property
    def running(self) -> control.Running:
        """The emulation as `farlink ctl` finds it."""
        (emulation,) = [entry for entry in control.running() if entry.pid == self.process.pid]
        return emulation


def with_page(
    environment: dict[str, str], work: Callable[[Page], Coroutine[Any, Any, None]], *arguments: str
) -> str:
    """Run an emulation with a page, and return what it printed after the page's address."""
    given = arguments or ("--in", "server", "--", sys.executable, "-c", FLOOD)
    options = ("--live", *given)
    command = [*FARLINK, "emulate", "geo-lossy", "--quiet", *options]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment) as process:
        try:
            assert process.stderr is not None
            line = process.stderr.readline()
            match = re.fullmatch(r"farlink: the live page is at (http://127\.0\.0\.1:\S+)\n", line)
            assert match, line
            asyncio.run(work(Page(process, match[1])))
            if arguments != ENDS:
                process.terminate()
            return process.communicate(timeout=20)[1]
        finally:
            process.terminate()


async def message(client: ClientConnection, kind: str) -> dict[str, Any]:
    """Return the next message of a kind."""
    async with asyncio.timeout(20):
        while True:
            answer: dict[str, Any] = json.loads(await client.recv())
            if answer["type"] == kind:
                return answer


async def ask(client: ClientConnection, **request: object) -> str | None:
    """Send a request and return the error of its answer."""
    await client.send(json.dumps({"id": 7, **request}))
    answer = await message(client, "answer")
    assert answer["id"] == 7
    error: str | None = answer["error"]
    return error


async def last(client: ClientConnection) -> dict[str, Any]:
    sample: dict[str, Any] = (await message(client, "samples"))["samples"][-1]
    return sample


def test_samples_come_ten_times_a_second_with_rates_and_windows(
    environment: dict[str, str],
) -> None:
    async def work(page: Page) -> None:
        async with page.connect() as client:
            hello = await message(client, "hello")
            assert "[[links]]" in hello["toml"]
            assert [link["name"] for link in hello["state"]["links"]] == ["lan", "satellite"]
            times = [(await last(client))["time"] for _ in range(40)]
            gaps = sorted(b - a for a, b in itertools.pairwise(times))
            assert 0.08 < gaps[len(gaps) // 2] < 0.15
            while not (flows := (await last(client))["flows"]) or not flows[0]["srtt_s"]:
                pass
            assert flows[0]["cwnd_bytes"] > 1000
            assert 0.5 < flows[0]["srtt_s"] < 5
            sample = await last(client)
            (down,) = [row for row in sample["links"] if row["link"] == "satellite"][:1]
            assert down["bytes"] > 10_000
            assert set(down) == {
                *("link", "direction", "packets", "bytes", "lost", "waiting", "waiting_bytes")
            }

    with_page(environment, work, "--transfer", "20MB")


def test_a_page_changes_the_link_and_all_pages_see_it(environment: dict[str, str]) -> None:
    async def work(page: Page) -> None:
        async with page.connect() as first, page.connect() as other:
            assert (await message(other, "hello"))["state"]["channels_off"] == []
            changes = [["links.1.down.channel.loss", "1"], ["links.1.down.rate", "3 Mbit/s"]]
            assert await ask(first, do="set", changes=changes) is None
            state = (await message(other, "state"))["state"]
            assert state["links"][1]["down"]["rate"] == "3 Mbit/s"
            assert page.running.show()["links"][1]["down"]["channel"]["loss"] == 1
            before = await last(other)
            while (after := await last(other))["time"] < before["time"] + 1.0:
                pass
            lost = [row["links"][2]["lost"].get("loss", 0) for row in (before, after)]
            assert lost[1] - lost[0] > 20
            assert await ask(other, do="channel", on=False, link="satellite") is None
            while not (off := (await message(first, "state"))["state"]["channels_off"]):
                pass
            assert ["satellite", "down"] in off
            page.running.set([("links.1.up.delay", "20 ms")])
            while (await message(other, "state"))["state"]["links"][1]["up"]["delay"] != "20 ms":
                pass

    with_page(environment, work)


@pytest.mark.parametrize(
    ("request_", "error"),
    [
        ({"do": "set", "changes": [["links.1.down.channel.ber", "2"]]}, "is not a probability"),
        ({"do": "set", "changes": [["flows.0.size", "1MB"]]}, "only links can be changed"),
        ({"do": "set", "changes": [["links.1.down.delay", 5]]}, "both strings"),
        ({"do": "set", "changes": "all"}, "a list of pairs"),
        ({"do": "set"}, "a list of pairs"),
        ({"do": "place", "host": "server"}, "the key do: set or channel"),
        ({"do": "channel", "on": "yes"}, "on is true or false"),
        ({"do": "channel", "on": True, "link": 5}, "link is a name"),
        ({"do": "channel", "on": True, "link": "moon"}, 'there is no link "moon"'),
        ({"do": "channel", "on": True, "path": "x"}, "channel has the keys"),
    ],
)
def test_a_wrong_request_is_answered_and_changes_nothing(
    shared: Page, request_: dict[str, Any], error: str
) -> None:
    async def work() -> None:
        before = shared.running.show()
        async with shared.connect() as client:
            await message(client, "hello")
            answer = await ask(client, **request_)
            assert answer is not None
            assert error in answer
        assert shared.running.show() == before

    asyncio.run(work())


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    folder = tmp_path_factory.mktemp("web")
    (folder / "index.html").write_text("<html><head></head></html>", "utf-8")
    (folder / "engine.wasm.xz").write_bytes(b"")
    environment = {**os.environ, "FARLINK_WEB": str(folder)}
    command = [*FARLINK, "emulate", "geo-lossy", "--live", "--quiet", "--seconds", "300"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stderr is not None
        page = Page(process, process.stderr.readline().split()[-1])

        async def begun() -> None:
            async with page.connect() as client:
                await message(client, "hello")

        asyncio.run(begun())
        yield page
        process.terminate()


def test_no_token_no_page_and_no_socket(shared: Page) -> None:
    host = shared.where.split("/")[2]

    async def work() -> None:
        for path in ("socket", "wrong/socket", f"{shared.where.split('/')[3][:-1]}/socket"):
            with pytest.raises(InvalidStatus) as refused:
                await connect(f"ws://{host}/{path}", origin=shared.origin)
            assert refused.value.response.status_code == 403
        address = f"{shared.where.replace('http', 'ws', 1)}socket"
        with pytest.raises(InvalidStatus) as refused:
            await connect(address, origin=Origin("http://evil.example"))
        assert refused.value.response.status_code == 403

    asyncio.run(work())
    link = http.client.HTTPConnection(host, timeout=10)
    link.request("GET", "/index.html")
    assert link.getresponse().status == 403


@pytest.mark.parametrize("text", ["{", "[]", "5", '"set"', '{"do": "set"}', '{"id": "x"}'])
def test_what_is_no_request_is_answered(shared: Page, text: str) -> None:
    async def work() -> None:
        async with shared.connect() as client:
            await message(client, "hello")
            await client.send(text)
            answer = await message(client, "answer")
            assert answer["id"] is None
            assert answer["error"]

    asyncio.run(work())


def test_a_request_that_is_too_long_ends_its_own_client_only(shared: Page) -> None:
    async def work() -> None:
        async with shared.connect() as client, shared.connect() as other:
            await client.send("x" * 70_000)
            with pytest.raises(ConnectionClosed) as closed:
                await message(client, "answer")
            assert closed.value.rcvd is not None
            assert closed.value.rcvd.code == 1009
            await message(other, "samples")

    asyncio.run(work())


def test_a_client_that_stops_reading_holds_nobody(environment: dict[str, str]) -> None:
    """Other clients get samples at the same pace, and the engine is on time."""

    async def work(page: Page) -> None:
        host, port = page.where.split("/")[2].split(":")
        reader, writer = await asyncio.open_connection(host, int(port), limit=1)
        path = page.where.split("/", 3)[3]
        lines = (
            f"GET /{path}socket HTTP/1.1",
            f"Host: {host}:{port}",
            f"Origin: {page.origin}",
            "Upgrade: websocket",
            "Connection: Upgrade",
            "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==",
            "Sec-WebSocket-Version: 13",
        )
        writer.write("\r\n".join([*lines, "", ""]).encode())
        # Changes make states, which are larger than samples and fill the buffers sooner.
        async with page.connect() as client:
            await message(client, "hello")
            times = []
            for number in range(100):
                times.append((await last(client))["time"])
                if number % 10 == 0:
                    await client.send(json.dumps({"id": 1, "do": "channel", "on": True}))
            gaps = sorted(b - a for a, b in itertools.pairwise(times))
            assert gaps[len(gaps) // 2] < 0.15
            stats = page.running.stats()
            assert stats["late_p99_s"] < 0.01
        writer.close()
        assert reader is not None

    with_page(environment, work)


def test_a_broken_socket_is_forgotten_and_history_goes_on(shared: Page) -> None:
    async def work() -> None:
        for _ in range(40):  # more than may be connected at once
            client = await shared.connect()
            client.transport.abort()
        await asyncio.sleep(0.3)
        async with shared.connect() as client:
            await message(client, "hello")
            first = (await message(client, "samples"))["samples"]
            latest = first[-1]["time"]
        async with shared.connect(f"?since={latest}") as client:
            await message(client, "hello")
            samples = (await message(client, "samples"))["samples"]
            assert samples[0]["time"] > latest
            assert len(samples) < len(first)

    asyncio.run(work())


def test_too_many_pages_are_refused(shared: Page) -> None:
    async def work() -> None:
        clients = [await shared.connect() for _ in range(16)]
        for client in clients:
            await message(client, "hello")
        with pytest.raises(ConnectionClosed) as closed:
            async with shared.connect() as one_more:
                await message(one_more, "hello")
        assert closed.value.rcvd is not None
        assert "16 pages are open" in closed.value.rcvd.reason
        for client in clients:
            await client.close()

    asyncio.run(work())


def test_the_end_is_announced_and_the_server_ends_too(environment: dict[str, str]) -> None:
    address: list[str] = []

    async def work(page: Page) -> None:
        address.append(page.where)
        async with page.connect() as client:
            await message(client, "end")
            with pytest.raises(ConnectionClosed) as closed:
                await client.recv()
            assert closed.value.rcvd is not None
            assert closed.value.rcvd.reason == "the emulation ended"

    assert with_page(environment, work, *ENDS) == ""
    with pytest.raises(ConnectionRefusedError):
        http.client.HTTPConnection(address[0].split("/")[2], timeout=5).request("GET", "/")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_no_server_outlives_its_emulation(environment: dict[str, str], number: int) -> None:
    async def work(page: Page) -> None:
        async with page.connect() as client:
            await message(client, "samples")
            page.process.send_signal(number)
            await message(client, "end")
        for _ in range(100):
            try:
                (await asyncio.open_connection(*page.where.split("/")[2].split(":")))[1].close()
            except OSError:
                return
            await asyncio.sleep(0.1)
        raise AssertionError("the server is still there")

    with_page(environment, work)


def test_a_port_without_a_page_is_refused() -> None:
    command = [*FARLINK, "emulate", "geo-lossy", "--seconds", "1", "--live-port", "8000"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == "farlink: error: --live-port has no effect without --live\n"


@pytest.mark.parametrize("given", [("--in", "nowhere"), ("--attach", "client=no-such0")])
def test_no_address_is_printed_for_an_emulation_that_is_refused(
    environment: dict[str, str], given: tuple[str, str]
) -> None:
    command = [*FARLINK, "emulate", "geo-lossy", "--live", *given, "--", "true"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode != 0
    (line,) = done.stderr.splitlines()
    assert given[1].removeprefix("client=") in line
