"""The command `farlink`.

Bad input is one line on standard error and exit code 2, a run that fails is
code 1, and Ctrl-C is 130.
"""

import sys

import typer

from farlink import _farlink
from farlink.cli import ctl, lists, text
from farlink.cli.channel import channel
from farlink.cli.compare import compare
from farlink.cli.emulate import emulate, shell
from farlink.cli.fit import fit
from farlink.cli.orbit import orbit
from farlink.cli.rain import rain
from farlink.cli.run import run
from farlink.cli.study import study
from farlink.errors import FarlinkError, OutputError, ScenarioError

__all__ = ["app", "main"]

app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        text.line(f"farlink {_farlink.version()}")
        raise typer.Exit


@app.callback()
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


app.command()(run)
app.command()(study)
app.command()(emulate)
app.command()(shell)
app.command()(channel)
app.command()(fit)
app.command()(rain)
app.command()(compare)
app.add_typer(ctl.app, name="ctl")
app.command()(lists.show)
app.command()(lists.scenarios)
app.command()(lists.presets)
app.command()(lists.tcp)
app.command()(lists.metrics)
app.command()(lists.schema)
app.command()(orbit)


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and leave the process with its exit code."""
    sys.exit(_code(sys.argv[1:] if arguments is None else arguments))


def _code(arguments: list[str]) -> int:
    command = typer.main.get_command(app)
    try:
        code = command.main(arguments or ["--help"], prog_name="farlink", standalone_mode=False)
    except KeyboardInterrupt:
        return _stop("interrupted", 130)
    except (ScenarioError, OutputError) as error:
        return _fail(error, 2)
    except FarlinkError as error:
        return _fail(error, 1)
    except typer.exceptions.TyperException as error:
        return _fail(error.format_message(), error.exit_code)
    if code == 130:  # typer turns Ctrl-C into this
        return _stop("interrupted", 130)
    return int(code or 0)


def _fail(error: object, code: int) -> int:
    line = " ".join(str(error).split())
    return _stop(f"error: {line}", code)


def _stop(line: str, code: int) -> int:
    sys.stderr.write(f"farlink: {line}\n")
    return code
