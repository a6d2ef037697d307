"""Commands, and the general reader of their options."""

import importlib
import os

import typer

from farlink import _farlink
from farlink.cli import text

__all__ = ["run"]

_COMMANDS = {
    "run": "run",
    "sweep": "sweep",
    "diff": "diff",
    "study": "study",
    "emulate": "emulate",
    "shell": "emulate",
    "unit": "machines",
    "gateway": "machines",
    "channel": "channel",
    "fit": "fit",
    "rain": "rain",
    "compare": "compare",
    "plot": "plot",
    "tune": "tune",
    "advise": "advise",
    "ctl": "ctl",
    "show": "lists",
    "scenarios": "lists",
    "presets": "lists",
    "tcp": "lists",
    "metrics": "lists",
    "schema": "lists",
    "orbit": "orbit",
}
"""Every command, and the module that has it as a function; `ctl` has commands of its own."""


def _print_version(wanted: bool) -> None:
    if wanted:
        text.line(f"farlink {_farlink.version()}")
        raise typer.Exit


def _options(
    version: bool = typer.Option(
        False,
        "--version",
        help="Print the version and stop.",
        callback=_print_version,
        is_eager=True,
    ),
) -> None:
    """TCP over far, slow and lossy links, simulated packet by packet."""


def _application(arguments: list[str]) -> typer.Typer:
    """Return the command line; with no more of it than the command asked for, if it is known.

    Each command takes its time to load, and a short run should not wait for all of them.
    """
    app = typer.Typer(
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    )
    app.callback()(_options)
    completing = "_FARLINK_COMPLETE" in os.environ
    known = [name for name in arguments[:1] if name in _COMMANDS and not completing]
    for name in known or _COMMANDS:
        module = importlib.import_module(f"farlink.cli.{_COMMANDS[name]}")
        if name == "ctl":
            app.add_typer(module.app, name=name)
        else:
            app.command()(getattr(module, name))
    return app


def run(arguments: list[str]) -> tuple[str | None, int]:
    """Run a command. Returns why its options were refused, if they were, and the exit code."""
    command = typer.main.get_command(_application(arguments))
    try:
        code = command.main(arguments or ["--help"], prog_name="farlink", standalone_mode=False)
    except typer.exceptions.TyperException as error:
        return error.format_message(), error.exit_code
    return None, int(code or 0)
