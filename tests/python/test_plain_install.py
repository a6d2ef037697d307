"""A plain install: the wheel, and the main commands without the packages of the extras."""

import os
import re
import subprocess
import sys
import sysconfig
import zipfile
from importlib import metadata
from pathlib import Path

import pytest

from farlink import _farlink

ROOT = Path(__file__).resolve().parents[2]

SWEEP = """\
name = "plain"
scenario = "geo-lossy"
runs = 2
[factors]
tcp = ["reno", "sack"]
[[plots]]
y = "goodput"
x = "tcp"
"""

MODULES = {
    "scipy",
    "duckdb",
    "pyarrow",
    "optuna",
    "SALib",
    "distributed",
    "sgp4",
    "itur",
    "xarray",
    "anywidget",
    "gymnasium",
    "networkx",
}
"""Modules that only extras or tests install."""

BLOCKED = f"""
import sys
from importlib.abc import MetaPathFinder

class Blocked(MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name.partition(".")[0] in {sorted(MODULES)}:
            raise ModuleNotFoundError("No module named " + repr(name), name=name)

sys.meta_path.insert(0, Blocked())
from farlink.entry import main
sys.argv[0] = "farlink"
main()
"""

COMMANDS = (
    "run geo-lossy --tcp sack --plot --out run",
    "sweep plain.toml --out swept",
    "study omueti2007 --only fig4 --quick --out study",
    "advise geo-omueti2007 --size 300kB --runs 3",
    "pack run --out run.zip",
    "verify run.zip",
    "channels sample geo-bursts --packets 2000",
)


def test_every_extra_brings_modules_that_the_main_commands_do_not_need() -> None:
    needs = metadata.requires("farlink") or []
    extras = {
        re.split(r"[^\w.-]", need, maxsplit=1)[0].lower() for need in needs if "extra" in need
    }
    assert extras - {"farlink"} == {name.lower() for name in MODULES} - {"pyarrow"}


def test_the_main_commands_run_without_the_packages_of_the_extras(tmp_path: Path) -> None:
    (tmp_path / "plain.toml").write_text(SWEEP)
    for command in COMMANDS:
        done = subprocess.run(
            [sys.executable, "-c", BLOCKED, *command.split()],
            cwd=tmp_path, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, f"{command}: {done.stderr}"


@pytest.mark.skipif("CI" not in os.environ, reason="would build the extension a second time")
def test_a_wheel_works_outside_the_checkout(tmp_path: Path) -> None:
    """The wheel has the test's compiled extension, so that it is packed within seconds."""
    maturin = (sys.executable, "-m", "maturin", "build", "--profile", "ci", "--locked")
    subprocess.run(
        [*maturin, "--compatibility", "linux", "--out", str(tmp_path)],
        cwd=ROOT, check=True, capture_output=True,
    )  # fmt: skip
    (wheel,) = tmp_path.glob("farlink-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    assert "farlink/docs/README.md" in names
    assert not [name for name in names if "test" in name or name.endswith(".rs")]
    subprocess.run([sys.executable, "-m", "venv", "env"], cwd=tmp_path, check=True)
    python = str(tmp_path / "env" / "bin" / "python")
    install = [python, "-m", "pip", "install", "--no-index", "--no-deps", "--quiet", str(wheel)]
    subprocess.run(install, cwd=tmp_path, check=True)
    # The environment uses the packages of the tests, except farlink itself.
    (packages,) = (tmp_path / "env").glob("lib/*/site-packages")
    (packages / "needs.pth").write_text(sysconfig.get_paths()["platlib"] + "\n")
    where = [python, "-c", "import farlink; print(farlink.__file__)"]
    place = subprocess.run(where, cwd=tmp_path, check=True, capture_output=True, text=True).stdout
    assert Path(place).is_relative_to(packages)
    for command, expected in (
        ("--version", _farlink.version()),
        ("run geo-lossy --tcp sack", "goodput"),
        ("docs snoop", "snoop"),
    ):
        words = [str(tmp_path / "env" / "bin" / "farlink"), *command.split()]
        done = subprocess.run(words, cwd=tmp_path, check=True, capture_output=True, text=True)
        assert expected in done.stdout
