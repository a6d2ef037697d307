"""The command `farlink live`: the page with a scenario in a browser, from this machine's files."""

import asyncio
import signal
import sys
import webbrowser
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from farlink.browser import address, files
from farlink.browser.server import Site, serving
from farlink.cli import options, text
from farlink.cli.options import declare
from farlink.errors import ScenarioError

__all__ = ["check_port", "live"]


def live(
    scenario: Annotated[
        str | None, options.scenario("Name of the library, or .toml file; by default the first.")
    ] = None,
    tcp: Annotated[list[str], options.tcp("TCPs to compare.", "A,B,C")] = [],
    changes: options.Changes = [],
    port: Annotated[int, declare("--port", "Port on this machine; 0 is a free one.", "N")] = 0,
    save: Annotated[
        Path | None, declare("--save", "Write the page as one file instead.", "FILE")
    ] = None,
    no_browser: Annotated[
        bool, declare("--no-browser", "Print the address, and open no browser.")
    ] = False,
) -> None:
    """Open a scenario in the browser, and change it there; Ctrl-C ends the server."""
    check_port("--port", port)
    if save is not None:
        if scenario is not None:
            raise ScenarioError("--save writes the page without a scenario; leave its name out")
        given = {"--tcp": tcp, "--set": changes, "--port": port, "--no-browser": no_browser}
        for option, value in given.items():
            if value:
                raise ScenarioError(f"{option} has no effect with --save; leave it out")
        text.write_json(save, [files.single(files.read("live", "single.html"))])
        return
    if scenario is None and (tcp or changes):
        raise ScenarioError("--tcp and --set need a scenario; write its name before them")
    contents = files.read("live")
    fragment = ""
    if scenario is not None:
        state = address.experiment(scenario, text.names(tcp), text.assignments(changes))
        fragment = address.fragment(state)
    received = asyncio.run(
        _serve(Site(files.served(contents), fragment), port, opens=not no_browser)
    )
    raise typer.Exit(0 if received == signal.SIGINT else 128 + received)


def check_port(option: str, port: int) -> None:
    """Raise `ScenarioError` if a number is no port."""
    if not 0 <= port < 1 << 16:
        raise ScenarioError(f"{option} is {port}; write 1 to 65535, or 0 for a free one")


async def _serve(site: Site, port: int, *, opens: bool) -> int:
    """Serve until a signal, and return its number."""
    loop = asyncio.get_running_loop()
    received: asyncio.Future[int] = loop.create_future()

    def stop(number: int) -> None:
        if not received.done():
            received.set_result(number)

    for number in (signal.SIGINT, signal.SIGTERM):
        with suppress(NotImplementedError):  # Windows raises KeyboardInterrupt instead
            loop.add_signal_handler(number, stop, number)
    async with serving(site, port) as where:
        text.line(f"The page is at {where} (Ctrl-C ends this server)")
        sys.stdout.flush()
        if opens and not await asyncio.to_thread(webbrowser.open, where):
            text.progress_line("farlink: no browser can be started here; open the address above")
        return await received
