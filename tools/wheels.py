"""Builds wheels of farlink for Linux on one machine, and tries them outside the checkout.

`wheels.py build` writes a wheel per target and the source archive into dist/. Zig links the wheels,
so no cross compiler is needed. maturin refuses a wheel that needs a newer C library than its name
says. `wheels.py try` installs a wheel, or the source archive, into a new environment of each Python
from 3.11 on, and runs a command of each kind there.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DIST = ROOT / "dist"

PAGE = ROOT / "python" / "farlink" / "web.tar.xz"
"""Archive of the built page, which wheels carry."""

TARGETS = {
    "x86_64-unknown-linux-gnu": "manylinux_2_17",
    "aarch64-unknown-linux-gnu": "manylinux_2_17",
    "x86_64-unknown-linux-musl": "musllinux_1_2",
}
"""Oldest C library of each target."""

LARGEST = 6_000_000  # QUIC with its TLS (quinn-proto, rustls, ring) is some .7 MB of a wheel.
"""Size in bytes that no wheel may exceed."""

MINORS = range(11, 15)
"""Minor versions of Python 3 to try."""

SWEEP = """\
name = "trial"
scenario = "geo-lossy"
runs = 2
[factors]
tcp = ["reno", "sack"]
"links.0.down.delay" = ["20 ms", "250 ms"]
[[plots]]
y = "goodput"
x = "links.0.down.delay"
"""


@dataclass(frozen=True)
class Trial:
    """Command in a fresh environment.

    Attributes
    ----------
    words
        Arguments of `farlink`.
    writes
        Files that must exist afterwards.
    refuses
        Text of the one line on stderr with exit code 2, or None for a command that succeeds.
    """

    words: tuple[str, ...]
    writes: tuple[str, ...] = ()
    refuses: str | None = None
    needs_root: bool = False


TRIALS = (
    Trial(("--version",)),
    Trial(("run", "geo-lossy", "--plot", "--out", "run"), ("run/result.json",)),
    Trial(("sweep", "trial.toml", "--out", "swept"), ("swept/index.html",)),
    Trial(("study", "omueti2007", "--only", "fig4", "--quick", "--out", "study"),
          ("study/index.html",)),
    Trial(("advise", "geo-omueti2007", "--size", "300kB", "--runs", "3", "--out", "a.html"),
          ("a.html",)),
    Trial(("pack", "run", "--out", "run.zip"), ("run.zip",)),
    Trial(("verify", "run.zip")),
    Trial(("docs", "snoop")),
    Trial(("live", "--save", "page.html"), ("page.html",)),
    Trial(("tune", "geo-lossy", "--vary", "tcp.receive_window=64kB..4MB"),
          refuses="pip install 'optuna"),
    Trial(("emulate", "geo-omueti2007", "--", "true"), needs_root=True),
)  # fmt: skip


def say(text: str, *, error: bool = False) -> None:
    """Print a line at once."""
    print(text, file=sys.stderr if error else sys.stdout, flush=True)


def call(
    *words: str | Path, check: bool = True, cwd: Path = ROOT, env: Mapping[str, str] | None = None
) -> "subprocess.CompletedProcess[str]":
    """Run a command and catch its output; with `check` a failure shows it and raises."""
    done = subprocess.run(  # noqa: S603
        words, check=False, cwd=cwd, env=env, capture_output=True, text=True
    )
    if check and done.returncode:
        say(done.stdout + done.stderr, error=True)
        done.check_returncode()
    return done


def main() -> int:
    """Run the command line; the exit code is 1 if a wheel or a trial fails."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    build = commands.add_parser("build", help="write the wheels and the source archive")
    build.add_argument("targets", nargs="*", metavar="TARGET", help=", ".join(TARGETS))
    trial = commands.add_parser("try", help="install a wheel in fresh environments and use it")
    trial.add_argument("wheel", type=Path, help="wheel for this machine, or the source archive")
    arguments = parser.parse_args()
    if arguments.command == "build":
        unknown = sorted(set(arguments.targets) - set(TARGETS))
        if unknown:
            parser.error(f"no target {unknown[0]}; write one of {', '.join(TARGETS)}")
        if not PAGE.is_file():
            parser.error(f"{PAGE.relative_to(ROOT)} is missing; run make web first")
        return _build(arguments.targets or list(TARGETS))
    if not arguments.wheel.is_file():
        parser.error(f"{arguments.wheel}: no such file; `make wheels` writes dist/")
    return _try(arguments.wheel.resolve())


def _build(targets: list[str]) -> int:
    maturin = (sys.executable, "-m", "maturin")
    # maturin looks for cargo-zigbuild on the path.
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path}
    for target in targets:
        say(f"building for {target}")
        call("rustup", "target", "add", target)
        options = ("--release", "--locked", "--strip", "--zig", "--target", target)
        name = ("--compatibility", TARGETS[target], "--out", DIST)
        call(*maturin, "build", *options, *name, env=environment)
    call(*maturin, "sdist", "--out", DIST)
    for wheel in DIST.glob("farlink-*.whl"):
        _compress(wheel)
    sizes = {path: path.stat().st_size for path in sorted(DIST.glob("farlink-*"))}
    for path_of, size in sizes.items():
        say(f"{size:>10,} bytes  {path_of.relative_to(ROOT)}")
    if any(path_of.suffix == ".whl" and size > LARGEST for path_of, size in sizes.items()):
        say(f"a wheel has more than {LARGEST:,} bytes", error=True)
        return 1
    return 0


def _compress(wheel: Path) -> None:
    """Compresses a wheel's files again with Zopfli, which takes 5 % off its size."""
    from zopfli import ZipFile

    say(f"compressing {wheel.name}")
    smaller = wheel.with_suffix(".tmp")
    with zipfile.ZipFile(wheel) as old, ZipFile(smaller, "w", zipfile.ZIP_DEFLATED) as new:
        for info in old.infolist():
            new.writestr(info, old.read(info))
    smaller.replace(wheel)


def _try(wheel: Path) -> int:
    pythons = [python for minor in MINORS if (python := _python(minor))]
    if not pythons:
        say("no Python from 3.11 on was found", error=True)
        return 1
    is_right = True
    for python in pythons:
        with tempfile.TemporaryDirectory(prefix="farlink-trial-") as folder:
            is_right &= _try_with(python, wheel, Path(folder))
    return 0 if is_right else 1


def _python(minor: int) -> str | None:
    """Return an interpreter of Python 3.`minor` that runs; pyenv has each in its own folder."""
    folders = sorted(Path.home().glob(f".pyenv/versions/3.{minor}.*/bin/python3"))
    for name in (shutil.which(f"python3.{minor}"), *map(str, folders)):
        if name and call(name, "-c", "", check=False).returncode == 0:
            return name
    return None


def _try_with(python: str, wheel: Path, folder: Path) -> bool:
    """Install a wheel and run each trial; print a line for each, and return whether all passed."""
    call(python, "-m", "venv", "venv", cwd=folder)
    started = time.monotonic()
    call(folder / "venv/bin/python", "-m", "pip", "install", wheel, cwd=folder)
    took = time.monotonic() - started
    version = call(folder / "venv/bin/python", "-V").stdout.strip()
    packages = folder.glob("venv/lib/*/site-packages/*")
    own = [path for path in packages if path.name.split("-")[0] not in ("pip", "setuptools")]
    megabytes = sum(_size(path) for path in own) / 1e6
    say(f"{version}: installed in {took:.1f} s, {megabytes:.0f} MB of packages")
    (folder / "trial.toml").write_text(SWEEP)
    is_right = True
    for trial in TRIALS:
        if trial.needs_root and os.geteuid() != 0:
            continue
        started = time.monotonic()
        done = call(folder / "venv/bin/farlink", *trial.words, check=False, cwd=folder)
        took = time.monotonic() - started
        problem = _problem(trial, done, folder)
        is_right &= problem is None
        state = "ok" if problem is None else "FAILED"
        say(f"  {state}  {took:5.1f} s  farlink {' '.join(trial.words)}")
        if problem:
            say(f"      {problem}", error=True)
    return is_right


def _problem(trial: Trial, done: "subprocess.CompletedProcess[str]", folder: Path) -> str | None:
    if trial.refuses is not None:
        lines = done.stderr.strip().splitlines()
        if done.returncode == 2 and len(lines) == 1 and trial.refuses in lines[0]:
            return None
        return f"exit code {done.returncode}, {done.stderr!r} instead of {trial.refuses!r}"
    if done.returncode:
        return f"exit code {done.returncode}: {done.stderr.strip()[-500:]}"
    absent = [name for name in trial.writes if not (folder / name).exists()]
    return f"{absent[0]} was not written" if absent else None


def _size(path: Path) -> int:
    files = path.rglob("*") if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files if file.is_file())


if __name__ == "__main__":
    sys.exit(main())
