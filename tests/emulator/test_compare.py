"""The simulator's TCP and the kernel's over the same path. Skipped where emulation cannot be."""

import json
import subprocess
from pathlib import Path

import pytest
from test_emulate import FARLINK, pytestmark  # noqa: F401  (skips without the right)


def compare(*arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [*FARLINK, "compare", *arguments], capture_output=True, text=True, check=False
    )


def test_goodputs_agree_over_the_geostationary_link(tmp_path: Path) -> None:
    """Slow start over a link without losses: the same window after the same round trips."""
    done = compare(
        "geo-omueti2007", "--tcp", "reno", "--transfer", "500kB", "--quiet", "--out", str(tmp_path)
    )
    assert done.returncode == 0, done.stderr
    assert "within 5 %" in done.stdout
    (row,) = json.loads((tmp_path / "comparison.json").read_text())["rows"]
    assert abs(row["ratio"] - 1) < 0.05
    assert {path.name for path in tmp_path.iterdir()} == {
        "comparison.json",
        "sequence.png",
        "sequence.svg",
    }


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--tcp", "tahoe"], "the kernel has no TCP 'tahoe'"),
        (["--tcp", "moon"], "the simulator has none of this name"),
        (["--tcp", "reno", "--transfer", "much"], "write a size such as 5MB"),
        (["--tcp", "reno", "--runs", "0"], "write 1 to 1000"),
        (["--tcp", "reno", "--set", "links.9.down.delay=1ms"], "links.9.down.delay"),
    ],
)
def test_bad_input_is_one_line(arguments: list[str], says: str) -> None:
    done = compare("geo-omueti2007", *arguments)
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert says in line
