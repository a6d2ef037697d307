"""Server of the page on loopback: static files, and a socket on the same port."""

import asyncio
import gzip
import hmac
import logging
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from http import HTTPStatus
from pathlib import PurePosixPath
from urllib.parse import unquote, urlsplit

from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.datastructures import Headers
from websockets.http11 import Request, Response

from farlink.browser import files
from farlink.errors import ScenarioError
from farlink.files import reason

__all__ = ["ADDRESS", "SOCKET", "Site", "serving"]

ADDRESS = "127.0.0.1"
"""Address that the server listens on: this machine alone."""

SOCKET = "socket"
"""Path of the socket, below the token."""

_HOSTS = (ADDRESS, "localhost")
"""Names of this machine that a request may have in its Host header."""

_SLOWEST_S = 10.0
"""Time for a request, and for the end of the server."""

_FIRST_FREE = 1024
"""Smallest port that needs no right of root."""

_LONGEST_MESSAGE = 1 << 16
"""Largest message of a client in bytes."""

_POLICY = (
    "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; "
    "img-src 'self' data: blob:; connect-src 'self'; worker-src 'self' blob:; font-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)

_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": _POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Connection": "close",
}
"""Headers of every answer but that of a socket."""

_COMPRESSED = frozenset({".css", ".html", ".js", ".json", ".md", ".svg", ".toml", ".txt"})
"""Endings of files that are sent compressed to browsers that accept gzip."""

_HEAD = re.compile(rb"<head\b[^>]*>", re.IGNORECASE)

_LOG = logging.getLogger("farlink.browser")
# Broken requests are the clients' affair, and a terminal belongs to the user's program.
_LOG.addHandler(logging.NullHandler())
_LOG.propagate = False

Handler = Callable[[ServerConnection], Awaitable[None]]


@dataclass(frozen=True)
class Site:
    """Contents of a server.

    Attributes
    ----------
    contents
        Files of the page by their paths.
    fragment
        Fragment for the first address, with its `#`; empty for none.
    token
        Secret at the start of every path; None if the page is open to this machine.
    socket
        Handler of the socket; None for a site without a socket.
    """

    contents: Mapping[str, bytes]
    fragment: str = ""
    token: str | None = None
    socket: Handler | None = None

    def path(self) -> str:
        """Return the path of the first page."""
        return "/" if self.token is None else f"/{self.token}/"

    def answer(self, request: Request, port: int) -> Response | None:
        """Return the answer to a request; None opens the socket."""
        if not _is_one_of(request, "Host", [f"{host}:{port}" for host in _HOSTS]):
            return _refused(HTTPStatus.FORBIDDEN, "this server answers on its own address only")
        parts = unquote(urlsplit(request.path).path).removeprefix("/").split("/")
        if self.token is not None:
            given, *parts = parts
            if not hmac.compare_digest(given.encode(errors="replace"), self.token.encode()):
                return _refused(
                    HTTPStatus.FORBIDDEN, "the address needs the token that was printed"
                )
            if not parts:
                return _moved(self.path())
        name = "/".join(parts)
        if name == SOCKET and self.socket is not None:
            origins = [f"http://{host}:{port}" for host in _HOSTS]
            if not _is_one_of(request, "Origin", origins):
                return _refused(HTTPStatus.FORBIDDEN, "the socket is for pages of this server")
            return None
        if not name and self.fragment:
            return _moved(f"{self.path()}index.html{self.fragment}")
        encodings = ", ".join(request.headers.get_all("Accept-Encoding"))
        return self._file(name or "index.html", encodings)

    def _file(self, name: str, encodings: str) -> Response:
        # Paths are looked up among the files in memory, so no path leads anywhere else.
        data = self.contents.get(name)
        if data is None:
            return _refused(HTTPStatus.NOT_FOUND, "there is no such file")
        if name == "index.html" and self.socket is not None:
            meta = f'<meta name="farlink-live" content="{SOCKET}">'.encode()
            data = _HEAD.sub(lambda head: head[0] + meta, data, count=1)
        ending = PurePosixPath(name).suffix
        shrinks = ending in _COMPRESSED and "gzip" in encodings
        answer = _response(
            HTTPStatus.OK,
            _gzipped(data) if shrinks else data,
            files.TYPES.get(ending, "application/octet-stream"),
        )
        if ending in _COMPRESSED:
            answer.headers["Vary"] = "Accept-Encoding"
        if shrinks:
            answer.headers["Content-Encoding"] = "gzip"
        return answer


@lru_cache(maxsize=64)
def _gzipped(data: bytes) -> bytes:
    return gzip.compress(data, mtime=0)


def _is_one_of(request: Request, header: str, allowed: list[str]) -> bool:
    """Return whether a request has a header exactly once, with an allowed value."""
    return [value.lower() for value in request.headers.get_all(header)] in [[a] for a in allowed]


def _refused(status: HTTPStatus, message: str) -> Response:
    return _response(status, f"{message}\n".encode(), "text/plain; charset=utf-8")


def _moved(location: str) -> Response:
    answer = _response(HTTPStatus.FOUND, b"", "text/plain; charset=utf-8")
    answer.headers["Location"] = location
    return answer


def _response(status: HTTPStatus, body: bytes, media: str) -> Response:
    headers = Headers(_HEADERS)
    headers["Content-Type"] = media
    headers["Content-Length"] = str(len(body))
    return Response(status.value, status.phrase, headers, body)


@asynccontextmanager
async def serving(site: Site, port: int = 0, option: str = "--port") -> AsyncIterator[str]:
    """Serve a site until the end of the block, and yield its address; port 0 takes a free port.

    `option` is the name of the port in messages.

    Raises
    ------
    ScenarioError
        If the port is not available.
    """
    taken: list[int] = []

    def answer(_: ServerConnection, request: Request) -> Response | None:
        return site.answer(request, taken[0])

    async def no_socket(_: ServerConnection) -> None:
        """Do nothing, because a site without a socket accepts no connection."""

    try:
        server: Server = await serve(
            site.socket or no_socket,
            ADDRESS,
            port,
            process_request=answer,
            server_header=None,
            compression=None,
            open_timeout=_SLOWEST_S,
            close_timeout=1.0,
            max_size=_LONGEST_MESSAGE,
            logger=_LOG,
            start_serving=False,
        )
    except OSError as error:
        if isinstance(error, PermissionError):
            raise ScenarioError(
                f"{option} {port} is for root: write {_FIRST_FREE} or more, or leave {option} out"
            ) from None
        raise ScenarioError(
            f"{option} {port} cannot be had: {reason(error)}; leave {option} out"
        ) from None
    taken.append(server.sockets[0].getsockname()[1])
    await server.start_serving()
    try:
        yield f"http://{ADDRESS}:{taken[0]}{site.path()}"
    finally:
        server.close()
        with suppress(TimeoutError):
            await asyncio.wait_for(server.wait_closed(), _SLOWEST_S)
