"""The command `farlink`.

Exit codes are 2 for bad input (with one line on standard error), 1 for a failed run, 130 for Ctrl-C
and 143 for SIGTERM. If a figure cannot be drawn, a line says so and exit code 0 becomes 3; all
other output is written. If the reader of a pipe closes it early (`| head`), the exit code does not
change.
"""

import os
import re
import signal
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import TextIO

from farlink import files
from farlink._farlink import log_started
from farlink.cli import plain, text
from farlink.errors import FarlinkError, FigureWarning, OutputError, ScenarioError

__all__ = ["main"]


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit the process with its exit code."""
    if not log_started:  # The engine has already printed the reason.
        sys.exit(2)
    _open_standard_streams()
    text.spell_all()
    with _terminated() as ended, _figures_missing() as missing:
        code = _code(sys.argv[1:] if arguments is None else arguments, ended)
    sys.exit(code or (_NO_FIGURE if missing else 0))


_NO_FIGURE = 3
"""Exit code if everything except a figure was written."""


@contextmanager
def _figures_missing() -> Iterator[list[str]]:
    """Print a line for each figure that could not be drawn, and yield the list of these lines."""
    missing: list[str] = []
    usual = warnings.showwarning

    def show(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        if not issubclass(category, FigureWarning):
            usual(message, category, filename, lineno, file, line)
            return
        missing.append(" ".join(str(message).split()))
        with suppress(OSError):
            sys.stderr.write(text.printable(f"farlink: {missing[-1]}; all else is written") + "\n")

    with warnings.catch_warnings():
        warnings.simplefilter("always", FigureWarning)
        warnings.showwarning = show
        yield missing


def _code(arguments: list[str], ended: list[int]) -> int:
    try:
        code = _command(arguments, ended)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader closed the pipe after all other output was written. The exit code is 0, and
        # Python must not flush into the pipe at exit.
        _to_nowhere()
        return 0
    except OSError as error:
        _to_nowhere()
        return _fail(f"cannot write to standard output: {files.reason(error)}", 2)
    return code


def _command(arguments: list[str], ended: list[int]) -> int:
    try:
        code = _run(arguments)
    except SystemExit as end:
        # typer raises SystemExit from a BrokenPipeError when the reader has closed the pipe.
        if isinstance(end.__context__, BrokenPipeError):
            raise end.__context__ from None
        raise
    except KeyboardInterrupt:
        code = 130
    except text.Stopped as stop:
        return _stop(str(stop), 128 + ended[0] if ended else 130)
    except (ScenarioError, OutputError) as error:
        return _fail(_SET.sub("--set ", str(error)), 2)
    except FarlinkError as error:
        return _fail(error, 1)
    except MemoryError:
        return _fail("there is not enough memory for this", 1)
    if code == 130:  # typer raises this exception at Ctrl-C.
        return _stop("terminated", 128 + ended[0]) if ended else _stop("interrupted", 130)
    return code


def _run(arguments: list[str]) -> int:
    """Run the command, with the fast parser of `farlink run` if it accepts the arguments."""
    options = plain.options_of_run(arguments)
    if options is None:
        from farlink.cli import commands

        refusal, code = commands.run(arguments)
        return _fail(refusal, code) if refusal is not None else code
    from farlink.cli.simulate import simulate

    simulate(**options)
    return 0


_SET = re.compile(r"^override (?=[^ ]*=)")
"""Prefix of the package's error messages that name an override; printed as `--set`."""

_LONGEST_LINE = 3000

_LONG_VALUE = re.compile(r"""("(?:[^"\\]|\\.){121,}"|(?<=[\s=(])'[^']{121,}'|\S{301,})""")
"""Matches a quoted value of more than 120 characters, or a word of more than 300."""


def _brief(line: str) -> str:
    """Shorten the long values of a message, because a value may be the text of a whole file."""
    return _LONG_VALUE.sub(lambda match: f"{match[0][:60]}...{match[0][-40:]}", line)


def _fail(error: object, code: int) -> int:
    line = _brief(" ".join(str(error).split()))
    if len(line) > _LONGEST_LINE:
        line = f"{line[: _LONGEST_LINE // 2]}...{line[-_LONGEST_LINE // 4 :]}"
    return _stop(f"error: {line}", code)


def _stop(line: str, code: int) -> int:
    with suppress(OSError):
        sys.stderr.write(text.printable(f"farlink: {line}") + "\n")
    return code


@contextmanager
def _terminated() -> Iterator[list[int]]:
    """Handle SIGTERM and SIGHUP like Ctrl-C, so that no unfinished file or process remains.

    Yields a list to which the number of a received signal is appended.
    """
    ended: list[int] = []

    def stop(number: int, _frame: FrameType | None) -> None:
        ended.append(number)
        raise KeyboardInterrupt

    numbers = [signal.SIGTERM, *([signal.SIGHUP] if hasattr(signal, "SIGHUP") else [])]
    # SIGHUP is ignored under nohup, and stays ignored.
    taken = [item for item in numbers if signal.getsignal(item) is signal.SIG_DFL]
    try:
        before = [(item, signal.signal(item, stop)) for item in taken]
    except ValueError:  # Signals can be handled only in the main thread.
        yield ended
        return
    try:
        yield ended
    finally:
        for number, handler in before:
            signal.signal(number, handler)


def _open_standard_streams() -> None:
    """Open closed standard streams to /dev/null, so that no other file gets their descriptor."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
        if getattr(sys, name) is None:
            mode = "r" if number == 0 else "w"
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: PTH123, SIM115


def _to_nowhere() -> None:
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
