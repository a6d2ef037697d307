"""The page's server on loopback, and the address that has a scenario."""

import ast
import asyncio
import base64
import gzip
import hashlib
import http.client
import json
import lzma
import os
import signal
import socket
import subprocess
import sys
import tomllib
import zlib
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from websockets.asyncio.client import connect
from websockets.asyncio.server import ServerConnection
from websockets.exceptions import InvalidStatus
from websockets.typing import Origin

import farlink as fl
from farlink import cli
from farlink.browser import address, files, process
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


def read_address(text: str) -> dict[str, Any]:
    """Return the state that a fragment has, as the page reads it."""
    data = text.removeprefix("#s=")
    pressed = base64.urlsafe_b64decode(data + "=" * (-len(data) % 4))
    state: dict[str, Any] = json.loads(zlib.decompress(pressed, -zlib.MAX_WBITS))
    assert state.pop("v") == 1
    return state


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
        assert read_address(f"#{fragment}") == state

    in_server(Site(contents(folder), address.fragment(state)), work)


def test_an_address_has_the_text_of_the_library_with_its_comments() -> None:
    state = address.experiment("geo-lossy", ["sack"])
    assert state["toml"].startswith("# ")
    assert state["tcps"] == ["sack"]
    assert read_address(address.fragment(state)) == state


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


def test_a_scenario_too_large_for_the_page_is_one_line() -> None:
    with pytest.raises(fl.ScenarioError, match="400,033 bytes, and the page reads 400,000"):
        address.fragment({"toml": "#" * address.MOST_BYTES, "tcps": ["sack"]})
    noise = "".join(hashlib.sha256(str(k).encode()).hexdigest() for k in range(2000))
    with pytest.raises(fl.ScenarioError, match="characters compressed, and the page reads 64,000"):
        address.fragment({"toml": noise, "tcps": ["sack"]})
    codec = (ROOT / "web/src/share/codec.ts").read_text("utf-8")
    for name, most in (("MOST_CHARACTERS", 64_000), ("MOST_BYTES", 400_000)):
        assert f"{name} = {most:_};" in codec
        assert getattr(address, name) == most


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
        assert read_address(fragment)["toml"]
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
        (["--save", "x.html", "--port", "80"], "--port has no effect with --save; leave it out"),
        (["--save", "x.html", "--tcp", "sack"], "--tcp has no effect with --save"),
        (["--save", "x.html", "--set", "seed=2"], "--set has no effect with --save"),
        (["--save", "x.html"], "--no-browser has no effect with --save"),
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
    refused = subprocess.run(command, check=False, capture_output=True, text=True)
    assert (refused.returncode, archive.exists()) == (1, False)
    assert refused.stderr.endswith("linked is a symbolic link; replace it by the file\n")
    (folder / "linked").unlink()
    subprocess.run(command, check=True)
    monkeypatch.setattr(files, "FOLDER", tmp_path / "none")
    monkeypatch.setattr(files, "ARCHIVE", archive)
    assert files.read("live") == files._of_folder(folder)
    whole = archive.read_bytes()
    wrong = bytearray(whole)
    wrong[40:60] = bytes(20)
    for damaged in (whole[:100], bytes(wrong), b"no archive", lzma.compress(b"no tar")):
        archive.write_bytes(damaged)
        files._of_archive.cache_clear()
        with pytest.raises(fl.FarlinkError, match="the page cannot be read") as error:
            files.read("live")
        assert "\n" not in str(error.value)


def test_an_incomplete_page_names_the_absent_file_and_the_folder(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "FOLDER", folder)
    monkeypatch.setattr(files, "ARCHIVE", folder / "none")
    monkeypatch.delenv("FARLINK_WEB", raising=False)
    with pytest.raises(fl.ScenarioError, match=r"web has no single\.html; run make web again"):
        files.read("live", "single.html")
    (folder / "index.html").unlink()
    with pytest.raises(fl.ScenarioError, match=f"{folder} has no index.html; run make web again"):
        files.read("live")
    monkeypatch.setenv("FARLINK_WEB", str(folder))
    with pytest.raises(fl.ScenarioError, match=f"FARLINK_WEB={folder} has no index.html; name a"):
        files.read("live")
    (folder / "index.html").write_text("", "utf-8")
    (folder / files.ENGINE).unlink()
    with pytest.raises(fl.ScenarioError, match=r"has no engine\.wasm\.xz; name a folder"):
        files.read("live")
    with pytest.raises(fl.FarlinkError, match="no place for the engine"):
        files.single({files.ENGINE: b"", "single.html": b"<html>"})


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
    assert f"--port {port} cannot be had: " in line
    assert line.endswith("; leave --port out")


@pytest.mark.parametrize("option", ["--port", "--live-port"])
def test_a_port_of_root_is_one_line(monkeypatch: pytest.MonkeyPatch, option: str) -> None:
    async def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    async def run() -> None:
        async with serving(Site({}), 80, option):
            pass

    monkeypatch.setattr("farlink.browser.server.serve", refuse)
    with pytest.raises(fl.ScenarioError) as error:
        asyncio.run(run())
    assert str(error.value) == f"{option} 80 is for root: write 1024 or more, or leave {option} out"


def test_the_server_imports_no_module_of_the_current_folder(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    for name in ("asyncio", "json", "websockets", "farlink"):
        (elsewhere / f"{name}.py").write_text("raise SystemExit(9)", "utf-8")
    monkeypatch.setenv("FARLINK_WEB", str(folder))
    monkeypatch.setattr(files, "FOLDER", folder)
    monkeypatch.chdir(elsewhere)
    with process.served(address.experiment("geo-lossy", ["sack"])) as where:
        assert where.startswith("http://127.0.0.1:")


def test_every_python_that_farlink_starts_leaves_out_the_current_folder() -> None:
    commands = [
        node
        for path in (ROOT / "python").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.List) and node.elts
        if ast.unparse(node.elts[0]) == "sys.executable"
    ]
    assert len(commands) >= 4
    for command in commands:
        assert ast.unparse(command.elts[1]) == "'-P'", ast.unparse(command)
