"""The page's server on loopback, and the address that has a scenario."""

import asyncio
import gzip
import http.client
import os
import signal
import socket
import subprocess
import sys
import tomllib
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from websockets.asyncio.client import connect
from websockets.asyncio.server import ServerConnection
from websockets.exceptions import InvalidStatus
from websockets.typing import Origin

import farlink as fl
from farlink import cli
from farlink.browser import address, files
from farlink.browser.server import Site, serving

TOKEN = "t0ken"  # noqa: S105 (of a test)
ROOT = Path(__file__).resolve().parents[2]
FARLINK = [sys.executable, "-m", "farlink"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A small page."""
    page = tmp_path / "web"
    (page / "assets").mkdir(parents=True)
    (page / "index.html").write_text("<html><head><title>page</title></head></html>", "utf-8")
    (page / "assets" / "main.js").write_text("export {};", "utf-8")
    (page / "engine.wasm.xz").write_bytes(b"\x1f\x8b")
    (page / "widget.js").write_text("", "utf-8")
    (tmp_path / "secret").write_text("secret", "utf-8")
    (page / "linked").symlink_to(tmp_path / "secret")
    return page


def contents(folder: Path) -> dict[str, bytes]:
    return files.served(files._of_folder(folder))


async def echo(client: ServerConnection) -> None:
    await client.send(str(await client.recv()))


def in_server(site: Site, work: Callable[[str], Awaitable[None]]) -> None:
    async def run() -> None:
        async with serving(site) as where:
            await work(where)

    asyncio.run(run())


def get(where: str, path: str, **headers: str) -> tuple[int, "http.client.HTTPMessage", bytes]:
    """Send a request as it is written; a key `Host` replaces the usual header."""
    link = http.client.HTTPConnection(where.split("/")[2], timeout=10)
    link.putrequest("GET", path, skip_host="Host" in headers)
    for name, value in headers.items():
        link.putheader(name, value)
    link.endheaders()
    answer = link.getresponse()
    body = answer.read()
    link.close()
    return answer.status, answer.headers, body


def statuses(site: Site, *requests: tuple[str, dict[str, str]]) -> list[int]:
    seen = []

    async def work(where: str) -> None:
        for path, headers in requests:
            seen.append((await asyncio.to_thread(get, where, path, **headers))[0])

    in_server(site, work)
    return seen


def test_files_are_served_with_types_and_headers(folder: Path) -> None:
    async def work(where: str) -> None:
        status, headers, body = await asyncio.to_thread(get, where, "/")
        assert (status, body[:6]) == (200, b"<html>")
        assert b"farlink-live" not in body
        assert headers["Content-Type"] == "text/html; charset=utf-8"
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Cache-Control"] == "no-store"
        assert "default-src 'none'" in headers["Content-Security-Policy"]
        assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
        assert headers["Referrer-Policy"] == "no-referrer"
        _, headers, body = await asyncio.to_thread(get, where, "/assets/main.js")
        assert (headers["Content-Type"], body) == ("text/javascript; charset=utf-8", b"export {};")
        _, headers, _ = await asyncio.to_thread(get, where, "/engine.wasm.xz")
        assert headers["Content-Type"] == "application/x-xz"

    in_server(Site(contents(folder)), work)


def test_texts_are_compressed_for_browsers_that_accept_gzip(folder: Path) -> None:
    async def work(where: str) -> None:
        accepts = {"Accept-Encoding": "gzip, br"}
        _, headers, body = await asyncio.to_thread(get, where, "/assets/main.js", **accepts)
        assert headers["Content-Encoding"] == "gzip"
        assert headers["Content-Length"] == str(len(body))
        assert gzip.decompress(body) == b"export {};"
        _, headers, body = await asyncio.to_thread(get, where, "/engine.wasm.xz", **accepts)
        assert (headers["Content-Encoding"], body) == (None, b"\x1f\x8b")
        _, headers, body = await asyncio.to_thread(get, where, "/assets/main.js")
        assert (headers["Content-Encoding"], body) == (None, b"export {};")

    in_server(Site(contents(folder)), work)


@pytest.mark.parametrize(
    "path",
    [
        "/../secret",
        "/assets/../../secret",
        "/%2e%2e/secret",
        "/..%2fsecret",
        "/assets/..%5c..%5csecret",
        "//etc/passwd",
        "/linked",
        "/assets",
        "/assets/",
        "/widget.js",
        "/socket",
        "/index.html%00",
    ],
)
def test_no_path_leads_out_of_the_folder(folder: Path, path: str) -> None:
    assert statuses(Site(contents(folder)), (path, {})) == [404]


def test_a_foreign_host_is_refused(folder: Path) -> None:
    """A page of another name that resolves to this machine gets nothing (DNS rebinding)."""
    names = ["evil.example", "evil.example:80", "127.0.0.1", "127.0.0.1:1", "[::1]", ""]
    requests = [("/index.html", {"Host": name}) for name in names]
    assert statuses(Site(contents(folder)), *requests) == [403] * len(names)


def test_the_own_host_is_accepted_by_name_and_by_number(folder: Path) -> None:
    async def work(where: str) -> None:
        port = where.split(":")[2].strip("/")
        for name in ("127.0.0.1", "localhost", "LOCALHOST"):
            status, *_ = await asyncio.to_thread(get, where, "/", Host=f"{name}:{port}")
            assert status == 200

    in_server(Site(contents(folder)), work)


@pytest.mark.parametrize(
    "path", ["/", "/index.html", "/socket", "/wrong/", "/wrong/socket", f"/{TOKEN}x/", "/%74/"]
)
def test_without_the_token_all_is_refused(folder: Path, path: str) -> None:
    assert statuses(Site(contents(folder), token=TOKEN, socket=echo), (path, {})) == [403]


def test_the_token_opens_the_page_and_the_socket(folder: Path) -> None:
    async def work(where: str) -> None:
        assert where.endswith(f"/{TOKEN}/")
        status, _, body = await asyncio.to_thread(get, where, f"/{TOKEN}/")
        assert (status, b'<meta name="farlink-live" content="socket">' in body) == (200, True)
        assert (await asyncio.to_thread(get, where, f"/{TOKEN}"))[0] == 302
        own = Origin(where.removesuffix(f"/{TOKEN}/"))
        async with connect(f"{where.replace('http', 'ws')}socket", origin=own) as client:
            await client.send("word")
            assert await client.recv() == "word"

    in_server(Site(contents(folder), token=TOKEN, socket=echo), work)


@pytest.mark.parametrize(
    "origin", [None, Origin("http://evil.example"), Origin("null"), Origin("http://127.0.0.1:1")]
)
def test_a_foreign_origin_gets_no_socket(folder: Path, origin: Origin | None) -> None:
    async def work(where: str) -> None:
        with pytest.raises(InvalidStatus) as refused:
            await connect(f"{where.replace('http', 'ws')}socket", origin=origin)
        assert refused.value.response.status_code == 403

    in_server(Site(contents(folder), token=TOKEN, socket=echo), work)


def test_the_first_address_leads_to_the_scenario(folder: Path) -> None:
    state = address.experiment("geo-lossy", ["sack", "hybla"])

    async def work(where: str) -> None:
        status, headers, _ = await asyncio.to_thread(get, where, "/")
        path, _, fragment = headers["Location"].partition("#")
        assert (status, path) == (302, "/index.html")
        assert address.read(f"#{fragment}") == state

    in_server(Site(contents(folder), address.fragment(state)), work)


def test_an_address_has_the_text_of_the_library_with_its_comments() -> None:
    state = address.experiment("geo-lossy", ["sack"])
    assert state["toml"].startswith("# ")
    assert state["tcps"] == ["sack"]
    assert address.read(address.fragment(state)) == state


def test_a_mapping_becomes_toml_that_is_the_same_scenario() -> None:
    tree = {
        "name": "own",
        "seed": 7,
        "tcp": {"receive_window": "1 MB", "delayed_ack": None},
        "links": [
            {
                "between": ["a", "b"],
                "down": {"rate": "2 Mbit/s", "delay": "250 ms", "channel": {"loss": 0.01}},
                "up": {"rate": "256 kbit/s", "delay": "250 ms"},
            }
        ],
        "flows": [{"from": "a", "to": "b", "size": "1 MB"}],
    }
    text = address.toml(tree)
    tree["tcp"] = {"receive_window": "1 MB"}
    assert tomllib.loads(text) == tree
    assert '"' not in address.toml({"a-key": 1, "b_key": True})


@pytest.mark.parametrize("text", ["#s=!", "#s=AAAA", "#s=", "s"])
def test_an_address_without_an_experiment_is_refused(text: str) -> None:
    with pytest.raises(fl.ScenarioError, match="the address has no experiment"):
        address.read(text)


@contextmanager
def live(folder: Path, *arguments: str) -> Iterator["subprocess.Popen[str]"]:
    environment = {**os.environ, "FARLINK_WEB": str(folder)}
    command = [*FARLINK, "live", *arguments]
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    ) as process:
        try:
            yield process
        finally:
            process.kill()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 0), (signal.SIGTERM, 143)])
def test_the_command_serves_until_a_signal(folder: Path, number: int, code: int) -> None:
    with live(folder, "geo-lossy", "--no-browser") as process:
        assert process.stdout is not None
        where = process.stdout.readline().split()[4]
        status, headers, _ = get(where, "/")
        assert status == 302
        fragment = headers["Location"].removeprefix("/index.html")
        assert address.read(fragment)["toml"]
        process.send_signal(number)
        _, errors = process.communicate(timeout=20)
    assert process.returncode == code
    assert errors == ""


def refusal(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    with pytest.raises(SystemExit) as stopped:
        cli.main(["live", *arguments])
    assert stopped.value.code == 2
    (line,) = capsys.readouterr().err.splitlines()
    return line


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["no-such"], "neither a scenario of the library nor a file"),
        (["absent.toml"], "absent.toml"),
        (["geo-lossy", "--tcp", "remo"], "did you mean 'reno'?"),
        (["geo-lossy", "--set", "links.0.down.delay"], "not PATH=VALUE"),
        (["geo-lossy", "--set", "links.0.down.delay=5"], "--set links.0.down.delay=5"),
        (["--port", "70000"], "--port is 70000; write 1 to 65535"),
        (["--tcp", "sack"], "--tcp and --set need a scenario"),
        (["geo-lossy", "--save", "x.html"], "--save writes the page without a scenario"),
    ],
)
def test_bad_input_is_one_line(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    message: str,
) -> None:
    monkeypatch.setattr(files, "FOLDER", folder)
    assert message in refusal(capsys, *arguments, "--no-browser")


def test_a_page_that_was_not_built_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(files, "FOLDER", tmp_path)
    monkeypatch.setattr(files, "ARCHIVE", tmp_path / "none")
    assert "the page was not built; run make web" in refusal(capsys, "geo-lossy")


def test_a_wheel_has_the_page_as_an_archive(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "engine.wasm.xz").write_bytes(b"engine")
    archive = tmp_path / "web.tar.xz"
    command = [sys.executable, str(ROOT / "tools/pack_page.py"), str(folder), str(archive)]
    (folder / "linked").unlink()
    subprocess.run(command, check=True)
    monkeypatch.setattr(files, "FOLDER", tmp_path / "none")
    monkeypatch.setattr(files, "ARCHIVE", archive)
    assert files.read("live") == files._of_folder(folder)
    archive.write_bytes(archive.read_bytes()[:100])
    files._of_archive.cache_clear()
    with pytest.raises(fl.FarlinkError, match="the page cannot be read"):
        files.read("live")


def test_the_page_is_saved_as_one_file(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    element = '<script type="application/octet-stream" id="engine">'
    (folder / "single.html").write_text(f"<html>{element}</script></html>", "utf-8")
    monkeypatch.setattr(files, "FOLDER", folder)
    with pytest.raises(SystemExit) as stopped:
        cli.main(["live", "--save", str(tmp_path / "farlink.html")])
    assert stopped.value.code == 0
    saved = (tmp_path / "farlink.html").read_text("utf-8")
    assert saved == f"<html>{element}H4s=</script></html>"


def test_a_taken_port_is_one_line(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(files, "FOLDER", folder)

    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        line = refusal(capsys, "--no-browser", "--port", str(port))
    assert f"port {port} cannot be had" in line
