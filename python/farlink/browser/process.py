"""Separate process that serves the page of an emulation, so that no page delays the engine."""

import asyncio
import json
import os
import secrets
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

from farlink import control
from farlink.browser import address, files
from farlink.browser.server import Site, serving
from farlink.browser.watch import Watch
from farlink.errors import FarlinkError, ScenarioError

__all__ = ["served"]

_TOKEN_BYTES = 24
_END_S = 3.0
"""Time for the last message to the pages."""


@contextmanager
def served(state: Mapping[str, Any], port: int = 0) -> Iterator[str]:
    """Serve the page for the emulation of this process until the end of the block.

    Yields the page's address, which has a secret token in it. `state` is that of
    `address.experiment`. The server prints the address on standard error when the emulation first
    answers. No address is therefore printed for a refused emulation.

    Raises
    ------
    ScenarioError
        If the page was not built, or the port is not available.
    """
    files.read("--live")
    asked = {"pid": os.getpid(), "port": port, "state": dict(state)}
    # The process has its own session, so that Ctrl-C at the terminal reaches only the user's
    # program.
    with subprocess.Popen(  # noqa: S603 (this interpreter)
        [sys.executable, "-P", "-m", __name__],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        start_new_session=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(json.dumps(asked) + "\n")
            process.stdin.flush()
            line = process.stdout.readline()
            answer = json.loads(line) if line else {"error": "the page's server ended"}
            if "error" in answer:
                raise ScenarioError(answer["error"])
            yield answer["address"]
        finally:
            # Closing its standard input ends the process, even if this process is killed.
            with suppress(OSError):
                process.stdin.close()
            try:
                process.wait(_END_S)
            except subprocess.TimeoutExpired:
                process.kill()


async def _serve(asked: Mapping[str, Any]) -> None:
    stop = asyncio.Event()
    reading = asyncio.create_task(_until_input_ends(stop))
    state = asked["state"]
    watch = Watch(lambda: _of(asked["pid"]), {"toml": state["toml"], "tcps": state["tcps"]})
    site = Site(
        files.served(files.read("--live")),
        address.fragment(state),
        secrets.token_urlsafe(_TOKEN_BYTES),
        watch.serve,
    )
    async with serving(site, asked["port"], option="--live-port") as where:
        _say({"address": where})
        try:
            await watch.run(stop, lambda: _warn(f"the live page is at {where}"))
        except FarlinkError as error:
            _warn(f"error: {error}")
        # Clients get the end from their own tasks, and those that read slowly have this long.
        await watch.left(1.0)
    reading.cancel()


def _of(pid: int) -> control.Running | None:
    return next((entry for entry in control.running() if entry.pid == pid), None)


async def _until_input_ends(stop: asyncio.Event) -> None:
    reader = asyncio.StreamReader()
    protocol = asyncio.StreamReaderProtocol(reader)
    await asyncio.get_running_loop().connect_read_pipe(lambda: protocol, sys.stdin)
    await reader.read()
    stop.set()


def _say(answer: Mapping[str, Any]) -> None:
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


def _warn(text: str) -> None:
    """Print a line for the user on standard error, which this process has from its parent."""
    with suppress(OSError):
        sys.stderr.write(f"farlink: {text}\n")
        sys.stderr.flush()


def _main() -> None:
    asked = json.loads(sys.stdin.readline())
    try:
        asyncio.run(_serve(asked))
    except FarlinkError as error:
        _say({"error": str(error)})


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        _main()
