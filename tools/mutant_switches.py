"""Makes a copy of the workspace with all wrong changes in one build, each behind a switch.

`cargo mutants` names the changes; building each change takes a hundred times as long as its tests.
Here a function gets its changed bodies before its own body, and the environment variable
`FARLINK_MUTANT` selects the body:

    match crate::mutant() { 17 => return { ... }, 18 => return { ... }, _ => {} }

A switch cannot be in constants, in functions that constants call, and in functions that return
`impl Trait`. Their changes need a build each.
"""

import json
import os
import re
import shutil
import subprocess
from collections import defaultdict
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

CHOSEN = "FARLINK_MUTANT"
NONE = 2**32 - 1
"""Number that no mutant has, which selects the unchanged code."""

SWITCH = f"""
pub(crate) fn mutant() -> u32 {{
    static CHOSEN: std::sync::LazyLock<u32> = std::sync::LazyLock::new(|| {{
        let chosen = std::env::var("{CHOSEN}").map_or(0, |n| n.parse().expect("a number"));
        if chosen != 0 {{
            // The first failure is enough.
            std::panic::set_hook(Box::new(|_| std::process::exit(101)));
        }}
        chosen
    }});
    *CHOSEN
}}
"""
BEGIN, END = re.compile(r"/\*<(\d+)\*/"), re.compile(r"/\*(\d+)>\*/")
CONST = re.compile(r"\bconst ((?:unsafe )?fn (\w+))")
ALSO = ["farlink-sim"]
"""Package whose tests run, too, so that it must compile with the switches."""
IN_CONSTANT = re.compile(r"cannot call non-const [^`]*`.*?(\w+)(?:::<[^`]*>)?`")

Span = tuple[int, int]


@dataclass(frozen=True)
class Mutant:
    """Change of a source: `replacement` replaces `span` of `file`, in function `inside`."""

    number: int
    name: str
    package: str
    file: str
    span: Span
    replacement: str
    inside: Span | None
    returns: str

    def applied(self, text: str, around: Span) -> str:
        """Return this part of the file's text with the change."""
        (first, last), (begin, end) = self.span, around
        return f"{text[begin:first]} {self.replacement} {text[last:end]}"


def catalogue(root: Path, settings: Path) -> list[Mutant]:
    """Return the changes that `cargo mutants` would make with these settings."""
    command = ["cargo", "mutants", "--list", "--json", "--config", str(settings)]
    listed = subprocess.run(command, cwd=root, check=True, capture_output=True)  # noqa: S603
    starts: dict[str, list[int]] = {}

    def span(file: str, of: dict[str, Any]) -> Span:
        if file not in starts:
            lines = (root / file).read_text("utf-8").splitlines(keepends=True)
            starts[file] = [0, *(sum(map(len, lines[: n + 1])) for n in range(len(lines)))]
        first, last = (starts[file][of[p]["line"] - 1] + of[p]["column"] - 1 for p in ENDS)
        return first, last

    return [
        Mutant(
            number,
            each["name"],
            each["package"],
            each["file"],
            span(each["file"], each["span"]),
            each["replacement"],
            span(each["file"], each["function"]["span"]) if each["function"] else None,
            each["function"]["return_type"] if each["function"] else "",
        )
        for number, each in enumerate(json.loads(listed.stdout), start=1)
    ]


ENDS = ("start", "end")


class CompileError(Exception):
    """Message of cargo."""


class Copy:
    """Copy of the workspace that can be changed and built.

    It has its own folder of builds, because cargo would take builds of the workspace as up to date.
    """

    def __init__(self, root: Path, folder: Path) -> None:
        self.root, self.folder = root, folder
        command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        files = subprocess.run(command, cwd=root, check=True, capture_output=True).stdout  # noqa: S603
        self.files = {Path(name) for name in files.decode().split("\0")[:-1]}
        for old in [path for path in folder.rglob("*") if path.is_file()]:
            if old.relative_to(folder) not in self.files:
                old.unlink()
        for file in self.files:
            if (root / file).is_file():
                self.restore(str(file))

    def write(self, file: str, text: str) -> None:
        """Write a file if its text differs, because cargo rebuilds files that were written."""
        path = self.folder / file
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.is_file() or path.read_text("utf-8") != text:
            path.write_text(text, "utf-8")

    def restore(self, file: str) -> None:
        """Restore a file to its text in the workspace."""
        source, path = self.root / file, self.folder / file
        if path.is_file() and path.read_bytes() == source.read_bytes():
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, path)

    def switched(self, mutants: Iterable[Mutant]) -> tuple[set[int], set[int]]:
        """Put these mutants behind switches.

        Returns the numbers of mutants that do not compile, and of those without a possible switch.
        """
        wanted = list(mutants)
        names = {m.number: self.function(m) for m in wanted}
        alone = {m.number for m in wanted if m.inside is None or "impl " in m.returns}
        broken: set[int] = set()
        constant: set[str] = set()
        packages = sorted({m.package for m in wanted} | set(ALSO))
        while True:
            tried = [m for m in wanted if m.number not in alone | broken]
            places = self.write_switches(tried, constant)
            result = self.cargo("check", packages, ["--lib"])
            if result.returncode == 0:
                return broken, alone
            refused, called = faults(result.stdout, places)
            if not refused and called <= constant:
                raise CompileError(result.stdout + result.stderr)
            broken |= refused
            constant |= called
            alone |= {number for number, name in names.items() if name in called}

    def write_switches(
        self, mutants: Iterable[Mutant], constant: Container[str]
    ) -> dict[str, list[tuple[int, Span]]]:
        """Write all files; return by file the lines of each mutant.

        Only the named functions stay `const`.
        """
        by_file: dict[str, list[Mutant]] = defaultdict(list)
        for mutant in mutants:
            by_file[mutant.file].append(mutant)
        libraries = {library(file) for file in by_file}
        places = {}
        for file in sorted(str(f) for f in self.files if f.suffix == ".rs"):
            if library(file) not in libraries or "/src/" not in file:
                self.restore(file)
                continue
            text = switches((self.root / file).read_text("utf-8"), by_file[file])
            text = CONST.sub(lambda m: m[0] if m[2] in constant else m[1], text)
            if file == f"{library(file)}/src/lib.rs":
                text = f"#![allow(warnings)]\n{text}{SWITCH}"
            self.write(file, text)
            places[file] = lines(text)
        return places

    def function(self, mutant: Mutant) -> str:
        """Return the name of the function that a mutant changes."""
        text = (self.root / mutant.file).read_text("utf-8")
        named = re.compile(r"\bfn (\w+)").search(text, *(mutant.inside or (0, 0)))
        return named[1] if named else ""

    def cargo(
        self, task: str, packages: Sequence[str], options: Sequence[str]
    ) -> subprocess.CompletedProcess[str]:
        """Run cargo in the copy with JSON messages."""
        chosen = [word for package in packages for word in ("--package", package)]
        profile = ["--profile", "mutants", "--message-format", "json", "--quiet"]
        command = ["cargo", task, *profile, *chosen, *options]
        return subprocess.run(  # noqa: S603
            command,
            cwd=self.folder,
            env=os.environ | {"CARGO_TARGET_DIR": str(self.folder.parent / "build")},
            check=False,
            capture_output=True,
            text=True,
        )

    def tests(self, package: str, options: Sequence[str] = ()) -> list[Path]:
        """Build tests of a package; return the programs."""
        done = self.cargo("test", [package], ["--no-run", *(options or ["--lib", "--tests"])])
        if done.returncode:
            raise CompileError(done.stderr or done.stdout)
        messages = map(json.loads, done.stdout.splitlines())
        return [Path(m["executable"]) for m in messages if m.get("executable")]


def library(file: str) -> str:
    """Return the folder of a file's package."""
    return file.partition("/src/")[0]


def switches(text: str, mutants: Sequence[Mutant]) -> str:
    """Return a file's text with these changes behind switches."""
    inside: dict[Span, list[Mutant]] = defaultdict(list)
    spans = {m.inside for m in mutants if m.inside}
    for mutant in mutants:
        # Of nested functions the outermost gets the switch.
        holds = [s for s in spans if s[0] <= mutant.span[0] and mutant.span[1] <= s[1]]
        inside[min(holds)].append(mutant)
    for (start, end), held in sorted(inside.items(), reverse=True):
        body = body_of(text, start)
        arms = [
            f"/*<{n}*/ {n} => return {m.applied(text, (body, end))}, /*{n}>*/\n"
            for n, m in ((m.number, m) for m in held)
        ]
        switch = f"{{\nmatch crate::mutant() {{\n{''.join(arms)} _ => {{}}\n}}\n"
        text = text[:body] + switch + text[body + 1 :]
    return text


def body_of(text: str, start: int) -> int:
    """Return where the body of the function begins."""
    depth, at = 0, start
    while depth or text[at] != "{":
        if text.startswith("//", at):
            at = text.index("\n", at)
        depth += (text[at] in "([") - (text[at] in ")]")
        at += 1
    return at


def lines(text: str) -> list[tuple[int, Span]]:
    """Return the lines of a file that belong to each mutant."""
    begin: dict[int, int] = {}
    entries = []
    for line, content in enumerate(text.split("\n"), start=1):
        begin |= {int(m[1]): line for m in BEGIN.finditer(content)}
        entries += [(int(m[1]), (begin[int(m[1])], line)) for m in END.finditer(content)]
    return entries


def faults(output: str, places: dict[str, list[tuple[int, Span]]]) -> tuple[set[int], set[str]]:
    """Read the compiler's messages: faulty mutants, and functions that constants call."""
    refused: set[int] = set()
    called: set[str] = set()
    for message in (json.loads(line).get("message") for line in output.splitlines()):
        if not message or message["level"] != "error":
            continue
        if match := IN_CONSTANT.search(message["message"]):
            called.add(match[1])
            continue
        for span in (span for span in message["spans"] if span["is_primary"]):
            for number, (first, last) in places.get(span["file_name"], []):
                if first <= span["line_start"] <= last:
                    refused.add(number)
    return refused, called
