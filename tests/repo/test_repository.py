"""The repository obeys its own rules."""

import json
import re
import shutil
import subprocess
import tomllib
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]

# Above the first length a source file probably has two subjects, above the second certainly.
LONG_FILE = 800
TOO_LONG_FILE = 1000

# Directories of a machine, and hosts of package registries (a lock file must work with a mirror).
MACHINE_PATH = re.compile(r"(?<![\w.~*)}/-])/(?:work|root|home|Users|tmp)/")
REGISTRY_HOST = re.compile(r"(?:pypi|pythonhosted|crates|npmjs)[.](?:org|io|com)\b")

# Licences that may be linked into the program. Each AND clause of an expression needs such a
# licence.
PERMISSIVE = set(tomllib.loads((ROOT / "deny.toml").read_text("utf-8"))["licenses"]["allow"])


@pytest.mark.filterwarnings("default")
def test_source_files_have_one_subject() -> None:
    long = {}
    for path in tracked_files():
        if path.suffix in {".rs", ".py", ".pyi"}:
            lines = len(path.read_text(encoding="utf-8").splitlines())
            if lines > LONG_FILE:
                long[path.relative_to(ROOT).as_posix()] = lines
    if long:
        warnings.warn(f"files over {LONG_FILE} lines: {long}", stacklevel=1)
    assert not {name: n for name, n in long.items() if n > TOO_LONG_FILE}


def test_no_file_names_a_machine_or_a_registry() -> None:
    entries = []
    for path in tracked_files():
        if path.name == "Cargo.lock":
            continue  # Cargo writes the address of its index into this file
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        for number, line in enumerate(text.splitlines(), 1):
            if MACHINE_PATH.search(line) or REGISTRY_HOST.search(line):
                entries.append(f"{path.relative_to(ROOT)}:{number}: {line.strip()[:100]}")
    assert not entries


def test_every_direct_dependency_says_what_it_earns() -> None:
    text = (ROOT / "docs" / "dependencies.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([\w.@/-]+)` \| (.+) \| (.+) \|$", text, re.MULTILINE)
    listed = [name for name, _, _ in rows]
    assert sorted(set(listed)) == sorted(listed), "a dependency is listed twice"
    assert set(listed) == (
        cargo_dependencies()
        | python_dependencies()
        | group("docs")
        | group("wheels")
        | web_dependencies()
    )


def test_every_licence_of_the_web_tree_is_permissive() -> None:
    packages = web_lock()
    licences = {name: entry.get("license") for name, entry in packages.items() if name}
    others = {name: licence for name, licence in licences.items() if not permissive(licence)}
    assert set(others.values()) <= {"BlueOak-1.0.0"}  # a permissive licence of tools
    assert [name for name in others if not packages[name].get("dev")] == []


def test_the_web_lock_pins_every_package_by_a_checksum() -> None:
    packages = web_lock()
    assert [name for name, entry in packages.items() if name and "integrity" not in entry] == []


def test_every_workspace_dependency_is_used() -> None:
    declared = set(manifest("Cargo.toml")["workspace"]["dependencies"])
    assert declared - own_crates() == cargo_dependencies()


def test_every_dependency_of_a_crate_is_in_its_sources() -> None:
    unused = []
    for member in manifest("Cargo.toml")["workspace"]["members"]:
        sources = "".join(
            path.read_text(encoding="utf-8") for path in sorted((ROOT / member).rglob("*.rs"))
        )
        unused += [
            f"{member}: {name}"
            for name in sorted(crate_dependencies(manifest(f"{member}/Cargo.toml")))
            if not re.search(rf"\b{name.replace('-', '_')}\b", sources)
        ]
    assert unused == []


def test_every_licence_of_the_rust_tree_is_permissive() -> None:
    cargo = shutil.which("cargo")
    if cargo is None:
        pytest.skip("cargo is not here: the licences of the Rust tree were not read")
    command = [cargo, "metadata", "--format-version", "1", "--locked"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    packages = json.loads(done.stdout)["packages"]
    known = {
        entry["crate"]: entry["allow"] for entry in manifest("deny.toml")["licenses"]["exceptions"]
    }
    others = {p["name"]: p["license"] for p in packages if not permissive(p["license"])}
    assert {name: [licence] for name, licence in others.items()} == known


def test_every_crate_is_of_the_registry_and_has_one_version() -> None:
    packages = manifest("Cargo.lock")["package"]
    others = [package for package in packages if package["name"] not in own_crates()]
    assert [other["name"] for other in others if "checksum" not in other] == []
    # no dependency from git or from another index
    assert len({other["source"] for other in others}) == 1
    versions = [(package["name"], package["version"]) for package in packages]
    # An older version of a crate that deny.toml names, as "crate:version".
    skipped = [entry.split(":") for entry in manifest("deny.toml")["bans"]["skip"]]
    older = {
        (name, version)
        for name, version in versions
        for crate, number in skipped
        if name == crate and f"{version}.".startswith(f"{number}.")
    }
    assert len(older) == len(skipped)
    names = [name for name, version in versions if (name, version) not in older]
    assert {name for name in names if names.count(name) > 1} == set()


@pytest.mark.parametrize(
    "expression",
    ["MIT", "MIT OR GPL-3.0", "MIT/Apache-2.0", "(MIT OR Apache-2.0) AND Unicode-3.0"],
)
def test_a_permissive_choice_is_enough(expression: str) -> None:
    assert permissive(expression)


@pytest.mark.parametrize("expression", ["MIT AND GPL-3.0", "MPL-2.0", "", None])
def test_every_clause_needs_a_permissive_choice(expression: str | None) -> None:
    assert not permissive(expression)


def test_the_lock_pins_every_package_and_holds_every_direct_one() -> None:
    # Extras are optional; tests that need an extra are skipped without it.
    assert python_dependencies(extras=False) <= pinned("requirements-dev.lock")
    docs = {normalised(requirement) for requirement in group("docs")}
    assert docs <= pinned("requirements-docs.lock")
    assert not docs & pinned("requirements-dev.lock")


def pinned(lock: str) -> set[str]:
    """Return the packages of a lock file, each with its only version."""
    lines = (ROOT / lock).read_text(encoding="utf-8").splitlines()
    matches = [re.fullmatch(r"([\w.-]+)==[\w.]+", line) for line in lines]
    assert all(matches), [line for line, match in zip(lines, matches, strict=True) if not match]
    return {normalised(match[1]) for match in matches if match}


def group(name: str) -> set[str]:
    """Return the packages of a dependency group of pyproject.toml."""
    requirements = manifest("pyproject.toml")["dependency-groups"][name]
    return {re.split(r"[^\w.-]", requirement, maxsplit=1)[0] for requirement in requirements}


def web_manifest(name: str) -> dict[str, Any]:
    text: dict[str, Any] = json.loads((ROOT / "web" / name).read_text(encoding="utf-8"))
    return text


def web_dependencies() -> set[str]:
    """Return the packages that the page, its build and its tests need directly."""
    project = web_manifest("package.json")
    return {*project.get("dependencies", {}), *project["devDependencies"]}


def web_lock() -> dict[str, dict[str, Any]]:
    """Return the packages of the page's lock file by their places; the page itself is "\"."""
    packages: dict[str, dict[str, Any]] = web_manifest("package-lock.json")["packages"]
    return packages


def tracked_files() -> Iterator[Path]:
    """Return the files that git tracks or would add."""
    git = shutil.which("git")
    if git is None or not (ROOT / ".git").exists():
        pytest.skip("not a git checkout: there is no list of the project's files")
    command = [git, "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    for name in filter(None, done.stdout.split("\0")):
        path = ROOT / name
        if path.is_file():
            yield path


def manifest(name: str) -> dict[str, Any]:
    return tomllib.loads((ROOT / name).read_text(encoding="utf-8"))


def member_manifests() -> list[dict[str, Any]]:
    return [
        manifest(f"{member}/Cargo.toml")
        for member in manifest("Cargo.toml")["workspace"]["members"]
    ]


def own_crates() -> set[str]:
    return {member["package"]["name"] for member in member_manifests()}


def crate_dependencies(member: dict[str, Any]) -> set[str]:
    kinds = ("dependencies", "dev-dependencies", "build-dependencies")
    tables = [member, *member.get("target", {}).values()]
    return {name for table in tables for kind in kinds for name in table.get(kind, {})}


def cargo_dependencies() -> set[str]:
    names = {name for member in member_manifests() for name in crate_dependencies(member)}
    return names - own_crates()


def python_dependencies(*, extras: bool = True) -> set[str]:
    """Return the run-time, build and development requirements in pyproject.toml."""
    project = manifest("pyproject.toml")
    requirements = list(project["project"].get("dependencies", []))
    requirements += project["build-system"]["requires"]
    if extras:
        for name, group in project["project"].get("optional-dependencies", {}).items():
            requirements += group if name != "all" else []  # this extra names the other extras
    requirements += project["dependency-groups"]["development"]
    return {
        normalised(re.split(r"[^\w.-]", requirement, maxsplit=1)[0]) for requirement in requirements
    }


def normalised(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def permissive(expression: str | None) -> bool:
    if expression is None:
        return False
    clauses = re.split(r"\s+AND\s+", expression.replace("(", "").replace(")", ""))
    return all(PERMISSIVE & set(re.split(r"\s+OR\s+|/", clause)) for clause in clauses)


def test_recorded_figures_of_peers_have_a_case_to_stand_beside() -> None:
    work = tomllib.loads((ROOT / "tools" / "peers.toml").read_text("utf-8"))["work"]
    bench = (ROOT / "crates/farlink-sim/benches/workloads.rs").read_text("utf-8")
    assert [w["case"] for w in work if f'"{w["case"]}"' not in bench] == []
    assert not [w["name"] for w in work if not {"ns3", "htsim"} & w.keys()]


def test_a_release_has_function_names_and_no_debug_information() -> None:
    """Debug information is most of a wheel's size; without names a backtrace is useless."""
    profiles = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))["profile"]
    assert profiles["release"]["strip"] == "debuginfo"
    assert "debug" not in profiles["release"]


def test_the_package_has_the_address_that_the_citation_has() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f'repository-code: "{project["urls"]["Repository"]}"' in citation
    assert all(url.startswith(project["urls"]["Repository"]) for url in project["urls"].values())
