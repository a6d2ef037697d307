"""On a CI machine a skip fails unless `allowed-skips.toml` allows it."""

import fnmatch
import importlib.util
import os
import subprocess
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

LIST = Path(__file__).with_name("allowed-skips.toml")
TOOLS = "FARLINK_NO_TOOLS"
"""Variable with the tools that `.ci/run` could not install, separated by spaces."""


def _may_use_tun() -> bool:
    try:
        os.close(os.open("/dev/net/tun", os.O_RDWR))
        subprocess.run(["unshare", "-n", "true"], check=True, capture_output=True)  # noqa: S607
    except (OSError, subprocess.CalledProcessError):
        return False
    return os.geteuid() == 0


CONDITIONS: dict[str, Callable[[str], bool]] = {
    "always": lambda _: True,
    "root": lambda _: os.geteuid() == 0,
    "no emulation": lambda _: not _may_use_tun(),
    "module": lambda name: importlib.util.find_spec(name) is None,
    "tool": lambda name: name in os.environ.get(TOOLS, "").split(),
}
"""Conditions of a machine that allow a skip, by the word before the colon in its reason."""


def allowed(test: str, reason: str, rows: list[dict[str, str]]) -> bool:
    """Return whether a row of the list allows a skip here."""
    for row in rows:
        name, _, what = row["where"].partition(":")
        if (
            fnmatch.fnmatchcase(test, row["tests"])
            and fnmatch.fnmatchcase(reason, row["reason"])
            and CONDITIONS[name](what.strip())
        ):
            return True
    return False


def _judge(report: Any) -> None:  # noqa: ANN401 (of a test or of a file)
    """Turn a skip that the list does not allow into a failure."""
    if not report.skipped or hasattr(report, "wasxfail") or not os.environ.get("CI"):
        return
    text = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    reason = str(text).removeprefix("Skipped: ")
    rows: list[dict[str, str]] = tomllib.loads(LIST.read_text(encoding="utf-8"))["skip"]
    if not allowed(report.nodeid, reason, rows):
        report.outcome = "failed"
        report.longrepr = (
            f"{report.nodeid}: skipped ({reason}), which {LIST.name} does not allow here: install "
            "what is missing, or write a row with the reason"
        )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Iterator[None]:
    report = yield
    _judge(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Iterator[None]:
    report = yield
    _judge(report)
    return report
