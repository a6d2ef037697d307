"""Optional packages, and instructions to install those that a command lacks."""

import re
from importlib import metadata

from farlink.errors import ScenarioError

__all__ = ["lacking"]

_NEED = re.compile(r"""([\w.-]+)\s*(\([^)]*\)|[^;]*);.*\bextra\s*==\s*['"]([\w-]+)['"]""")


def lacking(what: str, extra: str) -> ScenarioError:
    """Return the error of a command whose packages are not installed.

    The message names the packages themselves. The index may lack the extras of a farlink that was
    installed from a file or a checkout.
    """
    packages = " ".join(f"'{package}'" for package in _packages(extra))
    many = "packages that are" if packages.count(" ") else "a package that is"
    return ScenarioError(f"{what} needs {many} not installed: pip install {packages}")


def _packages(extra: str) -> list[str]:
    """Return the packages of an extra, from the metadata of the installed farlink."""
    matches = (_NEED.match(line) for line in metadata.requires("farlink") or [])
    needs = [match.groups() for match in matches if match]
    return [name + bound.strip(" ()").replace(" ", "") for name, bound, of in needs if of == extra]
