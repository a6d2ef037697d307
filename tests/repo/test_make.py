"""The Makefile, the groups of packages that it installs, and the changelog."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MAKEFILE = (ROOT / "Makefile").read_text("utf-8")
CHANGELOG = (ROOT / "CHANGELOG.md").read_text("utf-8")

RULE = re.compile(r"^([^\s:#.][^:\n]*):(?![=:])([^\n]*)\n((?:\t.*\n)*)", re.MULTILINE)
"""Target, prerequisites and recipe of a rule."""


def rules() -> dict[str, tuple[str, str]]:
    """Return prerequisites and recipe of each target; of two branches the first counts."""
    pairs = reversed(RULE.findall(MAKEFILE))
    return {target: (needs, recipe) for target, needs, recipe in pairs}


def test_no_group_has_the_name_that_maturin_installs_by_itself() -> None:
    groups = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["dependency-groups"]
    assert "dev" not in groups, "`maturin develop` runs pip install --group dev, new in pip 25.1"
    named = re.findall(r'\["dependency-groups"\]\["(\w+)"\]', MAKEFILE)
    assert sorted(named) == sorted(groups)


def test_a_file_is_built_again_when_the_tool_that_writes_it_changes() -> None:
    files = {target: rule for target, rule in rules().items() if target.startswith("$(")}
    assert len(files) >= 6
    for target, (needs, recipe) in files.items():
        for tool in re.findall(r"tools/\w+\.py", recipe):
            assert tool in needs.split("|")[0], f"{target} does not depend on {tool}"


def test_a_failed_recipe_leaves_no_file() -> None:
    assert re.search(r"^\.DELETE_ON_ERROR:$", MAKEFILE, re.MULTILINE)


def test_every_target_that_starts_the_browser_checks_for_it() -> None:
    starts = [name for name, (_, recipe) in rules().items() if "run --silent browser" in recipe]
    assert set(starts) == {"test-web", "test-long"}
    for name in starts:
        assert "check-chromium" in rules()[name][0], name


def test_every_target_with_a_help_text_is_phony() -> None:
    (phony,) = re.findall(r"^\.PHONY: (.*)$", MAKEFILE, re.MULTILINE)
    helped = {name for name, (needs, _) in rules().items() if "## " in needs}
    assert helped <= set(phony.split())


def test_the_changelog_has_the_current_version_and_its_sections_in_order() -> None:
    version = tomllib.loads((ROOT / "Cargo.toml").read_text("utf-8"))["workspace"]["package"][
        "version"
    ]
    parts = re.split(r"^## \[(.+?)\].*\n", CHANGELOG, flags=re.MULTILINE)
    names, texts = parts[1::2], parts[2::2]
    assert names[0] == "Unreleased"
    assert version in names, f"CHANGELOG.md has no heading for {version}"
    for name, text in zip(names, texts, strict=True):
        sections = re.findall(r"^### (.+)$", text, re.MULTILINE)
        order = [
            word for word in ("Changed results", "Added", "Changed", "Fixed") if word in sections
        ]
        assert sections == order, name
    sections = re.findall(r"^### (.+)$", texts[0], re.MULTILINE)
    assert sections == ["Changed results", "Added", "Changed", "Fixed"]
