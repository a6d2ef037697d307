"""Commands in groups with examples, and the typer application that parses their arguments."""

import importlib
import os
from dataclasses import dataclass
from typing import Any

import typer
from typer.core import TyperGroup

from farlink import _farlink
from farlink.cli import text

__all__ = ["COMMANDS", "Command", "run"]


@dataclass(frozen=True)
class Command:
    """Command with its section of `farlink --help`, its module and function, and an example."""

    section: str
    module: str
    example: str


_SIMULATE, _EMULATE = "Simulate", "Emulate in real time (Linux, root)"
_HAND_ON, _TOOLS = "Cite and hand on", "Channels, lists and pages"

COMMANDS = {
    "run": Command(_SIMULATE, "run", "farlink run geo-lossy --tcp sack,hybla --runs 5"),
    "live": Command(_SIMULATE, "live", "farlink live geo-lossy --tcp sack,hybla"),
    "sweep": Command(_SIMULATE, "sweep", "farlink sweep examples/geo-buffers.toml"),
    "diff": Command(
        _SIMULATE, "diff", "farlink diff geo-lossy geo-lossy --set-b tcp.initial_window=30"
    ),
    "tune": Command(
        _SIMULATE,
        "tune",
        "farlink tune geo-omueti2007 --vary tcp.receive_window=16kB..256kB --trials 12 --runs 2",
    ),
    "advise": Command(_SIMULATE, "advise", "farlink advise geo-omueti2007 --size 300kB --runs 3"),
    "study": Command(_SIMULATE, "study", "farlink study wong1998 --only fig4.17 --quick"),
    "plot": Command(_SIMULATE, "plot", "farlink plot capture.pcapng"),
    "emulate": Command(_EMULATE, "emulate", "sudo farlink emulate geo-omueti2007 --transfer 100kB"),
    "shell": Command(_EMULATE, "emulate", "sudo farlink shell geo-lossy"),
    "compare": Command(
        _EMULATE, "compare", "sudo farlink compare geo-omueti2007 --tcp reno --transfer 60kB"
    ),
    "ctl": Command(_EMULATE, "ctl", "sudo farlink ctl list"),
    "unit": Command(_EMULATE, "machines", "sudo farlink unit geo-lossy"),
    "gateway": Command(
        _EMULATE,
        "machines",
        "sudo farlink gateway --join 192.0.2.1 --as client --key @unit.key -- curl http://server",
    ),
    "cite": Command(_HAND_ON, "cite", "farlink cite geo-lossy linux-cubic"),
    "pack": Command(_HAND_ON, "pack", "farlink pack results --out paper.zip"),
    "verify": Command(_HAND_ON, "pack", "farlink verify paper.zip"),
    "channels": Command(_TOOLS, "channels", "farlink channels sample geo-bursts --packets 20000"),
    "list": Command(_TOOLS, "lists", "farlink list tcp hybla"),
    "docs": Command(_TOOLS, "docs", "farlink docs receive window"),
}
"""Commands of `farlink --help`; `ctl`, `channels` and `list` are groups with subcommands."""

_GROUPS = ("ctl", "channels", "list")

_ALIASES = {
    "channel": "channels sample",
    "fit": "channels fit",
    "rain": "channels rain",
    "orbit": "channels orbit",
    "import": "channels import",
    "export": "channels export",
    "show": "list show",
    "scenarios": "list scenarios",
    "presets": "list presets",
    "tcp": "list tcp",
    "metrics": "list metrics",
    "schema": "list schema",
}
"""Short and former names of commands in a group. They work but are not listed."""


_WHOLE = 1000
"""Width (characters) given to typer, so that it does not truncate a command's first sentence."""


class _Sections(TyperGroup):
    """Top-level command whose help groups the commands in sections."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401 (of typer's own)
        longest = max(map(len, COMMANDS))
        sections = dict.fromkeys(entry.section for entry in COMMANDS.values())
        for section in sections:
            rows = []
            for name, entry in COMMANDS.items():
                command = self.get_command(ctx, name)
                if entry.section == section and command is not None:
                    rows.append((name.ljust(longest), command.get_short_help_str(_WHOLE)))
            with formatter.section(section):
                formatter.write_dl(rows)


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
    """Return the typer application with only the requested command, or with all if unknown.

    Each command imports slowly, and a short run should not wait for the others.
    """
    app = typer.Typer(
        cls=_Sections,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
        epilog="farlink COMMAND --help has the options of a command, and an example. "
        "FARLINK_LOG=debug prints rare events of the engine to stderr, with the simulated time.",
    )
    app.callback()(_options)
    completing = "_FARLINK_COMPLETE" in os.environ
    known = [name for name in arguments[:1] if name in COMMANDS and not completing]
    for name in known or COMMANDS:
        entry = COMMANDS[name]
        module = importlib.import_module(f"farlink.cli.{entry.module}")
        if name in _GROUPS:
            app.add_typer(module.app, name=name, epilog=text.example(entry.example))
        else:
            app.command(name, epilog=text.example(entry.example))(getattr(module, name))
    return app


def expanded(arguments: list[str]) -> list[str]:
    """Return the arguments with a command's former name replaced by its present name."""
    today = _ALIASES.get(arguments[0]) if arguments else None
    return [*today.split(), *arguments[1:]] if today else arguments


def run(arguments: list[str]) -> tuple[str | None, int]:
    """Run a command. Return the reason if its options are invalid (or None), and the exit code."""
    arguments = expanded(arguments)
    if len(arguments) == 1 and arguments[0] in _GROUPS:
        arguments = [*arguments, "--help"]
    command = typer.main.get_command(_application(arguments))
    try:
        code = command.main(arguments or ["--help"], prog_name="farlink", standalone_mode=False)
    except typer.exceptions.TyperException as error:
        return error.format_message(), error.exit_code
    return None, int(code or 0)
