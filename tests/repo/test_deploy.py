"""The systemd units and the image recipe name files and options that exist."""

import configparser
import re
import shlex
from pathlib import Path

import pytest
import typer.main

from farlink.cli import commands

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
UNITS = sorted(DEPLOY.glob("*.service"))


def unit(path: Path) -> configparser.ConfigParser:
    """Read a unit file; only keys with lists may occur twice."""
    parser = configparser.ConfigParser(interpolation=None, delimiters=("=",))
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read_string(path.read_text(encoding="utf-8"))
    return parser


@pytest.mark.parametrize("path", UNITS, ids=lambda path: path.stem)
def test_units_start_commands_with_options_that_there_are(path: Path) -> None:
    service = unit(path)["Service"]
    program, name, *arguments = shlex.split(service["ExecStart"])
    assert program == "/usr/local/bin/farlink"
    assert path.name == f"farlink-{name}@.service"
    command = typer.main.get_command(commands._application([name]))
    (command,) = getattr(command, "commands", {name: command}).values()
    options = {option for param in command.params for option in param.opts}
    # Options in comments count, because they are suggestions for OPTIONS.
    written = set(re.findall(r"(?<!\S)(?:OPTIONS=)?(--[a-z]+)", path.read_text("utf-8")))
    assert {argument for argument in arguments if argument.startswith("--")} <= options
    assert written <= options
    for variable in re.findall(r"\$\{?(\w+)", service["ExecStart"]):
        assert f"{variable}=" in path.read_text("utf-8"), f"nothing says what {variable} is"


@pytest.mark.parametrize("path", UNITS, ids=lambda path: path.stem)
def test_units_do_not_start_again_what_is_wrong(path: Path) -> None:
    """Units do not restart after exit codes 2 (bad input) and 130 (end by SIGINT)."""
    service = unit(path)["Service"]
    assert service["RestartPreventExitStatus"] == "2"
    assert (service["KillSignal"], service["SuccessExitStatus"]) == ("SIGINT", "130")


def test_the_image_is_made_of_files_that_there_are() -> None:
    text = (DEPLOY / "Containerfile").read_text(encoding="utf-8")
    copied = [line.split()[1:-1] for line in text.splitlines() if line.startswith("COPY ")]
    names = {name for line in copied for name in line}
    assert all((ROOT / name).exists() for name in names)
    manifest = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert {"Cargo.toml", "Cargo.lock", "crates", "python", "scenarios"} <= names
    assert 'python-source = "python"' in manifest
    for name in re.findall(r'(?:readme|license-files) = (?:\[)?"([^"]+)"', manifest):
        assert name in names


def test_the_emulators_page_leads_to_them() -> None:
    page = (ROOT / "docs" / "emulator" / "machines.md").read_text(encoding="utf-8")
    for path in [*UNITS, DEPLOY / "Containerfile"]:
        assert f"(../../deploy/{path.name})" in page


def test_the_image_copies_the_folders_that_links_of_the_package_name() -> None:
    """A wheel gets the pages through a link to docs/, so its build needs that folder."""
    copied = re.findall(r"^COPY (\S+) \S+$", (DEPLOY / "Containerfile").read_text("utf-8"), re.M)
    links = [path for path in (ROOT / "python").rglob("*") if path.is_symlink()]
    assert links
    targets = {path.resolve().relative_to(ROOT).parts[0] for path in links}
    assert targets <= set(copied)
